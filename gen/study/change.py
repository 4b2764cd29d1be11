"""A layer with its bias stored in another form."""

from dataclasses import replace

import numpy as np

__all__ = ["STORED", "change_bias"]

STORED = ("model", "effective")
"""What is stored: the model's own bias, or the effective one, with the activation zero point folded in."""


def change_bias(spec, form, stored="model"):
    """The `LayerSpec` whose bias has gone through a storage form.

    Parameters
    ----------
    spec : LayerSpec
    form : BiasForm
        ``none`` drops the model's own bias; the zero point's share, without which nothing works, always stays.
    stored : str
        One of `STORED`.

    Returns
    -------
    LayerSpec
        ``spec`` itself where there is no bias to store, or the zero point is only known while the model runs.
    """
    outputs = spec.w.shape[0]
    folded = stored == "effective" and form.form != "none" and spec.z_key is None
    if spec.bias is None and not folded:
        return spec
    bias = np.zeros(outputs, np.int64) if spec.bias is None else spec.bias
    share = np.zeros(outputs, np.int64)
    if folded:
        # Unsigned activations enter the unit less 128, and so does their zero point.
        zero = spec.z_in - (128 if np.dtype(spec.x_dtype) == np.uint8 else 0)
        w = spec.w.astype(np.int64) - spec.w_zero[:, None, None, None]
        share = -zero * w.sum(axis=(1, 2, 3))
    scale = np.broadcast_to(np.float64(spec.s_in) * spec.s_w.astype(np.float64), (outputs,))
    return replace(spec, bias=form.restored(bias + share, scale) - share)
