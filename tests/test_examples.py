"""The scripts of ``examples/`` run from start to end, and find what they say."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
if not (ROOT / "examples").is_dir():
    pytest.skip("the examples are not in this copy", allow_module_level=True)


def run(name, *arguments, **environment):
    """Run an example in a process of its own and return what it prints."""
    command = [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1", **environment}
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600, env=settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def percents(text):
    return [float(number) for number in re.findall(r"([\d.]+)(?= ?%)", text)]


@pytest.mark.slow
def test_sensors(tmp_path):
    out = run("sensors.py", tmp_path)
    assert (tmp_path / "panel.sselect").exists()
    spent, budget = map(float, re.search(r"for ([\d.]+) of a budget of ([\d.]+)", out).groups())
    assert 0 < spent <= budget
    live = out.split("Live: ")[1]
    covered, level, width = percents(live)[:3]
    assert 85 < covered < 95 and level == 90 and width < 40
    assert "told: nothing" in out and "Row 2: Unlike the rows selected on: 1 of 1 (far out of range: 's" in out
    assert out.rstrip().endswith("True")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pvlib") is None, reason="pvlib carries the station's readings")
def test_sensors_of_a_real_station(tmp_path):
    out = run("sensors.py", tmp_path, "station")
    covered, level, width = percents(out.split("Live: ")[1])[:3]
    assert 82 < covered < 96 and level == 90 and width < 70
    assert "of 1472 x 17 values" in out and "told: nothing" in out


@pytest.mark.slow
def test_report_variables(load_data, data_home):
    load_data("mice_protein")
    out = run("report_variables.py", STABLESELECT_DATA=data_home)
    assert "1080 rows of 72 mice, 1396 values missing" in out
    beaten, of = map(int, re.search(r"beats (\d+) of (\d+) random panels", out).groups())
    assert beaten > 0.9 * of
    covered, width = percents(out.split("90 % intervals of the proteins left out hold ")[1])[:2]
    assert 84 < covered < 96 and width < 70


@pytest.mark.slow
def test_gene_panel(load_data, data_home, tmp_path):
    load_data("prostate_ge")
    page = tmp_path / "panel.html"
    out = run("gene_panel.py", page, STABLESELECT_DATA=data_home)
    assert "50 genes" in out and "48 different genes for 48" in out
    weak, strong = map(int, re.search(r"(\d+) of them weak, (\d+) very strong", out).groups())
    assert weak < 10 and strong <= 1
    html = page.read_text(encoding="utf-8")
    assert "A panel of 50 genes" in html and "Conditions and their cost" in html and "gene 4525" in html
    assert len(html) < 2e6
