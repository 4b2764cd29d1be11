"""``plusb bench``: cycles and bytes of matrix products with and without fusion; generation and simulation speed."""

import time

import numpy as np

from ...rtl.config import EngineConfig
from ...rtl.numeric import Family
from ...rtl.presets import PRESETS
from ...sim.layers import open_pair
from ...sim.unfused import compare_unfused
from ..gemm import Gemm
from ..unit import engine_unit
from .common import CommandError, print_json
from .terminal import progress_bar, table

__all__ = [
    "CONFIGS",
    "PRODUCTS",
    "SIZES",
    "UNFUSED",
    "add_arguments",
    "execute",
    "measure_generation",
    "measure_products",
    "measure_unfused",
]

#: Presets that are simulated.
CONFIGS = ("small", "medium")
#: M, K and N of the products: small, large, and so short in K that a tile just hides its own epilogue.
PRODUCTS = ((64, 64, 64), (256, 256, 256), (1024, 8, 64))
#: Those of them that are run without fusion too.
UNFUSED = (PRODUCTS[0], PRODUCTS[2])
#: Rows (and columns) of the arrays that are generated.
SIZES = (4, 8, 16, 32)


def add_arguments(parser):
    """Add the command's arguments to its parser."""
    parser.add_argument("--json", action="store_true", help="print the figures for a script")


def execute(arguments):
    """Measure and print; exit code 1 if a result differs from the golden model."""
    gemms, generation, simulation, unfused = [], [], [], []
    with progress_bar(quiet=arguments.json) as show:
        for name in CONFIGS:
            show(f"simulating {name}", None)
            products, speed = measure_products(name)
            gemms += products
            simulation.append({"config": name, "cycles_per_second": round(speed)})
            show(f"simulating {name} without fusion", None)
            unfused += measure_unfused(name)
        for size in SIZES:
            show(f"generating {size}x{size}", None)
            generation.append(measure_generation(size))
    if arguments.json:
        print_json({"gemms": gemms, "unfused": unfused, "generation": generation, "simulation": simulation})
    else:
        _print(gemms, unfused, generation, simulation)
    return 0


def random_gemm(m, k, n):
    """A random product with a random epilogue, the same every time: activations int8 (M, K), and the :class:`Gemm`."""
    random = np.random.default_rng(m * k * n)
    x = random.integers(-128, 128, (m, k))
    gemm = Gemm(
        name=f"{m}x{k}x{n}",
        op="GEMM",
        w=random.integers(-128, 128, (k, n)),
        bias=random.integers(-(2**20), 2**20, n),
        family=Family.gemmlowp,
        multiplier=random.integers(2**30, 2**31, n),
        shift=random.integers(-14, -6, n),
        zp_out=-3,
        lo=-120,
    )
    return x, gemm


def measure_products(name):
    """Figures of every product on a preset, and the simulated cycles in a second of wall time.

    Raises :class:`CommandError` with code 1 if a result differs from the golden model.
    """
    figures, runs = [], []
    with open_pair(PRESETS[name]) as pair:
        for m, k, n in PRODUCTS:
            x, gemm = random_gemm(m, k, n)
            run = pair.run(gemm, x)
            if run.mismatches:
                raise CommandError(f"{run.mismatches} of {run.outputs} outputs of {gemm.name} on {name} are wrong", 1)
            runs.append(run)
            figures.append(
                {
                    "config": name,
                    "m": m,
                    "k": k,
                    "n": n,
                    "cycles": run.cycles,
                    "ideal_cycles": run.ideal_cycles,
                    "utilization": run.utilization,
                    "cycles_raw": run.cycles_raw,
                }
            )
    return figures, sum(run.cycles for run in runs) / sum(run.seconds for run in runs)


def measure_unfused(name):
    """Cycles and bytes of products on a preset, with its epilogue and as raw sums followed by the epilogue alone.

    Raises :class:`CommandError` with code 1 if the bytes that come out are not the same.
    """
    figures = []
    products = [random_gemm(*size)[::-1] for size in UNFUSED]
    for run in compare_unfused(PRESETS[name], [(gemm, x, None) for gemm, x in products]):
        if not run.identical:
            raise CommandError(f"{run.m}x{run.k}x{run.n} on {name} differs without fusion", 1)
        figures.append(
            {
                "config": name,
                "m": run.m,
                "k": run.k,
                "n": run.n,
                "cycles_fused": run.cycles_fused,
                "cycles_unfused": run.cycles_unfused,
                "ratio": run.ratio,
                "bytes_fused": run.bytes_fused,
                "bytes_unfused": run.bytes_unfused,
            }
        )
    return figures


def measure_generation(size):
    """Seconds in which the Verilog of a square array is generated, and its bytes."""
    config = EngineConfig(rows=size, cols=size)
    began = time.perf_counter()
    unit = engine_unit.__wrapped__(config)  # not from the cache
    seconds = time.perf_counter() - began
    return {"rows": size, "cols": size, "seconds": round(seconds, 3), "bytes": len(unit.verilog.encode())}


def _print(gemms, unfused, generation, simulation):
    table(
        ["unit", "M x K x N", "cycles", "ideal", "utilization", "epilogue off", "epilogue costs"],
        [
            [
                item["config"],
                f"{item['m']} x {item['k']} x {item['n']}",
                f"{item['cycles']:,}",
                f"{item['ideal_cycles']:,}",
                f"{item['utilization']:.3%}",
                f"{item['cycles_raw']:,}",
                f"{item['cycles'] - item['cycles_raw']:,}",
            ]
            for item in gemms
        ],
    )
    print()
    table(
        ["unit", "M x K x N", "fused cycles", "unfused", "ratio", "fused bytes", "unfused", "ratio"],
        [
            [
                item["config"],
                f"{item['m']} x {item['k']} x {item['n']}",
                f"{item['cycles_fused']:,}",
                f"{item['cycles_unfused']:,}",
                f"{item['ratio']:.2f}",
                f"{item['bytes_fused']:,}",
                f"{item['bytes_unfused']:,}",
                f"{item['bytes_unfused'] / item['bytes_fused']:.2f}",
            ]
            for item in unfused
        ],
    )
    print()
    table(
        ["array", "seconds", "Verilog bytes"],
        [[f"{item['rows']}x{item['cols']}", f"{item['seconds']:.1f}", f"{item['bytes']:,}"] for item in generation],
    )
    print()
    table(["unit", "cycles/s"], [[item["config"], f"{item['cycles_per_second']:,}"] for item in simulation])
