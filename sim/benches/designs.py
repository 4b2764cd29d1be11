"""The benches by name: generated Verilog of a component, and the modules with its tests."""

from dataclasses import dataclass, field

from ...gen.unit import engine_unit, epilogue_unit
from ...gen.verilog import to_verilog
from ...rtl.array import SystolicArray
from ...rtl.epilogue import EpilogueRow
from ...rtl.multiplier import Multiplier
from ...rtl.pe import ProcessingElement
from ...rtl.selector import RowSelector

__all__ = ["BENCHES", "Design"]


@dataclass(frozen=True)
class Design:
    """What a bench tests.

    Parameters
    ----------
    name : str
        Of the top module.
    verilog : str
    config : EngineConfig
    facts : dict of plain values
        What the bench must know of the design beside its configuration, such as its latency.
    """

    name: str
    verilog: str
    config: object
    facts: dict = field(default_factory=dict)


def _design(kind, component, config, **facts):
    name = f"plusb_{kind}_{config.config_hash}"
    return Design(name, to_verilog(component, name), config, facts)


def _pe(config):
    """A processing element."""
    pe = ProcessingElement(config)
    return _design("pe", pe, config, latency=Multiplier.LATENCY, low_width=pe.low_width)


def _selector(config):
    """A row selector as wide as an accumulator."""
    selector = RowSelector(config.rows, config.acc_range.signed_width)
    return _design("selector", selector, config, latency=selector.latency)


def _array(config):
    """The systolic array."""
    array = SystolicArray(config)
    return _design("array", array, config, latency=array.latency)


def _epilogue(config):
    """The row of epilogue lanes, skewed as it is behind an array."""
    lead = 8
    row = EpilogueRow(config, config.acc_range, skew=config.group, lead=lead, period=config.tile_period)
    return _design("epilogue", row, config, latency=row.latency, lead=lead, skew=config.group)


def _engine(config):
    """The engine with its AXI4-Stream ports."""
    return _unit(engine_unit(config))


def _epilogue_unit(config):
    """The epilogue alone with its AXI4-Stream ports."""
    return _unit(epilogue_unit(config))


def _unit(unit):
    facts = {"latency": unit.latency, "inputs": unit.inputs, "outputs": unit.outputs}
    return Design(unit.name, unit.verilog, unit.config, facts)


def _modules(*names):
    return tuple(f"{__package__}.{name}" for name in names)


#: Test modules of every bench by its name, and the function from a configuration to its design.
BENCHES = {
    "pe": (_modules("pe_tests"), _pe),
    "selector": (_modules("selector_tests"), _selector),
    "array": (_modules("array_tests"), _array),
    "epilogue": (_modules("epilogue_tests"), _epilogue),
    "engine": (_modules("engine_tests", "engine_tile_tests", "engine_reset_tests"), _engine),
    "features": (_modules("feature_tests", "table_tests", "split_tests"), _engine),
    "epilogue_unit": (_modules("feature_tests", "table_tests"), _epilogue_unit),
}
