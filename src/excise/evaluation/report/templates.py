"""Templates: every value that enters a page is escaped on its way, unless it is marked as markup of our own."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from excise.extras import need

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(template: str, **values: Any) -> str:
    """A template of this folder with its values put in.

    Examples
    --------
    >>> from excise.evaluation.report.tables import Table
    >>> "<td>" in render("table.html.j2", table=Table(["frozen"], [], frozenset()))
    False
    """
    return templates_of("excise.evaluation.report", ".").get_template(template).render(**values)


def part(name: str) -> str:
    """A file of this folder: style or script."""
    return (files("excise.evaluation.report") / name).read_text(encoding="utf-8")


def trusted(text: str) -> Markup:
    """A text of our own that enters a page as it is."""
    _need_jinja()
    from markupsafe import Markup

    return Markup(text)


@cache
def templates_of(package: str, folder: str) -> Environment:
    """The templates in a folder of a package; what they are given is escaped, and nothing may be left out."""
    _need_jinja()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package, folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _need_jinja() -> None:
    need("the report", "eval", "jinja2")
