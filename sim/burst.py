"""The fast simulation: the generated Verilog compiled with a driver that moves whole streams in one call."""

import ctypes
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..gen.unit import engine_unit
from . import verilator
from .cache import build_once

__all__ = ["BurstResult", "BurstUnit", "open_unit"]

#: Cycles of one call, between which progress can be shown.
_CHUNK = 20_000


class _Traffic(ctypes.Structure):
    _fields_ = (
        ("words", ctypes.POINTER(ctypes.c_void_p)),
        ("beats", ctypes.c_void_p),
        ("bytes", ctypes.c_void_p),
        ("sent", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("keep", ctypes.c_void_p),
        ("last", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("out_bytes", ctypes.c_int64),
        ("keep_bytes", ctypes.c_int64),
        ("received", ctypes.c_int64),
        ("statistics", ctypes.c_void_p),
        ("tiles", ctypes.c_int64),
        ("statistics_bytes", ctypes.c_int64),
        ("counted", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("idle", ctypes.c_uint32),
        ("stall", ctypes.c_uint32),
    )


@dataclass(frozen=True)
class BurstResult:
    """What came out of a unit.

    Parameters
    ----------
    data, keep : uint8 array, shape (rows, bytes)
        TDATA and TKEEP of each row.
    last : uint8 array, shape (rows,)
        TLAST of each row.
    cycles : int
        From the cycle that took the first operand to the one that gave the last row, both included.
    statistics : uint8 array, shape (tiles, bytes)
        Words of the tiles' statistics; no tiles where the unit has none.
    """

    data: np.ndarray
    keep: np.ndarray
    last: np.ndarray
    cycles: int
    statistics: np.ndarray


class BurstUnit:
    """A simulated unit. Use :func:`open_unit`, which builds and closes it."""

    def __init__(self, library, unit, waves):
        self._unit = unit
        self._library = library
        library.plusb_open.restype = ctypes.c_void_p
        library.plusb_open.argtypes = [ctypes.c_char_p]
        library.plusb_close.argtypes = [ctypes.c_void_p]
        library.plusb_reset.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        library.plusb_run.restype = ctypes.c_int64
        library.plusb_run.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Traffic), ctypes.c_int64]
        self._handle = library.plusb_open(None if waves is None else str(waves).encode())
        self.reset()

    def close(self):
        """Finish the simulation and its waveform."""
        self._library.plusb_close(self._handle)

    def reset(self, seed=1):
        """Reset the unit and seed the traffic's random numbers."""
        self._library.plusb_reset(self._handle, seed)

    def run(self, program, *, idle=0, stall=0, progress=None):
        """Run a program to its last row.

        Parameters
        ----------
        program : Program
            As :func:`plusb.gen.lower.lower` makes it.
        idle, stall : int
            Chance, of 256, that a source offers nothing new in a cycle, and that the sink is not ready.
        progress : callable or None
            Called now and then with the number of rows received and of cycles passed.

        Returns
        -------
        BurstResult

        Raises
        ------
        RuntimeError
            If the unit stops: no row for longer than any tile can take.
        """
        words = [np.ascontiguousarray(program.streams[name]) for name in self._unit.inputs]
        beats = np.array([len(stream) for stream in words], np.int64)
        sizes = np.array([stream.shape[1] for stream in words], np.int64)
        sent = np.zeros(len(words), np.int64)
        data = np.zeros((program.rows, self._unit.out_bytes), np.uint8)
        keep = np.zeros((program.rows, -(-self._unit.keep_bits // 8)), np.uint8)
        last = np.zeros(program.rows, np.uint8)
        statistics = np.zeros(self._statistics_shape(program), np.uint8)
        traffic = _Traffic(
            words=(ctypes.c_void_p * len(words))(*(stream.ctypes.data for stream in words)),
            beats=beats.ctypes.data,
            bytes=sizes.ctypes.data,
            sent=sent.ctypes.data,
            out=data.ctypes.data,
            keep=keep.ctypes.data,
            last=last.ctypes.data,
            rows=program.rows,
            statistics=statistics.ctypes.data,
            tiles=len(statistics),
            statistics_bytes=statistics.shape[1],
            out_bytes=data.shape[1],
            keep_bytes=keep.shape[1],
            first=-1,
            idle=idle,
            stall=stall,
        )
        passed = 0
        while traffic.received < program.rows or traffic.counted < len(statistics):
            before = traffic.received, traffic.counted, tuple(sent)
            passed += self._library.plusb_run(self._handle, ctypes.byref(traffic), _CHUNK)
            if (traffic.received, traffic.counted, tuple(sent)) == before:
                raise RuntimeError(f"the unit stopped after {traffic.received} of {program.rows} rows")
            if progress is not None:
                progress(traffic.received, passed)
        return BurstResult(data, keep, last, traffic.end - traffic.first + 1, statistics)

    def _statistics_shape(self, program):
        if "statistics" not in self._unit.outputs:
            return 0, 0
        return len(program.streams["cmd"]), self._unit.ports["m_axis_statistics_tdata"][1] // 8


def _compile(unit, folder, waves, optimize):
    (folder / f"{unit.name}.v").write_text(unit.verilog, encoding="utf-8")
    statistics = "#define STATISTICS\n" if "statistics" in unit.outputs else ""
    inputs = " ".join(f"X({name})" for name in unit.inputs)
    (folder / "ports.h").write_text(
        f'#include "V{unit.name}.h"\n#define MODEL V{unit.name}\n#define INPUTS(X) {inputs}\n'
        f"#define FIRST {unit.inputs.index('a' if 'a' in unit.inputs else 'acc')}\n{statistics}",
        encoding="utf-8",
    )
    verilator.build_library(
        folder,
        [f"{unit.name}.v"],
        unit.name,
        driver=Path(__file__).with_suffix(".cpp"),
        waves=waves,
        optimize=optimize,
    )
    for path in folder.iterdir():  # what is left of the build is many times larger
        if path.suffix not in (".v", ".so"):
            path.unlink()


@contextmanager
def open_unit(config, *, make=engine_unit, waves=None, optimize=True):
    """A context with a :class:`BurstUnit` of a configuration; it is built the first time.

    Parameters
    ----------
    config : EngineConfig
    make : callable
        Which unit of the configuration: ``engine_unit`` or ``epilogue_unit``.
    waves : Path or None
        VCD file to write.
    optimize : bool
        Whether a new build shall run fast, or rather be there soon.
    """
    unit = make(config)
    traced = waves is not None
    kind = "burst" + "-waves" * traced + "-quick" * (not optimize)
    folder = build_once(kind, unit.digest, lambda path: _compile(unit, path, traced, optimize))
    simulated = BurstUnit(ctypes.CDLL(str(folder / "unit.so")), unit, waves)
    try:
        yield simulated
    finally:
        simulated.close()
