from __future__ import annotations

import numpy as np
import pytest

from stableselect.cli import main


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line in a terminal of 80 columns; return exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def messy(tmp_path):
    """A CSV file of 40 rows with an identifier, a word, and six columns of numbers that two of them drive."""
    rng = np.random.RandomState(0)
    a, b = rng.standard_normal((2, 40))
    lines = ["id,word,a,b,sum,near a,flag,same"]
    for j in range(40):
        cells = f"{a[j]:.5f},{100 * b[j]:.3f},{a[j] + b[j]:.5f},{round(50 * a[j])},{str(b[j] > 0).lower()},3"
        lines.append(f'{j:03d},"w, {j}",{cells}')
    path = tmp_path / "messy.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
