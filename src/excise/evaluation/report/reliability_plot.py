"""Whether probabilities hold: the share of candidates that cover the topic, by the probability that they do."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from excise.evaluation.measures.estimates import proportion
from excise.extras import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from excise.evaluation.experiments.coverage_report import CoverageReport
    from excise.evaluation.measures.removals import ReliabilityBin

_BLUE, _GREY = "#2166ac", "#777777"
_COLUMNS = 3
_LARGEST = 160  # the area of the point with the most candidates


def draw_reliability(report: CoverageReport, path: Path) -> None:
    """Draw a small curve for each system that has probabilities; on the dashed line they hold.

    A point is a tenth of the scale, as large as it has candidates, with Wilson's interval of its share.
    """
    need("the plot", "eval", "matplotlib")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = list(report.reliability)
    columns = min(_COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    with mpl.rc_context({"svg.hashsalt": "excise", "font.size": 8}):
        size = (3.2 * columns, 3.2 * rows)
        figure, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for place, axes in enumerate(grid.flat):
            if place < len(names):
                brier = report.systems[names[place]]["brier"].mean
                _draw_curve(axes, f"{names[place]}, Brier {brier:.3f}", report.reliability[names[place]])
            else:
                axes.set_visible(False)
        figure.savefig(path, metadata={"Date": None})  # the same report gives the same file
        pyplot.close(figure)


def _draw_curve(axes: Any, title: str, curve: Sequence[ReliabilityBin]) -> None:
    axes.plot([0, 1], [0, 1], color=_GREY, linestyle="--", linewidth=1)
    known = [one for one in curve if one.probability is not None and one.share is not None]
    places, shares = [one.probability for one in known], [one.share for one in known]
    most = max(one.count for one in known)
    intervals = [proportion(round((one.share or 0.0) * one.count), one.count) for one in known]
    spread = [[one.mean - one.low for one in intervals], [one.high - one.mean for one in intervals]]
    axes.errorbar(places, shares, yerr=spread, color=_BLUE, ecolor=_GREY, elinewidth=0.8, linewidth=1)
    axes.scatter(places, shares, s=[max(6.0, _LARGEST * one.count / most) for one in known], color=_BLUE, zorder=3)
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("probability that it covers the topic")
    axes.set_ylabel("share that does")
    axes.set_title(title, loc="left", fontsize=8, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
