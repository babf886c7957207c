"""X-Bench suites over four domains, built after the rule's thresholds and the detector's rows of their time.

    python benchmarks/unseen_suites.py DATA OUT      # DATA/eurlex, finance, nfcorpus and negconstraint hold the corpora
    excise eval OUT/eurlex --split test --systems frozen,paper,maxsim-not,excise,excise:oracle --out runs/eurlex

Queries, golds and negatives are in ``benchmarks/unseen``: built with ``excise xbench``, one helper writing and another,
who had not seen its answers, judging (docs/xbench.md). EU law and annual reports came first; what was changed after
them was chosen with them in view. Nutrition and encyclopedia came after all of it: nothing was tuned on them.

The documents are others', so they are read from DATA: all of NFCorpus and of NegConstraint's; of the other two a seeded
sample of texts of 60 to 450 words, the one that the queries were mined from.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

QUERIES = Path(__file__).parent / "unseen"
DOCUMENTS = 2_500
WORDS = range(60, 451)
SEED = 5


def sample(corpus: Path) -> list[dict[str, Any]]:
    """The documents that the queries were mined from."""
    rows = everything(corpus)
    random.Random(SEED).shuffle(rows)
    return [row for row in rows if len(row["text"].split()) in WORDS][:DOCUMENTS]


def everything(corpus: Path) -> list[dict[str, Any]]:
    """All documents of a corpus."""
    return [json.loads(line) for line in corpus.read_text(encoding="utf-8").splitlines()]


SUITES = {
    "eurlex": ("eurlex", sample),
    "finance": ("finance", sample),
    "nutrition": ("nfcorpus", everything),
    "encyclopedia": ("negconstraint", everything),
}


def write_suite(name: str, data: Path, out: Path) -> int:
    """Write the suite of a domain; returns how many queries it has."""
    folder, documents_of = SUITES[name]
    documents = documents_of(data / folder / "corpus.jsonl")
    queries = [json.loads(line) for line in (QUERIES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    judged = {id for query in queries for id in (*query["gold"], *query["negatives"])}
    if missing := judged - {document["_id"] for document in documents}:
        raise SystemExit(f"{data / folder} is another corpus: it lacks {len(missing)} judged documents.")
    for part in ("qrels", "negatives"):
        (out / part).mkdir(parents=True, exist_ok=True)
    asked = [{"_id": query["_id"], "text": query["text"], "metadata": query["metadata"]} for query in queries]
    for file, rows in (("corpus.jsonl", documents), ("queries.jsonl", asked)):
        (out / file).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    golds = [f"{query['_id']}\t{id}\t1" for query in queries for id in query["gold"]]
    unwanted = [f"{query['_id']}\t{id}" for query in queries for id in query["negatives"]]
    (out / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *golds, ""]), encoding="utf-8")
    (out / "negatives" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id", *unwanted, ""]), encoding="utf-8")
    return len(queries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of corpora")
    parser.add_argument("out", type=Path, help="where the suites are written to")
    options = parser.parse_args()
    for name in SUITES:
        print(f"{options.out / name}: {write_suite(name, options.data, options.out / name)} queries")


if __name__ == "__main__":
    main()
