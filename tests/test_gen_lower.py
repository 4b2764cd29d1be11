"""Lowering of a matrix product to the words of a unit's streams."""

import dataclasses

import numpy as np
import pytest
from plusb.gen.gemm import Gemm
from plusb.gen.lower import lower
from plusb.rtl.config import EngineConfig, EpilogueConfig
from plusb.rtl.formats import command_fields
from plusb.rtl.numeric import Family

CONFIG = EngineConfig(rows=2, cols=4, max_k=100)


def a_gemm(k=3, n=5, **changes):
    random = np.random.default_rng(1)
    gemm = Gemm(
        name="fc",
        op="FULLY_CONNECTED",
        w=random.integers(-128, 128, (k, n)),
        bias=random.integers(-100, 100, n),
        family=Family.ruy,
        multiplier=random.integers(2**30, 2**31, n),
        shift=random.integers(-9, 0, n),
        zp_out=5,
        lo=-100,
        hi=100,
    )
    return dataclasses.replace(gemm, **changes)


def commands(program):
    """The fields of each command."""
    out = []
    for word in program.streams["cmd"]:
        number, values = int.from_bytes(word.tobytes(), "little"), {}
        for field in command_fields(program.config):
            value = number & (1 << field.width) - 1
            values[field.name] = value - (value >> field.width - 1 << field.width) if field.signed else value
            number >>= field.width
        out.append(values)
    return out


def test_tiles():
    x = np.arange(9).reshape(3, 3)
    gemm = a_gemm()
    program = lower(CONFIG, gemm, x)
    assert (program.m, program.k, program.n, program.rows, program.macs, program.ideal_cycles) == (3, 3, 5, 6, 45, 6)
    tiles = commands(program)
    assert [(tile["rows"], tile["cols"]) for tile in tiles] == [(1, 3), (0, 3), (1, 0), (0, 0)]
    assert [tile["swap_bias"] for tile in tiles] == [tile["swap_scale"] for tile in tiles] == [1, 0, 1, 0]
    for tile in tiles:
        assert (tile["k"], tile["clear"], tile["emit"]) == (2, 1, 1)
        assert (tile["family"], tile["zp"], tile["lo"], tile["hi"]) == (1, 5, -100, 100)


def test_operands():
    x = np.arange(9).reshape(3, 3)
    gemm = a_gemm()
    program = lower(CONFIG, gemm, x)
    a = program.streams["a"].view(np.int8).reshape(2, 2, 3, 2)  # block of columns, tile of rows, k, row
    w = program.streams["w"].view(np.int8).reshape(2, 2, 3, 4)
    for block in range(2):
        assert np.array_equal(a[block, 0], x[:2].T)
        assert np.array_equal(a[block, 1], np.stack([x[2], np.zeros(3)], axis=1))
        for tile in range(2):
            expected = np.zeros((3, 4))
            columns = gemm.w[:, block * 4 : block * 4 + 4]
            expected[:, : columns.shape[1]] = columns
            assert np.array_equal(w[block, tile], expected)


def test_a_unit_that_keeps_weights_loads_each_strip_once():
    x = np.arange(9).reshape(3, 3)
    kept = lower(CONFIG.replace(replay_depth=3), a_gemm(), x)
    assert [(tile["store_w"], tile["replay_w"]) for tile in commands(kept)] == [(1, 0), (0, 1), (1, 0), (0, 1)]
    strips = lower(CONFIG, a_gemm(), x).streams["w"].reshape(2, 2, 3, 4)
    assert np.array_equal(kept.streams["w"].reshape(2, 3, 4), strips[:, 0])
    too_long = lower(CONFIG.replace(replay_depth=2), a_gemm(), x)
    assert not any(tile["store_w"] or tile["replay_w"] for tile in commands(too_long))
    assert np.array_equal(too_long.streams["w"].reshape(2, 2, 3, 4), strips)


def test_records():
    gemm = a_gemm()
    program = lower(CONFIG, gemm, np.zeros((1, 3), int))
    bias = program.streams["bias"].copy().view("<i4").ravel()
    assert bias.tolist() == [*gemm.bias.tolist(), 0, 0, 0]
    scale = [int.from_bytes(word.tobytes(), "little") for word in program.streams["scale"]]
    assert [word & 2**31 - 1 for word in scale] == [*gemm.multiplier.tolist(), 0, 0, 0]
    assert [word >> 31 for word in scale][:5] == (31 - gemm.shift).tolist()


def test_raw_unit_has_no_records():
    program = lower(CONFIG.replace(epilogue=None), a_gemm(), np.zeros((1, 3), int))
    assert set(program.streams) == {"cmd", "a", "w"}


def test_collect():
    config = CONFIG.replace(epilogue=None)
    program = lower(config, a_gemm(), np.zeros((3, 3), int))
    rows = np.arange(24, dtype="<i4").reshape(6, 4) - 7
    y = program.collect(rows.view(np.uint8))
    assert y.shape == (3, 5)
    assert np.array_equal(y, np.concatenate([rows[:3], rows[3:, :1]], axis=1))


@pytest.mark.parametrize(
    ("config", "gemm", "x", "message"),
    [
        (CONFIG, a_gemm(), np.zeros((2, 4), int), "x must be of shape (M, 3), not (2, 4)"),
        (CONFIG, a_gemm(), np.zeros(3, int), "x must be of shape (M, 3), not (3,)"),
        (CONFIG, a_gemm(k=101), np.zeros((1, 101), int), "K must be in 1..100 (max_k of the unit), not 101"),
        (CONFIG, a_gemm(), np.full((1, 3), 128), "x must be int8, not in 128..128"),
        (CONFIG, a_gemm(w=np.full((3, 5), -129)), np.zeros((1, 3), int), "w must be int8, not in -129..-129"),
        (CONFIG, a_gemm(), np.zeros((0, 3), int), "x must not be empty, not of shape (0, 3)"),
        (
            CONFIG,
            a_gemm(family=Family.floor),
            np.zeros((1, 3), int),
            "family must be one of gemmlowp, ruy, half_up, half_away (built), not 'floor'",
        ),
        (CONFIG, a_gemm(lo=3, hi=2), np.zeros((1, 3), int), "lo must be at most hi (2), not 3"),
        (CONFIG, a_gemm(zp_out=200), np.zeros((1, 3), int), "zp must be in -128..127, not 200"),
        (
            CONFIG,
            a_gemm(bias=np.full(5, 2**31)),
            np.zeros((1, 3), int),
            f"bias must be in {-(2**31)}..{2**31 - 1}, not {2**31}",
        ),
        (
            CONFIG.replace(epilogue=EpilogueConfig(output="uint8")),
            a_gemm(),
            np.zeros((1, 3), int),
            "lo must be in 0..255, not -100",
        ),
    ],
)
def test_errors(config, gemm, x, message):
    with pytest.raises(ValueError, match="must") as caught:
        lower(config, gemm, x)
    assert str(caught.value).startswith(message)
