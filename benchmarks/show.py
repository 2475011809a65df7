"""`make bench`: print the stored results; with --readme, write the main ones into the README."""

from __future__ import annotations

import json
import sys

import certificate
import core_faithful
import core_quality
import core_scale
import core_speed
import elsewhere
import gpu_neural
import graph_quality
import neural_quality
import neural_speed
from _data import RESULTS, ROOT

_START = "<!-- results: written by benchmarks/show.py --readme -->"
_END = "<!-- end of results -->"


def gpu_table() -> str:
    """Return host and device seconds of every selector, as Markdown."""
    path = RESULTS / "gpu_core.json"
    if not path.exists():
        return "not measured yet"
    stored = json.loads(path.read_text())
    lines = [
        f"{stored['device']}, torch {stored['torch']}; host: {stored['versions']['threads']} threads.",
        "",
        "| table | selector | columns in common | host, s | CUDA, s |",
        "|---|---|---|---|---|",
    ]
    for name, part in stored["parts"].items():
        size = f"{name} {part['shape'][0]} x {part['shape'][1]}, k = {part['k']}"
        for selector, row in part.items():
            if isinstance(row, dict):
                common = f"{row['columns_in_common']} of {part['k']}" if "columns_in_common" in row else ""
                lines.append(
                    f"| {size} | {selector} | {common} | {row['host_seconds']:.3g} | {row['cuda_seconds']:.3g} |"
                )
    return "\n".join(lines)


SECTIONS = {
    "Quality: test error with a least-squares refit, mean of 4 splits": lambda: core_quality.table("least_squares"),
    "Quality: test error with a ridge refit": lambda: core_quality.table("ridge"),
    "Quality: accuracy of extra trees on the kept columns, %": lambda: core_quality.table("accuracy"),
    "Verdicts": core_quality.verdicts,
    "The published protocol repeated": core_faithful.table,
    "Speed": core_speed.table,
    "Scale": core_scale.table,
    "GPU": gpu_table,
    "Classical methods: test error with a ridge refit": lambda: graph_quality.table("ridge"),
    "Classical methods: where they lose to random columns (ridge refit)": lambda: graph_quality.losses("ridge"),
    "Classical methods: accuracy, %": lambda: graph_quality.table("accuracy"),
    "Networks: own error on test rows": lambda: neural_quality.table("own"),
    "Networks: below as many principal components": neural_quality.below_floor,
    "Networks: test error with a least-squares refit": lambda: neural_quality.table("least_squares"),
    "Networks: test error with a ridge refit": lambda: neural_quality.table("ridge"),
    "Networks: where they lose to random columns (ridge refit)": neural_quality.losses,
    "Networks: accuracy, %": lambda: neural_quality.table("accuracy"),
    "Networks: stability over seeds (Nogueira), rows held fixed": neural_quality.seed_stability,
    "Networks: seconds to select": lambda: f"{neural_quality.machine()}\n\n{neural_quality.table('seconds')}",
    "Networks: published settings on the published split": neural_quality.published_table,
    "Networks: speed": neural_speed.table,
    "Networks: GPU": gpu_neural.table,
    "Leave-one-out certificate": certificate.table,
    "Asking for stability, on other tables": elsewhere.table,
}


def main() -> None:
    """Print every table."""
    for title, make in SECTIONS.items():
        print(f"\n## {title}\n\n{make()}")


def write_readme() -> None:
    """Replace the results between the README's markers."""
    path = ROOT / "README.md"
    before, rest = path.read_text().split(_START)
    after = rest.split(_END)[1]
    summary = f"{core_quality.summary()}\n\n{graph_quality.summary()}\n\n{neural_quality.summary()}"
    path.write_text(f"{before}{_START}\n{summary}\n{_END}{after}")


if __name__ == "__main__":
    write_readme() if "--readme" in sys.argv else main()
