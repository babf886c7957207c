"""The addresses of the API: each reads a message, hands it to the desk, and writes what comes back."""

from __future__ import annotations

import json
from asyncio import wrap_future
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.security import HTTPBearer
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.responses import JSONResponse, Response

from excise import __version__
from excise.documents import Document
from excise.results import Detection, Hit
from excise.service.answers_schema import (
    AboutAnswer,
    DeletedAnswer,
    DetectionsAnswer,
    DocumentAnswer,
    DocumentsAnswer,
    FeedbackAnswer,
    HealthAnswer,
    IndexAnswer,
    ReadyAnswer,
    SearchAnswer,
    SearchesAnswer,
)
from excise.service.desk import Change, Changed, Reranking, SearchDesk, Searched, SearchKind
from excise.service.feedback import Feedback, FeedbackFile
from excise.service.gauges import METRICS_TYPE, Gauges
from excise.service.messages import (
    AddRequest,
    DetectRequest,
    DocumentId,
    FeedbackRequest,
    ReplaceRequest,
    RerankRequest,
    SearchRequest,
)
from excise.service.problems import described, problem
from excise.service.service_limits import MOST_DOCUMENTS
from excise.text import checked_query

_key = HTTPBearer(auto_error=False, description="An API key: for writes, and for everything on a private service.")
READS = described(400, 401, 408, 413, 415, 422, 429, 500, 503, 504)
WRITES = described(400, 401, 403, 408, 413, 415, 422, 429, 500, 503, 504)
LOOKS = described(401, 404, 422, 429, 500, 503, 504)
Ids = Annotated[
    list[DocumentId], Query(alias="id", min_length=1, max_length=MOST_DOCUMENTS, description="Repeat it for several.")
]
OneId = Annotated[DocumentId, Path(description="May hold slashes.")]


class _AnyText(PathConvertor):
    """The rest of an address, whatever it holds: ids have slashes, and even line breaks."""

    regex = "(?s:.*)"


register_url_convertor("document", _AnyText())
public = APIRouter()
api = APIRouter(prefix="/v1", dependencies=[Depends(_key)])


def _desk(request: Request) -> SearchDesk:
    desk: SearchDesk = request.app.state.desk
    return desk


Desk = Annotated[SearchDesk, Depends(_desk)]


@public.get("/health", response_model=HealthAnswer, tags=["state"], summary="Does it run?")
async def health() -> Response:
    return JSONResponse({"status": "ok"})


@public.get(
    "/ready", response_model=ReadyAnswer, responses=described(503), tags=["state"], summary="Does it answer searches?"
)
def ready(desk: Desk) -> Response:
    return JSONResponse({"status": "ready", "documents": len(desk.engine.reader())})


@public.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **described(401)},
    tags=["state"],
    summary="Figures for Prometheus",
)
def metrics(request: Request) -> Response:
    gauges: Gauges = request.app.state.gauges
    return Response(gauges.text(), media_type=METRICS_TYPE)


@api.get(
    "/about", response_model=AboutAnswer, responses=described(401, 429, 503), tags=["state"], summary="What is this?"
)
def about(request: Request, desk: Desk) -> Response:
    settings = desk.operator.settings
    return JSONResponse(
        {
            "version": __version__,
            "documents": len(desk.engine.reader()),
            "rule": settings.rule,
            "caution": desk.default_caution,
            "filters": True,
            "feedback": request.app.state.feedback is not None,
            "demo": request.app.state.demo,
        }
    )


@api.post(
    "/search",
    response_model=SearchAnswer | SearchesAnswer,
    responses=READS,
    tags=["search"],
    summary="Search, less what is excluded",
)
async def search(message: SearchRequest, desk: Desk) -> Response:
    """One query is answered with its result, 'queries' with {"results": [...]}, all over one state of the index."""
    where = None if message.where is None else json.dumps(message.where, sort_keys=True)
    exclude = None if message.exclude is None else tuple(message.exclude)
    kind = SearchKind(message.k, exclude, message.caution, message.compare, where)
    searched = await wrap_future(desk.searches.submit(desk.checked_kind(message.asked, kind), message.asked))
    plain = [_plain_search(one, message.explain) for one in searched]
    return JSONResponse(plain[0] if message.query is not None else {"results": plain})


@api.post(
    "/detect",
    response_model=Detection | DetectionsAnswer,
    responses=READS,
    tags=["search"],
    summary="What does a query exclude?",
)
async def detect(message: DetectRequest, desk: Desk) -> Response:
    found = await wrap_future(desk.detections.submit(None, [checked_query(query) for query in message.asked]))
    plain = [one.to_dict() for one in found]
    return JSONResponse(plain[0] if message.query is not None else {"results": plain})


@api.post(
    "/rerank",
    response_model=SearchAnswer,
    responses=READS,
    tags=["search"],
    summary="Judge the candidates of another first stage",
)
async def rerank(message: RerankRequest, desk: Desk) -> Response:
    exclude = None if message.exclude is None else tuple(message.exclude)
    candidates = [candidate.model_dump(exclude_none=True) for candidate in message.candidates]
    call = Reranking(checked_query(message.query), candidates, message.k, exclude, message.caution)
    [result] = await wrap_future(desk.reranks.submit(None, [call]))
    return JSONResponse(result.to_dict(message.explain))


@api.post(
    "/documents", response_model=IndexAnswer, responses=WRITES, tags=["documents"], summary="Add or replace documents"
)
async def add_documents(message: AddRequest, desk: Desk) -> Response:
    """What is acknowledged is on the disk. A document that is there already, unchanged, costs nothing."""
    documents = [Document.from_record(one.model_dump()) for one in message.documents]
    return JSONResponse(asdict((await _change(desk, Change(documents=documents))).report))


@api.get(
    "/documents", response_model=DocumentsAnswer, responses=LOOKS, tags=["documents"], summary="Documents by their ids"
)
def get_documents(ids: Ids, desk: Desk) -> Response:
    found, missing = desk.find(ids)
    return JSONResponse({"documents": [_plain_document(one) for one in found], "missing": missing})


@api.delete(
    "/documents", response_model=DeletedAnswer, responses=WRITES, tags=["documents"], summary="Delete documents"
)
async def delete_documents(ids: Ids, desk: Desk) -> Response:
    """Ids that there are not are passed over."""
    changed = await _change(desk, Change(delete=tuple(dict.fromkeys(ids))))
    return JSONResponse({"deleted": changed.deleted, "documents": changed.report.documents})


@api.get(
    "/documents/{id:document}",
    response_model=DocumentAnswer,
    responses=LOOKS,
    tags=["documents"],
    summary="One document",
)
def get_document(id: OneId, desk: Desk) -> Response:
    found, _ = desk.find([id])
    return JSONResponse(_plain_document(found[0])) if found else _no_document(id)


@api.put(
    "/documents/{id:document}",
    response_model=IndexAnswer,
    responses=WRITES,
    tags=["documents"],
    summary="Add or replace one document",
)
async def put_document(id: OneId, message: ReplaceRequest, desk: Desk) -> Response:
    changed = await _change(desk, Change(documents=[Document.from_record({"id": id, **message.model_dump()})]))
    return JSONResponse(asdict(changed.report))


@api.delete(
    "/documents/{id:document}",
    response_model=DeletedAnswer,
    responses={**WRITES, **described(404)},
    tags=["documents"],
    summary="Delete one document",
)
async def delete_document(id: OneId, desk: Desk) -> Response:
    changed = await _change(desk, Change(delete=[id]))
    if not changed.deleted:
        return _no_document(id)
    return JSONResponse({"deleted": changed.deleted, "documents": changed.report.documents})


@api.post(
    "/feedback",
    response_model=FeedbackAnswer,
    responses={**READS, **described(403, 404)},
    tags=["feedback"],
    summary="Keep an opinion on a removal",
)
def give_feedback(message: FeedbackRequest, request: Request, desk: Desk) -> Response:
    """Kept as a label that eval-coverage reads; only where the service was started with --feedback-file."""
    kept: FeedbackFile | None = request.app.state.feedback
    if kept is None:
        return problem(403, "this service keeps no feedback: it was started without --feedback-file.")
    found, _ = desk.find([message.document])
    if not found:
        return _no_document(message.document)
    return JSONResponse({"labels": kept.record(Feedback(message.query, message.topic, message.opinion), found[0])})


async def _change(desk: SearchDesk, change: Change) -> Changed:
    [changed] = await wrap_future(desk.changes.submit(None, [change]))
    return changed


def _no_document(id: str) -> Response:
    return problem(404, f"there is no document {id[:80]!r}.")


def _plain_document(document: Document) -> dict[str, Any]:
    plain: dict[str, Any] = {"id": document.id, "title": document.title, "text": document.text}
    return {**plain, "metadata": dict(document.metadata)} if document.metadata else plain


def _plain_search(searched: Searched, explain: bool) -> dict[str, Any]:
    plain = searched.result.to_dict(explain)
    return plain if searched.frozen is None else {**plain, "frozen": _plain_ranking(searched.frozen)}


def _plain_ranking(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    return [{"rank": hit.rank, "id": hit.id, "title": hit.title, "score": hit.score} for hit in hits]
