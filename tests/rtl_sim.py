"""The Amaranth simulator for components: play inputs, record outputs, measure latencies."""

from operator import attrgetter

import pytest
from amaranth.hdl import Value
from amaranth.sim import Simulator

__all__ = ["measured_latency", "play", "refused", "simulate"]


def simulate(component, *testbenches):
    """Run testbenches, each an ``async`` function of the context, to the end of the last one."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6, if_exists=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()


def play(component, inputs, outputs, *, extra=0, combinational=False):
    """Drive ports from lists, one value a cycle, and record other ports.

    Parameters
    ----------
    component : Component
    inputs : dict of str to sequence of int
        Values of a member, such as ``a`` or ``i.payload``; packed ones take the word as a number.
    outputs : sequence of str
    extra : int
        Cycles to go on with the last values.
    combinational : bool
        The component has no clock.

    Returns
    -------
    list of list of int
        For each output its value in each cycle.
    """

    def port(name):
        return Value.cast(attrgetter(name)(component))

    length = max(len(values) for values in inputs.values()) + extra
    ports = [(port(name), [int(value) for value in values]) for name, values in inputs.items()]
    watched = [port(name) for name in outputs]
    recorded = [[] for _ in watched]

    async def testbench(ctx):
        for cycle in range(length):
            for signal, values in ports:
                if cycle < len(values):
                    ctx.set(signal, values[cycle])
            for values, signal in zip(recorded, watched, strict=True):
                values.append(ctx.get(signal))
            await (ctx.delay(1e-6) if combinational else ctx.tick())

    simulate(component, testbench)
    return recorded


def measured_latency(want, got):
    """The number of cycles by which ``got`` lags behind ``want``; there must be exactly one."""
    want = [int(value) for value in want]
    lags = [lag for lag in range(len(got) - len(want) + 1) if got[lag : lag + len(want)] == want]
    assert len(lags) == 1, f"the output equals what it should be at lags {lags}"
    return lags[0]


def refused(message, component_class, *arguments):
    """The constructor must raise ``ValueError`` with a message that matches."""
    component = component_class.__new__(component_class, *arguments)
    component._MustUse__used = True  # Amaranth warns of components that are made and not used
    with pytest.raises(ValueError, match=message):
        component.__init__(*arguments)
