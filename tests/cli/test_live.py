"""Selections in use: intervals, scores, rows unlike those selected on, and rows that come one by one."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from stableselect import ColumnSubset, load, save


@pytest.fixture
def plant(tmp_path):
    """Logs of eight sensors that three quantities drive: 300 rows to select on, 50 new ones."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(350, 3)) @ rng.normal(size=(3, 8)) + 0.2 * rng.normal(size=(350, 8))
    frame = pd.DataFrame(X.round(4), columns=[f"s{j}" for j in range(8)])
    frame.insert(0, "when", [f"{j:04d}" for j in range(350)])
    frame[:300].to_csv(tmp_path / "old.csv", index=False)
    frame[300:].to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


@pytest.fixture
def chosen(run, plant):
    code, _, err = run("select", plant / "old.csv", "-k", 3, "--id-column", "when", "-o", plant / "kept.csv")
    assert code == 0, err
    return plant / "kept.selection.json"


def table(text):
    from io import StringIO

    return pd.read_csv(StringIO(text), dtype={"when": str})


def test_intervals_stand_beside_the_reconstructed_columns(run, plant, chosen):
    code, out, err = run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9)
    assert (code, err) == (0, "")
    found, truth = table(out), pd.read_csv(plant / "new.csv")
    kept = load(chosen).selected_names
    gone = [name for name in truth.columns[1:] if name not in kept]
    ends = [f"{name}_{end}" for name in gone for end in ("low", "high")]
    assert list(found.columns) == [*truth.columns, *ends]
    inside = [found[f"{name}_low"].le(truth[name]) & truth[name].le(found[f"{name}_high"]) for name in gone]
    assert 0.8 < np.mean(inside) < 0.99
    low, high = load(chosen).reconstruct_interval(truth[kept], 0.9)
    np.testing.assert_allclose(found[f"{gone[0]}_low"], low[gone[0]])
    np.testing.assert_allclose(found[f"{gone[0]}_high"], high[gone[0]])


def test_noise_widens_intervals_also_of_selected_columns(run, plant, chosen):
    first = load(chosen).selected_names[0]
    plain = table(run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9)[1])
    code, out, _ = run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9, "--noise", f"{first}=2")
    noisy = table(out)
    assert code == 0
    np.testing.assert_allclose(noisy[f"{first}_high"] - noisy[f"{first}_low"], 2 * 1.6448536 * 2, rtol=1e-6)
    width = [
        (frame.filter(like="_high").sum(axis=1) - frame.filter(like="_low").sum(axis=1)).sum()
        for frame in (plain, noisy)
    ]
    assert width[1] > 1.5 * width[0]
    for wrong in ("x", "-1", f"{first}=", "s99=1"):
        code, _, err = run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9, "--noise", wrong)
        assert code == 2 and ("--noise" in err or "'s99'" in err)
    code, _, err = run("reconstruct", chosen, plant / "new.csv", "--noise", 1)
    assert code == 2 and "--interval" in err
    code, _, err = run("reconstruct", chosen, plant / "new.csv", "--interval", 95)
    assert code == 2 and "--interval" in err


@pytest.mark.parametrize("command", ["apply", "reconstruct"])
def test_rows_unlike_those_selected_on_are_told_of_and_scored(run, plant, chosen, command):
    new = pd.read_csv(plant / "new.csv", dtype={"when": str})
    code, out, err = run(command, chosen, plant / "new.csv", "--score", "novelty")
    assert (code, err) == (0, "")
    assert (table(out)["novelty"] < 1).all()
    name = load(chosen).selected_names[1]
    new.loc[[3, 7], name] *= 1000
    new.to_csv(plant / "far.csv", index=False)
    code, out, err = run(command, chosen, plant / "far.csv", "--score", "novelty")
    assert code == 0
    assert f"Note: Unlike the rows selected on: 2 of 50 (far out of range: '{name}' in 2" in " ".join(err.split())
    assert np.flatnonzero(table(out)["novelty"] > 1).tolist() == [3, 7]
    code, _, err = run(command, chosen, plant / "new.csv", "--score", name)
    assert code == 2 and f"There is a column '{name}' already" in err


def test_a_file_of_an_earlier_version_still_works_and_says_what_it_lacks(run, plant, chosen):
    record = json.loads(chosen.read_text())
    for part in ("calibration", "conditions_cost"):
        del record[part]
    chosen.write_text(json.dumps(record))
    code, out, err = run("reconstruct", chosen, plant / "new.csv")
    assert code == 0 and len(table(out)) == 50
    assert "does not say what its rows were like" in " ".join(err.split()) and "select again" in " ".join(err.split())
    code, _, err = run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9)
    assert code == 2 and "Select again from the table" in " ".join(err.split())


@pytest.mark.parametrize("part", ["n_samples", "n_held_out"])
def test_a_count_no_table_has_is_damage(run, plant, chosen, part):
    record = json.loads(chosen.read_text())
    record["calibration"][part] = 10**400
    chosen.write_text(json.dumps(record))
    code, out, err = run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9)
    assert (code, out) == (2, "")
    assert "kept.selection.json is damaged: the calibration should be of" in " ".join(err.split())


def test_a_selection_within_batches_gives_no_intervals(run, plant):
    frame = pd.read_csv(plant / "old.csv")
    frame["site"] = np.arange(300) % 3
    frame.iloc[:, 1:9] += 5 * np.random.default_rng(0).normal(size=(3, 8))[frame["site"]]
    frame.to_csv(plant / "sites.csv", index=False)
    options = ("-k", 3, "--id-column", "when", "--batch", "site", "-o", plant / "b.csv")
    code, out, err = run("select", plant / "sites.csv", *options)
    assert code == 0, err
    assert "so it gives no intervals" in " ".join((out + err).split())
    assert load(plant / "b.selection.json").calibration is None
    code, _, err = run("reconstruct", plant / "b.selection.json", plant / "new.csv")
    assert code == 0 and "does not say what its rows were like" in " ".join(err.split())
    code, out, err = run("reconstruct", plant / "b.selection.json", plant / "new.csv", "--interval", 0.9)
    assert (code, out) == (2, "") and "selected within batches" in " ".join(err.split())


def test_too_few_rows_held_out_are_told(run, plant):
    pd.read_csv(plant / "old.csv")[:15].to_csv(plant / "few.csv", index=False)
    code, _, err = run("select", plant / "few.csv", "-k", 3, "--id-column", "when", "-o", plant / "f.csv")
    assert code == 0, err
    _, _, err = run("reconstruct", plant / "f.selection.json", plant / "new.csv", "--interval", 0.99, "-q")
    assert err == ""
    code, _, err = run("reconstruct", plant / "f.selection.json", plant / "new.csv", "--interval", 0.99)
    assert code == 0 and "15 rows held out are too few for intervals of 0.99" in " ".join(err.split())


def test_a_saved_selector_does_the_same(run, plant):
    frame = pd.read_csv(plant / "old.csv").drop(columns="when")
    selector = ColumnSubset(3, scale="standard").fit(frame).calibrate(frame)
    save(selector, plant / "x.sselect")
    code, out, _ = run("reconstruct", plant / "x.sselect", plant / "new.csv", "--interval", 0.8, "--score", "far")
    new = pd.read_csv(plant / "new.csv")
    kept = new[selector.get_feature_names_out()]
    assert code == 0
    np.testing.assert_allclose(table(out)["far"], selector.novelty(kept))
    save(ColumnSubset(3, scale="standard").fit(frame), plant / "y.sselect")
    code, _, err = run("reconstruct", plant / "y.sselect", plant / "new.csv", "--score", "far")
    assert code == 2 and "calibrate(X)" in err


def live(command, *options):
    """Start a command that reads rows as they come."""
    arguments = [sys.executable, "-m", "stableselect", command, *map(str, options)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(arguments, text=True, **pipes)


def test_a_row_is_written_before_the_next_is_read(run, plant, chosen):
    whole = run("reconstruct", chosen, plant / "new.csv", "--interval", 0.9, "--score", "far")[1]
    whole = table(whole)
    lines = (plant / "new.csv").read_text().splitlines(keepends=True)
    with live("reconstruct", chosen, "-", "--live", "--interval", 0.9, "--score", "far") as process:
        process.stdin.write(lines[0])
        process.stdin.flush()
        header = process.stdout.readline().strip().split(",")
        assert header == list(whole.columns)
        for number, line in enumerate(lines[1:6]):
            process.stdin.write(line)
            process.stdin.flush()
            cells = process.stdout.readline().strip().split(",")  # would wait for ever if rows were gathered
            assert cells[0] == whole["when"][number]
            np.testing.assert_allclose([float(cell) for cell in cells[1:]], whole.iloc[number, 1:].astype(float))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def feed(monkeypatch, text):
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_bad_rows_leave_empty_cells_and_do_not_end_the_stream(run, plant, chosen, monkeypatch):
    kept = load(chosen).selected_names
    rows = [
        "1,0.5,0.5,0.5",
        "2,0.5,,0.5",
        "3,0.5,broken,0.5",
        "4,0.5",
        "5,5000,0.5,0.5",
        "6,5000,0.5,0.5",
        "7,0.1,0.2,0.3",
    ]
    feed(monkeypatch, "\n".join([",".join(["when", *kept]), *rows, ""]))
    code, out, err = run("reconstruct", chosen, "-", "--live")
    found, err = table(out), " ".join(err.split())
    assert code == 0 and found["when"].tolist()[:3] == ["1", "2", "3"]
    gone = [name for name in load(chosen).features if name not in kept]
    assert found[gone].notna().all(axis=1).tolist() == [True, False, False, False, True, True, True]
    assert f"Row 2: no value of '{kept[1]}'; nothing is reconstructed from it." in err
    assert f"Row 3: '{kept[1]}' is 'broken', not a number" in err
    assert "Row 4 has 2 cells and 4 are expected" in err
    assert f"Row 5: Unlike the rows selected on: 1 of 1 (far out of range: '{kept[0]}' in 1" in err
    assert "Row 6" not in err and "2 of 7 rows are unlike those selected on" in err


def test_live_rows_may_have_other_marks_and_no_header(run, plant, chosen, monkeypatch):
    kept = load(chosen).selected_names
    feed(monkeypatch, "a;0,5;0,25;1\n")
    _, _, err = run("apply", chosen, "-", "--live", "--separator", ";", "--decimal", ",", "--no-header")
    assert "Row 1 has 4 cells and 9 are expected" in err  # every column of the table
    feed(monkeypatch, "a;0,5;0,25;1\n")
    code, out, err = run("reconstruct", chosen, "-", "--live", "--separator", ";", "--decimal", ",", "--no-header")
    assert code == 0, err
    header, row = (line.split(";") for line in out.splitlines())
    numbers = dict(zip(header, row, strict=True))
    assert [numbers[name] for name in ("when", *kept)] == ["a", "0,5", "0,25", "1"]
    expected = load(chosen).reconstruct(np.array([[0.5, 0.25, 1.0]]))[0]
    for name, value in zip(load(chosen).features, expected, strict=True):
        np.testing.assert_allclose(float(numbers[name].replace(",", ".")), value)


@pytest.mark.parametrize(
    ("text", "told"),
    [("", "Standard input is empty"), ("a,b\n1,2\n", "lacks 3 of the selected columns")],
)
def test_live_rows_that_cannot_be_used_are_refused(run, chosen, monkeypatch, text, told):
    feed(monkeypatch, text)
    code, out, err = run("reconstruct", chosen, "-", "--live")
    assert (code, out) == (2, "") and told in err


@pytest.mark.parametrize("missing", ["", "NA"])
def test_missing_live_values_are_told_of_where_they_are_not_filled_in(run, plant, chosen, monkeypatch, missing):
    frame = pd.read_csv(plant / "old.csv").drop(columns="when")
    save(ColumnSubset(3, scale="standard").fit(frame), plant / "plain.sselect")
    frame.mask(np.random.default_rng(0).random(frame.shape) < 0.05).to_csv(plant / "gaps.csv", index=False)
    code, _, err = run("select", plant / "gaps.csv", "-k", 3, "--missing", "em", "-o", plant / "em.csv")
    assert code == 0, err
    for made, fills in ((chosen, False), (plant / "plain.sselect", False), (plant / "em.selection.json", True)):
        names = getattr(load(made), "selected_names", None) or load(made).get_feature_names_out().tolist()
        feed(monkeypatch, f"{','.join(names)}\n0.5,{missing},0.5\n0.1,0.2,0.3\n")
        code, out, err = run("reconstruct", made, "-", "--live")
        assert code == 0
        assert table(out).notna().all(axis=1).tolist() == [fills, True]
        assert ("Row 1: " in err) != fills and "Row 2" not in err


@pytest.mark.parametrize(
    ("cell", "decimal"),
    [("1.234", ","), ("1.234,5", ","), ("0,5", "."), ("1_0", "."), ("\u0661\u0662", "."), ("0x10", "."), ("1e", ".")],
)
def test_live_cells_that_are_no_numbers_are_not_read_as_some(run, chosen, monkeypatch, cell, decimal):
    kept = load(chosen).selected_names
    feed(monkeypatch, f"{';'.join(kept)}\n1;{cell};1\n-1;+2e-1; {decimal}5 \n")
    code, out, err = run("reconstruct", chosen, "-", "--live", "--separator", ";", "--decimal", decimal)
    assert code == 0
    assert f"Row 1: '{kept[1]}' is '{cell}', not a number" in " ".join(err.split()) and "Row 2" not in err
    header, first, second = (line.split(";") for line in out.splitlines())
    gone = [j for j, name in enumerate(header) if name not in kept]
    assert not any(first[j] for j in gone)
    expected = load(chosen).reconstruct(np.array([[-1.0, 0.2, 0.5]]))[0]
    found = [float(second[j].replace(decimal, ".")) for j in gone]
    np.testing.assert_allclose(found, [expected[load(chosen).features.index(header[j])] for j in gone])


def test_a_number_is_told_from_a_long_cell_in_time(run, chosen, monkeypatch):
    feed(monkeypatch, f"{','.join(load(chosen).selected_names)}\n1,{'1' * 100_000}x,1\n")
    code, _, err = run("reconstruct", chosen, "-", "--live")
    assert code == 0 and "not a number" in " ".join(err.split())


def test_a_live_header_names_every_column_once(run, plant, chosen, monkeypatch):
    kept = load(chosen).selected_names
    text = f"{','.join([*kept, kept[0]])}\n1,2,3,4\n"
    feed(monkeypatch, text)
    code, out, err = run("reconstruct", chosen, "-", "--live")
    (plant / "twice.csv").write_text(text)
    _, _, of_file = run("reconstruct", chosen, plant / "twice.csv")
    assert (code, out) == (2, "")
    assert " ".join(err.split()) == " ".join(of_file.split()).replace("twice.csv", "Standard input")
    assert f"more than one column named '{kept[0]}'" in " ".join(err.split())


@pytest.mark.parametrize("bad", ["1," + "9" * 140_000 + ",1", "1,2\r3,1"])
def test_a_live_row_that_cannot_be_split_does_not_end_the_stream(run, chosen, monkeypatch, bad):
    kept = load(chosen).selected_names
    feed(monkeypatch, f"{','.join(kept)}\n{bad}\n1,1,1\n")
    code, out, err = run("reconstruct", chosen, "-", "--live")
    assert code == 0 and "Row 1 cannot be read" in " ".join(err.split())
    _, first, second = out.splitlines()
    assert set(first) == {","} and all(second.split(","))
    feed(monkeypatch, f"{bad}\n1,1,1\n")
    code, out, err = run("reconstruct", chosen, "-", "--live")
    assert (code, out) == (2, "") and "names of the columns cannot be read" in " ".join(err.split())


def test_live_is_for_standard_input(run, plant, chosen):
    code, _, err = run("reconstruct", chosen, plant / "new.csv", "--live")
    assert code == 2 and "standard input" in " ".join(err.split())


def test_live_rows_cannot_have_commas_for_both(run, chosen):
    code, out, err = run("reconstruct", chosen, "-", "--live", "--decimal", ",")
    assert (code, out) == (2, "")
    words = " ".join(err.replace("│", " ").split())
    assert "',' is both between columns and before decimals; name another separator, such as ';'" in words
