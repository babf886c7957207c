"""The plots of the diagnosis: the gap by excluded tokens, and the probe's accuracy by layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from excise.evaluation.experiments.diagnosis import Diagnosis

_BLUE, _GREY = "#2f6fb3", "#777777"


def draw_diagnosis(found: Diagnosis, folder: Path) -> list[Path]:
    """The plots: gap by excluded tokens, and probe accuracy by layer. One without data is not drawn."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    paths = []
    if found.buckets:
        figure, axes = pyplot.subplots(figsize=(6, 3.8), layout="constrained")
        _draw_gaps(axes, found)
        paths.append(folder / "gap.png")
        figure.savefig(paths[-1], dpi=150)
        pyplot.close(figure)
    if found.probe is not None:
        figure, axes = pyplot.subplots(figsize=(6, 3.8), layout="constrained")
        _draw_probe(axes, found)
        paths.append(folder / "probe.png")
        figure.savefig(paths[-1], dpi=150)
        pyplot.close(figure)
    return paths


def _draw_gaps(axes: Any, found: Diagnosis) -> None:
    places = range(len(found.buckets))
    means = [one.mean for one in found.buckets]
    spread = [[one.mean - one.low for one in found.buckets], [one.high - one.mean for one in found.buckets]]
    axes.bar(places, means, width=0.6, color=_BLUE, yerr=spread, capsize=4, ecolor=_GREY)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(places, [f"{one.name}\nn = {one.queries}" for one in found.buckets])
    axes.set_xlabel("excluded tokens")
    axes.set_ylabel("mean gap, S(q, n) - S(q, g)")
    title = f"{found.suite} {found.split}: the excluded document wins on {found.gaps.inverted:.1%}"
    _finish(axes, title)


def _draw_probe(axes: Any, found: Diagnosis) -> None:
    layers = found.probe.layers if found.probe is not None else ()
    places = range(len(layers))
    accuracy, deviation = [one.accuracy for one in layers], [one.deviation for one in layers]
    axes.errorbar(places, accuracy, yerr=deviation, color=_BLUE, marker="o", capsize=4, ecolor=_GREY)
    axes.axhline(0.5, color=_GREY, linestyle="--", linewidth=1)
    axes.text(1.01, 0.5, "chance", transform=axes.get_yaxis_transform(), color=_GREY, va="center")
    axes.set_xticks(places, [one.layer for one in layers])
    axes.set_ylim(min(0.35, *accuracy) - 0.05, min(1.02, max(0.75, *accuracy) + 0.1))
    axes.set_xlabel("layer")
    axes.set_ylabel("accuracy on unseen documents")
    _finish(axes, f"{found.suite} {found.split}: linear probe, gold against excluded")


def _finish(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
