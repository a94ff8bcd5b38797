"""Real trainers train real, if tiny, models on rewards of verifiers that behave and that don't."""
# mypy: ignore-errors
# TRL is not installed everywhere that types are checked.

import math
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function

Train = Callable[..., Any]


def accuracy(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    """Share of words that are the answer."""
    return [c.split().count(a) / 4 for c, a in zip(completions, answer, strict=True)]


def moody(completions: list[str], answer: list[str], **_: Any) -> list[float]:
    """Misbehaves as a completion's first word says."""
    first = (completions[0].split() or [""])[0]
    if first == "crash":
        os._exit(9)
    if first == "hang":
        threading.Event().wait()
    if first == "raise":
        raise ValueError(completions[0])
    return [math.nan] if first == "nan" else accuracy(completions, answer)


def declines(completions: list[str], answer: list[str], **_: Any) -> list[float | None]:
    """Has no opinion where `w1` occurs."""
    scores = accuracy(completions, answer)
    return [None if "w1" in c else s for c, s in zip(completions, scores, strict=True)]


DOOMED = ("crash", "hang", "nan", "raise")


def checked(function: Any = accuracy, **options: Any) -> vl.Verifier:
    return vl.wrap(function, version="1", columns=["answer"], **options)


def numbers(trainer: Any) -> list[float]:
    return [value for seen in trainer.seen for value in seen.rewards[:, 0].tolist()]


def advantages(trainer: Any) -> list[float]:
    return [value for seen in trainer.seen for value in seen.advantages.tolist()]


def completions(trainer: Any) -> list[tuple[str, str]]:
    """Each completion with the answer of its row."""
    return [
        (text, row["answer"])
        for seen in trainer.seen
        for text, row in zip(seen.completions, seen.rows, strict=True)
    ]


def flat(model: Any) -> torch.Tensor:
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


# ---- Rewards that are known


def test_rewards_reach_the_trainer_in_order(train: Train) -> None:
    trainer = train(reward_function(checked(), deadline=60))

    wanted = [accuracy([text], [answer])[0] for text, answer in completions(trainer)]
    assert len(set(wanted)) > 1
    assert wanted == numbers(trainer)


def test_the_asynchronous_form_gives_the_same(train: Train) -> None:
    first = reward_function(checked(), deadline=60, asynchronous=True)
    second = reward_function(checked(name="again"), deadline=60, asynchronous=True)
    trainer = train(first, second)

    wanted = [accuracy([text], [answer])[0] for text, answer in completions(trainer)]
    assert wanted == numbers(trainer)
    assert all(torch.equal(*seen.rewards.T) for seen in trainer.seen)


def test_a_policy_learns_from_them(train: Train) -> None:
    """Otherwise the rewards might as well be drawn at random."""

    def taste(completions: list[str]) -> list[float]:
        return [c.split().count("w2") / 4 for c in completions]

    trainer = train(reward_function(vl.wrap(taste), deadline=60), steps=60, learning_rate=5e-3)

    rewards = numbers(trainer)
    assert sum(rewards[-160:]) > 3 * sum(rewards[:160])


def test_rewards_outside_the_unit_range_train_unscaled(train: Train) -> None:
    """What unbiased rewards need: a group's own spread would shrink most what was verified."""

    def corrected(completions: list[str], answer: list[str], **_: Any) -> list[float]:
        return [40.0 * score - 10.0 for score in accuracy(completions, answer)]

    function = reward_function(checked(corrected), deadline=60, clip=(-10.0, 5.0))
    trainer = train(function, unscaled=True)

    assert {-10.0, 0.0} <= set(numbers(trainer)) <= {-10.0, 0.0, 5.0}
    assert all(map(math.isfinite, flat(trainer.model).tolist()))


# ---- Rewards that are not


def test_verifiers_that_misbehave_cost_their_own_completions_only(train: Train) -> None:
    trainer = train(reward_function(checked(moody, timeout=0.5), deadline=60), steps=4)

    told = list(zip(completions(trainer), numbers(trainer), strict=True))
    assert set(DOOMED) <= {text.split()[0] for (text, _), _ in told if text}
    for (text, answer), reward in told:
        if text.startswith(DOOMED):
            assert math.isnan(reward), text
        else:
            assert accuracy([text], [answer])[0] == reward, text


def test_what_is_unknown_has_no_part_in_its_group(train: Train) -> None:
    """The trainer leaves it out of the mean, and out of the gradient."""
    trainer = train(reward_function(checked(declines), deadline=60), steps=4)

    masked = 0
    for seen in trainer.seen:
        for group in range(0, 8, 4):
            rewards = seen.rewards[group : group + 4, 0]
            known = ~torch.isnan(rewards)
            masked += int((~known).sum())
            shares = seen.advantages[group : group + 4]
            assert shares[~known].eq(0.0).all()
            assert shares[known].sum().item() == pytest.approx(0.0, abs=1e-4)
    assert 0 < masked < 32


def test_a_group_without_any_reward_moves_nothing(train: Train, model: Any) -> None:
    def refuses(answer: list[str]) -> list[float]:
        raise RuntimeError(answer[0])

    before = flat(model)
    trainer = train(reward_function(checked(refuses), deadline=60), weight_decay=0.0)

    assert all(map(math.isnan, numbers(trainer)))
    assert {0.0} == set(advantages(trainer))
    assert torch.equal(before, flat(model))


def test_a_group_without_any_reward_leaves_the_others_alone(train: Train, model: Any) -> None:
    def halting(completions: list[str], answer: list[str]) -> list[float]:
        if int(answer[0][1]) < 4:
            raise RuntimeError(answer[0])
        return [float(len(c)) for c in completions]

    before = flat(model)
    trainer = train(reward_function(checked(halting), deadline=60), steps=4)

    for (_, answer), reward in zip(completions(trainer), numbers(trainer), strict=True):
        assert math.isnan(reward) == (int(answer[1]) < 4)
    assert torch.isfinite(flat(model)).all()
    assert not torch.equal(before, flat(model))


def test_the_deadline_answers_when_a_verifier_never_does(train: Train) -> None:
    """Its worker would still wait: its own time limit is longer than the test's."""

    def endless(**_: Any) -> list[float]:
        threading.Event().wait()
        return []

    trainer = train(reward_function(checked(endless, timeout=5000.0), deadline=1), steps=2)

    assert 2 == trainer.state.global_step
    assert all(map(math.isnan, numbers(trainer)))


def test_a_number_stands_for_the_unknown_where_it_is_asked_for(train: Train) -> None:
    trainer = train(reward_function(checked(declines), deadline=60, on_abstain=-1.0))

    for (text, _), reward in zip(completions(trainer), numbers(trainer), strict=True):
        assert (reward == -1.0) == ("w1" in text)


# ---- Logs, ledger, late truth


def parts() -> vl.Ladder:
    @vl.verifier(name="short", version="1", role="gate", isolation="inline")
    def short(candidate: vl.Candidate) -> bool:
        return len(candidate.content) < 14

    @vl.verifier(name="length", version="1", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    return vl.Ladder("brief", [short, length])


def test_the_trainers_logs_tell_what_is_unknown_and_who_said_what(train: Train) -> None:
    trainer = train(reward_function(parts(), deadline=60), steps=2)

    lines = [line for line in trainer.state.log_history if "reward" in line]
    assert 2 == len(lines)
    for line in lines:
        assert 0.0 == line["brief/unknown"] == line["brief/pending"]
        assert line["brief/length"] > 0.0


def test_the_table_of_completions_tells_each_ones_reason(train: Train) -> None:
    trainer = train(reward_function(parts(), deadline=60), steps=2)

    written = [text for text, _ in completions(trainer)][-8:]
    extra = {name: list(column)[-8:] for name, column in trainer._logs["extra"].items()}
    rows = zip(written, extra["brief/reason"], extra["brief/length"], strict=True)
    for text, reason, length in rows:
        assert (len(text) >= 14) == bool(reason)
        assert (None if len(text) >= 14 else len(text)) == length


def test_completions_of_one_prompt_are_one_group_of_the_ledger(train: Train) -> None:
    function = reward_function(checked(), deadline=60)
    train(function, steps=3)

    ledger = function.campaign.ledger
    for step, entry in enumerate(ledger.entries(kind="score")):
        samples = ledger.read(entry).samples
        assert step == samples.step
        assert [4, 4] == [samples.groups.count(group) for group in dict.fromkeys(samples.groups)]


def test_what_a_higher_tier_says_later_revises_what_was_trained_on(train: Train) -> None:
    @vl.verifier(name="guess", version="1", tier="fast", isolation="inline")
    def guess(_: vl.Candidate) -> float:
        return -1.0

    @vl.verifier(name="truth", version="1", tier="simulation")
    def truth(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    function = reward_function(vl.Ladder("late", [guess, truth], policy="all_tiers"), deadline=0.2)
    function.campaign.pause("simulation")
    trainer = train(function, steps=2)
    function.campaign.resume("simulation")

    assert {-1.0} == set(numbers(trainer))
    assert function.campaign.drain("300 s")
    revised = {(r.step, r.position): r for r in function.campaign.revisions()}
    for i, (text, _) in enumerate(completions(trainer)):
        assert -1.0 == revised[divmod(i, 8)].previous
        assert len(text) == revised[divmod(i, 8)].reward.value
