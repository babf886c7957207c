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
    """A table of texts; they are escaped here. Columns of words are set to the left, those of numbers to the right."""
    wordy = [not all(row[place][:1].isdigit() for row in rows) for place in range(len(head))]
    kinds = [' class="words"' if words else "" for words in wordy]
    top = "".join(f"<th{kind}>{escape(cell)}</th>" for kind, cell in zip(kinds, head, strict=True))
    lines = []
    for row in rows:
        cells = "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds[1:], row[1:], strict=True))
        lines.append(f"<tr><th>{escape(row[0])}</th>{cells}</tr>")
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
