"""ONNX Runtime as an oracle, and as the source of every tensor's shape and type.

Two settings make it use its integer kernels, which is what int8 models are made for: ``session.qdqisint8allowed``
(off on x86 by default, where int8 QDQ graphs would be computed in float32) and no fusion of dynamic quantization, so
that the accumulators of a MatMulInteger exist.
"""

import numpy as np
import onnx
import onnxruntime as ort

from .errors import ModelError, one_line

__all__ = ["OnnxRuntime", "ort_session"]

_NO_FUSION = ["MatMulIntegerToFloatFusion", "DynamicQuantizeMatMulFusion"]
_FATAL = 4


def ort_session(model, optimize, where=None):
    """An inference session of a ``ModelProto``. Raises `ModelError`."""
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    try:
        return ort.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"], disabled_optimizers=_NO_FUSION
        )
    except Exception as error:  # Its exceptions share no base class.
        raise ModelError(f"ONNX Runtime refuses it: {one_line(error)}", operator=where) from error


def submodel(model, node_indices, inputs, outputs, tensors):
    """A ``ModelProto`` of some nodes of ``model``, between the tensors ``inputs`` and ``outputs``."""
    part = onnx.ModelProto()
    part.ir_version = model.ir_version
    part.opset_import.extend(model.opset_import)
    part.graph.name = "part"
    nodes = [model.graph.node[i] for i in node_indices]
    part.graph.node.extend(nodes)
    wanted = {name for node in nodes for name in node.input} | set(outputs)
    part.graph.initializer.extend(t for t in model.graph.initializer if t.name in wanted)
    made = {name for node in nodes for name in node.output}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.output[0] in wanted - made:
            part.graph.node.insert(0, node)
    for group, keys in ((part.graph.input, inputs), (part.graph.output, outputs)):
        for key in keys:
            if tensors[key].dtype is None:
                raise ModelError("values of this type cannot be handed over", tensor=key)
            kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(tensors[key].dtype))
            group.append(onnx.helper.make_tensor_value_info(key, kind, tensors[key].shape))
    return part


class OnnxRuntime:
    """Runs a parsed model, or a step of it.

    Parameters
    ----------
    model : ModelProto
    graph : Graph
    members : dict of step index to list of int
        The nodes of each host step.
    """

    def __init__(self, model, graph, members):
        self._model, self._graph, self._members = model, graph, members
        self._whole = self._traced = None
        self._steps = {}

    @staticmethod
    def _run(session, values, where):
        try:
            return session.run(None, dict(zip([i.name for i in session.get_inputs()], values, strict=True)))
        except Exception as error:  # Its exceptions share no base class.
            raise ModelError(f"ONNX Runtime failed: {one_line(error)}", operator=where) from error

    def answer(self, inputs):
        """The outputs of the model as it is, in their order."""
        if self._whole is None:
            self._whole = ort_session(self._model, optimize=True)
        return self._run(self._whole, inputs, None)

    def trace(self, inputs):
        """Every layer's input and result for one input, as a dict of tensor key to array."""
        if self._traced is None:
            keys = dict.fromkeys(key for layer in self._graph.layers for key in (*layer.reads, layer.output))
            keys = [key for key in keys if key not in self._graph.inputs]
            model = onnx.ModelProto()
            model.CopyFrom(self._model)
            own = [output.name for output in model.graph.output]
            model.graph.output.extend(onnx.ValueInfoProto(name=key) for key in keys if key not in own)
            self._traced = ort_session(model, optimize=True)
        names = [output.name for output in self._traced.get_outputs()]
        return dict(zip(names, self._run(self._traced, inputs, None), strict=True))

    def run_operator(self, step, values):
        """Execute one step of the host."""
        if step.index not in self._steps:
            model = submodel(self._model, self._members[step.index], step.inputs, step.outputs, self._graph.tensors)
            self._steps[step.index] = ort_session(model, optimize=True, where=step.name)
        results = self._run(self._steps[step.index], [values[k] for k in step.inputs], step.name)
        return dict(zip(step.outputs, results, strict=True))
