"""One writer at a time where a database has no transactions: a lease that is taken, renewed and given back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from excise.engines.shared.head import fresh_key
from excise.errors import BadIndex

LEASE_SECONDS = 120.0  # far longer than any one request may take; a writer that dies keeps others waiting no longer
_PAUSE = 0.02

Claim = Callable[[str, float, float], bool]
"""Take or renew a lease for a writer: (its key, now, until). Succeeds where the lease is free, over, or its own."""


class Lease:
    """A lease that is held. :meth:`renew` it before every request that changes something."""

    def __init__(self, claim: Claim, key: str, name: str) -> None:
        self._claim, self._name = claim, name
        self.key = key
        self._until = 0.0

    def taken(self) -> bool:
        """Try to take it."""
        now = time.time()
        if self._claim(self.key, now, now + LEASE_SECONDS):
            self._until = now + LEASE_SECONDS
            return True
        return False

    def renew(self) -> None:
        """Make sure that more than half of it is left; refuse to go on where somebody else holds it now."""
        if self._until - time.time() < LEASE_SECONDS / 2 and not self.taken():
            raise BadIndex(f"{self._name}: this write took too long, and another one has begun. Try again.")


@contextmanager
def held_lease(claim: Claim, release: Callable[[str], None], patience: float, name: str) -> Iterator[Lease]:
    """Wait for the lease, hold it, and give it back."""
    lease = Lease(claim, fresh_key(), name)
    deadline = time.monotonic() + patience
    while not lease.taken():
        if time.monotonic() > deadline:
            raise BadIndex(f"{name} is being written by another process; try again later.")
        time.sleep(_PAUSE)
    try:
        yield lease
    finally:
        with suppress(BadIndex):  # what was written is written; a lease that cannot be given back runs out
            release(lease.key)
