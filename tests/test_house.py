"""The house itself: nothing imports upwards, and no two things share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import excise

ROOT = Path(excise.__file__).parent
FLOORS = (  # each may import what stands on its own floor or below
    ("errors", "progress", "extras", "text", "cache_folder", "durable", "cores", "model_folders"),
    ("documents", "filters"),
    ("vectors", "results"),
    ("encoders", "topics", "engines"),
    ("rules",),
    ("settings",),
    ("search",),
    ("suites", "integrations"),
    ("service",),
    ("evaluation",),
    ("training", "xbench"),
    ("cli",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def test_every_room_has_a_floor() -> None:
    rooms = {name.split(".")[0] for name, _ in modules()} - {"__init__", "__main__"}
    assert rooms == set(FLOOR_OF)


def test_nothing_imports_upwards() -> None:
    upwards = []
    for name, tree in modules():
        if name in ("__init__", "__main__"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("excise."):
                room = node.module.split(".")[1]
                if FLOOR_OF[room] > FLOOR_OF[name.split(".")[0]]:
                    upwards.append(f"{name} imports {node.module}")
    assert upwards == []


def test_no_two_modules_classes_or_functions_share_a_name() -> None:
    homes = defaultdict(list)
    for name, tree in modules():
        if not name.endswith("__init__"):
            homes[f"{name.split('.')[-1]}.py"].append(name)
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    # The command line names its commands after what they do.
    doubled = {
        name: places
        for name, places in homes.items()
        if len([place for place in places if not place.startswith("cli.")]) > 1
    }
    assert doubled == {}
