# ruff: noqa: E501
"""docs/performance.md and its pictures, from what was measured (benchmarks/bench.py)."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

Row = dict[str, Any]

_HEAD = """\
# What a search costs

Written by `{command}`, part after part on one machine; compare figures of one table with each other only.
Machine: {machine}, {threads} threads. {versions}.

## How a large index is searched

An index of fewer than 4,096 documents is compared with a query document by document. A larger one has inverted lists: the token vectors of each segment are clustered (up to
16,384 centroids, in 128 cells, by scikit-learn), and each centroid has a list of the documents with a token near it. A query's tokens are compared with the centroids, the lists of the
nearest ones (as many as the root of their number) give each document a rough score, and the roughly best are scored exactly, 256 at a time (up to 1,024 where documents are short), until a block brings nothing into the k best, after three blocks at
least. So scores are always exact MaxSim, and what may be missing is a document that the lists rank far too low. Filters that leave few documents are answered exactly.

Lists are made where segments are merged (`excise index` does that at its end, `excise compact` by itself) and cost about 7 microseconds a token once; documents that are added later
are placed among the centroids that there are. An index of an older version has none and is searched whole until then. `excise search --exact`, or `excise.load(folder, exact=True)`,
compares with everything.

"""

_BILLION = """\
## On paper: a billion documents

Nothing of this was run. Assumptions: documents of 105 tokens, 250 bytes each; a segment of 65,536 documents is searched as measured above, and segments add up; a machine of the distributed engine
has 32 cores that search segments side by side; token vectors are read from local disks, which takes 30 MB a query and machine.

| documents | token vectors | lists | machines of 64 GB and 32 cores | a search |
| --- | --- | --- | --- | --- |
| 1 million | 26 GB | 0.25 GB | 1 | as above |
| 100 million | 2.6 TB | 25 GB | 1 to 2 | {hundred:.1f} s on one, half on two |
| 1 billion | 26 TB | 250 GB | 8 to 16 | {billion:.1f} s on sixteen: the rough scores of {each:.0f} million documents each, and the exact ones of a few thousand |

Lists are searched in memory; vectors of the few thousand that are scored exactly come from disk. On the engines in databases see [engines.md](engines.md).
"""


def _cells(row: Row) -> list[str]:
    ratio = row["exact_100_ms"] / row["search_100_ms"]
    build = f"{row['build_seconds']:,.0f} s" if row.get("build_seconds") else ""
    return [
        row["name"],
        f"{row['tokens']:,}",
        f"{row['search_10_ms']:,.0f} ms",
        f"{row['search_100_ms']:,.0f} ms",
        f"{row['exact_100_ms']:,.0f} ms",
        f"{ratio:.1f}",
        f"{row['recall_10']:.3f} / {row['recall_100']:.3f}",
        f"{row['memory_mb']:,.0f} MB",
        f"{row['disk_mb']:,.0f} + {row['lists_mb']:,.0f} MB",
        f"{row['open_ms']:,.0f} ms",
        build,
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _costs(real: Sequence[Row], grown: Sequence[Row], tokens: int) -> str:
    head = ["index", "tokens", "10 best", "100 best, with vectors", "100 best, exactly", "times faster"]
    head += ["recall of 10 / of 100", "memory", "disk + lists", "opening", "adding and lists"]
    rows = [_cells({**row, "disk_mb": row["disk_mb"] - row["lists_mb"]}) for row in [*real, *grown]]
    one = (real or grown)[0]
    return (
        "## Measured\n\n"
        f"Medians over {one['queries']} queries of {one['query_tokens']:.0f} tokens on average; {one['exact_queries']} of them were asked "
        "exactly too, for the recall. Grown documents are made of the token vectors of a real index: two runs of neighbouring\n"
        f"tokens from two of its documents, {tokens} in all, each vector moved to a cosine of about 0.95 (benchmarks/grown_corpus.py). "
        "Memory is the peak of a process that opens the index and searches, mapped pages included.\n\n"
        + _table(head, rows)
        + "\n"
    )


def _firing(found: Row) -> str:
    frozen, firing = (found["budgets"][name] for name in ("frozen search", "default, topic detected"))
    rows = [[name, f"{way['ms']:,.0f} ms", f"{way['of_frozen']:.2f}"] for name, way in found["ways"].items()]
    steps = [[step, f"{frozen[step]:.1f} ms", f"{ms:.1f} ms"] for step, ms in firing.items()]
    return (
        "## What an exclusion adds\n\n"
        f"`python benchmarks/firing_latency.py --first 25`: {found['documents']:,} documents, {found['threads']} threads, medians over {found['queries']} queries and {found['rounds']} rounds; "
        "ratios are medians of the ratio to the frozen search of the same query\nin the same round. A cold query is new to the cache, and run once. A query that excludes nothing costs a frozen search and its detection.\n\n"
        + _table(["a search", "time", "of frozen"], rows)
        + "\n"
        + _table(["step", "frozen", "default, topic detected"], steps)
        + "\n"
    )


def _detector(found: Row) -> str:
    rows = [
        [name, f"{own['encode']:.1f} ms", f"{own['detect']:.1f} ms", f"{own['detect'] / own['encode']:.2f}"]
        for name, own in found.items()
        if name != "threads"
    ]
    return (
        "## Detection\n\n"
        f"`python benchmarks/detector_latency.py`, {found['threads']} threads:\n\n"
        + _table(["queries", "encoding one", "detecting", "of encoding"], rows)
        + "\n"
    )


def _reader(found: Row) -> str:
    ratio = found["cross-encoder"] / found["excise"]
    return (
        "## Beside a cross-encoder\n\n"
        f"`python benchmarks/beside_cross_encoder.py`: the same {found['candidates']} candidates of {found['queries']} queries, in turn, {found['threads']} threads. Detecting, encoding the query and its topics and judging the\n"
        f"candidates takes {found['excise']:,.0f} ms; a cross-encoder that reads each candidate's first window {found['cross-encoder']:,.0f} ms: **{ratio:,.0f} times as much**.\n\n"
    )


def _engines(found: Row) -> str:
    rows = [
        [
            f"`{one['engine']}`",
            one["mode"],
            f"{one['mb']:,.0f} MB",
            f"{one['copy_seconds']:,.0f} s",
            f"{one['ms']:,.0f} ms",
            f"{one['same_ten']:.3f}",
        ]
        for one in found["rows"]
    ]
    return (
        "## Beside databases\n\n"
        f"`python benchmarks/engines.py`: {found['documents']:,} documents, a shortlist of 100 with its vectors, queries of 32 tokens that are openings of documents. Qdrant is its library inside the process,\n"
        "which compares everything in any mode: its row says nothing about a server. Databases keep half precision, the local engine eight bits.\n\n"
        + _table(
            ["engine", "mode", "on disk", "copied in", "a search", "of its ten best, those of `local`, exact"], rows
        )
        + "\n"
    )


def _indexing(loops: Row, sizes: Row) -> str:
    rows = [
        [row["loop"], f"{row['documents_per_second']:,}", f"{row['cores_busy']:.2f}", f"{row['times_as_fast']:.2f}"]
        for row in loops["loops"]
    ]
    whole = [
        [
            f"{row['documents']:,}",
            f"{row['documents_per_second']:,.0f}",
            f"{row['loaded_mb']:,} MB",
            f"{row['peak_mb']:,} MB",
        ]
        for row in sizes["documents"]
    ]
    return (
        "## Indexing\n\n"
        "`python benchmarks/indexing.py --only loops`: documents a second of the bundled corpus, loops in turn. The loop before is that of version 0.1: padded batches, products spread over the threads.\n\n"
        + _table(["loop", "documents a second", "cores busy", "times the loop before"], rows)
        + "\n`python benchmarks/indexing.py --only documents`, each size in a process of its own, lists and all:\n\n"
        + _table(["documents", "a second", "memory before", "most memory"], whole)
        + "\n"
    )


def _startup(found: Row) -> str:
    rows = [[name, f"{seconds:.2f} s"] for name, seconds in found.items()]
    return "## Start-up\n\n`python benchmarks/startup.py`, fresh processes:\n\n" + _table(["", "seconds"], rows) + "\n"


def _kernels(kernels: dict[str, float]) -> str:
    ours = kernels["excise"]
    rows = [[name, f"{ms:.1f} ms", f"{ms / ours:.2f}"] for name, ms in sorted(kernels.items(), key=lambda one: one[1])]
    return (
        "## MaxSim over a block of candidates\n\n"
        "`python benchmarks/maxsim_kernels.py`: 256 documents of 108 tokens on average, 29 query tokens, 248 dimensions, stored in eight bits; what a kernel needs widened is part of its time,\n"
        "and all get the same threads. maxsim-cpu 0.1 crashes beyond 128 dimensions.\n\n"
        + _table(["kernel", "time", "against ours"], rows)
        + "\n"
    )


def _versions() -> str:
    names = ("excise", "numpy", "torch", "scikit-learn")
    return f"Python {platform.python_version()}, " + ", ".join(f"{name} {_version(name)}" for name in names)


def _version(name: str) -> str:
    if name == "excise":
        import excise

        return excise.__version__
    return version(name)


def _machine() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return f"{', '.join(sorted(names)) or platform.processor()}, {platform.system()}"


def _plots(folder: Path, rows: Sequence[Row]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (time, space) = plt.subplots(1, 2, figsize=(10, 3.8))
    sizes = [row["documents"] for row in rows]
    for key, label in (
        ("exact_100_ms", "every document compared"),
        ("search_100_ms", "100 best"),
        ("search_10_ms", "10 best"),
    ):
        time.plot(sizes, [row[key] for row in rows], marker="o", label=label)
    time.set(xscale="log", yscale="log", xlabel="documents", ylabel="milliseconds a search")
    for key, label in (("disk_mb", "disk"), ("memory_mb", "memory, peak"), ("lists_mb", "lists, part of disk")):
        space.plot(sizes, [max(row[key], 0.1) for row in rows], marker="o", label=label)
    space.set(xscale="log", yscale="log", xlabel="documents", ylabel="MB")
    for axes in (time, space):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "search-cost.svg", metadata={"Date": None})
    plt.close(figure)


class Measured(NamedTuple):
    """All that the page tells of: costs of real and of grown indexes, the other parts by name, and how it was run."""

    real: Sequence[Row]
    grown: Sequence[Row]
    parts: dict[str, Row]
    threads: int
    tokens: int
    command: str


def write_page(path: Path, measured: Measured) -> None:
    """Write the page, and its picture into ``images`` beside it."""
    real, grown, parts, threads, tokens, command = measured
    page = _HEAD.format(command=command, machine=_machine(), threads=threads, versions=_versions())
    page += _costs(real, grown, tokens)
    if len(grown) > 1:
        _plots(path.parent / "images", grown)
        page += "![Cost against the number of documents](images/search-cost.svg)\n\n"
    page += _firing(parts["firing"]) + _detector(parts["detector"])
    page += _reader(parts["reader"]) if "reader" in parts else ""
    page += _engines(parts["engines"]) if "engines" in parts else ""
    page += _indexing(parts["loops"], parts["indexing"]) + _kernels(parts["kernels"]) + _startup(parts["startup"])
    largest = max([*real, *grown], key=lambda row: row["documents"])
    seconds = largest["search_100_ms"] / 1000 * threads / largest["documents"]  # a core's, for each document
    page += _BILLION.format(hundred=seconds * 1e8 / 32, billion=seconds * 1e9 / 32 / 16, each=1000 / 16)
    path.write_text(page, encoding="utf-8")
