"""The shipped detector on queries of every kind, and how detectors are saved, loaded and asked."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from excise.cli.app import app
from excise.errors import BackboneError, InvalidInput
from excise.results import Detection
from excise.topics.detector import COMPANION, REACH, Detector, DetectorConfig, _Part, load_detector

FIRES = {
    "electric cars, but not Tesla": ["Tesla"],
    "electric cars without Tesla": ["Tesla"],
    "string instruments -violin": ["violin"],
    "python web frameworks NOT django": ["django"],
    "cordless drill that isn't made by Bosch": ["Bosch"],
    "Roman emperors other than Nero": ["Nero"],
    "houseplants that are neither ferns nor cacti": ["ferns", "cacti"],
    "books on the moon landing, with Apollo 11 already covered": ["Apollo 11"],
}
SILENT = [
    "electric cars",
    "non-stick pans for induction hobs",
    "countries without an army",
    "what happens if strep throat is not treated",
    "No Country for Old Men",
    "not only violins but also cellos",
    "how to boil an egg",
]


@pytest.fixture(scope="module")
def shipped() -> Detector:
    return load_detector()


@pytest.mark.parametrize("query", FIRES)
def test_it_fires_on_exclusions_and_names_the_topic(shipped: Detector, query: str) -> None:
    detection = shipped.detect([query])[0]
    assert detection.fired
    assert [topic.text for topic in detection.topics] == FIRES[query]
    for topic in detection.topics:
        assert query[topic.start : topic.end] == topic.text
        assert 0.5 < topic.score <= 1


@pytest.mark.parametrize("query", SILENT)
def test_it_stays_silent_where_nothing_is_excluded(shipped: Detector, query: str) -> None:
    detection = shipped.detect([query])[0]
    assert not detection.fired
    assert detection.topics == ()
    assert detection.score <= shipped.config.threshold


def test_a_batch_changes_nothing(shipped: Detector) -> None:
    queries = [*FIRES, *SILENT, "a long query " * 60]
    together = shipped.detect(queries)
    assert [d.query for d in together] == queries
    for query, detection in zip(queries, together, strict=True):
        assert shipped.detect([query])[0].score == pytest.approx(detection.score, abs=1e-4)


def test_a_query_longer_than_the_window_is_read_to_its_end(shipped: Detector) -> None:
    query = "I am collecting articles about gardens and their history. " * 30 + "Anything but Versailles, please."
    spans, chances = shipped.tag([query])[0]
    assert spans[:, 1].max() == len(query)
    assert len(spans) == len(chances) > 300


def test_eight_threads_get_what_one_gets(shipped: Detector) -> None:
    batches = [[*FIRES], [*SILENT], ["a long query without an end " * 60], [*FIRES, *SILENT][::3]]
    alone = [shipped.detect(batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda i: shipped.detect(batches[i % 4]), range(32)))
    assert all(found == alone[i % 4] for i, found in enumerate(together))


def test_a_threshold_of_the_callers_decides(shipped: Detector) -> None:
    query = "electric cars, but not Tesla"
    own = shipped.detect([query])[0]
    assert own.fired
    assert 0 < own.score < 1
    assert not shipped.detect([query], threshold=own.score)[0].fired
    assert shipped.detect([query], threshold=own.score - 1e-6)[0] == own
    eager = shipped.detect(["electric cars"], threshold=0.0)[0]
    assert eager.fired
    assert eager.topics
    assert eager.score < shipped.config.threshold
    assert not shipped.detect(["electric cars"])[0].fired
    for bad in (-0.1, 1.1, float("nan"), True, "0.5"):
        with pytest.raises(InvalidInput, match="from 0 to 1"):
            shipped.detect([query], threshold=bad)  # type: ignore[arg-type]


def test_an_uncalibrated_detector_fires_at_the_papers_threshold() -> None:
    assert DetectorConfig().threshold == 0.76


@pytest.mark.parametrize("query", ["", "   ", "word " * 1001])
def test_bad_queries_are_refused(shipped: Detector, query: str) -> None:
    with pytest.raises(InvalidInput):
        shipped.detect([query])


@pytest.mark.parametrize("query", ["?!", "不要", "🙂 -🙂", "\u0000 not x", "caf\udce9 not \ud83d"])
def test_odd_queries_get_an_answer(shipped: Detector, query: str) -> None:
    assert isinstance(shipped.detect([query])[0], Detection)


def fresh(checkpoint: Path, seed: int = 0, rank: int = 2) -> Detector:
    """A detector whose weights say something, if nothing sensible."""
    import torch

    torch.manual_seed(seed)
    detector = Detector.untrained(DetectorConfig(encoder=str(checkpoint), rank=rank))
    for parameter in detector.tagger.parameters():
        if parameter.requires_grad:
            torch.nn.init.normal_(parameter, std=0.2)
    return detector


def test_saving_and_loading_keeps_the_scores(plain_checkpoint: Path, tmp_path: Path) -> None:
    detector = fresh(plain_checkpoint)
    detector.save_pretrained(tmp_path)
    again = Detector.from_pretrained(tmp_path)
    queries = ["cars, not Tesla", "bread"]
    scores = [d.score for d in detector.detect(queries)]
    assert [d.score for d in again.detect(queries)] == pytest.approx(scores, abs=1e-5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["detector.json", "detector.safetensors"]


def test_a_detector_with_an_encoder_of_its_own_is_one_folder(plain_checkpoint: Path, tmp_path: Path) -> None:
    detector = fresh(plain_checkpoint, rank=0)
    detector.save_pretrained(tmp_path)
    (tmp_path / "detector.json").write_text(json.dumps({"encoder": "made of something", "rank": 0, "threshold": 0.3}))
    again = Detector.from_pretrained(tmp_path)
    queries = ["cars, not Tesla", "bread"]
    scores = [d.score for d in detector.detect(queries)]
    assert [d.score for d in again.detect(queries)] == pytest.approx(scores, abs=0.05)  # weights of eight bits
    assert again.config.threshold == 0.3
    together = again.detect([*queries, "a long query " * 30])
    assert [d.score for d in together[:2]] == [again.detect([query])[0].score for query in queries]
    with pytest.raises(InvalidInput, match="copy its folder"):
        again.save_pretrained(tmp_path / "again")
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(BackboneError, match="does not hold a detector"):
        Detector.from_pretrained(tmp_path)


def test_how_far_inputs_reach_is_stored_with_the_weights(plain_checkpoint: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    detector = fresh(plain_checkpoint, rank=0)
    queries = ["cars, not Tesla", "bread without nuts"]
    detector.save_pretrained(tmp_path, samples=queries)
    layers = len(detector.tagger.encoder.encoder.layer)
    reach = load_file(tmp_path / REACH)
    assert sorted(reach) == sorted(f"{i}.{m}" for i in range(layers) for m in ("three", "attended", "inner", "outer"))
    near = Detector.from_pretrained(tmp_path).detect(queries)
    assert [one.score for one in near] == pytest.approx([one.score for one in detector.detect(queries)], abs=0.05)
    (tmp_path / REACH).write_bytes(b"nothing of the kind")
    with pytest.raises(BackboneError, match="does not hold a detector"):
        Detector.from_pretrained(tmp_path)


def test_both_that_ship_know_how_far_inputs_reach() -> None:
    from importlib.resources import files

    folder = Path(str(files("excise") / "models" / "detector"))
    assert (folder / REACH).exists()
    assert (folder / COMPANION / REACH).exists()


def test_with_a_companion_the_mean_of_both_logits_counts(plain_checkpoint: Path, tmp_path: Path) -> None:
    first, second = fresh(plain_checkpoint), fresh(plain_checkpoint, seed=1)
    first.save_pretrained(tmp_path)
    second.save_pretrained(tmp_path / COMPANION)
    queries = ["cars, not Tesla", "bread", "a long query " * 30]
    alone = [[logit(one.score) for one in detector.detect(queries)] for detector in (first, second)]
    assert alone[0] != pytest.approx(alone[1], abs=0.05)
    together = [logit(one.score) for one in Detector.from_pretrained(tmp_path).detect(queries)]
    # The companion computes in eight bits.
    assert together == pytest.approx([(a + b) / 2 for a, b in zip(*alone, strict=True)], abs=0.1)


def test_two_that_are_sure_of_different_words_are_sure_of_none() -> None:
    spans, content = np.array([[0, 4], [5, 9]]), np.array([True, True])
    first = _Part(spans, np.array([4.0, -4.0]), content, whole=2.0)
    second = _Part(spans, np.array([-4.0, 4.0]), content, whole=None)
    assert logit(first.score) == pytest.approx(3.0)
    assert logit(second.score) == pytest.approx(4.0)
    assert logit(first.with_other(second).score) == logit(second.with_other(first).score) == pytest.approx(1.0)
    nothing = _Part(spans, np.array([4.0, 4.0]), np.array([False, False]), whole=9.0)
    assert nothing.score == 0.0


def test_what_the_companion_finds_clear_is_not_read_again(shipped: Detector) -> None:
    queries = ["best hiking boots for wide feet", "electric cars, but not Tesla", "recipes with lentils"]
    assert shipped.companion is not None
    alone, both = shipped.companion.detect(queries), shipped.detect(queries)
    thorough = shipped.detect(queries, threshold=0.0)
    assert [detection.fired for detection in both] == [False, True, False]
    for i in (0, 2):
        assert both[i].score == alone[i].score < 0.001
        assert thorough[i].score != alone[i].score
    assert both[1] == thorough[1]
    assert both[1].score != alone[1].score
    assert shipped.detect([]) == []


def test_a_companion_that_cuts_words_otherwise_is_refused(shipped: Detector, plain_checkpoint: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    from excise.encoders.tokens import TextTokenizer

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    other = fresh(plain_checkpoint)
    other.tokenizer = TextTokenizer(words.to_str())
    pair = Detector(shipped.tagger, shipped.tokenizer, shipped.config, other)
    with pytest.raises(BackboneError, match="the same tokenizer"):
        pair.detect(["electric cars, but not Tesla"])


def logit(chance: float) -> float:
    return math.log(chance / (1 - chance))


def test_a_detector_of_version_0_2_reads_as_it_did(plain_checkpoint: Path, tmp_path: Path) -> None:
    """It had one logit for each token: the chance that it names a topic, of which the largest was the score."""
    import torch
    from safetensors.torch import load_file, save_file

    detector = Detector.untrained(DetectorConfig(encoder=str(plain_checkpoint), rank=2, threshold=0.0))
    detector.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "detector.safetensors")
    state = {name: tensor for name, tensor in stored.items() if not name.startswith("query.")}
    torch.manual_seed(1)
    weight, bias = torch.randn(1, 32), torch.tensor([0.3])
    save_file({**state, "head.weight": weight, "head.bias": bias}, tmp_path / "detector.safetensors")
    old = Detector.from_pretrained(tmp_path)
    pieces = old.tokenizer.pieces("tesla cars")
    hidden = old.tagger.encoder(torch.tensor([pieces.ids])).last_hidden_state[0]
    chances = torch.sigmoid(hidden @ weight[0] + bias)[1:-1].tolist()
    assert old.tag(["tesla cars"])[0].chances.tolist() == pytest.approx(chances, abs=1e-5)
    assert old.detect(["tesla cars"])[0].score == pytest.approx(max(chances), abs=1e-5)


def test_what_is_no_detector_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match="does not hold a detector"):
        Detector.from_pretrained(tmp_path)
    (tmp_path / "detector.json").write_text('{"nonsense": 1}')
    with pytest.raises(BackboneError, match="does not hold a detector"):
        Detector.from_pretrained(tmp_path)


def test_the_card_names_what_made_the_weights() -> None:
    from importlib.resources import files

    folder = Path(str(files("excise") / "models" / "detector"))
    for name in ("TRAINING.md", f"{COMPANION}/TRAINING.md"):
        card = (folder / name).read_text(encoding="utf-8")
        for needed in ("Command: `excise train detector", "Data:", "Seed:", "held out"):
            assert needed in card
    pair = (folder / "README.md").read_text(encoding="utf-8")
    assert f"fires above {load_detector().config.threshold}" in pair
    assert "Command: `excise train pair" in pair
    assert json.loads((folder / "validation.json").read_text(encoding="utf-8"))["groups"]


class TestCommand:
    runner = CliRunner()

    def test_arguments(self) -> None:
        shown = self.runner.invoke(app, ["detect", "electric cars, but not Tesla", "electric cars"])
        first, second = (json.loads(line) for line in shown.output.splitlines())
        assert set(first) == {"query", "fired", "score", "topics"}
        assert first["fired"] is True
        assert first["topics"][0] == {"text": "Tesla", "start": 23, "end": 28, "score": first["topics"][0]["score"]}
        assert second["fired"] is False
        assert second["topics"] == []

    def test_lines_on_stdin(self) -> None:
        shown = self.runner.invoke(app, ["detect", "--json"], input="cars, not Tesla\n\ncars\n")
        assert [json.loads(line)["fired"] for line in shown.output.splitlines()] == [True, False]

    def test_an_automatic_search(self, demo_index: Path) -> None:
        query = "electric cars, but not Tesla"
        shown = self.runner.invoke(app, ["search", query, "-i", str(demo_index), "--json"])
        result = json.loads(shown.output)
        assert result["fired"]
        assert [topic["text"] for topic in result["topics"]] == ["Tesla"]
        assert result["removed"]
        off = self.runner.invoke(app, ["search", query, "-i", str(demo_index), "--json", "--no-excise"])
        assert not json.loads(off.output)["fired"]
        assert json.loads(off.output)["removed"] == []
