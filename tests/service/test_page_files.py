"""The files of the page: each by its name and with its type, and nothing beside them."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from excise.service import page_files


def test_files_are_served_with_their_types(http: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    (folder / "icons").mkdir(parents=True)
    types = {
        "index.html": "text/html; charset=utf-8",
        "app.js": "text/javascript; charset=utf-8",
        "style.css": "text/css; charset=utf-8",
        "icons/mark.svg": "image/svg+xml",
    }
    for name in types:
        (folder / name).write_text(f"content of {name}")
    (folder / "notes.py").write_text("not for the public")
    (tmp_path / "secret.txt").write_text("secret")
    monkeypatch.setattr(page_files, "PAGE", folder)
    for name, kind in types.items():
        answer = http.get(f"/{name}")
        assert (answer.text, answer.headers["content-type"]) == (f"content of {name}", kind)
        again = http.get(f"/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert http.get("/").text == "content of index.html"
    assert http.head("/").headers["content-length"] == str(len("content of index.html"))
    for name in ("notes.py", "icons", "../secret.txt", "%2e%2e%2fsecret.txt", "icons/../../secret.txt"):
        assert http.get(f"/{name}").status_code == 404
    assert http.get("/v1/nothing").status_code == 404
    assert http.get("/v1/search").status_code == 405
