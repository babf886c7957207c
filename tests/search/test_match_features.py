"""How a candidate matches a topic, against the plainest way to compute it; and words that are, or only look, alike."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.search.match_features import FEATURES, OPENING_TOKENS, VECTOR_FEATURES, match_features, topic_pattern
from excise.search.similarity_scale import REFERENCE, SimilarityScale
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged
from nasty_texts import nasty_text

Matrix = NDArray[np.float64]
ONE_TOKEN = EncodedDocuments.of([Ragged.of([np.eye(2)[:1]])])


def unit(chance: np.random.Generator, count: int) -> Matrix:
    """Token vectors in so few dimensions that close matches happen."""
    vectors = chance.normal(size=(count, 3))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def cosine(one: Matrix, other: Matrix) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))


def plainly(topic: Matrix, document: Matrix) -> dict[str, float]:
    """The vector features of one topic and document, by their descriptions."""
    similarity, size = topic @ document.T, len(document)
    stretch = len(topic) + 12
    stretches = [similarity[:, i : i + stretch] for i in range(max(1, size - stretch + 1))]
    passages = [document[i : i + 40].mean(axis=0) for i in range(0, size, 40)]
    return {
        "evidence": similarity.max(axis=1).mean(),
        "weakest": similarity.max(axis=1).min(),
        "local": max(one.max(axis=1).mean() for one in stretches),
        "places": np.log1p(sum(similarity[:, i].max() > 0.7 for i in range(size))),
        "opening": similarity[:, :OPENING_TOKENS].max(axis=1).mean(),
        "semantic": max(cosine(topic.mean(axis=0), passage) for passage in passages),
        "tokens": np.log(len(topic)),
    }


def by_words(topic: str, text: str, title: str = "") -> dict[str, float]:
    row = match_features([topic], [np.eye(2)[:1]], [Document("d", text, title)], ONE_TOKEN)[0, 0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


@given(
    st.lists(st.lists(st.integers(1, 70), min_size=1, max_size=3), min_size=1, max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.integers(0, 2**32),
)
def test_vector_features_are_what_their_descriptions_say(
    windows: list[list[int]], lengths: list[int], seed: int
) -> None:
    """Documents of several windows, shorter and longer than a stretch, an opening and a passage, side by side."""
    chance = np.random.default_rng(seed)
    parts = [[unit(chance, size) for size in sizes] for sizes in windows]
    topics = [unit(chance, length) for length in lengths]
    documents = [Document(str(i), "text") for i in range(len(parts))]
    encoded = EncodedDocuments.of([Ragged.of(own) for own in parts])
    found = match_features(["topic"] * len(topics), topics, documents, encoded)
    assert found.shape == (len(topics), len(parts), len(FEATURES))
    for t, topic in enumerate(topics):
        for d, own in enumerate(parts):
            expected = plainly(topic, np.concatenate(own))
            read = dict(zip(FEATURES, found[t, d].tolist(), strict=True))
            assert {name: read[name] for name in VECTOR_FEATURES} == pytest.approx(expected, abs=1e-5)


def test_a_stretch_never_reaches_into_the_next_document() -> None:
    """The topic's two words meet only where two documents meet."""
    one, other, neither = np.eye(3)
    documents = [np.stack([neither] * 19 + [one]), np.stack([other] + [neither] * 19), np.stack([neither] * 20)]
    encoded = EncodedDocuments.of([Ragged.of([document]) for document in documents])
    named = [Document(str(i), "text") for i in range(3)]
    found = match_features(["a b"], [np.stack([one, other])], named, encoded)[0]
    assert found[:, FEATURES.index("local")].tolist() == [0.5, 0.5, 0.0]


def test_words_that_stand_together_match_better_than_words_far_apart() -> None:
    one, other, neither = np.eye(3)
    near = np.stack([one, other] + [neither] * 40)
    far = np.stack([one] + [neither] * 40 + [other])
    encoded = EncodedDocuments.of([Ragged.of([near]), Ragged.of([far])])
    found = match_features(["a b"], [np.stack([one, other])], [Document("n", "x"), Document("f", "x")], encoded)[0]
    assert found[:, FEATURES.index("evidence")].tolist() == [1.0, 1.0]
    assert found[:, FEATURES.index("local")].tolist() == [1.0, 0.5]


def test_a_candidate_has_the_same_features_in_any_company(minilm: Backbone, own_documents: list[Document]) -> None:
    documents, topics = own_documents[:6], ["Tesla", "battery recycling in Norway"]
    encoded, vectors = minilm.encode_documents([one.full_text for one in documents]), minilm.encode_topics(topics)
    together = match_features(topics, vectors, documents, encoded)
    for i, document in enumerate(documents):
        alone = match_features(topics, vectors, [document], encoded.taken([i]))
        assert together[:, [i]] == pytest.approx(alone, abs=1e-5)
    halved = Ragged(encoded.windows.vectors.astype(np.float16), encoded.windows.offsets)
    half = EncodedDocuments(halved, encoded.offsets)
    smooth = [i for i, name in enumerate(FEATURES) if name != "places"]  # a count may tip over
    assert match_features(topics, vectors, documents, half)[..., smooth] == pytest.approx(
        together[..., smooth], abs=1e-2
    )


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("Tesla", "a TESLA!"),
        ("cat", "two cats"),
        ("cats", "one cat"),
        ("box", "boxes"),
        ("battery", "old batteries"),
        ("batteries", "one battery"),
        ("cable car", "Cable-cars"),
        ("cable car", "a cable  car"),
        ("glass", "glass"),
        ("C++", "written in C++, mostly"),
        ("C#", "C# or Java"),
        (".NET", "a .NET service"),
        ("Citroën", "the CITROËN Ami"),
        ("Citroen", "the Citroën Ami"),
        ("Citroën", "a Citroen, and a Citroe\u0308n"),
        ("Жигули", "старые жигули"),
        ("東京", "in 東京 now"),
        ("AT&T", "from AT&T."),
        ("R2-D2", "R2-D2 beeps"),
        ("rock 'n' roll", "Rock 'n' Roll"),
        ("(a|b)*", "see a b"),
    ],
)
def test_what_names_a_topic(topic: str, text: str) -> None:
    assert by_words(topic, text)["named"] == 1.0
    assert by_words(topic, text)["words"] == 1.0


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("rye", "Bryers and fryers"),
        ("cat", "concatenate the category"),
        ("Kasparov", "Kaposi's sarcoma"),
        ("C", "C++"),
        ("C", "C#"),
        ("C++", "C and D"),
        ("glass", "glas"),
        ("bus", "bu"),
        ("cable car", "cable and car"),
        ("a.b", "axb"),
        ("lead", "misleading"),
        ("!!!", "what!"),
    ],
)
def test_what_only_looks_like_a_topic(topic: str, text: str) -> None:
    row = by_words(topic, text)
    assert (row["named"], row["earliness"], row["mentions"]) == (0.0, 0.0, 0.0)


def test_how_early_and_how_often_a_topic_is_named() -> None:
    once = by_words("Tesla", "x" * 49 + " Tesla" + " y" * 23)  # at 50 of 101 characters
    assert once["earliness"] == pytest.approx(1 - 50 / 101)
    assert once["mentions"] == pytest.approx(np.log(2))
    assert by_words("Tesla", "Tesla, Tesla and Teslas")["mentions"] == pytest.approx(np.log(4))
    assert by_words("Tesla", "sold by others", "Tesla")["earliness"] == 1.0


def test_the_share_of_content_words_leaves_stop_words_out() -> None:
    row = by_words("the history of chess", "a short history of the pawn", "Chess")
    assert (row["named"], row["words"], row["title_words"]) == (0.0, 1.0, 0.5)
    assert by_words("the who", "who is the one")["words"] == 1.0  # nothing but stop words: then they count


def test_a_topic_without_any_word_is_found_as_it_is_written() -> None:
    assert topic_pattern("!!!").words == ()
    row = by_words("!!!", "the band !!! played", "Live!!!")
    assert (row["named"], row["words"], row["title_words"]) == (1.0, 0.0, 0.0)


@given(st.randoms(use_true_random=False))
def test_no_text_is_too_nasty(chance: random.Random) -> None:
    topic, text, title = (nasty_text(chance)[:3_000] for _ in range(3))
    row = by_words(topic or "x", f"{text} .", title)
    assert all(np.isfinite(value) for value in row.values())
    assert all(0 <= row[name] <= 1 for name in ("named", "earliness", "words", "title_words"))


@given(st.text(alphabet="(){}[]^$.*+?|\\-_#&~ \tab", min_size=1, max_size=30))
def test_expressions_in_a_topic_are_plain_text(topic: str) -> None:
    pattern = topic_pattern(topic)
    assert len(pattern.words) <= len(topic)
    if topic.strip():
        assert pattern.phrase.search("nothing here has it") is None


def test_vectors_of_a_narrow_cone_give_the_features_of_those_that_are_not() -> None:
    """A scale maps what lies between a backbone's levels to where the reference has it, words apart."""
    chance = np.random.default_rng(5)
    topic, document = unit(chance, 3), unit(chance, 60)
    narrow = [np.hstack([part * np.sqrt(0.2), np.full((len(part), 1), np.sqrt(0.8))]) for part in (topic, document)]
    level = [0.8 + 0.2 * value for value in (REFERENCE.token_floor, REFERENCE.token_top)]
    scale = SimilarityScale(*level, 0.0, 1.0)
    documents = [Document("d", "text")]
    plain = match_features(["topic"], [topic], documents, EncodedDocuments.of([Ragged.of([document])]))[0, 0]
    mapped = match_features(["topic"], narrow[:1], documents, EncodedDocuments.of([Ragged.of(narrow[1:])]), scale)[0, 0]
    for name in ("evidence", "weakest", "local", "places", "opening"):
        assert mapped[FEATURES.index(name)] == pytest.approx(plain[FEATURES.index(name)], abs=1e-4)
