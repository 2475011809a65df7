"""Methods of other packages, as functions from a table and a number to features.

None of these packages is needed by this one. Where one is missing its method is not available, and says which extra
installs it.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from sklearn.decomposition import PCA

_INTERPOLATIVE = """
import io, sys
import numpy as np
from scipy.linalg.interpolative import interp_decomp
X = np.load(io.BytesIO(sys.stdin.buffer.read()))
order, _ = interp_decomp(X, int(sys.argv[1]), rand=False)
print(*order)
"""


@dataclass(frozen=True)
class OutsideMethod:
    """A method of another package.

    Attributes
    ----------
    name : str
        As tables show it.
    needs : str
        The module that must be there.
    order : callable
        From centred samples without constant features, at least one, and the number of features, at most theirs, to
        features in order of selection.
    extra : str
        The extra of this package that installs it.
    beyond_rank : bool
        Whether it can select more features than the rank of the samples.
    """

    name: str
    needs: str
    order: Callable[[np.ndarray, int], np.ndarray]
    extra: str = "bench"
    beyond_rank: bool = False

    def available(self) -> bool:
        """Tell whether the package is installed."""
        return find_spec(self.needs) is not None

    def why_not(self) -> str:
        """Return why it is not available and what to do, in words for a table's notes; empty where it is."""
        if self.available():
            return ""
        return f"{self.name} is not available: install {self.needs} with pip install 'stableselect[{self.extra}]'."

    def select(self, X: np.ndarray, k: int) -> np.ndarray:
        """Return k features of the samples; constant ones come last.

        Parameters
        ----------
        X : ndarray of shape (n, m)
            The samples.
        k : int
            Number of features.

        Returns
        -------
        ndarray of int, shape (k,)
        """
        if not self.available():
            raise ImportError(self.why_not())
        constant = np.ptp(X, axis=0) == 0
        varying = np.flatnonzero(~constant)
        wanted = min(k, len(varying))
        found = np.zeros(0, dtype=np.int64)
        if wanted:
            centred = np.ascontiguousarray(X[:, varying] - X[:, varying].mean(axis=0), dtype=np.float64)
            if not self.beyond_rank and wanted > (rank := np.linalg.matrix_rank(centred)):
                raise ValueError(f"{self.name} selects at most {rank} features of these samples, their rank, not {k}.")
            found = varying[np.asarray(self.order(centred, wanted), dtype=np.int64)]
        found = np.concatenate([found, np.flatnonzero(constant)[: k - wanted]])
        if len(set(found.tolist())) != k:
            raise RuntimeError(f"{self.name} returned {len(set(found.tolist()))} different features instead of {k}.")
        return found


def _fastcan(X: np.ndarray, k: int) -> np.ndarray:
    from fastcan import FastCan

    return np.asarray(FastCan(k, verbose=0).fit(X, PCA(k, svd_solver="full").fit_transform(X)).indices_)


def _linselect(X: np.ndarray, k: int) -> np.ndarray:
    from linselect import FwdSelect

    selector = FwdSelect(dtype=float)
    with np.errstate(all="ignore"):  # it goes on to all features, and beyond the rank divides by zero
        selector.fit(X.copy())  # it scales its input in place
    return np.asarray(selector.ordered_features[:k])


def _interpolative(X: np.ndarray, k: int) -> np.ndarray:
    """Run in a process of its own: with more features than samples it can take the interpreter down."""
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


OUTSIDE = (
    OutsideMethod("fastcan", "fastcan", _fastcan),
    OutsideMethod("linselect", "linselect", _linselect),
    OutsideMethod("scipy ID", "scipy", _interpolative, beyond_rank=True),
)
"""Forward selection of canonical correlations with the principal components; forward selection on standardised
features; the interpolative decomposition."""
