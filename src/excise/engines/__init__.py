"""First stages: one contract (:mod:`excise.engines.base`) and the engines that keep it."""

from excise.engines.base import Engine, Found, Reader, Writer
from excise.engines.catalogue import ENGINES, EngineAddress
from excise.engines.local.engine import LocalEngine
from excise.engines.local.manifest import MANIFEST

__all__ = ["ENGINES", "MANIFEST", "Engine", "EngineAddress", "Found", "LocalEngine", "Reader", "Writer"]
