"""Groups, as one candidate stands for them."""

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.group import group_of, members_of


def test_a_member_that_is_there_several_times_is_given_as_often() -> None:
    members = [(Candidate("image", b"\xff"), 2), (Candidate("image", "b"), 1)]

    assert [member.content for member in members_of(group_of(members))] == [b"\xff", b"\xff", "b"]


@pytest.mark.parametrize("counts", [[2**40], [2**40, -(2**40)], [2**20, 1]])
def test_a_group_that_would_take_all_memory_is_not_read(counts: list[int]) -> None:
    forged = group_of([(Candidate("text", "a"), count) for count in counts])

    with pytest.raises(ValueError, match="no group has"):
        members_of(forged)
