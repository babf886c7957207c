"""A run that writes to its folder until it is killed, told apart from a real one only by its made-up lines.

    python killed_run.py FOLDER FIRST

Opens the folder, adds one query's lines, says that they are there, and begins again. Called by ``test_run_folder``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from excise.evaluation.experiments.run_folder import RunFolder

SYSTEMS = ("frozen", "excise:oracle")
DEPTH = 40
CONFIG = {"systems": list(SYSTEMS), "limit": None}


@dataclass(frozen=True)
class MadeUp:
    """A line of about 20 kB: long enough to be torn."""

    system: str
    id: str

    def to_dict(self) -> dict[str, Any]:
        return {"system": self.system, "id": self.id, "text": "word\u2028" * 4_000, "metrics": {"hit@10": 1.0}}


def main() -> None:
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    while True:
        run, number = RunFolder(folder, CONFIG), number + 1
        ranking = [(f"d{rank}", 1.0 / rank) for rank in range(1, DEPTH + 1)]
        run.add([MadeUp(system, f"q{number}") for system in SYSTEMS], dict.fromkeys(SYSTEMS, ranking))
        print(f"q{number}", flush=True)  # noqa: T201 (how the test learns what was acknowledged)


if __name__ == "__main__":
    main()
