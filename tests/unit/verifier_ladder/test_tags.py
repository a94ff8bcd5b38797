"""Tags of tasks and verifiers."""

from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.errors import ConfigError
from verifier_ladder.tags import CAPABILITIES, capabilities_of, checked_capabilities


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("planning", ("planning",)),
        ("Tool-Use", ("tool use",)),
        (["self improvement", "SELF_IMPROVEMENT"], ("self-improvement",)),
        (None, ()),
        ("", ()),
        ("juggling", ("juggling",)),  # A dataset's column may hold anything, and stops nothing.
        (3, ("3",)),
    ],
)
def test_capabilities_have_one_spelling(given: Any, expected: tuple[str, ...]) -> None:
    assert expected == capabilities_of(given)


def test_a_verifier_may_declare_known_capabilities_only() -> None:
    assert CAPABILITIES == checked_capabilities(CAPABILITIES, "a verifier")
    with pytest.raises(ConfigError, match=r"'juggling' of verifier judge .* planning, memory"):
        vl.verifier(name="judge", capabilities=["juggling"])(lambda _: 1.0)


def test_tags_are_recorded_and_change_no_ladder() -> None:
    def made(**tags: Any) -> vl.Ladder:
        judge = vl.verifier(name="tagged", isolation="inline", **tags)(lambda _: 1.0)
        return vl.Ladder("tagged", [judge])

    plain, tagged = made(), made(capabilities="reasoning", domain="chemistry")

    assert plain.digest == tagged.digest
    assert "domain" not in plain.as_json()["verifiers"][0]
    assert ["reasoning"] == tagged.as_json()["verifiers"][0]["capabilities"]
    assert "chemistry" == tagged.as_json()["verifiers"][0]["domain"]
