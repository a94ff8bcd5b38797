"""A small student learns from two teachers what each of its own tokens is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.simulation.teacher import Teacher
from verifier_ladder.tiers.simulation.teachermodel import TeacherService, scored
from verifier_ladder.tiers.simulation.tokenscores import ARTIFACT, read_artifact

torch = pytest.importorskip("torch")
TOKENS, LENGTH, TOP, STEPS = 12, 8, 6, 60
TRAINING, HELD_OUT = (0, 1, 2, 3, 4, 5, 6, 7), (8, 9, 10, 11)
WEIGHTS = {"first": 3.0, "second": 1.0}


def table(seed: int) -> Any:
    """Logits of the next token after each token, of a teacher."""
    return 2.0 * torch.randn(TOKENS, TOKENS, generator=torch.Generator().manual_seed(seed))


class Bigrams(TeacherService):
    """A teacher of torch: what comes next depends on the token before."""

    name, version = "bigrams", "1"

    def __init__(self, seed: int) -> None:
        self.seed = seed
        super().__init__(seed=seed)

    def setup(self) -> None:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        self.table = 2.0 * torch.randn(12, 12, generator=generator)

    def vocabulary(self) -> str:
        return "twelve tokens"

    def score_tokens(
        self, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]], top: int
    ) -> Sequence[dict[str, Any]]:
        return [
            scored(self.table[[prompt[-1], *tokens[:-1]]], tokens, top)
            for prompt, tokens in zip(prompts, completions, strict=True)
        ]


def sampled(student: Any, starts: Sequence[int], generator: Any) -> Any:
    """Completions that the student writes after each of some tokens. Shape (starts, LENGTH)."""
    last, written = torch.tensor(starts), []
    for _ in range(LENGTH):
        last = torch.multinomial(student(last).softmax(-1), 1, generator=generator)[:, 0]
        written.append(last)
    return torch.stack(written, 1)


def held_out_kl(student: Any, mixture: Any) -> float:
    """KL(student ‖ mixture of the teachers), where the student comes after unseen prompts."""
    with torch.no_grad():
        starts = list(HELD_OUT) * 64
        written = sampled(student, starts, torch.Generator().manual_seed(99))
        before = torch.cat([torch.tensor(starts)[:, None], written[:, :-1]], 1)
        own = student(before).log_softmax(-1)
        return float((own.exp() * (own - mixture[before].log())).sum(-1).mean())


def loss_of(student: Any, start: int, told: dict[str, Any]) -> Any:
    """Reverse KL over the tokens that are named and the tail, at each place of a completion."""
    ids, named = told["token_ids"], torch.tensor(told["top_ids"])
    before = torch.tensor([start, *ids[:-1]])
    own = student(before).log_softmax(-1).gather(-1, named)
    tail = (1 - own.exp().sum(-1)).clamp(min=1e-6)
    rest = torch.tensor(told["tail"]).clamp(min=1e-6)
    inside = (own.exp() * (own - torch.tensor(told["top_logprobs"]))).sum(-1)
    return (inside + tail * (tail.log() - rest.log())).mean()


def test_reverse_kl_to_two_teachers_falls_on_prompts_that_were_not_trained_on() -> None:
    torch.manual_seed(0)
    student = torch.nn.Sequential(torch.nn.Embedding(TOKENS, 16), torch.nn.Linear(16, TOKENS))
    shares = [weight / sum(WEIGHTS.values()) for weight in WEIGHTS.values()]
    tables = [table(seed).softmax(-1) for seed in (1, 2)]
    mixture = sum(share * each for share, each in zip(shares, tables, strict=True))
    teacher = Teacher(
        teachers={name: Bigrams(seed) for seed, name in enumerate(WEIGHTS, 1)}, weights=WEIGHTS,
        top=TOP, vocabulary="twelve tokens", batch=64,
    )  # fmt: skip
    optimizer = torch.optim.Adam(student.parameters(), lr=0.05)
    generator, first = torch.Generator().manual_seed(7), held_out_kl(student, mixture)

    for _ in range(STEPS):
        starts = list(TRAINING) * 2
        with torch.no_grad():
            written = sampled(student, starts, generator).tolist()
        verdicts = teacher.judge([
            vl.Candidate("text", "", {"prompt_ids": [start], "completion_ids": ids})
            for start, ids in zip(starts, written, strict=True)
        ])  # fmt: skip
        told = [read_artifact(verdict.files[ARTIFACT].data or b"") for verdict in verdicts]
        losses = [loss_of(student, s, each) for s, each in zip(starts, told, strict=True)]
        optimizer.zero_grad()
        torch.stack(losses).mean().backward()
        optimizer.step()

    for service in teacher.services.values():
        service.hang_up()
    last = held_out_kl(student, mixture)
    assert last < 0.5 * first, (first, last)


def test_the_named_tokens_are_those_of_the_mixture(tmp_path: Path) -> None:
    teacher = Teacher(
        teachers={"a": Bigrams(1), "b": Bigrams(2)}, weights={"a": 3.0}, top=TOKENS,
        max_tokens=64,
    )  # fmt: skip
    ladder = vl.Ladder("taught", [teacher])
    task = {"prompt_ids": [3], "completion_ids": [5, 0]}
    with vl.Campaign.open("taught", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        (reward,) = campaign.score([vl.Candidate("text", "", task)], deadline=300)

    mixture = 0.75 * table(1).softmax(-1) + 0.25 * table(2).softmax(-1)
    wanted = mixture[[3, 5], [5, 0]].log().mean()
    assert pytest.approx(float(wanted), abs=1e-5) == reward.value
