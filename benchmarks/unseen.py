"""`make bench-unseen`: whether the order of the methods carries over to tables that nobody tuned on.

`run` puts the tables into a folder as a user would (`stableselect.datasets.add`) and runs the paper's comparison on
them (`stableselect.paper.run`); it goes on where it was stopped. `page` writes docs/unseen.md from the stored runs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from _store import RESULTS
from _unseen_page import render
from _unseen_tables import TABLES
from stableselect import datasets, paper
from stableselect.experiments import Stored
from stableselect.paper.methods import METHODS, OTHERS

ROOT = Path(__file__).parents[1]
STORE = RESULTS / "unseen"
PAGE = ROOT / "docs" / "unseen.md"
CACHE = Path.home() / ".cache" / "stableselect-unseen"


def run(tables: list[str], methods: list[str] | None, cache: Path, *, jobs: int, retry: bool) -> None:
    """Compute the runs that the store lacks: five splits, two seeds, every method of Table 2 and its rivals."""
    for name in tables:
        table = TABLES[name]
        X, y = table.load(cache)
        datasets.add(name, X, y, k=table.k, title=table.title, data_home=cache)
    request = paper.Request(
        "table2",
        results=STORE,
        protocol="corrected",
        datasets=tables,
        methods=methods or [*METHODS, *OTHERS],
        jobs=jobs,
        retry=retry,
        data_home=cache,
    )
    paper.run(request, report=_report)


def main(arguments: list[str] | None = None) -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="compute the runs that the store lacks")
    one.add_argument("--table", choices=TABLES, action="append", help="one table; can be given again")
    one.add_argument("--method", action="append", help="one method; can be given again")
    one.add_argument("--cache", type=Path, default=CACHE, help="folder of the downloads and the tables")
    one.add_argument("--jobs", type=int, default=1, help="processes, each on one thread")
    one.add_argument("--retry", action="store_true", help="compute failed runs again")
    commands.add_parser("page", help="write the page")
    given = parser.parse_args(arguments)
    if given.command == "run":
        run(given.table or list(TABLES), given.method, given.cache, jobs=given.jobs, retry=given.retry)
    else:
        PAGE.write_text(render(STORE, ROOT / "docs" / "results"), encoding="utf-8")


def _report(item: Stored, ended: int, wanted: int) -> None:
    words = item.error if item.status == "failed" else f"{item.record.get('seconds', 0.0):.1f} s"
    print(f"{ended}/{wanted} {item.run}: {words}", flush=True)


if __name__ == "__main__":
    main()
