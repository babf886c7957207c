"""The page at ``/``: the files of the folder ``page``, and nothing else."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.responses import Response

PAGE = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}


class _OutsideTheApi(PathConvertor):
    """Any address but those of the API, which tell by themselves what they do not take."""

    regex = "(?!v1(?:/|$)).*"


register_url_convertor("page", _OutsideTheApi())
page = APIRouter(include_in_schema=False)


@page.api_route("/{name:page}", methods=["GET", "HEAD"])
def page_file(name: str, request: Request) -> Response:
    """A file by its name; it is looked up in the list of what there is, so that no name leads anywhere else."""
    files = {path.relative_to(PAGE).as_posix(): path for path in PAGE.rglob("*") if path.suffix in _TYPES}
    path = files.get(name or "index.html")
    if path is None:
        raise HTTPException(404)
    content = path.read_bytes()
    headers = {"ETag": f'"{sha256(content).hexdigest()[:32]}"', "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[path.suffix], headers=headers)
