"""Documents over HTTP: added, replaced, read and deleted, whatever their ids and texts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from excise.search.operator import load

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "a/b/../c d?e=f&g#h",
    "null\0byte",
    "\u202eright to left",
    "..",
    "日本語 \U0001f600",
    'quote"and\\backslash',
    "line\nbreak",
]


def test_a_document_comes_stays_changes_and_goes(keyed: httpx.Client) -> None:
    before = keyed.get("/ready").json()["documents"]
    zeppelin = {"id": "zeppelin", "title": "Zeppelins", "text": "Rigid airships filled with hydrogen."}
    added = keyed.post("/v1/documents", json={"documents": [zeppelin]})
    assert added.json() == {"added": 1, "unchanged": 0, "skipped": 0, "documents": before + 1}
    assert keyed.post("/v1/documents", json={"documents": [zeppelin]}).json()["unchanged"] == 1
    assert keyed.get("/v1/documents/zeppelin").json() == zeppelin
    first = keyed.post("/v1/search", json={"query": "rigid airships with hydrogen"}).json()["hits"][0]
    assert first["id"] == "zeppelin"
    changed = keyed.put("/v1/documents/zeppelin", json={"text": "Rigid airships filled with helium."})
    assert changed.json() == {"added": 1, "unchanged": 0, "skipped": 0, "documents": before + 1}
    assert keyed.get("/v1/documents/zeppelin").json()["text"] == "Rigid airships filled with helium."
    assert keyed.delete("/v1/documents/zeppelin").json() == {"deleted": 1, "documents": before}
    for gone in (keyed.get("/v1/documents/zeppelin"), keyed.delete("/v1/documents/zeppelin")):
        assert gone.status_code == 404
        assert gone.json()["detail"] == "there is no document 'zeppelin'."


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_ids_and_texts_come_back_as_they_are(keyed: httpx.Client, hostile: str) -> None:
    document = {"id": hostile, "title": hostile, "text": f"zeppelins {hostile}"}
    assert keyed.post("/v1/documents", json={"documents": [document]}).status_code == 200
    assert keyed.get("/v1/documents", params={"id": [hostile, "absent"]}).json() == {
        "documents": [document],
        "missing": ["absent"],
    }
    if hostile != "..":  # a client takes that away from an address
        assert keyed.get(f"/v1/documents/{quote(hostile, safe='')}").json() == document
    found = keyed.post("/v1/search", json={"query": f"zeppelins {hostile}", "exclude": [hostile], "explain": True})
    assert found.status_code == 200
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.json()["topics"][0]["text"] == hostile.strip()
    assert keyed.delete("/v1/documents", params={"id": [hostile]}).json()["deleted"] == 1


def test_broken_characters_are_replaced_at_this_door_too(keyed: httpx.Client) -> None:
    body = b'{"documents": [{"id": "torn \\ud83d", "text": "zeppelin \\udc80"}]}'
    assert keyed.post("/v1/documents", content=body, headers={"Content-Type": "application/json"}).status_code == 200
    assert keyed.get("/v1/documents", params={"id": "torn \ufffd"}).json()["documents"][0]["text"] == "zeppelin \ufffd"


@pytest.mark.parametrize(
    ("documents", "sentence"),
    [
        ([], "documents: List should have at least 1 item after validation, not 0."),
        ([{"id": "x", "text": "  "}], "document 'x' has an empty text."),
        ([{"id": " ", "text": "x"}], "a document needs a non-empty id, got ' '."),
        ([{"id": "x", "text": "a"}, {"id": "x", "text": "b"}], "the id 'x' stands for two documents."),
        ([{"id": 1, "text": "a"}], "documents.0.id: Input should be a valid string."),
        ([{"id": "x", "text": "a" * 200_001}], "documents.0.text: String should have at most 200000 characters."),
        ([{"id": "x", "text": "a"}] * 257, "documents: List should have at most 256 items after validation, not 257."),
    ],
)
def test_what_cannot_be_stored_changes_nothing(keyed: httpx.Client, documents: list[object], sentence: str) -> None:
    before = keyed.get("/ready").json()
    answer = keyed.post("/v1/documents", json={"documents": documents})
    assert (answer.status_code, answer.json()["detail"]) == (422, sentence)
    assert keyed.get("/ready").json() == before


def test_searches_beside_a_writer_see_whole_writes(keyed: httpx.Client) -> None:
    """A writer swaps a pair of documents for another; no search sees half of a pair, in either of its rankings."""

    def pair(number: int) -> list[dict[str, str]]:
        return [{"id": id, "text": f"zeppelin airship, version {number}"} for id in ("left", "right")]

    def write() -> None:
        for number in range(12):
            keyed.post("/v1/documents", json={"documents": pair(number)}).raise_for_status()

    keyed.post("/v1/documents", json={"documents": pair(-1)}).raise_for_status()
    with ThreadPoolExecutor(1) as writer:
        writing = writer.submit(write)
        searches = 0
        while not writing.done() or searches < 3:
            message = {"queries": ["zeppelin airship, not trains", "zeppelin airship"], "k": 2, "compare": True}
            results = keyed.post("/v1/search", json=message).json()["results"]
            versions = {hit["text"] for result in results for hit in result["hits"]}
            assert len(versions) == 1
            for result in results:
                assert {hit["id"] for hit in result["hits"]} == {"left", "right"}
                assert {hit["id"] for hit in result["frozen"]} == {"left", "right"}
            searches += 1
        writing.result()


def test_what_the_service_stored_is_there_for_others(keyed: httpx.Client, tmp_path: Path) -> None:
    keyed.post("/v1/documents", json={"documents": [{"id": "new", "text": "zeppelins"}]}).raise_for_status()
    [folder] = [path for path in tmp_path.iterdir() if path.name.startswith("served")]
    engine = load(folder).engine
    assert engine is not None
    assert engine.reader().documents(["new"])[0].text == "zeppelins"


def test_filters_and_exclusion_are_asked_for_together(keyed: httpx.Client) -> None:
    documents = [
        {"id": f"{what}-{year}", "text": f"{what} airships over the lake", "metadata": {"year": year}}
        for what in ("hydrogen", "helium")
        for year in (1919, 1929, 1939)
    ]
    keyed.post("/v1/documents", json={"documents": documents}).raise_for_status()
    assert keyed.get("/v1/documents/helium-1929").json()["metadata"] == {"year": 1929}
    message = {
        "query": "airships over the lake",
        "exclude": ["helium"],
        "compare": True,
        "where": {"year": {"gte": 1929}},
    }
    found = keyed.post("/v1/search", json=message).json()
    frozen = {one["id"] for one in found["frozen"]}
    assert frozen == {f"{what}-{year}" for what in ("hydrogen", "helium") for year in (1929, 1939)}
    assert [hit["id"] for hit in found["hits"]][:2] == ["hydrogen-1929", "hydrogen-1939"]
    changed = {"text": "helium airships", "metadata": {"year": 2000}}
    assert keyed.put("/v1/documents/helium-1929", json=changed).json()["added"] == 1
    assert keyed.get("/v1/documents/helium-1929").json()["metadata"] == {"year": 2000}
