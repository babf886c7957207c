"""Nasty texts through every door, in Python and on the command line: nothing comes out but answers and our own errors.

The short form runs with the other tests. ``EXCISE_SOAK=1`` runs the long one, of twenty thousand texts.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from excise.cli.app import main
from excise.encoders.backbone import Backbone
from excise.errors import ExciseError
from excise.results import Detection, SearchResult
from excise.search.operator import Excise, load
from excise.text import checked_query, clean
from excise.topics.detector import load_detector
from nasty_texts import nasty_texts

Answer = TypeVar("Answer")
LONG = 20_000
TOGETHER = 64  # queries in one call of the command line
# What a terminal obeys instead of showing it, and what turns its lines around.
_COMMANDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

soak = pytest.mark.skipif(os.environ.get("EXCISE_SOAK") != "1", reason="twenty thousand texts: EXCISE_SOAK=1 runs it")


def attempt(call: Callable[[], Answer]) -> Answer | None:
    """What a call answers; None where it is refused with a sentence. Any other error fails the test."""
    try:
        return call()
    except ExciseError as error:
        sentence = str(error)
    assert sentence.endswith((".", ")"))
    return None


def accepted(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if attempt(lambda text=text: checked_query(text)) is not None]


def check_topics(found: Detection | SearchResult) -> None:
    for topic in found.topics:
        if topic.start is not None and topic.end is not None:
            assert 0 <= topic.start < topic.end <= len(found.query)
    assert json.loads(json.dumps(found.to_dict(), ensure_ascii=False, allow_nan=False).encode()) is not None


def check_result(found: SearchResult, held: set[str] | None = None) -> None:
    check_topics(found)
    ids = [hit.id for hit in found.hits]
    assert len(set(ids)) == len(ids)
    assert [hit.rank for hit in found.hits] == list(range(1, len(ids) + 1))
    assert held is None or held.issuperset(ids)


def detect_all(texts: Sequence[str]) -> None:
    detector = load_detector()
    for text in set(texts).difference(accepted(texts)):
        assert attempt(lambda text=text: detector.detect([text])) is None
    taken = accepted(texts)
    for text, found in zip(taken, detector.detect(taken), strict=True):
        assert found.query == clean(text)
        check_topics(found)
        assert all(topic.text == found.query[topic.start : topic.end] for topic in found.topics)


def search_all(demo: Excise, texts: Sequence[str], excluded: int) -> None:
    """All texts as queries, the first few also as topics that the user names."""
    for found in demo.search_many(accepted(texts), k=5):
        check_result(found)
        assert found.hits
    for text, other in zip(texts[:excluded], texts[-excluded:], strict=True):
        found = attempt(lambda text=text: demo.search("bread at home, not rye", exclude=[text], k=5))
        if found is not None:
            check_result(found)
            assert [topic.text for topic in found.topics] == [clean(text.strip())]
        found = attempt(lambda text=text, other=other: demo.search(text, exclude=[other, other[:9]], k=5))
        if found is not None:
            check_result(found)


def documents_of(texts: Sequence[str]) -> list[dict[str, str]]:
    """Documents whose ids, titles and texts are nasty."""
    return [
        {"id": f"{place} {text[:40]}", "title": other[:60], "text": text}
        for place, (text, other) in enumerate(zip(texts, reversed(texts), strict=True))
    ]


def rerank_all(demo: Excise, texts: Sequence[str]) -> None:
    for start in range(0, len(texts), 6):
        some = texts[start : start + 6]
        documents = [one for one in documents_of(some) if one["text"].strip()]
        held = {clean(one["id"]) for one in documents}
        for exclude in (None, [some[0]], ["rye"]):
            found = attempt(
                lambda some=some, exclude=exclude, documents=documents: demo.rerank(some[-1], documents, exclude)
            )
            if found is not None:
                check_result(found, held)
                assert len(found.hits) + len(found.removed) == len(documents)


def index_all(minilm: Backbone, texts: Sequence[str], folder: Path) -> None:
    """Through Python, then through a file; both times all of it is there afterwards, and found."""
    written = [json.dumps(one) for one in documents_of(texts) if one["text"].strip()]
    documents = [json.loads(line) for line in written]  # JSON makes one character of two halves that stand together
    operator = load(backbone=minilm)
    assert operator.index(documents, folder / "index").added == len(documents)
    corpus = folder / "corpus.jsonl"
    corpus.write_text("\n".join(written))
    again = load(folder / "index", backbone=minilm)
    assert again.index(corpus).unchanged == len(documents)
    held = {clean(one["id"]) for one in documents}
    for text in accepted(texts)[:20]:
        check_result(again.search(text), held)


class Outcome(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


def excise(arguments: Sequence[str], stdin: bytes = b"") -> Outcome:
    """The command line in this process, as ``main`` runs it."""
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr
    streams = [BytesIO(stdin), BytesIO(), BytesIO()]
    sys.argv = ["excise", *arguments]
    sys.stdin, sys.stdout, sys.stderr = (TextIOWrapper(stream, encoding="utf-8", newline="") for stream in streams)
    try:
        main()
        code: object = 0
    except SystemExit as end:
        code = end.code
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        out, err = (stream.getvalue() for stream in streams[1:])
        sys.argv, sys.stdin, sys.stdout, sys.stderr = kept
    return Outcome(int(str(code or 0)), out.decode(), err.decode())


def started(arguments: Sequence[bytes], encoding: str) -> Outcome:
    """The command line in a process of its own, on a terminal of some encoding."""
    command = [sys.executable.encode(), b"-m", b"excise", *arguments]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=environment, check=False)
    return Outcome(run.returncode, run.stdout.decode(encoding), run.stderr.decode(encoding))


def check_outcome(outcome: Outcome, lines: bool = True) -> None:
    assert outcome.code in (0, 2)
    assert "Traceback" not in outcome.err
    assert outcome.err if outcome.code == 2 else outcome.out or not outcome.err
    for line in outcome.out.split("\n")[:-1] if lines else ():
        json.loads(line)


def detect_commands(texts: Sequence[str]) -> None:
    """Every text in a call with others, then all of them as lines of stdin; each line that comes out is an object."""
    for start in range(0, len(texts), TOGETHER):
        taken = accepted(texts[start : start + TOGETHER])
        outcome = excise(["detect", "--json", "--", *taken])
        check_outcome(outcome)
        assert [json.loads(line)["query"] for line in outcome.out.split("\n")[:-1]] == [clean(text) for text in taken]
    lines = "\n".join(accepted(texts)).encode(errors="surrogatepass")
    check_outcome(excise(["detect"], lines))


def search_commands(texts: Sequence[str], index: Path) -> None:
    """A text as query, and as what is excluded; and as whatever the command line takes it for."""
    for text, other in zip(texts, reversed(texts), strict=True):
        for arguments in (["detect", "--json", text], ["search", f"--index={text}", "bread"], ["report", "--", text]):
            check_outcome(excise(arguments))
        check_outcome(excise(["index", f"--index={index}-of-nothing", "--", text]))
        check_outcome(excise(["search", "--index", str(index), "--json", "--explain", "--", text]))
        outcome = excise(["search", "--index", str(index), "--explain", f"--exclude={other}", "--", text])
        check_outcome(outcome, lines=False)
        assert not _COMMANDS.findall(outcome.out + outcome.err)


def index_commands(texts: Sequence[str], folder: Path) -> None:
    """A corpus of nasty documents in JSON lines and one in a table of raw bytes, indexed and searched."""
    documents = [one for one in documents_of(texts) if one["text"].strip()]
    (folder / "nasty.jsonl").write_text("".join(json.dumps(one) + "\n" for one in documents))
    with (folder / "nasty.csv").open("w", encoding="utf-8", errors="surrogatepass", newline="") as table:
        rows = csv.DictWriter(table, ["id", "title", "text"])
        rows.writeheader()
        rows.writerows({**one, "id": f"table {one['id']}"} for one in documents)
    corpora = [str(folder / "nasty.jsonl"), str(folder / "nasty.csv")]
    outcome = excise(["index", *corpora, "--index", str(folder / "index"), "--json"])
    check_outcome(outcome)
    assert json.loads(outcome.out)["added"] == 2 * len(documents)
    outcome = excise(["search", "--index", str(folder / "index"), "-k", "1000", "--explain", "bread, but not rye"])
    check_outcome(outcome, lines=False)
    assert not _COMMANDS.findall(outcome.out + outcome.err)


def processes(texts: Sequence[str], index: Path) -> None:
    """Each text as bytes of a command line, in a process of its own, on a terminal of any encoding."""
    for place, text in enumerate(texts):
        argument = text.replace("\0", "").encode(errors="surrogatepass")[:9_000]
        where = [b"--index", os.fsencode(index)]
        command = ([b"detect", b"--json"], [b"search", *where, b"--json"], [b"search", *where])[place % 3]
        outcome = started([*command, b"--", argument], encoding=("utf-8", "latin-1")[place % 2])
        check_outcome(outcome, lines=b"--json" in command)


def test_nasty_queries_are_read() -> None:
    detect_all(list(nasty_texts(200, seed=1)))


def test_nasty_queries_and_topics_are_searched(demo: Excise) -> None:
    search_all(demo, list(nasty_texts(64, seed=2)), excluded=12)


def test_nasty_candidates_are_reranked(demo: Excise) -> None:
    rerank_all(demo, list(nasty_texts(24, seed=3)))


def test_nasty_documents_are_indexed(minilm: Backbone, tmp_path: Path) -> None:
    index_all(minilm, list(nasty_texts(32, seed=4)), tmp_path)


def test_nasty_words_on_the_command_line(demo_index: Path, tmp_path: Path) -> None:
    detect_commands(list(nasty_texts(128, seed=5)))
    search_commands(list(nasty_texts(5, seed=6)), demo_index)
    index_commands(list(nasty_texts(16, seed=7)), tmp_path)


def test_bytes_that_are_no_text_reach_a_process(demo_index: Path) -> None:
    processes(
        ["caf\udce9, but not \udcff", "bread \ud83d, not rye \U0001f600", "bread without \x1b[2J\u202e"], demo_index
    )


@pytest.mark.soak
@soak
@pytest.mark.parametrize("portion", range(20))
def test_twenty_thousand(portion: int, demo: Excise, minilm: Backbone, demo_index: Path, tmp_path: Path) -> None:
    texts = list(nasty_texts(LONG // 20, seed=1_000 + portion))
    detect_all(texts)
    search_all(demo, texts, excluded=50)
    rerank_all(demo, texts[:90])
    index_all(minilm, texts[:200], tmp_path)
    detect_commands(texts)
    search_commands(texts[:10], demo_index)
    (tmp_path / "commands").mkdir()
    index_commands(texts[200:300], tmp_path / "commands")
    processes(texts[:3], demo_index)
