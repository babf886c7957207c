"""Self-contained pages in the look of the evaluation report: light and dark, no script, no network.

The templates are in ``templates/``. Whatever they are given is escaped.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from excise import __version__
from excise.evaluation.report.templates import part, templates_of
from excise.extras import need


def filled(template: str, **values: Any) -> str:
    """A template with its values put in.

    Examples
    --------
    >>> page = filled("page.html.j2", title="<b>bold</b>")
    >>> "<title>&lt;b&gt;bold&lt;/b&gt;</title>" in page, "<script" in page
    (True, False)
    """
    need("a page", "xbench", "jinja2")
    from markupsafe import Markup

    style = Markup(part("page.css") + (files(__package__) / "page.css").read_text(encoding="utf-8"))
    return (
        templates_of("excise.xbench", "templates")
        .get_template(template)
        .render(style=style, version=__version__, **values)
    )
