"""The service from Python: the same calls and the same results as the library, from another process or machine."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from excise.documents import Document
from excise.errors import InvalidInput, ServiceError
from excise.extras import need
from excise.results import Detection, Explanation, Hit, IndexReport, Judged, Removed, SearchResult, Topic
from excise.service.service_limits import MOST_DOCUMENTS, MOST_QUERIES
from excise.text import clean

if TYPE_CHECKING:
    import httpx

Record = TypeVar("Record")
_LATER = (429, 502, 503, 504)  # worth another try: every call can be repeated without harm
_ADDED_TOGETHER, _CHARACTERS_TOGETHER = 32, 100_000
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 30.0


class Client:
    """Calls a service that ``excise serve`` runs. Threads may share one.

    Parameters
    ----------
    url
        where the service is.
    api_key
        what it asks for.
    timeout
        seconds to wait for an answer, each time.
    retries
        how often a call is tried again where the service cannot be reached or has too much to do. It waits as long as
        the service says, or longer each time.

    Examples
    --------
    >>> with Client("http://127.0.0.1:9", retries=0) as client:  # the port where nobody answers
    ...     client.ready()
    False
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8000",
        *,
        api_key: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        need("excise.Client", "client", "httpx")
        import httpx

        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInput(f"the address of a service begins with http:// or https://, got {url!r}.")
        if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
            raise InvalidInput(f"retries must be a whole number of at least 0, got {retries!r}.")
        self.url, self._retries, self._pause = url.rstrip("/"), retries, pause
        headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        try:
            self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout)
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise InvalidInput(f"the address or the key of the service cannot be used: {error}.") from None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._http.close()

    def search(
        self,
        query: str,
        k: int = 10,
        exclude: Sequence[str] | str | None = None,
        *,
        caution: float | None = None,
        explain: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> SearchResult:
        """As :meth:`excise.Excise.search`; ``explain`` brings the explanation too."""
        return self.search_many([query], k, exclude, caution=caution, explain=explain, where=where)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        exclude: Sequence[str] | str | None = None,
        *,
        caution: float | None = None,
        explain: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> list[SearchResult]:
        """As :meth:`excise.Excise.search_many`; 64 queries make a call, which is over one state of the index."""
        asked = {"k": k, "exclude": _topics(exclude), "caution": caution, "explain": explain, "where": where}
        results: list[SearchResult] = []
        for start in range(0, len(queries), MOST_QUERIES):
            answer = self._post("/v1/search", {"queries": list(queries[start : start + MOST_QUERIES]), **asked})
            results += [_search_result(one) for one in answer["results"]]
        return results

    def rerank(
        self,
        query: str,
        candidates: Iterable[Mapping[str, Any]],
        exclude: Sequence[str] | str | None = None,
        k: int | None = None,
        *,
        caution: float | None = None,
        explain: bool = False,
    ) -> SearchResult:
        """As :meth:`excise.Excise.rerank`: candidates are mappings with id, text and perhaps title and score."""
        asked = {"query": query, "candidates": [dict(one) for one in candidates], "exclude": _topics(exclude), "k": k}
        return _search_result(self._post("/v1/rerank", {**asked, "caution": caution, "explain": explain}))

    def detect(self, queries: Sequence[str]) -> list[Detection]:
        """What each query excludes."""
        found: list[Detection] = []
        for start in range(0, len(queries), MOST_QUERIES):
            answer = self._post("/v1/detect", {"queries": list(queries[start : start + MOST_QUERIES])})
            found += [_record(Detection, {**one, "topics": _topics_of(one)}) for one in answer["results"]]
        return found

    def add(self, documents: Iterable[Document | Mapping[str, Any]]) -> IndexReport:
        """Add documents, or replace those whose ids are known. What is reported is on the service's disk."""
        given = [Document.from_record(document) for document in documents]
        added = unchanged = skipped = count = 0
        for portion in _portions(given):
            plain = [
                {"id": one.id, "title": one.title, "text": one.text, "metadata": dict(one.metadata)} for one in portion
            ]
            part = self._post("/v1/documents", {"documents": plain})
            added, unchanged = added + part["added"], unchanged + part["unchanged"]
            skipped, count = skipped + part["skipped"], part["documents"]
        return IndexReport(added, unchanged, skipped, count)

    def documents(self, ids: Sequence[str]) -> list[Document]:
        """Documents by their ids, less those that there are not."""
        found: list[Document] = []
        for start in range(0, len(ids), MOST_DOCUMENTS):
            answer = self._call("GET", "/v1/documents", params=_ids(ids[start : start + MOST_DOCUMENTS]))
            found += [Document.from_record(one) for one in answer["documents"]]
        return found

    def delete(self, ids: Sequence[str]) -> int:
        """Delete documents; returns how many of them there were."""
        parts = range(0, len(ids), MOST_DOCUMENTS)
        calls = (_ids(ids[start : start + MOST_DOCUMENTS]) for start in parts)
        return sum(int(self._call("DELETE", "/v1/documents", params=params)["deleted"]) for params in calls)

    def ready(self) -> bool:
        """Whether the service answers searches; asked once."""
        import httpx

        try:
            return self._http.get("/ready").status_code == 200
        except httpx.HTTPError:
            return False

    def _post(self, path: str, message: Mapping[str, Any]) -> Any:
        try:  # written here, in ASCII: a broken character travels as an escape, and is replaced at the other end
            body = json.dumps(message, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"this cannot be sent as JSON: {error}.") from None
        return self._call("POST", path, content=body, headers={"Content-Type": "application/json"})

    def _call(self, method: str, path: str, **content: Any) -> Any:
        import httpx

        tried = 0
        while True:
            last = tried == self._retries
            try:
                answer = self._http.request(method, path, **content)
            except httpx.TransportError as error:
                if last:
                    reason = str(error) or type(error).__name__
                    raise ServiceError(f"{self.url} could not be asked: {reason}.") from error
                seconds = _wait(tried)
            else:
                if last or answer.status_code not in _LATER:
                    return _read(self.url, answer)
                seconds = _wait(tried, answer.headers.get("retry-after"))
            self._pause(seconds)
            tried += 1


def _wait(tried: int, told: str | None = None) -> float:
    """How long to wait before another try: what the service says, or twice as long each time, not all at once."""
    if told is not None and told.isdecimal():
        return min(float(told), _LONGEST_WAIT)
    return float(min(_FIRST_WAIT * 2**tried * random.uniform(0.5, 1.5), _LONGEST_WAIT))


def _read(url: str, answer: httpx.Response) -> Any:
    try:
        content = answer.json()
    except ValueError:
        raise ServiceError(f"{url} answered {answer.status_code}, and not with JSON: is it excise?") from None
    if answer.is_success:
        return content
    detail = content.get("detail") if isinstance(content, dict) else None
    sentence = detail if isinstance(detail, str) else f"the service answered {answer.status_code}."
    raise InvalidInput(sentence) if answer.status_code in (400, 413, 422) else ServiceError(f"{url}: {sentence}")


def _portions(documents: Iterable[Document]) -> Iterable[list[Document]]:
    """Documents in portions that the service takes, and encodes well within the time of a call."""
    portion: list[Document] = []
    size = 0
    for document in documents:
        length = len(document.title) + len(document.text)
        if portion and (len(portion) == _ADDED_TOGETHER or size + length > _CHARACTERS_TOGETHER):
            yield portion
            portion, size = [], 0
        portion.append(document)
        size += length
    if portion:
        yield portion


def _ids(ids: Sequence[str]) -> dict[str, list[str]]:
    return {"id": [clean(id) for id in ids]}


def _topics(exclude: Sequence[str] | str | None) -> list[str] | None:
    if exclude is None:
        return None
    return [exclude] if isinstance(exclude, str) else list(exclude)


def _record(kind: type[Record], plain: Mapping[str, Any]) -> Record:
    """A record from an answer; what a newer service tells beyond it is passed over."""
    known = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in plain.items() if name in known})


def _topics_of(plain: Mapping[str, Any]) -> tuple[Topic, ...]:
    return tuple(_record(Topic, topic) for topic in plain["topics"])


def _search_result(plain: Mapping[str, Any]) -> SearchResult:
    explanation = plain.get("explanation")
    if explanation is not None:
        candidates = tuple(_record(Judged, one) for one in explanation["candidates"])
        explanation = _record(Explanation, {**explanation, "candidates": candidates})
    return _record(
        SearchResult,
        {
            **plain,
            "topics": _topics_of(plain),
            "hits": tuple(_record(Hit, one) for one in plain["hits"]),
            "removed": tuple(_record(Removed, one) for one in plain["removed"]),
            "explanation": explanation,
        },
    )
