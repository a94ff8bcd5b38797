"""Uncollected: the garbage collector waits while it should, and goes on after."""

import gc
from collections.abc import Iterator

import pytest

from verifier_ladder.scheduler.uncollected import uncollected


@pytest.fixture(autouse=True)
def _collector() -> Iterator[None]:
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


def test_the_collector_goes_on_when_the_last_stretch_ends() -> None:
    gc.enable()
    with uncollected:
        with uncollected:
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with uncollected:
        pass
    assert not gc.isenabled()


def test_an_error_lets_it_go_on() -> None:
    gc.enable()
    with pytest.raises(ValueError, match="x"), uncollected:
        raise ValueError("x")
    assert gc.isenabled()
