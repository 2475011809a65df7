"""What both kinds of file share when they are read: the end of an error's sentence, versions, and numbers of JSON."""

from __future__ import annotations

from typing import Any

ADVICE = "give a file written by stableselect.save or by 'stableselect select -o'."


class Refusal(Exception):
    """The end of a sentence about a file that begins with its name."""


def check_version(version: Any, latest: int) -> None:
    """Raise if a file is of a later version, or of none."""
    if type(version) is not int or version < 1:
        raise ValueError("its version is not a positive integer")
    if version > latest:
        raise Refusal(
            f"was written by a newer stableselect (file version {version}, this one reads up to {latest}); "
            "upgrade stableselect."
        )


def no_constant(text: str) -> float:
    """Raise on NaN and infinities, which are not JSON."""
    raise ValueError(f"{text} is not a JSON number")
