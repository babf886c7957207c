"""Any OpenAI-compatible endpoint: paced, retried, counted; every answer is stored as it comes in."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from excise.extras import need
from excise.progress import Progress, silent
from excise.xbench.answers import Answer, Answers
from excise.xbench.batch import completion
from excise.xbench.requests import Request
from excise.xbench.storage import XBenchError

if TYPE_CHECKING:
    import openai

_HOPELESS = (401, 403, 404)  # no request will fare better
_REFUSED = (400, 413, 422)  # this request is not taken; others may be
_LONGEST_WAIT = 120.0
_FAILURES_IN_A_ROW = 3


class EndpointError(XBenchError):
    """An endpoint that cannot be used any further; what was answered so far is kept."""


@dataclass(frozen=True)
class Endpoint:
    """Where a model is served, and how hard it may be asked.

    Parameters
    ----------
    url
        the base address, such as ``https://host/v1``.
    key_variable
        the environment variable that holds the key. A server on one's own machine needs none.
    per_minute
        requests a minute; 0 sets no limit.
    concurrency
        requests at a time.
    timeout
        seconds that an answer may take.
    retries
        how often a request is tried again after 408, 409, 429, a server's error, a lost connection or a time-out.
    backoff
        seconds before the first retry; they double, unless the server says how long to wait.
    price_in, price_out
        per million tokens, in any currency.
    max_cost
        stop when so much was spent; 0 sets no limit.
    """

    url: str
    key_variable: str = "OPENAI_API_KEY"
    per_minute: float = 0.0
    concurrency: int = 4
    timeout: float = 120.0
    retries: int = 5
    backoff: float = 1.0
    price_in: float = 0.0
    price_out: float = 0.0
    max_cost: float = 0.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise XBenchError(f"an endpoint is an http address, got {self.url!r}.")
        if not 1 <= self.concurrency <= 256:
            raise XBenchError(f"concurrency must be from 1 to 256, got {self.concurrency}.")
        if not 0 <= self.retries <= 100:
            raise XBenchError(f"retries must be from 0 to 100, got {self.retries}.")
        for name in ("per_minute", "timeout", "backoff", "price_in", "price_out", "max_cost"):
            if getattr(self, name) < 0:
                raise XBenchError(f"{name} cannot be negative, got {getattr(self, name):g}.")

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6


@dataclass
class Usage:
    """What an endpoint was used for."""

    answered: int = 0
    retries: int = 0
    refused: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def summary(self) -> str:
        """For a progress bar."""
        money = f", cost {self.cost:.4f}" if self.cost else ""
        again = f", {self.retries} retries" if self.retries else ""
        return f"{self.tokens_in + self.tokens_out:,} tokens{money}{again}"


class _Failed(Exception):
    """A request that did not get an answer after every retry."""


@dataclass
class Caller:
    """Asks an endpoint. One caller serves a whole command, so that its usage adds up."""

    endpoint: Endpoint
    usage: Usage = field(default_factory=Usage)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0
        self._stop = threading.Event()
        self._client = _client(self.endpoint)

    def ask(self, requests: Sequence[Request], answers: Answers, progress: Progress = silent) -> None:
        """Get and store the answers to requests.

        Raises
        ------
        EndpointError
            where the endpoint refuses everything, stays silent, or the money is spent.
        """
        refused: list[tuple[Request, str]] = []
        failures: list[str] = []
        self._stop.clear()
        with ThreadPoolExecutor(self.endpoint.concurrency) as pool:
            waiting = {pool.submit(self._answer, request, answers): request for request in requests}
            try:
                in_a_row = 0
                for done, future in enumerate(as_completed(waiting), 1):
                    try:
                        answer = future.result()
                    except _Failed as error:
                        failures.append(str(error))
                        in_a_row += 1
                        if in_a_row == _FAILURES_IN_A_ROW:
                            break
                        continue
                    in_a_row = 0
                    if answer.finish == "refused":
                        refused.append((waiting[future], answer.content))
                    self._check_cost()
                    progress(f"{waiting[future].stage} ({self.usage.summary()})", done, len(requests))
            finally:
                self._stop.set()
                for future in waiting:
                    future.cancel()
        self._settle(refused, failures, answers)

    def _settle(self, refused: list[tuple[Request, str]], failures: list[str], answers: Answers) -> None:
        """A refusal counts as an answer that does not fit, unless nothing but refusals came back."""
        self.usage.refused += len(refused)
        if refused and not self.usage.answered:
            raise EndpointError(f"the endpoint {self.endpoint.url} refuses the requests: {refused[0][1]}.")
        for request, _ in refused:
            answers.add(request, Answer("", "refused"))
        if failures:
            raise EndpointError(
                f"the endpoint {self.endpoint.url} left {len(failures):,} or more requests unanswered after "
                f"{self.endpoint.retries} retries ({failures[-1]}); what was answered is kept: run the command again "
                "to go on."
            )

    def _count(self, answer: Answer) -> None:
        with self._lock:
            usage = self.usage
            usage.answered += 1
            usage.tokens_in += answer.tokens_in
            usage.tokens_out += answer.tokens_out
            usage.cost = self.endpoint.cost(usage.tokens_in, usage.tokens_out)

    def _check_cost(self) -> None:
        if self.endpoint.max_cost and self.usage.cost >= self.endpoint.max_cost:
            raise EndpointError(
                f"the answers cost {self.usage.cost:.4f}, and --max-cost is {self.endpoint.max_cost:g}; they are kept: "
                "raise the limit to go on."
            )

    def _answer(self, request: Request, answers: Answers) -> Answer:
        """One answer, stored by the thread that got it: it is paid for, even if the run is being stopped."""
        answer = self._tried(request)
        if answer.finish != "refused":
            answers.add(request, answer)
            self._count(answer)
        return answer

    def _tried(self, request: Request) -> Answer:
        """One request, tried until it is answered, refused, or out of retries."""
        import openai

        problem = ""
        for attempt in range(self.endpoint.retries + 1):
            self._wait_for_turn()
            if self._stop.is_set():
                raise _Failed("stopped")
            wait = min(self.endpoint.backoff * 2**attempt, _LONGEST_WAIT) * (0.75 + 0.5 * random.random())
            try:
                answer = completion(self._client.post_json(request.body))
                if answer is not None:
                    return answer
                problem = "an answer without content"
            except openai.APIStatusError as error:
                problem = f"status {error.status_code}"
                if error.status_code in _HOPELESS:
                    raise EndpointError(self._hopeless(error)) from None
                if error.status_code in _REFUSED:
                    return Answer(_reason(error), "refused")
                wait = _retry_after(error) or wait
            except openai.APITimeoutError:
                problem = f"no answer within {self.endpoint.timeout:g} seconds"
            except (openai.APIConnectionError, ValueError) as error:  # ValueError: a body that is no JSON
                problem = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            if attempt < self.endpoint.retries:
                with self._lock:
                    self.usage.retries += 1
                self._stop.wait(wait)
        raise _Failed(problem)

    def _wait_for_turn(self) -> None:
        """Space the requests out, so that no more than so many a minute are sent."""
        if not self.endpoint.per_minute:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + 60.0 / self.endpoint.per_minute
        self._stop.wait(turn - now)

    def _hopeless(self, error: openai.APIStatusError) -> str:
        url, variable = self.endpoint.url, self.endpoint.key_variable
        if error.status_code == 404:
            return f"the endpoint {url} has no such model or address (404: {_reason(error)})."
        return f"the endpoint {url} refuses the key ({error.status_code}): set the environment variable {variable}."


class _Client:
    """The ``openai`` client with its own retries off: ours are counted and shown."""

    def __init__(self, client: openai.OpenAI) -> None:
        self._completions: Any = client.chat.completions.with_raw_response

    def post_json(self, body: dict[str, Any]) -> Any:
        import json

        # The raw response: a foreign server's answer need not have every field that the client's types have.
        return json.loads(self._completions.create(**body).text)


def _client(endpoint: Endpoint) -> _Client:
    need("asking an endpoint (batch files need nothing)", "xbench", "openai")
    import openai

    key = os.environ.get(endpoint.key_variable) or "none"
    return _Client(openai.OpenAI(base_url=endpoint.url, api_key=key, timeout=endpoint.timeout or None, max_retries=0))


def _retry_after(error: openai.APIStatusError) -> float | None:
    """How many seconds the server asks to be left alone."""
    try:
        return min(max(float(error.response.headers.get("retry-after", "")), 0.0), _LONGEST_WAIT)
    except ValueError:
        return None


def _reason(error: openai.APIStatusError) -> str:
    return str(error.message).splitlines()[0][:200] if str(error.message).strip() else f"status {error.status_code}"
