"""The curves of a calibration: success@10 over the values of each constant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from excise.extras import need

if TYPE_CHECKING:
    from excise.evaluation.experiments.calibration import Sweep

_BLUE, _RED, _GREY = "#2166ac", "#b2182b", "#777777"
_COLUMNS = 3


def draw_calibration(sweeps: Sequence[Sweep], path: Path) -> None:
    """Draw a small curve for each constant and source: the dot is the value in use, the band twice its noise."""
    need("the plot", "eval", "matplotlib")
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    rows = math.ceil(len(sweeps) / _COLUMNS)
    with mpl.rc_context({"svg.hashsalt": "excise", "font.size": 8}):
        figure, grid = pyplot.subplots(
            rows, _COLUMNS, figsize=(9, 1.7 * rows), squeeze=False, sharey=True, layout="constrained"
        )
        for place, axes in enumerate(grid.flat):
            if place < len(sweeps):
                _draw(axes, sweeps[place])
            else:
                axes.set_visible(False)
        figure.savefig(path, metadata={"Date": None})  # the same sweeps give the same file
        pyplot.close(figure)


def _draw(axes: Any, one: Sweep) -> None:
    values, here = list(one.success), one.success[one.default]
    places = range(len(values))
    axes.axhspan(max(0.0, here - one.noise / 2), min(1.0, here + one.noise / 2), color=_BLUE, alpha=0.12, linewidth=0)
    axes.plot(places, [one.success[value] for value in values], color=_BLUE)
    axes.plot([values.index(one.default)], [here], "o", color=_RED, markersize=5)
    axes.set_xticks(places, [f"{value:g}" for value in values])
    axes.set_ylim(-0.03, 1.05)
    axes.set_title(f"{one.source}: {one.constant}, {one.verdict}", loc="left", fontsize=8, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=_GREY)
