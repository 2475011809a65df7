"""One case: a pure function of its number."""

from __future__ import annotations

import contextlib
import re
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .checks import Broken, Refused
from .files import file_case
from .kills import kill_case
from .laws import selector_case
from .moments import moments_case
from .preparing import preparing_case

FAMILIES = {
    "selector": (0.64, selector_case),
    "preparing": (0.18, preparing_case),
    "moments": (0.07, moments_case),
    "file": (0.1075, file_case),
    "kill": (0.0025, kill_case),
}
"""By name: how often it is drawn (those of kills take seconds), and what runs it."""


@dataclass
class Outcome:
    """What became of a case.

    Attributes
    ----------
    case : int
        Its number.
    law, kind, subject, detail : str
        What was tested, on which kind of table or file, whose, with which settings.
    family : str
        What was asked for in the place of a drawn family.
    result : {"held", "refused", "broken"}
        "refused": the input was turned down in a sentence, as it may be.
    message : str
        What broke, or the refusal.
    """

    case: int
    law: str = "drawing"
    kind: str = "-"
    subject: str = "-"
    detail: str = ""
    family: str = ""
    result: str = "held"
    message: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return asdict(self)

    def line(self) -> str:
        """Return one line that says what broke and how to see it again."""
        again = f"python -m fuzz case {self.case}" + (f" --family {self.family}" if self.family else "")
        return f"BROKEN {self.law} | {self.subject} | {self.kind} | {self.message[:240]} | {again}"


def run_case(
    number: int, *, family: str | None = None, classes: Mapping[str, type] | None = None, trace: bool = False
) -> Outcome:
    """Run one case.

    Parameters
    ----------
    number : int
        The case.
    family : str, optional
        One of ``FAMILIES`` in the place of a drawn one.
    classes : mapping of str to class, optional
        Selectors in the place of the registered ones.
    trace : bool, default=False
        Print the traceback of what broke.

    Returns
    -------
    Outcome
    """
    rng = np.random.default_rng(number)
    outcome = Outcome(number, family=family or "")
    drawn = str(rng.choice(list(FAMILIES), p=[odds for odds, _ in FAMILIES.values()]))
    run = FAMILIES[family or drawn][1]
    given = {"classes": classes} if run is selector_case and classes is not None else {}
    try:
        run(rng, outcome, **given)
    except Refused as refused:
        outcome.result, outcome.message = "refused", str(refused)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = "" if isinstance(error, Broken) else f" ({place.filename.rpartition('/')[2]}:{place.lineno})"
        name = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
        told = re.sub(r"/\S*/fuzz\w{8}/", "", f"{name}{error}{where}")  # folders are called otherwise every time
        outcome.result, outcome.message = "broken", " ".join(told.split())
        if trace:
            with contextlib.suppress(BrokenPipeError):
                traceback.print_exc()
    return outcome
