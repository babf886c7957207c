"""excise: search that respects "X but not Z", over a frozen late-interaction index.

The names below are loaded on first use, so that ``excise.rules.paper`` can be imported where no torch is installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from excise.documents import Document as Document
    from excise.encoders.backbone import Backbone as Backbone
    from excise.engines.base import Engine as Engine
    from excise.errors import BackboneError as BackboneError
    from excise.errors import BadCorpus as BadCorpus
    from excise.errors import BadIndex as BadIndex
    from excise.errors import ExciseError as ExciseError
    from excise.errors import InvalidInput as InvalidInput
    from excise.errors import ServiceError as ServiceError
    from excise.results import Detection as Detection
    from excise.results import Explanation as Explanation
    from excise.results import Hit as Hit
    from excise.results import IndexReport as IndexReport
    from excise.results import Judged as Judged
    from excise.results import Removed as Removed
    from excise.results import SearchResult as SearchResult
    from excise.results import Topic as Topic
    from excise.rules.coverage import Coverage as Coverage
    from excise.rules.decision import Decision as Decision
    from excise.rules.paper import Constants as Constants
    from excise.rules.paper import demote as demote
    from excise.search.operator import Excise as Excise
    from excise.search.operator import load as load
    from excise.service.client import Client as Client
    from excise.settings import Settings as Settings
    from excise.topics.detector import Detector as Detector

__version__ = "0.2.0"

_HOMES = {
    "documents": ("Document",),
    "encoders.backbone": ("Backbone",),
    "engines.base": ("Engine",),
    "errors": ("BackboneError", "BadCorpus", "BadIndex", "ExciseError", "InvalidInput", "ServiceError"),
    "results": ("Detection", "Explanation", "Hit", "IndexReport", "Judged", "Removed", "SearchResult", "Topic"),
    "rules.coverage": ("Coverage",),
    "rules.decision": ("Decision",),
    "rules.paper": ("Constants", "demote"),
    "search.operator": ("Excise", "load"),
    "service.client": ("Client",),
    "settings": ("Settings",),
    "topics.detector": ("Detector",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'excise' has no attribute {name!r}")
    return getattr(import_module(f"excise.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
