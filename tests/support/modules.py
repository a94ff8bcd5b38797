"""Modules of ours, imported anew by one test."""

import sys

import pytest


def forget(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    """Have modules imported anew, and all be as it was once the test is over.

    An import also sets the module as an attribute of its package, where it would stay.
    """
    names = [name for name in sys.modules if name.startswith(prefix)]
    for name in names:
        package, _, own = name.rpartition(".")
        monkeypatch.setattr(sys.modules[package], own, sys.modules[name])
    for name in names:
        monkeypatch.delitem(sys.modules, name)
