import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from plusb.rtl.parameters import ParameterLoader, ParameterStore

from .rtl_sim import play, simulate

_WIDTH = 8


class _Unit(wiring.Component):
    """A loader and one store, as they sit in a unit."""

    def __init__(self, cols, first, count):
        self._loader = ParameterLoader(_WIDTH, cols)
        self._store = ParameterStore(_WIDTH, cols, first, count)
        super().__init__(
            {
                "i": In(stream.Signature(_WIDTH)),
                "available": Out(1),
                "claim": In(1),
                "swap": In(1),
                "index": In(range(max(count, 2))),
                "o": Out(_WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.loader, m.submodules.store = loader, store = self._loader, self._store
        wiring.connect(m, wiring.flipped(self.i), loader.i)
        wiring.connect(m, loader.write, store.write)
        m.d.comb += [
            self.available.eq(loader.available),
            loader.claim.eq(self.claim),
            loader.release.eq(self.swap),
            store.swap.eq(self.swap),
            store.index.eq(self.index),
            self.o.eq(store.o),
        ]
        return m


@pytest.mark.parametrize(("cols", "first", "count"), [(1, 0, 1), (4, 2, 1), (4, 2, 2), (6, 3, 3), (4, 0, 4)])
def test_sets_load_while_others_are_in_use_and_swap_at_once(cols, first, count):
    unit = _Unit(cols, first, count)
    sets = [[(16 * number + col + 1) % 256 for col in range(cols)] for number in range(5)]

    async def source(ctx):
        for record in (record for records in sets for record in records):
            ctx.set(unit.i.payload, record)
            ctx.set(unit.i.valid, 1)
            await ctx.tick().until(unit.i.ready)
        ctx.set(unit.i.valid, 0)

    async def user(ctx):
        for number, records in enumerate(sets):
            while not ctx.get(unit.available):
                await ctx.tick()
            ctx.set(unit.claim, 1)
            await ctx.tick()
            ctx.set(unit.claim, 0)
            assert not ctx.get(unit.available), "a claimed set is still available"
            for _ in range(number):
                await ctx.tick()
            ctx.set(unit.swap, 1)
            for index in range(count):
                ctx.set(unit.index, index)
                await ctx.tick()
                ctx.set(unit.swap, 0)
                assert ctx.get(unit.o) == records[first + index]
            # While the next set loads, this one stays.
            for index in range(2 * cols):
                ctx.set(unit.index, index % count)
                await ctx.tick()
                assert ctx.get(unit.o) == records[first + index % count]

    simulate(unit, source, user)


def test_loader_takes_one_set_and_no_more():
    loader = ParameterLoader(_WIDTH, 3)
    ready, available, enable, col, bank = play(
        loader,
        {"i.valid": [1] * 10, "i.payload": range(10)},
        ["i.ready", "available", "write.en", "write.col", "write.bank"],
    )
    assert ready == [1, 1, 1] + [0] * 7
    assert available == [0, 0, 0] + [1] * 7
    assert enable == [0, 1, 1, 1] + [0] * 6
    assert col[1:4] == [0, 1, 2]
    assert set(bank[1:4]) == {1}, "the bank that is in use after reset must not be written"
