"""A .onnx file to a `Graph`: quantized products become layers, everything else steps of the host.

A step of the host is all the nodes that floating-point tensors connect (such as DequantizeLinear, Add, QuantizeLinear),
so that the runtime fuses them as it does in the whole model. A DequantizeLinear belongs to each of its readers.
"""

from collections import defaultdict

from .errors import ModelError
from .graph import Graph, HostOp
from .onnx_integer import match_integer
from .onnx_nodes import Nodes
from .onnx_qdq import match_qdq
from .onnx_qoperator import match_qoperator
from .onnx_tensors import describe

__all__ = ["onnx_graph"]

_MATCHERS = (match_qoperator, match_qdq, match_integer)


def _matches(nodes, tensors):
    found = []
    for node in nodes.nodes:
        match = next(filter(None, (matcher(nodes, tensors, node) for matcher in _MATCHERS)), None)
        if match is not None:
            found.append(match)
    return found


class _Host:
    """The nodes that no layer stands for and that some result depends on."""

    def __init__(self, nodes, tensors, matches):
        self.nodes, self.tensors = nodes, tensors
        taken = {index for match in matches for index in match.nodes}
        self.roots = set(nodes.outputs) | {key for match in matches for key in match.spec.reads}
        self.hard, todo, seen = set(), list(self.roots), set()
        while todo:
            node = nodes.producer.get(todo.pop())
            if node is None or node.index in taken or node.index in seen:
                continue
            seen.add(node.index)
            if not self._is_soft(node):
                self.hard.add(node.index)
            todo.extend(name for name in node.inputs if name and not nodes.is_constant(name))

    def _is_soft(self, node):
        return (
            node.op == "DequantizeLinear"
            and not self.nodes.is_constant(node.inputs[0])
            and not self.roots.intersection(node.outputs)
        )

    def components(self):
        """Sets of hard nodes connected by floating-point tensors."""
        parent = {index: index for index in self.hard}

        def find(index):
            while parent[index] != index:
                parent[index] = parent[parent[index]]
                index = parent[index]
            return index

        for index in self.hard:
            for name in self.nodes.nodes[index].inputs:
                producer = self.nodes.producer.get(name)
                if producer is not None and producer.index in self.hard and self._is_float(name):
                    parent[find(index)] = find(producer.index)
        sets = defaultdict(set)
        for index in self.hard:
            sets[find(index)].add(index)
        return list(sets.values())

    def _is_float(self, name):
        tensor = self.tensors.get(name)
        return tensor is None or tensor.dtype is None or tensor.dtype.kind == "f"

    def step(self, hard):
        """The host's step for some hard nodes, and all its nodes in order."""
        members = set(hard)
        for index in hard:
            for name in self.nodes.nodes[index].inputs:
                producer = self.nodes.producer.get(name)
                if producer is not None and self._is_soft(producer):
                    members.add(producer.index)
        ordered = [self.nodes.nodes[i] for i in sorted(members)]
        made = {name for node in ordered for name in node.outputs}
        read = dict.fromkeys(name for node in ordered for name in node.inputs if name)
        outside = self.roots | {name for i in self.hard - set(hard) for name in self._reads(self.nodes.nodes[i])}
        inputs = tuple(n for n in read if n not in made and not self.nodes.is_constant(n))
        own = {name for i in hard for name in self.nodes.nodes[i].outputs}
        first = min(hard)
        op = "+".join(dict.fromkeys(node.op for node in ordered if node.index in hard))
        outputs = tuple(
            n for n in dict.fromkeys(name for node in ordered for name in node.outputs) if n in own & outside
        )
        return HostOp(name=f"{first}:{op}", op=op, index=first, inputs=inputs, outputs=outputs), sorted(members)

    def _reads(self, node):
        """What a node reads, also through the DequantizeLinear that belong to it."""
        for name in node.inputs:
            yield name
            producer = self.nodes.producer.get(name)
            if producer is not None and self._is_soft(producer):
                yield producer.inputs[0]


def _ordered(steps, known):
    """The steps in an order that can be executed, or None if there is none."""
    done, waiting = [], list(steps)
    known = set(known)
    while waiting:
        ready = [s for s in waiting if known.issuperset(_inputs(s))]
        if not ready:
            return None
        for step in ready:
            known.update(_outputs(step))
        done += ready
        waiting = [s for s in waiting if s not in ready]
    return done


def _inputs(step):
    return step.inputs if isinstance(step, HostOp) else step.reads


def _outputs(step):
    return step.outputs if isinstance(step, HostOp) else (step.output,)


def onnx_graph(model):
    """The `Graph` of a parsed model, and the nodes of each host step by the step's index. Raises `ModelError`."""
    nodes = Nodes(model)
    tensors = describe(nodes)
    matches = _matches(nodes, tensors)
    for match in matches:
        spec = match.spec
        if tensors[spec.output].shape != spec.out_shape:
            raise ModelError(
                f"shape {list(tensors[spec.output].shape)} should be {list(spec.out_shape)}",
                operator=spec.name,
                tensor=spec.output,
            )
    host = _Host(nodes, tensors, matches)
    layers = [match.spec for match in matches]
    for sets in (host.components(), [{index} for index in host.hard]):
        steps = [host.step(hard) for hard in sets]
        ordered = _ordered([*layers, *(step for step, _ in steps)], nodes.inputs)
        if ordered is not None:
            break
    else:
        raise ModelError("the operators depend on each other in a circle, or on a tensor that nothing writes")
    graph = Graph(tensors=tensors, steps=tuple(ordered), inputs=nodes.inputs, outputs=nodes.outputs)
    return graph, {step.index: members for step, members in steps}
