"""Keys that callers show, and how often each may call."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock

from excise.errors import InvalidInput

LEAST_KEY_CHARACTERS = 16
_MOST_CALLERS = 10_000  # callers that are remembered; the one not heard of for longest is forgotten


class ApiKeys:
    """The keys that a service takes; only their digests are kept.

    Examples
    --------
    >>> keys = ApiKeys(["correct-horse-battery"])
    >>> keys.known("correct-horse-battery"), keys.known("wrong")
    (True, False)
    >>> ApiKeys(["short"])
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: an API key needs at least 16 characters, and one has 5.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        for key in keys:
            if len(key) < LEAST_KEY_CHARACTERS:
                raise InvalidInput(
                    f"an API key needs at least {LEAST_KEY_CHARACTERS} characters, and one has {len(key)}."
                )
        self._digests = [_digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def known(self, key: str) -> bool:
        """Whether this is one of them. It takes the same time for whatever key."""
        digest, found = _digest(key), False
        for own in self._digests:
            found |= hmac.compare_digest(own, digest)
        return found


def read_keys(path: Path) -> ApiKeys:
    """The keys of a file, one a line; lines that begin with # are comments."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidInput(f"{path}: the API keys cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{path}: the API keys are not UTF-8 text.") from None
    keys = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not keys:
        raise InvalidInput(f"{path}: holds no API key; write one a line.")
    return ApiKeys(keys)


def _digest(key: str) -> bytes:
    return sha256(key.encode(errors="surrogatepass")).digest()


class CallRate:
    """So many calls a minute by each caller, a minute's worth of them at once.

    Examples
    --------
    >>> now = [0.0]
    >>> rate = CallRate(60, clock=lambda: now[0])
    >>> [rate.wait("a") for _ in range(61)][-2:], rate.wait("b")
    ([0.0, 1.0], 0.0)
    >>> now[0] = 1.0
    >>> rate.wait("a")
    0.0
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._per_second, self._clock = float(per_minute), per_minute / 60, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._changing = Lock()

    def wait(self, caller: str) -> float:
        """Count a call: 0 where it may go on, or else the seconds until it may be tried again."""
        with self._changing:
            now = self._clock()
            left, before = self._left.pop(caller, (self._most, now))
            left = min(self._most, left + (now - before) * self._per_second)
            allowed = left >= 1
            self._left[caller] = (left - 1 if allowed else left, now)
            if len(self._left) > _MOST_CALLERS:
                self._left.popitem(last=False)
            return 0.0 if allowed else (1 - left) / self._per_second
