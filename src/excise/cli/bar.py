"""A progress bar on stderr, for commands that take a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from excise.progress import Progress


@contextmanager
def bar() -> Iterator[Progress]:
    """A bar that goes away when the work is done; nothing where stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("reading", total=None)

        def progress(what: str, done: int, total: int) -> None:
            shown.update(task, description=what, completed=done, total=total)

        yield progress
