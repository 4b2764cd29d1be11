"""The subcommands of ``plusb``, a module each; :mod:`plusb.gen.cli` loads only the one that is asked for."""
