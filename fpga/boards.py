"""The boards, as data: which device, which pins, and what one has to know before plugging a cable in."""

import importlib
from dataclasses import dataclass, field

from amaranth.build import Attrs, Pins, PinsN, Resource, Subsignal

from ..rtl.target import Target

__all__ = ["BOARDS", "Board", "Device", "find_board"]


@dataclass(frozen=True)
class Device:
    """Capacity of an FPGA, in the units the flow reports.

    Parameters
    ----------
    name : str
    family : str
        ``ice40``, ``ecp5`` or ``gowin``.
    luts, dsps, brams : int
        4-input look-up tables, multiplier blocks (16x16 on iCE40, 18x18 elsewhere) and block memories.
    synth, nextpnr : tuple of str
        Options of the Yosys ``synth_`` command, and those of nextpnr that choose the die.
    """

    name: str
    family: str
    luts: int
    dsps: int
    brams: int
    synth: tuple = ()
    nextpnr: tuple = ()


_UP5K = Device("iCE40UP5K", "ice40", 5280, 8, 30, ("-device", "u", "-dsp", "-abc9"), ("--up5k",))
_HX8K = Device("iCE40HX8K", "ice40", 7680, 0, 32, ("-device", "hx", "-abc9"), ("--hx8k",))
# The 12F is a 25F with another identification; nextpnr uses all of it.
_12F = Device("LFE5U-12F", "ecp5", 24288, 28, 56, (), ("--12k",))
_25F = Device("LFE5U-25F", "ecp5", 24288, 28, 56, (), ("--25k",))
_45F = Device("LFE5U-45F", "ecp5", 43848, 72, 108, (), ("--45k",))
_UM45F = Device("LFE5UM-45F", "ecp5", 43848, 72, 108, (), ("--um-45k",))
_85F = Device("LFE5U-85F", "ecp5", 83640, 156, 208, (), ("--85k",))
_GW1NR9 = Device(
    "GW1NR-9C",
    "gowin",
    8640,
    20,
    26,
    ("-family", "gw1n"),
    ("--device", "GW1NR-LV9QN88PC6/I5", "--vopt", "family=GW1N-9C"),
)
_GW2A18 = Device(
    "GW2A-18C",
    "gowin",
    20736,
    48,
    46,
    ("-family", "gw2a"),
    ("--device", "GW2A-LV18PG256C8/I7", "--vopt", "family=GW2A-18C"),
)

# A lane of 31-bit scales takes 4 multipliers, a processing element one.
_LARGEST = {_12F: "ecp5_25k", _25F: "ecp5_25k", _45F: "small", _UM45F: "small", _85F: "medium"}


@dataclass(frozen=True, kw_only=True)
class Board:
    """A board and how to use it.

    Parameters
    ----------
    name : str
        As given on the command line.
    title : str
    device : Device
    platform_class : str
        ``module:class`` in ``amaranth_boards``.
    clock, clock_mhz : str, float
        Resource of the crystal, and its frequency.
    freq_mhz : float
        Clock of the engine unless another is asked for.
    serial : str
        Where the serial line is, for people.
    package : tuple of str
        Options of nextpnr that choose package and speed grade.
    heartbeat, error : tuple of str and int, or of str, int and str; or None
        LED resources: name, number, and the color of a multicolor LED.
    resources : tuple of Resource
        What ``amaranth_boards`` does not define.
    ties : dict of str to int
        Resources driven to a constant, such as the chip select of a flash that shares our pins.
    pll_pad : bool
        Whether the clock pin is the PLL's own (iCE40 only).
    pack_options : tuple of str
        For the packer.
    note : str
        What has to be done to the board first.
    preset : str
        Largest engine preset that fits.
    """

    name: str
    title: str
    device: Device
    platform_class: str
    clock: str
    clock_mhz: float
    freq_mhz: float
    serial: str
    package: tuple = ()
    heartbeat: tuple | None = ("led", 0)
    error: tuple | None = ("led", 1)
    resources: tuple = ()
    ties: dict = field(default_factory=dict)
    pll_pad: bool = False
    pack_options: tuple = ()
    note: str = ""
    preset: str = "up5k"

    @property
    def target(self):
        """What the engine's arithmetic is mapped to."""
        return Target(self.device.family) if self.device.dsps else Target.portable

    def create_platform(self):
        """A new Amaranth platform; one serves for one build."""
        module, _, name = self.platform_class.partition(":")
        cls = getattr(importlib.import_module(f"amaranth_boards.{module}"), name)
        platform = cls(toolchain="Apicula") if self.device.family == "gowin" else cls()
        platform.add_resources(self.resources)
        return platform


def _serial(rx, tx, conn=None, **attrs):
    return Resource(
        "uart",
        0,
        Subsignal("rx", Pins(rx, dir="i", conn=conn)),
        Subsignal("tx", Pins(tx, dir="o", conn=conn)),
        Attrs(**attrs),
    )


_USB = "on the programming USB"
_GPIO_3V3 = "3.3 V adapter"

_ULX3S = {
    "clock": "clk25",
    "clock_mhz": 25,
    "freq_mhz": 100,
    "serial": f"{_USB} (FTDI)",
    "package": ("--package", "CABGA381", "--speed", "6"),
    "pack_options": ("--compress",),
}
_ORANGECRAB = {
    "clock": "clk",
    "clock_mhz": 48,
    "freq_mhz": 100,
    "package": ("--package", "CSFBGA285", "--speed", "8"),
    "serial": f"header pins 0 (in) and 1 (out), {_GPIO_3V3}",
    "heartbeat": ("rgb_led", 0, "g"),
    "error": ("rgb_led", 0, "r"),
    "resources": (_serial("0", "1", conn=("io", 0), IO_TYPE="LVCMOS33"),),
    # The bootloader's flash cannot be read faster.
    "pack_options": ("--compress", "--freq", "38.8"),
}

BOARDS = {
    board.name: board
    for board in (
        Board(
            name="icebreaker",
            title="iCEBreaker",
            device=_UP5K,
            platform_class="icebreaker:ICEBreakerPlatform",
            clock="clk12",
            clock_mhz=12,
            freq_mhz=24,
            serial=f"{_USB} (second channel)",
            pll_pad=True,
            package=("--package", "sg48"),
            heartbeat=("led_g", 0),
            error=("led_r", 0),
        ),
        Board(
            name="ice40_hx8k",
            title="iCE40-HX8K breakout",
            device=_HX8K,
            platform_class="ice40_hx8k_b_evn:ICE40HX8KBEVNPlatform",
            clock="clk12",
            clock_mhz=12,
            freq_mhz=48,
            serial=f"{_USB} (second channel)",
            package=("--package", "ct256"),
            preset="hx8k",
        ),
        Board(
            name="upduino_v3",
            title="UPduino v3",
            device=_UP5K,
            platform_class="upduino_v3:UpduinoV3Platform",
            clock="clk12",
            clock_mhz=12,
            freq_mhz=24,
            serial=f"{_USB}, on the flash's pins 14 (out) and 15 (in)",
            package=("--package", "sg48"),
            heartbeat=("rgb_led", 0, "g"),
            error=("rgb_led", 0, "r"),
            resources=(
                _serial("15", "14", IO_STANDARD="SB_LVCMOS"),
                Resource("flash_select", 0, PinsN("16", dir="o"), Attrs(IO_STANDARD="SB_LVCMOS")),
            ),
            # Deselected, or the flash answers what the host sends.
            ties={"flash_select": 0},
            note="bridge the OSC jumper (12 MHz to pin 20): the internal oscillator's 10% are too much for a UART",
        ),
        *(
            Board(
                name=f"ulx3s_{size}".lower(),
                title=f"ULX3S {size}",
                device=device,
                platform_class=f"ulx3s:ULX3S_{size}_Platform",
                preset=_LARGEST[device],
                **_ULX3S,
            )
            for size, device in (("12F", _12F), ("25F", _25F), ("45F", _45F), ("85F", _85F))
        ),
        *(
            Board(
                name=f"orangecrab_{size}".lower(),
                title=f"OrangeCrab r0.2 {size}",
                device=device,
                platform_class=f"orangecrab_r0_2:OrangeCrabR0_2_{size}Platform",
                preset=_LARGEST[device],
                **_ORANGECRAB,
            )
            for size, device in (("25F", _25F), ("85F", _85F))
        ),
        Board(
            name="colorlight_5a75b",
            title="Colorlight 5A-75B v7.0",
            device=_25F,
            platform_class="colorlight_5a75b_r7_0:Colorlight_5A75B_R70Platform",
            clock="clk25",
            clock_mhz=25,
            freq_mhz=100,
            serial=f"J19: KEY+ (in) and DATA_LED- (out), {_GPIO_3V3}",
            # The only LED and the only button are the serial line: everything else is behind output buffers.
            package=("--package", "CABGA256", "--speed", "6"),
            heartbeat=None,
            error=None,
            preset=_LARGEST[_25F],
            pack_options=("--compress",),
        ),
        Board(
            name="versa_ecp5",
            title="ECP5 Versa",
            device=_UM45F,
            platform_class="versa_ecp5:VersaECP5Platform",
            clock="clk100",
            clock_mhz=100,
            freq_mhz=120,
            serial=f"{_USB} (second channel)",
            package=("--package", "CABGA381", "--speed", "8"),
            preset=_LARGEST[_UM45F],
        ),
        Board(
            name="tang_nano_9k",
            title="Tang Nano 9K",
            device=_GW1NR9,
            platform_class="tang_nano_9k:TangNano9kPlatform",
            clock="clk27",
            clock_mhz=27,
            freq_mhz=54,
            serial=_USB,
            pack_options=("--sspi_as_gpio", "--mspi_as_gpio"),
        ),
        Board(
            name="tang_primer_20k",
            title="Tang Primer 20K (Dock)",
            device=_GW2A18,
            platform_class="tang_primer_20k:TangPrimer20kDockPlatform",
            clock="clk27",
            clock_mhz=27,
            freq_mhz=81,
            serial=f"{_USB} of the Dock",
            pack_options=("--mspi_as_gpio", "--sspi_as_gpio", "--ready_as_gpio", "--done_as_gpio"),
            preset="small",
            note="switch 1 of the Dock's DIP switch must be on, or the core board stays in reset",
        ),
    )
}


def find_board(name):
    """The board called ``name``. Raises ``ValueError`` that lists all of them."""
    if name not in BOARDS:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {name!r}")
    return BOARDS[name]
