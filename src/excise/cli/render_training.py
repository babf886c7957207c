"""How training looks in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from excise.training.detector.lengths import GROUPS
from excise.training.detector.validation import REPORT_HEADER, GroupReport, report_rows


def held_out_table(reports: Sequence[GroupReport]) -> Table:
    """What a detector does on held-out queries, group by group."""
    table = Table(*REPORT_HEADER, box=None)
    for row in report_rows(reports):
        table.add_row(*row)
    return table


def lengths_table(rates: Mapping[str, Mapping[str, float]]) -> Table:
    """The fire rate of detectors that saw long queries and of one that did not."""
    table = Table("trained on", *GROUPS, box=None)
    for name, found in rates.items():
        table.add_row(name, *(f"{found[group]:.3f}" if group in found else "" for group in GROUPS))
    return table
