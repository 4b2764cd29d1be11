"""Dividers of the families' PLLs: plain arithmetic, searched exhaustively within the data sheets' limits."""

from dataclasses import dataclass

__all__ = ["TOLERANCE", "Ecp5Pll", "GowinPll", "Ice40Pll", "PllError", "solve"]

# A clock this close to the wish is taken; everything else is computed from the clock that results.
TOLERANCE = 0.005


class PllError(ValueError):
    """A frequency the PLL cannot make."""


def _between(value, limits):
    return limits[0] <= value <= limits[1]


@dataclass(frozen=True, kw_only=True)
class Ice40Pll:
    """``SB_PLL40`` with simple feedback: ``out = in * (divf + 1) / ((divr + 1) * 2**divq)``.

    Frequencies are in MHz. Limits: Lattice FPGA-DS-02029 (LP/HX) and FPGA-DS-02008 (UltraPlus), sysCLOCK PLL timing.
    """

    divr: int
    divf: int
    divq: int
    clock_in: float

    CLOCK_IN = (10, 133)
    PFD = (10, 133)
    VCO = (533, 1066)
    CLOCK_OUT = (16, 275)
    NAME = "iCE40 PLL"
    # Upper phase detector frequency of each loop filter range (FPGA-TN-02052).
    _FILTERS = (17, 26, 44, 66, 101, 133)

    @classmethod
    def candidates(cls, clock_in):
        """All settings within the limits."""
        for divr in range(16):
            if _between(clock_in / (divr + 1), cls.PFD):
                for divf in range(128):
                    if _between(clock_in / (divr + 1) * (divf + 1), cls.VCO):
                        for divq in range(1, 7):
                            yield cls(divr=divr, divf=divf, divq=divq, clock_in=clock_in)

    @property
    def pfd(self):
        """Phase detector frequency."""
        return self.clock_in / (self.divr + 1)

    @property
    def vco(self):
        """Oscillator frequency."""
        return self.pfd * (self.divf + 1)

    @property
    def clock_out(self):
        """Output frequency."""
        return self.vco / 2**self.divq

    @property
    def parameters(self):
        """Parameters of the primitive."""
        filter_range = next(i for i, top in enumerate(self._FILTERS, 1) if self.pfd <= top)
        return {
            "FEEDBACK_PATH": "SIMPLE",
            "DIVR": self.divr,
            "DIVF": self.divf,
            "DIVQ": self.divq,
            "FILTER_RANGE": filter_range,
        }


@dataclass(frozen=True, kw_only=True)
class Ecp5Pll:
    """``EHXPLLL`` fed back from ``CLKOP``, with its output on ``CLKOS``.

    ``vco = in * fb_div * loop_div / in_div`` and ``out = vco / out_div``: an output apart from the feedback reaches far
    more frequencies than ``CLKOP`` alone. Frequencies are in MHz. Limits: Lattice FPGA-DS-02012, sysCLOCK PLL timing.
    """

    in_div: int
    fb_div: int
    loop_div: int
    out_div: int
    clock_in: float

    CLOCK_IN = (8, 400)
    PFD = (10, 400)
    VCO = (400, 800)
    CLOCK_OUT = (3.125, 400)
    NAME = "ECP5 PLL"

    @classmethod
    def candidates(cls, clock_in):
        """All settings within the limits; of those with the same oscillator the one with the shortest loop divider."""
        for in_div in range(1, 129):
            pfd = clock_in / in_div
            if not _between(pfd, cls.PFD):
                continue
            for product in range(1, int(cls.VCO[1] / pfd) + 1):
                if not _between(pfd * product, cls.VCO):
                    continue
                splits = (
                    n
                    for n in range(1, 129)
                    if product % n == 0 and product // n <= 80 and _between(pfd * product / n, cls.CLOCK_OUT)
                )
                if loop_div := next(splits, 0):
                    for out_div in range(1, 129):
                        yield cls(
                            in_div=in_div,
                            fb_div=product // loop_div,
                            loop_div=loop_div,
                            out_div=out_div,
                            clock_in=clock_in,
                        )

    @property
    def pfd(self):
        """Phase detector frequency."""
        return self.clock_in / self.in_div

    @property
    def vco(self):
        """Oscillator frequency."""
        return self.pfd * self.fb_div * self.loop_div

    @property
    def clock_out(self):
        """Output frequency."""
        return self.vco / self.out_div

    @property
    def parameters(self):
        """Parameters of the primitive; phases as an undelayed output has them."""
        return {
            "FEEDBK_PATH": "CLKOP",
            "CLKI_DIV": self.in_div,
            "CLKFB_DIV": self.fb_div,
            "CLKOP_ENABLE": "ENABLED",
            "CLKOP_DIV": self.loop_div,
            "CLKOP_CPHASE": self.loop_div - 1,
            "CLKOP_FPHASE": 0,
            "CLKOS_ENABLE": "ENABLED",
            "CLKOS_DIV": self.out_div,
            "CLKOS_CPHASE": self.out_div - 1,
            "CLKOS_FPHASE": 0,
        }


@dataclass(frozen=True, kw_only=True)
class GowinPll:
    """``rPLL``: ``out = in * (fbdiv + 1) / (idiv + 1)``, ``vco = out * odiv``.

    Frequencies are in MHz. Limits: Gowin DS117 (GW1NR-9, C6/I5), the tighter of it and DS226 (GW2A, C8/I7).
    """

    idiv: int
    fbdiv: int
    odiv: int
    clock_in: float

    CLOCK_IN = (3, 400)
    PFD = (3, 400)
    VCO = (500, 1200)
    CLOCK_OUT = (3.90625, 600)
    NAME = "Gowin rPLL"

    @classmethod
    def candidates(cls, clock_in):
        """All settings within the limits."""
        for idiv in range(64):
            if _between(clock_in / (idiv + 1), cls.PFD):
                for fbdiv in range(64):
                    out = clock_in * (fbdiv + 1) / (idiv + 1)
                    for odiv in (2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128):
                        if _between(out * odiv, cls.VCO):
                            yield cls(idiv=idiv, fbdiv=fbdiv, odiv=odiv, clock_in=clock_in)

    @property
    def pfd(self):
        """Phase detector frequency."""
        return self.clock_in / (self.idiv + 1)

    @property
    def vco(self):
        """Oscillator frequency."""
        return self.clock_out * self.odiv

    @property
    def clock_out(self):
        """Output frequency."""
        return self.clock_in * (self.fbdiv + 1) / (self.idiv + 1)

    @property
    def parameters(self):
        """Parameters of the primitive."""
        return {
            "FCLKIN": f"{self.clock_in:g}",
            "IDIV_SEL": self.idiv,
            "FBDIV_SEL": self.fbdiv,
            "ODIV_SEL": self.odiv,
            "DYN_IDIV_SEL": "false",
            "DYN_FBDIV_SEL": "false",
            "DYN_ODIV_SEL": "false",
        }


def solve(pll, clock_in, wish):
    """The settings of ``pll`` that come closest to ``wish``, of those the ones with the fastest phase detector.

    Parameters
    ----------
    pll : type
        :class:`Ice40Pll`, :class:`Ecp5Pll` or :class:`GowinPll`.
    clock_in, wish : float
        Frequencies in MHz.

    Raises
    ------
    PllError
        If the input is out of range, or nothing within :data:`TOLERANCE` of the wish exists; names the nearest.
    """
    if not _between(clock_in, pll.CLOCK_IN):
        raise PllError(
            f"the {pll.NAME}'s input must be {pll.CLOCK_IN[0]:g} to {pll.CLOCK_IN[1]:g} MHz, not {clock_in:g} MHz"
        )
    candidates = [c for c in pll.candidates(clock_in) if _between(c.clock_out, pll.CLOCK_OUT)]
    # Less noise with a faster phase detector, then with a faster oscillator.
    best = min(candidates, key=lambda c: (abs(c.clock_out - wish), -c.pfd, -c.vco))
    if abs(best.clock_out - wish) > TOLERANCE * wish:
        raise PllError(
            f"the {pll.NAME} cannot make {wish:g} MHz from {clock_in:g} MHz; the nearest is {best.clock_out:.6g} MHz"
        )
    return best
