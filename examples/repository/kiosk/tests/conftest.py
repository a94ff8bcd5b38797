"""What several tests need."""

import pytest
from kiosk.catalogue import Catalogue, Item


@pytest.fixture
def catalogue():
    """A shop that sells three things."""
    return Catalogue(
        [
            Item("a", "Apple juice", 250),
            Item("b", "Brown bread", 395),
            Item("c", "Cherry jam", 420),
        ]
    )
