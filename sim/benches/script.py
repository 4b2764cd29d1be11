"""Benches of pure pipelines: what is driven and what must come out, listed beforehand cycle by cycle."""

from collections import defaultdict

__all__ = ["Script", "play"]


class Script:
    """An agent that drives ports from lists and checks ports in the cycles in which something is due.

    Parameters
    ----------
    dut : cocotb handle
    """

    def __init__(self, dut):
        self._dut = dut
        self._inputs = {}
        self._outputs = {}
        self.checked = 0
        self.length = 0

    def feed(self, port, values):
        """Drive ``values`` from cycle 0 on; the last one stays."""
        self._inputs[port] = (getattr(self._dut, port), list(values))
        self.length = max(self.length, len(values))

    def expect(self, port, cycle, value, width=None, at=0):
        """The ``width`` bits (default: all) of a port from bit ``at`` on must be ``value`` in a cycle."""
        handle, due = self._outputs.setdefault(port, (getattr(self._dut, port), defaultdict(list)))
        mask = (1 << (width or len(handle))) - 1
        due[cycle].append((at, mask, int(value) & mask))
        self.length = max(self.length, cycle + 1)

    @property
    def expected(self):
        """Number of values that are checked in the end."""
        return sum(len(checks) for _, due in self._outputs.values() for checks in due.values())

    def reset(self):
        """Start over."""
        self.checked = 0

    def drive(self, cycle):
        """Set the inputs of a cycle."""
        for handle, values in self._inputs.values():
            if cycle < len(values):
                handle.value = int(values[cycle])

    def sample(self, cycle):
        """Check what is due in a cycle."""
        for port, (handle, due) in self._outputs.items():
            checks = due.get(cycle)
            if not checks:
                continue
            value = handle.value
            assert value.is_resolvable, f"{port} is {value} in cycle {cycle}"
            value = int(value)
            for at, mask, want in checks:
                got = value >> at & mask
                assert got == want, f"{port}[{at}+] is {got:#x} in cycle {cycle}, not {want:#x}"
                self.checked += 1


async def play(bench, script):
    """Run a script from a reset to its end, and check that nothing was left out."""
    bench.agents = [script]
    await bench.reset()
    await bench.step(script.length)
    assert script.expected, "the script checks nothing"
    assert script.checked == script.expected, f"{script.checked} of {script.expected} values were checked"
