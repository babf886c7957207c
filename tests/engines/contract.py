"""What every engine must do, whatever stores its vectors.

A test module of an engine subclasses :class:`EngineContract` and says how to make an index and how to open it again::

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def make(self) -> Maker:
            return lambda: MyEngine.create(..., ENCODER)

        def opened_again(self, engine: Engine) -> Engine:
            return MyEngine.open(engine.name)

An engine that is not exact is held to nine tenths of the true ranking where an exact one is held to all of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up import (
    DIMENSIONS,
    ENCODER,
    OTHER_ENCODER,
    batch,
    document,
    metadata_of,
    query,
    ranking,
    same_vectors,
    version_of,
)

from excise.documents import Document
from excise.engines.base import Engine, Found, Reader, expect
from excise.errors import BackboneError, BadIndex, InvalidInput
from excise.filters import read_where
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged

Maker = Callable[[], Engine]
NAMES = ["a", "b", "c", "d", "e"]
ODD_IDS = [
    "🦊🏽‍🚒",
    "שלום עולם",
    "مرحبا",
    "e\N{COMBINING ACUTE ACCENT}",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    'a/b\\c:d*?"<>|',
    "../../etc/passwd",
    "two\nlines\tand a tab",
    " spaces around ",
    "'; DROP TABLE documents; --",
    "\N{RIGHT-TO-LEFT OVERRIDE}abc",
    "\x01\x7f",
    "x" * 512,
    "🦊" * 512,
    "A",
    "a",
]

FILTERS: list[dict[str, object]] = [
    {"year": 2018},
    {"year": 2018.0},
    {"year": "2018"},
    {"year": {"gte": 2020}},
    {"year": {"gt": 2017, "lt": 2022}},
    {"year": {"lte": 2015.5}},
    {"year": {"ne": 2018}},
    {"year": {"in": [2016, "2019", 2021]}},
    {"year": {"in": []}},
    {"year": {"exists": True}},
    {"year": {"exists": False}},
    {"price": {"gte": 2.5, "lt": 7}},
    {"price": 5},
    {"lang": "größer"},
    {"lang": {"eq": "O'Neill\"s"}},
    {"lang": {"ne": "en"}},
    {"lang": {"exists": False}},
    {"tags": "b"},
    {"tags": 7},
    {"tags": {"ne": "a"}},
    {"tags": {"in": ["a", 7]}},
    {"tags": {"gte": 6}},
    {"tags": {"exists": False}},
    {"open": True},
    {"open": {"ne": False}},
    {"open": {"in": [True, 1]}},
    {"day": {"gte": "2024-05-01"}},
    {"day": {"gt": "2024-03-03T11:00:00+00:00", "lte": "2024-10-05"}},
    {"day": {"lt": "2024-06-15 10:30"}},
    {"two words-and": {"gt": 0}},
    {"nested": "year"},
    {"nested": {"exists": True}},
    {"nobody": {"exists": False}, "year": {"gte": 2020}},
    {"nobody": 3},
    {"year": {"gte": 2018}, "open": True, "lang": {"in": ["en", "größer"]}},
]

_WRITES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=4)),
        st.tuples(st.just("delete"), st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=4)),
        st.tuples(st.just("tidy"), st.just(frozenset())),
    ),
    max_size=14,
)


def ids_of(found: Found) -> list[str]:
    return [one.id for one in found.documents]


def state_of(reader: Reader) -> dict[str, int]:
    """Every document of an index and its version, in the order of indexing."""
    ids = list(reader.ids())
    return dict(zip(ids, map(version_of, reader.documents(ids)), strict=True))


def agrees(reader: Reader, versions: Mapping[str, int], k: int = 1000) -> None:
    """Hold a reader against documents in a plain dictionary: all it says must be true of them."""
    assert len(reader) == len(versions)
    assert state_of(reader) == versions
    assert list(reader.ids()) == list(versions)
    expected = ranking(query(), versions)[:k]
    found = reader.search([query()], k, vectors=True)[0]
    if reader.exact:
        assert ids_of(found) == [id for id, _ in expected]
        assert found.scores == pytest.approx([value for _, value in expected], rel=1e-5, abs=1e-5)
    else:
        assert len({id for id, _ in expected} & set(ids_of(found))) >= 0.9 * len(expected)
    assert [version_of(one) for one in found.documents] == [versions[one.id] for one in found.documents]
    assert found.vectors is not None
    for place, one in enumerate(found.documents):
        assert same_vectors(found.vectors.document(place), one.id, versions[one.id])


class EngineContract:
    """The tests; see the module."""

    @pytest.fixture
    def make(self) -> Maker:
        """Makes a new, empty index for :data:`made_up.ENCODER`, another one at each call."""
        raise NotImplementedError

    def opened_again(self, engine: Engine) -> Engine:
        """The same index through another connection, as another process would open it."""
        raise NotImplementedError

    @pytest.fixture
    def engine(self, make: Maker) -> Engine:
        engine = make()
        engine.add(*batch(NAMES))
        return engine

    def test_it_is_an_engine(self, engine: Engine) -> None:
        assert isinstance(engine, Engine)
        assert engine.name
        assert engine.reader().encoder == ENCODER
        assert engine.reader().exact in (True, False)

    def test_an_empty_index_answers(self, make: Maker) -> None:
        reader = make().reader()
        assert len(reader) == 0
        assert list(reader.ids()) == []
        assert reader.encoder == ENCODER
        assert reader.holds([document("a")]) == [False]
        first, second = reader.search([query(1), query(2)], 3, vectors=True)
        assert len(first) == len(second) == len(first.scores) == 0
        assert first.vectors is not None
        assert len(first.vectors) == 0
        with pytest.raises(BadIndex, match="'a'"):
            reader.documents(["a"])

    def test_an_empty_index_can_be_tidied_and_deleted_from(self, make: Maker) -> None:
        engine = make()
        engine.tidy()
        assert engine.delete(["a"]) == 0
        assert len(engine.reader()) == 0

    @pytest.mark.parametrize("k", [1, 3, 5, 6, 1000])
    def test_search_finds_the_best(self, engine: Engine, k: int) -> None:
        agrees(engine.reader(), dict.fromkeys(NAMES, 0), k)

    def test_equal_scores_keep_the_order_of_indexing(self, make: Maker) -> None:
        engine = make()
        names = [f"doc{i}" for i in range(20)]
        same = EncodedDocuments(Ragged.of([np.eye(DIMENSIONS, dtype=np.float16)] * 10), np.arange(11))
        for start in (0, 10):
            engine.add([Document(name, "same") for name in names[start : start + 10]], same)
        reader = engine.reader()
        for k in (1, 7, 15, 20) if reader.exact else (20,):
            assert ids_of(reader.search([query()], k)[0]) == names[:k]

    def test_several_queries_are_answered_as_one_by_one(self, make: Maker) -> None:
        engine = make()
        names = [f"doc{i}" for i in range(60)]
        engine.add(*batch(names[:40]))
        engine.add(*batch(names[40:]))
        reader = engine.reader()
        queries = [query(seed, tokens) for seed, tokens in enumerate([1, 2, 4, 7, 32, 200, 400, 3])]
        together = reader.search(queries, 10, vectors=True)
        assert len(together) == len(queries)
        for asked, found in zip(queries, together, strict=True):
            alone = reader.search([asked], 10)[0]
            assert ids_of(found) == ids_of(alone)
            assert found.scores == pytest.approx(alone.scores, rel=1e-6)
        assert reader.search([], 10) == []

    def test_vectors_come_when_asked_for(self, engine: Engine) -> None:
        reader = engine.reader()
        assert reader.search([query()], 3)[0].vectors is None
        found = reader.search([query()], 3, vectors=True)[0]
        assert found.vectors is not None
        by_id = reader.vectors(ids_of(found))
        assert len(found.vectors) == len(by_id) == 3
        for place, id in enumerate(ids_of(found)):
            assert same_vectors(found.vectors.document(place), id)
            assert same_vectors(by_id.document(place), id)

    def test_filters_mean_what_they_mean_everywhere(self, make: Maker) -> None:
        engine = make()
        names = [f"doc{i}" for i in range(90)]
        engine.add(*batch(names[:50]))
        engine.add(*batch(names[50:]))
        engine.add(*batch(names[5:15], version=1))
        engine.delete(names[20:24])
        kept = [id for id in names if id not in names[5:15] + names[20:24]]
        versions = dict.fromkeys(kept, 0) | dict.fromkeys(names[5:15], 1)
        reader = engine.reader()
        several = 0
        for written in FILTERS:
            where = read_where(written)
            assert where is not None
            matching = {id: v for id, v in versions.items() if where.matches(metadata_of(id, v))}
            several += 0 < len(matching) < len(versions)
            expected = [id for id, _ in ranking(query(), matching)]
            for k in (4, 1000):
                found = reader.search([query(), query(3)], k, where=where)[0]
                assert all(where.matches(one.metadata) for one in found.documents), written
                if reader.exact:
                    assert ids_of(found) == expected[:k], written
                else:
                    assert len(set(ids_of(found)) & set(expected[:k])) >= 0.9 * len(expected[:k]), written
        assert several > len(FILTERS) / 2

    def test_metadata_is_part_of_a_document(self, engine: Engine) -> None:
        given = document("c")
        assert given.metadata
        assert engine.reader().documents(["c"])[0].metadata == given.metadata
        other = Document("c", given.text, given.title, {**given.metadata, "more": [1, {"x": None}]})
        assert engine.reader().holds([given, other]) == [True, False]
        engine.add([other], batch(["c"])[1])
        assert engine.reader().documents(["c"]) == [other]
        assert engine.reader().holds([given, other]) == [False, True]

    def test_eight_threads_search_at_once(self, make: Maker) -> None:
        engine = make()
        engine.add(*batch([f"doc{i}" for i in range(40)]))
        alone = [ids_of(engine.reader().search([query(seed)], 10)[0]) for seed in range(8)]

        def searched(seed: int) -> bool:
            return all(ids_of(engine.reader().search([query(seed)], 10)[0]) == alone[seed] for _ in range(3))

        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(searched, range(8)))

    def test_texts_and_vectors_come_back_in_the_order_asked_for(self, engine: Engine) -> None:
        reader = engine.reader()
        assert reader.documents(["d", "a", "d"]) == [document("d"), document("a"), document("d")]
        assert reader.documents([]) == []
        stored = reader.vectors(["d", "a"])
        assert same_vectors(stored.document(0), "d")
        assert same_vectors(stored.document(1), "a")

    def test_unknown_ids_are_refused(self, engine: Engine) -> None:
        reader = engine.reader()
        with pytest.raises(BadIndex, match="'zzz'"):
            reader.documents(["a", "zzz"])
        with pytest.raises(BadIndex, match="'zzz'"):
            reader.vectors(["zzz"])

    def test_ids_of_any_kind(self, make: Maker) -> None:
        engine = make()
        engine.add(*batch(ODD_IDS))
        agrees(self.opened_again(engine).reader(), dict.fromkeys(ODD_IDS, 0))
        assert engine.reader().holds([document(id) for id in ODD_IDS]) == [True] * len(ODD_IDS)
        assert engine.delete(ODD_IDS[1:]) == len(ODD_IDS) - 1
        assert list(engine.reader().ids()) == ODD_IDS[:1]

    def test_documents_are_replaced(self, engine: Engine) -> None:
        engine.add(*batch(["b", "f"], version=2))
        agrees(engine.reader(), {"a": 0, "c": 0, "d": 0, "e": 0, "b": 2, "f": 2})

    def test_documents_are_deleted(self, engine: Engine) -> None:
        assert engine.delete(["a", "nobody", "d", "a"]) == 2
        agrees(engine.reader(), {"b": 0, "c": 0, "e": 0})
        assert engine.delete(["a"]) == 0
        engine.add(*batch(["a"], version=1))
        agrees(engine.reader(), {"b": 0, "c": 0, "e": 0, "a": 1})

    def test_everything_can_be_deleted_and_added_again(self, engine: Engine) -> None:
        assert engine.delete(NAMES) == 5
        agrees(engine.reader(), {})
        engine.add(*batch(["b"]))
        agrees(self.opened_again(engine).reader(), {"b": 0})

    def test_it_knows_which_documents_it_holds(self, engine: Engine) -> None:
        asked = [
            document("a"),
            document("a", version=1),
            Document("a", document("a").text, "another title", document("a").metadata),
            Document("a", document("a").text, document("a").title, {"another": "field"}),
            document("zzz"),
            document("e"),
        ]
        assert engine.reader().holds(asked) == [True, False, False, False, False, True]
        assert engine.reader().holds([]) == []

    def test_a_reader_is_one_moment_of_the_index(self, engine: Engine) -> None:
        before, versions = engine.reader(), dict.fromkeys(NAMES, 0)
        fingerprint = before.fingerprint
        for i in range(12):
            engine.add(*batch([f"new{i}"]))
        engine.add(*batch(["a", "b"], version=1))
        engine.delete(["c", "d", "new3"])
        engine.tidy()
        agrees(before, versions)
        assert before.fingerprint == fingerprint
        assert before.holds([document("c"), document("new1"), document("a", version=1)]) == [True, False, False]
        now = {"e": 0} | {f"new{i}": 0 for i in range(12) if i != 3} | {"a": 1, "b": 1}
        agrees(engine.reader(), now)

    def test_tidying_changes_no_answer(self, make: Maker) -> None:
        engine = make()
        versions: dict[str, int] = {}
        for i in range(30):
            engine.add(*batch([f"doc{i}"], version=i))
            versions[f"doc{i}"] = i
        for i in range(0, 30, 4):
            engine.delete([f"doc{i}"])
            del versions[f"doc{i}"]
        engine.tidy()
        agrees(engine.reader(), versions)
        engine.tidy()
        agrees(self.opened_again(engine).reader(), versions)

    def test_what_is_written_is_there_for_others(self, engine: Engine) -> None:
        other = self.opened_again(engine)
        engine.add(*batch(["new"]))
        agrees(other.reader(), dict.fromkeys([*NAMES, "new"], 0))
        assert other.delete(["a"]) == 1
        agrees(engine.reader(), dict.fromkeys([*NAMES[1:], "new"], 0))

    def test_every_committed_state_has_its_own_fingerprint(self, make: Maker) -> None:
        engine = make()
        seen = [make().reader().fingerprint, engine.reader().fingerprint]
        for write in (
            lambda: engine.add(*batch(["a"])),
            lambda: engine.add(*batch(["b"])),
            lambda: engine.add(*batch(["b"])),
            lambda: engine.delete(["b"]),
            lambda: engine.add(*batch(["b"])),
        ):
            write()
            seen.append(engine.reader().fingerprint)
            assert engine.reader().fingerprint == seen[-1] == self.opened_again(engine).reader().fingerprint
        assert len(set(seen)) == len(seen)

    def test_what_changes_nothing_commits_nothing(self, engine: Engine) -> None:
        before = engine.reader().fingerprint
        engine.add([], EncodedDocuments(Ragged(np.empty((0, DIMENSIONS)), np.array([0])), np.array([0])))
        engine.delete(["nobody"])
        engine.delete([])
        engine.tidy()
        assert engine.reader().fingerprint == before

    @pytest.mark.parametrize(
        ("documents", "encoded", "sentence"),
        [
            ([document("x"), document("x")], batch(["x", "y"])[1], "'x' stands for two"),
            ([document("x")], batch(["x", "y"])[1], "1 documents, and vectors of 2"),
            ([document("x")], EncodedDocuments(Ragged(np.ones((1, 3)), np.array([0, 1])), np.array([0, 1])), "3 dim"),
            (
                [document("x")],
                EncodedDocuments(Ragged(np.full((1, DIMENSIONS), np.nan), np.array([0, 1])), np.array([0, 1])),
                "finite",
            ),
        ],
    )
    def test_bad_batches_are_refused_and_change_nothing(
        self, engine: Engine, documents: list[Document], encoded: EncodedDocuments, sentence: str
    ) -> None:
        before = engine.reader().fingerprint
        with pytest.raises(InvalidInput, match=sentence):
            engine.add(documents, encoded)
        assert engine.reader().fingerprint == before
        agrees(engine.reader(), dict.fromkeys(NAMES, 0))

    @pytest.mark.parametrize(
        ("asked", "k"),
        [
            (query(), 0),
            (query(), -1),
            (np.ones((2, DIMENSIONS + 1), dtype=np.float32), 3),
            (np.ones((0, DIMENSIONS), dtype=np.float32), 3),
            (np.ones(DIMENSIONS, dtype=np.float32), 3),
            (np.full((2, DIMENSIONS), np.nan, dtype=np.float32), 3),
        ],
    )
    def test_bad_searches_are_refused(self, engine: Engine, asked: np.ndarray, k: int) -> None:
        with pytest.raises(InvalidInput):
            engine.reader().search([query(), asked], k)

    def test_another_encoder_is_refused(self, engine: Engine) -> None:
        expect(engine, ENCODER)
        with pytest.raises(BackboneError, match="built with the backbone 'test'"):
            expect(engine, OTHER_ENCODER)

    @given(writes=_WRITES)
    @settings(
        max_examples=15,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.differing_executors,  # every engine's class runs it; each example makes an index of its own
        ],
    )
    def test_any_writes_come_to_the_same_as_in_a_dictionary(
        self, make: Maker, writes: list[tuple[str, set[str]]]
    ) -> None:
        engine = make()
        versions: dict[str, int] = {}
        for number, (kind, ids) in enumerate(writes):
            if kind == "add":
                engine.add(*batch(sorted(ids), version=number))
                versions = {id: version for id, version in versions.items() if id not in ids}
                versions |= dict.fromkeys(sorted(ids), number)
            elif kind == "delete":
                assert engine.delete(sorted(ids)) == len(ids & versions.keys())
                versions = {id: version for id, version in versions.items() if id not in ids}
            else:
                engine.tidy()
        agrees(engine.reader(), versions)

    def test_threads_read_committed_states_while_one_writes(self, engine: Engine) -> None:
        """The writer goes through known states; whatever a reader sees must be one of them, whole."""
        changes = {n: [NAMES[n % 5], NAMES[(n + 1) % 5], f"new{n % 3}"] for n in range(1, 11)}
        states = [dict.fromkeys(NAMES, 0)]
        for number, changed in changes.items():
            kept = {id: version for id, version in states[-1].items() if id not in changed}
            states += [kept | dict.fromkeys(changed, number)]
            states += [{id: version for id, version in states[-1].items() if id != changed[0]}]
        finished = threading.Event()

        def keep_reading() -> int:
            seen = 0
            while not finished.is_set() or not seen:
                reader = engine.reader()
                state = state_of(reader)
                assert state in states
                found = reader.search([query()], 100, vectors=True)[0]
                assert {one.id: version_of(one) for one in found.documents} == state
                assert found.vectors is not None
                for place, one in enumerate(found.documents):
                    assert same_vectors(found.vectors.document(place), one.id, state[one.id])
                assert reader.holds([document(id, version) for id, version in state.items()]) == [True] * len(state)
                seen += 1
                finished.wait(0.005)  # leaves the writer its turn
            return seen

        with ThreadPoolExecutor(3) as threads:
            readers = [threads.submit(keep_reading) for _ in range(3)]
            try:
                for number, changed in changes.items():
                    engine.add(*batch(changed, version=number))
                    engine.delete(changed[:1])
                    if number % 4 == 0:
                        engine.tidy()
            finally:
                finished.set()
            assert all(reader.result() > 0 for reader in readers)
        agrees(engine.reader(), states[-1])

    def test_threads_write_at_once_and_nothing_is_lost(self, make: Maker) -> None:
        engine = make()

        def write(writer: int) -> None:
            for number in range(5):
                engine.add(*batch([f"{writer}-{number}"]))
            engine.delete([f"{writer}-2"])
            engine.tidy()

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(write, range(4)))
        assert set(state_of(engine.reader())) == {f"{w}-{n}" for w in range(4) for n in (0, 1, 3, 4)}
