"""The bias-width study: accuracy and exact changes for every storage form, against the int32 bias."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..passes import signed_bits
from .bias_form import FORMS
from .change import STORED, change_bias
from .statistics import paired_interval, wilson

__all__ = ["CLAIM", "Measurement", "StudyResult", "run_study"]

CLAIM = (0.2, 0.5)
"""The claim under test: an INT8 bias costs so many points of accuracy."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One form on the networks of one name.

    Parameters
    ----------
    network, form, stored : str
    width : int
    accuracy : float or None
        Mean over networks and images, 0 to 1; None without labels.
    points : (float, float, float) or None
        Change of the accuracy against int32 in points, with the 95 % interval of `paired_interval`.
    predictions, predictions_changed : int
        Images times networks, and how many get another class.
    changed_share : (float, float)
        Wilson's 95 % interval of that share.
    outputs, outputs_changed : int
        Values of the last layer, and how many are not exactly the same.
    exact : bool
        Whether every bias comes back unchanged, so that no output can change, whatever the image.
    """

    network: str
    form: str
    stored: str
    width: int
    accuracy: float | None
    points: tuple | None
    predictions: int
    predictions_changed: int
    changed_share: tuple
    outputs: int
    outputs_changed: int
    exact: bool

    @property
    def verdict(self):
        """What becomes of the claim: ``less``, ``within``, ``more`` or ``open``; None where it says nothing."""
        if self.width != 8 or self.points is None:
            return None
        low, high = -self.points[2], -self.points[1]
        if high < CLAIM[0]:
            return "less"
        if low > CLAIM[1]:
            return "more"
        return "within" if low >= CLAIM[0] and high <= CLAIM[1] else "open"


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """What a study found.

    Parameters
    ----------
    networks : list of dict
        ``name``, ``networks``, ``images``, ``accuracy`` (int32), ``bias_bits`` and ``effective_bits``.
    measurements : list of Measurement
    """

    networks: list
    measurements: list


def run_study(groups, stored=STORED, forms=FORMS, progress=None):
    """Measure every form.

    Parameters
    ----------
    groups : dict of str to list
        Networks by name; each has ``scores(change)``, ``labels``, ``layers`` and the images of its name's others.
    stored : sequence of str
        Of `STORED`.
    forms : sequence of BiasForm
    progress : callable, optional
        ``progress(text)`` is told what begins.

    Returns
    -------
    StudyResult
    """
    networks, measurements = [], []
    for name, members in groups.items():
        members = [_Remembering(member) for member in members]
        reference = np.stack([member.scores(lambda spec: spec) for member in members])
        labels = members[0].labels
        networks.append(_describe(name, members, reference, labels))
        for what in stored:
            for form in forms:
                if form.width in (0, 32) and what != stored[0]:
                    continue  # The same whatever is stored.
                if progress is not None:
                    progress(f"{name}, {form.name} ({what} bias)")
                change = partial(change_bias, form=form, stored=what)
                scores = np.stack([member.scores(change) for member in members])
                exact = all(member.keeps(change) for member in members)
                measurements.append(_measure(name, form, what, scores, reference, labels, exact))
    return StudyResult(networks=networks, measurements=measurements)


class _Remembering:
    """A network that computes its scores once for the same biases: most wide forms give back the very same."""

    def __init__(self, network):
        self.labels, self.layers = network.labels, network.layers
        self._network, self._known = network, {}

    def scores(self, change):
        changed = {spec.name: change(spec) for spec in self.layers}
        key = self._key(changed.values())
        if key not in self._known:
            self._known[key] = self._network.scores(lambda spec: changed[spec.name])
        return self._known[key]

    @staticmethod
    def _key(specs):
        # A layer without bias and one of zeros compute the same.
        return tuple(b"" if spec.bias is None or not spec.bias.any() else spec.bias.tobytes() for spec in specs)

    def keeps(self, change):
        """Whether no bias changes, so that nothing can, on any image."""
        return self._key(map(change, self.layers)) == self._key(self.layers)


def _correct(scores, labels):
    return scores.argmax(axis=-1) == labels


def _describe(name, members, reference, labels):
    specs = [spec for member in members for spec in member.layers]
    effective = [spec for spec in specs if spec.z_key is None]
    return {
        "name": name,
        "networks": len(members),
        "images": reference.shape[1],
        "accuracy": None if labels is None else float(_correct(reference, labels).mean()),
        "bias_bits": max((signed_bits(spec.bias) for spec in specs if spec.bias is not None), default=0),
        "effective_bits": max((signed_bits(_effective(spec)) for spec in effective), default=0),
    }


def _effective(spec):
    w = spec.w.astype(np.int64) - spec.w_zero[:, None, None, None]
    zero = spec.z_in - (128 if np.dtype(spec.x_dtype) == np.uint8 else 0)
    return (0 if spec.bias is None else spec.bias) - zero * w.sum(axis=(1, 2, 3))


def _measure(name, form, stored, scores, reference, labels, exact):
    changed = scores.argmax(axis=-1) != reference.argmax(axis=-1)
    points = accuracy = None
    if labels is not None:
        correct = _correct(scores, labels)
        differences = correct.astype(np.float64) - _correct(reference, labels)
        accuracy = float(correct.mean())
        low, high = (0.0, 0.0) if exact else paired_interval(differences)
        points = (100 * float(differences.mean()), 100 * low, 100 * high)
    return Measurement(
        network=name,
        form=form.name,
        stored=stored,
        width=form.width,
        accuracy=accuracy,
        points=points,
        predictions=changed.size,
        predictions_changed=int(changed.sum()),
        changed_share=(0.0, 0.0) if exact else wilson(int(changed.sum()), changed.size),
        exact=exact,
        outputs=scores.size,
        outputs_changed=int(np.count_nonzero(scores != reference)),
    )
