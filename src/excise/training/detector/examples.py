"""What the detector learns from and is measured on: queries with the characters that name what they exclude.

Everything that ships in the package was written for it. Public query sets (ExcluIR queries with silver topics, plain
search queries, the SciFact and NFCorpus training queries) are read from a data folder where one is given.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from excise.errors import BadCorpus, InvalidInput
from excise.suites.jsonlines import read_objects
from excise.topics.locate import occurrences
from excise.training.detector.generator import minimal_pairs

LONG_WORDS = 30  # from this many words on, a query counts as long
WRITTEN = (
    *("implicit_life", "implicit_work", "implicit_plain", "implicit_more", "attitude"),
    *("implicit_daily", "implicit_knowledge", "implicit_long", "mixed"),
    *("implicit_fifth", "implicit_sixth", "implicit_seventh", "compound_second"),
    *("explicit", "explicit_more", "explicit_fifth", "aspects", "described", "forms_more", "odd", "traps"),
)
LATER = "later"  # how the names of rows begin that a first training has not seen
WRITTEN_LATER = (
    *("domains_first", "domains_second", "domains_third", "domains_fourth"),
    *("domains_fifth", "domains_sixth", "domains_seventh"),
)
DECOYS_LATER = ("decoys_domains", "decoys_sixth")
REQUESTS, DECOYS_REQUESTS = "requests", "decoys_requests"  # written after what ships was trained
DECOYS = ("decoys", "decoys_more", "decoys_third", "decoys_fourth", "decoys_fifth")


@dataclass(frozen=True)
class Example:
    """A query, the character spans that name its excluded topics (none: it excludes nothing), and where it is from.

    An exclusion and the partner that was written for it, which excludes nothing, bear the same ``pair``.
    """

    text: str
    spans: tuple[tuple[int, int], ...]
    source: str
    form: str
    held_out: bool = False
    pair: str = ""

    @property
    def fires(self) -> bool:
        return bool(self.spans)

    @property
    def is_long(self) -> bool:
        return len(self.text.split()) >= LONG_WORDS


def located(text: str, topics: Iterable[str]) -> tuple[tuple[int, int], ...] | None:
    """Where topics stand in a text as whole words, every occurrence; None where one does not.

    Examples
    --------
    >>> located("tea, not Coffee, never coffee", ["coffee"])
    ((9, 15), (23, 29))
    """
    found = [occurrences(text, topic.strip(" \"'\u201c\u201d\u2018\u2019.,;")) for topic in topics]
    return tuple(sorted(span for spans in found for span in spans)) if all(found) else None


def own_examples() -> Iterator[Example]:
    """The bundled suite's queries and their no-exclusion partners; the dev families are held out."""
    for row in _rows(_data("own/queries.jsonl")):
        meta, held = row["metadata"], row["split"] != "train"
        source = f"own-{meta['tier'] if meta.get('excluded') else 'control'}"
        pair = f"own {row['_id']}" if meta.get("partner") else ""
        yield _example(row["text"], meta.get("excluded") or (), source, meta["form"], held, pair)
        if meta.get("partner"):
            yield Example(meta["partner"], (), "own-partner", "partner", held, pair)


def probe_examples(held_out: bool) -> Iterator[Example]:
    """The hand-written probe files: hard fires, decoys and trap pairs."""
    for row in _rows(_data("own/hard_fire.jsonl")):
        yield _example(row["text"], row["excluded"], f"hard_fire-{row['tier']}", row["form"], held_out)
    for name in ("decoys_short", "decoys_long"):
        for row in _rows(_data(f"own/{name}.jsonl")):
            yield Example(row["text"], (), name, "decoy", held_out)
    for number, row in enumerate(_rows(_data("own/pairs_trap.jsonl"))):
        pair = f"trap {number}"
        yield _example(row["fire"]["text"], row["fire"]["excluded"], "trap-fire", "trap", held_out, pair)
        yield Example(row["nofire"]["text"], (), "trap-nofire", "trap", held_out, pair)


def field_examples() -> Iterator[Example]:
    """Pairs from eight fields, for measuring alone: exclusions, and near-twins written to be mistaken for them.

    Examples
    --------
    >>> rows = list(field_examples())
    >>> len(rows), sum(row.fires for row in rows), all(row.held_out for row in rows)
    (4800, 2400, True)
    """
    yield from _measuring_pairs("field")


def short_examples() -> Iterator[Example]:
    """Pairs of two to nine words from all fields, for measuring alone: "dogs not labradors", and near-twins.

    Examples
    --------
    >>> rows = list(short_examples())
    >>> len(rows), max(len(row.text.split()) for row in rows if row.fires)
    (554, 9)
    """
    yield from _measuring_pairs("short")


def _measuring_pairs(kind: str) -> Iterator[Example]:
    file = {"field": "pairs_fields", "short": "pairs_short"}[kind]
    for number, row in enumerate(_rows(_data(f"own/{file}.jsonl"))):
        fire, pair = row["fire"], f"{kind} {number}"
        yield _example(fire["text"], fire["excluded"], f"{kind}-fire", fire["form"], True, pair)
        yield Example(row["nofire"]["text"], (), f"{kind}-nofire", "partner", True, pair)


def written_examples(later: bool = True, left_out: Collection[str] = (), requests: bool = False) -> Iterator[Example]:
    """Minimal pairs and decoys that were written for training.

    Parameters
    ----------
    later
        those that were written later, too.
    left_out
        the names of files to leave out.
    requests
        the professional requests, too, which nothing that ships has learned from.

    Examples
    --------
    >>> sources = {example.source for example in written_examples(left_out=["domains_fourth"])}
    >>> "later-domains_third" in sources, "later-domains_fourth" in sources
    (True, False)
    """
    unknown = set(left_out) - {*WRITTEN, *WRITTEN_LATER, *DECOYS, *DECOYS_LATER, REQUESTS, DECOYS_REQUESTS}
    if unknown:
        raise InvalidInput(f"there are no rows called {', '.join(sorted(unknown))} to leave out.")
    pairs, decoys = (WRITTEN + WRITTEN_LATER, DECOYS + DECOYS_LATER) if later else (WRITTEN, DECOYS)
    if requests:
        pairs, decoys = (*pairs, REQUESTS), (*decoys, DECOYS_REQUESTS)
    for name in (name for name in pairs if name not in left_out):
        source = f"{LATER if name in (*WRITTEN_LATER, REQUESTS) else 'written'}-{name}"
        for number, row in enumerate(_rows(_data(f"detector/{name}.jsonl"))):
            fire, pair = row["fire"], f"{name} {number}"
            yield _example(fire["text"], fire["excluded"], source, fire["form"], pair=pair)
            yield Example(row["nofire"]["text"], (), source, "partner", pair=pair)
    for name in (name for name in decoys if name not in left_out):
        source = f"{LATER if name in (*DECOYS_LATER, DECOYS_REQUESTS) else 'written'}-decoys"
        for row in _rows(_data(f"detector/{name}.jsonl")):
            yield Example(row["text"], (), source, "decoy")


def written_names() -> list[str]:
    """Names of things in many fields, which may stand in the places of topics.

    Examples
    --------
    >>> len(written_names()) > 3000, all(name == name.strip() for name in written_names())
    (True, True)
    """
    return _data("detector/names.txt").read_text(encoding="utf-8").splitlines()


def generated_examples(pairs: int, seed: int) -> Iterator[Example]:
    """Contrastive minimal pairs from frames and subjects."""
    for number, made in enumerate(minimal_pairs(pairs, seed)):
        pair = f"generated {number}"
        yield _example(made.fire, made.topics, "generated", made.form, pair=pair)
        yield Example(made.nofire, (), "generated", "partner", pair=pair)


def public_examples(folder: Path, seed: int) -> Iterator[Example]:
    """Public query sets: ExcluIR with silver topics, and ordinary queries that exclude nothing. A fifth is held out."""
    chooser = random.Random(seed)
    for row in _rows(folder / "excluir_queries_only" / "train.jsonl"):
        topics = row["excluded_silver"]
        spans = located(row["text"], topics) if topics else None
        if spans and not _only_wanted(topics, row["wanted_silver"]):
            yield Example(row["text"], spans, "excluir", "explicit", chooser.random() < 0.2)
    for source, path in (
        ("plain", folder / "plain_queries" / "train.jsonl"),
        ("scifact", folder / "scifact" / "queries.jsonl"),
        ("nfcorpus", folder / "nfcorpus" / "queries.jsonl"),
    ):
        for row in _rows(path):
            yield Example(row["text"], (), source, "plain", chooser.random() < 0.2)


def _only_wanted(topics: list[str], wanted: str) -> bool:
    """Silver topics that the wanted part repeats word for word are a labelling slip."""
    return all(topic.casefold() in wanted.casefold() for topic in topics)


def balanced(examples: Iterable[Example], seed: int, most_plain: int = 6_000) -> list[Example]:
    """The training mix: shuffled, ordinary short queries thinned out so that they do not drown the rest."""
    chooser = random.Random(seed)
    rows = [example for example in examples if not example.held_out]
    chooser.shuffle(rows)
    plain = [example for example in rows if example.form == "plain"]
    mixed = [example for example in rows if example.form != "plain"] + plain[:most_plain]
    chooser.shuffle(mixed)
    return mixed


def _example(
    text: str, topics: Iterable[str], source: str, form: str, held_out: bool = False, pair: str = ""
) -> Example:
    spans = located(text, topics)
    if spans is None:
        raise BadCorpus(f"{source}: a topic of {text!r} does not stand in it: {list(topics)}.")
    return Example(text, spans, source, form, held_out, pair)


def _data(name: str) -> Path:
    return Path(str(files("excise") / "data" / name))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    return (row for _, row in read_objects(path, BadCorpus))
