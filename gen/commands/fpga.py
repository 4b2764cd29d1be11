"""``plusb fpga``: boards, bitstreams, and boards that exist only in simulation."""

import contextlib
from pathlib import Path

from .common import CommandError, load_config, print_json, whole_number
from .terminal import table

__all__ = ["add_arguments", "execute"]


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    commands = parser.add_subparsers(dest="action", metavar="action", required=True)

    def add(action, function, text):
        sub = commands.add_parser(action, help=text, description=text[0].upper() + text[1:] + ".")
        sub.set_defaults(function=function)
        return sub

    boards = add("boards", _boards, "list the boards, with the largest preset that fits and its figures")
    boards.add_argument("--json", action="store_true", help="print the list for a script")

    build = add("build", _build, "build the bitstream of a board and show its figures")
    build.add_argument("board", metavar="BOARD", help="as `plusb fpga boards` lists it")
    _add_config(build)
    build.add_argument("--freq", type=_megahertz, metavar="MHz", help="engine's clock (default: the board's usual)")
    build.add_argument("--seed", type=whole_number, default=1, metavar="N", help="of the placement (default: 1)")
    build.add_argument("--baud", type=whole_number, default=1_000_000, metavar="N", help="(default: 1000000)")
    build.add_argument("--out", type=Path, metavar="DIR", help="folder (default: build/fpga/BOARD-CONFIG)")
    build.add_argument(
        "--self-check",
        action="store_true",
        help="build a bitstream that tests itself and tells by LED and UART, without a host",
    )
    build.add_argument("--record", action="store_true", help="put the figures into the committed table")

    report = add("report", _report, "show the committed figures, and the commands that make them")
    report.add_argument("--json", action="store_true", help="print the figures for a script")

    emulate = add("emulate", _emulate, "simulate a board behind a serial port, until interrupted")
    emulate.add_argument("board", metavar="BOARD", help="as `plusb fpga boards` lists it")
    _add_config(emulate)
    for fault in ("drop", "flip", "garbage"):
        emulate.add_argument(
            f"--{fault}",
            type=_chance,
            default=0.0,
            metavar="P",
            help=f"chance a byte of the fault '{fault}' on the line (default: 0)",
        )

    selftest = add("selftest", _selftest, "test the line to a board and its buffers, and tell what it is")
    selftest.add_argument("port", metavar="PORT", help="serial port, such as /dev/ttyUSB1")
    selftest.add_argument("--baud", type=whole_number, default=1_000_000, metavar="N", help="(default: 1000000)")


def execute(arguments):
    """Run the chosen action; whatever a board, a tool or a number is the cause of ends in one line."""
    from ...fpga.link import BoardError
    from ...fpga.tools import FlowError

    try:
        return arguments.function(arguments)
    except (BoardError, FlowError, ValueError) as error:
        raise CommandError(str(error)) from error


def _add_config(parser):
    parser.add_argument(
        "--config", metavar="NAME", help="a preset or the path of a .toml file (default: the largest preset that fits)"
    )


def _megahertz(text):
    value = float(text)
    if not 0 < value < 1000:
        raise ValueError
    return value


_megahertz.__name__ = "frequency in MHz"


def _chance(text):
    value = float(text)
    if not 0 <= value < 1:
        raise ValueError
    return value


_chance.__name__ = "chance"


def _choose(arguments):
    """The board, and the name and configuration of what goes onto it."""
    from ...fpga.boards import find_board

    board = find_board(arguments.board)
    name, config = load_config(arguments.config or board.preset)
    if config.epilogue is not None and config.epilogue.statistics:
        raise CommandError(f"the boards have no stream for statistics, and {name} builds them")
    return board, name, config


def _boards(arguments):
    from ...fpga import figures
    from ...fpga.boards import BOARDS

    measured = figures.load()
    if arguments.json:
        print_json(
            [
                {
                    "board": board.name,
                    "device": board.device.name,
                    "preset": board.preset,
                    "figures": vars(entry) if (entry := measured.get((name, board.preset))) else None,
                }
                for name, board in BOARDS.items()
            ]
        )
        return 0
    rows = []
    for name, board in BOARDS.items():
        entry = measured.get((name, board.preset))
        cells = entry.cells()[2:] if entry else ["-"] * (len(figures.Figures.HEADINGS) - 2)
        rows.append([name, board.device.name, board.preset, *cells])
    table(["board", "device", "largest", *figures.Figures.HEADINGS[2:]], rows)
    print("- not measured; `plusb fpga build BOARD` does. Notes:")
    for name, board in BOARDS.items():
        print(f"{name}: {board.title}; serial line {board.serial}" + (f"; {board.note}" if board.note else ""))
    return 0


def _build(arguments):
    from ...fpga import figures
    from ...fpga.flow import build
    from ...fpga.selfcheck import SelfCheckTop
    from ...fpga.top import BoardTop
    from ...rtl.engine import Engine

    board, name, config = _choose(arguments)
    kind = "-self-check" if arguments.self_check else ""
    folder = arguments.out or Path("build", "fpga", f"{board.name}-{name}{kind}")
    if arguments.self_check:
        top = SelfCheckTop(board, config, freq_mhz=arguments.freq, baud=arguments.baud)
    else:
        top = BoardTop(
            board,
            Engine(config),
            freq_mhz=arguments.freq,
            baud=arguments.baud,
            config_hash=bytes.fromhex(config.config_hash),
        )
    print(f"{board.title}: {name}, a {config.rows}x{config.cols} array, configuration {config.config_hash}")
    result = build(board, top, folder, freq_mhz=arguments.freq, seed=arguments.seed, progress=_Progress())
    (folder / "result.json").write_text(result.to_json() + "\n", encoding="utf-8")
    entry = figures.Figures.of(result, name + kind, config, _command(arguments, result.freq_mhz))
    table(entry.HEADINGS, [entry.cells()])
    if board.note:
        print(f"before use  {board.note}")
    print(f"bitstream   {result.bitstream}")
    print(f"picture     {result.placed_svg}")
    if arguments.record:
        figures.record(entry)
        print(f"recorded in {figures.PATH}")
    return 0


def _command(arguments, freq_mhz):
    """The command that repeats a build, with everything that it depends on."""
    words = ["plusb fpga build", arguments.board]
    if arguments.config:
        words.append(f"--config {arguments.config}")
    if arguments.self_check:
        words.append("--self-check")
    if arguments.freq:
        words.append(f"--freq {arguments.freq:g}")
    if arguments.seed != 1:
        words.append(f"--seed {arguments.seed}")
    return " ".join([*words, "--record"])


class _Progress:
    """Says which step a build is at, with the tool, and what its first call waits for."""

    def __init__(self):
        self._step = None

    def __call__(self, step, detail):
        from ...fpga.tools import FIRST_CALL

        if step != self._step:
            self._step = step
            print(f"{step:<12}{detail}", flush=True)
        elif detail == FIRST_CALL:
            print(f"{'':<12}{detail}", flush=True)


def _report(arguments):
    from ...fpga import figures

    entries = figures.load().values()
    if not entries:
        raise CommandError("there are no figures yet: plusb fpga build BOARD --record measures them")
    if arguments.json:
        print_json([vars(entry) for entry in entries])
        return 0
    table(figures.Figures.HEADINGS, [entry.cells() for entry in entries])
    print()
    for entry in entries:
        print(entry.command)
    return 0


def _emulate(arguments):
    from ...fpga.clocking import solve_for
    from ...fpga.emulate import Noise, emulate
    from ...rtl.engine import Engine

    board, name, config = _choose(arguments)
    pll = solve_for(board, board.freq_mhz)
    noise = Noise(drop=arguments.drop, flip=arguments.flip, garbage=arguments.garbage)
    options = {
        "config_hash": bytes.fromhex(config.config_hash),
        "engine_hz": 1e6 * (pll.clock_out if pll else board.clock_mhz),
    }
    with emulate(Engine(config), noise=noise, **options) as running:
        print(running.port)
        print(
            f"a virtual {board.title} with {name}; try: plusb run digits --config {arguments.config or name} "
            f"--board {running.port} --limit 16",
            flush=True,
        )
        with contextlib.suppress(KeyboardInterrupt):
            running.wait()
    return 0


def _selftest(arguments):
    from ...fpga.host import Board

    with Board(arguments.port, arguments.baud) as board:
        board.self_test()
        identity = board.identity
        print(
            f"plusb {'.'.join(map(str, identity.version))}, configuration {identity.config_hash.hex()}, "
            f"engine at {identity.clock_hz / 1e6:g} MHz"
        )
        print("self-test passed")
    return 0
