"""What tests of programs need of the machine."""

from collections.abc import Callable

import pytest
from codecase import CLASSES

from verifier_ladder.tiers.sandbox import Backend


@pytest.fixture
def sandboxes(require: Callable[..., None]) -> None:
    """Both classes work here, or the test is named as not run."""
    for kind in CLASSES:
        why = Backend(kind).problem()
        require(f"the sandbox {kind}", not why, why)
