"""A generated unit: its Verilog and what a testbench or a manifest must know of its ports."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

from ..rtl.axis import AxisTop
from ..rtl.config import EngineConfig
from ..rtl.engine import Engine
from .verilog import to_verilog
from .version import __version__

__all__ = ["Unit", "engine_unit"]


@dataclass(frozen=True)
class Unit:
    """Verilog of a unit.

    Parameters
    ----------
    name : str
        Of the top module.
    config : EngineConfig
    verilog : str
    inputs : tuple of str
        Input streams; ``x`` has the ports ``s_axis_x_*``.
    ports : dict of str to (str, int)
        Direction and width of each port.
    latency : int
        Cycles from the last operands of a tile to its first row.
    out_bytes, keep_bits : int
        Width of the output's TDATA in bytes and of its TKEEP in bits.
    """

    name: str
    config: EngineConfig
    verilog: str
    inputs: tuple
    ports: dict
    latency: int
    out_bytes: int
    keep_bits: int

    @property
    def digest(self):
        """Hash of the Verilog text."""
        return hashlib.sha256(self.verilog.encode()).hexdigest()[:16]


@lru_cache(maxsize=32)
def engine_unit(config, name=None):
    """The engine of a configuration, as Verilog; ``name`` is that of the top module (default: ``plusb_<hash>``)."""
    name = name or f"plusb_{config.config_hash}"
    engine = Engine(config)
    top = AxisTop(engine)
    ports = {port: (member.flow.name.lower(), member.shape) for port, member in top.signature.members.items()}
    header = f"// {name}: made by plusb {__version__} from configuration {config.config_hash}.\n"
    return Unit(
        name=name,
        config=config,
        verilog=to_verilog(top, name, header=header),
        inputs=tuple(top.inputs),
        ports=ports,
        latency=engine.latency,
        out_bytes=ports["m_axis_out_tdata"][1] // 8,
        keep_bits=ports["m_axis_out_tkeep"][1],
    )
