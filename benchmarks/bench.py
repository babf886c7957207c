"""All that ``make bench`` measures, one part after the other, and docs/performance.md from it.

    python benchmarks/bench.py                                     # 1,000 and 10,000 documents: minutes
    python benchmarks/bench.py --sizes 1000 10000 100000 1000000   # 8 GB of disk, most of an hour
    python benchmarks/bench.py --source DIR --queries queries.jsonl --index "Wikipedia paragraphs=DIR"
    python benchmarks/bench.py --cross-encoder weights/ms-marco-MiniLM-L-12-v2 --engines qdrant lancedb

The parts are the other scripts of this folder, each in a process of its own. The grown corpora
(benchmarks/grown_corpus.py) are made of the vectors of ``--source``, by default an index of the bundled corpus.
Whatever is measured is kept in ``--work`` and not measured again: remove it for a new run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from excise.encoders.backbone import load_backbone
from excise.engines import MANIFEST, LocalEngine
from excise.search.operator import load
from excise.suites import bundled
from excise.suites.suites import load_suite
from grown_corpus import grown
from performance_page import Measured, write_page

HERE = Path(__file__).parent


def source_index(named: Path | None, work: Path) -> LocalEngine:
    """The real index whose vectors are grown."""
    folder = named or work / "bundled"
    if not (folder / MANIFEST).exists():
        with bundled.corpus() as corpus:
            load().index(corpus, folder)
    return LocalEngine.open(folder)


def encoded_queries(named: Path | None, backbone: str, path: Path, most: int) -> None:
    """The queries' token vectors, in a file for the processes that measure."""
    if path.exists():
        return
    if named is None:
        with bundled.suite() as folder:
            texts = [query.text for query in load_suite(folder, "dev", most).queries]
    else:
        texts = [json.loads(line)["text"] for line in named.read_text(encoding="utf-8").splitlines()[:most]]
    vectors = [query.vectors for query in load_backbone(backbone).encode_queries(texts)]
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in vectors])])
    np.savez(path, vectors=np.concatenate(vectors), offsets=offsets)


def measured(name: str, folder: Path, options: argparse.Namespace, more: dict[str, Any]) -> dict[str, Any]:
    """What a search of an index costs, measured in a process of its own."""
    kept = options.work / f"{name}.json".replace(" ", "-").replace(",", "")
    if not kept.exists():
        command = [sys.executable, str(HERE / "search_cost.py"), str(folder), "--queries", str(options.encoded)]
        command += ["--most", str(options.most), "--exact", str(options.exact), "--threads", str(options.threads)]
        told = subprocess.run(command, check=True, capture_output=True, text=True)
        kept.write_text(json.dumps({"name": name, **json.loads(told.stdout), **more}))
    return dict(json.loads(kept.read_text()))


def grown_size(size: int, source: LocalEngine, options: argparse.Namespace) -> dict[str, Any]:
    """An index grown to a size, measured and removed."""
    name, folder = f"{size:,} grown documents", options.work / f"grown-{size}"
    kept = options.work / f"{name}.json".replace(" ", "-").replace(",", "")
    if kept.exists():
        return measured(name, folder, options, {})
    print(f"growing {size:,} documents", file=sys.stderr, flush=True)
    seconds = grown(source, folder, size, options.tokens)
    found = measured(name, folder, options, {"build_seconds": seconds})
    if not options.keep:
        shutil.rmtree(folder)
    return found


def part(name: str, options: argparse.Namespace, script: str, *arguments: str) -> dict[str, Any]:
    """What another benchmark measures, in a process of its own."""
    kept: Path = options.work / f"{name}.json"
    if not kept.exists():
        print(f"{name}", file=sys.stderr, flush=True)
        told = subprocess.run([sys.executable, str(HERE / script), *arguments], check=True, stdout=subprocess.PIPE)
        kept.write_bytes(told.stdout)
    return dict(json.loads(kept.read_text()))


def parts(source: Path, options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """All but the cost by size."""
    index, threads = ["--index", str(source)], ["--threads", str(options.threads)]
    found = {
        "firing": part("firing", options, "firing_latency.py", *index, *threads, "--first", "25", "--json"),
        "detector": part("detector", options, "detector_latency.py", *threads, "--json"),
        "kernels": part("kernels", options, "maxsim_kernels.py", *threads),
        "loops": part("loops", options, "indexing.py", "--only", "loops", "--sample", "100", *threads, "--json"),
        "indexing": part(
            "indexing", options, "indexing.py", "--only", "documents", "--documents", *options.indexed, "--json"
        ),
        "startup": part("startup", options, "startup.py", "--runs", "3", "--json"),
    }
    if options.cross_encoder:
        reader = ["--cross-encoder", str(options.cross_encoder)]
        found["reader"] = part("reader", options, "beside_cross_encoder.py", *index, *reader, *threads, "--json")
    if options.engines:
        asked = ["--documents", "20000", "--queries", "10", "--engines", *options.engines]
        found["engines"] = part("engines", options, "engines.py", *index, *asked, "--json")
    return found


def command(options: argparse.Namespace) -> str:
    """How this was called; folders of the machine are left out."""
    told = "python benchmarks/bench.py --sizes " + " ".join(map(str, sorted(options.sizes)))
    told += f" --most {options.most} --exact {options.exact}"
    told += " --source INDEX" if options.source else ""
    told += " --queries QUERIES" if options.queries else ""
    told += "".join(f' --index "{one.partition("=")[0]}=INDEX"' for one in options.index)
    told += f" --cross-encoder {options.cross_encoder.name}" if options.cross_encoder else ""
    return told + (f" --engines {' '.join(options.engines)}" if options.engines else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000], help="documents of grown corpora")
    parser.add_argument("--tokens", type=int, default=32, help="token vectors of a grown document")
    parser.add_argument("--source", type=Path, help="a real index, whose vectors are grown")
    parser.add_argument("--queries", type=Path, help='JSON lines with "text"; by default the bundled ones')
    parser.add_argument("--index", action="append", default=[], metavar="NAME=DIR", help="a real index; repeat it")
    parser.add_argument("--most", type=int, default=50, help="so many queries")
    parser.add_argument("--exact", type=int, default=20, help="and so many of them exactly too, for recall")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--work", type=Path, default=Path(".bench"), help="where indexes and measurements are kept")
    parser.add_argument(
        "--indexed", nargs="+", default=["500", "2000"], help="documents to index, for speed and memory"
    )
    parser.add_argument("--cross-encoder", type=Path, help="a cross-encoder's folder, to be beside")
    parser.add_argument("--engines", nargs="*", default=[], help="databases to be beside: qdrant, lancedb, postgres")
    parser.add_argument("--keep", action="store_true", help="keep the grown indexes")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "performance.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    options.encoded = options.work / "queries.npz"
    source = source_index(options.source, options.work)
    encoded_queries(options.queries, source.reader().encoder.backbone, options.encoded, options.most)
    real = [
        measured(name, Path(folder), options, {}) for name, _, folder in (one.partition("=") for one in options.index)
    ]
    rows = [grown_size(size, source, options) for size in sorted(options.sizes)]
    others = parts(options.source or options.work / "bundled", options)
    write_page(options.out, Measured(real, rows, others, options.threads, options.tokens, command(options)))
    print(f"{options.out} is written", file=sys.stderr)


if __name__ == "__main__":
    main()
