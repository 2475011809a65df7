"""The documentation: pages made from the package leave nothing out, and the check of the built site finds faults."""

import importlib
import re
import sys
from pathlib import Path

import pytest

import stableselect

ROOT = Path(__file__).parents[1]
if not (ROOT / "docs" / "_ext").is_dir():
    pytest.skip("the documentation is not in this copy", allow_module_level=True)


@pytest.fixture
def made(monkeypatch):
    """Import a module of the documentation or of the tools."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs" / "_ext"), str(ROOT / "tools"), *sys.path])
    return importlib.import_module


def listed(text):
    """Return the names that a page of the reference lists."""
    return set(re.findall(r"^   (\w+)$", text, flags=re.MULTILINE)) | set(
        re.findall(r"autodata:: .*\.(\w+)$", text, re.M)
    )


@pytest.mark.parametrize("room", ["", *stableselect._SUBMODULES])
def test_every_public_name_is_in_the_reference(made, room):
    module = importlib.import_module(f"stableselect.{room}" if room else "stableselect")
    names = set(module.__all__) - set(stableselect._SUBMODULES if not room else ())
    assert names
    assert names <= listed(made("api_pages").pages()[module.__name__])


def test_what_a_selector_of_ones_own_derives_from_is_in_the_reference(made):
    names = {"SamplesSelector", "ScoreSelector", "Selection", "StreamingSelector", "UnscaledFeaturesWarning"}
    assert names <= listed(made("api_pages").pages()["stableselect.base"])


def test_every_command_and_option_is_in_the_reference(made):
    pytest.importorskip("typer")
    pages = made("command_pages")
    text = pages.page()
    paths = dict(pages.commands())
    assert {"stableselect select", "stableselect apply", "stableselect paper run"} <= set(paths)
    for path, command in paths.items():
        part = text.partition(f"\n{path}\n---")[2].partition(".. _stableselect")[0]
        for param in command.params:
            for word in [] if getattr(param, "hidden", False) else param.opts:
                assert word.startswith("-") is False or re.search(rf"``.*{word}\b.*``", part), (path, word)


def site(folder, body):
    (folder / "other.html").write_text('<h1 id="here">Other</h1>')
    (folder / "picture.png").write_bytes(b"")
    (folder / "index.html").write_text(f"<html><body>{body}</body></html>")
    return folder


GOOD = '<a href="other.html#here">x</a><a href="https://example.org">y</a><img src="picture.png" alt="z">'


def test_a_sound_site_passes(made, tmp_path):
    assert made("check_site").problems(site(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('<a href="gone.html">x</a>', "gone.html, which is not there"),
        ('<a href="other.html#gone">x</a>', "no such place"),
        ('<a href="#gone">x</a>', "no such place"),
        ('<img src="gone.png" alt="x">', "gone.png, which is not there"),
        ('<img src="picture.png">', "without an alt text"),
        ('<script src="https://example.org/x.js"></script>', "from elsewhere"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "from elsewhere"),
    ],
)
def test_faults_of_a_site_are_found(made, tmp_path, body, words):
    (found,) = made("check_site").problems(site(tmp_path, GOOD + body))
    assert words in found


def test_fonts_from_elsewhere_are_found(made, tmp_path):
    (site(tmp_path, GOOD) / "site.css").write_text("@font-face { src: url('https://example.org/font.woff2'); }")
    (found,) = made("check_site").problems(tmp_path)
    assert "font.woff2 from elsewhere" in found


@pytest.mark.slow
def test_stored_results_can_be_shown(made):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not in this copy")
    text = made("stored_results").tables(ROOT)
    assert {"## Speed", "## GPU", "## Nuisance features"} <= set(text.splitlines())
