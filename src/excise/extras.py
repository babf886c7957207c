"""Packages that only some commands need: what is missing is told with the extra that brings it."""

from __future__ import annotations

from importlib.util import find_spec

from excise.errors import MissingExtra

_PACKAGES = {  # modules that their package is not named after
    "haystack": "haystack-ai",
    "ir_measures": "ir-measures",
    "langchain_core": "langchain-core",
    "llama_index": "llama-index-core",
    "prometheus_client": "prometheus-client",
    "qdrant_client": "qdrant-client",
    "sklearn": "scikit-learn",
}


def need(what: str, extra: str, *modules: str) -> None:
    """Refuse with a sentence where an optional package is missing.

    Parameters
    ----------
    what
        who needs it, as the sentence begins.
    extra
        the extra of excise that brings the packages.
    modules
        the names under which they are imported. Nothing is imported here.

    Examples
    --------
    >>> need("the diagnosis", "eval", "json")
    >>> need("the diagnosis", "eval", "no_such_package", "nor_this")
    Traceback (most recent call last):
        ...
    excise.errors.MissingExtra: the diagnosis needs no_such_package and nor_this: pip install 'excise[eval]'.
    """
    missing = [_PACKAGES.get(module, module) for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtra(f"{what} needs {' and '.join(missing)}: pip install 'excise[{extra}]'.")
