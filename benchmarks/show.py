"""`make bench`: print the stored results; those of the classical methods are printed by `make bench-graph`."""

from __future__ import annotations

import json

import any_size
import certificate
import core_scale
import core_speed
import engine
import gpu_neural
import missing
import neural_speed
import nuisance
import shortcuts
import together
from _store import RESULTS


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


def gpu_engine_table() -> str:
    """Return the cases of gpu_engine.py that compare device and cores, as Markdown."""
    lines = ["One NVIDIA H200 and the 16 cores of its machine.", "", "| what | seconds |", "|---|---:|"]
    cases = {
        "stability-device": "a choice for stability, MNIST-Fashion, 50 of 784 features: device",
        "stability-1": "the same: one core",
        "stability-all-cores": "the same: all cores",
        "large": "50,000 x 20,000, 100 features: device",
    }
    for name, what in cases.items():
        path = RESULTS / f"gpu_engine.{name}.json"
        if path.exists():
            lines.append(f"| {what} | {json.loads(path.read_text())['seconds']:.1f} |")
    return "\n".join(lines)


SECTIONS = {
    "Speed": core_speed.table,
    "Scale": core_scale.table,
    "Engine": engine.table,
    "Engine: shortcuts": shortcuts.table,
    "GPU": gpu_table,
    "GPU: many searches at once": gpu_engine_table,
    "Networks: speed": neural_speed.table,
    "Networks: GPU": gpu_neural.table,
    "Leave-one-out certificate": certificate.table,
    "Nuisance features": nuisance.table,
    "Tables larger than memory": any_size.table,
    "Missing values": missing.table,
    "Samples that belong together": together.table,
}


def main() -> None:
    """Print every table."""
    for title, make in SECTIONS.items():
        print(f"\n## {title}\n\n{make()}")


if __name__ == "__main__":
    main()
