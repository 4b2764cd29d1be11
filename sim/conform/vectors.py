"""Committed answers of real runtimes and published designs, through golden model and hardware.

A case is one accumulator with its scale and its answer. On the hardware it is a column whose weights are 0 and whose
bias is the accumulator.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...gen.exactness import obstacle
from ...gen.gemm import Gemm
from ...rtl.numeric import Family
from ..golden import RUNTIMES, epilogue, runtime_scale
from .hardware import on_unit
from .rows import Row

__all__ = ["survey_vectors"]

_KERNELS = {"litert_ref": "litert-ref", "litert_ruy": "litert", "litert_xnnpack": "litert-xnnpack", "tflm": "tflm"}
_ONNX = {name.lower(): name for name in RUNTIMES["ort"]}
_WIDE = (-(1 << 31), (1 << 31) - 1)


@dataclass
class _Group:
    """Cases of one family: accumulators, scales, zero points, bounds and answers."""

    runtime: str
    op: str
    family: Family
    cases: list = field(default_factory=list)

    def add(self, v, scale, expected, zp=0, bounds=_WIDE):
        self.cases.append((v, scale, expected, zp, bounds))


def survey_vectors(config, unit, folder):
    """Compare the vectors of a folder with golden model and hardware.

    Parameters
    ----------
    config : EngineConfig
    unit : BurstUnit or None
    folder : Path
        With ``runtime_rounding.json`` and ``epilogue_cases.json``, or one of them.

    Yields
    ------
    Row
        Two for each group of cases: ``golden`` and ``rtl``.

    Raises
    ------
    ValueError
        If the folder holds no vectors, or they are damaged.
    """
    files = {"runtime_rounding.json": _of_runtimes, "epilogue_cases.json": _published}
    found = [(Path(folder) / name, read) for name, read in files.items() if (Path(folder) / name).exists()]
    if not found:
        raise ValueError(f"{folder} must hold {' or '.join(files)}")
    for path, read in found:
        try:
            cases = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(cases, list):
                raise TypeError(f"it must be a list, not {cases!r:.20}")
            groups = read(cases)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {type(error).__name__} {error}") from error
        for group in groups:
            yield _golden_row(group)
            yield _rtl_row(config, unit, group)


def _row(group, where):
    return Row(runtime=group.runtime, op=group.op, family=str(group.family), where=where, variants={})


def _golden_row(group):
    row = _row(group, "golden")
    for v, scale, expected, zp, (lo, hi) in group.cases:
        got = epilogue([[v]], family=group.family, zp_out=zp, lo=lo, hi=hi, **scale)
        row.outputs += 1
        row.mismatches += int(got[0, 0] != expected)
    return row


def _rtl_row(config, unit, group):
    row = _row(group, "rtl")
    row.note = "no hardware was asked for" if unit is None else obstacle(config, group.family)
    if row.note:
        return row
    compute = on_unit(config, unit)
    modes = sorted({(zp, bounds) for _, _, _, zp, bounds in group.cases})
    for zp, bounds in modes:
        cases = [case for case in group.cases if case[3:] == (zp, bounds) and _WIDE[0] <= case[0] <= _WIDE[1]]
        if not cases:
            continue
        lo, hi = max(bounds[0], -128), min(bounds[1], 127)
        names = cases[0][1].keys()
        scales = {name: np.array([case[1][name] for case in cases]).reshape(-1) for name in names}
        gemm = Gemm(
            name=group.op,
            op=group.op,
            w=np.zeros((1, len(cases)), np.int8),
            bias=np.array([case[0] for case in cases], np.int64),
            family=group.family,
            zp_out=zp,
            lo=lo,
            hi=hi,
            **scales,
        )
        got = compute(np.zeros((1, 1), np.int8), gemm)[0]
        row.outputs += got.size
        row.mismatches += int(np.count_nonzero(got != np.clip([case[2] for case in cases], lo, hi)))
    return row


def _of_runtimes(rows):
    groups = {}
    for row in rows:
        for column in (name for name in row if "/" in name):
            op, kernel = column.split("/")
            runtime, op = ("ort", _ONNX[kernel]) if op == "ort" else (_KERNELS[kernel], op.upper())
            scale = runtime_scale(runtime, op, *(np.float32(row[name]) for name in ("s_in", "s_w", "s_out"))).parameters
            family = scale.pop("family")
            group = groups.setdefault(column, _Group(runtime, f"{op}, vectors", family))
            group.add(row["acc"], scale, row[column])
    return groups.values()


def _published(cases):
    """Cases of one accumulator and one scale; those about folding and widths have tests of their own."""
    groups = {}

    def add(name, family, v, multiplier, shift, expected, **mode):
        group = groups.setdefault((name, family), _Group("published", f"{name}, vectors", family))
        group.add(v, {"multiplier": multiplier, "shift": shift}, expected, **mode)

    for case in cases:
        name, given, expect = case["id"].split("_")[0], case["inputs"], case["expect"]
        if name == "mbqm":
            add(name, Family.gemmlowp, given["x"], given["multiplier"], given["shift"], expect["double"])
            add(name, Family.half_up, given["x"], given["multiplier"], given["shift"], expect["single"])
        elif name == "leftshift":
            for family in filter(lambda one: one.is_fixed_point, Family):
                add(name, family, given["x"], given["multiplier"], given["shift"], expect["exact"])
        elif name == "nvdla":
            add(name, Family.half_away, given["x"] - given["offset"], given["scale"], 31 - given["trunc"], expect)
        elif name == "cmsis220":
            add(name, Family.half_up, given["val"], given["multiplier"], given["shift"], expect["after"])
            add(name, Family.gemmlowp, given["val"], given["multiplier"], given["shift"], expect["after"])
        elif case["id"].startswith("hps_rdbpot"):
            add("hps", Family.half_away, given["x"], 1, 31 - given["shift"], expect["gemmlowp"])
        elif name == "hps":
            mode = {"zp": given["offset"], "bounds": (given["min"], given["max"])}
            v = given["acc"] + given["bias"]
            add(name, Family.gemmlowp, v, given["multiplier"], given["shift"], expect["correct"], **mode)
        elif name in ("onnx", "fp32"):
            group = groups.setdefault((name, Family.float32), _Group("published", f"{name}, vectors", Family.float32))
            answer = expect["mlas" if name == "onnx" else "fp32"]
            group.add(given["acc"], {"scale": np.float32(given["scale"])}, answer, zp=given.get("zp", 0))
    return groups.values()
