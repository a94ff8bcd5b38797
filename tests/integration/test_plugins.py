"""Verifiers of other people's packages, installed for real."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.registry import Registry

PACKAGES = Path(__file__).parents[1] / "plugin_package"
MODULES = ("boiling_point", "needs_nothing")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both packages, as pip installs them."""
    folder = tmp_path_factory.mktemp("plugins")
    sources = shutil.copytree(PACKAGES, folder / "sources")  # Building writes into the source.
    target = folder / "site-packages"
    command: list[str | Path] = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--no-build-isolation", "--no-index", "--target", target,
        sources / "good", sources / "broken",
    ]  # fmt: skip
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert 0 == done.returncode, done.stdout + done.stderr
    return target


@pytest.fixture
def registry(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The registry of a process that has just started."""
    monkeypatch.syspath_prepend(str(installed))
    yield Registry()
    for name in [n for n in sys.modules if n.split(".")[0] in MODULES]:
        del sys.modules[name]


def test_names_are_known_before_anything_is_imported(registry: Registry) -> None:
    assert {"boiling-point", "short-name", "melting-point", "gone"} <= set(registry.names())
    assert set(MODULES).isdisjoint(sys.modules)


def test_a_look_up_imports_only_the_module_it_needs(registry: Registry) -> None:
    registry.get("boiling-point")

    assert "boiling_point.estimate" in sys.modules
    assert "boiling_point.names" not in sys.modules
    assert "needs_nothing" not in sys.modules


def test_a_verifier_is_found_by_name_and_version(registry: Registry) -> None:
    assert "2" == registry.get("boiling-point", "2").version
    assert "5" == registry.get("short-name", "5").version


def test_a_version_that_is_not_installed_is_named_with_what_is(registry: Registry) -> None:
    with pytest.raises(vl.ConfigError, match="no version '1'; there is 2"):
        registry.get("boiling-point", "1")


def test_settings_make_a_verifier_of_ones_own(registry: Registry) -> None:
    made = registry.create("boiling-point", {"slope": 20.0})

    assert made.digest != registry.get("boiling-point").digest


def test_a_broken_plugin_is_reported_with_its_package(registry: Registry) -> None:
    found = [problem for problem in registry.problems() if problem.package == "needs-nothing"]

    problems = {problem.name: problem.error for problem in found}
    assert {"melting-point", "gone", "crystal-of-nothing"} == set(problems)
    assert "a_package_that_is_not_installed" in problems["melting-point"]


def test_a_broken_plugin_does_not_stand_in_the_way_of_others(registry: Registry) -> None:
    registry.problems()

    assert "boiling-point" == registry.get("boiling-point").name


def test_only_who_asks_for_the_broken_plugin_gets_its_error(registry: Registry) -> None:
    with pytest.raises(vl.PluginError, match="remove the package"):
        registry.get("melting-point")


def test_a_misspelt_name_gets_a_hint(registry: Registry) -> None:
    with pytest.raises(vl.ConfigError, match="did you mean boiling-point"):
        registry.get("boiling-pint")


def test_a_plugin_verifies_in_worker_processes(registry: Registry) -> None:
    ladder = vl.Ladder("alkanes", [registry.get("boiling-point")])
    with vl.Campaign.open("plugins", ladder=ladder, workers=1) as campaign:
        values = [reward.value for reward in campaign.score(["C", "CCC"])]

    assert [111.0, 171.0] == values
