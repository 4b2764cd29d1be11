"""PLL dividers against the data sheets' limits."""

import pytest
from plusb.fpga.pll import TOLERANCE, Ecp5Pll, GowinPll, Ice40Pll, PllError, solve

ALL = [(Ice40Pll, 12), (Ecp5Pll, 25), (Ecp5Pll, 48), (Ecp5Pll, 100), (GowinPll, 27)]


@pytest.mark.parametrize(("pll", "clock_in"), ALL)
def test_every_solution_is_within_the_limits_and_the_tolerance(pll, clock_in):
    solved = 0
    for wish in (20, 24, 25, 30, 33, 48, 50, 62.5, 75, 80, 100, 120, 125, 133, 150, 160, 175, 180, 200):
        try:
            found = solve(pll, clock_in, wish)
        except PllError:
            continue
        solved += 1
        assert abs(found.clock_out - wish) <= TOLERANCE * wish
        for value, limits in ((found.pfd, pll.PFD), (found.vco, pll.VCO), (found.clock_out, pll.CLOCK_OUT)):
            assert limits[0] <= value <= limits[1]
    assert solved >= 13


# From icepll, ecppll and gowin_pll.
def test_ice40_formula():
    pll = solve(Ice40Pll, 12, 24)
    assert (pll.divr, pll.divf, pll.divq, pll.clock_out, pll.vco) == (0, 63, 5, 24, 768)
    assert pll.parameters["FILTER_RANGE"] == 1
    assert solve(Ice40Pll, 12, 48).parameters == {
        "FEEDBACK_PATH": "SIMPLE",
        "DIVR": 0,
        "DIVF": 63,
        "DIVQ": 4,
        "FILTER_RANGE": 1,
    }


def test_ecp5_formula():
    pll = solve(Ecp5Pll, 25, 100)
    assert (pll.in_div, pll.vco, pll.clock_out) == (1, 800, 100)
    assert pll.fb_div * pll.loop_div * 25 == 800
    assert 800 / pll.loop_div <= 400
    assert (pll.parameters["CLKOS_DIV"], pll.parameters["CLKOS_CPHASE"]) == (8, 7)


def test_gowin_formula():
    pll = solve(GowinPll, 27, 54)
    assert (pll.idiv, pll.fbdiv, pll.clock_out) == (0, 1, 54)
    assert pll.parameters["FCLKIN"] == "27"


@pytest.mark.parametrize(
    ("pll", "clock_in", "wish", "message"),
    [
        (Ice40Pll, 12, 12, "the iCE40 PLL cannot make 12 MHz from 12 MHz; the nearest is 16.125 MHz"),
        (Ice40Pll, 12, 300, "the iCE40 PLL cannot make 300 MHz from 12 MHz; the nearest is 270 MHz"),
        (Ice40Pll, 8, 24, "the iCE40 PLL's input must be 10 to 133 MHz, not 8 MHz"),
        (Ecp5Pll, 25, 500, "the ECP5 PLL cannot make 500 MHz from 25 MHz; the nearest is 400 MHz"),
        (GowinPll, 27, 2, "the Gowin rPLL cannot make 2 MHz from 27 MHz; the nearest is 4.5 MHz"),
    ],
)
def test_errors(pll, clock_in, wish, message):
    with pytest.raises(PllError) as error:
        solve(pll, clock_in, wish)
    assert str(error.value) == message
