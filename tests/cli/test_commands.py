from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from stableselect import ColumnSubset, __version__, all_selectors, save
from stableselect.cli._report import _percent

ROLES = ("--id-column", "id", "--drop-columns", "word")
FEATURES = ["a", "b", "sum", "near a", "flag", "same"]


def select(run, table, *options):
    code, out, err = run("select", table, *ROLES, *options)
    assert code == 0, err
    return out, err


def test_without_output_the_chosen_columns_are_all_that_is_printed(run, messy):
    out, err = select(run, messy, "-k", 2)
    chosen = out.splitlines()
    assert len(chosen) == 2
    assert set(chosen) <= set(FEATURES)
    assert "held-out rows" in err
    assert select(run, messy, "-k", 2, "--quiet") == (out, "")
    assert os.listdir(messy.parent) == ["messy.csv"]


def test_the_choice_is_the_library_s(run, messy):
    X = pd.read_csv(messy)[FEATURES].to_numpy(dtype=float)
    scaled = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    fitted = ColumnSubset(3).fit(scaled)
    out, _ = select(run, messy, "-k", 3)
    assert out.splitlines() == [FEATURES[j] for j in fitted.selected_]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_the_output_holds_original_values_in_original_order(run, messy, tmp_path, suffix):
    out = tmp_path / f"out{suffix}"
    select(run, messy, "-k", 0.5, "-o", out)
    text = {"sep": "\t" if suffix == ".tsv" else ",", "dtype": {"id": str}}
    frame = pd.read_parquet(out) if suffix == ".parquet" else pd.read_csv(out, **text)
    original = pd.read_csv(messy, dtype={"id": str})
    assert list(frame.columns) == ["id", *(name for name in FEATURES if name in frame.columns)]
    assert frame.shape == (40, 4)
    for name in frame.columns:
        assert frame[name].tolist() == original[name].tolist()
        assert frame[name].dtype.kind == original[name].dtype.kind


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_arrays_go_in_and_out(run, tmp_path, suffix):
    X = np.random.RandomState(1).standard_normal((30, 5)).astype(np.float32)
    source, out, back = (tmp_path / f"{name}{suffix}" for name in ("in", "out", "back"))
    np.save(source, X) if suffix == ".npy" else np.savez(source, X=X, feature_names=list("vwxyz"))
    assert run("select", source, "-k", 4, "-o", out)[0] == 0
    record = json.loads((tmp_path / "out.selection.json").read_text())
    kept = sorted(column["index"] for column in record["selected"])
    held = np.load(out) if suffix == ".npy" else np.load(out)["X"]
    np.testing.assert_array_equal(held, X[:, kept])
    assert held.dtype == np.float32
    code, _, err = run("reconstruct", tmp_path / "out.selection.json", out, "-o", back)
    assert code == 0, err
    rebuilt = np.load(back) if suffix == ".npy" else np.load(back)["X"]
    np.testing.assert_allclose(rebuilt[:, kept], X[:, kept])


def test_standard_input_can_be_the_table(run, messy, monkeypatch):
    expected, _ = select(run, messy, "-k", 2)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(messy.read_bytes())))
    assert select(run, "-", "-k", 2)[0] == expected


def test_no_header(run, tmp_path):
    np.savetxt(tmp_path / "t.csv", np.random.RandomState(2).standard_normal((12, 3)), delimiter=",")
    code, out, _ = run("select", tmp_path / "t.csv", "-k", 1, "--no-header")
    assert code == 0
    assert out.strip() in {"c0", "c1", "c2"}


def test_ids_without_a_header_keep_their_zeros(run, tmp_path):
    rows = "".join(f"00{i},{i * i % 7},{i % 3}.5,{i % 5}\n" for i in range(12))
    (tmp_path / "t.csv").write_text(rows)
    code, _, err = run(
        "select", tmp_path / "t.csv", "--no-header", "--id-column", "c0", "-k", 2, "-o", tmp_path / "o.csv"
    )
    assert code == 0, err
    code, out, err = run("apply", tmp_path / "o.selection.json", tmp_path / "t.csv", "--no-header")
    assert code == 0, err
    assert [line.split(",")[0].strip('"') for line in out.splitlines()[1:4]] == ["000", "001", "002"]


def test_ids_that_an_array_would_round_are_refused(run, tmp_path):
    rows = "".join(f"{9007199254740993 + 2 * i},{i * i % 7}.5,{i % 3}.5\n" for i in range(12))
    (tmp_path / "t.csv").write_text("id,a,b\n" + rows)
    code, _, err = run("select", tmp_path / "t.csv", "--id-column", "id", "-k", 1, "-o", tmp_path / "o.npy")
    assert code == 2 and "would round" in err
    assert not (tmp_path / "o.npy").exists()


def test_minmax_scales_columns_of_any_size(run, tmp_path):
    x = np.random.RandomState(0).standard_normal(30)
    table = np.column_stack([1e-17 * x, 1.1e-17 * x + 1e-20 * x**2, np.random.RandomState(1).standard_normal(30)])
    np.savetxt(tmp_path / "t.csv", table, delimiter=",", header="a,b,c", comments="")
    code, out, _ = run("select", tmp_path / "t.csv", "-k", 1, "--scale", "minmax")
    assert code == 0 and out.strip() in {"a", "b"}


def test_apply_and_reconstruct_go_round(run, messy, tmp_path):
    select(run, messy, "-k", 2, "-o", tmp_path / "out.csv")
    made = tmp_path / "out.selection.json"
    shuffled = pd.read_csv(messy, dtype=str).sample(frac=1, axis=1, random_state=0).assign(extra="x")
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    code, out, _ = run("apply", made, tmp_path / "new.csv")
    assert code == 0
    assert out == (tmp_path / "out.csv").read_text()
    code, out, _ = run("reconstruct", made, tmp_path / "out.csv")
    frame = pd.read_csv(io.StringIO(out))
    assert list(frame.columns) == ["id", *FEATURES]
    original = pd.read_csv(messy)
    # Two columns drive all the others but the flag, so that these come back nearly exactly.
    np.testing.assert_allclose(frame["same"], 3)
    assert np.corrcoef(frame["sum"], original["sum"])[0, 1] > 0.99
    code, out, _ = run("reconstruct", made, tmp_path / "out.csv", "-o", tmp_path / "back.parquet")
    assert code == 0
    assert pd.read_parquet(tmp_path / "back.parquet").shape == (40, 7)


def test_runs_repeat_to_the_byte(run, messy, tmp_path):
    for name in ("one", "two"):
        select(run, messy, "-k", 2, "--method", "random_selector", "--seed", 3, "-o", tmp_path / f"{name}.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    first, second = ((tmp_path / f"{name}.selection.json").read_text() for name in ("one", "two"))
    assert first == second
    assert json.loads(first)["seed"] == 3


@pytest.mark.parametrize("option", ["--scale", "--include", "--exclude", "--ridge"])
def test_options_reach_the_selection(run, messy, tmp_path, option):
    value = {"--scale": "minmax", "--include": "same", "--exclude": "sum", "--ridge": "0.5"}[option]
    select(run, messy, "-k", 2, option, value, "-o", tmp_path / "out.csv")
    record = json.loads((tmp_path / "out.selection.json").read_text())
    chosen = {column["name"] for column in record["selected"]}
    assert {
        "--scale": record["scaling"] == "minmax",
        "--include": "same" in chosen,
        "--exclude": "sum" not in chosen,
        "--ridge": record["settings"]["ridge"] == 0.5,
    }[option]


def test_dropped_columns_may_be_separated_by_commas(run, messy):
    code, out, _ = run("select", messy, "--drop-columns", "id,word,sum", "--drop-columns", "near a", "-k", 1.0)
    assert code == 0
    assert set(out.splitlines()) == {"a", "b", "flag", "same"}


def test_the_report_fits_in_80_columns_and_shows_the_rivals(run, messy, tmp_path):
    out, err = select(run, messy, "-k", 2, "--explain", "-o", tmp_path / "out.csv")
    assert err == ""
    assert all(len(line) <= 80 for line in out.splitlines())
    for rival in ("2 principal components", "2 selected columns", "2 random columns", "no columns"):
        assert rival in out
    record = json.loads((tmp_path / "out.selection.json").read_text())
    assert f"{record['errors']['selection']:.4g}" in out
    explained = record["explanation"]
    entries = explained["discarded"] + explained["selected"]
    assert {entry["feature"] for entry in entries} == set(FEATURES)


@pytest.mark.parametrize("length", [20, 35, 90])
def test_long_names_give_way_to_the_numbers(run, rng, tmp_path, length):
    X = rng.normal(size=(40, 3)) @ rng.normal(size=(3, 8)) + 0.1 * rng.normal(size=(40, 8))
    names = [f"{'measurement ' * 8:.{length - 2}} {j}" for j in range(8)]
    pd.DataFrame(X, columns=names).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run("select", tmp_path / "t.csv", "-k", 3, "--explain", "-o", tmp_path / "out.csv")
    assert code == 0, err
    assert all(len(line) <= 80 for line in out.splitlines())
    record = json.loads((tmp_path / "out.selection.json").read_text())["explanation"]
    _, explained, substitutes = (
        out.split("explained  mostly", 1)[0],
        *out.split("explained  mostly", 1)[1].split("error rises by", 1),
    )
    for entry in record["discarded"]:
        assert f"{entry['r2']:.1%}" in explained
    for entry in record["selected"]:
        assert f"{entry['error_increase']:.1%}" in substitutes


def test_long_reports_are_cut_with_a_count(run, tmp_path):
    np.save(tmp_path / "t.npy", np.random.RandomState(3).standard_normal((20, 60)))
    code, out, _ = run("select", tmp_path / "t.npy", "-k", 30, "-o", tmp_path / "out.npy")
    assert code == 0
    assert "... and 10 more" in out


def test_names_cannot_steer_the_terminal(run, tmp_path):
    rows = "".join(f"{j},{j * j}\n" for j in range(12))
    (tmp_path / "t.csv").write_text(f"\x1b[31mred,[bold]b\n{rows}")
    code, out, _ = run("select", tmp_path / "t.csv", "-k", 2, "-o", tmp_path / "out.csv")
    assert code == 0
    assert "\x1b" not in out
    assert r"\x1b[31mred" in out
    assert "[bold]b" in out
    assert (tmp_path / "out.csv").read_text().startswith('"\x1b[31mred",[bold]b')


def test_methods_are_those_of_the_registry(run):
    code, out, _ = run("methods")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines() if not line.startswith(" ")] == sorted(all_selectors())
    assert run("methods", "--names")[1].split() == sorted(all_selectors())


def test_version_and_help(run):
    assert run("--version") == (0, f"stableselect {__version__}\n", "")
    code, out, _ = run()
    assert code == 0
    assert all(command in out for command in ("select", "apply", "reconstruct", "methods", "demo"))


@pytest.mark.slow
def test_module_and_closed_pipe(messy, tmp_path, run):
    select(run, messy, "-k", 2, "-o", tmp_path / "out.csv")
    new = tmp_path / "new.csv"
    pd.concat([pd.read_csv(messy)] * 2000).to_csv(new, index=False)
    command = [sys.executable, "-m", "stableselect", "apply", tmp_path / "out.selection.json", new]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline().startswith(b"id,")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()


@pytest.mark.slow
def test_the_base_import_needs_none_of_the_extras(run, messy, tmp_path):
    block = "import sys; sys.modules.update(dict.fromkeys(['typer', 'rich', 'pyarrow', 'matplotlib']));"
    select(run, messy, "-k", 2, "-o", tmp_path / "out.csv")
    load = f"import stableselect; stableselect.load({str(tmp_path / 'out.selection.json')!r}).reconstruct([[1.0, 2.0]])"
    assert subprocess.run([sys.executable, "-c", block + load]).returncode == 0
    use = "import stableselect; stableselect.all_selectors(); stableselect.ColumnSubset(1).fit([[1, 2], [3, 5]])"
    assert subprocess.run([sys.executable, "-c", block + use]).returncode == 0
    tables = subprocess.run([sys.executable, "-c", block + "import stableselect.io"], capture_output=True, text=True)
    assert 'needs pyarrow: pip install "stableselect[cli]"' in tables.stderr


def test_a_saved_selector_is_used_like_a_selection(run, messy, tmp_path):
    frame = pd.read_csv(messy)[FEATURES].astype(float)
    selector = ColumnSubset(2, ridge=0.0).fit(frame)
    save(selector, tmp_path / "named.sselect")
    code, out, err = run("apply", tmp_path / "named.sselect", messy, "-o", tmp_path / "kept.csv")
    assert code == 0, err
    kept = pd.read_csv(tmp_path / "kept.csv")
    assert list(kept.columns) == list(selector.get_feature_names_out())
    code, out, err = run("reconstruct", tmp_path / "named.sselect", tmp_path / "kept.csv")
    assert code == 0, err
    rebuilt = pd.read_csv(io.StringIO(out))
    assert list(rebuilt.columns) == FEATURES
    np.testing.assert_allclose(rebuilt, selector.reconstruct(kept.to_numpy(dtype=float)), atol=1e-9)
    code, _, err = run("reconstruct", tmp_path / "named.sselect", messy, "--no-header")
    assert code == 2 and "has 8 columns, matched by position; expected the selected columns, 2" in err


def test_a_saved_selector_without_names_goes_by_position(run, tmp_path):
    X = np.random.RandomState(1).standard_normal((30, 5))
    np.save(tmp_path / "t.npy", X)
    pd.DataFrame(X, columns=list("vwxyz")).to_csv(tmp_path / "t.csv", index=False)
    selector = ColumnSubset(2).fit(X)
    save(selector, tmp_path / "s.sselect")
    assert run("apply", tmp_path / "s.sselect", tmp_path / "t.npy", "-o", tmp_path / "kept.npy")[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "kept.npy"), selector.transform(X))
    assert run("reconstruct", tmp_path / "s.sselect", tmp_path / "kept.npy", "-o", tmp_path / "all.npy")[0] == 0
    rebuilt, expected = np.load(tmp_path / "all.npy"), selector.reconstruct(selector.transform(X))
    np.testing.assert_array_equal(rebuilt[:, selector.support_], X[:, selector.support_])
    np.testing.assert_allclose(rebuilt[:, ~selector.support_], expected[:, ~selector.support_])
    code, out, _ = run("apply", tmp_path / "s.sselect", tmp_path / "t.csv")
    assert code == 0 and out.splitlines()[0].split(",") == [
        name for j, name in enumerate("vwxyz") if selector.support_[j]
    ]
    code, _, err = run("apply", tmp_path / "s.sselect", tmp_path / "kept.npy")
    assert code == 2 and "expected the columns that the selector was fitted on, 5" in err


def test_lists_of_names_may_have_commas(run, tmp_path):
    X = np.random.RandomState(2).standard_normal((20, 5))
    pd.DataFrame(X, columns=["a", "b", "x, y", "c", "d"]).to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run("select", tmp_path / "t.csv", "-k", 3, "--include", "a,x, y", "--exclude", "c,d")
    assert code == 2 and "has no column 'x'" in err
    code, out, err = run(
        "select", tmp_path / "t.csv", "-k", 3, "--include", "a,b", "--include", "x, y", "--exclude", "c,d"
    )
    assert code == 0 and set(out.splitlines()) == {"a", "b", "x, y"}
    code, out, _ = run("select", tmp_path / "t.csv", "-k", 1.0, "--id-column", "a,b")
    assert code == 0 and set(out.splitlines()) == {"x, y", "c", "d"}


def test_several_identifiers_keep_their_zeros(run, messy, tmp_path):
    code, _, err = run("select", messy, "-k", 1, "--id-column", "word, id", "-o", tmp_path / "out.csv")
    assert code == 0, err
    written = pd.read_csv(tmp_path / "out.csv", dtype=str)
    assert list(written.columns[:2]) == ["id", "word"] and written["id"][3] == "003"


def test_the_report_tells_the_ridge_and_where_the_rest_is(run, tmp_path):
    X = np.random.RandomState(3).standard_normal((60, 2)) @ np.random.RandomState(4).standard_normal((2, 60))
    np.save(tmp_path / "t.npy", X + 0.5 * np.random.RandomState(5).standard_normal(X.shape))
    code, _, err = run("select", tmp_path / "t.npy", "-k", 2, "--explain")
    assert code == 0 and "... and 38 more; use -o to write them all." in err
    code, out, _ = run("select", tmp_path / "t.npy", "-k", 2, "--explain", "-o", tmp_path / "out.npy")
    record = json.loads((tmp_path / "out.selection.json").read_text())
    assert "... and 38 more; out.selection.json has them all." in out and "use -o" not in out
    assert len(record["explanation"]["discarded"]) == 58
    assert record["settings"]["ridge"] == "auto" and f"Ridge weight: {record['ridge']:.3g}." in out


@pytest.mark.parametrize(
    ("columns", "k", "sentence"),
    [
        (8, 3, "Proven optimal: no other choice of 3 columns has a lower error on these rows."),
        (8, 1, "Proven optimal: no other choice of 1 column has a lower error on these rows."),
        pytest.param(
            60, 30, "No other choice can lower the error on these rows by more than {:.1%}.", marks=pytest.mark.slow
        ),
    ],
)
def test_the_report_tells_how_far_from_the_best_the_selection_can_be(run, rng, tmp_path, columns, k, sentence):
    np.save(tmp_path / "t.npy", rng.normal(size=(100, columns)) @ rng.normal(size=(columns, columns)))
    code, out, _ = run("select", tmp_path / "t.npy", "-k", k, "-o", tmp_path / "out.npy")
    gap = json.loads((tmp_path / "out.selection.json").read_text())["optimality_gap"]
    assert code == 0 and sentence.format(gap) in " ".join(out.split())
    assert (gap == 0) == (columns == 8)
    code, out, _ = run("select", tmp_path / "t.npy", "-k", k, "--method", "pfa", "-o", tmp_path / "pfa.npy")
    assert code == 0 and "other choice" not in out
    assert json.loads((tmp_path / "pfa.selection.json").read_text())["optimality_gap"] is None


def test_one_row_is_one_row(run, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    code, _, err = run("select", tmp_path / "t.csv", "-k", 1)
    assert code == 0 and "(1 row)" in err and "the table has 1 row and 10 are needed" in err


@pytest.mark.parametrize(("fraction", "said"), [(-0.0003, "0.0%"), (0.0003, "0.0%"), (-0.02, "-2.0%"), (math.nan, "-")])
def test_percentages_have_one_sign_at_most(fraction, said):
    assert _percent(fraction) == said


def test_flags_have_no_type_and_completion_is_offered(run):
    for arguments in ((), ("select", "--help")):
        code, out, _ = run(*arguments)
        assert code == 0 and "bool" not in out and max(map(len, out.splitlines())) <= 80
    assert "--install-completion" in run()[1]


def test_a_linear_map_in_the_place_of_another_is_told(run, messy):
    told = {}
    for method in ("KernelSubset", "ColumnSubset"):
        code, out, err = run("select", messy, "-k", 2, "--method", method, *ROLES)
        assert code == 0
        told[method] = " ".join((out + err).split())
    assert "Note: KernelSubset has a map that is not linear" in told["KernelSubset"]
    assert "Ridge weight" not in told["KernelSubset"] and "Ridge weight" in told["ColumnSubset"]
    assert "not linear" not in told["ColumnSubset"]
