"""The virtual board: the board's hardware, simulated, behind a pseudo-terminal that any serial program can open."""

import hashlib
import importlib.metadata
import os
import signal
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..gen.verilog import to_verilog
from ..sim import verilator
from ..sim.cache import build_once
from .core import BoardCore
from .uart import BaudRate

__all__ = ["Emulation", "Noise", "emulate"]

# Fewest clocks a bit: the simulation is as fast as it can be.
_RATE = BaudRate(12_000_000, 3_000_000)
_BIT = _RATE.clock_hz // _RATE.baud
# Clocks of the line for each of the engine's: as many as a core permits. The engine still waits for the line all the
# time, and most of the work is to simulate the engine.
_DIVIDER = 8
# Simulated, and so much longer than it takes the host to hand a frame over.
_SILENCE = 0.002
_TOP = "plusb_board"


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Faults of the line, as chances a byte in either direction.

    Parameters
    ----------
    drop, flip, garbage : float
        That it is lost; that one of its bits is wrong; that a random byte follows it.
    seed : int
    """

    drop: float = 0
    flip: float = 0
    garbage: float = 0
    seed: int = 1

    def arguments(self):
        """For the simulator."""
        return [str(self.seed), *(str(round(1e6 * chance)) for chance in (self.drop, self.flip, self.garbage))]


@dataclass(frozen=True)
class Emulation:
    """A running virtual board.

    Parameters
    ----------
    port : str
        The terminal to open.
    """

    port: str
    _process: subprocess.Popen

    def press_reset(self):
        """Reset the board, as its button would."""
        self._process.send_signal(signal.SIGUSR1)

    def wait(self):
        """Until the simulation ends, which it does only from outside."""
        self._process.wait()


def _compile(text):
    def make(folder):
        (folder / f"{_TOP}.v").write_text(text, encoding="utf-8")
        verilator.run(
            [
                "--cc",
                "--exe",
                "--build",
                "-j",
                "2",
                "-O3",
                *verilator.WAIVERS,
                "-CFLAGS",
                "-O2",
                "-MAKEFLAGS",
                # One compiler call for all files reads the headers once.
                "VM_PARALLEL_BUILDS=0 OPT_FAST=-O2",
                "--top-module",
                _TOP,
                "--Mdir",
                ".",
                f"{_TOP}.v",
                str(Path(__file__).with_suffix(".cpp")),
            ],
            folder,
        )

    parts = (text, Path(__file__).with_suffix(".cpp").read_text(), importlib.metadata.version("verilator"))
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return build_once("board", digest, make) / f"V{_TOP}"


@contextmanager
def emulate(engine, *, noise=None, **options):
    """A context with a running virtual board; the first use of an engine compiles it.

    Parameters
    ----------
    engine : wiring.Component
        See :class:`~plusb.fpga.core.BoardCore`.
    noise : Noise or None
    options : dict
        For :class:`~plusb.fpga.core.BoardCore`.

    Yields
    ------
    Emulation
    """
    core = BoardCore(engine, _RATE, silence=_SILENCE, **options)
    program = _compile(to_verilog(core, _TOP))
    # POSIX only; the simulator too.
    import tty

    ours, theirs = os.openpty()
    try:
        # Held open, so that the terminal outlives its users, and raw, so that it does not echo.
        tty.setraw(theirs)
        with subprocess.Popen(
            [str(program), str(ours), str(_BIT), str(_DIVIDER), *(noise or Noise()).arguments()],
            pass_fds=(ours,),
            stdin=subprocess.DEVNULL,
        ) as process:
            try:
                yield Emulation(os.ttyname(theirs), process)
            finally:
                process.kill()
    finally:
        os.close(ours)
        os.close(theirs)
