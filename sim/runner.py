"""The cocotb runner: one call from a design and its test modules to a checked result."""

import json
import logging
import os
import shutil
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

from cocotb._decorators import TestGenerator

from .benches.bench import PERIOD_NS
from .benches.designs import BENCHES, Design
from .cache import cache_root
from .cocotb_build import SIMULATORS, build, changed_environment, make_runner

__all__ = ["BenchError", "BenchResult", "Design", "count_tests", "run_bench", "run_tests"]

#: Directory of waveforms, logs and results below the cache, one folder a run.
_RUNS = "runs"


class BenchError(AssertionError):
    """A bench failed, or did not run as many tests as it has; the message names the tests and the log."""


@dataclass(frozen=True)
class BenchResult:
    """What a run of a bench did.

    Parameters
    ----------
    passed : tuple of str
        Names of the tests; a failed one raises :class:`BenchError` instead.
    seconds : float
        Of the simulation, without the build.
    cycles : int
        Clock cycles simulated in all tests.
    seed : int
        With which the run can be repeated.
    log, waves : Path
        What was printed; the waveform, or None.
    """

    passed: tuple
    seconds: float
    cycles: int
    seed: int
    log: Path
    waves: Path | None

    @property
    def cycles_per_second(self):
        """Simulated clock cycles a second."""
        return self.cycles / self.seconds


def run_bench(config, bench="engine", **options):
    """Run the bench called ``bench`` on a configuration; see :func:`run_tests` for the options and the result."""
    if bench not in BENCHES:
        raise ValueError(f"bench must be one of {', '.join(BENCHES)}, not {bench!r}")
    modules, design = BENCHES[bench]
    return run_tests(design(config), modules, **options)


def run_tests(
    design, modules, *, tests=None, expected=None, seed=None, waves=False, simulator=None, settings=None, show=None
):
    """Build a design, unless that was done before, and run cocotb test modules on it.

    Parameters
    ----------
    design : Design
    modules : sequence of str
        Full names of test modules.
    tests : str or None
        Regular expression; only tests whose full name it finds are run.
    expected : int or None
        Fewest tests that must pass: by default all that the modules hold, or 1 if ``tests`` selects some.
    seed : int or None
        Of every random choice; by default ``$COCOTB_RANDOM_SEED`` or the time.
    waves : bool
        Write a waveform: VCD, or FST with Icarus.
    simulator : str or None
        ``verilator`` or ``icarus``; by default ``$SIM`` or Verilator.
    settings : dict of str to str, or None
        More environment variables for the tests.
    show : callable or None
        Called with one line that names the seed and the log before the simulation starts (default: the logger).

    Returns
    -------
    BenchResult

    Raises
    ------
    BenchError
        If a test fails, or fewer tests ran than expected.
    ToolError
        If the simulator is missing or cannot build the design.
    """
    simulator = simulator or os.environ.get("SIM") or "verilator"
    if simulator not in SIMULATORS:
        raise ValueError(f"SIM must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if expected is None:
        expected = 1 if tests else sum(count_tests(module) for module in modules)
    if seed is None:
        seed = int(os.environ.get("COCOTB_RANDOM_SEED") or time.time())

    folder = build(design, simulator, waves)
    run = cache_root() / _RUNS / f"{design.name}-{modules[0].rpartition('.')[2]}-{simulator}"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(parents=True)
    log, results = run / "log.txt", run / "results.xml"
    (show or logging.getLogger(__name__).info)(f"{design.name}: seed {seed}, log {log}")
    changes = dict(settings or {}) | {
        "PLUSB_BENCH_CONFIG": json.dumps(design.config.to_dict()),
        "PLUSB_BENCH_FACTS": json.dumps(design.facts),
        "COCOTB_RANDOM_SEED": str(seed),
        "COCOTB_TEST_FILTER": tests or "",
        "COCOTB_ANSI_OUTPUT": "0",
        "WAVES": str(int(waves)),
    }
    start = time.monotonic()
    with changed_environment(changes):
        tool = make_runner(simulator)
        arguments, wave_file = _wave_arguments(simulator, run) if waves else ([], None)
        try:
            tool.test(
                test_module=",".join(modules),
                hdl_toplevel=design.name,
                hdl_toplevel_lang="verilog",
                build_dir=folder,
                test_dir=run,
                results_xml=str(results),
                waves=waves,
                log_file=log,
                **({"plusargs" if simulator == "icarus" else "test_args": arguments}),
            )
        except (RuntimeError, SystemExit):
            pass  # the results say more, or their absence does
    passed, cycles = _check(results, log, expected, seed)
    return BenchResult(passed, time.monotonic() - start, cycles, seed, log, wave_file)


def count_tests(module):
    """How many tests a module holds; a module without any raises :class:`BenchError`."""
    generators = [value for value in vars(import_module(module)).values() if isinstance(value, TestGenerator)]
    count = sum(len(list(generator.generate_tests())) for generator in generators)
    if not count:
        raise BenchError(f"{module} holds no test")
    return count


def _wave_arguments(simulator, run):
    if simulator == "icarus":
        path = run / "waves.fst"
        return [f"+dumpfile_path={path}"], path
    path = run / "waves.vcd"
    return ["--trace-file", str(path)], path


def _check(results, log, expected, seed):
    """Names of the tests that passed and the cycles they took; raises unless all is as expected."""
    hint = f"(seed {seed}, log {log})"
    if not results.exists():
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        raise BenchError(f"the simulation ended without results: {lines[-1] if lines else 'no output'} {hint}")
    passed, failed, nanoseconds = [], [], 0.0
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        duration = case.find("properties/property[@name='sim_time_duration']")
        nanoseconds += 0.0 if duration is None else float(duration.get("value"))
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is None:
            passed.append(name)
    if failed:
        raise BenchError(f"{len(failed)} of {len(passed) + len(failed)} tests failed: {', '.join(failed)} {hint}")
    if len(passed) < expected:
        raise BenchError(f"{len(passed)} tests ran, but at least {expected} must {hint}")
    return tuple(passed), round(nanoseconds / PERIOD_NS)
