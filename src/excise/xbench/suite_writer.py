"""The finished suite on disk: BEIR's layout with what each query rules out, as ``excise eval`` reads it.

corpus.jsonl           {"_id", "title", "text"}
queries.jsonl          {"_id", "text", "metadata"}: tier, length, form, wanted (X), excluded (Z as the query words
                       it), topics (Z as the documents word it), negatives (one a topic), gold
qrels/<split>.tsv      query-id  corpus-id  score
negatives/<split>.tsv  query-id  corpus-id
graded/<split>.tsv     query-id  corpus-id  grade: how far each document of a shortlist covers what the query rules
                       out (2 covers, 1 mentions, 0 neither); after ``excise xbench grade``
coverage/<split>.jsonl the same as labels for ``excise eval-coverage``
boolean.jsonl          joined Boolean pairs, for ``excise eval-pairs``
controls/<name>/       joined suites whose documents are not in the corpus
README.md              the data card
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from excise.documents import Document
from excise.suites.jsonlines import read_objects
from excise.suites.pairs import load_pairs
from excise.suites.suites import Suite, load_suite
from excise.xbench.records import Record
from excise.xbench.storage import XBenchError, json_line, write_lines, write_text


@dataclass
class SuiteContent:
    """What goes into a suite: documents, and per query its line, its wanted documents and those it rules out."""

    documents: dict[str, Document]
    queries: list[dict[str, Any]] = field(default_factory=list)
    qrels: list[tuple[str, str, int]] = field(default_factory=list)
    negatives: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Controls:
    """What is joined to a suite.

    Parameters
    ----------
    boolean
        files of pairs (``text``, ``positive``, ``negative``) as ``excise eval-pairs`` reads them.
    no_harm
        suites of ordinary queries, each a folder and a split.
    """

    boolean: tuple[Path, ...] = ()
    no_harm: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True)
class SuiteCounts:
    """Queries that rule something out, ordinary queries that were joined, Boolean pairs; None where none were asked."""

    exclusion: int
    no_harm: int | None = None
    boolean: int | None = None

    def to_dict(self) -> dict[str, int]:
        """Plain types for JSON; what was not asked for is left out."""
        return {name: number for name, number in asdict(self).items() if number is not None}


def exclusion_content(records: Iterable[Record], documents: dict[str, Document]) -> SuiteContent:
    """The admitted records as a suite."""
    content = SuiteContent(documents)
    for record in records:
        metadata = {
            "tier": record.tier,
            "length": record.length,
            "form": record.form,
            "wanted": record.wanted,
            "excluded": list(record.wordings),
            "topics": list(record.topics),
            "gold": record.gold,
            "negatives": list(record.negatives),
            "pair": record.pair,
            "repaired": record.repaired,
        }
        content.queries.append({"_id": record.id, "text": record.query, "metadata": metadata})
        content.qrels.append((record.id, record.gold, 1))
        content.negatives += [(record.id, id) for id in record.negatives]
    return content


def write_suite(folder: Path, content: SuiteContent, split: str, controls: Controls, card: str) -> SuiteCounts:
    """Write a suite, with its controls; returns how many queries and pairs of each kind it has."""
    _check_folder(folder)
    if not content.queries:
        raise XBenchError("no record passed all nine gates, so there is no suite to write: see the funnel.")
    exclusion = len(content.queries)
    joined = [_join(content, load_suite(place, name), folder) for place, name in controls.no_harm]
    boolean = _join_boolean(folder, controls.boolean) if controls.boolean else None
    for path in (graded_file(folder, split), labels_file(folder, split)):
        path.unlink(missing_ok=True)  # grades of what was there before
    _write_layout(folder, content, split)
    write_text(folder / "README.md", card)
    load_suite(folder, split)  # what was written is what the harness reads, or the run stops here
    return SuiteCounts(exclusion, sum(joined) if joined else None, boolean)


def write_grades(
    folder: Path, split: str, grades: Mapping[str, Mapping[str, int]], labels: Iterable[Mapping[str, Any]]
) -> None:
    """Add grades to a suite, by query and document, and the labels that they are."""
    rows = (f"{query}\t{document}\t{grade}\n" for query, own in grades.items() for document, grade in own.items())
    write_text(graded_file(folder, split), ["query-id\tcorpus-id\tgrade\n", *rows])
    write_lines(labels_file(folder, split), labels)
    load_suite(folder, split)


def graded_file(folder: Path, split: str) -> Path:
    """The grades of a suite."""
    return folder / "graded" / f"{split}.tsv"


def labels_file(folder: Path, split: str) -> Path:
    """The coverage labels of a suite."""
    return folder / "coverage" / f"{split}.jsonl"


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise XBenchError(f"{folder} is a file; name a folder for the suite.")
    ours = not folder.exists() or not any(folder.iterdir()) or (folder / "queries.jsonl").is_file()
    if not ours:
        raise XBenchError(f"{folder} is not empty and is not a suite; name a new folder.")


def _write_layout(folder: Path, content: SuiteContent, split: str) -> None:
    if not split or Path(split).name != split:
        raise XBenchError(f"{split!r} cannot be the name of a split.")
    documents = content.documents.values()
    write_lines(folder / "corpus.jsonl", ({"_id": d.id, "title": d.title, "text": d.text} for d in documents))
    write_lines(folder / "queries.jsonl", content.queries)
    rows = (f"{query}\t{document}\t{score}\n" for query, document, score in content.qrels)
    write_text(folder / "qrels" / f"{split}.tsv", ["query-id\tcorpus-id\tscore\n", *rows])
    if content.negatives:
        pairs = (f"{query}\t{document}\n" for query, document in content.negatives)
        write_text(folder / "negatives" / f"{split}.tsv", ["query-id\tcorpus-id\n", *pairs])


def _join(content: SuiteContent, suite: Suite, folder: Path) -> int:
    """Put ordinary queries into the suite where it holds their documents, and into a suite beside it where not."""
    plain = [query for query in suite.queries if query.id not in suite.negatives]
    ids = {f"plain-{suite.name}-{query.id}": query for query in plain}
    wanted = {id for query in plain for id in suite.qrels.get(query.id, {})}
    judged = {document.id: document.text for document in suite.documents() if document.id in wanted}
    here = all(id in content.documents and content.documents[id].text == text for id, text in judged.items())
    target = content if here else SuiteContent({document.id: document for document in suite.documents()})
    for id, query in ids.items():
        metadata = {"tier": "plain", "form": "control", "wanted": query.text, "excluded": [], "source": suite.name}
        target.queries.append({"_id": id, "text": query.text, "metadata": metadata})
        target.qrels += [(id, document, score) for document, score in suite.qrels.get(query.id, {}).items()]
    if not here:
        _write_layout(folder / "controls" / suite.name, target, suite.split)
    return len(ids)


def _join_boolean(folder: Path, files: Sequence[Path]) -> int:
    lines: list[Mapping[str, Any]] = []
    for path in files:
        pairs = load_pairs(path)
        if pairs.kind != "boolean":
            raise XBenchError(f"{path}: Boolean controls need 'text', 'positive' and 'negative' on every line.")
        lines += [content for _, content in read_objects(path, XBenchError)]
    write_text(folder / "boolean.jsonl", (json_line(line) for line in lines))
    load_pairs(folder / "boolean.jsonl")
    return len(lines)
