"""Names of systems: what they stand for, what is refused, and paths that hold colons and commas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from excise.errors import InvalidInput
from excise.evaluation.systems.spec import (
    PLAIN,
    FirstStage,
    Intervening,
    Operating,
    Trained,
    parse_system,
    parse_systems,
    split_names,
)
from excise.settings import PAPER_RULE, Settings, resolve


def settings_of(name: str) -> Settings:
    way = parse_system(name).way
    assert isinstance(way, Operating)
    return way.settings


def test_names_stand_for_typed_specs() -> None:
    assert parse_system("frozen").way == FirstStage("frozen")
    assert parse_system("bm25:oracle").source is None
    assert parse_system("excise").way == Operating(Settings())
    assert parse_system("excise", resolve("paper")).way == Operating(resolve("paper"))
    assert parse_system("paper").way == Operating(PAPER_RULE)
    assert parse_system("bm25-z:detector").way == Intervening("bm25-z", PLAIN)
    assert parse_system("reindexed=runs/a").way == Trained("reindexed", Path("runs/a"))
    for name, source in (("excise", "detector"), ("excise:detector", "detector"), ("excise:oracle", "oracle")):
        spec = parse_system(name)
        assert (spec.name, spec.source) == (name, source)


def test_the_names_of_constants_stay_though_the_constants_have_better_ones() -> None:
    coverage = settings_of("lead=1.5+match=0.4+odds=0.1+caution=0.6+asked=0.5").coverage
    assert (coverage.margin, coverage.match_share, coverage.odds_fraction) == (1.5, 0.4, 0.1)
    assert (coverage.caution, coverage.asked) == (0.6, 0.5)
    assert settings_of("whole=0.5").whole_query == 0.5
    assert settings_of("words=0").word_share == 0
    assert settings_of("-asked").coverage.asked == 0
    assert settings_of("-lead").coverage.margin == float("inf")
    assert not settings_of("one-reading").adapter_fusion
    assert settings_of("one-reading").rule == "coverage"


@pytest.mark.parametrize("folder", ["/a:b,c/dir", "C:\\runs\\one", "a+b=c", "runs/x:oracle/y", "with space"])
def test_a_controls_folder_may_hold_anything(folder: str) -> None:
    assert parse_system(f"query-only={folder}").way == Trained("query-only", Path(folder))
    line = f'frozen, query-only="{folder}" ,bm25'
    assert [spec.way for spec in parse_systems(line)][1] == Trained("query-only", Path(folder))
    assert [spec.way for spec in parse_systems(["frozen", f"query-only={folder}"])][1].folder == Path(folder)  # type: ignore[union-attr]


def test_a_source_is_read_at_the_end_of_a_name_alone() -> None:
    assert parse_system("query-only=/runs/a:oracle").way == Trained("query-only", Path("/runs/a"))
    assert parse_system('query-only="/runs/a:oracle"').way == Trained("query-only", Path("/runs/a:oracle"))
    assert parse_system("query-only=/runs/a:oracle").source is None


def test_lines_of_names_and_lists() -> None:
    found = parse_systems(" frozen, paper:oracle,,frozen,max")
    assert [(spec.name, spec.source) for spec in found] == [
        ("frozen", None),
        ("paper:oracle", "oracle"),
        ("max", "detector"),
    ]
    assert split_names('a,b="x,y"z,c') == ["a", 'b="x,y"z', "c"]
    for nothing in (" ,", "", [], [" "]):
        with pytest.raises(InvalidInput, match="name at least one system; there are frozen"):
            parse_systems(nothing)
    with pytest.raises(InvalidInput, match="a double quote is not closed in 'query-only=\"/a,b'"):
        parse_systems('query-only="/a,b')


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nonsense", "there is no system 'nonsense': 'nonsense' is not one of frozen, bm25, .*z-conditional"),
        ("max+nonsense", "'nonsense' is not one of"),
        ("max+bm25-z", "'bm25-z' does not belong to the paper rule"),
        ("excise+phi=0.8", r"'phi=0\.8' does not belong to the coverage rule"),
        ("excise:truth", "':oracle' or ':detector', not from ':truth'"),
        ("excise:", "not from ':'"),
        ("excise:oracle:oracle", "not from ':oracle'"),
        ("phi=high", "'phi=high' is not a number"),
        ("cap=1.5", "'cap=1.5' is not a whole number"),
        ("phi=2", "removal_fraction must be a number from 0 to 1"),
        ("k=200", "k must be at most 100"),
        ("k=0", "shortlist must be a whole number of at least 1"),
        ("drop+max", "an intervention has its own evidence and scores"),
        ("drop+k=50", "an intervention has its own evidence and scores"),
        ("query-only=", "'query-only=' names no folder"),
        ("", "there is no system ''"),
    ],
)
def test_unknown_names_list_the_known_ones(name: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse_system(name)


def test_a_name_is_parsed_without_loading_models() -> None:
    asked = "import sys; from excise.evaluation.systems.spec import parse_system; parse_system('full+first=5'); "
    loaded = "print(sorted({'torch', 'bm25s', 'sklearn', 'transformers'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", asked + loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
