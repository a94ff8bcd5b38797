"""How many answers a second `mathematics` judges, against bare math-verify on the same answers.

A ratio of medians from one run on one machine, the two taken in turns. The answers are those of
the answer key that neither is hostile nor makes math-verify fail. Both read every task anew: the
verifier's memory of tasks is emptied before each turn.
"""

import argparse
import statistics
import sys
from time import process_time

from math_verify import parse, verify

from verifier_ladder.testing.answerkey import AnswerKey, Case
from verifier_ladder.tiers.fast import mathematics
from verifier_ladder.verdict import Outcome

GOAL = 0.5


def bare(cases: list[Case]) -> None:
    """Judge with math-verify alone, its alarms off."""
    for case in cases:
        gold = parse(f"\\boxed{{{(case.task or {})['answer']}}}", parsing_timeout=None)
        verify(gold, parse(str(case.content), parsing_timeout=None), timeout_seconds=None)


def ours(cases: list[Case]) -> None:
    """Judge with the verifier."""
    mathematics._read_task.cache_clear()  # noqa: SLF001  # Else later turns would have it easier.
    verifier = mathematics.Mathematics()
    verifier.judge([case.as_candidate(verifier.kind) for case in cases])


def main() -> None:
    """Print both rates and their ratio."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--check", action="store_true", help=f"exit 1 below {GOAL}")
    given = parser.parse_args()
    key = AnswerKey.named("mathematics").without_hostile()
    cases = [case for case in key.cases if case.outcome is not Outcome.ABSTAIN]
    took: dict[str, list[float]] = {"math-verify": [], "mathematics": []}
    for turn in range(given.turns + 1):
        for name, run in (("math-verify", bare), ("mathematics", ours)):
            began = process_time()
            run(cases)
            if turn:  # The first loads the libraries.
                took[name].append(process_time() - began)
    rates = {name: len(cases) / statistics.median(times) for name, times in took.items()}
    ratio = rates["mathematics"] / rates["math-verify"]
    for name, rate in rates.items():
        print(f"{name:12} {rate:8.0f} answers/s of cpu")
    print(f"ratio        {ratio:8.2f} (goal {GOAL}): {'met' if ratio >= GOAL else 'missed'}")
    if given.check and ratio < GOAL:
        sys.exit(1)


if __name__ == "__main__":
    main()
