"""Self-contained pages in the look of the evaluation report: light and dark, no script, no network.

The templates are in ``templates/``. Whatever they are given is escaped.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from excise import __version__
from excise.extras import need

if TYPE_CHECKING:
    from jinja2 import Environment

_STYLES = ("excise.evaluation.report", "excise.xbench")


def filled(template: str, **values: Any) -> str:
    """A template with its values put in.

    Examples
    --------
    >>> page = filled("page.html.j2", title="<b>bold</b>")
    >>> "<title>&lt;b&gt;bold&lt;/b&gt;</title>" in page, "<script" in page
    (True, False)
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    need("a page", "xbench", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("excise.xbench"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    styles = [(files(place) / "page.css").read_text(encoding="utf-8") for place in _STYLES]
    environment.globals["style"] = Markup("".join(styles))
    environment.globals["version"] = __version__
    return environment
