"""`pyproject.toml` names every package folder, and no other."""

import tomllib
from pathlib import Path

import pytest

import verifier_ladder

ROOT = Path(__file__).parents[2]


def package_folders(root: Path, mapping: dict[str, str]) -> set[str]:
    """Return the import names of all folders with an `__init__.py` below the mapped folders."""
    return {
        ".".join((prefix, *init.parent.relative_to(root / folder).parts))
        for prefix, folder in mapping.items()
        for init in (root / folder).rglob("__init__.py")
    }


def as_setting(packages: set[str]) -> str:
    """Return the list as it stands in `pyproject.toml`."""
    return "\n".join(["packages = [", *(f'    "{name}",' for name in sorted(packages)), "]"])


def test_every_package_folder_is_listed() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = package_folders(ROOT, table["package-dir"])

    if found != set(table["packages"]):
        pytest.fail(
            "The packages in pyproject.toml are not the folders with an __init__.py. "
            f"Put this into [tool.setuptools]:\n\n{as_setting(found)}\n",
            pytrace=False,
        )


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == verifier_ladder.__version__


def test_every_folder_with_modules_is_a_package() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [ROOT / folder for folder in table["package-dir"].values()]
    modules = [module for folder in folders for module in folder.rglob("*.py")]

    assert [] == [m for m in modules if not (m.parent / "__init__.py").exists()]


def test_acceptance_tests_know_nothing_of_the_engine() -> None:
    """They say what holds for users, however checks are run."""
    tests = (ROOT / "tests" / "acceptance").rglob("*.py")

    assert [] == [test for test in tests if "scheduler.engines" in test.read_text("utf-8")]
