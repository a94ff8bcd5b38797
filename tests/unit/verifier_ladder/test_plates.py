"""Plates: where cases lie, and how many may leave."""

from collections import Counter
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import Ledger, base, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.plates import Batches, Layout, Well, approve, send

LAYOUTS = st.builds(
    Layout,
    st.sampled_from([96, 384]),
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.dictionaries(st.sampled_from(["blank", "top dose"]), st.integers(1, 8)),
)


def keys(count: int) -> list[bytes]:
    return [number.to_bytes(32, "big") for number in range(count)]


@given(LAYOUTS, st.integers(1, 250))
def test_each_case_lies_on_one_plate_and_each_control_on_all(layout: Layout, count: int) -> None:
    wells = layout.draw(keys(count))

    places = Counter((well.plate, well.well) for well in wells)
    assert {1} == set(places.values())
    on_plate = Counter((well.case, well.control, well.plate) for well in wells)
    cases = {which: wells for which, wells in on_plate.items() if which[0] is not None}
    assert sorted(keys(count)) == sorted(case or b"" for case, _, _ in cases)
    assert {layout.replicates} == set(cases.values())
    for plate in {well.plate for well in wells}:
        assert layout.controls == {
            name: count
            for (case, name, at), count in on_plate.items()
            if (case, at) == (None, plate)
        }


@given(LAYOUTS, st.integers(0, 1000))
def test_as_many_cases_leave_as_there_are_wells_for(layout: Layout, wells: int) -> None:
    count = layout.cases_in(wells)

    assert len(layout.draw(keys(count))) <= wells < len(layout.draw(keys(count + 1)))


def test_a_seed_draws_the_same_wells_and_another_one_draws_others() -> None:
    drawn = [Layout(96, seed, 3, {"blank": 6}).draw(keys(20)) for seed in (7, 7, 8)]

    assert drawn[0] == drawn[1]
    assert [well.well for well in drawn[0]] != [well.well for well in drawn[2]]
    assert {well.plate for well in drawn[0]}.isdisjoint(well.plate for well in drawn[2])


def test_wells_are_called_as_on_a_plate() -> None:
    for size, last in ((96, "H12"), (384, "P24")):
        wells = [well.well for well in Layout(size, 7).draw(keys(size))]
        assert ("A1", "A2", last) == (wells[0], wells[1], wells[-1])


def test_chance_prefers_no_row_of_a_plate() -> None:
    rows = Counter(Layout(96, seed).draw(keys(1))[0].well[0] for seed in range(800))

    assert set("ABCDEFGH") == set(rows)
    assert all(60 <= count <= 140 for count in rows.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 24}, "choose 96 or 384"),
        ({"replicates": 0}, "don't fit"),
        ({"replicates": 97}, "don't fit"),
        ({"controls": {"blank": 96}}, "don't fit"),
        ({"controls": {"blank": 0}}, "at least one well"),
        ({"controls": {"=1+1": 1}}, "give a name"),
        ({"seed": -1}, "give a number"),
    ],
)
def test_what_fits_on_no_plate_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Layout(**{"size": 96, "seed": 7, **given})  # type: ignore[arg-type]


@pytest.fixture
def ledger() -> Ledger:
    return open_ledger(":memory:")


def test_nothing_leaves_without_an_approval_or_beyond_it(ledger: Ledger) -> None:
    layout = Layout(96, 7)
    with pytest.raises(ConfigError, match="4 rows would leave, and 0 may"):
        send(ledger, "a", layout, layout.draw(keys(4)), by="bob")
    approve(ledger, "a", 3, by="ada")
    approve(ledger, "b", 100, by="ada")

    with pytest.raises(ConfigError, match="4 rows would leave, and 3 may"):
        send(ledger, "a", layout, layout.draw(keys(4)), by="bob")
    assert {} == Batches(ledger, "a").wells

    send(ledger, "a", layout, layout.draw(keys(2)), by="bob")

    assert (1, set(keys(2))) == (Batches(ledger, "a").left, Batches(ledger, "a").cases)
    assert 1 == len(list(ledger.entries(kind="batch")))


def test_a_batch_that_went_beyond_its_approval_is_void(ledger: Ledger) -> None:
    layout = Layout(96, 7)
    approve(ledger, "a", 4, by="ada")
    send(ledger, "a", layout, layout.draw(keys(3)), by="bob")
    (entry,) = ledger.entries(kind="batch")
    late = ledger.read(entry)
    late.facts = {**late.facts, "plates": {"P0-1": {"A1": keys(9)[8].hex(), "A2": "control:b"}}}
    ledger.append(late)  # As by a program that had looked before the first one wrote.

    assert (1, set(keys(3))) == (Batches(ledger, "a").left, Batches(ledger, "a").cases)

    approve(ledger, "a", 9, by="ada")
    assert 10 == Batches(ledger, "a").left


def test_the_seed_and_who_sent_it_are_kept(ledger: Ledger) -> None:
    layout = Layout(96, 7, 2, {"blank": 1})
    approve(ledger, "a", 96, by="ada")
    send(ledger, "a", layout, layout.draw(keys(1)), by="bob")

    (entry,) = ledger.entries(kind="batch")
    facts = ledger.read(entry).facts
    assert (7, 2, {"blank": 1}, "bob") == (
        facts["seed"], facts["replicates"], facts["controls"], facts["by"],
    )  # fmt: skip
    again = Layout(facts["size"], facts["seed"], facts["replicates"], facts["controls"])
    assert set(again.draw(keys(1))) == set(Batches(ledger, "a").wells.values())


def test_a_batch_leaves_once(ledger: Ledger) -> None:
    layout = Layout(96, 7)
    approve(ledger, "a", 96, by="ada")
    send(ledger, "a", layout, layout.draw(keys(1)), by="bob")

    with pytest.raises(ConfigError, match="has left before"):
        send(ledger, "a", layout, layout.draw(keys(1)), by="bob")


def test_a_batch_without_cases_does_not_leave(ledger: Ledger) -> None:
    approve(ledger, "a", 96, by="ada")

    with pytest.raises(ConfigError, match="no case is in it"):
        send(ledger, "a", Layout(96, 7), [], by="bob")


def test_a_case_lies_on_two_plates_only_on_demand(ledger: Ledger) -> None:
    approve(ledger, "a", 96, by="ada")
    first, second = (Layout(96, seed) for seed in (7, 8))
    send(ledger, "a", first, first.draw(keys(2)), by="bob")

    with pytest.raises(ConfigError, match="have left just now"):
        send(ledger, "a", second, second.draw(keys(1)), by="bob")
    send(ledger, "a", second, second.draw(keys(1)), by="bob", again=True)

    assert 93 == Batches(ledger, "a").left


def test_a_batch_counts_that_was_recorded_before_entries_told_of_cases_on_plates(
    ledger: Ledger,
) -> None:
    approve(ledger, "a", 96, by="ada")
    for seed in (7, 8):
        layout = Layout(96, seed)
        block = batch_of(layout, layout.draw(keys(2)))
        block.facts = {name: fact for name, fact in block.facts.items() if name != "again"}
        ledger.append(block)

    assert (92, {}) == (Batches(ledger, "a").left, Batches(ledger, "a").void)


class Busy:
    """A ledger in which others write: their entries come late, before those that are there.

    As PostgreSQL's, it shows entries only up to the newest that none can come before any more.
    """

    def __init__(self, ledger: Ledger, *late: Block) -> None:
        self._ledger, self._late = ledger, list(late)
        self._settled = ledger.newest()

    def append(self, block: Block) -> int:
        for one in self._late:
            self._ledger.append(one)
        return self._ledger.append(block)

    def newest(self) -> int:
        """Every look at it finds one more."""
        self._settled = min(self._settled + 1, self._ledger.newest())
        return self._settled

    def await_earlier(self, entry: int) -> None:
        Ledger.await_earlier(cast("Ledger", self), entry)

    def entries(self, **filters: Any) -> Any:
        return self._ledger.entries(until=self._settled, **filters)

    def read(self, entry: Any) -> Block:
        return self._ledger.read(entry)


def batch_of(layout: Layout, wells: list[Well]) -> Block:
    ledger = open_ledger(":memory:")
    approve(ledger, "a", 999, by="ada")
    send(ledger, "a", layout, wells, by="eve", again=True)
    (entry,) = ledger.entries(kind="batch")
    return ledger.read(entry)


@pytest.mark.parametrize(
    ("seed", "cases", "message"),
    [
        (8, slice(3, 6), "3 rows would leave, and 1 may"),
        (8, slice(0, 1), "have left just now"),
        (7, slice(0, 3), "this very batch has left before"),
    ],
)
def test_what_leaves_at_the_same_time_counts_first_if_it_was_first(
    ledger: Ledger, seed: int, cases: slice, message: str
) -> None:
    approve(ledger, "a", 4, by="ada")
    layout, other = Layout(96, 7), Layout(96, seed)
    busy = Busy(ledger, batch_of(other, other.draw(keys(6)[cases])))
    mine = layout.draw(keys(3))

    with pytest.raises(ConfigError, match=message):
        send(cast("Ledger", busy), "a", layout, mine, by="bob")

    assert {well.case for well in other.draw(keys(6)[cases])} == Batches(ledger, "a").cases


def test_a_batch_leaves_though_others_write(ledger: Ledger) -> None:
    approve(ledger, "a", 4, by="ada")
    layout = Layout(96, 7)
    busy = Busy(ledger, *[Block("alarm", "a")] * 3)

    send(cast("Ledger", busy), "a", layout, layout.draw(keys(3)), by="bob")

    assert 1 == Batches(ledger, "a").left


class Stuck(Busy):
    """One in which somebody writes for ever."""

    def newest(self) -> int:
        return self._settled


def test_who_waits_in_vain_is_told_what_stands_and_which_batch_to_write_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_PATIENCE", 0.0)
    approve(ledger, "a", 4, by="ada")
    layout = Layout(96, 7)
    wells = layout.draw(keys(3))

    with pytest.raises(LedgerError, match=f"`vladder case out --batch {wells[0].batch}` writes"):
        send(cast("Ledger", Stuck(ledger)), "a", layout, wells, by="bob")
    with pytest.raises(LedgerError, match=r"The approval stands; approve nothing again$"):
        approve(cast("Ledger", Stuck(ledger)), "a", 4, by="ada")


def test_a_batch_is_found_again_by_its_name(ledger: Ledger) -> None:
    approve(ledger, "a", 999, by="ada")
    layout = Layout(96, 7, 3, {"blank": 6})
    wells = layout.draw(keys(40))
    send(ledger, "a", layout, wells, by="bob")

    batches = Batches(ledger, "a")

    assert wells == batches.batch(wells[0].batch)
    with pytest.raises(
        ConfigError, match=f"no batch 'P0' has left; those that have: {wells[0].batch}"
    ):
        batches.batch("P0")


@pytest.mark.parametrize(("wells", "by"), [(0, "ada"), (9, " "), (2**64, "ada")])
def test_an_approval_tells_how_many_and_who(ledger: Ledger, wells: int, by: str) -> None:
    with pytest.raises(ConfigError, match="give a number from 1 to 1,000,000,000, and a name"):
        approve(ledger, "a", wells, by=by)
