"""How much the service takes, and for how long it tries: what keeps one caller from using up what others need."""

from __future__ import annotations

from dataclasses import dataclass, fields

from excise.errors import InvalidInput

# These are part of the API's description; the library's own limits are wider.
MOST_QUERY_CHARACTERS = 4_000
MOST_TOPIC_CHARACTERS = 500
MOST_TOPICS = 20
MOST_HITS = 200
MOST_QUERIES = 64
MOST_CANDIDATES = 200
MOST_DOCUMENTS = 256
MOST_ID_CHARACTERS = 512
MOST_TITLE_CHARACTERS = 2_000
MOST_TEXT_CHARACTERS = 200_000


@dataclass(frozen=True)
class ServiceLimits:
    """What a running service bounds.

    Parameters
    ----------
    body_bytes
        the longest body of a request.
    body_seconds
        how long a client may take to send it.
    answer_seconds
        how long a request may wait and be worked on before it is given up.
    write_seconds
        the same for a write: documents take longer to encode than queries.
    open_requests
        how many requests are held at once.
    waiting
        how many queries may wait for their turn; one more is answered with 503.
    requests_per_minute
        by each key, or by each address where there is no key; None for no such limit.

    Examples
    --------
    >>> ServiceLimits(waiting=0)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: the limit 'waiting' must be a positive number, got 0.
    """

    body_bytes: int = 4 * 1024 * 1024
    body_seconds: float = 20.0
    answer_seconds: float = 30.0
    write_seconds: float = 300.0
    open_requests: int = 256
    waiting: int = 256
    requests_per_minute: int | None = None

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value > 0):
                raise InvalidInput(f"the limit {item.name!r} must be a positive number, got {value!r}.")
