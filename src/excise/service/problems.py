"""Errors as the service tells them: problem+json (RFC 9457) with one sentence, never a path and never a traceback."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from excise.errors import BadCorpus, BadIndex, ExciseError, InvalidInput
from excise.service.answers_schema import ProblemAnswer
from excise.service.batcher import QueueFull

log = logging.getLogger("excise.service")
MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1
_SENTENCES = {
    404: "there is nothing at this address.",
    405: "this address does not take that method.",
    400: "the body is not valid JSON.",
}
_MOST_ERRORS = 20
_MOST_CHARACTERS = 300


def problem(
    status: int, detail: str, headers: Mapping[str, str] | None = None, errors: Sequence[Mapping[str, Any]] = ()
) -> Response:
    """An error as an answer.

    Examples
    --------
    >>> problem(404, "there is no document 'x'.").body
    b'{"type":"about:blank","title":"Not Found","status":404,"detail":"there is no document \\'x\\'."}'
    """
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors:
        content["errors"] = list(errors)
    body = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()
    return Response(body, status, headers=headers, media_type=MEDIA_TYPE)


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that an address may answer with, for the OpenAPI document."""
    schema = {"$ref": f"#/components/schemas/{ProblemAnswer.__name__}"}
    return {
        status: {"description": HTTPStatus(status).phrase, "content": {MEDIA_TYPE: {"schema": schema}}}
        for status in statuses
    }


def busy(detail: str) -> Response:
    """Too much to do at the moment."""
    return problem(503, detail, {"Retry-After": str(RETRY_SECONDS)})


def told_as(error: ExciseError) -> Response:
    """What the library refuses, as an answer. What is wrong with the index is for the log: it names folders."""
    if isinstance(error, QueueFull):
        return busy(str(error))
    if isinstance(error, InvalidInput | BadCorpus):
        return problem(422, str(error))
    log.error("%s", error)
    if isinstance(error, BadIndex):
        return problem(503, "the index could not be read or written; what was stored before is unchanged.")
    return problem(500, "the service could not do this; its log says why.")


def tell_problems(app: FastAPI) -> None:
    """Make every error of an app an answer of this kind."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, ExciseError)
        return told_as(error)

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        found = [_plain(one) for one in error.errors()[:_MOST_ERRORS]]
        if found and found[0]["kind"] == "json_invalid":
            return problem(400, _SENTENCES[400], errors=found)
        first = found[0] if found else {"where": "body", "what": "it cannot be read"}
        return problem(422, f"{first['where']}: {first['what']}.", errors=found)

    async def status(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return problem(error.status_code, _SENTENCES.get(error.status_code, "it was refused."), error.headers)

    async def failed(_: Request, __: Exception) -> Response:
        return problem(500, "something went wrong; the service's log says what.")

    app.add_exception_handler(ExciseError, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, status)
    app.add_exception_handler(Exception, failed)


def _plain(error: Mapping[str, Any]) -> dict[str, str]:
    """Where an error is and what it is; the input itself is not sent back."""
    where = ".".join(str(part)[:60] for part in error.get("loc", ()) if part != "body") or "body"
    what = str(error.get("msg", "")).removeprefix("Value error, ")
    return {"where": where[:_MOST_CHARACTERS], "what": what[:_MOST_CHARACTERS], "kind": str(error.get("type", ""))}
