"""What a self-check feeds its engine, and the signature that the golden model expects of it."""

import hashlib

import numpy as np

from ..gen.gemm import Gemm
from ..gen.lower import lower
from ..gen.reference import reference
from ..rtl.formats import operand_layout, row_layout

__all__ = ["LEAP", "TAPS", "Stimulus", "lane_seeds", "next_signature"]

#: Feedback of the 16-bit shift registers (Galois form, maximal), and their steps from one word to the next.
TAPS = 0xB400
LEAP = 11

_TILES = 24
_K = 48


def lane_seeds(name, count):
    """Start of each element's register, never zero."""
    return [
        1 + int.from_bytes(hashlib.sha256(f"{name}{lane}".encode()).digest()[:4], "little") % 0xFFFF
        for lane in range(count)
    ]


def next_signature(signature, word, width):
    """The signature after another word: shifted with feedback from its middle, which loses nothing, and added to.

    Works on integers and on Amaranth values.
    """
    if isinstance(signature, int):
        top, middle = signature >> (width - 1), signature >> (width // 2)
        return ((signature << 1 & (1 << width) - 1) | ((top ^ middle) & 1)) ^ word
    from amaranth.hdl import Cat

    return Cat(signature[-1] ^ signature[width // 2], signature[:-1]) ^ word


class Stimulus:
    """Tiles with pseudo-random operands, each with random parameters and the next of the rounding families.

    Parameters
    ----------
    config : EngineConfig
        Terms other than the channel bias are built but not used.

    Attributes
    ----------
    tables : dict of str to list of int
        Words of the streams that come from read-only memories.
    rows : int
        Rows that come out.
    expected : int
        Their signature.
    signature_width : int

    Raises
    ------
    ValueError
        If the unit has a rounding family that is not of fixed point.
    """

    START = 1

    def __init__(self, config):
        self.config = config
        self.rows = _TILES * config.rows
        k = min(_K, config.max_k)
        self._row_width = row_layout(config).size
        self.signature_width = max(32, self._row_width)
        a, w = (self._operands(name, _TILES * k) for name in ("a", "w"))
        rng = np.random.default_rng(1)
        self.expected = self.START
        streams = {}
        for tile in range(_TILES):
            part = slice(tile * k, (tile + 1) * k)
            gemm, x = self._gemm(rng, tile, w[part]), a[part].T
            program = lower(config, gemm, x)
            for name, words in program.streams.items():
                streams.setdefault(name, []).extend(int.from_bytes(word.tobytes(), "little") for word in words)
            self._sign(reference(config, gemm, x).out)
        for name in ("a", "w"):
            del streams[name]
        self.tables = streams

    def _operands(self, name, words):
        """What the registers of stream ``name`` hold, int array (words, elements)."""
        int_type = self.config.activation_type if name == "a" else self.config.weight_type
        count = self.config.rows if name == "a" else self.config.cols
        states = np.array(lane_seeds(name, count), np.int64)
        values = np.empty((words, count), np.int64)
        assert operand_layout(int_type, count).size == count * int_type.width
        for index in range(words):
            values[index] = states & ((1 << int_type.width) - 1)
            for _ in range(LEAP):
                states = states >> 1 ^ np.where(states & 1, TAPS, 0)
        if int_type.signed:
            values -= (values >> (int_type.width - 1)) << int_type.width
        return values

    def _gemm(self, rng, tile, w):
        epilogue, n = self.config.epilogue, self.config.cols
        if epilogue is None:
            return Gemm(name="check", op="check", w=w, bias=np.zeros(n, np.int64), family="gemmlowp")
        family = epilogue.families[tile % len(epilogue.families)]
        if not family.is_fixed_point:
            raise ValueError(f"a self-check cannot use the rounding family {family}")
        output = epilogue.output_type
        # High bits only, where the unit's multiplier is narrow.
        fine = 31 - epilogue.multiplier_width
        # Sums of K products of random operands, scaled to most of the output's range.
        spread = self.config.activation_type.width + self.config.weight_type.width - 3 + len(w).bit_length() // 2
        shift = output.width - spread + rng.integers(-1, 2, n)
        bias = rng.integers(-(1 << spread - 1), 1 << spread - 1, n)
        return Gemm(
            name="check",
            op="check",
            w=w,
            bias=bias if "channel" in epilogue.bias else np.zeros(n, np.int64),
            family=family,
            multiplier=rng.integers(2**30 >> fine, 2**31 >> fine, n) << fine,
            shift=shift,
            zp_out=int(rng.integers(-8, 9)) if output.signed else 8,
            lo=output.min,
            hi=output.max - tile,
        )

    def _sign(self, values):
        config = self.config
        element = config.element_type.width
        for index, row in enumerate(values):
            word = sum((int(value) & (1 << element) - 1) << element * place for place, value in enumerate(row))
            word |= (1 << config.cols) - 1 << element * config.cols
            word |= int(index == len(values) - 1) << (element + 1) * config.cols
            self.expected = next_signature(self.expected, word, self.signature_width)
