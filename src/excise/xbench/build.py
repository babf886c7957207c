"""A whole benchmark from one configuration file: every step in turn, each going on where it stopped."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.suites.suites import load_suite
from excise.xbench.audit import annotation_sheet, audit_suite
from excise.xbench.conversation import Channel
from excise.xbench.endpoint import Endpoint
from excise.xbench.gallery import gallery
from excise.xbench.gating import GateSettings
from excise.xbench.mining import Band
from excise.xbench.run_settings import JUDGE, WRITER, dataclass_of
from excise.xbench.steps import MiningSettings, gate_run, judge_run, mine_run, write_run
from excise.xbench.storage import XBenchError, write_json, write_text
from excise.xbench.suite_writer import Controls

_TABLES = ("mine", "writer", "judge", "gates", "controls", "audit")
_TOP = ("run", "suite", "split", *_TABLES)
_ENDPOINT = ("endpoint", *(name for name in Endpoint.__dataclass_fields__ if name != "url"))


class BuildConfig:
    """A configuration file, read and checked. Paths in it are seen from the folder that it is in."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise XBenchError(f"{path}: no such file.")
        try:
            content = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise XBenchError(f"{path}: not valid TOML ({error}).") from None
        self._folder = path.parent
        strange = [name for name in content if name not in _TOP]
        if strange:
            raise XBenchError(f"{path}: {strange[0]!r} is none of {', '.join(_TOP)}.")
        self._tables: dict[str, dict[str, Any]] = {}
        for name in _TABLES:
            table = content.get(name, {})
            if not isinstance(table, dict):
                raise XBenchError(f"{path}: {name} must be a table ([{name}]).")
            self._tables[name] = table
        for name in ("run", "suite"):
            if not isinstance(content.get(name), str) or not content[name]:
                raise XBenchError(f"{path}: needs {name} = 'FOLDER'.")
        self.run, self.suite = self._place(content["run"]), self._place(content["suite"])
        self.split = str(content.get("split", "test"))

    def mining(self, corpus: Path) -> MiningSettings:
        table = dict(self._tables["mine"])
        edges: dict[str, Any] = {name: table.pop(name) for name in ("loosen",) if name in table}
        for name in ("band", "quantiles"):
            if name in table:
                low, high = _two(table.pop(name), f"[mine] {name}")
                edges |= {"low": low, "high": high, "absolute": name == "band"}
        if "index" in table:
            table["index"] = self._place(table["index"])
        table |= {"corpus": corpus, "band": dataclass_of(Band, edges, "mine")}
        return dataclass_of(MiningSettings, table, "mine")

    def model(self, who: str) -> dict[str, Any]:
        """The settings of the writer or of the judge."""
        known = WRITER if who == "writer" else JUDGE
        return {name: value for name, value in self._tables[who].items() if name in known}

    def channel(self, who: str) -> Channel:
        """The endpoint, or the batch files in the run folder."""
        table = dict(self._tables[who])
        known = WRITER if who == "writer" else JUDGE
        allowed = (*known, *_ENDPOINT, "batch", "allow_writer")
        strange = [name for name in table if name not in allowed]
        if strange:
            raise XBenchError(f"[{who}] has no setting {strange[0]!r}; it has {', '.join(allowed)}.")
        found = sorted((self.run / "batch").glob(f"{who}-answers*.jsonl"))
        if "endpoint" in table:
            asked = {name: table[name] for name in _ENDPOINT if name in table and name != "endpoint"}
            endpoint = dataclass_of(Endpoint, {"url": table["endpoint"], **asked}, who)
            return Channel(endpoint, tuple(found))
        if table.get("batch") is not True:
            raise XBenchError(f"[{who}] needs endpoint = 'URL' or batch = true.")
        return Channel(batch_in=tuple(found), batch_out=self.run / "batch" / f"{who}-requests.jsonl")

    def allow_writer(self) -> bool:
        return self._tables["judge"].get("allow_writer") is True

    def gates(self) -> GateSettings:
        table = dict(self._tables["gates"])
        table["references"] = tuple(self._places(table.get("references", []), "[gates] references"))
        return dataclass_of(GateSettings, table, "gates")

    def controls(self) -> Controls:
        table = dict(self._tables["controls"])
        no_harm = tuple(no_harm_place(text) for text in table.get("no_harm", []))
        boolean = self._places(table.get("boolean", []), "[controls] boolean")
        return dataclass_of(
            Controls,
            table | {"boolean": tuple(boolean), "no_harm": tuple((self._place(str(p)), s) for p, s in no_harm)},
            "controls",
        )

    def train(self) -> list[Path]:
        return self._places(self._tables["audit"].get("train", []), "[audit] train")

    def _place(self, text: str) -> Path:
        return self._folder / Path(text).expanduser()

    def _places(self, texts: Any, where: str) -> list[Path]:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise XBenchError(f"{where} must be a list of paths, got {texts!r}.")
        return [self._place(text) for text in texts]


def no_harm_place(text: str) -> tuple[Path, str]:
    """A suite and its split.

    Examples
    --------
    >>> no_harm_place("data/scifact:train")[1]
    'train'
    """
    folder, colon, split = text.rpartition(":")
    if not colon or not folder or not split:
        raise InvalidInput(f"a no-harm suite is named FOLDER:SPLIT, got {text!r}.")
    return Path(folder), split


def build(corpus: Path, config: BuildConfig, progress: Progress = silent) -> dict[str, Any]:
    """Run every step; stops, to be called again, where a batch of answers is waited for.

    Returns
    -------
    dict
        ``state`` ("done", or what is waited for) and what each step said.
    """
    # Everything is read before anything is paid for: a slip in the last table must not come up at the end.
    mining, writer, judge = config.mining(corpus), config.channel("writer"), config.channel("judge")
    gates, controls, train = config.gates(), config.controls(), config.train()
    said: dict[str, Any] = {"state": "done", "mine": mine_run(config.run, mining, progress=progress)}
    said["write"] = write_run(config.run, config.model("writer"), writer, progress)
    if said["write"]["pending"]:
        return said | {"state": _waits("writer", said["write"])}
    said["judge"] = judge_run(config.run, config.model("judge"), judge, None, config.allow_writer(), progress)
    if said["judge"]["pending"]:
        return said | {"state": _waits("judge", said["judge"])}
    said["gate"] = gate_run(config.run, config.suite, gates, config.split, controls, progress)
    said["audit"] = write_audit(config.suite, config.split, config.run / "audit", train=train)
    return said


def _waits(who: str, step: Mapping[str, Any]) -> str:
    files = ", ".join(step["batch_out"])
    answers = f"{who}-answers-N.jsonl"
    return (
        f"waiting for answers to {step['pending']:,} requests in {files}: put them beside it as {answers}, call again"
    )


def write_audit(
    suite: str | Path, split: str, out: Path, sheet: int = 150, seed: int = 0, **checks: Any
) -> dict[str, Any]:
    """Audit a suite, and write the findings, a sheet for annotators and the gallery into a folder."""
    audit = audit_suite(suite, split, **checks)
    loaded = load_suite(suite, split)
    write_json(out / "audit.json", audit.to_dict())
    write_text(out / "sheet.csv", annotation_sheet(loaded, sheet, seed))
    write_text(out / "gallery.html", gallery(loaded, seed=seed))
    return audit.to_dict()


def _two(value: Any, where: str) -> tuple[float, float]:
    numbers = isinstance(value, list) and len(value) == 2 and all(isinstance(item, int | float) for item in value)
    if not numbers:
        raise XBenchError(f"{where} must be two numbers, got {value!r}.")
    return float(value[0]), float(value[1])
