"""The configuration file of a build: TOML, every table checked before anything is done."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from excise.errors import InvalidInput
from excise.xbench.checking import checked_settings
from excise.xbench.conversation import Channel
from excise.xbench.endpoint import Endpoint
from excise.xbench.gating import GateSettings
from excise.xbench.mining import Band, MiningSettings
from excise.xbench.run_settings import GraderOptions, JudgeOptions, WriterOptions, option_names
from excise.xbench.storage import XBenchError
from excise.xbench.suite_writer import Controls

_TABLES = ("mine", "writer", "judge", "gates", "grade", "controls", "audit")
_TOP = ("run", "suite", "split", *_TABLES)
_ENDPOINT = ("endpoint", *(name for name in Endpoint.__dataclass_fields__ if name != "url"))
_Kind = TypeVar("_Kind")
_OPTIONS: dict[str, type[WriterOptions | JudgeOptions | GraderOptions]] = {
    "writer": WriterOptions,
    "judge": JudgeOptions,
    "grade": GraderOptions,
}


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
        table |= {"corpus": corpus, "band": _checked(Band, edges, "mine")}
        return _checked(MiningSettings, table, "mine")

    def model(self, who: str) -> dict[str, Any]:
        """The settings of the writer, of the judge or of the grader."""
        known = option_names(_OPTIONS[who])
        own = {name: value for name, value in self._tables[who].items() if name in known}
        if who != "writer":
            return own
        # What the gates ask for is asked before anything is rewritten: the two must not differ.
        shares = {name: self._tables["gates"].get(name) for name in ("bm25_share", "maxsim_share")}
        return {**{name: value for name, value in shares.items() if value is not None}, **own}

    @property
    def graded(self) -> bool:
        """Whether the suite is to be graded: the file has a table [grade]."""
        return bool(self._tables["grade"])

    def channel(self, who: str) -> Channel:
        """The endpoint, or the batch files in the run folder."""
        table = dict(self._tables[who])
        allowed = (*option_names(_OPTIONS[who]), *_ENDPOINT, "batch", "allow_writer")
        strange = [name for name in table if name not in allowed]
        if strange:
            raise XBenchError(f"[{who}] has no setting {strange[0]!r}; it has {', '.join(allowed)}.")
        found = sorted((self.run / "batch").glob(f"{who}-answers*.jsonl"))
        if "endpoint" in table:
            asked = {name: table[name] for name in _ENDPOINT if name in table and name != "endpoint"}
            endpoint = _checked(Endpoint, {"url": table["endpoint"], **asked}, who)
            return Channel(endpoint, tuple(found))
        if table.get("batch") is not True:
            raise XBenchError(f"[{who}] needs endpoint = 'URL' or batch = true.")
        return Channel(batch_in=tuple(found), batch_out=self.run / "batch" / f"{who}-requests.jsonl")

    def allow_writer(self) -> bool:
        return self._tables["judge"].get("allow_writer") is True

    def gates(self) -> GateSettings:
        table = dict(self._tables["gates"])
        table["references"] = tuple(self._places(table.get("references", []), "[gates] references"))
        return _checked(GateSettings, table, "gates")

    def controls(self) -> Controls:
        table = dict(self._tables["controls"])
        boolean = self._places(table.get("boolean", []), "[controls] boolean")
        no_harm = [no_harm_place(text) for text in _texts(table.get("no_harm", []), "[controls] no_harm")]
        table |= {"boolean": boolean, "no_harm": [(self._place(str(folder)), split) for folder, split in no_harm]}
        return _checked(Controls, table, "controls")

    def train(self) -> list[Path]:
        return self._places(self._tables["audit"].get("train", []), "[audit] train")

    def _place(self, text: str) -> Path:
        return self._folder / Path(text).expanduser()

    def _places(self, texts: Any, where: str) -> list[Path]:
        return [self._place(text) for text in _texts(texts, where)]


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


def _checked(kind: type[_Kind], values: Mapping[str, Any], table: str) -> _Kind:
    return checked_settings(kind, values, f"[{table}]", f"[{table}] ")


def _texts(texts: Any, where: str) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise XBenchError(f"{where} must be a list of paths, got {texts!r}.")
    return texts


def _two(value: Any, where: str) -> tuple[float, float]:
    numbers = isinstance(value, list) and len(value) == 2 and all(isinstance(item, int | float) for item in value)
    if not numbers:
        raise XBenchError(f"{where} must be two numbers, got {value!r}.")
    return float(value[0]), float(value[1])
