"""What is said twice in the repository's own files agrees: versions, targets of make, folders of the distribution."""

import io
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import stableselect

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW = (ROOT / ".github" / "workflows" / "checks.yml").read_text()


def test_the_version_is_the_same_everywhere():
    cff = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", cff, re.M)[1] == stableselect.__version__
    page = (ROOT / "docs" / "citing.md").read_text()
    assert re.findall(r"version = \{(.*)\}", page) == [stableselect.__version__]


def test_the_papers_authors_are_those_of_the_citation():
    cff, page = (ROOT / "CITATION.cff").read_text(), (ROOT / "docs" / "citing.md").read_text()
    title = "Algorithmic Stability and Generalization of an Unsupervised Feature Selection Algorithm"
    assert title in cff and title in page
    for name in ("Wu", "Xinxing", "Cheng", "Qiang"):
        assert name in cff and name in page


@pytest.mark.parametrize("name", [".github/workflows/checks.yml", "CONTRIBUTING.md", ".ci/run"])
def test_every_target_of_make_exists(name):
    path = ROOT / name
    if not path.exists():
        pytest.skip("not part of the source distribution")
    wanted = set(re.findall(r"(?:^|`|run: )make ([a-z][a-z-]+)", path.read_text(), re.M))
    known = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
    assert wanted and wanted <= known


def test_the_oldest_python_of_the_workflow_is_the_one_declared():
    tested = re.search(r"matrix:\n\s+python: \[(.*)\]", WORKFLOW)[1].replace('"', "").split(", ")
    assert PROJECT["requires-python"] == f">={tested[0]}"
    stated = [item.rpartition(" ")[2] for item in PROJECT["classifiers"] if re.search(r"3\.\d+$", item)]
    assert set(stated) <= set(tested)


def test_workflows_and_hooks_are_valid_yaml():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    assert {"lint", "test", "oldest", "base", "docs", "build"} == set(jobs)
    for path in [*(ROOT / ".github" / "ISSUE_TEMPLATE").iterdir(), ROOT / ".pre-commit-config.yaml"]:
        assert yaml.safe_load(path.read_text())
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cff["license"] == PROJECT["license"] and cff["authors"] == PROJECT["authors"]


def test_every_extra_of_users_is_part_of_all():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    named = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    within = {name for extra in named for item in extras[extra] for name in re.findall(r"stableselect\[(.*)\]", item)}
    assert set(extras) - {"all", "test", "dev", "docs", "bench"} == named | within


def test_every_requirement_names_its_oldest_version():
    extras = PROJECT["optional-dependencies"].values()
    for item in [*PROJECT["dependencies"], *(item for items in extras for item in items)]:
        assert item.startswith("stableselect[") or re.fullmatch(r"[\w.-]+(\[[\w,]+\])?>=[\d.]+", item), item


def test_the_page_of_versions_is_the_one_that_the_command_writes():
    from tools import versions

    assert versions.PAGE.read_text() == versions.page()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_row_of_versions_holds_the_commit(tmp_path, monkeypatch):
    from tools import versions

    def git(*words):
        said = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", *said, *words], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    counts = dict.fromkeys(versions.COUNTED, 1) | {"failed": 0}
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    monkeypatch.setattr(versions, "STORE", tmp_path / "docs.json")
    monkeypatch.setattr(versions, "environment", lambda *given: Path(sys.executable))
    monkeypatch.setattr(versions, "tested", lambda *given: counts)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def stored():
        versions.run(["3.11"], "newest", "test")
        return versions.stored()["3.11 newest"]["commit"]

    assert re.fullmatch(r"version \d+\..*", stored())  # without git
    git("init")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("1")
    git("add", "src")
    git("commit", "-m", "a")
    assert stored() == git("rev-parse", "HEAD")[:7]
    (tmp_path / "src" / "a.py").write_text("2")
    assert stored() == git("rev-parse", "HEAD")[:7] + "+"
    assert versions.page().count(stored()) == 1


@pytest.fixture
def distributions(tmp_path):
    """A wheel and a source distribution of two files, with room for more."""

    def make(**more):
        names = {"src/stableselect/a.py": "1", **more}
        wheel, source = tmp_path / "p-1-py3-none-any.whl", tmp_path / "p-1.tar.gz"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, text in {**names, "src/p-1.dist-info/RECORD": ""}.items():
                archive.writestr(name.removeprefix("src/"), text)
        with tarfile.open(source, "w:gz") as archive:
            for name, text in {**names, "PKG-INFO": ""}.items():
                item = tarfile.TarInfo(f"p-1/{name}")
                item.size = len(text)
                archive.addfile(item, io.BytesIO(text.encode()))
        return wheel, source

    return make


def test_a_distribution_of_what_git_keeps_is_accepted(distributions):
    from tools import check_dist

    assert [check_dist.problems(path, {"src/stableselect/a.py"}) for path in distributions()] == [[], []]


def test_unwanted_files_of_a_distribution_are_told(distributions):
    from tools import check_dist

    kept = {"src/stableselect/a.py", "src/stableselect/b.py", "src/stableselect/table.csv"}
    more = {"src/stableselect/table.csv": "x", "src/stableselect/__pycache__/a.pyc": "x"}
    wheel, source = distributions(**more)
    unkept = "holds src/stableselect/__pycache__/a.pyc, which git does not keep"
    lacks = "lacks src/stableselect/b.py"
    odd = [f"holds {name}, which no import reads" for name in sorted(more)]
    for path, told in ((source, [unkept, lacks]), (wheel, [unkept, *odd, lacks])):
        assert check_dist.problems(path, kept) == [f"{path.name} {words}" for words in told]
    assert check_dist.summary(source).startswith("p-1.tar.gz: 4 files, ")


def test_a_large_distribution_is_told(distributions, monkeypatch):
    from tools import check_dist

    monkeypatch.setattr(check_dist, "LARGEST", {"wheel": 10, "source": 1e6})
    wheel, source = distributions()
    assert check_dist.problems(wheel, {"src/stableselect/a.py"}) == [f"{wheel.name} has more than 0 MB"]
    assert check_dist.problems(source, {"src/stableselect/a.py"}) == []


def test_every_command_is_tried_on_an_installed_copy():
    pytest.importorskip("typer")
    from stableselect.cli._app import app
    from tools import try_install

    known = {info.name or info.callback.__name__ for info in app.registered_commands} | {"paper"}
    assert {line.split()[0] for line in try_install.COMMANDS.splitlines()} == known


def test_code_that_does_not_name_its_extra_is_told():
    from tools import try_install

    try_install.names_the_extra("raise ImportError('pip install \"stableselect[cli]\"')", "[cli]")
    for code in ("1 + 1", "raise ImportError('no module named typer')"):
        with pytest.raises(AssertionError):
            try_install.names_the_extra(code, "[cli]")
