"""``stableselect doctor``, ``--version`` and the completion of words in shells."""

import re
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

import stableselect
from stableselect._registry import GROUP
from stableselect.cli import _doctor

STATED = [
    "numpy>=1.26",
    "missing-one>=2",
    "typer>=0.24; extra == 'cli'",
    "numpy>=99; extra == 'new'",
    "dask[array,distributed]>=2024.9; extra == 'dask'",
    "stableselect[cli]; extra == 'test'",
    "pytest>=8; extra == 'test'",
]


def test_version(run):
    assert run("--version") == (0, f"stableselect {stableselect.__version__}\n", "")


def test_what_is_installed_and_how_to_install_the_rest(run, monkeypatch):
    monkeypatch.setattr(_doctor.metadata, "requires", lambda name: STATED)
    installed = {"numpy": "2.4.6", "typer": "0.24rc1"}
    monkeypatch.setattr(_doctor._Needed, "installed", property(lambda self: installed.get(self.name)))
    code, out, err = run("doctor")
    lines = out.splitlines()
    assert (code, err) == (2, "")  # a required package is missing
    assert "Required: numpy 2.4.6, missing-one missing" in lines
    assert "Extra cli: typer 0.24rc1" in lines
    assert 'Extra dask: dask is missing: pip install "stableselect[dask]"' in lines
    assert 'Extra new: numpy 2.4.6 is older than 99: pip install "stableselect[new]"' in lines
    assert lines[-1] == "Not sound: missing-one is missing; run: pip install --upgrade stableselect"
    assert "pytest" not in out


def test_its_own_requirements_are_read(run):
    code, out, _ = run("doctor")
    assert code == 0
    assert re.search(r"^Required: .*numpy \d", out, re.M) and re.search(r"^Extra cli: .*typer \d", out, re.M)
    assert re.search(r"^Cores: \d", out, re.M) and re.search(r"^Threads of (openblas|mkl|openmp)", out, re.M)
    assert re.search(r"^GPU: ", out, re.M)


def test_an_installation_from_nowhere_says_so(run, monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(_doctor.metadata, "requires", requires)
    code, out, _ = run("doctor")
    assert code == 0 and "stableselect is not installed" in out


def test_a_broken_torch_is_told(run, monkeypatch):
    def broken(name):
        raise OSError("libcudart.so.13: cannot open") if name == "torch" else ImportError(f"no {name}")

    monkeypatch.setattr(_doctor, "import_module", broken)
    code, out, _ = run("doctor")
    assert code == 0
    assert "cannot be imported: no numpy" in out and "GPU: torch cannot be used: libcudart" in out


def test_every_gpu_is_named_with_its_memory(run, monkeypatch):
    card = SimpleNamespace(name="Some GPU", total_memory=24 * 2**30)
    cuda = SimpleNamespace(device_count=lambda: 2, get_device_properties=lambda i: card)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    code, out, _ = run("doctor")
    assert code == 0 and out.splitlines()[-1] == "GPU: Some GPU (24 GiB), Some GPU (24 GiB)"


@pytest.mark.parametrize(
    ("shell", "words", "code", "said"),
    [
        ("bash", "stableselect sel", 0, "select\n"),
        ("bash", "stableselect select --meth", 0, "--method\n"),
        ("zsh", "stableselect doc", 0, '"doctor"'),
        ("fish", "stableselect doc", 0, ""),  # whether there is any
        ("fish", "stableselect select x", 1, ""),
    ],
)
@pytest.mark.slow
def test_words_are_completed(shell, words, code, said, monkeypatch):
    monkeypatch.setenv("_STABLESELECT_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", words)
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "is-args")
    result = subprocess.run([sys.executable, "-m", "stableselect"], capture_output=True, text=True)
    assert result.returncode == code and result.stderr == ""
    assert said in result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("shell", "code"), [("bash", 0), ("tcsh", 2)])
def test_the_completion_of_a_shell_is_shown(shell, code, monkeypatch):
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    command = [sys.executable, "-m", "stableselect", "--show-completion", shell]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, "_STABLESELECT_COMPLETE=complete_bash" in result.stdout) == (code, code == 0)
    assert "Traceback" not in result.stderr


@pytest.fixture
def completed(run, monkeypatch):
    """Return what a shell would offer for the last word."""

    def call(words):
        monkeypatch.setenv("_STABLESELECT_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(words.count(" ")))
        code, out, err = run()
        assert (code, err) == (0, "")
        return out.split()

    return call


@pytest.mark.parametrize("command", ["select", "frontier", "compare"])
def test_methods_are_completed(command, completed):
    offered = completed(f"stableselect {command} --method ")
    assert sorted(set(offered) - {"all"}) == sorted(stableselect.available_selectors())
    assert ("all" in offered) == (command == "compare")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("select --method Col", ["ColumnSubset"]),
        ("select --method col", ["columnSubset"]),  # as typed; case does not matter
        ("select --method scorer", ["scorerSelector", "scorerSelectorNetwork"]),
        ("select --method SPEC,", []),
        ("compare -m ColumnSubset,SP", ["ColumnSubset,SPEC"]),
        ("compare -m al", ["all"]),
        ("select --criterion s", ["stability"]),
        ("select --scale ", ["none", "minmax", "standard"]),
        ("paper run table", ["table1", "table2", "table3"]),
        ("paper show fig", ["figure1", "figure2", *(f"figure3{part}" for part in "abcdefgh")]),
        ("paper run al", ["all"]),
        ("paper show al", []),
        ("paper run table2 --dataset gl", ["glioma"]),
    ],
)
def test_values_are_completed(words, offered, completed):
    assert completed(f"stableselect {words}") == offered


def test_a_selector_of_another_package_is_completed(completed, tmp_path, monkeypatch):
    about = tmp_path / "other-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nZebra = no_such_module:Zebra\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert completed("stableselect select --method Ze") == ["Zebra"]
