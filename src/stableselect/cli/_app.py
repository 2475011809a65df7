"""The commands in one application, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from .. import __version__
from ._apply import apply
from ._demo import demo
from ._frontier import frontier
from ._methods import methods
from ._paper import paper
from ._reconstruct import reconstruct
from ._select import select

app = typer.Typer(
    name="stableselect",
    help="Keep the few columns of a table that best stand for all of them.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (select, frontier, apply, reconstruct, methods, demo):
    app.command()(command)
app.add_typer(paper)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"stableselect {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    pass


def run(argv: Sequence[str]) -> int:
    """Run one command and return the exit code; a misused option gets one sentence, as any other bad input does."""
    try:
        return app(list(argv) or ["--help"], prog_name="stableselect", standalone_mode=False) or 0
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except Exception as error:
        # Exceptions for misused options belong to typer or to click, depending on the version; both format themselves.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "stableselect"
        print(f"{command}: {error.format_message().rstrip('.')} (see '{command} --help').", file=sys.stderr)
        return 2
