"""A bounded cache of re-embedded documents.

A document's adapted vectors depend on its text and the adapter alone, so that what one query paid for serves every
later query whose shortlist holds the text, in whichever index and however that index has changed. The cache is no
second index: it holds only what queries touched, and never more bytes than it was given.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from threading import Lock

import numpy as np

from excise.errors import InvalidInput
from excise.vectors.ragged import Ragged

DEFAULT_BYTES = 256 * 1024 * 1024
ENTRY_BYTES = 1_024  # what an entry costs beside its vectors: the key, two array headers, its place in the order


@dataclass(frozen=True)
class CacheKey:
    """Which vectors: of which text, by its digest, and by which adapter, by its fingerprint."""

    text: str
    adapter: str

    @classmethod
    def of(cls, text: str, adapter: str) -> CacheKey:
        """The key of a text.

        Examples
        --------
        >>> CacheKey.of("The Leaf is electric.", "a1") == CacheKey.of("The Leaf was electric.", "a1")
        False
        """
        return cls(blake2b(text.encode(), digest_size=16).hexdigest(), adapter)


@dataclass(frozen=True)
class CacheStats:
    """What a cache holds, and what it was asked for.

    Examples
    --------
    >>> CacheStats(hits=3, misses=1, evictions=0, entries=1, bytes=2_000, max_bytes=4_096).hit_rate
    0.75
    """

    hits: int
    misses: int
    evictions: int
    entries: int
    bytes: int
    max_bytes: int

    @property
    def hit_rate(self) -> float:
        """The share of lookups that were answered; 0 before the first one."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else 0.0


class EmbeddingCache:
    """The windows' token vectors of recently re-embedded documents. Any number of threads may share one.

    Parameters
    ----------
    max_bytes
        the most memory that it may hold; 0 holds nothing. The least recently used entries leave first.

    Examples
    --------
    >>> cache = EmbeddingCache(max_bytes=4_096)
    >>> key = CacheKey.of("The Leaf is electric.", "a1")
    >>> cache.get(key) is None
    True
    >>> cache.put(key, Ragged.of([np.eye(2, dtype=np.float16)]))
    >>> cache.get(key)[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    >>> cache.get(CacheKey.of("The Leaf is electric.", "another")) is None, len(cache)
    (True, 1)
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or max_bytes < 0:
            raise InvalidInput(f"max_bytes must be a whole number of at least 0, got {max_bytes!r}.")
        self.max_bytes = max_bytes
        self._lock = Lock()
        self._entries: OrderedDict[CacheKey, Ragged] = OrderedDict()
        self._bytes = self._hits = self._misses = self._evictions = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: CacheKey) -> Ragged | None:
        """The vectors of a text, or None."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                self._misses += 1
                return None
            self._hits += 1
            self._entries.move_to_end(key)
            return found

    def put(self, key: CacheKey, windows: Ragged) -> None:
        """Keep a copy of a text's vectors, unless it alone is too large."""
        size = _size(windows)
        if size > self.max_bytes:
            return
        own = Ragged(np.array(windows.vectors), np.array(windows.offsets))  # a slice would keep its whole batch alive
        own.vectors.flags.writeable = own.offsets.flags.writeable = False
        with self._lock:
            self._remove(key)
            while self._bytes + size > self.max_bytes:
                self._remove(next(iter(self._entries)))
                self._evictions += 1
            self._entries[key] = own
            self._bytes += size

    def clear(self) -> None:
        """Forget every entry. What was counted stays counted."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    @property
    def stats(self) -> CacheStats:
        """Hits, misses, evictions, entries and bytes, all of one moment."""
        with self._lock:
            return CacheStats(
                self._hits, self._misses, self._evictions, len(self._entries), self._bytes, self.max_bytes
            )

    def _remove(self, key: CacheKey) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._bytes -= _size(found)


def _size(windows: Ragged) -> int:
    return int(windows.vectors.nbytes + windows.offsets.nbytes) + ENTRY_BYTES
