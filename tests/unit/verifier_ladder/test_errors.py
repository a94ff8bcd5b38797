"""Errors, one class per boundary."""

import pickle

import pytest

from verifier_ladder import errors
from verifier_ladder.errors import LadderError

CLASSES = [
    thing for thing in vars(errors).values()
    if isinstance(thing, type) and issubclass(thing, LadderError)
]  # fmt: skip


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_the_docstring_is_the_message_when_none_is_given(kind: type[LadderError]) -> None:
    assert str(kind()) == (kind.__doc__ or "").splitlines()[0]
    assert "told" == str(kind("told"))


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_crosses_a_process(kind: type[LadderError]) -> None:
    again = pickle.loads(pickle.dumps(kind("told")))  # noqa: S301 - written one line above

    assert type(again) is kind
    assert "told" == str(again)


def test_every_boundary_has_a_name_of_its_own() -> None:
    own = [kind for kind in CLASSES if LadderError in {kind, *kind.__bases__}]

    assert len(own) == len({kind.boundary for kind in own})
