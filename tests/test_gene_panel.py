"""The example of a gene panel runs from start to end, and finds what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "gene_panel.py"


@pytest.mark.slow
@pytest.mark.skipif(not EXAMPLE.exists(), reason="the examples are not in this copy")
def test_gene_panel(load_data, data_home, tmp_path):
    load_data("prostate_ge")
    page = tmp_path / "panel.html"
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", "STABLESELECT_DATA": data_home}
    command = [sys.executable, str(EXAMPLE), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600, env=settings)
    assert done.returncode == 0, done.stderr
    assert "50 genes" in done.stdout and "48 different genes for 48" in done.stdout
    weak, strong = map(int, re.search(r"(\d+) of them weak, (\d+) very strong", done.stdout).groups())
    assert weak < 10 and strong <= 1
    html = page.read_text(encoding="utf-8")
    assert "A panel of 50 genes" in html and "Conditions and their cost" in html and "gene 4525" in html
    assert len(html) < 2e6
