"""The verifier `ranking-judge`: a language model ranks all answers of a group.

A model that is shown all answers to one prompt tells small differences that it can't put into a
number of each alone. It is asked twice, in both orders, and believed where both say the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Unpack

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError, ToolError
from verifier_ladder.exchange import failed
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.simulation.canaries import Canary, built_in
from verifier_ladder.tiers.simulation.chatendpoint import Completion
from verifier_ladder.tiers.simulation.chatjudge import (
    ANSWERS,
    COMMENT,
    LEAST,
    REFUSES,
    ChatSettings,
    ChatVerifier,
    JudgedTask,
    answer_to,
    judged_text,
    noted,
)
from verifier_ladder.tiers.simulation.judgeform import TEXT, Form, Texts, number, quoted
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict, mean_of
from verifier_ladder.verifiers import failure

_INSTRUCTIONS = (
    "Rank answers by how well they do what the prompt asks, and first by whether they are right."
)
_WHAT = "a prompt, perhaps a reference answer, and {count} answers to be ranked"
_TAIL = """
Answer with JSON alone, as the schema says: for each answer a comment of one sentence that tells \
its author what to do better, and nothing of the other answers; then for each its rank, from 1 \
(best) to {count} (worst). Answers that are as good as each other have the same rank. In which \
order they stand means nothing. Never tell a reference answer in a comment."""
_ALONE = Verdict.abstain("there is no other output to rank")
_HARMLESS: Texts = {"prompt": "What is 2 + 2?", "answer_1": "2 + 2 = 4", "answer_2": "It is 5."}


class RankingJudge(ChatVerifier):
    """Asks a language model to rank the different outputs of a group, in both orders.

    The score of an output is the share of the others that it is better than; as good counts half.
    Two outputs whose places change with the order in which they are shown are not compared. One
    that is compared with fewer than half of the others is an abstention that is kept.

    Equal outputs are shown once. A member that is no text, or too long, is rejected, and the
    others are ranked without it. All members must have one task. Where all together are too long
    to be sent, the longest abstain, and the others are ranked.

    A canary is ranked beside its `reference`: its grade is 1 if it is better, 0 if it is worse.

    **Refusals.** Where the judge refuses a group, it is asked about each output alone. Those that
    it refuses again abstain, and the others are ranked without them.

    **Failures** are as those of `judge`, of the group as a whole.

    Example:
        >>> RankingJudge(model="qwen3-32b", url="http://127.0.0.1:8000/v1").scope
        'group'
    """

    name = "ranking-judge"
    tier = Tier.FAST
    scope = "group"
    asks = 2

    @checked(**LEAST, most=2, max_group_characters=1)
    def __init__(
        self,
        *,
        instructions: str = _INSTRUCTIONS,
        most: int = 16,
        max_group_characters: int = 400_000,
        **settings: Unpack[ChatSettings],
    ) -> None:
        """Describe the judge; nothing is asked yet.

        Args:
            instructions: By what to rank.
            most: How many different outputs are ranked at most; of larger groups it abstains.
            max_group_characters: Of prompt, reference and different outputs together, as they are
                quoted; the longest outputs are left out until the others fit.
            settings: What every verifier takes that asks a model: `chatjudge.ChatSettings`.

        Raises:
            ConfigError: If a setting makes no sense.
        """
        own = {
            "instructions": instructions, "most": most,
            "max_group_characters": max_group_characters,
        }  # fmt: skip
        is_own = instructions != _INSTRUCTIONS
        known = () if is_own else built_in(0.0, 1.0, compared=True)
        super().__init__(_form(instructions, 2), own, known, **settings)
        again = (ANSWERS + 1) * (self.asks + ceil(most / self.concurrency))
        self.timeout += settings.get("timeout", 60.0) * again  # What a refusal takes beside.
        if not all(each.reference not in {None, "", each.output} for each in self.watch.canaries):
            raise ConfigError("canaries: give each a reference, another answer to rank it beside")

    async def verify_group(self, members: Sequence[Candidate]) -> Sequence[Verdict]:
        """Rank the members of a group, and the canaries first if that is due."""
        outputs = [self._output(member) for member in members]
        shown = list(dict.fromkeys(each for each in outputs if isinstance(each, str)))
        try:
            verdicts = await self._ranked(_task_of(members), shown)
        except TaskError as error:
            verdicts = dict.fromkeys(shown, Verdict.abstain(f"{error}"))
        except (ToolError, ConfigError) as error:
            verdicts = dict.fromkeys(shown, failed(error))
        return [verdicts[each] if isinstance(each, str) else each for each in outputs]

    def _output(self, member: Candidate) -> str | Verdict:
        """What is shown of a member; its reject if there is nothing."""
        try:
            return judged_text(member.content, self.settings["max_characters"])
        except CandidateError as error:
            return failure(error)

    async def graded(self, canary: Canary) -> Verdict:
        """The verdict on a canary beside its reference now."""
        task = read_task(JudgedTask, {"prompt": canary.prompt})
        verdicts = await self._compared(task, [canary.output, str(canary.reference)])
        return verdicts[canary.output]

    async def _ranked(self, task: JudgedTask, shown: Sequence[str]) -> dict[str, Verdict]:
        """A verdict on each of some different outputs.

        Raises:
            ToolError: If there is none.
        """
        most = self.settings["most"]
        if len(shown) > most:
            why = f"the group has more than {most} different outputs"
            return dict.fromkeys(shown, Verdict.abstain(why))
        fitting = self._fitting(task, shown)
        verdicts = dict.fromkeys(shown, _left_out(self.settings["max_group_characters"]))
        if len(fitting) < 2:  # noqa: PLR2004
            return verdicts | dict.fromkeys(fitting, _ALONE)
        seen = await self.watch.look(self.graded)
        if seen.shift:
            shifted = Verdict.abstain(seen.shift, failed_at="tool")
            return _paid(verdicts | dict.fromkeys(fitting, shifted), seen.cost)
        noticed, found = seen._replace(cost=None), await self._compared(task, fitting)
        verdicts |= {text: noted(noticed, verdict) for text, verdict in found.items()}
        return _paid(verdicts, seen.cost)

    def _fitting(self, task: JudgedTask, shown: Sequence[str]) -> list[str]:
        """The shortest outputs, as many as may be sent together."""
        asked = len(quoted(task.asked)) + len(quoted(task.reference or ""))
        room = self.settings["max_group_characters"] - asked
        fitting = set()
        for size, text in sorted((len(quoted(each)), each) for each in shown):
            room -= size
            if room < 0:
                break
            fitting.add(text)
        return [each for each in shown if each in fitting]

    async def _compared(self, task: JudgedTask, shown: Sequence[str]) -> dict[str, Verdict]:
        """A verdict on each of some different outputs, which are shown in both orders.

        Where that is refused, those that are refused alone are left out, and the others shown.

        Raises:
            ToolError: If there is none.
        """
        said: list[Completion] = []
        ranked = list(shown)
        answers = await self._answers(task, ranked, said)
        if not answers:
            ranked = await self._judged_alone(task, shown, said)
            if 1 < len(ranked) < len(shown):
                answers = await self._answers(task, ranked, said)
        told, money = self.members[0].told(said), self.members[0].paid(said)
        refused = Verdict.abstain(REFUSES, evidence={"refusals": ANSWERS, **told})
        verdicts = dict.fromkeys(shown, refused)
        if answers:
            verdicts |= self._verdicts([ranked, ranked[::-1]], answers, told)
        elif len(ranked) == 1:
            verdicts[ranked[0]] = _ALONE
        return _paid(verdicts, None if money is None else Cost(money=money))

    async def _answers(
        self, task: JudgedTask, shown: Sequence[str], said: list[Completion]
    ) -> list[dict[str, Any]]:
        """The answers about some outputs, in both orders; none if one is refused.

        Raises:
            ToolError: If there is none.
        """
        answers = []
        for order in (shown, shown[::-1]):
            answer = await self._asked(task, order, said)
            if answer is None:
                return []
            answers.append(answer)
        return answers

    async def _judged_alone(
        self, task: JudgedTask, shown: Sequence[str], said: list[Completion]
    ) -> list[str]:
        """Those of some outputs about which the judge answers if it is shown nothing else.

        Raises:
            ToolError: If that can't be told.
        """
        gate = asyncio.Semaphore(self.concurrency)

        async def alone(text: str) -> dict[str, Any] | None:
            async with gate:
                return await self._asked(task, [text], said)

        answers = await asyncio.gather(*map(alone, shown))
        return [text for text, answer in zip(shown, answers, strict=True) if answer is not None]

    async def _asked(
        self, task: JudgedTask, order: Sequence[str], said: list[Completion]
    ) -> dict[str, Any] | None:
        """The answer about outputs in one order; None if it is refused.

        Raises:
            ToolError: If there is none.
        """
        form = _form(self.settings["instructions"], len(order))
        texts = {"prompt": task.asked, "reference": task.reference, **_numbered(order)}
        return await answer_to(self.members[0], (form, texts), (self.form, _HARMLESS), said)

    @staticmethod
    def _verdicts(
        orders: Sequence[Sequence[str]], answers: Sequence[Mapping[str, Any]],
        told: Mapping[str, Any],
    ) -> dict[str, Verdict]:  # fmt: skip
        ranks = [
            {text: answer[f"rank_{n}"] for n, text in enumerate(order, 1)}
            for order, answer in zip(orders, answers, strict=True)
        ]
        comments = {text: answers[0][f"comment_{n}"] for n, text in enumerate(orders[0], 1)}
        return {text: _verdict(text, ranks, comments[text], told) for text in orders[0]}


def _left_out(most: int) -> Verdict:
    """What is said of an output that the others leave no room for."""
    return Verdict.abstain(
        f"the outputs of the group are too long together, and this is one of the longest; at most "
        f"{most} characters are sent at once"
    )


def _paid(verdicts: dict[str, Verdict], cost: Cost | None) -> dict[str, Verdict]:
    """Verdicts on a group, which is one check: the first of them has what it cost."""
    if cost is not None:
        text, first = next(iter(verdicts.items()))
        verdicts[text] = replace(first, cost=cost + (first.cost or Cost()))
    return verdicts


def _form(instructions: str, count: int) -> Form:
    places = range(1, count + 1)
    fields = {f"comment_{n}": TEXT for n in places}
    ranks = {f"rank_{n}": number(1, count) for n in places}
    what, tail = _WHAT.format(count=count), _TAIL.format(count=count)
    return Form(instructions, what, tail, {**fields, **ranks})


def _task_of(members: Sequence[Candidate]) -> JudgedTask:
    """The task of a group.

    Raises:
        TaskError: If its members have different ones, or nothing can be judged by it.
    """
    first = members[0].task
    if any(each.task != first for each in members):
        raise TaskError("the members of the group have different tasks")
    return read_task(JudgedTask, first)


def _numbered(order: Sequence[str]) -> dict[str, str]:
    return {f"answer_{n}": text for n, text in enumerate(order, 1)}


def _verdict(
    text: str, ranks: Sequence[Mapping[str, float]], comment: str, told: Mapping[str, Any]
) -> Verdict:
    """A verdict on one output, by the ranks that all have in each order."""
    others = [other for other in ranks[0] if other != text]
    results = [{_result(each[text], each[other]) for each in ranks} for other in others]
    agreed = [found.pop() for found in results if len(found) == 1]
    evidence = {"compared": len(agreed), "of": len(others), **told}
    if 2 * len(agreed) < len(others):
        return Verdict.abstain("the judge's opinion changes with the order", evidence=evidence)
    return Verdict.accept(mean_of(agreed), feedback=printable(comment, COMMENT), evidence=evidence)


def _result(rank: float, other: float) -> float:
    """What one rank beside another is worth: 1 is a lower one, that is better."""
    return 1.0 if rank < other else 0.5 if rank == other else 0.0
