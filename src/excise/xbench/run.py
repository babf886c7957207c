"""The folder of a run: one file per step, each written whole, so that every step can go on where it stopped.

config.json            what was asked for: corpus, index, band, writer, judge
pairs.jsonl            mined pairs
means.npy              one mean vector a document
answers/<stage>.jsonl  every answer of a language model, under the hash of its request: nothing is paid twice
records.jsonl          queries with their labels
verdicts.jsonl         what the judge said (verdicts-NAME.jsonl: a further judge)
gates.jsonl            every record's failures
funnel.json, funnel.svg, report.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from excise.xbench.records import Pair, Record, pair_from, record_from, to_dict
from excise.xbench.storage import XBenchError, read_json, read_lines, write_json, write_lines

CONFIG = "config.json"


class Run:
    """A run folder. Make one with :meth:`start`, open one with :meth:`open`."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.config = config

    @classmethod
    def open(cls, folder: Path) -> Run:
        """Open what ``excise xbench mine`` made."""
        if not (folder / CONFIG).is_file():
            raise XBenchError(f"{folder} is not a run: make one with 'excise xbench mine CORPUS --out {folder}'.")
        return cls(folder, read_json(folder / CONFIG))

    @classmethod
    def start(cls, folder: Path, mining: Mapping[str, Any], overwrite: bool = False) -> Run:
        """A new run, or one of the same configuration to go on with.

        Answers are never discarded: those whose request comes up again are used again.
        """
        if (folder / CONFIG).is_file():
            run = cls.open(folder)
            before = run.config.get("mining", {})
            other = [key for key in {**before, **mining} if before.get(key) != mining.get(key)]
            if other and not overwrite:
                raise XBenchError(
                    f"{folder} holds a run with other settings ({', '.join(other)} differ): name another folder, or "
                    "mine again with --overwrite (answers are kept, and used where they still fit)."
                )
            if other:
                for name in ("pairs.jsonl", "records.jsonl"):
                    (folder / name).unlink(missing_ok=True)
            run.config["mining"] = dict(mining)
        else:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise XBenchError(f"{folder} is not empty and is not a run; name a new folder.")
            run = cls(folder, {"format": "excise-xbench", "version": 1, "mining": dict(mining)})
        run.save()
        return run

    def save(self) -> None:
        write_json(self.folder / CONFIG, self.config)

    def remember(self, who: str, settings: Mapping[str, Any]) -> None:
        """Note which model writes or judges."""
        if self.config.get(who) != dict(settings):
            self.config[who] = dict(settings)
            self.save()

    @property
    def corpus(self) -> Path:
        return Path(self.config["mining"]["corpus"])

    @property
    def index(self) -> Path:
        return Path(self.config["mining"]["index"] or self.folder / "index")

    def path(self, name: str) -> Path:
        return self.folder / name

    def pairs(self) -> list[Pair]:
        path = self.folder / "pairs.jsonl"
        if not path.is_file():
            raise XBenchError(f"{self.folder} has no pairs yet: run 'excise xbench mine' to its end first.")
        return [pair_from(content, where) for where, content in read_lines(path)]

    def write_pairs(self, pairs: Iterable[Pair]) -> None:
        write_lines(self.folder / "pairs.jsonl", (to_dict(pair) for pair in pairs))

    def records(self) -> list[Record]:
        path = self.folder / "records.jsonl"
        if not path.is_file():
            raise XBenchError(f"{self.folder} has no records yet: run 'excise xbench write {self.folder}' first.")
        return [record_from(content, where) for where, content in read_lines(path)]

    def write_records(self, records: Iterable[Record]) -> None:
        write_lines(self.folder / "records.jsonl", (to_dict(record) for record in records))
