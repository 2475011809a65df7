"""Checks the wheel and the source distribution of dist/: every file in them is kept by git, and belongs there.

``python tools/check_dist.py dist`` prints how many files each has, how large it is, and what is wrong, one line each.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
IN_WHEEL = {".py", ".typed", ".css", ".html", ".js", ".toml", ".json"}
"""Endings of what a wheel may hold, besides what describes it."""
LARGEST = {"wheel": 2e6, "source": 16e6}
"""Bytes."""


def contents(path: Path) -> dict[str, int]:
    """Return the size of every file of a distribution, named as in the repository."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            sizes = {item.filename: item.file_size for item in archive.infolist() if not item.is_dir()}
        return {name if ".dist-info/" in name else f"src/{name}": size for name, size in sizes.items()}
    with tarfile.open(path) as archive:
        return {item.name.partition("/")[2]: item.size for item in archive.getmembers() if not item.isdir()}


def problems(path: Path, kept: set[str]) -> list[str]:
    """Return one line for each thing that is wrong with a distribution, given what git keeps."""
    wheel, found = path.suffix == ".whl", contents(path)
    allowed = kept | ({name for name in found if ".dist-info/" in name} if wheel else {"PKG-INFO"})
    wrong = [f"{path.name} holds {name}, which git does not keep" for name in sorted(set(found) - allowed)]
    if wheel:
        odd = [name for name in found if ".dist-info/" not in name and PurePosixPath(name).suffix not in IN_WHEEL]
        wrong += [f"{path.name} holds {name}, which no import reads" for name in sorted(odd)]
    wanted = {name for name in kept if name.startswith("src/stableselect/")}
    wrong += [f"{path.name} lacks {name}" for name in sorted(wanted - set(found))]
    limit = LARGEST["wheel" if wheel else "source"]
    if path.stat().st_size > limit:
        wrong.append(f"{path.name} has more than {limit / 1e6:.0f} MB")
    return wrong


def summary(path: Path) -> str:
    """Return how many files a distribution has, how large it is, and how many files each folder has."""
    found = contents(path)
    folders = Counter(name.split("/")[0] if "/" in name else "." for name in found)
    parts = ", ".join(f"{folder} {count}" for folder, count in folders.most_common())
    sizes = f"{path.stat().st_size / 1e6:.1f} MB, {sum(found.values()) / 1e6:.1f} MB unpacked"
    return f"{path.name}: {len(found)} files, {sizes} ({parts})"


def main(folder: Path) -> int:
    """Print what the distributions of a folder hold and what is wrong with them; return 1 if anything is."""
    paths = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if len(paths) != 2:
        print(f"{folder} should hold a wheel and a source distribution; make them by 'make dist'.")
        return 1
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    wrong = [line for path in paths for line in problems(path, set(listed.split("\0")))]
    print(*(summary(path) for path in paths), *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
