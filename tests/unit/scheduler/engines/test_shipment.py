"""Verifiers as bytes."""

import pickle
import sys
import threading
from collections.abc import Iterator

import cloudpickle
import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.scheduler.engines.pool import Shipments


@pytest.fixture(autouse=True)
def _by_reference() -> Iterator[None]:
    """This module is no exception here, as it is where workers get verifiers of tests."""
    module = sys.modules[__name__]
    cloudpickle.unregister_pickle_by_value(module)
    yield
    cloudpickle.register_pickle_by_value(module)


def made(version: str = "1") -> FunctionVerifier:
    return FunctionVerifier(lambda _: 1.0, name="one", version=version)


def test_an_object_keeps_its_token_and_shares_it_with_none() -> None:
    shipments, one, other = Shipments(), made(), made()

    assert shipments.token(one) == shipments.token(one) != shipments.token(other)


def test_tokens_are_never_given_twice() -> None:
    shipments = Shipments()

    assert 1000 == len({shipments.token(made()) for _ in range(1000)})


def test_code_comes_back_as_an_equal_verifier() -> None:
    copy = pickle.loads(Shipments().code(made("7")))  # noqa: S301

    assert ("one", "7", made("7").digest) == (copy.name, copy.version, copy.digest)


def test_what_can_not_travel_says_what_to_do() -> None:
    verifier = made()
    verifier.function = threading.Lock().acquire

    with pytest.raises(ConfigError, match=r"can't be sent to a worker.*setup\(\)"):
        Shipments().code(verifier)


def test_a_module_is_sent_by_value_once() -> None:
    shipments, verifier = Shipments(), made()
    first = shipments.code(verifier)

    assert shipments.send_by_value(verifier, __name__, first)
    second = shipments.code(verifier)
    assert not shipments.send_by_value(verifier, __name__, second)
    assert not shipments.send_by_value(verifier, "a_module_nobody_has", second)


def one(_: object) -> float:
    return 1.0


def test_every_worker_that_was_sent_the_first_code_is_sent_the_next() -> None:
    shipments, verifier = Shipments(), FunctionVerifier(one, name="one", version="1")
    first = shipments.code(verifier)

    assert shipments.send_by_value(verifier, __name__, first)
    second = shipments.code(verifier)
    assert first != second
    assert shipments.send_by_value(verifier, __name__, first)
    assert not shipments.send_by_value(verifier, __name__, second)


def test_a_module_that_its_user_sends_by_value_stays_so() -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    shipments, verifier = Shipments(), FunctionVerifier(one, name="one", version="1")
    shipments.send_by_value(verifier, __name__, shipments.code(verifier))
    shipments.code(verifier)

    assert __name__ in cloudpickle.list_registry_pickle_by_value()
