"""Versions of tools."""

from importlib.metadata import version

from verifier_ladder.tiers.versions import versions


def test_the_installed_version_is_found() -> None:
    assert {"numpy": version("numpy")} == versions("numpy")


def test_a_missing_package_is_named_as_missing() -> None:
    assert {"no-such-package": "not installed"} == versions("no-such-package")
