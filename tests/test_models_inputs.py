"""Files as a model's inputs: what is quantized, what is taken as it is, and one clear error for the rest."""

import numpy as np
import pytest
from plusb.gen.models import Graph, LayerSpec, ModelError, Quantization, Tensor
from plusb.gen.models.inputs import load_inputs, quantized

Image = pytest.importorskip("PIL.Image")


def tensor(shape, dtype=np.int8, scale=0.5, zero=3, key="x"):
    quantization = None
    if scale is not None:
        quantization = Quantization(scale=np.array([scale], np.float32), zero_point=np.array([zero]))
    return Tensor(key=key, name=f"name of {key}", shape=shape, dtype=np.dtype(dtype), quantization=quantization)


def graph(*tensors):
    """A graph with these inputs, and one layer since there must be one."""
    layer = LayerSpec(
        name="fc",
        op="FC",
        index=0,
        input=tensors[0].key,
        output="y",
        in_shape=(1, 1),
        out_shape=(1, 1),
        x_dtype=np.dtype(np.int8),
        y_dtype=np.dtype(np.int8),
        w=np.ones((1, 1, 1, 1), np.int8),
        w_zero=np.zeros(1, np.int64),
        bias=None,
        s_in=np.float32(1),
        s_w=np.ones(1, np.float32),
        s_out=np.float32(1),
        z_in=0,
        z_out=0,
    )
    tensors = {t.key: t for t in (*tensors, tensor((1, 1), key="y"))}
    return Graph(tensors=tensors, steps=(layer,), inputs=tuple(tensors)[:-1], outputs=("y",))


ROW = graph(tensor((1, 4)))


def saved(folder, array, name="x.npy"):
    np.save(folder / name, array)
    return folder / name


def refused(*arguments, **options):
    with pytest.raises(ModelError) as caught:
        load_inputs(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (3, 1, 4)])
def test_arrays_stack(tmp_path, shape):
    values = np.arange(np.prod(shape), dtype=np.int8).reshape(shape)
    inputs, how = load_inputs(saved(tmp_path, values), ROW)
    assert how == "int8 as it is"
    assert [[x.shape for x in arrays] for arrays in inputs] == [[(1, 4)]] * (3 if shape[0] == 3 else 1)
    assert np.array_equal(np.concatenate([x for (x,) in inputs]).reshape(-1), values.reshape(-1))


def test_real_values_are_quantized(tmp_path):
    path = saved(tmp_path, np.array([[0, 0.25, -1, 1e9]]))
    ((x,),), how = load_inputs(path, ROW)
    assert x.dtype == np.int8
    assert x.tolist() == [[3, 3, 1, 127]]
    assert how == "real values, quantized with scale 0.5, zero point 3"
    ((x,),), how = load_inputs(path, graph(tensor((1, 4), np.float32, None)))
    assert x.dtype == np.float32
    assert how == "real values, taken as they are"
    ((x,),), how = load_inputs(path, graph(tensor((1, 4), np.uint8, None)))
    assert x.tolist() == [[0, 0, 0, 255]]
    assert how == "real values, rounded"
    with pytest.raises(ModelError, match="tensor name of x: the input must be finite, and some values are not"):
        quantized([np.nan], tensor((1,)))


def test_quantized_values_in_another_type(tmp_path):
    path = saved(tmp_path, np.array([1, -2, 3, -128]))
    message = refused(path, ROW)
    assert message == f"{path}: holds int64 and the model takes int8; give real values as floats, or --raw"
    ((x,),), how = load_inputs(path, ROW, raw=True)
    assert (x.dtype, x.tolist(), how) == (np.int8, [[1, -2, 3, -128]], "int64 that hold int8")
    path = saved(tmp_path, np.array([1, -2, 3, 128]))
    assert refused(path, ROW, raw=True) == f"{path}: holds values that are no int8"


def test_archives(tmp_path):
    np.savez(tmp_path / "one.npz", anything=np.zeros((2, 4), np.int8))
    assert len(load_inputs(tmp_path / "one.npz", ROW)[0]) == 2
    two = graph(tensor((1, 4)), tensor((2,), np.float32, None, key="z"))
    np.savez(tmp_path / "two.npz", **{"name of x": np.zeros((3, 4), np.int8), "name of z": np.ones((3, 2), np.float32)})
    inputs, _ = load_inputs(tmp_path / "two.npz", two)
    assert [[x.shape for x in arrays] for arrays in inputs] == [[(1, 4), (2,)]] * 3
    assert refused(tmp_path / "one.npz", two).endswith("has no array 'name of x'; it holds anything")
    np.savez(tmp_path / "odd.npz", **{"name of x": np.zeros((3, 4), np.int8), "name of z": np.ones(2, np.float32)})
    assert refused(tmp_path / "odd.npz", two).endswith("its arrays must hold equally many inputs, not 1, 3")
    message = refused(saved(tmp_path, np.zeros(4)), two)
    assert message.endswith("the model has 2 inputs; give an .npz with name of x, name of z")


def test_frames(tmp_path):
    path = tmp_path / "x.bin"
    np.arange(8, dtype="<f4").tofile(path)
    inputs, how = load_inputs(path, ROW)
    assert [x.tolist() for (x,) in inputs] == [[[3, 5, 7, 9]], [[11, 13, 15, 17]]]
    inputs, how = load_inputs(path, ROW, hop=2)
    assert [x[0, 0] for (x,) in inputs] == [3, 7, 11]
    assert how == "real values, quantized with scale 0.5, zero point 3, one each 2 values"
    path.write_bytes(bytes([0, 127, 128, 255]))
    assert load_inputs(path, ROW, raw=True)[0][0][0].tolist() == [[0, 127, -128, -1]]
    assert refused(path, ROW).endswith("must hold inputs of 4 float32 values, not 1 values; --hop lets them overlap")
    path.write_bytes(b"12345")
    assert refused(path, ROW).endswith("must hold whole float32 values, not 5 bytes")


def image(folder, name, pixels):
    Image.fromarray(np.asarray(pixels, np.uint8)).save(folder / name)
    return folder / name


@pytest.mark.parametrize(
    ("scale", "zero", "stands_for", "want"),
    [
        (1 / 255, -128, "0 to 1", [-128, 72, 127]),
        (1.0, -128, "0 to 255", [-128, 72, 127]),
        (2 / 255, 0, "-1 to 1", [-127, 73, 127]),
    ],
)
def test_pixels_stand_for_the_range_that_the_input_has(tmp_path, scale, zero, stands_for, want):
    path = image(tmp_path, "x.png", [[0, 200, 255]])
    ((x,),), how = load_inputs(path, graph(tensor((1, 1, 3, 1), scale=scale, zero=zero)))
    assert how == f"pixels stand for {stands_for}"
    assert np.abs(x.reshape(-1).astype(int) - want).max() <= 1


def test_raw_pixels_are_bytes(tmp_path):
    path = image(tmp_path, "x.bmp", [[0, 127], [128, 255]])
    ((x,),), how = load_inputs(path, graph(tensor((1, 2, 2, 3))), raw=True)
    assert how == "pixels taken as int8"
    assert x[0, :, :, 0].tolist() == [[0, 127], [-128, -1]]
    assert (x[..., 0] == x[..., 2]).all()
    message = refused(path, graph(tensor((1, 2, 3, 1))), raw=True)
    assert message == f"{path}: must be 3 x 2 pixels to be taken raw, not 2 x 2"
    message = refused(path, graph(tensor((1, 2, 2, 1), np.float32, None)), raw=True)
    assert message.endswith("pixels are bytes and cannot be taken raw as float32")


def test_channels_first_and_other_sizes(tmp_path):
    pixels = np.arange(2 * 4 * 3).reshape(2, 4, 3) * 10
    path = image(tmp_path, "x.png", pixels)
    ((x,),), _ = load_inputs(path, graph(tensor((1, 3, 2, 4), np.uint8, None)))
    assert np.array_equal(x[0], np.moveaxis(pixels, 2, 0))
    ((x,),), how = load_inputs(path, graph(tensor((1, 3, 4, 5), np.float32, None)))
    assert (x.shape, how) == ((1, 3, 4, 5), "pixels stand for 0 to 1, scaled from 4 x 2 to 5 x 4")
    assert refused(path, ROW).endswith("an image cannot be the model's input of shape [1, 4]")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.txt", b"", "an input must be .npy, .npz, .bin, or an image (.bmp, "),
        ("x.wav", b"", "{path}: a sound must be turned into the model's features first"),
        ("x.npy", b"", "{path}: cannot be read: "),
        ("x.npy", b"no array", "{path}: cannot be read: "),
        ("x.npz", b"PK\x03\x04 no archive", "{path}: cannot be read: "),
        ("x.npy", None, "{path}: No such file or directory"),
        ("x.bin", None, "{path}: No such file or directory"),
        ("x.npz", None, "{path}: No such file or directory"),
    ],
)
def test_damaged_and_absent_files(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert refused(path, ROW).startswith(message.format(path=path))


def test_no_image(tmp_path):
    (tmp_path / "x.png").write_bytes(b"no image")
    assert "cannot be read" in refused(tmp_path / "x.png", graph(tensor((1, 2, 2, 3))))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3)), "must be of shape [1, 4], or several of them, not [2, 3]"),
        (np.zeros((0, 4)), "holds no input"),
        (np.array(["a", "b", "c", "d"]), "must hold numbers, not <U1"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, array, message):
    assert refused(saved(tmp_path, array), ROW).endswith(message)


def test_pickles_are_not_opened(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    assert "cannot be read" in refused(tmp_path / "x.npy", ROW)


def test_a_hop_is_for_frames(tmp_path):
    assert refused(saved(tmp_path, np.zeros(4)), ROW, hop=1).endswith("a hop is for .bin files only")
