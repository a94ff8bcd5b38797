"""Conformance of a ledger's history: cache, entries, samples, campaigns."""

from __future__ import annotations

import hashlib
from math import inf
from threading import Thread

import pytest

from verifier_ladder.canonicaliser import Identity
from verifier_ladder.cost import Cost
from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Alias, Block, OvertakenError
from verifier_ladder.reward import Reward
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CANON,
    candidate_row,
    key,
    score_block,
    verdict_row,
)
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import TurnVerdict, Verdict

RICH = Verdict(
    outcome=Verdict.accept().outcome, score=-0.1, uncertainty=1e-300, unit="kcal/mol",
    reason="because", feedback="try \ud800 harder", turns=(TurnVerdict(0, 0.5, "good"),),
    evidence={"energy": [1, 2.5, None], "$odd": {"limit": inf}, "raw": b"\0\xff"},
    cost=Cost(1.5, 0.25, 2.0, 3.0),
)  # fmt: skip


class HistoryTests:
    """**Abstract:** the append-only part of the contract."""

    @pytest.fixture
    def ledger(self) -> Ledger:
        """An empty ledger."""
        raise NotImplementedError("override the fixture `ledger`")

    # -- cache -----------------------------------------------------------------------------------

    def test_a_new_ledger_knows_nothing(self, ledger: Ledger) -> None:
        assert ledger.aliases(CANON, [key("a")]) == {}
        assert ledger.verdicts([key("a")]) == {}
        assert list(ledger.entries()) == []
        assert ledger.newest() == 0

    def test_nothing_asked_is_nothing_answered(self, ledger: Ledger) -> None:
        assert ledger.aliases(CANON, []) == {}
        assert ledger.verdicts([]) == {}

    def test_an_alias_gives_the_content_of_a_raw_key(self, ledger: Ledger) -> None:
        ledger.append(Block("score", CAMPAIGN, [candidate_row("b", canonical="B")]))
        found = ledger.aliases(CANON, [key("raw b"), key("raw c")])
        assert found == {key("raw b"): Alias(key("b"), "B", None)}

    def test_an_alias_holds_only_under_its_canonicaliser(self, ledger: Ledger) -> None:
        ledger.append(Block("score", CAMPAIGN, [candidate_row("b")]))
        assert ledger.aliases(key("another"), [key("raw b")]) == {}

    def test_an_alias_keeps_every_form_of_content(self, ledger: Ledger) -> None:
        forms = {"text": "ünï\0code", "bytes": b"\0\xff", "surrogate": "\udc80", "empty": ""}
        rows = [candidate_row(word, canonical=form) for word, form in forms.items()]
        ledger.append(Block("score", CAMPAIGN, rows))
        found = ledger.aliases(CANON, [row.raw_key for row in rows])
        assert {word: found[key(f"raw {word}")].canonical for word in forms} == forms

    def test_a_canonicalisers_reject_is_remembered(self, ledger: Ledger) -> None:
        reject = Verdict.reject("no molecule", feedback="close the ring")
        ledger.append(Block("score", CAMPAIGN, [candidate_row("b", verdict=reject)]))
        assert ledger.aliases(CANON, [key("raw b")])[key("raw b")].verdict == reject

    def test_a_canonicalisers_failure_is_not_remembered(self, ledger: Ledger) -> None:
        crash = Verdict.abstain("crashed", failed_at="engine")
        ledger.append(Block("score", CAMPAIGN, [candidate_row("b", verdict=crash)]))
        assert ledger.aliases(CANON, [key("raw b")]) == {}

    def test_the_identity_needs_no_aliases(self, ledger: Ledger) -> None:
        identity = Identity("text").digest
        ledger.append(Block("score", CAMPAIGN, [candidate_row("b", canonicaliser=identity)]))
        assert ledger.aliases(identity, [key("raw b")]) == {}

    def test_verdicts_come_back_equal(self, ledger: Ledger) -> None:
        said = {
            "plain": Verdict.accept(0.1), "none": Verdict.accept(), "rich": RICH,
            "reject": Verdict.reject("no", score=-0.0), "opinion": Verdict.abstain("no idea"),
            "unit": Verdict.accept(2.0, unit="eV"), "whole": Verdict.accept(3),
            "timed": Verdict(Verdict.accept().outcome, 1.0, cost=Cost(2e-5)),
        }  # fmt: skip
        rows = [verdict_row(word, verdict) for word, verdict in said.items()]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        found = ledger.verdicts([row.check_key for row in rows])
        assert found == {row.check_key: row.verdict for row in rows}

    def test_a_verdicts_numbers_keep_every_bit(self, ledger: Ledger) -> None:
        numbers = [-0.0, 0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3]
        rows = [verdict_row(f"n{i}", Verdict.accept(n)) for i, n in enumerate(numbers)]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        found = ledger.verdicts([row.check_key for row in rows])
        assert [repr(found[row.check_key].score) for row in rows] == list(map(repr, numbers))

    @pytest.mark.parametrize("numbers", [[-0.0, -0.0], [0.0, -0.0], [2.0, 2.0], [None, None]])
    def test_equal_numbers_keep_their_signs(
        self, ledger: Ledger, numbers: list[float | None]
    ) -> None:
        rows = [verdict_row(f"n{i}", Verdict.accept(n)) for i, n in enumerate(numbers)]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        found = ledger.verdicts([row.check_key for row in rows])
        assert [repr(found[row.check_key].score) for row in rows] == list(map(repr, numbers))

    def test_an_outage_is_not_an_answer(self, ledger: Ledger) -> None:
        crash = Verdict.abstain("crashed", failed_at="engine")
        ledger.append(Block("score", CAMPAIGN, (), [verdict_row("a", crash)]))
        assert ledger.verdicts([key("check a")]) == {}

    def test_an_outage_is_recorded(self, ledger: Ledger) -> None:
        rows = [verdict_row("a", Verdict.abstain("crashed", failed_at="engine"))]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        (entry,) = ledger.entries()
        assert list(ledger.read(entry).verdicts) == rows

    def test_an_answer_follows_an_outage(self, ledger: Ledger) -> None:
        crash = Verdict.abstain("crashed", failed_at="engine")
        for verdict in (crash, Verdict.accept(1.0)):
            ledger.append(Block("score", CAMPAIGN, (), [verdict_row("a", verdict)]))
        assert ledger.verdicts([key("check a")])[key("check a")].score == 1.0

    def test_the_first_verdict_stays_current(self, ledger: Ledger) -> None:
        for score in (1.0, 2.0):
            ledger.append(Block("score", CAMPAIGN, (), [verdict_row("a", Verdict.accept(score))]))
        assert ledger.verdicts([key("check a")])[key("check a")].score == 1.0

    def test_the_first_of_two_in_one_block_is_current(self, ledger: Ledger) -> None:
        rows = [verdict_row("a", Verdict.accept(score)) for score in (1.0, 2.0)]
        ledger.append(Block("score", CAMPAIGN, (), rows))
        assert ledger.verdicts([key("check a")])[key("check a")].score == 1.0

    @pytest.mark.parametrize("kind", ["review", "import"])
    def test_a_correction_supersedes(self, ledger: Ledger, kind: str) -> None:
        for block_kind, score in (("score", 1.0), (kind, 2.0), ("score", 3.0)):
            rows = [verdict_row("a", Verdict.accept(score))]
            ledger.append(Block(block_kind, CAMPAIGN, (), rows))
        assert ledger.verdicts([key("check a")])[key("check a")].score == 2.0

    def test_the_latest_correction_is_current(self, ledger: Ledger) -> None:
        for score in (1.0, 2.0, 3.0):
            ledger.append(Block("review", CAMPAIGN, (), [verdict_row("a", Verdict.accept(score))]))
        assert ledger.verdicts([key("check a")])[key("check a")].score == 3.0

    def test_a_correction_supersedes_nothing_that_came_later_than_what_it_has_seen(
        self, ledger: Ledger
    ) -> None:
        seen = ledger.append(Block("score", CAMPAIGN, (), [verdict_row("a", Verdict.accept(1.0))]))
        said: list[float] = []

        def correct(score: float) -> None:
            block = Block("review", CAMPAIGN, (), [verdict_row("a", Verdict.accept(score))])
            try:
                ledger.append(block, as_of=seen)
            except OvertakenError:
                return
            said.append(score)

        threads = [Thread(target=correct, args=(2.0 + number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [ledger.verdicts([key("check a")])[key("check a")].score] == said
        assert len(list(ledger.entries())) == 2

    def test_what_was_corrected_stays_in_history(self, ledger: Ledger) -> None:
        for kind in ("score", "review"):
            ledger.append(Block(kind, CAMPAIGN, (), [verdict_row("a", Verdict.accept(1.0))]))
        assert [len(ledger.read(entry).verdicts) for entry in ledger.entries()] == [1, 1]

    def test_many_keys_are_answered_at_once(self, ledger: Ledger) -> None:
        words = [f"w{i}" for i in range(3000)]
        ledger.append(score_block(words))
        assert len(ledger.verdicts([key(f"check {w}") for w in words])) == 3000
        assert len(ledger.aliases(CANON, [key(f"raw {w}") for w in words])) == 3000

    # -- entries ---------------------------------------------------------------------------------

    def test_ids_grow(self, ledger: Ledger) -> None:
        ids = [ledger.append(score_block([word])) for word in "abc"]
        assert ids == sorted(set(ids))
        assert ids[0] > 0
        assert ledger.newest() == ids[-1]

    def test_entries_come_in_order_after_a_cursor(self, ledger: Ledger) -> None:
        ids = [ledger.append(score_block([f"w{i}"])) for i in range(70)]
        assert [entry.id for entry in ledger.entries()] == ids
        assert [entry.id for entry in ledger.entries(after=ids[40])] == ids[41:]
        assert [entry.id for entry in ledger.entries(after=ids[40], limit=3)] == ids[41:44]
        assert [entry.id for entry in ledger.entries(after=ids[1], until=ids[40])] == ids[2:41]
        assert list(ledger.entries(after=ids[3], until=ids[3])) == []

    def test_entries_are_chosen_by_kind_and_campaign(self, ledger: Ledger) -> None:
        ledger.append(Block("score", "one"))
        ledger.append(Block("review", "one"))
        ledger.append(Block("score", "two"))
        assert [e.kind for e in ledger.entries(campaign="one")] == ["score", "review"]
        assert [e.campaign for e in ledger.entries(kind="score")] == ["one", "two"]

    def test_an_entry_gives_its_block_back(self, ledger: Ledger) -> None:
        block = score_block(["a", "bb", "ccc"])
        ledger.append(block)
        (entry,) = ledger.entries()
        found = ledger.read(entry)
        assert list(found.candidates) == list(block.candidates)
        assert list(found.verdicts) == list(block.verdicts)
        assert list(found.rewards) == list(block.rewards)
        assert found.decisions[0].mean == [1.0, 2.0, 3.0]

    def test_a_leaf_covers_the_exact_bytes(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a"]))
        (entry,) = ledger.entries()
        head, part = entry.body.split(b"\n")
        over_parts = hashlib.sha256(b"\0" + part).digest()
        assert entry.leaf == hashlib.sha256(b"\0" + head + b"\n" + over_parts).digest()

    def test_an_unreadable_block_writes_nothing(self, ledger: Ledger) -> None:
        block = score_block(["a", "b"])
        assert block.samples is not None
        block.samples.contents = [key("a")]
        with pytest.raises(LedgerError, match="length"):
            ledger.append(block)
        assert ledger.newest() == 0
        assert ledger.verdicts([key("check a")]) == {}

    def test_a_candidates_mentions_are_the_entries_it_appears_in(self, ledger: Ledger) -> None:
        first = ledger.append(score_block(["a", "b"]))
        ledger.append(score_block(["c"]))
        third = ledger.append(
            Block("check", CAMPAIGN, (), [verdict_row("a", Verdict.accept(1.0))])
        )
        assert ledger.mentions(key("a")) == [first, third]
        assert ledger.mentions(key("nobody")) == []

    def test_mentions_see_what_was_written_after_they_were_asked(self, ledger: Ledger) -> None:
        first = ledger.append(score_block(["a"]))
        assert ledger.mentions(key("a")) == [first]
        second = ledger.append(score_block(["a"], step=1))
        assert ledger.mentions(key("a")) == [first, second]

    def test_a_candidate_is_found_by_the_beginning_of_its_key(self, ledger: Ledger) -> None:
        rows = [candidate_row("a"), candidate_row("b", kind="molecule", canonical=b"B")]
        ledger.append(Block("score", CAMPAIGN, rows))
        full = key("b").hex()
        for beginning in (full[:6], full[:20].upper(), full):
            assert ledger.find_contents(beginning) == [(key("b"), "molecule", b"B")]

    def test_all_candidates_are_found_by_no_beginning(self, ledger: Ledger) -> None:
        ledger.append(score_block([f"w{i}" for i in range(30)]))
        assert len(ledger.find_contents("")) == 20
        assert len(ledger.find_contents("", limit=100)) == 30

    def test_a_beginning_that_is_no_key_is_refused(self, ledger: Ledger) -> None:
        with pytest.raises(LedgerError, match="hexadecimal"):
            ledger.find_contents("CCO")

    # -- samples ---------------------------------------------------------------------------------

    def test_a_new_run_begins_at_step_0(self, ledger: Ledger) -> None:
        assert ledger.next_step(CAMPAIGN, "run") == 0

    def test_samples_are_counted_once_by_campaign(self, ledger: Ledger) -> None:
        assert ledger.count_samples(CAMPAIGN) == 0
        for step in range(2):
            ledger.append(score_block(["a", "b"], step=step))
        ledger.append(score_block(["a"], step=0, kind="revision", revision=1))
        ledger.append(score_block(["c"], campaign="another"))
        assert [ledger.count_samples(name) for name in (CAMPAIGN, "another", "none")] == [4, 1, 0]

    def test_the_next_step_follows_the_largest(self, ledger: Ledger) -> None:
        for step in (0, 7, 3):
            ledger.append(score_block(["a"], step=step))
        assert ledger.next_step(CAMPAIGN, "run") == 8
        assert ledger.next_step(CAMPAIGN, "another run") == 0
        assert ledger.next_step("another campaign", "run") == 0

    def test_a_steps_rewards_are_found_by_position(self, ledger: Ledger) -> None:
        entry = ledger.append(score_block(["a", "bb"], first=5))
        found = ledger.recorded(CAMPAIGN, "run", 0)
        assert {position: row.reward.value for position, row in found.items()} == {5: 1.0, 6: 2.0}
        assert found[6].content_key == key("bb")
        assert found[6].entry == entry

    def test_the_entries_of_a_step_come_in_order(self, ledger: Ledger) -> None:
        first = ledger.append(score_block(["a"]))
        ledger.append(score_block(["b"], step=1))
        later = ledger.append(score_block(["c"], first=9))
        found = list(ledger.step_entries(CAMPAIGN, "run", 0))
        assert [entry.id for entry in found] == [first, later]
        assert found == [entry for entry in ledger.entries() if entry.id in {first, later}]
        assert [e.id for e in ledger.step_entries(CAMPAIGN, "run", 0, after=first)] == [later]
        assert list(ledger.step_entries("another campaign", "run", 0)) == []

    def test_the_entries_of_some_samples_of_a_step_are_found(self, ledger: Ledger) -> None:
        first = ledger.append(score_block(["a", "b", "c"]))
        later = ledger.append(score_block(["d"], first=9))

        def found(*positions: int) -> list[int]:
            rows = ledger.step_entries(CAMPAIGN, "run", 0, positions=positions)
            return [entry.id for entry in rows]

        assert [found(0), found(2, 9), found(9), found(1, 3), found(5), found()] == [
            [first], [first, later], [later], [first], [], [],
        ]  # fmt: skip
        assert found(*range(3, 2000, 2)) == [later]

    def test_a_new_step_has_no_rewards(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a"]))
        assert ledger.recorded(CAMPAIGN, "run", 1) == {}

    def test_a_revision_is_the_latest_reward(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a", "bb", "ccc"]))
        revised = score_block(["dddd"], kind="revision", first=1, revision=1)
        entry = ledger.append(revised)
        found = ledger.recorded(CAMPAIGN, "run", 0)
        assert [found[at].reward.value for at in range(3)] == [1.0, 4.0, 3.0]
        assert (found[1].entry, found[1].reward.revision) == (entry, 1)

    def test_a_step_may_come_in_several_calls(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a", "bb"]))
        ledger.append(score_block(["ccc"], first=2))
        assert sorted(ledger.recorded(CAMPAIGN, "run", 0)) == [0, 1, 2]

    def test_positions_may_have_gaps(self, ledger: Ledger) -> None:
        block = score_block(["a", "b", "c"])
        assert block.samples is not None
        block.samples.positions = [9, 2, 3]
        ledger.append(block)
        assert sorted(ledger.recorded(CAMPAIGN, "run", 0)) == [2, 3, 9]

    def test_a_reward_comes_back_equal(self, ledger: Ledger) -> None:
        rewards = [
            Reward(None, reason="nobody knows", failed_at="tool"),
            Reward(0.1, 0.2, Tier.WORLD, 3, {"a": 1.0, "b": None}, "why", None, pending=True),
        ]
        block = score_block(["a", "b"])
        block.rewards = rewards
        ledger.append(block)
        found = ledger.recorded(CAMPAIGN, "run", 0)
        assert [found[0].reward, found[1].reward] == rewards

    # -- campaigns and runs ----------------------------------------------------------------------

    def test_a_campaign_is_recorded_once(self, ledger: Ledger) -> None:
        first = ledger.open_campaign("one", {"name": "ladder"}, key("ladder"))
        again = ledger.open_campaign("one", {"name": "changed"}, key("changed"))
        assert first == again
        assert (first.ladder, first.ladder_digest) == ({"name": "ladder"}, key("ladder"))

    def test_campaigns_are_listed_oldest_first(self, ledger: Ledger) -> None:
        for name in ("b", "a", "c"):
            ledger.open_campaign(name, {}, key(name))
        assert [row.name for row in ledger.campaigns()] == ["b", "a", "c"]
        assert [row.name for row in ledger.campaigns("a")] == ["a"]
        assert ledger.campaigns("d") == []

    def test_the_last_entry_of_a_kind_is_found_alone(self, ledger: Ledger) -> None:
        ids = [
            ledger.append(Block(kind, campaign, facts={"horizon": n}))
            for n, (kind, campaign) in enumerate(
                [("plan", "one"), ("plan", "one"), ("belief", "one"), ("plan", "two")]
            )
        ]
        found = ledger.last(kind="plan", campaign="one")
        assert found is not None
        assert found == ledger.entry(ids[1])
        assert ledger.last(kind="plan", campaign="three") is None

    def test_a_new_campaign_is_in_the_history(self, ledger: Ledger) -> None:
        ledger.open_campaign("one", {"name": "ladder"}, key("ladder"))
        (entry,) = ledger.entries(kind="campaign")
        assert ledger.read(entry).facts["ladder"] == {"name": "ladder"}

    def test_a_run_is_recorded_once(self, ledger: Ledger) -> None:
        for _ in range(2):
            ledger.add_run("one", {"name": "r1", "labels": {"seed": "1"}})
        ledger.add_run("one", {"name": "r0"})
        assert ledger.runs("one") == [{"name": "r1", "labels": {"seed": "1"}}, {"name": "r0"}]
        assert ledger.runs("two") == []
        assert len(list(ledger.entries(kind="run"))) == 2

    def test_a_changed_source_is_noticed(self, ledger: Ledger) -> None:
        assert ledger.note_verifier("v", "1", "aa") is None
        assert ledger.note_verifier("v", "1", "aa") is None
        assert ledger.note_verifier("v", "2", "bb") is None
        assert ledger.note_verifier("v", "1", "bb") == "aa"

    def test_an_unknown_source_is_not_remembered(self, ledger: Ledger) -> None:
        assert ledger.note_verifier("v", "1", "") is None
        assert ledger.note_verifier("v", "1", "aa") is None

    # -- life ------------------------------------------------------------------------------------

    def test_statistics_count_candidates_and_verdicts(self, ledger: Ledger) -> None:
        ledger.append(score_block(["a", "b"]))
        ledger.append(score_block(["b", "c"], campaign="another"))
        totals = ledger.statistics()
        assert (totals["entries"], totals["candidates"], totals["samples"]) == (2, 3, 4)
        assert totals["verdicts"] == {"length 1": {"accept": 3, "reject": 0, "abstain": 0}}
        assert ledger.statistics(CAMPAIGN)["candidates"] == 2

    def test_statistics_count_a_corrected_verdict_once(self, ledger: Ledger) -> None:
        ledger.append(Block("score", CAMPAIGN, (), [verdict_row("a", Verdict.accept(1.0))]))
        ledger.append(Block("review", CAMPAIGN, (), [verdict_row("a", Verdict.reject("no"))]))
        counts = ledger.statistics()["verdicts"]
        assert counts == {"length 1": {"accept": 0, "reject": 1, "abstain": 0}}

    def test_a_listener_is_called_after_a_commit(self, ledger: Ledger) -> None:
        seen: list[int] = []
        ledger.subscribe(lambda: seen.append(ledger.newest()))
        ledger.append(score_block(["a"]))
        assert set(seen) == {1}

    def test_a_refused_call_tells_nobody(self, ledger: Ledger) -> None:
        seen: list[None] = []
        ledger.subscribe(lambda: seen.append(None))
        block = score_block(["a", "b"])
        assert block.samples is not None
        block.samples.contents = [key("a")]
        with pytest.raises(LedgerError):
            ledger.append(block)
        assert (seen, ledger.newest()) == ([], 0)

    def test_many_threads_may_append(self, ledger: Ledger) -> None:
        def work(name: str) -> None:
            for number in range(10):
                ledger.append(score_block([f"{name}{number}"]))
                ledger.verdicts([key("check a0")])

        threads = [Thread(target=work, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(ledger.entries())) == 40

    def test_closing_twice_is_allowed(self, ledger: Ledger) -> None:
        ledger.close()
        ledger.close()

    def test_a_closed_ledger_says_so(self, ledger: Ledger) -> None:
        ledger.close()
        with pytest.raises(LedgerError, match="closed"):
            ledger.verdicts([key("a")])
        with pytest.raises(LedgerError, match="closed"):
            ledger.append(score_block(["a"]))
