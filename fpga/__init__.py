"""Boards: tops, build flows, reports and the host that talks to them."""
