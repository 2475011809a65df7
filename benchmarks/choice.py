"""`make bench-choice`: how stable a choice is against what it states, and how good the default is, on many tables.

`run` computes what the store lacks, and goes on where it was stopped; `page` writes docs/choice.md from the store. On a
machine without the packages that hold some of the tables, `run --tables FOLDER` reads those that `prepare FOLDER` wrote
elsewhere.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

from _choice_page import render
from _choice_runs import PARTS, SPLITS, SUBSAMPLES, available, current, evaluate, plan
from _choice_tables import TABLES, prepare
from _store import RESULTS
from stableselect.experiments import Store, Stored, execute, has_results

STORE = RESULTS / "choice"
PAGE = Path(__file__).parents[1] / "docs" / "choice.md"


def stored(folder: Path = STORE) -> list[Stored]:
    """Return the runs of a store; none where there is no store yet."""
    return Store(folder, current=current).runs() if has_results(folder) else []


def main(arguments: list[str] | None = None) -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare", help="write the tables that can be had here to a folder")
    one.add_argument("folder", type=Path)
    one = commands.add_parser("run", help="compute the runs that the store lacks")
    one.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes, each on one thread")
    one.add_argument("--tables", metavar="FOLDER", help="read tables that `prepare` wrote")
    one.add_argument("--only", choices=PARTS, help="one part")
    one.add_argument("--table", choices=TABLES, action="append", help="one table; can be given again")
    one.add_argument("--subsamples", type=int, default=SUBSAMPLES)
    one.add_argument("--splits", type=int, default=SPLITS)
    one.add_argument("--retry", action="store_true", help="compute failed runs again")
    one.add_argument("--store", type=Path, default=STORE)
    one = commands.add_parser("page", help="write the page")
    one.add_argument("--store", type=Path, default=STORE)
    one.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args(arguments)
    if given.command == "prepare":
        print("written:", *prepare(given.folder))
    elif given.command == "page":
        given.output.write_text(render(stored(given.store)), encoding="utf-8")
    else:
        names = available(given.table or TABLES, given.tables)
        parts = PARTS if given.only is None else (given.only,)
        runs = plan(names, parts=parts, subsamples=given.subsamples, splits=given.splits)
        execute(
            runs,
            given.store,
            partial(evaluate, folder=given.tables),
            jobs=given.jobs,
            retry=given.retry,
            current=current,
            report=_report,
        )


def _report(item: Stored, ended: int, wanted: int) -> None:
    words = item.error if item.status == "failed" else f"{item.record['seconds']:.1f} s"
    print(f"{ended}/{wanted} {item.run}: {words}", flush=True)


if __name__ == "__main__":
    main()
