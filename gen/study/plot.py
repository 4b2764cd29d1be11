"""The study as a picture."""

from .change import STORED
from .study import CLAIM

__all__ = ["plot"]

_COLORS = {"sat": "tab:red", "shift": "tab:blue", "chshift": "tab:green", "scale": "tab:purple"}
_MARKS = dict(zip(STORED, ("o", "^"), strict=True))


def plot(result, file):
    """Draw the change of accuracy (or, without labels, the changed predictions) and write a .png or .svg file.

    Parameters
    ----------
    result : StudyResult
    file : path
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = [network["name"] for network in result.networks]
    figure = Figure(figsize=(1.5 + 3.2 * len(names), 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for name, axis in zip(names, axes, strict=True):
        _panel(axis, name, [m for m in result.measurements if m.network == name and m.width != 32])
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    figure.savefig(file, dpi=150)


def _panel(axis, name, measurements):
    labelled = all(m.points is not None for m in measurements)
    forms = list(dict.fromkeys(m.form for m in measurements))
    seen = set()
    for m in measurements:
        value, low, high = m.points if labelled else (100 * m.predictions_changed / m.predictions,) * 3
        if not labelled:
            low, high = (100 * share for share in m.changed_share)
        label = f"{m.stored} bias stored" if m.stored not in seen else None
        seen.add(m.stored)
        at = forms.index(m.form) + (0.15 if m.stored == STORED[1] else -0.15)
        axis.errorbar(
            at,
            value,
            yerr=[[max(value - low, 0)], [max(high - value, 0)]],
            fmt=_MARKS[m.stored],
            color=_COLORS.get(m.form.split()[-1], "black"),
            capsize=3,
            label=label,
        )
    if labelled:
        axis.axhspan(-CLAIM[1], -CLAIM[0], color="gold", alpha=0.5, label="the claim")
        axis.set_yscale("symlog", linthresh=1)
    axis.set_xticks(range(len(forms)), forms, rotation=90)
    axis.set_title(name)
    axis.set_ylabel("change of accuracy, points (95 %)" if labelled else "predictions changed, % (95 %)")
    axis.grid(axis="y", alpha=0.3)
