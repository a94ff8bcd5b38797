"""Batches: whatever a caller hands over."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.errors import ConfigError
from verifier_ladder.run import Run
from verifier_ladder.scheduler.batches import batches_of
from verifier_ladder.scheduler.scorer import Batch


def batched(given: Any, groups: Sequence[str] | None = None) -> list[tuple[Batch, list[int]]]:
    return batches_of(given, kind="text", run=Run("own"), step=lambda _: 5, groups=groups)


def sample(content: str = "a", **fields: Any) -> Sample:
    return Sample(Candidate("text", content), **fields)


def test_bare_content_is_one_batch_in_order() -> None:
    ((batch, places),) = batched(["a", b"b", Candidate("text", "c")], ["x", "x", "y"])

    assert ("own", 5, [0, 1, 2]) == (batch.run, batch.step, list(batch.positions))
    assert ["x", "x", "y"] == batch.groups
    assert [0, 1, 2] == list(places)


def test_nothing_is_no_batch() -> None:
    assert [] == batched([])


def test_samples_are_sorted_by_run_and_step() -> None:
    found = batched([sample(step=1), sample(run="other"), "bare", sample(step=1, position=9)])

    assert {("own", 1): [0, 3], ("other", 5): [1], ("own", 5): [2]} == {
        (batch.run, batch.step): places for batch, places in found
    }
    assert [0, 9] == found[0][0].positions


def test_what_a_sample_says_of_itself_is_kept() -> None:
    one = sample(group="g", group_size=4, learner_version="v", weight=0.5)

    ((batch, _),) = batched([one])

    assert (["g"], [4], ["v"], [0.5]) == (
        batch.groups, batch.group_sizes, batch.learner_versions, batch.weights
    )  # fmt: skip


@pytest.mark.parametrize("name", ["step", "position", "group_size"])
def test_a_number_that_not_every_reader_reads_is_refused(name: str) -> None:
    last: dict[str, Any] = {name: 2**53 - 1}
    ((_, places),) = batched([sample(**last)])
    assert [0] == list(places)
    with pytest.raises(ConfigError, match=f"sample 0: {name}=9007199254740992: .*at most"):
        batched([sample(**{name: last[name] + 1})])


ITEMS = st.one_of(
    st.text(max_size=3), st.binary(max_size=3),
    st.builds(Sample, st.just(Candidate("text", "a")), st.sampled_from(["", "r"]),
              st.integers(-1, 2)),
)  # fmt: skip


@given(st.lists(ITEMS, max_size=10))
def test_every_element_has_one_place_in_one_batch(items: list[Any]) -> None:
    found = batched(items)

    places = sorted(place for _, chosen in found for place in chosen)
    assert list(range(len(items))) == places
    for batch, chosen in found:
        assert len(chosen) == len(batch.candidates) == len(set(batch.positions))


@pytest.mark.parametrize(
    "given",
    ["CCO", b"CCO", Candidate("text", "a"), sample(), {"a": 1}, None, 3],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_list_is_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match="takes a list"):
        batched(given)


@pytest.mark.parametrize("item", [None, 3, ["a"], {"content": "a"}])
def test_an_element_that_is_no_candidate_is_named_by_its_place(item: Any) -> None:
    with pytest.raises(ConfigError, match="candidate 1 is a"):
        batched(["a", item])


def test_a_candidate_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="candidate 0 is a molecule, and the ladder is about te"):
        batched([Candidate("molecule", "CCO")])


def test_two_samples_with_one_id_are_refused() -> None:
    with pytest.raises(ConfigError, match="one position"):
        batched([sample(position=3), sample(position=3)])


def test_one_group_too_few_is_refused() -> None:
    with pytest.raises(ConfigError, match="1 entries for 2"):
        batched(["a", "b"], ["x"])
