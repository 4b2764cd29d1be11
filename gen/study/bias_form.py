"""The storage forms of a bias that the study compares, and the bias that each gives back.

Source: the contract, section 4.
"""

from dataclasses import dataclass

import numpy as np

from ...sim.golden import BIAS_FORMS, load_bias, store_bias

__all__ = ["FORMS", "BiasForm"]


@dataclass(frozen=True, kw_only=True)
class BiasForm:
    """One way to store the biases of a layer.

    Parameters
    ----------
    form : str
        ``sat`` clamps at the accumulator's scale, ``shift`` has one power of two a layer, ``chshift`` one a channel,
        ``scale`` one real step a layer, ``none`` drops the bias.
    width : int
        Bits of a stored value; 0 for ``none``.
    """

    form: str
    width: int

    @property
    def name(self):
        """How tables call it."""
        return "none" if self.form == "none" else "int32" if self.width == 32 else f"int{self.width} {self.form}"

    def restored(self, bias, scale):
        """The biases that the hardware adds.

        Parameters
        ----------
        bias : int64 array, shape (outputs,)
            On the accumulator's grid.
        scale : float64 array, shape (outputs,)
            Scale of each accumulator; a common factor does not matter.

        Returns
        -------
        int64 array, shape (outputs,)
        """
        if self.form == "none":
            return np.zeros_like(bias)
        if self.form in BIAS_FORMS:
            return load_bias(store_bias(bias, self.width, self.form))
        real = bias * scale
        step = np.abs(real).max() / ((1 << (self.width - 1)) - 1)
        if step == 0:
            return np.zeros_like(bias)
        return np.rint(np.rint(real / step) * step / scale).astype(np.int64)


FORMS = (
    BiasForm(form="sat", width=32),
    *(BiasForm(form=form, width=width) for width in (24, 16, 8) for form in ("sat", "shift", "chshift", "scale")),
    BiasForm(form="none", width=0),
)
"""Every form of the study; the first is the reference."""
