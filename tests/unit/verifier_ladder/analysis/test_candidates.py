"""Lists of candidates, from an index that is made from the ledger."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import viewed
from histories import ESTIMATE, GATE, MEASURED, XTB, History, Item, cost, ladder_spec
from hypothesis import given, settings
from hypothesis import strategies as st
from indexed import catch_up

from verifier_ladder.analysis import candidates, filling
from verifier_ladder.analysis.candidates import CandidateIndex, Listing, Order
from verifier_ladder.analysis.filling import Standing
from verifier_ladder.analysis.glance import glance
from verifier_ladder.analysis.indexfile import IndexFile, index_file
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.status import read_waiting
from verifier_ladder.summary import summarise
from verifier_ladder.summary.subject import Stand
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

NAMES = "ABCDE"
VERDICTS = {
    "accept": cost(Verdict.accept(1.0), 2.0),
    "reject": cost(Verdict.reject("no"), 2.0),
    "abstain": cost(Verdict.abstain("no opinion"), 2.0),
    "fail": cost(Verdict.abstain("crashed", failed_at="engine"), 3.0),
}
STEPS = st.lists(
    st.tuples(st.just("score"), st.text(NAMES, min_size=1, max_size=6))
    | st.tuples(st.sampled_from(sorted(VERDICTS)), st.sampled_from(NAMES)),
    max_size=20,
)


def item(name: str, score: float = 1.0, reward: float | None = None) -> Item:
    verdicts = {GATE: Verdict.accept(), ESTIMATE: cost(Verdict.accept(score), 1.0)}
    value = float(ord(name[0])) if reward is None else reward
    return Item(name, name, verdicts, Reward(value, None, Tier.FAST))


def labels(index: CandidateIndex, **listing: object) -> list[str]:
    page = index.page(Listing("try", **listing))  # type: ignore[arg-type]
    return [row.label for row in page.rows]


def play(history: History, steps: list[tuple[str, str]]) -> None:
    seen: set[str] = set()
    for what, names in steps:
        if what == "score":
            history.score([item(name) for name in names])
            seen.update(names)
        elif names in seen:
            history.check(item(names), XTB, VERDICTS[what])


@settings(max_examples=10)
@given(STEPS, st.integers(1, 5))
def test_however_entries_are_batched_the_numbers_are_those_of_a_summary(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]], most: int
) -> None:
    history = History(open_ledger(None))
    index = CandidateIndex(tmp_path_factory.mktemp("index") / "try.index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filling, "_MOST_ENTRIES", most)
        play(history, steps[: len(steps) // 2])
        catch_up(index, history.ledger)
        play(history, steps[len(steps) // 2 :])
        catch_up(index, history.ledger)

    (row,) = history.ledger.campaigns("try")
    waiting = read_waiting(history.ledger, "try", at=0.0)
    told = glance(history.ledger, index, row, waiting).summary
    summary = summarise(history.ledger, "try")

    assert (told.samples, told.candidates) == (summary.samples, summary.candidates)
    for mine, other in zip(told.tiers, summary.tiers, strict=True):
        for name in ("accepted", "rejected", "abstained", "reused", "checks", "spent", "asked"):
            assert getattr(mine, name) == getattr(other, name), name
        assert mine.everything == pytest.approx(other.everything)
    failed = [b.attempts for b in glance(history.ledger, index, row, None).boundaries]
    assert sum(failed) == sum(failure.attempts for failure in summary.failures)


def test_each_order_begins_with_what_it_names(ledger: Ledger, index: CandidateIndex) -> None:
    history = viewed.record(ledger)
    history.score([replace(viewed.METHANOL, reward=Reward(0.57, 0.1, Tier.FAST))] * 3)
    catch_up(index, ledger)

    assert labels(index, order=Order.REWARD) == ["CO", "CCO", "C1CC"]
    assert labels(index, order=Order.LOWEST) == ["C1CC", "CCO", "CO"]
    assert labels(index, order=Order.TRUTH) == ["CCO"]
    assert labels(index, order=Order.OVERRATED) == ["CCO"]
    assert labels(index, order=Order.KNOWN) == ["CO", "CCO"]
    assert labels(index, order=Order.SAMPLES)[0] == "CO"
    assert labels(index, order=Order.NEWEST) == ["C1CC", "CO", "CCO"]


def test_filters_keep_what_fits_and_count_it(ledger: Ledger, index: CandidateIndex) -> None:
    viewed.record(ledger)
    catch_up(index, ledger)
    rejected = Listing("try", Order.NEWEST, Standing.REJECTED)

    assert [row.label for row in index.page(rejected).rows] == ["C1CC"]
    assert index.page(rejected).count == 1
    assert labels(index, reached=Tier.WORLD) == ["CCO"]
    assert labels(index, reached=Tier.SIMULATION) == []


@pytest.mark.parametrize("order", [Order.REWARD, Order.LOWEST, Order.NEWEST])
def test_filters_look_at_no_candidate_in_vain(
    tmp_path: Path, ledger: Ledger, order: Order
) -> None:
    """Those that fit may stand at the end of all: SQLite's own steps tell who was looked at."""
    history, index, took = History(ledger), CandidateIndex(tmp_path / "try.index"), list[int]()
    rejected = Listing("try", order, Standing.REJECTED, said=(Tier.FAST, Stand.REJECTED))
    for count in (10, 300):
        no = {GATE: Verdict.reject("no")}
        texts, told = [f"{count}", f"again {count}"], Reward(0.0, None, Tier.FAST)
        history.score([Item(text, text, no, told) for text in texts])
        for reward, edge in ((2.0, "above"), (-2.0, "below")):
            history.score([item(f"{edge} {count} {n}", reward=reward) for n in range(count)])
        catch_up(index, ledger)
        steps: list[None] = []
        with index.reading("try") as (connection, _):
            connection.set_progress_handler(partial(steps.append, None), 1)
        assert len(index.page(rejected, 1).rows) == 1
        with index.reading("try") as (connection, _):
            connection.set_progress_handler(None, 1)
        took.append(len(steps))

    assert took[1] == pytest.approx(took[0], rel=0.1)


def test_pages_follow_each_other_without_a_gap_while_others_are_added(
    ledger: Ledger, index: CandidateIndex
) -> None:
    history = History(ledger)
    history.score([item(f"{n:03}x", reward=float(n % 3)) for n in range(30)])
    catch_up(index, ledger)
    found, after = [], ""
    while True:
        page = index.page(Listing("try", standing=Standing.ACCEPTED, after=after), size=7)
        found += [row.label for row in page.rows]
        after = page.after
        if not after:
            break
        history.score([item(f"new{len(found)}", reward=9.0)])
        catch_up(index, ledger)

    assert sorted(found) == [f"{n:03}x" for n in range(30)]
    assert len(set(found)) == 30


@pytest.mark.parametrize("most", [0, 2_000])
def test_a_search_finds_text_inside_and_keys_by_their_beginning(
    ledger: Ledger, index: CandidateIndex, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few that are found all are sorted; among many the list is walked."""
    monkeypatch.setattr("verifier_ladder.analysis.candidates._FOUND", most)
    history = History(ledger)
    odd = ["100%_sure", 'say "hello"', "100 x sure", "c1ccccc1O"]
    history.score([item(text) for text in odd])
    catch_up(index, ledger)

    assert labels(index, text="0%_s") == ["100%_sure"]
    assert labels(index, text='"hello') == ['say "hello"']
    assert labels(index, text="ccccc1o") == ["c1ccccc1O"]
    assert labels(index, text="nothing") == []
    if most:
        assert labels(index, text=item("100%_sure").content.hex()[:9]) == ["100%_sure"]


@pytest.mark.parametrize(
    "listing", [{"text": "ab"}, {"after": "x"}, {"after": "1"}, {"after": f"1,{2**64}"}]
)
def test_what_makes_no_sense_is_refused(
    ledger: Ledger, index: CandidateIndex, listing: dict[str, str]
) -> None:
    viewed.record(ledger)
    catch_up(index, ledger)

    with pytest.raises(ConfigError):
        labels(index, **listing)


def test_one_answer_to_two_tasks_is_two_candidates(ledger: Ledger, index: CandidateIndex) -> None:
    history = History(ledger)
    right, wrong = item("42", reward=1.0), item("42", reward=0.0)
    history.score([replace(right, task=b"a" * 32), replace(wrong, task=b"b" * 32)])
    catch_up(index, ledger)
    page = index.page(Listing("try"))

    assert [(row.task[:2], row.reward) for row in page.rows] == [("61", 1.0), ("62", 0.0)]


@pytest.mark.parametrize("most", [1, 100])
def test_answers_to_tasks_are_theirs_in_whatever_batch_they_come(
    ledger: Ledger, index: CandidateIndex, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a text with several tasks only the revision says whose answer it is."""
    monkeypatch.setattr(filling, "_MOST_ENTRIES", most)
    history, said = History(ledger), VERDICTS["accept"]
    one, other = (replace(item("42"), task=task * 32) for task in (b"a", b"b"))
    history.score([one, other])
    history.check(other, XTB, said)
    history.revise(0, 1, replace(other, verdicts={**other.verdicts, XTB: said}))
    catch_up(index, ledger)
    (row,) = ledger.campaigns("try")

    mine = glance(ledger, index, row, None).summary.tiers[1]
    its = summarise(ledger, "try").tiers[1]

    assert (mine.answered, mine.reused, mine.mean_seconds) == (1, 0, 2.0)
    assert (its.answered, its.reused, its.mean_seconds) == (1, 0, 2.0)
    stands = {
        row.task[:2]: row.stands.get("simulation") for row in index.page(Listing("try")).rows
    }
    assert stands == {"61": None, "62": "accepted"}


def test_filling_costs_the_same_whatever_is_there_and_replaces_no_numbered_row(
    tmp_path: Path, ledger: Ledger
) -> None:
    # SQLite keeps a journal for each statement that does, and goes through the savepoint for it.
    history, file, told = History(ledger), IndexFile(tmp_path / "try.index"), list[list[str]]()
    for batch in range(3):
        history.score([item(f"{batch} {number}") for number in range(20)])
        with file.filling(ledger) as connection:
            told.append([])
            connection.set_trace_callback(told[-1].append)
            filling.fill(connection, ledger)
            connection.set_trace_callback(None)
            tables = connection.execute("SELECT name, sql FROM sqlite_master").fetchall()
    numbered = {name for name, sql in tables if "WITHOUT ROWID" not in (sql or "")}
    replaced = {s.split()[4] for s in told[1] if s.startswith("INSERT OR REPLACE INTO")}
    assert len(told[1]) == len(told[2])
    assert replaced
    assert not replaced & numbered


def test_an_entry_that_nobody_understands_is_counted_and_keeps_nobody_out(
    ledger: Ledger, index: CandidateIndex
) -> None:
    history = viewed.record(ledger)
    row = history._row(viewed.METHANOL, XTB, VERDICTS["accept"])
    ledger.append(Block("check", "try", verdicts=[row], facts={"charged": ["a lot"]}))
    history.score([item("Z")])
    catch_up(index, ledger)

    assert index.progress().damaged == 1
    assert labels(index, order=Order.NEWEST) == ["Z", "C1CC", "CO", "CCO"]


@pytest.mark.parametrize("most", [1, 100])
def test_a_candidate_s_first_and_last_sample_are_known_however_entries_are_cut(
    ledger: Ledger, index: CandidateIndex, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "_MOST_ENTRIES", most)
    history = History(ledger)
    for names in ("BA", "AB", "BBA"):
        history.score([item(name) for name in names])
    (first, *_) = catch_up(index, ledger).page(Listing("try", Order.SAMPLES)).rows

    assert (first.label, first.samples) == ("B", 4)
    assert (first.first_step, first.step, first.position) == (0, 2, 1)


def test_what_another_campaign_has_found_counts_here_too(
    ledger: Ledger, index: CandidateIndex
) -> None:
    first = viewed.record(ledger, "first")
    ended = replace(
        viewed.ETHANOL, reward=Reward(0.44, 0.02, Tier.WORLD), cached=(GATE, ESTIMATE, MEASURED),
        verdicts={**viewed.ETHANOL.verdicts, MEASURED: viewed.MEASUREMENT},
    )  # fmt: skip
    second = History(ledger, "try", first.ladder)
    second.seen = first.seen
    second.score([ended])
    catch_up(index, ledger)
    (row,) = index.page(Listing("try", Order.TRUTH)).rows

    assert (row.label, row.truth, row.reward) == ("CCO", -4.2, 0.44)


def test_a_borrowed_answer_is_corrected_with_the_rewards_that_rest_on_it(
    ledger: Ledger, index: CandidateIndex
) -> None:
    first, said = History(ledger, "first"), {MEASURED: cost(Verdict.accept(-3.0), 1.0)}
    known = replace(item("A"), verdicts={**item("A").verdicts, **said})
    first.score([known])
    second = History(ledger, "try", first.ladder)
    second.score([replace(known, cached=tuple(known.verdicts))])
    catch_up(index, ledger)
    row = first._row(known, MEASURED, Verdict.accept(-6.5))
    ledger.append(Block("review", "first", verdicts=[row]))
    second.revise(0, 0, known)
    catch_up(index, ledger)

    assert [row.truth for row in index.page(Listing("try", Order.TRUTH)).rows] == [-6.5]
    assert [row.truth for row in index.page(Listing("first", Order.TRUTH)).rows] == [-6.5]


def test_audits_stand_for_what_was_not_drawn(ledger: Ledger, index: CandidateIndex) -> None:
    """The top tier judged A for certain, B with a chance of a half, and rejected E with a quarter.

    C was not drawn, and D was rejected below.
    """
    history = History(ledger)
    said = {"A": Verdict.accept(2.0), "B": Verdict.accept(-5.0), "E": Verdict.reject("no")}
    judged = [
        replace(
            item(name), verdicts={**item(name).verdicts, MEASURED: verdict},
            reward=Reward(0.9, None, Tier.WORLD),
        )
        for name, verdict in said.items()
    ]  # fmt: skip
    reject = Item("D", "D", {GATE: Verdict.reject("no")}, Reward(0.0, 0.0, Tier.FAST, reason="no"))
    made = history._block

    def drawn(*given: object) -> object:
        block = made(*given)  # type: ignore[arg-type]
        block.decisions[0].propensity = [1.0, 0.5, 0.25, 0.5, float("nan")]
        return block

    history._block = drawn  # type: ignore[assignment,method-assign]
    history.score([*judged, item("C", reward=0.9), reject])
    (point,) = catch_up(index, ledger).curve("try", "one")

    # The scale runs from 2 (0) to -12 (1): A is worth 0, B a half and speaks for two, E earns a
    # reject and speaks for four; they stand for C too, and D for itself.
    assert point.told == pytest.approx(4 * 0.9 / 5)
    assert point.audited == pytest.approx(4 * (2 * 0.5) / (1 + 2 + 4) / 5)
    assert (point.samples, point.audits) == (5, 3)


def test_a_ladder_of_one_tier_tells_no_truth(ledger: Ledger, index: CandidateIndex) -> None:
    """Nobody has looked whether what it says is so."""
    History(ledger, "try", ladder_spec([GATE, ESTIMATE])).score([item("A", reward=0.9)])
    (point,) = catch_up(index, ledger).curve("try", "one")

    assert (point.told, point.audited, point.audits) == (0.9, None, 0)


@pytest.mark.parametrize("widths", [(1,), (1, 2, 4)])
def test_many_steps_become_few_points(
    ledger: Ledger, index: CandidateIndex, widths: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for module in (filling, candidates):
        monkeypatch.setattr(module, "WIDTHS", widths)
    history = History(ledger)
    for _ in range(150):
        history.score([item("A", reward=0.5)])
    curve = catch_up(index, ledger).curve("try", "one")

    assert len(curve) <= 60
    assert sum(point.samples for point in curve) == 150
    assert {point.told for point in curve} == {0.5}
    assert curve[0].step == 0 < curve[1].step < curve[-1].step < 150


def test_samples_of_a_prompt_are_found_by_one_of_them(
    ledger: Ledger, index: CandidateIndex
) -> None:
    viewed.record(ledger)
    catch_up(index, ledger)
    party = index.party("try", "one", 0, 1)

    assert party is not None
    assert (party.name, [m.position for m in party.members]) == (viewed.GROUP, [1, 0, 2])
    assert party.prompt_entry is not None
    assert index.party("try", "one", 0, 99) is None


def test_of_a_frequent_candidate_the_first_entries_and_the_last_are_read(
    ledger: Ledger, index: CandidateIndex
) -> None:
    history = viewed.record(ledger)
    for _ in range(20):
        history.score([viewed.METHANOL])
    catch_up(index, ledger)
    often = index.candidate("try", viewed.METHANOL.content)
    seldom = index.candidate("try", viewed.ETHANOL.content)
    assert often is not None
    assert seldom is not None
    (told, count), scored = index.entries_of(often), ledger.mentions(viewed.METHANOL.content)

    assert count == len(scored) == 21
    assert told == [*scored[:3], *scored[-3:]]
    assert index.entries_of(seldom) == (ledger.mentions(viewed.ETHANOL.content), 5)


def test_a_damaged_entry_is_counted_and_keeps_nobody_out(
    ledger: Ledger, index: CandidateIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewed.record(ledger)
    read = type(ledger).read
    damaged = next(entry.id for entry in ledger.entries(kind="check"))
    broken: Callable[..., object] = lambda self, entry: (  # noqa: E731
        read(self, entry._replace(body=b"{") if entry.id == damaged else entry)
    )
    monkeypatch.setattr(type(ledger), "read", broken)
    catch_up(index, ledger)

    assert index.progress().damaged == 1
    assert labels(index, order=Order.TRUTH) == ["CCO"]


class TestFile:
    """The file of the index is thrown away whenever it does not fit."""

    @pytest.fixture
    def path(self, tmp_path: Path, ledger: Ledger) -> Path:
        viewed.record(ledger)
        index = catch_up(CandidateIndex(tmp_path / "a.index"), ledger)
        index.close()
        return tmp_path / "a.index"

    def test_it_is_kept_and_goes_on_where_it_stopped(self, path: Path, ledger: Ledger) -> None:
        index = CandidateIndex(path)

        assert not index.check(ledger)
        assert 0 == index.catch_up(ledger)
        assert labels(index, order=Order.TRUTH) == ["CCO"]

    def test_another_ledger_in_the_place_has_another(self, path: Path) -> None:
        index = CandidateIndex(path)
        with open_ledger(None) as other:
            History(other).score([item("A")])

            assert index.check(other)
            assert labels(catch_up(index, other)) == ["A"]
            assert labels(index, text="CCO") == []

    @pytest.mark.parametrize("change", ["version", "damage", "empty"])
    def test_what_can_not_be_used_is_made_anew(
        self, path: Path, ledger: Ledger, change: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if change == "version":
            monkeypatch.setattr("verifier_ladder.analysis.indexfile.FORMAT", 99)
        else:
            path.write_bytes(b"" if change == "empty" else b"no database at all" * 300)
        index = CandidateIndex(path)

        assert index.progress().entry == 0
        assert labels(catch_up(index, ledger), order=Order.TRUTH) == ["CCO"]

    def test_nobody_else_can_read_it(self, path: Path) -> None:
        assert path.stat().st_mode & 0o077 == 0

    def test_two_viewers_fill_it_together(self, path: Path, ledger: Ledger) -> None:
        one, other = CandidateIndex(path), CandidateIndex(path)
        History(ledger, "more").score([item("A"), item("B")])
        counts = [one.catch_up(ledger), other.catch_up(ledger)]

        assert counts == [2, 0]
        assert other.totals("more").count("candidates") == 2

    def test_an_older_state_of_the_ledger_is_another_ledger(
        self, tmp_path: Path, path: Path
    ) -> None:
        """A backup was put back and has gone another way since."""
        with open_ledger(tmp_path / "ledger.db") as store:
            History(store).score([item("A")])
        shutil.copy(tmp_path / "ledger.db", tmp_path / "back.db")
        index = CandidateIndex(path.with_name("b.index"))
        for name, text in (("ledger.db", "B"), ("back.db", "C")):
            with open_ledger(tmp_path / name) as store:
                history = History(store)
                history.step = 1
                history.score([item(text)])
                index.check(store)
                catch_up(index, store)

        assert labels(index, order=Order.NEWEST) == ["C", "A"]

    def test_of_two_ledgers_with_one_address_neither_gets_into_the_other_s_lists(
        self, path: Path
    ) -> None:
        """As of two containers that share a home."""
        one = CandidateIndex(path.with_name("b.index"))
        other = CandidateIndex(path.with_name("b.index"))
        with open_ledger(None) as mine, open_ledger(None) as theirs:
            history = History(mine)
            history.score([item("A")])
            catch_up(one, mine)
            History(theirs).score([item("B")])
            other.check(theirs)
            catch_up(other, theirs)
            history.score([item("C")])
            catch_up(one, mine)

            assert labels(one, order=Order.NEWEST) == ["C", "A"]

    def test_a_damaged_page_is_found_and_all_is_made_anew(
        self, path: Path, ledger: Ledger
    ) -> None:
        with sqlite3.connect(path) as connection:
            ((page,), (size,)) = (
                connection.execute(statement).fetchone()
                for statement in (
                    "SELECT rootpage FROM sqlite_master WHERE name = 'candidate'",
                    "PRAGMA page_size",
                )
            )
        connection.close()
        data = path.read_bytes()
        at = (page - 1) * size
        path.write_bytes(data[:at] + b"\xff" * size + data[at + size :])
        index = CandidateIndex(path)
        with pytest.raises(sqlite3.DatabaseError):
            labels(index)
        catch_up(index, ledger)

        assert labels(index, order=Order.TRUTH) == ["CCO"]

    def test_a_file_that_is_removed_under_a_viewer_is_made_anew(
        self, path: Path, ledger: Ledger
    ) -> None:
        index = catch_up(CandidateIndex(path), ledger)
        for part in path.parent.glob(f"{path.name}*"):
            part.unlink()
        catch_up(index, ledger)

        assert labels(CandidateIndex(path), order=Order.TRUTH) == ["CCO"]
        assert path.stat().st_mode & 0o077 == 0

    def test_where_none_can_be_made_the_error_says_what_to_do(self, path: Path) -> None:
        with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
            CandidateIndex(path / "a.index")

    def test_only_what_nobody_has_filled_for_long_is_removed_and_all_of_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        folder = index_file("sqlite:///a.db").parent
        for name in ("old.index", "old.index-wal", "used.index", "used.index-wal"):
            (folder / name).touch()
            if name != "used.index-wal":
                os.utime(folder / name, (0.0, 0.0))
        index_file("sqlite:///a.db")

        assert sorted(p.name for p in folder.iterdir()) == ["used.index", "used.index-wal"]
