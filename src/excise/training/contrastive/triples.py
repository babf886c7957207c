"""What the adapter and the fine-tuned controls learn from: a query, a wanted document, and a confusable one.

Triples come from the train split of suites (the bundled one always), or from a file of texts. A triple without a
negative is an ordinary retrieval pair; the controls can mix such pairs in.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from excise.documents import Corpus, Document
from excise.errors import BadCorpus, InvalidInput
from excise.suites.jsonlines import read_objects
from excise.suites.suites import BUILT_IN, Query, Suite, load_suite

SPLIT = "train"
MENTIONS = "mentions"  # bundled triples whose golds name the topic, as the bundled suite's golds never do
_TOGETHER = 4  # triples of one group that stand together in a batch


@dataclass(frozen=True)
class Triple:
    """A query, what it excludes, a document that it wants, and one that it rules out although it looks alike.

    Attributes
    ----------
    query, topics
        the query as typed, and the topics that it excludes; none in an ordinary pair.
    gold, negative
        the two documents. Their ids start with the name of the suite.
    plain
        the query without its exclusion, where there is one: it wants the gold and the negative alike.
    judged
        every document that is known to be wanted or ruled out: never an example of an unwanted one.
    """

    query: str
    topics: tuple[str, ...]
    gold: Document
    negative: Document | None
    plain: str | None = None
    judged: frozenset[str] = frozenset()

    @property
    def documents(self) -> tuple[Document, ...]:
        return (self.gold,) if self.negative is None else (self.gold, self.negative)


def read_triples(sources: Sequence[str | Path], per_query: int, seed: int = 0) -> list[Triple]:
    """The triples of suites (their train split) and of files, in an order of the seed's own.

    Parameters
    ----------
    sources
        "own" for the bundled suite, "mentions" for the bundled triples, folders of suites, or files whose lines have
        ``query``, ``topics``, ``positive`` and ``negative`` (the texts of two documents), and perhaps ``plain``.
    per_query
        the most triples that one query gives.

    Examples
    --------
    >>> triples = read_triples(["own"], per_query=1)
    >>> len(triples), len({triple.query for triple in triples})
    (420, 420)
    """
    if per_query < 1:
        raise InvalidInput(f"per_query must be at least 1, got {per_query}.")
    triples: list[Triple] = []
    for source in sources:
        if source == MENTIONS:
            triples += _file_triples(Path(str(files("excise") / "data" / "adapter" / "mentions.jsonl")))
        elif source != BUILT_IN and Path(source).is_file():
            triples += _file_triples(Path(source))
        else:
            triples += suite_triples(load_suite(source, SPLIT), per_query, seed)
    if not triples:
        raise InvalidInput("there is no query with a wanted and a ruled-out document to learn from.")
    random.Random(seed).shuffle(triples)
    return triples


def suite_triples(suite: Suite, per_query: int, seed: int = 0) -> list[Triple]:
    """Up to ``per_query`` triples of every query of a split that excludes something."""
    documents = documents_of(suite)
    triples = []
    for query in suite.queries:
        golds, negatives, judged = _judged(suite, query)
        if not (golds and negatives and query.excluded):
            continue
        chooser = random.Random(f"{seed} {query.id}")
        pairs = zip(*(_endless(chooser, ids) for ids in (golds, negatives)), strict=False)
        for gold, negative in islice(pairs, min(per_query, max(len(golds), len(negatives)))):
            pair = documents[gold], documents[negative]
            triples.append(Triple(query.text, query.excluded, *pair, _plain(query), judged))
    return triples


def ordinary_pairs(data: Path | None, titles: int, seed: int = 0) -> list[Triple]:
    """Pairs of ordinary retrieval, for rehearsal: nothing is excluded.

    The bundled suite's plain queries and no-exclusion partners with what they want, and the texts of corpora in a data
    folder that belong to no suite, each with its title for a query where no other has that title: ``titles`` from each.
    """
    suite = load_suite(BUILT_IN, SPLIT)
    documents = documents_of(suite)
    pairs = []
    for query in suite.queries:
        golds, negatives, judged = _judged(suite, query)
        chooser = random.Random(f"{seed} {query.id}")
        text, wanted = (_plain(query), golds + negatives) if query.excluded else (query.text, golds)
        if text and wanted:
            pairs.append(Triple(text, (), documents[chooser.choice(wanted)], None, judged=judged))
    for folder in sorted(data.iterdir()) if data else ():
        if (folder / "corpus.jsonl").is_file() and not (folder / "qrels").exists():
            pairs += _titled(folder, titles, seed)
    random.Random(seed).shuffle(pairs)
    return pairs


def triple_batches(triples: Sequence[Triple], size: int, seed: int) -> list[list[Triple]]:
    """Triples in an order of the seed's own, about ``size`` at a time; the last batch may be smaller.

    A batch takes a few triples of one group after another: they share documents, which are then encoded once, and the
    other groups' documents are examples of unwanted ones.
    """
    chooser = random.Random(seed)
    members: dict[int, list[Triple]] = {}
    for triple, group in zip(triples, _groups(triples), strict=True):
        members.setdefault(group, []).append(triple)
    chunks: list[list[Triple]] = []
    for together in members.values():
        chooser.shuffle(together)
        chunks += [together[start : start + _TOGETHER] for start in range(0, len(together), _TOGETHER)]
    chooser.shuffle(chunks)
    rows = [triple for chunk in chunks for triple in chunk]
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def split_by_group(triples: Sequence[Triple], share: float = 0.2, seed: int = 0) -> tuple[list[Triple], list[Triple]]:
    """Training and held-out triples that have no query and no document in common.

    Triples are grouped by positive document, and groups that share a query or a negative are one group; whole groups
    are held out until they make up the share.
    """
    groups = _groups(triples)
    if len(set(groups)) < 2:
        raise InvalidInput(
            "every triple shares a query or a document with the others, so none can be held out: give a learning rate."
        )
    order = sorted(set(groups))
    random.Random(seed).shuffle(order)
    held: set[int] = set()
    for group in order[:-1]:
        if sum(g in held for g in groups) >= share * len(triples):
            break
        held.add(group)
    rows = list(zip(triples, groups, strict=True))
    return [t for t, g in rows if g not in held], [t for t, g in rows if g in held]


def documents_of(suite: Suite) -> dict[str, Document]:
    """A suite's judged documents by their own id; the documents' ids get the suite's name in front."""
    judged = {id for rows in suite.qrels.values() for id in rows} | {i for ids in suite.negatives.values() for i in ids}
    return {d.id: replace(d, id=f"{suite.name}/{d.id}") for d in suite.documents() if d.id in judged}


def _judged(suite: Suite, query: Query) -> tuple[list[str], list[str], frozenset[str]]:
    golds = sorted(id for id, score in suite.qrels.get(query.id, {}).items() if score > 0)
    negatives = sorted(suite.negatives.get(query.id, ()))
    return golds, negatives, frozenset(f"{suite.name}/{id}" for id in (*golds, *negatives))


def _plain(query: Query) -> str | None:
    return query.metadata.get("partner") or query.metadata.get("wanted") or query.metadata.get("wanted_silver")


def _endless(chooser: random.Random, ids: Sequence[str]) -> Iterator[str]:
    return cycle(chooser.sample(ids, len(ids)))


def _titled(folder: Path, titles: int, seed: int) -> list[Triple]:
    documents = list(Corpus([folder], skip_bad=True))
    named = Counter(document.title for document in documents)
    unique = {d.title: d for d in documents if named[d.title] == 1 and len(d.title.split()) > 2}
    chosen = random.Random(seed).sample(sorted(unique), min(titles, len(unique)))
    texts = [Document(f"{folder.name}/{unique[title].id}", unique[title].text) for title in chosen]
    return [
        Triple(title, (), text, None, judged=frozenset([text.id])) for title, text in zip(chosen, texts, strict=True)
    ]


def _file_triples(path: Path) -> Iterator[Triple]:
    for line, row in read_objects(path, BadCorpus):
        try:
            yield _file_triple(path, row)
        except (ValueError, KeyError, TypeError) as error:
            raise BadCorpus(f"{line.where}: not a triple ({error}).") from None


def _file_triple(path: Path, row: Mapping[str, Any]) -> Triple:
    query, topics = row["query"], tuple(row["topics"])
    if not isinstance(query, str) or not query.strip() or not all(isinstance(topic, str) for topic in topics):
        raise InvalidInput("'query' must be a text, and 'topics' a list of texts")
    gold, negative = (_text_document(path, row[name]) for name in ("positive", "negative"))
    return Triple(query, topics, gold, negative, row.get("plain"), frozenset((gold.id, negative.id)))


def _text_document(path: Path, text: Any) -> Document:
    if not isinstance(text, str):
        raise InvalidInput(f"a document must be a text, got {text!r}.")
    return Document(f"{path.stem}/{blake2b(text.encode(), digest_size=8).hexdigest()}", text)


def _groups(triples: Sequence[Triple]) -> list[int]:
    """The number of each triple's group: the first triple that it hangs together with."""
    parent = list(range(len(triples)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    seen: dict[str, int] = {}
    for i, triple in enumerate(triples):
        for name in (f"query {triple.query}", *(f"document {document.id}" for document in triple.documents)):
            first, second = sorted((root(seen.setdefault(name, i)), root(i)))
            parent[second] = first
    return [root(i) for i in range(len(triples))]
