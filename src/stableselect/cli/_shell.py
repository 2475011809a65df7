"""What all commands share: the two consoles, the progress bar, and errors as one sentence in the words of options."""

from __future__ import annotations

import errno
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from .._files import complain
from ._options import option


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console that shows text as it is: no markup, no guessed colours."""
    return Console(stderr=stderr, quiet=quiet, markup=False, highlight=False, emoji=False)


@contextmanager
def reported(debug: bool, *, may_drop: bool = False) -> Iterator[None]:
    """Turn an error into one sentence on standard error and exit code 2, or 1 where the fault is the program's.

    ``may_drop`` is for commands that can do without columns at fault.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except (ValueError, OSError, ImportError, MemoryError) as error:
        _fail(_sentence(error, may_drop), 2, debug)
    except Exception as error:
        # Exceptions for misused options format themselves; see run in _app.
        if isinstance(error, typer.Exit) or hasattr(error, "format_message"):
            raise
        _fail(f"Unexpected {type(error).__name__}: {_sentence(error)} Run with --debug for a traceback.", 1, debug)


def _sentence(error: BaseException, may_drop: bool = False) -> str:
    """Return what went wrong and what to do, with options for the names of parameters."""
    from .._files import OutputExistsError, printable
    from ..base import TooFewSamplesError
    from ..io import NotFiniteError, NotNumericError, TextError
    from ..workflow import RequestError

    if isinstance(error, MemoryError):
        return "The table does not fit in memory; give fewer rows or columns."
    if isinstance(error, OutputExistsError):
        return f"{printable(str(error.path))} exists already; choose another output name or use --force."
    if isinstance(error, TooFewSamplesError):
        folds = counted(error.n_folds, "fold")
        filled = f"the rows fill {folds} and {error.n_needed} are needed (equal rows share a fold)"
        advice = "give more rows, or use neither '-k auto' nor a stability option"
        return f"The table has too few rows to hold some out: {filled}; {advice}."
    if isinstance(error, OSError) and error.errno is not None:
        # What is written to a file has its name; what is left is what is printed.
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        name = printable(str(error.filename)) if error.filename else "Standard output" if full else ""
        return f"{name}: {error.strerror}." if name else f"{error.strerror}."
    told = f"{option(error.parameter)}: {error.reason}" if isinstance(error, RequestError) else str(error)
    text = " ".join(told.split()) or type(error).__name__
    text = text if text.endswith((".", "?", "!", ")", '"')) else text + "."
    if may_drop and isinstance(error, NotNumericError):
        text += " See --separator, --decimal and --transpose."
    elif isinstance(error, TextError):
        text += " See --separator, --decimal, --encoding and --no-header."
    elif "without a header" in text:
        text += " See --no-header."
    elif isinstance(error, NotFiniteError):
        missing = "Missing values in" in text
        if may_drop:
            text += f" Or ignore these columns with --drop-columns{'; select also takes --missing em' * missing}."
        elif missing:
            text += " A selection made with --missing em fills them in."
    return text


def _fail(sentence: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    complain(sentence)
    raise typer.Exit(code)


@contextmanager
def progress_bar(stages: int, *, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar on standard error if that is a terminal; call what is given as each of the stages begins.

    It is called with a few words. Within a stage the bar follows what selectors report of their steps.
    """
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from ..base import progress_text, told_to

    err = console(stderr=True)
    if quiet or not err.is_terminal:
        yield lambda stage: None
        return
    words, steps = (TextColumn(f"{{task.{name}}}", markup=False) for name in ("description", "fields[steps]"))
    columns = (SpinnerColumn(), words, BarColumn(20), TimeElapsedColumn(), steps)
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=stages, steps="")
        begun = 0

        def begin(stage: str) -> None:
            nonlocal begun
            bar.update(task, description=stage, completed=begun, steps="")
            begun += 1

        def report(what: str, done: int, total: int | None, seconds: float) -> None:
            part = 0.0 if total is None else done / total
            bar.update(task, completed=begun - 1 + part, steps=progress_text(what, done, total, seconds))

        with told_to(report):
            yield begin


def counted(n: int, what: str) -> str:
    """Return a number with its noun: 1 row, 2 rows."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def program() -> str:
    """Return how to call this program from here: by name, or where no shell would find it through its Python."""
    if shutil.which("stableselect"):
        return "stableselect"
    python = Path(sys.executable)
    inside = python.is_relative_to(Path.cwd())
    return f"{python.relative_to(Path.cwd()) if inside else python} -m stableselect"
