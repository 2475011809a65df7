"""The registry agrees with Table 1 of the paper and with itself, and importing it costs nothing."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict

import pytest

from stableselect import datasets
from stableselect.datasets._convert import CONVERTERS

# Table 1 of Wu & Cheng (2021): title, rows, columns, classes; k and batch size from the published notebooks.
TABLE_1 = [
    ("Mice Protein", 1080, 77, 8, 10, 128),
    ("COIL-20", 1440, 400, 20, 50, 128),
    ("Activity", 5744, 561, 6, 50, 64),
    ("ISOLET", 7797, 617, 26, 50, 64),
    ("MNIST-Fashion", 10000, 784, 10, 50, 256),
    ("USPS", 9298, 256, 10, 50, 16),
    ("GLIOMA", 50, 4434, 4, 64, 16),
    ("Prostate_GE", 102, 5966, 2, 64, 16),
    ("SMK_CAN_187", 187, 19993, 2, 64, 16),
    ("arcene", 200, 10000, 2, 64, 16),
]


def test_registry_is_table_1_in_its_order():
    assert len(datasets.names()) == len(TABLE_1)
    for name, (title, n, m, classes, k, batch) in zip(datasets.names(), TABLE_1, strict=True):
        found = datasets.info(name)
        # The stored Fashion-MNIST is the complete set.
        n = 70000 if name == "mnist_fashion" else n
        assert (found.title, found.n_rows, found.n_columns, found.n_classes) == (title, n, m, classes)
        assert (found.name, found.k, found.batch_size) == (name, k, batch)


@pytest.mark.parametrize("name", datasets.names())
def test_entries_are_consistent(name):
    found = datasets.info(name)
    if found.class_counts is not None:
        assert len(found.class_counts) == found.n_classes
        assert sum(found.class_counts) == found.n_rows
    if found.parts is not None:
        assert sum(found.parts) == found.n_rows
    if found.image_shape is not None:
        assert found.image_shape[0] * found.image_shape[1] == found.n_columns
    assert found.scaling in ("minmax", "pixels", "none")
    assert found.published_split in ("random", "last_part", "fashion")
    assert (found.sha256 is None) == (name in ("activity", "smk_can_187"))
    assert found.sources
    for source in found.sources:
        assert source.form in CONVERTERS
        assert all(file.url.startswith("https://") for file in source.files)


def test_entries_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        datasets.info("usps").k = 3
    with pytest.raises(TypeError):
        datasets.registry["usps"] = None
    with pytest.raises(TypeError):
        datasets.info("usps").sha256["X"] = ""


@pytest.mark.parametrize("name", datasets.names())
def test_entries_can_be_copied_pickled_and_hashed(name):
    found = datasets.info(name)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found), copy.copy(found)):
        assert other == found and hash(other) == hash(found)
    assert asdict(found)["sha256"] == found.sha256
    assert pickle.loads(pickle.dumps(datasets.registry)) == datasets.registry
    assert len({datasets.info(name): name for name in datasets.names()}) == 10


def test_digests_read_as_a_mapping():
    digests = datasets.info("usps").sha256
    assert digests == dict(digests) and list(digests) == ["X", "y"] and len(digests) == 2
    assert eval(repr(digests), {"FrozenMapping": dict}) == digests


@pytest.mark.parametrize("name", ["GLIOMA", "../glioma", "", None, 3, "glioma.npz"])
def test_names_come_from_the_registry_alone(name, tmp_path):
    for call in (datasets.info, datasets.load, datasets.fetch, datasets.verify):
        with pytest.raises(ValueError, match=r"There is no dataset .*mice_protein, coil20"):
            call(name)


@pytest.mark.slow
def test_import_is_light():
    code = "import stableselect.datasets, sys; print({'pooch', 'requests', 'PIL'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
