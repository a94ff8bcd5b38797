"""Build `build/typecheck/`: the package as it will be installed, for tools that read files.

The folders `tiers/` and `scheduler/` are imported as `verifier_ladder.tiers` and
`verifier_ladder.scheduler`. Type checkers and editors know nothing of that mapping, so they are
given a tree of links in which the folders stand where the import names say.
"""

import argparse
import os
import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "verifier_ladder"
BESIDE = ("benchmarks", "examples", "tests", "tools")  # Checked with the package.


def mapped_folders(root: Path) -> dict[str, str]:
    """Return the folders that become subpackages: name inside the package → folder."""
    table = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    prefix = f"{PACKAGE}."
    return {
        name.removeprefix(prefix): folder
        for name, folder in table["package-dir"].items()
        if name.startswith(prefix)
    }


def link(target: Path, place: Path) -> None:
    """Link `place` to `target` by a relative path, so that the tree survives a move."""
    place.symlink_to(os.path.relpath(target, place.parent))


def build(root: Path, tree: Path) -> None:
    """Replace `tree` with links to the sources in `root`."""
    shutil.rmtree(tree, ignore_errors=True)
    package = tree / PACKAGE
    package.mkdir(parents=True)
    for source in sorted((root / PACKAGE).iterdir()):
        if source.name != "__pycache__":
            link(source, package / source.name)
    for name, folder in mapped_folders(root).items():
        link(root / folder, package / name)
    for folder in BESIDE:
        if (root / folder).is_dir():
            link(root / folder, tree / folder)


def main() -> None:
    """Build the tree where the configuration of the type checkers expects it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--tree", type=Path, default=ROOT / "build" / "typecheck")
    build(ROOT, parser.parse_args().tree)


if __name__ == "__main__":
    main()
