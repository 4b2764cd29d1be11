"""Every matrix-product layer of real models against the outputs of LiteRT's reference kernels."""

from pathlib import Path

import numpy as np
import pytest
from plusb.sim.golden import epilogue_stages, fold_zero_point, gemm, load_bias, store_bias

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models" / "golden"
LAYERS = {"ad01_int8": 10, "hello_world_int8": 3, "pretrainedResnet_quant": 10, "vww_96_int8": 28}


def patches(x, height, width, stride, same, fill):
    """The (..., out_h, out_w, height, width, C) windows of ``x``, padded with ``fill`` as TFLite pads."""
    axes = []
    for size, kernel, step in ((x.shape[-3], height, stride[0]), (x.shape[-2], width, stride[1])):
        out = -(-size // step) if same else (size - kernel) // step + 1
        total = max((out - 1) * step + kernel - size, 0)
        axes.append((out, (total // 2, total - total // 2)))
    (out_h, pad_h), (out_w, pad_w) = axes
    x = np.pad(x, [(0, 0)] * (x.ndim - 3) + [pad_h, pad_w, (0, 0)], constant_values=fill)
    windows = np.lib.stride_tricks.sliding_window_view(x, (height, width), axis=(-3, -2))
    windows = windows[..., :: stride[0], :: stride[1], :, :, :][..., :out_h, :out_w, :, :, :]
    return np.moveaxis(windows, -3, -1)


def accumulate(op, x, w, bias, zp, stride, same):
    """Accumulators as rows of channels, and the bias with the activation zero point folded in."""
    if op == "FULLY_CONNECTED":
        return gemm(x.reshape(-1, x.shape[-1]), w.T), fold_zero_point(bias, w.T, zp)
    windows = patches(x, *w.shape[1:3], stride, same, zp)
    if op == "CONV_2D":
        columns = w.reshape(len(w), -1).T
        return gemm(windows.reshape(-1, len(columns)), columns), fold_zero_point(bias, columns, zp)
    assert op == "DEPTHWISE_CONV_2D"
    channels = w.shape[-1]
    taps, filters = windows.reshape(-1, w[0, ..., 0].size, channels), w.reshape(-1, channels)
    acc = np.einsum("rkc,kc->rc", taps.astype(np.int64), filters.astype(np.int64))
    # A column of its own filter for each channel: the zero point folds as in a product.
    return acc, fold_zero_point(bias, filters, zp)


def layers(name):
    path = MODELS / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is absent")
    with np.load(path) as data:
        for layer in sorted({key.split("_")[0] for key in data}, key=lambda key: int(key[1:])):
            fields = ("op", "x", "w", "b", "y", "mult", "shift", "meta")
            op, x, w, b, y, multiplier, shift, meta = (data[f"{layer}_{field}"] for field in fields)
            zp_in, zp_out, lo, hi, *stride, padding, depth_multiplier = meta.tolist()
            assert depth_multiplier == (op == "DEPTHWISE_CONV_2D")
            acc, bias = accumulate(str(op), x, w, b, zp_in, stride, padding == 0)
            n = acc.shape[-1]
            parameters = {
                "family": "half_away" if op == "FULLY_CONNECTED" else "gemmlowp",
                "multiplier": np.broadcast_to(multiplier, n),
                "shift": np.broadcast_to(shift, n),
                "zp_out": zp_out,
                "lo": lo,
                "hi": hi,
            }
            yield layer, acc, bias, parameters, y.reshape(-1, n)


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_equals_the_reference(name):
    mismatches = {}
    for layer, acc, bias, parameters, y in layers(name):
        stages = epilogue_stages(acc, bias=bias, **parameters)
        assert stages.out.shape == y.shape
        mismatches[layer] = int((stages.out != y).sum())
    assert len(mismatches) == LAYERS[name]
    assert not any(mismatches.values()), mismatches


def test_dead_channels_need_biases_of_32_bits():
    """vww's carry 2**30 with shifts down to -31; a layer shift for 16 bits loses the other channels' biases."""
    widths, kept, lost = set(), 0, 0
    for _, acc, bias, parameters, y in layers("vww_96_int8"):
        widths.add(max(int(b).bit_length() for b in np.where(bias < 0, ~bias, bias)) + 1)
        if np.abs(bias).max() >= 1 << 30:
            for form in ("chshift", "shift"):
                stored = load_bias(store_bias(bias, 16, form))
                wrong = int((epilogue_stages(acc, bias=stored, **parameters).out != y).sum())
                kept, lost = (kept + wrong, lost) if form == "chshift" else (kept, lost + wrong)
    assert max(widths) == 32
    assert kept < lost / 100
