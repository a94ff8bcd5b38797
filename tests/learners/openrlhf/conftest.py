"""The module of OpenRLHF that calls rewards, without the packages of a graphics card beside it."""
# mypy: ignore-errors
# OpenRLHF is not installed everywhere that types are checked.

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def agent() -> ModuleType:
    """`openrlhf.utils.agent`; its package would import deepspeed."""
    (folder,) = find_spec("openrlhf").submodule_search_locations
    package = ModuleType("openrlhf.utils")
    package.__path__ = [str(Path(folder) / "utils")]
    sys.modules["openrlhf.utils"] = package
    return import_module("openrlhf.utils.agent")
