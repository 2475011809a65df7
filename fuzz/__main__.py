"""``python -m fuzz run``, ``again`` and ``case``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .cases import FAMILIES, run_case
from .machine import again, fuzz


def main(argv: list[str] | None = None) -> int:
    """Run the command given; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Look for broken promises.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run new cases for some minutes")
    run.add_argument("--minutes", type=float, default=10)
    rerun = commands.add_parser("again", help="run the broken cases again")
    for command in (run, rerun):
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--jobs", type=int, default=2)
        command.add_argument("--family", choices=FAMILIES, help="cases of this family alone, with a state of their own")
        command.add_argument("--state", type=Path, default=Path(".fuzz"), help="folder of what was found")
    one = commands.add_parser("case", help="run one case, with its traceback")
    one.add_argument("number", type=int)
    one.add_argument("--family", choices=FAMILIES, help="of this family, whatever the number draws")
    given = parser.parse_args(argv)
    os.environ.setdefault("COLUMNS", "80")
    if given.command == "run":
        return fuzz(given.state, given.seed, given.minutes, given.jobs, given.family)
    if given.command == "again":
        return again(given.state, given.seed, given.jobs, given.family)
    outcome = run_case(given.number, family=given.family, trace=True)
    print(f"case {outcome.case}: {outcome.law} | {outcome.subject} | {outcome.kind}\n{outcome.detail}")
    print(f"{outcome.result}: {outcome.message}" if outcome.message else outcome.result)
    return 1 if outcome.result == "broken" else 0


if __name__ == "__main__":
    sys.exit(main())
