"""Agents for AXI4-Streams: sources and a checking sink, with patterns of idle cycles and back-pressure."""

from dataclasses import dataclass
from functools import lru_cache

__all__ = ["FULL_RATE", "TRAFFIC", "Chance", "Sink", "Source", "Traffic"]


class Chance:
    """Random decisions, those of the burst driver bit for bit: the same seed stalls the same cycles in both."""

    _MASK = (1 << 64) - 1

    def __init__(self, seed=1):
        self.seed(seed)

    def seed(self, seed):
        """Start over."""
        self._state = seed * 2 + 1

    def happens(self, chance):
        """True in ``chance`` of 256 calls."""
        if not chance:
            return False
        state = self._state
        state ^= (state << 13) & self._MASK
        state ^= state >> 7
        state ^= (state << 17) & self._MASK
        self._state = state
        return ((state >> 32) & 255) < chance


@dataclass(frozen=True)
class Traffic:
    """How busy the streams are.

    Parameters
    ----------
    idle, stall : int
        Chance, of 256, that a source offers nothing new in a cycle, and that the sink is not ready.
    """

    idle: int = 0
    stall: int = 0


FULL_RATE = Traffic()

#: The patterns under which data must be the same.
TRAFFIC = {
    "full_rate": FULL_RATE,
    "idle": Traffic(idle=96),
    "stalls": Traffic(stall=192),
    "both": Traffic(idle=80, stall=80),
}


class Source:
    """Offers words; one that has been offered stays until it is taken.

    While nothing is offered the data lines carry the complement of the last word, which nothing may depend on.

    Parameters
    ----------
    data, valid, ready : cocotb handles
    chance : Chance
    """

    def __init__(self, data, valid, ready, chance):
        self._data, self._valid, self._ready = data, valid, ready
        self._chance = chance
        self._mask = (1 << len(data)) - 1
        self.idle = 0
        self.reset()

    def reset(self):
        """Forget all words."""
        self.words = []
        self.progress = 0
        self.first_cycle = None
        self._offered = self._driven = False
        self._valid.value = 0

    @property
    def empty(self):
        """Whether every word was taken."""
        return self.progress == len(self.words)

    def sample(self, cycle):
        """Note whether the word was taken."""
        if self._offered and self._ready.value == 1:
            if self.first_cycle is None:
                self.first_cycle = cycle
            self._offered = False
            self.progress += 1

    def drive(self, cycle):
        """Offer the next word, or not."""
        if self._offered:
            return
        if self.progress < len(self.words) and not self._chance.happens(self.idle):
            self._offered = True
            self._data.value = self.words[self.progress]
            if not self._driven:
                self._driven = True
                self._valid.value = 1
        elif self._driven:
            self._driven = False
            self._valid.value = 0
            self._data.value = ~self.words[self.progress - 1] & self._mask


@lru_cache
def _kept_bits(keep):
    return sum(255 << 8 * byte for byte in range(keep.bit_length()) if keep >> byte & 1)


class Sink:
    """Takes rows, and holds the stream to its rules.

    ``valid`` never retracts, a stalled row does not change, and nothing that is valid is undefined.

    Parameters
    ----------
    data, keep, last, valid, ready : cocotb handles
        A stream without TKEEP and TLAST has None there.
    chance : Chance
    """

    def __init__(self, data, keep, last, valid, ready, chance):
        self._payload = (data, keep, last)
        self._valid, self._ready = valid, ready
        self._chance = chance
        self.stall = 0
        self.reset()

    def reset(self):
        """Forget all rows."""
        self.rows = []
        self.last_cycle = None
        self._waiting = None
        self._is_ready = False
        self._ready.value = 0

    @property
    def progress(self):
        """Rows taken."""
        return len(self.rows)

    def sample(self, cycle):
        """Take a row, check the rules."""
        valid = self._valid.value
        assert valid.is_resolvable, f"TVALID is {valid} in cycle {cycle}"
        if not valid:
            assert self._waiting is None, f"TVALID was retracted in cycle {cycle}"
            return
        row = self._read(cycle)
        if self._waiting is not None:
            assert row == self._waiting, f"a stalled row changed in cycle {cycle}"
        if self._is_ready:
            self.rows.append(row)
            self.last_cycle = cycle
            self._waiting = None
        else:
            self._waiting = row

    def _read(self, cycle):
        """Row as integers (data, keep, last); bytes that are not kept are 0, for they mean nothing."""
        if self._payload[1] is None:
            data = self._payload[0].value
            assert data.is_resolvable, f"TDATA is {data} in cycle {cycle}"
            return int(data), None, None
        data, keep, last = (handle.value for handle in self._payload)
        assert keep.is_resolvable, f"TKEEP is {keep} in cycle {cycle}"
        assert last.is_resolvable, f"TLAST is {last} in cycle {cycle}"
        keep = int(keep)
        mask = _kept_bits(keep)
        if not data.is_resolvable:
            unknown = int("".join("0" if bit in "01" else "1" for bit in str(data)), 2)
            assert not unknown & mask, f"TDATA is {data} with TKEEP {keep:b} in cycle {cycle}"
            data = int("".join(bit if bit in "01" else "0" for bit in str(data)), 2)
        return int(data) & mask, keep, int(last)

    def drive(self, cycle):
        """Be ready, or not."""
        ready = not self._chance.happens(self.stall)
        if ready != self._is_ready:
            self._is_ready = ready
            self._ready.value = int(ready)
