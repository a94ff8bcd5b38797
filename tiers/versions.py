"""Versions of the tools that affect results."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def versions(*packages: str) -> dict[str, str]:
    """Look up installed versions without importing the packages, for `Verifier.tools`.

    A package that is not installed is named as such: its verifier then abstains.

    Example:
        >>> versions("no-such-package")
        {'no-such-package': 'not installed'}
    """
    return {package: _version(package) for package in packages}
