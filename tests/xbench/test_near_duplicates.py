"""MinHash against reference files of any shape."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from excise.documents import Document
from excise.xbench.near_duplicates import find_leaks
from excise.xbench.storage import XBenchError
from excise.xbench.texts import jaccard, shingles


def test_copies_are_found_and_neighbours_are_not(own_documents: list[Document], tmp_path: Path) -> None:
    texts = {document.id: document.text for document in own_documents[:60]}
    copied = own_documents[17]
    changed = copied.text.replace(".", " !", 1).upper()  # the same words
    lines = [{"text": document.text} for document in own_documents[60:200]] + [{"text": changed}]
    file = tmp_path / "reference.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert find_leaks(texts, [file]) == {copied.id: f"{file}, line 141"}


def test_the_threshold_is_exact(own_documents: list[Document], tmp_path: Path) -> None:
    """MinHash only proposes: every text at or above the threshold is found, and none below."""
    chance = random.Random(0)
    texts, lines = {}, []
    for document in own_documents[:80]:
        words = document.text.split()
        texts[document.id] = document.text
        for _ in range(chance.randrange(0, 4)):
            words[chance.randrange(len(words))] = "changed"
        lines.append(" ".join(words))
    file = tmp_path / "reference.txt"
    file.write_text("\n".join(lines))
    found = find_leaks(texts, [file], threshold=0.9)
    expected = {
        id
        for (id, text), line in zip(texts.items(), lines, strict=True)
        if jaccard(shingles(text), shingles(line)) >= 0.9
    }
    assert 10 < len(expected) < 75
    assert set(found) == expected


def test_queries_in_tables_pairs_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("q1\tElectric cars, not Tesla!\n")
    (tmp_path / "b.jsonl").write_text('{"text": "x", "positive": "home bread baking", "negative": "rye"}\n')
    texts = {"one": "electric cars not tesla", "two": "Home bread baking", "three": "home bread without rye"}
    assert set(find_leaks(texts, [tmp_path / "a.tsv", tmp_path / "b.jsonl"])) == {"one", "two"}
    assert set(find_leaks(texts, [tmp_path])) == {"two"}
    assert find_leaks(texts, []) == {}


def test_a_reference_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(XBenchError, match="no such file"):
        find_leaks({"one": "x"}, [tmp_path / "nowhere.jsonl"])
