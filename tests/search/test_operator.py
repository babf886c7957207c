"""The operator end to end, on the embedded backbone."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

import excise
from excise import Constants, Excise, InvalidInput
from excise.encoders.backbone import Backbone, load_backbone
from excise.engines.local.engine import LocalEngine
from excise.errors import BackboneError, BadCorpus, BadIndex
from excise.results import STEPS
from excise.rules.coverage import Coverage
from excise.search.weighing import ScoreShare, mean_similarities, mixed, telling_maxsims_of
from excise.search.word_scores import word_scores
from excise.settings import Settings, resolve
from excise.vectors.encoded import leading

QUERY = "electric cars, but not Tesla"
PLACES = ("Sunderland", "Oslo", "Leipzig", "Seoul", "Turin", "Paris")


def test_nothing_excluded_is_the_engines_ranking_exactly(demo: Excise) -> None:
    assert demo.engine is not None
    for query in ("electric cars", QUERY, "what is antibiotic resistance"):
        frozen = demo.engine.reader().search([demo.backbone.encode_query(query).vectors], 10)[0]
        result = demo.search(query, exclude=[])
        assert [hit.id for hit in result.hits] == [document.id for document in frozen.documents]
        assert [hit.score for hit in result.hits] == frozen.scores.tolist()
        assert not result.fired
        assert result.removed == ()
        assert result.explanation is None
        assert all(hit.status == "kept" and hit.evidence is None and hit.rank == hit.frozen_rank for hit in result.hits)


def test_a_query_that_excludes_nothing_is_the_engines_ranking_exactly(demo: Excise) -> None:
    automatic = excise.load(demo.engine.folder, backbone=demo.backbone)  # type: ignore[union-attr]
    query = "which electric cars charge fastest"
    read, told = automatic.search(query), demo.search(query, exclude=[])
    assert not read.fired
    assert read.hits == told.hits


def test_the_detector_reads_what_a_user_would_name(demo: Excise) -> None:
    read, named = demo.search(QUERY), demo.search(QUERY, exclude=["Tesla"])
    assert [hit.id for hit in read.hits] == [hit.id for hit in named.hits]
    assert [one.id for one in read.removed] == [one.id for one in named.removed]
    (topic,) = read.topics
    for one, other in zip(read.removed, named.removed, strict=True):  # what was read is a little less sure
        assert one.probability == pytest.approx(topic.score * (other.probability or 0))
    assert 0.76 < read.score < 1


def test_without_a_detector_only_what_is_named_is_excluded(minilm: Backbone, demo: Excise) -> None:
    assert not excise.load(engine=demo.engine, backbone=minilm, detector=None).search(QUERY).fired


def test_a_named_topic_goes_down_and_out(demo: Excise) -> None:
    result = demo.search(QUERY, exclude=["Tesla"])
    assert result.fired
    assert result.topics[0].text == "Tesla"
    assert QUERY[result.topics[0].start : result.topics[0].end] == "Tesla"
    removed = [demo.engine.reader().documents([one.id])[0] for one in result.removed] if demo.engine else []
    assert removed
    assert all("Tesla" in document.full_text for document in removed)
    assert not {one.id for one in result.removed} & {hit.id for hit in result.hits}
    assert [hit.rank for hit in result.hits] == list(range(1, 11))


def test_everything_removed_is_listed_with_its_evidence(demo: Excise) -> None:
    result = demo.search(QUERY, exclude=["Tesla"])
    why = result.explanation
    assert why is not None
    assert why.cut is not None
    assert len(why.candidates) == 80  # the whole small index is the shortlist
    removed = {one.id: one for one in why.candidates if one.status == "removed"}
    assert {one.id for one in result.removed} == set(removed)
    assert all(one.probability is not None and one.probability >= why.cut for one in result.removed)
    assert all(
        one.probability is not None and one.probability < why.cut for one in why.candidates if one.status == "kept"
    )
    assert all(one.opening is not None and one.lead is not None for one in why.candidates)
    assert all((one.penalty > 0) == (one.status == "doubtful") for one in why.candidates)


def test_the_papers_rule_is_one_option_away(demo: Excise) -> None:
    paper = excise.load(engine=demo.engine, backbone=demo.backbone, settings=resolve("frozen-paper"))
    why = paper.search(QUERY, exclude=["Tesla"]).explanation
    assert why is not None
    assert why.cut is not None
    assert sum(one.status == "protected" for one in why.candidates) == 1
    assert sum(one.status == "removed" for one in why.candidates) <= 3
    for one in why.candidates:
        assert one.penalty == pytest.approx(0.97 * max(0, one.evidence - why.cut))


def test_a_second_look_adds_candidates_and_no_doubles(demo: Excise) -> None:
    narrow = replace(Settings(), coverage=Coverage(shortlist=5))
    once = excise.load(engine=demo.engine, backbone=demo.backbone, settings=narrow).search(
        QUERY, k=3, exclude=["Tesla"]
    )
    twice = excise.load(engine=demo.engine, backbone=demo.backbone, settings=replace(narrow, second_look=True)).search(
        QUERY, k=3, exclude=["Tesla"]
    )
    assert once.explanation is not None
    assert twice.explanation is not None
    first, second = ([one.id for one in result.explanation.candidates] for result in (once, twice))
    assert len(first) == 5
    assert set(first) < set(second)
    assert len(second) == len(set(second))


def test_the_cache_keeps_to_the_budget_that_it_was_given(demo: Excise) -> None:
    assert excise.load(backbone=demo.backbone, cache_bytes=5_000).cache.stats.max_bytes == 5_000


def test_re_embedding_fills_the_cache_and_shows_its_figures(demo: Excise) -> None:
    narrow = replace(resolve("paper"), constants=Constants(shortlist=6))
    operator = excise.load(engine=demo.engine, backbone=demo.backbone, settings=narrow)
    assert operator.adapter is not None
    cold, warm = (operator.search(QUERY, k=3, exclude=["Tesla"]) for _ in range(2))
    assert [hit.id for hit in cold.hits] == [hit.id for hit in warm.hits]
    assert cold.explanation is not None
    assert warm.explanation is not None
    assert cold.explanation.cache is not None
    assert warm.explanation.cache is not None
    assert cold.explanation.cache["hit_rate"] == 0
    assert warm.explanation.cache["hit_rate"] == 0.5
    assert warm.explanation.cache["entries"] == 6


def test_only_the_first_candidates_are_re_embedded(demo: Excise) -> None:
    paper = replace(resolve("paper"), constants=Constants(shortlist=6))
    results = {
        first: excise.load(
            engine=demo.engine, backbone=demo.backbone, settings=replace(paper, reembed_first=first)
        ).search(QUERY, 3, ["Tesla"])
        for first in (2, 6, 100)
    }
    why = {first: result.explanation for first, result in results.items()}
    assert all(why.values())
    assert [why[first].cache["entries"] for first in (2, 6, 100)] == [2, 6, 6]
    evidence = {first: np.array([one.evidence for one in why[first].candidates]) for first in why}
    assert evidence[6] == pytest.approx(evidence[100], abs=1e-4)
    assert evidence[2][:2] == pytest.approx(evidence[6][:2], abs=1e-4)
    assert abs(evidence[2][2:] - evidence[6][2:]).max() > 0.01  # these keep their vectors of the index
    with pytest.raises(InvalidInput, match="reembed_first must be a whole number"):
        replace(paper, reembed_first=0)


def test_re_embedding_changes_what_the_default_ranks_by_and_not_what_it_removes(demo: Excise) -> None:
    again = excise.load(engine=demo.engine, backbone=demo.backbone, settings=resolve(reembed=True, reembed_first=20))
    plain, other = demo.search(QUERY, 20, ["Tesla"]), again.search(QUERY, 20, ["Tesla"])
    assert plain.removed
    assert {one.id for one in other.removed} == {one.id for one in plain.removed}
    assert [hit.score for hit in other.hits] != [hit.score for hit in plain.hits]


def test_adapter_fusion_reorders_what_stays_and_judge_alike(demo: Excise) -> None:
    once = excise.load(engine=demo.engine, backbone=demo.backbone, settings=replace(Settings(), adapter_fusion=False))
    twice = excise.load(engine=demo.engine, backbone=demo.backbone, settings=Settings())
    assert (once.adapter, twice.adapter is None) == (None, False)
    first, second = (operator.search(QUERY, k=20, exclude=["Tesla"]) for operator in (once, twice))
    assert [one.id for one in first.removed] == [one.id for one in second.removed]
    assert [hit.id for hit in first.hits] != [hit.id for hit in second.hits]
    assert twice.search(QUERY, exclude=()).hits == once.search(QUERY, exclude=()).hits  # nothing ruled out: untouched


def test_the_two_doors_read_a_topic_that_the_query_does_not_name(demo: Excise) -> None:
    result = demo.search("electric cars", exclude="Tesla")
    assert (result.topics[0].start, result.topics[0].end) == (None, None)
    assert result.removed


def test_results_are_frozen_and_plain(demo: Excise) -> None:
    import json

    result = demo.search(QUERY, exclude=["Tesla"], k=3)
    with pytest.raises(FrozenInstanceError):
        result.query = "x"  # type: ignore[misc]
    plain = json.loads(json.dumps(result.to_dict()))
    assert set(plain) == {"query", "fired", "score", "topics", "hits", "removed", "timing_ms"}
    always = {"rank", "id", "title", "text", "score", "frozen_rank", "evidence", "status"}
    assert always <= set(plain["hits"][0]) <= {*always, "probability", "passage"}
    assert {"id", "evidence", "frozen_rank"} <= set(plain["removed"][0])
    assert set(plain["topics"][0]) == {"text", "start", "end", "score"}
    spent = plain["timing_ms"]
    assert list(spent) == [*STEPS, "search", "judge", "total"]
    assert all(spent[step] > 0 for step in STEPS)
    assert sum(spent[step] for step in STEPS) <= spent["total"] + 0.01
    untouched = demo.search(QUERY, exclude=()).timing_ms
    assert untouched["topics"] == 0 < untouched["candidates"]
    assert demo.search(QUERY, exclude=["Tesla"], k=3) == result  # however long it took
    assert "explanation" in result.to_dict(explain=True)


def test_a_topic_that_nothing_covers_changes_nothing(demo: Excise) -> None:
    result = demo.search("electric cars", exclude=["baroque counterpoint"])
    assert result.explanation is not None
    assert result.explanation.branch == "clear"
    assert [hit.id for hit in result.hits] == [hit.id for hit in demo.search("electric cars").hits]


def test_masked_scoring_leaves_the_topic_out_of_the_query(demo: Excise) -> None:
    whole = excise.load(engine=demo.engine, backbone=demo.backbone, settings=resolve(scoring="full"))
    full, less = whole.search(QUERY, exclude=["Tesla"]), demo.search(QUERY, exclude=["Tesla"])
    assert less.hits[0].score < full.hits[0].score


def test_the_whole_query_has_its_share_in_the_ranking(demo: Excise) -> None:
    scores = {}
    for share in (0.0, 0.25, 1.0):
        settings = resolve(whole_query=share)
        operator = excise.load(engine=demo.engine, backbone=demo.backbone, settings=settings)
        scores[share] = {hit.id: hit.score for hit in operator.search(QUERY, k=80, exclude=["Tesla"]).hits[:20]}
    for id in set.intersection(*map(set, scores.values())):
        assert scores[0.25][id] == pytest.approx(0.75 * scores[0.0][id] + 0.25 * scores[1.0][id], abs=1e-4)
    for wrong in (-0.1, 1.5, True, "half"):
        with pytest.raises(InvalidInput, match="whole_query must be a number from 0 to 1"):
            resolve(whole_query=wrong)


def test_per_topic_evidence_serves_two_topics(minilm: Backbone, demo: Excise) -> None:
    result = demo.search("electric cars", exclude=["Tesla", "Norway"])
    pooled = excise.load(engine=demo.engine, backbone=minilm, settings=resolve(pooling="mean")).search(
        "electric cars", exclude=["Tesla", "Norway"]
    )
    assert result.explanation is not None
    assert pooled.explanation is not None
    for one, mean in zip(result.explanation.candidates, pooled.explanation.candidates, strict=True):
        assert one.evidence >= mean.evidence - 1e-6


def test_the_papers_cap_can_follow_the_number_of_topics(demo: Excise) -> None:
    names = ["Tesla", "bread"]
    whole = excise.load(
        engine=demo.engine,
        backbone=demo.backbone,
        settings=resolve("frozen-paper", constants=Constants(removal_fraction=0.1, guard=False)),
    )
    capped = resolve("frozen-paper", constants=Constants(removal_fraction=0.1, guard=False, cap_per_topic=True))
    each = excise.load(engine=demo.engine, backbone=demo.backbone, settings=capped)
    assert len(whole.search("electric cars", exclude=names).removed) == 3
    assert len(each.search("electric cars", exclude=names).removed) == 6
    assert len(each.search("electric cars", exclude=names[:1]).removed) == 3


class TestRerank:
    CANDIDATES = (
        {"id": "y", "text": "The Tesla Model Y is an electric crossover.", "score": 0.9},
        {"id": "leaf", "text": "The Nissan Leaf is an electric hatchback.", "score": 0.8},
        {"id": "zoe", "text": "The Renault Zoe is an electric car.", "score": 0.7},
        {"id": "ami", "text": "The Citroën Ami is an electric quadricycle.", "score": 0.6},
        {"id": "three", "text": "Tesla sells the Model 3, an electric sedan.", "score": 0.5},
    )

    def test_without_an_exclusion_the_order_is_the_first_stages(self, demo: Excise) -> None:
        result = demo.rerank("electric cars", reversed(self.CANDIDATES))
        assert [hit.id for hit in result.hits] == ["y", "leaf", "zoe", "ami", "three"]
        assert [hit.score for hit in result.hits] == [0.9, 0.8, 0.7, 0.6, 0.5]
        unscored = [{"id": c["id"], "text": c["text"]} for c in reversed(self.CANDIDATES)]
        assert [hit.id for hit in demo.rerank("electric cars", unscored).hits] == [c["id"] for c in unscored]

    @pytest.mark.parametrize("scale", [1.0, 1000.0, 1e-4])
    def test_scores_of_any_scale_keep_their_order(self, demo: Excise, scale: float) -> None:
        scaled = [{**c, "score": c["score"] * scale} for c in self.CANDIDATES]  # type: ignore[operator]
        result = demo.rerank("electric cars, not Tesla", scaled, exclude=["Tesla"])
        kept = [hit.id for hit in result.hits]
        assert [name for name in kept if name in ("leaf", "zoe", "ami")] == ["leaf", "zoe", "ami"]
        assert result.removed
        assert {one.id for one in result.removed} <= {"y", "three"}
        judged = {one.id: one for one in result.explanation.candidates} if result.explanation else {}
        for candidate in scaled:
            one = judged[str(candidate["id"])]
            assert one.score + one.penalty == pytest.approx(candidate["score"])

    def test_without_scores_both_readings_and_the_words_rank(self, demo: Excise) -> None:
        unscored = [{"id": c["id"], "text": c["text"]} for c in self.CANDIDATES]
        result = demo.rerank("electric cars, not Tesla", unscored, exclude=["Tesla"], k=2)
        assert len(result.hits) == 2
        scores = {
            one.id: one.score + one.penalty for one in (result.explanation.candidates if result.explanation else ())
        }
        texts = [str(c["text"]) for c in self.CANDIDATES]
        vectors, judge = demo.backbone.encode_documents(texts), demo.backbone.judging
        assert demo.adapter is not None
        read = demo.backbone.read(["electric cars, not Tesla"], (), ["electric cars, not Tesla"], demo.adapter.terms)
        residual = [one.outside([(19, 24)]) for one in (*read.queries, *read.again)]
        judged = [leading(one, judge.dimensions) for one in residual]
        readings = telling_maxsims_of(judged, vectors.leading(judge.dimensions)).mean(axis=0)
        words = word_scores(
            ["electric cars, not "], [excise.Document(str(c["id"]), str(c["text"])) for c in self.CANDIDATES]
        )
        means = mean_similarities(residual, vectors).mean(axis=0)
        settings = demo.settings
        own = mixed(readings, ScoreShare(means, settings.mean_share), ScoreShare(words, settings.word_share))
        assert list(scores.values()) == pytest.approx(own.tolist(), abs=1e-4)

    def test_with_two_candidates_the_match_comes_last_and_nothing_is_removed(self, demo: Excise) -> None:
        pair = [{"id": c["id"], "text": c["text"]} for c in self.CANDIDATES[:2]]
        result = demo.rerank("electric cars, not Tesla", pair, exclude=["Tesla"])
        assert result.explanation is not None
        assert result.explanation.branch == "few"
        assert [hit.id for hit in result.hits] == ["leaf", "y"]
        assert result.removed == ()

    @pytest.mark.parametrize(
        ("candidates", "sentence"),
        [
            ([{"id": "a"}], "no 'text'"),
            ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "same id"),
            ([{"id": "a", "text": "x", "score": float("nan")}], "finite"),
            ([{"id": "a", "text": "x", "score": "high"}], "must be a number"),
            ([{"id": str(i), "text": "x"} for i in range(1001)], "at most 1,000"),
        ],
    )
    def test_bad_candidates_are_refused(self, demo: Excise, candidates: list[object], sentence: str) -> None:
        with pytest.raises(InvalidInput, match=sentence):
            demo.rerank("cars", candidates, exclude=["Tesla"])

    def test_no_candidates_no_hits(self, demo: Excise) -> None:
        assert demo.rerank("cars", [], exclude=["Tesla"]).hits == ()


def test_indexing_again_adds_only_what_is_new(minilm: Backbone, corpus_file: Path, tmp_path: Path) -> None:
    operator = excise.load(backbone=minilm)
    seen: list[tuple[int, int]] = []
    report = operator.index(corpus_file, tmp_path / "i", progress=lambda done, total: seen.append((done, total)))
    assert (report.added, report.unchanged, report.documents) == (6, 0, 6)
    assert seen[-1] == (6, 6)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    changed = [{"id": "leaf", "text": "Discontinued."}, {"id": "new", "text": "A new car."}]
    report = operator.index(changed)
    assert (report.added, report.unchanged, report.documents) == (2, 0, 7)
    report = operator.index(corpus_file)
    assert (report.added, report.unchanged, report.documents) == (1, 5, 7)
    assert excise.load(tmp_path / "i", backbone=minilm).search("hatchback").hits[0].text.startswith("The Leaf")


def test_an_interrupted_run_goes_on(minilm: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from excise.search import indexing as module

    monkeypatch.setattr(module, "COMMIT_DOCUMENTS", 2)
    documents = [{"id": str(i), "text": f"document number {i}"} for i in range(6)]

    def interrupt(done: int, _: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    operator = excise.load(backbone=minilm)
    with pytest.raises(KeyboardInterrupt):
        operator.index(documents, tmp_path / "i", progress=interrupt)
    kept = excise.load(tmp_path / "i", backbone=minilm).engine
    assert kept is not None
    assert len(kept.reader()) in (2, 4)
    report = excise.load(tmp_path / "i", backbone=minilm).index(documents)
    assert report.unchanged in (2, 4)
    assert report.documents == 6


def test_a_bad_line_in_the_middle_leaves_nothing_written(minilm: Backbone, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": "a", "text": "x"}\n{"id": "b"}\n')
    with pytest.raises(BadCorpus, match="line 2"):
        excise.load(backbone=minilm).index(path, tmp_path / "i")
    assert not (tmp_path / "i").exists()
    assert excise.load(backbone=minilm).index(path, tmp_path / "i", skip_bad=True).skipped == 1


def test_a_first_write_that_fails_leaves_no_index_and_can_be_tried_again(
    minilm: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [{"id": "a", "text": "x"}]

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Backbone, "encode_documents", interrupted)
        with pytest.raises(KeyboardInterrupt):
            excise.load(backbone=minilm).index(documents, tmp_path / "i")
    with pytest.raises(BadIndex):
        excise.load(tmp_path / "i", backbone=minilm)
    assert excise.load(backbone=minilm).index(documents, tmp_path / "i").documents == 1


def test_documents_go_into_the_engine_that_is_open_whatever_it_is(minilm: Backbone, tmp_path: Path) -> None:
    class Elsewhere:
        """An engine that is not a LocalEngine: it only passes on."""

        def __init__(self, inner: LocalEngine) -> None:
            self.inner = inner
            self.name = "elsewhere"

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    engine = Elsewhere(LocalEngine.create(tmp_path / "i", minilm.info))
    operator = excise.load(engine=engine, backbone=minilm)  # type: ignore[arg-type]
    operator.index([{"id": "a", "text": "an electric car"}])
    assert operator.engine is engine
    assert len(engine.inner.reader()) == 1
    with pytest.raises(InvalidInput, match="not both"):
        excise.load(tmp_path / "i", engine=engine, backbone=minilm)  # type: ignore[arg-type]


def test_many_queries_at_once_are_answered_as_one_by_one(demo: Excise) -> None:
    queries = [QUERY, "which electric cars charge fastest", "home bread baking, but not rye", QUERY.upper()]
    for query, many in zip(queries, demo.search_many(queries), strict=True):
        alone = demo.search(query)
        assert many.query == query
        assert [hit.id for hit in many.hits] == [hit.id for hit in alone.hits]
        assert {one.id for one in many.removed} == {one.id for one in alone.removed}
        assert [hit.score for hit in many.hits] == pytest.approx([hit.score for hit in alone.hits], abs=1e-3)
    assert demo.search_many([]) == []
    with pytest.raises(InvalidInput, match="list of texts"):
        demo.search_many(QUERY)


def test_the_fire_threshold_decides_when_the_detector_fires(demo: Excise) -> None:
    deaf = excise.load(engine=demo.engine, backbone=demo.backbone, settings=Settings(fire_threshold=1.0))
    assert demo.search(QUERY).fired
    assert not deaf.search(QUERY).fired
    assert deaf.search(QUERY, exclude=["Tesla"]).fired
    with pytest.raises(InvalidInput, match="fire_threshold"):
        Settings(fire_threshold=1.5)


def test_eight_threads_beside_a_writer_get_answers_of_committed_states(minilm: Backbone, tmp_path: Path) -> None:
    """Every answer equals the single-threaded one for some state that was committed."""
    cars = [
        {"id": f"car{i}", "text": f"An electric car, number {i}, made in {place}."} for i, place in enumerate(PLACES)
    ]
    extra = [{"id": f"tesla{i}", "text": f"Tesla sells electric car number {i}."} for i in range(3)]
    operator = excise.load(backbone=minilm)
    operator.index(cars, tmp_path / "i")
    engine = operator.engine
    assert engine is not None
    encoded = minilm.encode_documents([str(one["text"]) for one in extra])
    documents = [excise.Document(str(one["id"]), str(one["text"])) for one in extra]
    queries = [QUERY, "electric cars", "cars made in Sunderland"]

    def answers() -> list[tuple[object, ...]]:
        return [_answer(operator.search(query, k=5)) for query in queries]

    states = [answers()]
    for change in (lambda: engine.add(documents, encoded), lambda: engine.delete([d.id for d in documents])):
        change()
        states.append(answers())
    allowed = [{state[number] for state in states} for number in range(len(queries))]
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            engine.add(documents, encoded)
            engine.delete([document.id for document in documents])

    def read(worker: int) -> list[tuple[int, tuple[object, ...]]]:
        own = random.Random(worker)
        return [(n := own.randrange(len(queries)), _answer(operator.search(queries[n], k=5))) for _ in range(6)]

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            got = [answer for batch in pool.map(read, range(8)) for answer in batch]
    finally:
        stop.set()
        writer.join()
    assert len(got) == 48
    assert all(answer in allowed[number] for number, answer in got)


def _answer(result: excise.SearchResult) -> tuple[object, ...]:
    ranked = tuple((hit.id, round(hit.score, 3), hit.status) for hit in result.hits)
    return result.fired, ranked, tuple(sorted(one.id for one in result.removed))


@pytest.mark.parametrize("k", [0, -1, 1_000_000, 2.5, True])
def test_a_bad_k_is_refused(demo: Excise, k: int) -> None:
    with pytest.raises(InvalidInput, match="k must be"):
        demo.search("cars", k=k)


@pytest.mark.parametrize(
    ("exclude", "sentence"),
    [
        (["  "], "non-empty"),
        ([None], "non-empty"),
        (["x"] + [f"t{i}" for i in range(20)], "at most 20"),
        (["w " * 101], "at most 100"),
    ],
)
def test_bad_topics_are_refused(demo: Excise, exclude: list[str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        demo.search("cars", exclude=exclude)


def test_bad_settings_are_refused(minilm: Backbone, demo_index: Path, plain_checkpoint: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="scoring"):
        excise.load(backbone=minilm, settings=resolve(scoring="half"))
    with pytest.raises(InvalidInput, match="pooling"):
        excise.load(backbone=minilm, settings=resolve(pooling="median"))
    with pytest.raises(InvalidInput, match="unknown preset"):
        excise.load(backbone=minilm, settings="fast")
    with pytest.raises(BackboneError, match="built with the backbone 'minilm'"):
        excise.load(demo_index, backbone=load_backbone(str(plain_checkpoint)))
    with pytest.raises(BadIndex, match="no such index"):
        excise.load(tmp_path / "nowhere")
    with pytest.raises(BadIndex, match="no index to search"):
        excise.load(backbone=minilm).search("cars")
    with pytest.raises(BadCorpus, match="no documents"):
        excise.load(backbone=minilm).index([])


def test_public_names() -> None:
    assert set(excise.__all__) <= set(dir(excise))
    for name in excise.__all__:
        assert getattr(excise, name).__doc__
    with pytest.raises(AttributeError):
        _ = excise.nothing
