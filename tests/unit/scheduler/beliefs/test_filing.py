"""Filing what was learnt under verifiers' names and versions."""

from verifier_ladder.scheduler.beliefs.declaration import Declaration
from verifier_ladder.scheduler.beliefs.filing import Filing

THEN = [("a", "1"), ("b", "1"), ("top", "1")]


def filing(*now: tuple[str, str]) -> Filing:
    return Filing(THEN, [Declaration(name, digest) for name, digest in now])


def test_the_same_ladder_keeps_its_patterns() -> None:
    same = filing(*THEN)

    assert [0, 1, 2, 3] == [same.pattern(p) for p in range(4)]
    assert all(same.is_same(p) for p in range(4))


def test_a_new_version_is_found_and_known_as_new() -> None:
    newer = filing(("a", "1"), ("b", "2"), ("top", "1"))

    assert [0, 1, 2, 3] == [newer.pattern(p) for p in range(4)]
    assert [True, True, False, False] == [newer.is_same(p) for p in range(4)]


def test_a_new_version_at_the_top_makes_everything_new() -> None:
    newer = filing(("a", "1"), ("b", "1"), ("top", "2"))

    assert 3 == newer.pattern(3)
    assert not any(newer.is_same(p) for p in range(4))


def test_a_tier_between_moves_the_others() -> None:
    assert 0b101 == filing(("a", "1"), ("new", "1"), ("b", "1"), ("top", "1")).pattern(0b11)


def test_tiers_that_are_gone_or_swapped_have_no_pattern() -> None:
    assert filing(("b", "1"), ("top", "1")).pattern(0b01) is None
    assert filing(("b", "1"), ("a", "1"), ("top", "1")).pattern(0b11) is None


def test_another_top_is_another_target() -> None:
    other = filing(("a", "1"), ("b", "1"), ("assay", "1"))

    assert not other.is_about_same
    assert other.pattern(0b01) is None


def test_tiers_without_a_primary_verifier_are_never_found() -> None:
    assert [-1] == Filing([("", ""), ("top", "1")], [Declaration(), Declaration("top")]).columns
