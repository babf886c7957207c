"""``excise``: the commands of every group under one name, and what becomes of errors."""

from __future__ import annotations

import codecs
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from excise import __version__
from excise.cli import attach, copy, evaluate, search
from excise.cli.compact import compact_command
from excise.cli.fetch import fetch_command
from excise.cli.serve import serve_command
from excise.cli.study import study_command
from excise.cli.train import train
from excise.cli.xbench import xbench
from excise.errors import ExciseError

app = typer.Typer(
    name="excise",
    help='Search that respects "X but not Z".',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("index")(search.index_command)
app.command("search")(search.search_command)
app.command("copy")(copy.copy_command)
app.command("compact")(compact_command)
app.command("detect")(search.detect_command)
app.command("demo")(search.demo_command)
app.command("rerank")(attach.rerank_command)
app.command("mcp")(attach.mcp_command)
app.command("serve")(serve_command)
app.command("eval")(evaluate.eval_command)
app.command("eval-pairs")(evaluate.eval_pairs_command)
app.command("eval-coverage")(evaluate.eval_coverage_command)
app.command("study")(study_command)
app.command("report")(evaluate.report_command)
app.command("fetch")(fetch_command)
app.command("diagnose")(evaluate.diagnose_command)
app.command("calibrate")(evaluate.calibrate_command)
app.add_typer(train, name="train")
app.add_typer(xbench, name="xbench")


def main() -> None:
    """Run the command line; what excise or the system refuses becomes one sentence on stderr and exit code 2."""
    _take_any_bytes()
    try:
        app()
    except ExciseError as error:
        _complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        _complain("interrupted.")
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe went away: nothing left to say
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:  # what the system refuses: a name that is too long, a folder that may not be read
        _complain(f"{error.filename or 'the system refused'}: {error.strerror or error}.")
        sys.exit(2)


def _take_any_bytes() -> None:
    """Bytes that are not UTF-8 come in as Python has them on the command line, and go out as escapes."""
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    if isinstance(sys.stdout, TextIOWrapper):
        codecs.register_error("json-escapes", _json_escapes)
        sys.stdout.reconfigure(errors="json-escapes")


def _json_escapes(error: UnicodeError) -> tuple[str, int]:
    """What the terminal's encoding does not have, as JSON writes it: a JSON line stays one in any encoding."""
    import json

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _complain(sentence: str) -> None:
    from excise.cli.render import say

    say(f"excise: {sentence}", "red", stderr=True)


def _version(show: bool) -> None:
    if show:
        typer.echo(f"excise {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass
