"""Verifiers of groups: what is said of a candidate holds inside one group, and is paid once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import cloudpickle
import comparing
import pytest
from comparing import SOON, Asked, assert_replays, latest, ranking, ranks, sample
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.group import MOST_MEMBERS
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.rollouts import scoring

pytestmark = pytest.mark.usefixtures("forked_workers")

cloudpickle.register_pickle_by_value(comparing)


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads that take turns after a few steps, so that what they do is well mixed."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@contextmanager
def opened(ledger: Ledger, *verifiers: vl.Verifier, **options: Any) -> Iterator[vl.Campaign]:
    with vl.Campaign.open(
        "c", ladder=vl.Ladder("ranked", list(verifiers)), ledger=ledger, **options
    ) as campaign:
        yield campaign


# -- one call ---------------------------------------------------------------------------------


def test_members_are_judged_together_and_groups_apart(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, ranking(asked)) as campaign:
        rewards = campaign.score(["a", "aaa", "aa", "aa", "a"], groups=["p", "p", "p", "q", "q"])

    assert [r.value for r in rewards] == pytest.approx([0, 2 / 3, 1 / 3, 1 / 2, 0])
    assert sorted(map(sorted, asked)) == [["a", "aa"], ["a", "aa", "aaa"]]
    assert_replays(ledger)


def test_equal_members_share_one_verdict_whatever_their_order_brings(ledger: Ledger) -> None:
    def by_place(members: list[vl.Candidate]) -> list[float]:
        return [float(place) for place, _ in enumerate(members)]

    placed = FunctionVerifier(
        by_place, name="placed", version="1", scope="group", isolation="inline"
    )
    with opened(ledger, placed) as campaign:
        values = [r.value for r in campaign.score(["a", "b", "a", "a"], groups=["p"] * 4)]

    assert values[0] == values[2] == values[3] in {1.0, 2.0}
    assert values[1] in {0.0, 3.0}
    assert_replays(ledger)


def test_who_waited_for_one_that_is_rejected_is_told_that_it_is_alone(
    asked: Asked, ledger: Ledger
) -> None:
    @vl.verifier(name="gate", kind="text", version="1", role="gate", isolation="inline")
    def gate(candidate: vl.Candidate) -> bool:
        return "!" not in str(candidate.content)

    with opened(ledger, ranking(asked), gate) as campaign:
        (early,) = campaign.score([sample("a", 0, 2)])
        (other,) = campaign.score([sample("!", 1, 2)])

    assert (early.value, early.pending, other.value) == (None, True, 0)
    assert [(r.value, r.pending) for r in latest(ledger)] == [(None, False), (0, False)]
    assert_replays(ledger)


def test_who_is_rejected_before_is_not_compared(asked: Asked, ledger: Ledger) -> None:
    @vl.verifier(name="gate", kind="text", version="1", role="gate", isolation="inline")
    def gate(candidate: vl.Candidate) -> bool:
        return "!" not in str(candidate.content)

    with opened(ledger, ranking(asked), gate) as campaign:
        rewards = campaign.score(["a", "aa", "aaaa!"], groups=["p"] * 3)

    assert [r.value for r in rewards] == [0, 1 / 2, 0]
    assert "said no" in rewards[2].reason
    assert_replays(ledger)


def test_its_score_is_weighed_with_that_of_others(asked: Asked, ledger: Ledger) -> None:
    @vl.verifier(name="one", kind="text", version="1", weight=3.0, isolation="inline")
    def one(_: vl.Candidate) -> float:
        return 1.0

    with opened(ledger, one, ranking(asked)) as campaign:
        rewards = campaign.score(["a", "aa"], groups=["p"] * 2)

    assert [r.value for r in rewards] == [3 / 4, 3.5 / 4]
    assert rewards[0].components == {"one": 1.0, "rank": 0.0}


def test_it_reads_the_task_fields_that_it_declares(ledger: Ledger) -> None:
    seen: list[Any] = []

    def closest(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        seen.append((completions, answer))
        return [float(one == a) for one, a in zip(completions, answer, strict=True)]

    judged = vl.wrap(
        closest, name="closest", version="1", columns=["answer"], scope="group",
        isolation="inline",
    )  # fmt: skip
    with opened(ledger, judged) as campaign:
        made = [vl.Candidate("text", one, {"answer": "4", "id": one}) for one in ("4", "5")]
        rewards = campaign.score(made, groups=["p"] * 2)
        other = [vl.Candidate("text", one, {"answer": "5", "id": one}) for one in ("4", "5")]
        campaign.score(other, groups=["p"] * 2)
        again = [vl.Candidate("text", one, {"answer": "4", "id": "other"}) for one in ("5", "4")]
        campaign.score(again, groups=["p"] * 2)

    assert [r.value for r in rewards] == [1, 0]
    assert [sorted(completions) for completions, _ in seen] == [["4", "5"]] * 2
    assert [answers for _, answers in seen] == [["4", "4"], ["5", "5"]]


def test_members_that_differ_in_what_is_not_read_are_one_member_with_one_verdict(
    ledger: Ledger,
) -> None:
    def by_place(members: list[vl.Candidate]) -> list[float]:
        return [float(place) for place, _ in enumerate(members)]

    placed = FunctionVerifier(
        by_place, name="placed", version="1", scope="group", isolation="inline"
    )
    given = [
        vl.Candidate("text", "a", {"id": "x"}),
        vl.Candidate("text", "b"),
        vl.Candidate("text", "a", {"id": "y"}),
        vl.Candidate("text", "a", turns=(vl.Turn("looked"),)),
    ]
    with opened(ledger, placed) as campaign:
        values = [r.value for r in campaign.score(given, groups=["p"] * 4)]

    assert values[0] == values[2] == values[3] in {1.0, 2.0}
    assert values[1] in {0.0, 3.0}
    assert_replays(ledger)


# -- a group in several calls -----------------------------------------------------------------


def test_without_a_deadline_nobody_is_judged_before_all_are_there(
    asked: Asked, ledger: Ledger
) -> None:
    with opened(ledger, ranking(asked)) as campaign:
        first = campaign.score([sample("a", 0, 3), sample("aaa", 1, 3)])
        assert [(r.value, r.pending) for r in first] == [(None, True)] * 2
        campaign.score([sample("aa", 2, 3)])

    assert [r.value for r in latest(ledger)] == pytest.approx([0, 2 / 3, 1 / 3])
    assert [len(members) for members in asked] == [3]


def test_calls_that_wait_for_each_other_share_one_check(asked: Asked, ledger: Ledger) -> None:
    with opened(ledger, ranking(asked)) as campaign, ThreadPoolExecutor(4) as threads:
        given = [sample("a" * (place + 1), place, 4) for place in range(4)]
        calls = [threads.submit(campaign.score, [one], deadline=600.0) for one in given]
        rewards = [call.result()[0] for call in calls]

    assert [r.value for r in rewards] == [0, 1 / 4, 1 / 2, 3 / 4]
    assert [len(members) for members in asked] == [4]
    assert_replays(ledger)


@pytest.mark.usefixtures("busy_threads")
def test_a_call_whose_check_another_call_gives_back_is_told_what_was_said() -> None:
    """One call reads the answer and lets go of the check while the next waits for it."""
    for _ in range(30):
        asked: Asked = []
        with (
            open_ledger(":memory:") as ledger,
            opened(ledger, ranking(asked)) as campaign,
            ThreadPoolExecutor(16) as threads,
        ):
            given = [sample("a" * (place + 1), place, 16) for place in range(16)]
            calls = [threads.submit(campaign.score, [one], deadline=600.0) for one in given]
            values = [call.result()[0].value for call in calls]
        assert values == [place / 16 for place in range(16)]
        assert len(asked) == 1


@pytest.mark.parametrize("seed", range(3))
def test_whatever_many_threads_bring_at_once_ends_as_if_it_had_come_together(
    seed: int, tmp_path: Path
) -> None:
    """Groups of equal members share their checks, and no sample is left behind."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    texts = {f"g{n}": ["a" * chance.randint(1, 3) for _ in range(4)] for n in range(8)}
    given = [
        replace(sample(text, 4 * number + place, 4), group=group)
        for number, (group, members) in enumerate(texts.items())
        for place, text in enumerate(members)
    ]  # fmt: skip
    chance.shuffle(given)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        with opened(ledger, ranking([])) as campaign, ThreadPoolExecutor(8) as threads:
            calls = [
                threads.submit(campaign.score, [one], deadline=chance.choice([None, SOON, 0.2]))
                for one in given
            ]
            for call in calls:
                call.result()
        wanted = [value for members in texts.values() for value in ranks(members)]
        assert [r.value for r in latest(ledger)] == pytest.approx(wanted)
        assert not any(r.pending for r in latest(ledger))
        assert_replays(ledger)


def test_a_group_that_gives_up_waiting_for_the_answer_about_its_equal_is_revised_by_it(
    ledger: Ledger,
) -> None:
    begun, go_on = Event(), Event()

    def rank(members: list[vl.Candidate]) -> list[float]:
        if len(members) > 2:
            begun.set()
            assert go_on.wait(60)
        return ranks([member.content for member in members])

    slow = FunctionVerifier(rank, name="rank", version="1", scope="group", isolation="inline")
    texts = ["a", "aa", "aaa"]
    first, second = (
        [replace(sample(text, start + n, 3), group=str(start)) for n, text in enumerate(texts)]
        for start in (0, 3)
    )
    with opened(ledger, slow) as campaign, ThreadPoolExecutor(1) as threads:
        asking = threads.submit(campaign.score, first)
        assert begun.wait(60)
        campaign.score(second[:2], deadline=SOON)
        campaign.score(second[2:], deadline=SOON)
        assert any(reward.pending or reward.value is None for reward in latest(ledger))
        go_on.set()
        asking.result()

    assert [reward.value for reward in latest(ledger)] == pytest.approx(2 * ranks(texts))
    assert not any(reward.pending for reward in latest(ledger))


def test_of_two_calls_that_bring_one_sample_with_different_texts_one_is_refused(
    ledger: Ledger,
) -> None:
    both = Barrier(2, timeout=60)

    @vl.verifier(name="one", kind="text", version="1", isolation="inline")
    def one(candidate: vl.Candidate) -> float:
        if candidate.content != "aaa":
            both.wait()
        return 1.0

    with opened(ledger, one, ranking([])) as campaign, ThreadPoolExecutor(2) as threads:
        calls = {
            text: threads.submit(campaign.score, [sample(text, 0, 2)], deadline=0.5)
            for text in ("a", "aa")
        }
        refused = [text for text, call in calls.items() if call.exception()]
        assert len(refused) == 1
        with pytest.raises(vl.ConfigError, match="an id of its own"):
            calls[refused[0]].result()
        campaign.score([sample("aaa", 1, 2)])

    assert [r.value for r in latest(ledger)] == [0.5, 0.75]
    assert_replays(ledger)


def test_a_sample_again_is_answered_as_recorded(asked: Asked, ledger: Ledger) -> None:
    given = [sample("a" * (place + 1), place, 4) for place in range(4)]
    with opened(ledger, ranking(asked)) as campaign:
        first = campaign.score(given)
        assert campaign.score(given[:1]) == first[:1]
    with opened(ledger, ranking(asked)) as campaign:
        assert campaign.score(given[2:]) == first[2:]
        assert campaign.score(given) == first

    assert len(asked) == 1


def test_groups_of_a_file_are_compared_across_its_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "CHUNK", 2)
    rows = [("p", "a"), ("q", "a"), ("p", "aaa"), ("p", "aa"), ("q", "aa")]
    file = tmp_path / "rollouts.jsonl"
    lines = [json.dumps({"group": name, "content": text}) for name, text in rows]
    file.write_text("\n".join(lines))
    scored = vl.score_file(file, ladder=vl.Ladder("ranked", [ranking([])]), ledger=None)

    values = [reward.value for reward in scored.rewards]
    assert values == pytest.approx([0, 0, 2 / 3, 1 / 3, 1 / 2])


TEXTS = st.lists(st.text("ab", min_size=1, max_size=3), min_size=2, max_size=6)


@settings(max_examples=30, deadline=None)
@given(TEXTS, st.data())
def test_however_a_group_comes_it_ends_with_the_rewards_of_the_whole(
    texts: list[str], data: st.DataObject
) -> None:
    """In any order and any parts, with deadlines or none, with a restart between any two calls."""
    order = data.draw(st.permutations(range(len(texts))))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(texts) - 1))))
    parts = [order[a:b] for a, b in zip([0, *cuts], [*cuts, len(texts)], strict=True)]
    asked: Asked = []
    with open_ledger(":memory:") as ledger:
        rest = list(parts)
        while rest:
            with opened(ledger, ranking(asked)) as campaign:
                for part in rest[: data.draw(st.integers(1, len(rest)))]:
                    rest.remove(part)
                    deadline = data.draw(st.sampled_from([None, SOON]))
                    campaign.score(
                        [sample(texts[n], n, len(texts)) for n in part], deadline=deadline
                    )
        known = [r.value for r in latest(ledger)]
        assert known == pytest.approx(ranks(texts))
        assert not any(r.pending for r in latest(ledger))
        assert sum(len(members) == len(texts) for members in asked) == 1
        assert sum(value or 0.0 for value in known) == pytest.approx(sum(ranks(texts)))
        assert_replays(ledger)


# -- what fails -------------------------------------------------------------------------------


def test_a_group_that_can_not_be_judged_costs_no_other_group_and_rejects_nobody(
    ledger: Ledger,
) -> None:
    def rank(members: list[vl.Candidate]) -> list[float]:
        contents = [member.content for member in members]
        if "crash" in contents:
            os._exit(3)
        if "raise" in contents:
            raise ValueError("not these")
        return ranks(contents)[: 1 if "short" in contents else None]

    judged = FunctionVerifier(rank, name="rank", version="1", scope="group")
    bad = ["crash", "raise", "short"]
    with opened(ledger, judged, workers=1) as campaign:
        texts = ["a", "aa", *(text for one in bad for text in (one, "a"))]
        groups = ["p", "p", *(name for one in bad for name in (one, one))]
        rewards = campaign.score(texts, groups=groups)

    assert [r.value for r in rewards[:2]] == [0, 1 / 2]
    assert [r.value for r in rewards[2:]] == [None] * 6
    assert all(r.failed_at and "group was not judged" in r.reason for r in rewards[2:])
    assert_replays(ledger)


def test_an_async_judge_is_asked_about_many_groups_at_once_and_tells_no_secret(
    ledger: Ledger,
) -> None:
    class Judge(vl.AsyncVerifier):
        name, version, kind, scope = "judge", "1", "text", "group"
        task_fields, hidden, concurrency = ("answer",), ("answer",), 2

        def setup(self) -> None:
            self.both = asyncio.Event()

        async def verify_group(self, members: Sequence[vl.Candidate]) -> list[vl.Verdict]:
            if len(members) == 3:
                await asyncio.wait_for(self.both.wait(), 60)
            self.both.set()
            told = f"it is {members[0].task['answer']}"  # type: ignore[index]
            return [
                vl.Verdict.accept(n, feedback=told, scores={"style": 0.5}, evidence={"why": told})
                for n in ranks([member.content for member in members])
            ]

    with opened(ledger, Judge(), workers=1) as campaign:
        made = [vl.Candidate("text", "a" * n, {"answer": "Paris"}) for n in (1, 2, 3, 1, 2)]
        rewards = campaign.score(made, groups=["p", "p", "p", "q", "q"])

    assert [r.value for r in rewards] == pytest.approx([0, 1 / 3, 2 / 3, 0, 1 / 2])
    assert {r.feedback for r in rewards} == {"it is [hidden]"}
    assert rewards[0].scores == {"style": 0.5}
    entries = [ledger.read(entry) for entry in ledger.entries()]
    assert "Paris" not in repr([row.verdict for block in entries for row in block.verdicts])


def test_what_a_group_says_fits_however_much_it_is(ledger: Ledger) -> None:
    def rank(members: list[vl.Candidate]) -> list[vl.Verdict]:
        return [
            vl.Verdict.accept(n, feedback="x" * 60_000, evidence={"log": "y" * 60_000})
            for n in ranks([member.content for member in members])
        ]

    judged = FunctionVerifier(rank, name="rank", version="1", scope="group", isolation="inline")
    with opened(ledger, judged) as campaign:
        rewards = campaign.score(["a" * n for n in range(1, 65)], groups=["p"] * 64)

    assert [r.value for r in rewards] == pytest.approx([n / 64 for n in range(64)])
    assert all(r.feedback.startswith("xx") for r in rewards)


@pytest.mark.parametrize("isolation", ["inline", "process"])
def test_the_largest_group_keeps_its_scores_and_a_larger_one_is_told_why_not(
    ledger: Ledger, isolation: str
) -> None:
    def rank(members: list[vl.Candidate]) -> list[vl.Verdict]:
        return [
            vl.Verdict.accept(float(len(member.content)), feedback="x" * 100, scores={"s": 0.5})
            if member.content != "a" else vl.Verdict.abstain("nobody knows", failed_at="verifier")
            for member in members
        ]  # fmt: skip

    judged = FunctionVerifier(rank, name="rank", version="1", scope="group", isolation=isolation)
    texts = ["a" * n for n in range(1, MOST_MEMBERS + 2)]
    with opened(ledger, judged, workers=1) as campaign:
        most = campaign.score(texts[:-1], groups=["p"] * MOST_MEMBERS)
        more = campaign.score(texts, groups=["p"] * (MOST_MEMBERS + 1))

    assert (most[0].value, most[0].failed_at) == (None, "verifier")
    assert [r.value for r in most[1:]] == list(range(2, MOST_MEMBERS + 1))
    assert {r.value for r in more} == {None}
    assert f"at most {MOST_MEMBERS} are judged together" in more[0].reason


@pytest.mark.parametrize("is_async", [False, True])
def test_a_verifier_that_shortens_the_list_it_is_given_is_told_so(
    ledger: Ledger, *, is_async: bool
) -> None:
    def rank(members: list[vl.Candidate]) -> list[float]:
        members.pop()
        return ranks([member.content for member in members])

    async def rank_later(members: list[vl.Candidate]) -> list[float]:
        return rank(members)

    judge = FunctionVerifier(
        rank_later if is_async else rank, name="rank", version="1", scope="group",
        isolation="inline",
    )  # fmt: skip
    with opened(ledger, judge) as campaign:
        rewards = campaign.score(["a", "aa", "aaa"], groups=["p"] * 3)

    assert {reward.value for reward in rewards} == {None}
    assert all("2 verdicts for 3 candidates" in reward.reason for reward in rewards)


def test_a_member_that_is_declined_is_unknown_beside_other_fast_verifiers(ledger: Ledger) -> None:
    @vl.verifier(name="length", kind="text", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return len(candidate.content)

    def rank(members: list[vl.Candidate]) -> list[float | None]:
        return [None if member.content == "a" else 0.5 for member in members]

    judge = FunctionVerifier(rank, name="rank", version="1", scope="group", isolation="inline")
    with opened(ledger, length, judge) as campaign:
        rewards = campaign.score(["a", "aa", "aaa"], groups=["p"] * 3)

    assert [reward.value for reward in rewards] == [None, 1.25, 1.75]
    assert_replays(ledger)


# -- where groups make no sense ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"replicates": 2, "isolation": "process"}, "replicates"),
        ({"features": ["x"]}, "features"),
        ({"kind": "group of text"}, "can't begin with"),
        ({"same_quantity": True}, "same_quantity"),
        ({"control": vl.Candidate("text", "a")}, "control"),
        ({"scope": "step"}, "write candidate or group"),
    ],
)
def test_what_contradicts_a_group_is_refused(options: dict[str, Any], word: str) -> None:
    with pytest.raises(vl.ConfigError, match=word):
        FunctionVerifier(ranks, **{"name": "r", "version": "1", "scope": "group", **options})


def test_it_stands_in_no_ladder_that_would_learn_from_it(asked: Asked) -> None:
    @vl.verifier(name="true", kind="text", version="1", tier="simulation")
    def true(_: vl.Candidate) -> float:
        return 1.0

    with pytest.raises(vl.ConfigError, match="whose only tier is fast"):
        vl.Ladder("ranked", [ranking(asked), true])


def test_it_can_be_called_with_one_group_as_any_verifier() -> None:
    judged = ranking([])
    said = judged.judge([vl.Candidate("text", "a"), vl.Candidate("text", "aa")])
    assert [verdict.score for verdict in said] == [0, 1 / 2]
