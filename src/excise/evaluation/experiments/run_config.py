"""What the outcomes of a run depend on: data, systems, models, settings and versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from excise import __version__
from excise.evaluation.systems.external_spec import ForeignModel
from excise.evaluation.systems.foreign_encoders import model_fingerprint
from excise.evaluation.systems.spec import DEPTH, SystemSpec, Trained
from excise.evaluation.systems.topic_sources import detector_fingerprint
from excise.search.operator import Excise
from excise.settings import Settings

SEED = 0
_PACKAGES = ("bm25s", "ir-measures", "numpy", "scikit-learn", "sentence-transformers", "torch")


@dataclass(frozen=True)
class RunConfig:
    """How a run is made.

    Attributes
    ----------
    data
        what is measured on: a suite and its split, or a file of pairs.
    systems
        their names, in the order asked for.
    limit
        how many queries or pairs at most; None for all of them.
    backbone
        the encoder's name.
    fingerprints
        digests of everything that is read: models and data.
    settings
        those of the shipped operator.
    """

    data: Mapping[str, str]
    systems: tuple[str, ...]
    limit: int | None
    backbone: str
    fingerprints: Mapping[str, str]
    settings: Settings

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON, with the versions of all that takes part."""
        return {
            **self.data,
            "systems": list(self.systems),
            "limit": self.limit,
            "seed": SEED,
            "depth": DEPTH,
            "backbone": self.backbone,
            "fingerprints": dict(self.fingerprints),
            **self.settings.as_dict(),
            "versions": package_versions(),
        }


def run_config(
    data: Mapping[str, str],
    specs: Sequence[SystemSpec],
    operator: Excise,
    limit: int | None,
    fingerprints: Mapping[str, str],
) -> RunConfig:
    """The configuration of a run of systems with an operator; ``fingerprints`` are those of the data."""
    models = {"backbone": operator.backbone.fingerprint, "coverage": operator.pipeline.models.readout.fingerprint}
    if operator.adapter is not None:
        models["adapter"] = operator.adapter.fingerprint
    if any(spec.source == "detector" for spec in specs):
        models["detector"] = detector_fingerprint()
    models |= {f"model of {spec.name}": model_fingerprint(model) for spec in specs if (model := loaded_by(spec))}
    names = tuple(spec.name for spec in specs)
    return RunConfig(data, names, limit, operator.backbone.name, models | dict(fingerprints), operator.settings)


def loaded_by(spec: SystemSpec) -> str:
    """The folder or the name of what a system loads beside the operator's models; empty where it loads nothing."""
    if isinstance(spec.way, Trained):
        return str(spec.way.folder)
    return spec.way.model if isinstance(spec.way, ForeignModel) else ""


def package_versions() -> dict[str, str]:
    """The versions of all that takes part, by package."""
    found = {"excise": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # not every system needs every one of them
            continue
    return found
