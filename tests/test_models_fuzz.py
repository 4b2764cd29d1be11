"""Damaged model files: clean errors only, no crash, no hang, bounded memory."""

import logging
from pathlib import Path

import numpy as np
import pytest

from .models_fuzz import GIB, SECONDS, hunt
from .models_onnx import cnn, dynamic, mlp, static
from .models_tflite import convolution, fully_connected

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"


def tflite_files():
    rng = np.random.default_rng(0)
    files = [
        fully_connected(rng, 2, 3, 2),
        convolution(rng, (4, 4), 2, 2, (2, 2)),
        convolution(rng, (4, 4), 2, 4, (2, 2), depthwise=True),
    ]
    return files + [path.read_bytes() for path in [MODELS / "tflm" / "hello_world_int8.tflite"] if path.exists()]


def onnx_files():
    rng = np.random.default_rng(0)
    logging.disable(logging.WARNING)
    try:
        files = [
            static(make(rng), rng, qdq=qdq, signed=False, per_channel=True)
            for make in (mlp, cnn)
            for qdq in (False, True)
        ]
        return [*files, dynamic(mlp(rng))]
    finally:
        logging.disable(logging.NOTSET)


FILES = {"tflite": tflite_files, "onnx": onnx_files}


def check(kind, count, run):
    total = hunt(FILES[kind](), count, run=run)
    assert total["bad"] == []
    assert total["clean"] + total["accepted"] == count
    assert total["clean"] > count // 10
    assert total["accepted"] > count // 200
    assert total["slowest"] < SECONDS
    assert total["memory"] < GIB


@pytest.mark.parametrize("kind", FILES)
def test_a_hundred_damaged_files(kind):
    check(kind, 100, run=False)


@pytest.mark.slow
@pytest.mark.parametrize("run", [False, True], ids=["open", "open and run"])
@pytest.mark.parametrize("kind", FILES)
def test_thousands_of_damaged_files(kind, run):
    check(kind, 3000, run=run)
