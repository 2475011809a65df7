"""Methods of other packages, as functions from a table and a number to features.

None of these packages is needed by this one; the extra ``bench`` installs them.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from functools import partial, wraps

import numpy as np
from sklearn.decomposition import PCA

Select = Callable[[np.ndarray, int], np.ndarray]
"""From samples and a number of features to so many of them, in order of selection."""

_INTERPOLATIVE = """
import io, sys
import numpy as np
from scipy.linalg.interpolative import interp_decomp
X = np.load(io.BytesIO(sys.stdin.buffer.read()))
order, _ = interp_decomp(X, int(sys.argv[1]), rand=False)
print(*order)
"""


class TooManyFeaturesError(ValueError):
    """A method cannot select so many features of these samples."""


def _of_varying(order: Select, *, beyond_rank: bool = False) -> Select:
    """Give a function centred samples without constant features, which come last, and check what it returns."""

    @wraps(order)
    def select(X: np.ndarray, k: int) -> np.ndarray:
        constant = np.ptp(X, axis=0) == 0
        varying = np.flatnonzero(~constant)
        wanted = min(k, len(varying))
        found = np.zeros(0, dtype=np.int64)
        if wanted:
            centred = np.ascontiguousarray(X[:, varying] - X[:, varying].mean(axis=0), dtype=np.float64)
            if not beyond_rank and wanted > (rank := np.linalg.matrix_rank(centred)):
                raise TooManyFeaturesError(
                    f"{order.__name__} selects at most {rank} features of these samples, their rank, and not {k}."
                )
            found = varying[np.asarray(order(centred, wanted), dtype=np.int64)]
        found = np.concatenate([found, np.flatnonzero(constant)[: k - wanted]])
        if (different := len(set(found.tolist()))) != k:
            raise RuntimeError(f"{order.__name__} returned {different} different features instead of {k}.")
        return found

    return select


@_of_varying
def fastcan(X: np.ndarray, k: int) -> np.ndarray:
    """Select forward by the canonical correlation with the principal component scores."""
    from fastcan import FastCan

    return np.asarray(FastCan(k, verbose=0).fit(X, PCA(k, svd_solver="full").fit_transform(X)).indices_)


@_of_varying
def linselect(X: np.ndarray, k: int) -> np.ndarray:
    """Select forward by the error of reconstruction, on standardised features."""
    from linselect import GenSelect

    selector = GenSelect(dtype=float)
    selector.position(X)
    found: list[int] = []
    with np.errstate(divide="ignore", invalid="ignore"):  # a feature that others determine is 0 / 0 to it
        for _ in range(k):
            before = selector.s.copy()
            selector.search(protocol=(1, 0), steps=1)  # forward; its FwdSelect would go on to all features
            found += np.flatnonzero(selector.s & ~before).tolist()
    return np.array(found)


@partial(_of_varying, beyond_rank=True)
def interpolative(X: np.ndarray, k: int) -> np.ndarray:
    """Select by scipy's interpolative decomposition.

    It runs in a process of its own: with more features than samples it can take the interpreter down. Beyond the rank
    its permutation goes on, though nothing is left to decide by.
    """
    table = io.BytesIO()
    np.save(table, X)
    command = [sys.executable, "-c", _INTERPOLATIVE, str(min(k, *X.shape))]
    done = subprocess.run(command, input=table.getvalue(), capture_output=True, check=False)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(
            f"scipy's interpolative decomposition ended with exit code {done.returncode}"
            f"{': ' + words[-1] if words else ''}."
        )
    return np.array(done.stdout.split(), dtype=np.int64)[:k]
