"""The reference of the command line, from the application itself: every command, argument and option with its help."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from api_pages import write_changed
from typer.main import get_command

from stableselect.cli._app import app as application


def commands(command: Any = None, path: str = "stableselect") -> Iterator[tuple[str, Any]]:
    """Yield every command with what is typed for it; groups come before their members."""
    command = command or get_command(application)
    yield path, command
    for name, member in getattr(command, "commands", {}).items():
        if not member.hidden:
            yield from commands(member, f"{path} {name}")


def parameters(command: Any) -> list[Any]:
    """Return the arguments and options of a command that its help shows."""
    return [one for one in command.params if not getattr(one, "hidden", False)]


def written(param: Any) -> str:
    """Return what is typed for an argument or option."""
    value = param.metavar or param.name.upper()
    if param.param_type_name == "argument":
        return value
    words = ", ".join([*param.opts, *param.secondary_opts])
    return words if getattr(param, "is_flag", False) else f"{words} {value}"


def plain(text: str) -> str:
    """Return a text in which no character is markup."""
    return re.sub(r"([*`|_\\])", r"\\\1", text)


def described(param: Any) -> str:
    """Return the help of an argument or option, with its default where that is a plain value."""
    text = plain(" ".join((param.help or "").split()))
    shown = isinstance(param.default, int | float | str | Path) and not isinstance(param.default, bool)
    if shown and "default" not in text:
        text += f" Default: ``{param.default}``."
    return text


def usage(path: str, command: Any) -> str:
    """Return the line that shows how a command is called."""
    if getattr(command, "commands", None):
        return f"{path} COMMAND"
    arguments = [one for one in parameters(command) if one.param_type_name == "argument"]
    words = [written(one) + ("..." if one.nargs == -1 else "") for one in arguments]
    return " ".join([path, *words, "[OPTIONS]"])


def section(path: str, command: Any) -> list[str]:
    """Return the section of one command."""
    lines = [f".. _{path.replace(' ', '-')}:", "", path, "-" * len(path), ""]
    lines += [plain(inspect.cleandoc(command.help or "")), "", ".. code-block:: text", ""]
    lines += [f"   {usage(path, command)}", ""]
    for param in parameters(command):
        lines += [f"``{written(param)}``", f"   {described(param)}", ""]
    return lines


def page() -> str:
    """Return the whole page."""
    title = "Command line"
    lines = [
        title,
        "=" * len(title),
        "",
        "Made from the program itself; ``stableselect COMMAND --help`` prints the same.",
    ]
    lines += ["The :doc:`guide </user_guide/command_line>` shows how the commands go together.", ""]
    return "\n".join([*lines, *(line for path, command in commands() for line in section(path, command))])


def setup(app: Any) -> dict[str, bool]:
    """Write the page before Sphinx looks for sources."""
    app.connect("config-inited", lambda app, config: write_changed(Path(app.srcdir) / "api" / "commands.rst", page()))
    return {"parallel_read_safe": True}
