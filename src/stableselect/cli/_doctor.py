"""What is installed, and how it computes. Needs neither the extra ``cli`` nor a sound installation."""

from __future__ import annotations

import os
import platform
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata

from .. import __version__
from .._files import printable

_OWN = "stableselect"
_FOR_DEVELOPERS = ("all", "bench", "dev", "docs", "test")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class _Needed:
    """A package that is needed, always or for an extra."""

    name: str
    least: str
    extra: str

    @property
    def installed(self) -> str | None:
        """The version that is installed; None where there is none."""
        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def fault(self) -> str | None:
        """What is wrong with it; None where nothing is."""
        if self.installed is None:
            return f"{self.name} is missing"
        if _numbers(self.installed) < _numbers(self.least):
            return f"{self.name} {self.installed} is older than {self.least}"
        return None


def doctor() -> int:
    """Show versions, extras, threads and GPU, and how to install what is missing."""
    needed = list(_needed())
    faults = [one.fault for one in needed if not one.extra and one.fault]
    for line in (*_versions(needed), *_extras(needed), *_threads(), *_gpu()):
        print(printable(line))
    for fault in faults:
        print(f"Not sound: {fault}; run: pip install --upgrade {_OWN}")
    return 2 if faults else 0


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def _needed() -> Iterator[_Needed]:
    """Yield what this package says it needs, extras included."""
    try:
        stated = metadata.requires(_OWN) or []
    except metadata.PackageNotFoundError:  # run from its source
        return
    for text in stated:
        found = re.match(r"([\w.-]+)(?:\[[^]]*\])?\s*(?:>=\s*([\d.]+))?[^;]*(?:;.*extra == ['\"]([\w-]+)['\"])?", text)
        if found and found[1] != _OWN and found[3] not in _FOR_DEVELOPERS:
            yield _Needed(found[1], found[2] or "0", found[3] or "")


def _versions(needed: list[_Needed]) -> Iterator[str]:
    yield f"{_OWN} {__version__}, Python {platform.python_version()} ({platform.python_implementation()})"
    yield platform.platform()
    yield "Required: " + ", ".join(f"{one.name} {one.installed or 'missing'}" for one in needed if not one.extra)
    if not needed:
        yield f'{_OWN} is not installed, so that its requirements are not known: pip install "{_OWN}[cli]"'


def _extras(needed: list[_Needed]) -> Iterator[str]:
    extras = sorted({one.extra for one in needed if one.extra})
    for extra in extras:
        parts = [one for one in needed if one.extra == extra]
        faults = [one.fault for one in parts if one.fault]
        told = ", ".join(f"{one.name} {one.installed}" for one in parts if not one.fault)
        told = "; ".join([*([told] if told else []), *faults])
        yield f"Extra {extra}: {told}" + (f': pip install "{_OWN}[{extra}]"' if faults else "")


def _threads() -> Iterator[str]:
    given = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield f"Cores: {cores}" + (f" ({', '.join(given)})" if given else "")
    try:
        for name in ("numpy", "scipy.linalg", "sklearn.cluster"):
            import_module(name)
        pools = import_module("threadpoolctl").threadpool_info()
    except Exception as error:  # whatever is wrong with it, it is told
        yield f"NumPy, SciPy or scikit-learn cannot be imported: {error}"
        return
    for pool in pools:
        version = f" {pool['version']}" if pool.get("version") else ""
        yield f"Threads of {pool['internal_api']}{version}: {pool['num_threads']}"


def _gpu() -> Iterator[str]:
    try:
        with warnings.catch_warnings(action="ignore"):
            torch = import_module("torch")
            names = [torch.cuda.get_device_properties(i) for i in range(torch.cuda.device_count())]
    except ModuleNotFoundError:
        yield "GPU: not looked for, which takes torch"
        return
    except Exception as error:
        yield f"GPU: torch cannot be used: {error}"
        return
    found = ", ".join(f"{one.name} ({one.total_memory / 2**30:.0f} GiB)" for one in names)
    yield f"GPU: {found or 'none that torch can use'}"
