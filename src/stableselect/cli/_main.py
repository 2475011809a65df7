"""The program, and how it ends where that is not by itself: Ctrl-C, a signal, a closed pipe, a full disk."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from types import FrameType

from .. import __version__
from .._files import complain
from ._doctor import doctor

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_PIPE_CLOSED = 128 + 13
"""What a shell gives for a program that wrote to a pipe nobody reads any more."""


class Ended(SystemExit):
    """A signal told the program to end; the exit code is the one that shells give for it."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.exit_code = 128 + number


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    The code is 0 for success and 2 for input that cannot be used; 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP
    and 141 where the output is no longer read, and then nothing was written.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> from stableselect.cli import main
    >>> main(["select", "no such table.csv"])
    2
    """
    return ending(lambda: _main(sys.argv[1:] if argv is None else argv))


def _main(argv: Sequence[str]) -> int:
    missing = [name for name in ("typer", "rich", "pyarrow") if find_spec(name) is None]
    if missing and list(argv) == ["--version"]:
        print(f"stableselect {__version__}")
        return 0
    if missing and list(argv) == ["doctor"]:
        return doctor()
    if missing:
        print(f'The command line needs {", ".join(missing)}: pip install "stableselect[cli]"', file=sys.stderr)
        return 2
    from ._app import run

    return run(argv)


def ending(run: Callable[[], int]) -> int:
    """Run the program and return its exit code.

    A signal to end raises :class:`Ended` in it, so that files half written are removed on the way out.
    """
    code, received = 0, list[int]()
    try:
        with _signals_raise(received):
            code = run()
            if sys.stdout is not None:
                sys.stdout.flush()
            if not code or not received:
                return code
            code = 128 + received[0]
    except KeyboardInterrupt:
        code = 130
        # Python remembers an interruption within exec, which imports use, and would end itself by the signal.
        exec("")
    except Ended as ended:
        code = ended.exit_code
    except SystemExit as left:  # rich and typer at a closed pipe; typer also after it has completed a word
        if not isinstance(left.__context__, OSError):
            return left.code if isinstance(left.code, int) else 0
        code = _PIPE_CLOSED
    except BrokenPipeError:
        code = _PIPE_CLOSED
    except OSError as error:
        if not code:
            complain(f"Standard output: {error.strerror}.")
            code = 2
    except Exception as error:
        # A signal that comes while a module of C code is imported comes out of it as an ImportError.
        if not received and not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        code = 128 + received[0] if received else 130
    _give_up_output()
    return code


@contextmanager
def _signals_raise(received: list[int]) -> Iterator[None]:
    """Let signals to end raise, and note them; not those that are ignored (``nohup``) or that others handle."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handled = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        # A second one must not interrupt what the first sets off; a terminal that is closed sends several.
        for each in handled:
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        raise Ended(number)

    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _give_up_output() -> None:
    """Drop what standard output holds and cannot write: Python would try again as it exits, and print a traceback."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
