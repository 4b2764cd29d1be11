"""The networks of the study: gradients, folding, quantization, dead channels, and the committed one."""

import numpy as np
import pytest
from plusb.gen.digits import network
from plusb.gen.models import golden_gemm
from plusb.gen.study import BiasForm, Measurement, committed_digits, run_study, trained_networks
from plusb.gen.study.data import load_data
from plusb.gen.study.float_network import fit, forward, make_layers
from plusb.gen.study.quantize import float_scores, fold, quantize, with_dead_channels

SMALL = {"convolutions": ((4, 2), (5, 1)), "dense": (6, 10)}


def small_layers(seed, dtype=np.float32):
    rng = np.random.default_rng(seed)
    layers = make_layers((7, 6, 1), **SMALL, rng=rng)
    for layer in layers:
        for name in ("w", "b", "gamma"):
            if getattr(layer, name) is not None:
                setattr(layer, name, getattr(layer, name).astype(dtype))
        layer.b += rng.normal(0, 0.3, layer.b.shape).astype(dtype)
    return layers, rng


def test_gradients():
    layers, rng = small_layers(1, np.float64)
    x, weights = rng.normal(size=(11, 7, 6, 1)), rng.normal(size=(11, 10))

    def loss():
        return float((forward(layers, x) * weights).sum())

    loss()
    delta, gradients = weights, []
    for layer in reversed(layers):
        own, delta = layer.backward(delta)
        gradients = own + gradients
    parameters = [p for layer in layers for p in layer.parameters] + [x]
    for p, g in zip(parameters, [*gradients, delta], strict=True):
        for _ in range(5):
            at = tuple(rng.integers(0, p.shape))
            keep, h = p[at], 1e-6
            p[at] = keep + h
            up = loss()
            p[at] = keep - h
            down = loss()
            p[at] = keep
            assert g[at] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-5)


def trained_small():
    layers, rng = small_layers(2)
    x, labels = rng.normal(size=(203, 7, 6, 1)).astype(np.float32), rng.integers(0, 10, 203)
    fit(layers, x, labels, rng, epochs=3, batch=20)
    return layers, x


def test_folded_is_what_was_trained():
    layers, x = trained_small()
    # The statistics are those of all of x, so its own forward pass is the unfolded network.
    np.testing.assert_allclose(float_scores(fold(layers), x)[-1], forward(layers, x), rtol=1e-3, atol=1e-4)


def test_dead_channels_change_nothing():
    layers, x = trained_small()
    folded = fold(layers)
    dead = with_dead_channels(folded)
    assert [layer.linear.outputs for layer in dead] == [5, 6, 6, 10]
    np.testing.assert_allclose(float_scores(dead, x)[-1], float_scores(folded, x)[-1], atol=1e-12)

    def scores(layers):
        values = (np.clip(np.rint(x * 100), -128, 127)).astype(np.int8)
        for spec in quantize(layers, x.astype(np.float64), len(x)):
            values = run(spec, values)
        return values

    np.testing.assert_array_equal(scores(dead), scores(folded))
    biases = [np.abs(spec.bias) for spec in quantize(dead, x.astype(np.float64), len(x))]
    assert [round(float(b[-1]) / 2**30, 3) for b in biases[:2]] == [1, 1]
    assert max(b.max() for b in biases[2:]) < 2**20


def run(spec, x):
    from plusb.gen.models import lower_layer, run_layer

    return run_layer(lower_layer(spec, "litert-xnnpack"), x.reshape(spec.in_shape))


def test_committed_digits():
    subject, net = committed_digits(), network.load()
    want = net.quantize_input(net.images)
    for gemm in net.layers:
        want = golden_gemm(want, gemm)
    scores = subject.scores(lambda spec: spec)
    np.testing.assert_array_equal(scores, want)
    assert net.accuracy(scores) > 0.98


def test_shapes_are_committed():
    images = load_data("shapes")
    assert images.train.shape == (4000, 12, 12, 1)
    assert images.test.shape == (8000, 12, 12, 1)
    assert images.train.dtype == np.float32
    assert 0 <= images.test.min() < images.test.max() <= 1
    assert np.bincount(images.test_labels).min() > 700
    assert images.test_labels[:8].tolist() == load_data("shapes").test_labels[:8].tolist()


def test_digits_are_not_trained_on():
    pytest.importorskip("sklearn")
    images = load_data("digits")
    assert len(images.train) + len(images.test) == 1797
    train = {image.tobytes() for image in images.train}
    assert not any(image.tobytes() in train for image in images.test)


def test_study_of_a_perceptron():
    """The whole way, twice with the same figures; the reference is exact and a dropped bias is not."""
    results = [run_study(trained_networks("shapes", ("mlp",), 1), ("model",)) for _ in range(2)]
    assert results[0] == results[1]
    (described,) = results[0].networks
    assert described["name"] == "mlp shapes"
    assert described["accuracy"] > 0.8
    measured = {m.form: m for m in results[0].measurements}
    assert isinstance(measured["int32"], Measurement)
    assert measured["int32"].exact
    assert measured["int32"].points == (0, 0, 0)
    assert measured["none"].points[0] < -1
    assert measured["int8 sat"].verdict == "more"
    assert abs(measured["int8 chshift"].points[0]) < 0.5
    assert measured["int24 sat"].outputs_changed == 0


def test_the_same_biases_run_once():
    class Counting:
        layers, labels, runs = committed_digits().layers, None, 0

        def scores(self, change):
            type(self).runs += 1
            return np.arange(20).reshape(2, 10)

    forms = [BiasForm(form=form, width=24) for form in ("sat", "shift", "chshift")]
    result = run_study({"digits": [Counting()]}, ("model", "effective"), forms)
    assert Counting.runs == 1
    assert all(m.exact and m.points is None and m.accuracy is None for m in result.measurements)


@pytest.mark.slow
def test_study_of_convolutions():
    pytest.importorskip("sklearn")
    result = run_study(trained_networks("digits", ("cnn", "cnn-dead"), 2))
    measured = {(m.network, m.stored, m.form): m for m in result.measurements}
    cnn, dead = ({m[1:]: v for m, v in measured.items() if m[0] == f"{n} digits"} for n in ("cnn", "cnn-dead"))
    assert cnn["model", "int8 shift"].predictions_changed < 10
    assert dead["model", "int8 shift"].points[0] < -5
    assert dead["model", "int16 shift"].points[0] < -5
    for form in ("int8 chshift", "int8 scale", "int16 chshift"):
        assert dead["model", form].accuracy == cnn["model", form].accuracy
