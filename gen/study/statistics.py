"""Confidence intervals of the study, all at 95 %."""

import math

import numpy as np

__all__ = ["crossed_bootstrap", "paired_interval", "wilson"]

_Z = 1.959963984540054
_RESAMPLES = 4000
_SEED = 95


def wilson(count, total):
    """Wilson's score interval of a share: it keeps its coverage where the count is 0 or all.

    Parameters
    ----------
    count : float
        A whole number, or a mean of such.
    total : int

    Returns
    -------
    float, float
        Source: E. B. Wilson, "Probable Inference", J. Am. Stat. Assoc. 22 (1927), 209-212.
    """
    if not 0 <= count <= total or total < 1:
        raise ValueError(f"count must be in 0..total, and total at least 1, not {count!r} of {total!r}")
    share, z2 = count / total, _Z * _Z
    middle = share + z2 / (2 * total)
    reach = _Z * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    bottom, top = (middle - reach) / (1 + z2 / total), (middle + reach) / (1 + z2 / total)
    return (0.0 if count == 0 else bottom), (1.0 if count == total else top)


def crossed_bootstrap(differences):
    """Percentile interval of the mean of paired differences, over networks and images at once.

    Both are resampled, each with replacement and independently of the other, which counts either's variation (Owen,
    "The Pigeonhole Bootstrap", Ann. Appl. Stat. 1 (2007), 386-411; it errs to the wide side). With one network only
    the images are resampled.

    Parameters
    ----------
    differences : float array, shape (networks, images)
        What a form changes for each network and image.

    Returns
    -------
    float, float
    """
    differences = np.asarray(differences, np.float64)
    networks, images = differences.shape
    rng = np.random.default_rng(_SEED)
    rows = rng.multinomial(networks, np.full(networks, 1 / networks), _RESAMPLES) / networks
    # Images with equal differences in every network need not be told apart: what is drawn is how many of each kind.
    kinds, counts = np.unique(differences, axis=1, return_counts=True)
    columns = rng.multinomial(images, counts / images, _RESAMPLES) / images
    means = np.einsum("rn,rn->r", rows, columns @ kinds.T)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def paired_interval(differences):
    """Interval of the mean of differences -1, 0 and 1: the wider of two at either end.

    A bootstrap knows only what it saw: where no prediction changed it answers 0 .. 0, however few the images. So it is
    joined with the interval that follows from Wilson's for the shares of losses and of gains, which for n images
    without any change is 0 +- 3.8/(n + 3.8), by squaring and adding (Newcombe, Stat. Med. 17 (1998), 2635-2650). There
    the images count once, however many networks see them.

    Parameters
    ----------
    differences : array, shape (networks, images)

    Returns
    -------
    float, float
    """
    differences = np.asarray(differences)
    images = differences.shape[1]
    gains, losses = (float(np.mean(differences == sign)) for sign in (1, -1))
    (gain_low, gain_high), (loss_low, loss_high) = (wilson(share * images, images) for share in (gains, losses))
    mean = gains - losses
    low = mean - math.hypot(gains - gain_low, loss_high - losses)
    high = mean + math.hypot(gain_high - gains, losses - loss_low)
    bottom, top = crossed_bootstrap(differences)
    return min(low, bottom), max(high, top)
