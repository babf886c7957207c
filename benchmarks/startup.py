"""How long a person waits: for the help, for the encoder, for the first answer and for the next one.

    python benchmarks/startup.py                                # of the installed excise
    PYTHONPATH=OTHER/src python benchmarks/startup.py --json    # of another checkout

Every figure is the median over fresh processes, interpreter included; only the last row is measured inside of one. One
run that is not counted comes before them, so that files are in the system's cache. Loading is done by public names
alone, so that old versions can be measured too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = "from excise.cli import main; main()"
INDEX = """
import sys, excise
names = ["Nissan Leaf", "Tesla Model 3", "Renault Zoe", "BYD Dolphin", "Tesla Model Y", "Citroen Ami", "Fiat 500"]
texts = ["an electric hatchback", "an electric sedan", "a small electric car", "an electric crossover", "a city car"]
excise.load().index(
    [{"id": f"{i}-{j}", "title": name, "text": f"The {name} is {text}."}
     for i, name in enumerate(names) for j, text in enumerate(texts)],
    sys.argv[1],
)
"""
QUERY = "electric cars, but not Tesla"
SEARCHES = f"""
import sys, time, excise
operator = excise.load(sys.argv[1])
operator.search({QUERY!r})
start = time.perf_counter()
operator.search("small cars that are not made by Renault")
print(time.perf_counter() - start)
"""
FIRST_SEARCH = f"import sys, excise; excise.load(sys.argv[1]).search({QUERY!r})"


def seconds(*arguments: str) -> float:
    """How long a process takes from start to end."""
    start = time.perf_counter()
    output(*arguments)
    return time.perf_counter() - start


def output(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def measured(index: str, runs: int) -> dict[str, float]:
    """Median seconds by what was measured. The rows take turns, so that a busy machine slows all alike."""
    processes = {
        "python alone": ["pass"],
        "import excise": ["import excise"],
        "excise --version": [COMMAND, "--version"],
        "excise --help": [COMMAND, "--help"],
        "load the embedded encoder": ["import excise; excise.load().backbone.encode_query('cars')"],
        "load and first search": [FIRST_SEARCH, index],
        "excise search": [COMMAND, "search", QUERY, "-i", index, "--json"],
    }
    times: dict[str, list[float]] = {name: [] for name in [*processes, "second search, in the same process"]}
    for run in range(runs + 1):
        print(f"\rrun {run} of {runs}", end="", file=sys.stderr)
        for name, arguments in processes.items():
            taken = seconds(*arguments)
            times[name] += [taken] if run else []
        taken = float(output(SEARCHES, index))
        times["second search, in the same process"] += [taken] if run else []
    print(file=sys.stderr)
    return {name: round(statistics.median(taken), 4) for name, taken in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        output(INDEX, index)
        found = measured(index, options.runs)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, median in found.items():
        print(f"{name:36} {median:8.3f} s")


if __name__ == "__main__":
    main()
