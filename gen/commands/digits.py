"""The main job: the digits network, layer by layer through the generated Verilog, as one report."""

from dataclasses import dataclass, replace

from ..digits import network
from ..reference import product_stages

__all__ = ["DigitsReport", "report_json", "run_digits"]


@dataclass(frozen=True, kw_only=True)
class DigitsReport:
    """What the run of a network showed.

    Parameters
    ----------
    config : str
        Name of the unit's configuration.
    accuracy : dict of str to float
        ``float``, ``golden`` and ``hardware``: share of the images whose digit each of them finds.
    layers : list of LayerRun
    """

    config: str
    accuracy: dict
    layers: list

    def total(self, name):
        """Sum of one of the layers' figures."""
        return sum(getattr(layer, name) for layer in self.layers)

    @property
    def cycles_per_second(self):
        """Simulated cycles in a second of wall time."""
        return self.total("cycles") / self.total("seconds")


def run_digits(name, pair, *, limit=None, progress=None):
    """Run the committed digits network.

    Every layer reads what the hardware made of the one before, so a wrong value anywhere reaches the scores.

    Parameters
    ----------
    name : str
        Of the unit's configuration, for the report.
    pair : UnitPair
    limit : int or None
        Images to run, from the first; all if left out.
    progress : callable or None
        Called now and then with a layer's name and the share of the whole work that is done, 0 to 1.

    Returns
    -------
    DigitsReport
    """
    net = network.load()
    net = replace(net, images=net.images[:limit], labels=net.labels[:limit])
    work = sum(layer.k * layer.n for layer in net.layers)
    x = golden = net.quantize_input(net.images)
    done, runs = 0, []
    for layer in net.layers:
        share = layer.k * layer.n / work
        report = None
        if progress is not None:
            report = lambda part, name=layer.name, done=done, share=share: progress(name, done + share * part)  # noqa: E731
        runs.append(pair.run(layer, x, progress=report))
        x, golden = runs[-1].y, product_stages(layer, golden).out
        done += share
    accuracy = {
        "float": net.float_accuracy(),
        "golden": net.accuracy(golden),
        "hardware": net.accuracy(x),
    }
    return DigitsReport(config=name, accuracy=accuracy, layers=runs)


_LAYER_KEYS = ("name", "op", "m", "k", "n", "macs", "cycles", "ideal_cycles", "utilization", "outputs", "mismatches")


def report_json(report):
    """The report as plain values for a script."""
    return {
        "config": report.config,
        "accuracy": report.accuracy,
        "layers": [{key: getattr(layer, key) for key in _LAYER_KEYS} for layer in report.layers],
        "outputs": report.total("outputs"),
        "mismatches": report.total("mismatches"),
        "cycles": report.total("cycles"),
        "cycles_epilogue_off": report.total("cycles_raw"),
        "seconds": round(report.total("seconds"), 6),
        "cycles_per_second": round(report.cycles_per_second),
    }
