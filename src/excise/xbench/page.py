"""Self-contained pages in the look of the evaluation report: light and dark, no script, no network."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from excise import __version__

_PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>$style</style>
</head>
<body>
<header><div class="wide"><h1>excise <span>$title</span></h1></div></header>
<main class="wide">
$body
</main>
<footer class="wide">Written by excise $version.</footer>
</body>
</html>
""")


def page(title: str, body: str) -> str:
    """A whole page around a body of HTML."""
    styles = [
        (files(place) / "page.css").read_text(encoding="utf-8")
        for place in ("excise.evaluation.report", "excise.xbench")
    ]
    return _PAGE.substitute(title=escape(title), style="".join(styles), body=body, version=escape(__version__))


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of texts; they are escaped here."""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + f"<th>{escape(row[0])}</th>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
