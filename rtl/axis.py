"""The Verilog top: a component's streams as flat AXI4-Stream ports."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["AxisTop"]


def _padded(bits):
    return -(-bits // 8) * 8


class AxisTop(wiring.Component):
    """Wraps a component of input and output streams.

    An input ``x`` becomes ``s_axis_x_tdata``, ``_tvalid``, ``_tready``; an output ``y`` becomes ``m_axis_y_*``, with
    ``_tkeep`` and ``_tlast`` where it is one of rows. Data is padded with ignored bits to whole bytes.

    Parameters
    ----------
    inner : Component
    """

    def __init__(self, inner):
        self._inner = inner
        members = {}
        self.inputs, self.outputs = [], []
        for name, member in inner.signature.members.items():
            payload = member.signature.members["payload"].shape
            is_row = member.flow is Out and _is_row(payload)
            width = Shape.cast(payload.members["data"] if is_row else payload).width
            if member.flow is In:
                self.inputs.append(name)
                prefix, flow, back = f"s_axis_{name}", In, Out
            else:
                self.outputs.append(name)
                prefix, flow, back = f"m_axis_{name}", Out, In
            members[f"{prefix}_tdata"] = flow(_padded(width))
            if is_row:
                members[f"{prefix}_tkeep"] = Out(width // 8)
                members[f"{prefix}_tlast"] = Out(1)
            members[f"{prefix}_tvalid"] = flow(1)
            members[f"{prefix}_tready"] = back(1)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = inner = self._inner
        for name in self.inputs:
            port = getattr(inner, name)
            data, valid, ready = (getattr(self, f"s_axis_{name}_t{part}") for part in ("data", "valid", "ready"))
            m.d.comb += [Value.cast(port.payload).eq(data), port.valid.eq(valid), ready.eq(port.ready)]
        for name in self.outputs:
            port = getattr(inner, name)
            word = port.payload
            keys = ("data", "valid", "ready", "keep", "last")
            part = {key: getattr(self, f"m_axis_{name}_t{key}", None) for key in keys}
            m.d.comb += [part["valid"].eq(port.valid), port.ready.eq(part["ready"])]
            if _is_row(word.shape()):
                element_bytes = len(part["keep"]) // len(word.keep)
                m.d.comb += [
                    part["data"].eq(word.data),
                    part["keep"].eq(Cat(bit.replicate(element_bytes) for bit in word.keep)),
                    part["last"].eq(word.last),
                ]
            else:
                m.d.comb += part["data"].eq(word)
        return m


def _is_row(payload):
    return {"data", "keep", "last"} <= set(payload.members)
