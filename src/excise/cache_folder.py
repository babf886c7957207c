"""Where excise keeps what it can make again: indexes of suites, digests of weights."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder of the environment variable ``EXCISE_CACHE``, or the user's cache folder. It need not exist yet.

    Examples
    --------
    >>> cache_folder().name == Path(os.environ.get("EXCISE_CACHE") or "excise").name
    True
    """
    chosen = os.environ.get("EXCISE_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("excise", appauthor=False)
