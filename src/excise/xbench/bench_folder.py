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

from excise.suites.jsonlines import read_objects
from excise.xbench.checking import checked_record
from excise.xbench.mining import Mined, MiningSettings
from excise.xbench.records import MinedPair, Record
from excise.xbench.storage import XBenchError, read_json, write_json, write_lines

CONFIG = "config.json"


class BenchFolder:
    """The folder of a benchmark in the making. Make one with :meth:`start`, open one with :meth:`open`."""

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.config = config

    @classmethod
    def open(cls, folder: Path) -> BenchFolder:
        """Open what ``excise xbench mine`` made."""
        if not (folder / CONFIG).is_file():
            raise XBenchError(f"{folder} is not a run: make one with 'excise xbench mine CORPUS --out {folder}'.")
        return cls(folder, read_json(folder / CONFIG))

    @classmethod
    def start(cls, folder: Path, settings: MiningSettings, overwrite: bool = False) -> BenchFolder:
        """A new run, or one of the same configuration to go on with.

        Answers are never discarded: those whose request comes up again are used again.
        """
        mining = settings.to_dict()
        if (folder / CONFIG).is_file():
            run = cls.open(folder)
            before = run.mining.to_dict()
            other = [key for key in {**before, **mining} if before.get(key) != mining.get(key)]
            if other and not overwrite:
                raise XBenchError(
                    f"{folder} holds a run with other settings ({', '.join(other)} differ): name another folder, or "
                    "mine again with --overwrite (answers are kept, and used where they still fit)."
                )
            if other:
                for name in ("pairs.jsonl", "records.jsonl"):
                    (folder / name).unlink(missing_ok=True)
            run.config["mining"] = mining
        else:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise XBenchError(f"{folder} is not empty and is not a run; name a new folder.")
            run = cls(folder, {"format": "excise-xbench", "version": 1, "mining": mining})
        run.save()
        return run

    def save(self) -> None:
        write_json(self.folder / CONFIG, self.config)

    def remembered(self, who: str) -> dict[str, Any]:
        """What was noted of the writer, a judge or the mining; empty where nothing was."""
        return dict(self.config.get(who, {}))

    def remember(self, who: str, settings: Mapping[str, Any]) -> None:
        """Note which model writes or judges, or what was mined."""
        if self.config.get(who) != dict(settings):
            self.config[who] = dict(settings)
            self.save()

    @property
    def mining(self) -> MiningSettings:
        """What was asked to be mined."""
        return checked_record(MiningSettings, self.remembered("mining"), str(self.folder / CONFIG), "run")

    @property
    def mined(self) -> Mined | None:
        """What mining found; None where it has not come to its end."""
        found = self.remembered("mined")
        return checked_record(Mined, found, str(self.folder / CONFIG), "mining") if found else None

    def path(self, name: str) -> Path:
        return self.folder / name

    def pairs(self) -> list[MinedPair]:
        path = self.folder / "pairs.jsonl"
        if not path.is_file():
            raise XBenchError(f"{self.folder} has no pairs yet: run 'excise xbench mine' to its end first.")
        return [MinedPair.from_dict(content, line.where) for line, content in read_objects(path, XBenchError)]

    def write_pairs(self, pairs: Iterable[MinedPair]) -> None:
        write_lines(self.folder / "pairs.jsonl", (pair.to_dict() for pair in pairs))

    def records(self) -> list[Record]:
        path = self.folder / "records.jsonl"
        if not path.is_file():
            raise XBenchError(f"{self.folder} has no records yet: run 'excise xbench write {self.folder}' first.")
        return [Record.from_dict(content, line.where) for line, content in read_objects(path, XBenchError)]

    def write_records(self, records: Iterable[Record]) -> None:
        write_lines(self.folder / "records.jsonl", (record.to_dict() for record in records))
