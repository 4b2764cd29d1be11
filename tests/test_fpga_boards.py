"""Every board takes the preset that is said to fit it."""

import subprocess

import pytest
from plusb.fpga.boards import BOARDS
from plusb.fpga.flow import synthesize
from plusb.fpga.report import explain_overflow
from plusb.fpga.tools import find_tool
from plusb.fpga.top import BoardTop
from plusb.rtl.engine import Engine
from plusb.rtl.presets import PRESETS

# Cells that become multiplier blocks, and those that take a look-up table each; a carry cell of an ECP5 takes two.
_DSPS = ("SB_MAC16", "MULT18X18D", "MULT9X9", "MULT18X18", "MULT36X36")
_LUTS = {"SB_LUT4": 1, "LUT1": 1, "LUT2": 1, "LUT3": 1, "LUT4": 1, "ALU": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}


def packed(board, directory):
    """nextpnr's log: a logic cell holds a table and the flip-flop behind it, so that counting neither will do."""
    command = [find_tool("nextpnr-ice40").program, *board.device.nextpnr, *board.package]
    command += ["--json", "plusb.json", "--pcf", "plusb.pcf", "--pack-only"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_preset_passes_synthesis(board, tmp_path):
    config = PRESETS[board.preset]
    top = BoardTop(board, Engine(config), config_hash=bytes.fromhex(config.config_hash))
    cells = synthesize(board, top, tmp_path)
    dsps = sum(cells.get(name, 0) for name in _DSPS)
    luts = sum(cells.get(name, 0) * count for name, count in _LUTS.items())
    # Each processing element has a product; two of them share a block on an iCE40.
    assert dsps >= config.rows * config.cols / 2 or not board.device.dsps
    assert luts <= board.device.luts
    if board.device.family == "ice40":
        log = packed(board, tmp_path)
        assert "ICESTORM_LC:" in log
        assert explain_overflow(board.device, log) is None
    assert sum(count for name, count in cells.items() if "FF" in name) > 1000
