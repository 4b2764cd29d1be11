"""A generated unit: its Verilog and what a testbench or a manifest must know of its ports."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from ..rtl.axis import AxisTop
from ..rtl.config import EngineConfig
from ..rtl.engine import Engine
from ..rtl.epilogue_unit import EpilogueUnit
from ..rtl.target import Target
from .verilog import to_verilog
from .version import __version__

__all__ = ["Unit", "engine_unit", "epilogue_unit"]


@dataclass(frozen=True)
class Unit:
    """Verilog of a unit.

    Parameters
    ----------
    name : str
        Of the top module.
    config : EngineConfig
    verilog : str
    inputs, outputs : tuple of str
        Streams; an input ``x`` has the ports ``s_axis_x_*``, an output ``m_axis_x_*``.
    ports : dict of str to (str, int)
        Direction and width of each port.
    latency : int
        Cycles from the last operands of a tile, or from a row of accumulators, to the first finished row.
    out_bytes, keep_bits : int
        Width of the output's TDATA in bytes and of its TKEEP in bits.
    """

    name: str
    config: EngineConfig
    verilog: str
    inputs: tuple
    outputs: tuple
    ports: dict
    latency: int
    out_bytes: int
    keep_bits: int

    @property
    def digest(self):
        """Hash of the Verilog text."""
        return hashlib.sha256(self.verilog.encode()).hexdigest()[:16]


@lru_cache(maxsize=32)
def engine_unit(config, name=None, target=Target.portable):
    """The engine of a configuration, as Verilog.

    Parameters
    ----------
    config : EngineConfig
    name : str or None
        Of the top module; ``None`` takes ``plusb_<hash>``.
    target : Target
        Device whose arithmetic blocks are instantiated.
    """
    return _unit(Engine(config), name or f"plusb_{config.config_hash}", target)


@lru_cache(maxsize=32)
def epilogue_unit(config, name=None, target=Target.portable):
    """The epilogue alone of a configuration, as Verilog; parameters as in :func:`engine_unit`."""
    return _unit(EpilogueUnit(config), name or f"plusb_epilogue_{config.config_hash}", target)


def _unit(component, name, target):
    config = component.config
    top = AxisTop(component)
    ports = {port: (member.flow.name.lower(), member.shape) for port, member in top.signature.members.items()}
    header = f"// {name}: made by plusb {__version__} from configuration {config.config_hash} for target {target}.\n"
    return Unit(
        name=name,
        config=config,
        verilog=to_verilog(top, name, header=header, platform=target),
        inputs=tuple(top.inputs),
        outputs=tuple(top.outputs),
        ports=ports,
        latency=component.latency,
        out_bytes=ports["m_axis_out_tdata"][1] // 8,
        keep_bits=ports["m_axis_out_tkeep"][1],
    )
