"""Confidence intervals against published values, the normal approximation, and their own coverage."""

import numpy as np
import pytest
from plusb.gen.study import Measurement, crossed_bootstrap, paired_interval, wilson


def test_wilson_as_published():
    # Newcombe, Stat. Med. 17 (1998), 857-872, table I.
    for count, total, low, high in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611)]:
        assert wilson(count, total) == pytest.approx((low, high), abs=5e-5)
    assert wilson(20, 20) == pytest.approx((1 - 0.1611, 1), abs=5e-5)


def test_wilson_refuses():
    with pytest.raises(ValueError, match=r"^count must be in 0..total, and total at least 1, not 3 of 2$"):
        wilson(3, 2)


def test_bootstrap_of_one_network_is_near_the_normal_interval():
    rng = np.random.default_rng(1)
    differences = rng.choice([-1, 0, 1], (1, 4000), p=[0.05, 0.92, 0.03])
    mean, reach = differences.mean(), 1.96 * differences.std() / np.sqrt(4000)
    low, high = crossed_bootstrap(differences)
    assert low == pytest.approx(mean - reach, abs=0.1 * reach)
    assert high == pytest.approx(mean + reach, abs=0.1 * reach)


def test_bootstrap_counts_the_variation_between_networks():
    one = np.repeat([[-1.0], [0.0], [-0.5], [0.0]], 5000, axis=1)  # four networks, no variation between images
    low, high = crossed_bootstrap(one)
    assert low < -0.6
    assert high > -0.15


def test_without_changes_the_images_bound_the_interval():
    for images in (10, 360, 8000):
        low, high = paired_interval(np.zeros((5, images)))
        assert high == pytest.approx(3.8415 / (images + 3.8415), rel=1e-4)
        assert low == -high


def test_paired_interval_covers():
    """At 200 images the true change lies in the interval about 95 times of 100, or more."""
    rng = np.random.default_rng(2)
    for losses, gains in [(0.01, 0.004), (0.1, 0.05)]:
        inside = 0
        for _ in range(150):
            sample = rng.choice([-1, 0, 1], (1, 200), p=[losses, 1 - losses - gains, gains])
            low, high = paired_interval(sample)
            inside += low <= gains - losses <= high
        assert inside >= 138  # 95 % of 150 less two standard deviations


@pytest.mark.parametrize(
    ("points", "width", "verdict"),
    [
        ((0.0, -0.1, 0.1), 8, "less"),
        ((-0.3, -0.45, -0.25), 8, "within"),
        ((-3.0, -4.0, -2.0), 8, "more"),
        ((-0.3, -0.6, 0.0), 8, "open"),
        ((0.0, 0.0, 0.0), 16, None),
        (None, 8, None),
    ],
)
def test_verdict(points, width, verdict):
    measurement = Measurement(
        network="n",
        form="f",
        stored="model",
        width=width,
        accuracy=None,
        points=points,
        predictions=1,
        predictions_changed=0,
        changed_share=(0, 1),
        outputs=1,
        outputs_changed=0,
        exact=False,
    )
    assert measurement.verdict == verdict
