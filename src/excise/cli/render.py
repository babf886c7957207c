"""How results look in a terminal. Import it when something is printed: rich takes a while."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from excise.results import STEPS

if TYPE_CHECKING:
    from excise.results import CopyReport, Hit, IndexReport, Judged, SearchResult, Topic

STYLES = {
    "kept": "",
    "penalised": "yellow",
    "doubtful": "yellow",
    "protected": "green",
    "mentions": "green",
    "removed": "red",
}
BRANCHES = {
    "floor": "no candidate reaches the evidence floor, so nothing was demoted",
    "relative": "the cut comes from the shortlist's own spread",
    "absolute": "too few candidates for a relative cut, so the floor is the cut",
    "coverage": "what surely covers the topic was removed, what may cover it comes last, what mentions it stays",
    "clear": "nothing here covers the topic, so this is the engine's ranking",
    "few": "too few candidates to compare, so the likeliest to cover the topic comes last and nothing is removed",
}
_BAR = 24
_SHOWN = 20
# What a terminal obeys or reorders instead of showing: control characters, marks of direction, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def show(what: RenderableType, *, stderr: bool = False) -> None:
    """Print a table or a text."""
    Console(stderr=stderr).print(what)


def say(sentence: str, style: str | None = None, *, stderr: bool = False) -> None:
    """Print a sentence as it is: no markup, and no line broken that the terminal would not break itself."""
    line = "\n".join(printable(part) for part in sentence.split("\n"))
    Console(stderr=stderr).print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def printable(text: str) -> str:
    """A text of strangers as a terminal may have it, character for character, so that offsets stay.

    Examples
    --------
    >>> printable("rye \\x1b[2J bread")
    'rye \ufffd[2J bread'
    """
    return _UNPRINTABLE.sub(lambda found: " " if found[0].isspace() else "\ufffd", text)


def copied(report: CopyReport, target: str) -> RenderableType:
    """What copying did."""
    counts = f"\n  copied {report.copied:,}, unchanged {report.unchanged:,}"
    return Text.assemble((f"{report.documents:,}", "bold"), f" documents in {printable(target)}", (counts, "dim"))


def indexed(report: IndexReport, index: Path | str) -> RenderableType:
    """What indexing did."""
    counts = f"\n  added {report.added:,}, unchanged {report.unchanged:,}, passed over {report.skipped:,}"
    total = (f"{report.documents:,}", "bold")
    return Text.assemble(total, f" documents in {printable(str(index))}", (counts, "dim"))


def results(result: SearchResult) -> RenderableType:
    """The hits, and what was removed."""
    parts: list[RenderableType] = [_headline(result)]
    for hit in result.hits:
        parts.append(_hit(hit))
    if not result.hits:
        parts.append(Text("no documents found", style="dim"))
    if result.removed:
        parts.append(Text("\nremoved (--no-excise brings them back):", style="red"))
        for one in result.removed:
            sure = f"evidence {one.evidence:.2f}" if one.probability is None else f"{one.probability:.0%} sure"
            line = f"  {printable(one.id)}  {printable(one.title)}  was {one.frozen_rank}, {sure}"
            parts.append(Text(line, style="red"))
            if one.passage is not None:
                parts.append(Padding(Text(f"“{printable(one.passage)}”", style="dim"), (0, 0, 0, 5)))
    return Group(*parts)


def struck(query: str, topics: Sequence[Topic]) -> Text:
    """A query with the excluded words struck through."""
    line = Text(printable(query), style="bold")
    for topic in topics:
        if topic.start is not None and topic.end is not None:
            line.stylize("strike red", topic.start, topic.end)
    return line


def _headline(result: SearchResult) -> Text:
    """The query, what is ruled out, and how long it took."""
    line = struck(result.query, result.topics)
    elsewhere = [printable(topic.text) for topic in result.topics if topic.start is None]
    if elsewhere:
        line.append("  less ", style="dim")
        line.append(", ".join(elsewhere), style="red strike")
    line.append(f"   {result.timing_ms['total']:.0f} ms\n", style="dim")
    return line


def _hit(hit: Hit) -> RenderableType:
    line = Text(f"{hit.rank:>3}  ")
    line.append(printable(hit.title or hit.id), style=STYLES[hit.status] or "bold")
    line.append(f"  {printable(hit.id)}  {hit.score:.2f}", style="dim")
    if hit.evidence is not None:
        line.append(f"  was {hit.frozen_rank}, evidence {hit.evidence:.2f}, {hit.status}", style="dim")
    snippet = printable(" ".join(hit.text.split()))
    return Group(line, Padding(Text(snippet[:160] + ("…" if len(snippet) > 160 else ""), style="dim"), (0, 0, 0, 5)))


def explanation(result: SearchResult) -> RenderableType:
    """Evidence per candidate, the cut, and who was penalised, removed and protected."""
    why = result.explanation
    if why is None:
        unchanged = Text("\nnothing was excluded: this is the engine's ranking, unchanged.", style="dim")
        return Group(unchanged, _budget(result))
    cut = "" if why.cut is None else f"cut {why.cut:.3f}, "
    likely = any(one.probability is not None for one in why.candidates)
    measure = "probability of covering" if likely else "evidence for"
    heading = f"\n{measure}: {', '.join(printable(topic.text) for topic in result.topics)}"
    table = Table(title=Text(heading, style="table.title"), title_justify="left", box=None, expand=True)
    table.add_column("was", justify="right", width=3)
    table.add_column("document", no_wrap=True, ratio=1)
    table.add_column("probability" if likely else "evidence", width=_BAR)
    table.add_column("", justify="right", width=4)
    table.add_column("", width=19)
    ranked = sorted(why.candidates, key=lambda one: (-_strength(one), one.frozen_rank))
    for one in ranked[:_SHOWN]:
        label = f"{one.status} -{one.penalty:.2f}" if one.penalty else one.status
        if one.lead is not None and one.status in ("mentions", "protected"):
            label = f"{one.status} {one.lead:+.1f} sd"
        if one.asked and one.status in ("kept", "mentions", "protected"):
            label = f"{one.status}, by title"
        title = Text(printable(one.title or one.id), style=STYLES[one.status])
        table.add_row(str(one.frozen_rank), title, _bar(one, why.cut), f"{_strength(one):.2f}", label, style="")
        if one.passage is not None:
            table.add_row("", Text(f"“{printable(one.passage)}”", style="dim", overflow="ellipsis"), "", "", "")
    parts: list[RenderableType] = [table]
    if len(ranked) > _SHOWN:
        parts.append(Text(f"  and {len(ranked) - _SHOWN} more with less evidence", style="dim"))
    parts.append(Text(f"{cut}floor {why.floor:.2f}: {BRANCHES[why.branch]}.", style="dim"))
    if why.cache is not None:
        entries, rate = why.cache["entries"], why.cache["hit_rate"]
        figures = f"re-embedded documents in the cache: {entries:.0f}, hit rate {rate:.2f}"
        parts.append(Text(figures, style="dim"))
    return Group(*parts, _budget(result))


def _budget(result: SearchResult) -> Text:
    """Where the milliseconds went."""
    spent = [f"{step} {result.timing_ms[step]:.1f}" for step in STEPS if step in result.timing_ms]
    return Text(f"milliseconds: {', '.join(spent)}." if spent else "", style="dim")


def _strength(one: Judged) -> float:
    return one.evidence if one.probability is None else one.probability


def _bar(one: Judged, cut: float | None) -> Text:
    filled = round(max(0.0, min(_strength(one), 1.0)) * _BAR)
    cells = ["█"] * filled + ["·"] * (_BAR - filled)
    if cut is not None and 0 <= cut < 1:
        cells[int(cut * _BAR)] = "│"
    return Text("".join(cells), style=STYLES[one.status] or "blue")


def side_by_side(frozen: SearchResult, excised: SearchResult) -> RenderableType:
    """The ranking as the frozen index gives it, and the same query with the topic excised."""
    judged = {one.id: one for one in excised.explanation.candidates} if excised.explanation else {}
    table = Table(box=None, expand=True)
    for title in ("frozen MaxSim", "excise"):
        table.add_column("#", justify="right", style="dim", width=2)
        table.add_column(title, no_wrap=True, ratio=1)
        table.add_column("evid.", justify="right", style="dim", width=5)
    for left, right in zip_longest(frozen.hits, excised.hits):
        table.add_row(*_side(left, judged), *_side(right, judged))
    legend = Text("red: removed   yellow: penalised   green: matches the topic, and stays", style="dim")
    return Group(_headline(excised), table, legend)


def _side(hit: Hit | None, judged: Mapping[str, Judged]) -> tuple[str, Text, str]:
    """One row of a ranking, coloured by what the rule said of it."""
    if hit is None:
        return "", Text(""), ""
    one = judged.get(hit.id)
    style = STYLES[one.status] if one else ""
    return str(hit.rank), Text(printable(hit.title or hit.id), style=style), f"{one.evidence:.2f}" if one else ""
