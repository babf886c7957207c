"""First stages: one small protocol (:mod:`excise.engines.base`) and the engines that speak it."""

from excise.engines.base import Candidate, Engine
from excise.engines.local.engine import LocalEngine

__all__ = ["Candidate", "Engine", "LocalEngine"]
