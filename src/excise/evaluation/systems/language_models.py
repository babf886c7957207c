"""Language models as rivals, behind any endpoint that speaks the chat completions protocol of OpenAI.

The base address is the system's option ``url``, or the environment's EXCISE_LLM_URL or OPENAI_BASE_URL; the key, where
the server wants one, is in OPENAI_API_KEY.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from excise.errors import ExciseError, InvalidInput
from excise.evaluation.systems.cases import Case
from excise.evaluation.systems.external_spec import ForeignModel
from excise.evaluation.systems.rankings import Rank, Ranking, found_ranking, frozen_ranking, reordered
from excise.extras import need
from excise.results import Detection
from excise.search.weighing import maxsim_of

URL_VARIABLES = ("EXCISE_LLM_URL", "OPENAI_BASE_URL")
_TRIES = 2  # a model that twice gives no usable answer has no opinion
_TOKENS = 200
_SYSTEM = "You help a search engine that does not understand negation. Answer with one JSON object and nothing else."
_REWRITE = """A person types this search query:

{query}

Rewrite it so that it asks only for what the person wants, and does not name anything that they rule out. A query that
rules nothing out stays word for word as it is. Answer as {{"query": "..."}}."""
_JUDGE = """A person types this search query:

{query}

These are the first results:

{documents}

Which of them deal with a topic that the person rules out? A result that only mentions it in passing is fine, and where
the query rules nothing out, none does. Answer with their numbers, as {{"ruled_out": [...]}}."""

_T = TypeVar("_T")


class LanguageModelError(ExciseError):
    """An endpoint that cannot be used."""


class Chat:
    """A model behind an endpoint."""

    def __init__(self, way: ForeignModel) -> None:
        need(f"the system {way.kind!r}", "llm", "openai")
        import openai

        self.model = way.model
        self.url = way.url or next((os.environ[name] for name in URL_VARIABLES if os.environ.get(name)), "")
        if not self.url.startswith(("http://", "https://")):
            raise InvalidInput(
                f"{way.kind}={way.model} needs the base address of an endpoint, got {self.url!r}: add "
                f"';url=http://...' to its name, or set {URL_VARIABLES[0]}."
            )
        key = os.environ.get("OPENAI_API_KEY") or "none"
        self._client = openai.OpenAI(base_url=self.url, api_key=key, timeout=120.0, max_retries=4)

    def ask(self, prompt: str, read: Callable[[Any], _T | None]) -> _T | None:
        """What a reader makes of the model's JSON answer; None where it twice makes nothing of it."""
        for _ in range(_TRIES):
            found = _json(self._complete(prompt))
            answer = None if found is None else read(found)
            if answer is not None:
                return answer
        return None

    def _complete(self, prompt: str) -> str:
        import openai

        messages: Any = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": prompt}]
        try:
            answer = self._client.chat.completions.create(
                model=self.model, messages=messages, temperature=0.0, max_tokens=_TOKENS
            )
            return str(answer.choices[0].message.content or "") if answer.choices else ""
        except openai.OpenAIError as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            raise LanguageModelError(f"the endpoint {self.url} does not answer for {self.model!r}: {reason}") from error


def rewrite_rank(way: ForeignModel) -> Rank:
    """Search the frozen index for what a language model makes of the query. It takes no topics and removes nothing."""
    chat = Chat(way)

    def rank(case: Case, _: Detection) -> Ranking:
        text = chat.ask(_REWRITE.format(query=case.query.text), _rewritten)
        if text is None or text == case.query.text:
            return frozen_ranking(case)
        vectors = case.collection.backbone.encode_query(text).vectors
        reader = case.collection.reader
        if reader is None:
            return reordered(case, maxsim_of(vectors, case.shortlist.vectors))
        found = reader.search([vectors], case.collection.depth)[0]
        return found_ranking(case, found.documents, found.scores)

    return rank


def judge_rank(way: ForeignModel) -> Rank:
    """Strike out of the frozen ranking what a language model says that the query rules out."""
    chat = Chat(way)

    def rank(case: Case, _: Detection) -> Ranking:
        read = case.documents[: way.k]
        shown = "\n".join(f"[{i}] {' '.join(one.full_text.split()[: way.words])}" for i, one in enumerate(read, 1))
        struck = chat.ask(_JUDGE.format(query=case.query.text, documents=shown), _numbers) or set()
        frozen = frozen_ranking(case)
        gone = {document.id for i, document in enumerate(read, 1) if i in struck}
        removals = tuple(replace(one, status="removed") for one in frozen.documents if one.id in gone)
        return Ranking(tuple(one for one in frozen.documents if one.id not in gone), removals)

    return rank


def _rewritten(answer: Any) -> str | None:
    text = answer.get("query") if isinstance(answer, dict) else None
    return text.strip() if isinstance(text, str) and text.strip() else None


def _numbers(answer: Any) -> set[int] | None:
    found = answer.get("ruled_out") if isinstance(answer, dict) else None
    if not isinstance(found, list):
        return None
    numbers = (str(one).strip("[] ") for one in found if isinstance(one, int | str))
    return {int(number) for number in numbers if number.isdecimal()}


def _json(text: str) -> Any:
    """The first JSON object of an answer; small models like to talk around it."""
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        return None if match is None else json.loads(match[0])
    except ValueError:
        return None
