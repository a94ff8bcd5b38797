"""The distributions hold the three folders, and the wheel works on its own."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS: dict[str, str] = SETTINGS["tool"]["setuptools"]["package-dir"]
BESIDE = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
DERIVED = shutil.ignore_patterns("__pycache__", "*.py[cod]", "*.db*")

IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    print(importlib.import_module(name).__file__)
"""


def run(*command: object, **environment: str) -> str:
    arguments = [str(part) for part in command]
    done = subprocess.run(
        arguments, check=False, capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what is built, so that the build leaves nothing in the checkout."""
    copy = tmp_path_factory.mktemp("build") / "source"
    copy.mkdir()
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, copy / folder, ignore=DERIVED)
    for name in BESIDE:
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def distributions(source: Path) -> Path:
    # The wheel is built from the unpacked source distribution, as an installer would.
    run(sys.executable, "-m", "build", "--no-isolation", source)
    return source / "dist"


def installed_names(source: Path) -> set[str]:
    """Return where every file of the three folders stands in an installation."""
    return {
        "/".join((*prefix.split("."), *path.relative_to(source / folder).parts))
        for prefix, folder in FOLDERS.items()
        for path in (source / folder).rglob("*")
        if path.is_file()
    }


def test_the_wheel_holds_every_file_of_the_folders(source: Path, distributions: Path) -> None:
    with zipfile.ZipFile(next(distributions.glob("*.whl"))) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}

    assert installed_names(source) == packed


def test_the_source_distribution_holds_every_file_of_the_folders(
    source: Path, distributions: Path
) -> None:
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as archive:
        packed = {name.split("/", 1)[-1] for name in archive.getnames()}
    expected = {
        str(path.relative_to(source))
        for folder in FOLDERS.values()
        for path in (source / folder).rglob("*")
        if path.is_file()
    }

    assert set() == expected - packed


def test_an_installed_wheel_imports_its_mapped_packages(
    distributions: Path, tmp_path: Path
) -> None:
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    run(*pip, "--target", target, next(distributions.glob("*.whl")))

    found = run(sys.executable, "-P", "-c", IMPORT, *FOLDERS, PYTHONPATH=str(target)).split()

    assert [str(target.joinpath(*name.split("."), "__init__.py")) for name in FOLDERS] == found
