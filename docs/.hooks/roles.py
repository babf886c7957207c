"""Docstrings mark names with Sphinx roles (``:class:`Excise```); on the site the name in code is enough."""

from __future__ import annotations

import re
from typing import Any

_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):(?=<code>)")
_SHORT = re.compile(r"(<code>)~(?:\w+\.)*(?=\w)")


def on_page_content(html: str, **_: Any) -> str:
    """Take the roles off."""
    return _SHORT.sub(r"\1", _ROLE.sub("", html))
