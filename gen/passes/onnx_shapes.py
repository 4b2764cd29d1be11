"""Shapes of an ONNX graph as far as they can be inferred, with examples in the place of unknown dimensions."""

import onnx

__all__ = ["example_shapes"]

_FIRST, _OTHER = 1, 3


def example_shapes(model):
    """A possible shape of each tensor of known rank.

    Unknown dimensions become 1 where they come first (the batch) and 3 elsewhere.

    Parameters
    ----------
    model : ModelProto

    Returns
    -------
    dict of str to tuple of int
    """
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        graph = model.graph
    shapes = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        if value.type.HasField("tensor_type") and kind.HasField("shape"):
            shapes[value.name] = tuple(
                d.dim_value if d.dim_value > 0 else (_OTHER if i else _FIRST) for i, d in enumerate(kind.shape.dim)
            )
    return shapes
