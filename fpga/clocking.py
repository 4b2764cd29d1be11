"""The engine's clock and reset on a board."""

import math

from amaranth.hdl import ClockDomain, ClockSignal, Const, Elaboratable, Instance, Module, ResetSignal, Signal
from amaranth.lib import io
from amaranth.lib.cdc import FFSynchronizer

from .pll import Ecp5Pll, GowinPll, Ice40Pll, solve

__all__ = ["CLOCK_NETS", "Clocking", "solve_for"]

# Names under which the tools report the two clocks: which one depends on how Yosys resolves aliases.
CLOCK_NETS = {"crystal": ("crystal_clock", "clocking.clk"), "engine": ("engine_clock", "engine_clk")}

# iCE40 block memories read zero for this long after configuration; the others need less.
_RESET_SECONDS = 20e-6
_PLLS = {"ice40": Ice40Pll, "ecp5": Ecp5Pll, "gowin": GowinPll}


def solve_for(board, freq_mhz):
    """PLL settings for ``freq_mhz`` on ``board``, or None if the crystal itself has that frequency.

    Raises ``PllError`` if it cannot be made.
    """
    if freq_mhz == board.clock_mhz:
        return None
    return solve(_PLLS[board.device.family], board.clock_mhz, freq_mhz)


class Clocking(Elaboratable):
    """Domains ``sync`` from the crystal and ``engine`` from the PLL, in reset until the clock is good.

    Parameters
    ----------
    board : Board
    freq_mhz : float
        Of domain ``engine``.

    Attributes
    ----------
    crystal_hz, engine_hz : float
        The frequencies that result.
    """

    def __init__(self, board, freq_mhz):
        self._board = board
        self._pll = solve_for(board, freq_mhz)
        self.crystal_hz = 1e6 * board.clock_mhz
        self.engine_hz = 1e6 * self._pll.clock_out if self._pll else self.crystal_hz

    def elaborate(self, platform):
        m = Module()
        pin = platform.request(self._board.clock, dir="-")
        crystal = Signal(name="crystal_clock")
        fast = Signal(name="engine_clock")
        locked = Signal(init=1)
        if self._pll and self._board.pll_pad:
            # The pad feeds the PLL, which passes it on; an input buffer beside it would need the same place.
            m.submodules.pll = self._ice40(
                "SB_PLL40_2_PAD", locked, i_PACKAGEPIN=pin.io, o_PLLOUTGLOBALA=crystal, o_PLLOUTGLOBALB=fast
            )
        else:
            m.submodules.pin = buffer = io.Buffer("i", pin)
            m.d.comb += crystal.eq(buffer.i)
            if self._pll is None:
                m.d.comb += fast.eq(crystal)
            elif self._board.device.family == "ice40":
                m.submodules.pll = self._ice40("SB_PLL40_CORE", locked, i_REFERENCECLK=crystal, o_PLLOUTGLOBAL=fast)
            elif self._board.device.family == "ecp5":
                m.submodules.pll = self._ecp5(fast, locked, crystal)
            else:
                m.submodules.pll = self._gowin(fast, locked, crystal)

        self._domain(m, "sync", crystal, self.crystal_hz, Const(1))
        self._domain(m, "engine", fast, self.engine_hz, locked)
        return m

    @staticmethod
    def _domain(m, name, clock, hertz, good):
        """A domain that leaves reset some time after its clock is ``good``."""
        start = f"{name}_start"
        m.domains += [ClockDomain(name), ClockDomain(start, reset_less=True, local=True)]
        m.d.comb += [ClockSignal(name).eq(clock), ClockSignal(start).eq(clock)]
        stable = Signal()
        m.submodules[f"{name}_good"] = FFSynchronizer(good, stable, o_domain=start)
        waited = Signal(math.ceil(math.log2(_RESET_SECONDS * hertz)) + 1)
        reset = Signal(init=1)
        m.d[start] += reset.eq(~waited[-1])
        with m.If(~stable):
            m.d[start] += waited.eq(0)
        with m.Elif(~waited[-1]):
            m.d[start] += waited.eq(waited + 1)
        m.d.comb += ResetSignal(name).eq(reset)

    def _parameters(self):
        return {f"p_{name}": value for name, value in self._pll.parameters.items()}

    def _ice40(self, primitive, locked, **ports):
        return Instance(primitive, **self._parameters(), **ports, i_RESETB=1, i_BYPASS=0, o_LOCK=locked)

    def _ecp5(self, clock, locked, source):
        feedback = Signal()
        return Instance(
            "EHXPLLL",
            **self._parameters(),
            a_FREQUENCY_PIN_CLKI=f"{self._pll.clock_in:g}",
            a_FREQUENCY_PIN_CLKOS=f"{self._pll.clock_out:g}",
            a_ICP_CURRENT="12",
            a_LPF_RESISTOR="8",
            a_MFG_ENABLE_FILTEROPAMP="1",
            a_MFG_GMCREF_SEL="2",
            p_OUTDIVIDER_MUXA="DIVA",
            p_OUTDIVIDER_MUXB="DIVB",
            p_PLLRST_ENA="DISABLED",
            p_INTFB_WAKE="DISABLED",
            p_STDBY_ENABLE="DISABLED",
            p_DPHASE_SOURCE="DISABLED",
            i_CLKI=source,
            i_CLKFB=feedback,
            o_CLKOP=feedback,
            o_CLKOS=clock,
            o_LOCK=locked,
            i_RST=0,
            i_STDBY=0,
            i_PHASESEL0=0,
            i_PHASESEL1=0,
            i_PHASEDIR=1,
            i_PHASESTEP=1,
            i_PHASELOADREG=1,
            i_PLLWAKESYNC=0,
            i_ENCLKOP=0,
            i_ENCLKOS=0,
        )

    def _gowin(self, clock, locked, source):
        return Instance(
            "rPLL",
            **self._parameters(),
            p_DEVICE=self._board.device.name,
            p_CLKFB_SEL="internal",
            p_CLKOUT_BYPASS="false",
            i_CLKIN=source,
            i_CLKFB=0,
            i_RESET=0,
            i_RESET_P=0,
            i_FBDSEL=0,
            i_IDSEL=0,
            i_ODSEL=0,
            i_PSDA=0,
            i_DUTYDA=0,
            i_FDLY=0,
            o_CLKOUT=clock,
            o_LOCK=locked,
        )
