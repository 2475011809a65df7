"""The commands in one application, and how it ends."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__
from .._files import complain
from ._apply import apply, reconstruct
from ._compare import compare
from ._demo import demo
from ._doctor import doctor
from ._evaluate import evaluate
from ._frontier import frontier
from ._methods import methods
from ._paper import paper
from ._select import select


class _PlainFlags:
    """Shows flags without a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class _Commands(_PlainFlags, TyperGroup):
    """The commands."""


class _Command(_PlainFlags, TyperCommand):
    """One command."""


app = typer.Typer(
    cls=_Commands,
    name="stableselect",
    help="Select the few columns of a table from which all others can best be reconstructed.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (select, evaluate, compare, frontier, apply, reconstruct, methods, demo, doctor):
    app.command(cls=_Command)(command)
for info in paper.registered_commands:
    info.cls = _Command
app.add_typer(paper, cls=_Commands)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"stableselect {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Tell of a package whose selectors cannot be used in one sentence, without a line of code."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **how: Any) -> None:
            if category.__name__ == "EntryPointWarning":  # its module takes a second to import
                complain(str(message))
            else:
                usual(message, category, *where, **how)

        warnings.showwarning = show
        yield


def run(argv: Sequence[str]) -> int:
    """Run one command and return the exit code; a misused option gets one sentence, as any other bad input does."""
    try:
        with _plain_warnings():
            return app(list(argv) or ["--help"], prog_name="stableselect", standalone_mode=False) or 0
    except typer.Abort:
        return 130
    except Exception as error:
        # Exceptions for misused options belong to typer or to click, depending on the version; both format themselves.
        if not hasattr(error, "format_message"):
            raise
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "stableselect"
        complain(f"{' '.join(error.format_message().split()).rstrip('.')} (see '{command} --help').", command)
        return 2
