"""What all commands share: option types, the two consoles, and errors as one sentence."""

from __future__ import annotations

import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write: .csv, .tsv, .parquet, .npy or .npz."),
]
NoHeader = Annotated[
    bool, typer.Option("--no-header", metavar="", help="The first row is data; columns are called c0, c1, ...")
]
Force = Annotated[bool, typer.Option("--force", metavar="", help="Replace files that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", metavar="", help="Print no report.")]
Debug = Annotated[bool, typer.Option("--debug", metavar="", help="Show the traceback of an error.")]


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console that shows text as it is: no markup, no guessed colours."""
    return Console(stderr=stderr, quiet=quiet, markup=False, highlight=False, emoji=False)


@contextmanager
def reported(debug: bool) -> Iterator[None]:
    """Turn an error into one sentence on standard error and exit code 2, or 1 where the fault is the program's."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, OSError, ImportError, MemoryError) as error:
        _fail(_sentence(error), 2, debug)
    except Exception as error:
        if isinstance(error, typer.Exit):
            raise
        _fail(f"Unexpected {type(error).__name__}: {_sentence(error)} Say --debug to see where.", 1, debug)


def _sentence(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "The table does not fit in memory; give fewer rows or columns."
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text.endswith((".", "?", "!", ")", '"')) else text + "."


def _fail(sentence: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    print(f"stableselect: {sentence}", file=sys.stderr)
    raise typer.Exit(code)


@contextmanager
def progress_bar(stages: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar on standard error; call what is given with a few words as each of the stages begins."""
    err = console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=quiet or not err.is_terminal) as bar:
        task = bar.add_task("", total=stages)
        begun = 0

        def begin(stage: str) -> None:
            nonlocal begun
            bar.update(task, description=stage, completed=begun)
            begun += 1

        yield begin


def program() -> str:
    """Return how to call this program from here: by name, or where no shell would find it through its Python."""
    if shutil.which("stableselect"):
        return "stableselect"
    python = Path(sys.executable)
    inside = python.is_relative_to(Path.cwd())
    return f"{python.relative_to(Path.cwd()) if inside else python} -m stableselect"
