"""``plusb run digits --board PORT``: the digits on a board, every layer compared with the golden model."""

import time
from dataclasses import dataclass, replace

from ..digits import network
from ..reference import reference
from .board import describe_board, describe_line, open_board
from .common import CommandError, print_json
from .terminal import progress_bar, table

__all__ = ["BoardLayer", "execute_on_board", "run_layers"]


@dataclass(frozen=True, kw_only=True)
class BoardLayer:
    """One layer's result.

    Parameters
    ----------
    name : str
    m, k, n : int
        Size of the product.
    outputs, mismatches : int
        Outputs compared, and those that differ from the golden model.
    seconds : float
        Wall time, the serial line included.
    """

    name: str
    m: int
    k: int
    n: int
    outputs: int
    mismatches: int
    seconds: float


def run_layers(board, config, net, *, progress=lambda text, share: None):
    """Run a network; every layer reads what the board made of the one before.

    Parameters
    ----------
    board : Board
    config : EngineConfig
    net : DigitsNetwork
    progress : callable
        Called with a layer's name and the share of it that is done, 0 to 1.

    Returns
    -------
    (list of BoardLayer, int64 array)
        The layers, and the scores.
    """
    x, layers = net.quantize_input(net.images), []
    for layer in net.layers:
        began = time.perf_counter()
        y = board.run(layer, x, progress=lambda share, name=layer.name: progress(name, share))
        seconds = time.perf_counter() - began
        wrong = int((y != reference(config, layer, x).out).sum())
        layers.append(
            BoardLayer(
                name=layer.name,
                m=len(x),
                k=layer.k,
                n=layer.n,
                outputs=y.size,
                mismatches=wrong,
                seconds=round(seconds, 3),
            )
        )
        x = y
    return layers, x


def execute_on_board(arguments, config):
    """Run the network on the board at ``arguments.board`` and print what it showed; 1 if anything differs."""
    net = network.load()
    net = replace(net, images=net.images[: arguments.limit], labels=net.labels[: arguments.limit])
    try:
        with progress_bar(quiet=arguments.json) as show, open_board(arguments, config) as board:
            layers, scores = run_layers(board, config, net, progress=show)
    except ValueError as error:
        raise CommandError(f"{arguments.config} cannot run {arguments.model}: {error}") from error
    mismatches = sum(layer.mismatches for layer in layers)
    if arguments.json:
        print_json(
            {
                "config": arguments.config,
                "clock_hz": board.identity.clock_hz,
                "accuracy": net.accuracy(scores),
                "layers": [vars(layer) for layer in layers],
                "mismatches": mismatches,
                "line": vars(board.counters),
            }
        )
    else:
        print(f"{arguments.model}, {len(net.images)} images, on {describe_board(arguments.board, board, config)}")
        table(
            ["layer", "M x K x N", "outputs", "mismatches", "seconds"],
            [
                [
                    layer.name,
                    f"{layer.m} x {layer.k} x {layer.n}",
                    f"{layer.outputs:,}",
                    f"{layer.mismatches:,}",
                    f"{layer.seconds:.2f}",
                ]
                for layer in layers
            ],
        )
        print(f"accuracy    {net.accuracy(scores):.2%} (float {net.float_accuracy():.2%})")
        print(f"compared    {sum(layer.outputs for layer in layers):,} outputs, {mismatches:,} mismatches")
        print(f"line        {describe_line(board.counters)}")
    return 1 if mismatches else 0
