"""Curricula: which tasks a policy passes always, sometimes or never, and how to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from verifier_ladder.errors import ConfigError
from verifier_ladder.intervals import wilson
from verifier_ladder.ledger import Ledger
from verifier_ladder.media import with_images
from verifier_ladder.runs import Moment, RunRecord, SampleRecord, read_run
from verifier_ladder.runs.chat import text_of_prompt
from verifier_ladder.runs.tasks import task_key, task_of


@dataclass(frozen=True, slots=True)
class Passes:
    """How the samples of a task, or of a step, did. An unknown reward is neither pass nor fail."""

    samples: int = 0
    known: int = 0
    passed: int = 0
    all_pass: int = 0
    """Groups of which every known reward passes: nothing is learnt from them."""
    all_fail: int = 0
    """Groups of which none passes: nothing is learnt from them either."""
    mixed: int = 0
    """Groups with both, which a learner can compare."""

    @property
    def rate(self) -> float | None:
        """Share of the known that pass; None if nothing is known."""
        return self.passed / self.known if self.known else None

    @property
    def abstained(self) -> float:
        """Share whose reward is unknown."""
        return 1.0 - self.known / self.samples if self.samples else 0.0

    def __add__(self, other: Passes) -> Passes:
        """Count both together."""
        return Passes(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def as_json(self) -> dict[str, Any]:
        """The counts and what follows from them."""
        counts = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**counts, "rate": self.rate, "abstained": self.abstained}


class Visit(NamedTuple):
    """The samples of a task in one step: one group, or one for each answer to its prompt."""

    step: int
    learner_version: str
    passes: Passes


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task of a run."""

    task: str
    groups: tuple[str, ...]
    """The groups in which it came up."""
    prompt: Any
    """Its prompt; None if the ledger does not hold it."""
    visits: tuple[Visit, ...]
    """Step by step."""
    weight: float = 0.0
    """Probability with which a sampler should draw it; all tasks together 1."""

    @property
    def passes(self) -> Passes:
        """All its visits together."""
        return sum((visit.passes for visit in self.visits), Passes())

    def as_json(self) -> dict[str, Any]:
        """The task as JSON values; the interval is that of the pass rate."""
        passes = self.passes
        return {
            "task": self.task, "groups": list(self.groups), "prompt": self.prompt,
            "weight": self.weight, **passes.as_json(),
            "interval": wilson(passes.passed, passes.known) if passes.known else None,
            "visits": [
                {"step": v.step, "learner_version": v.learner_version, **v.passes.as_json()}
                for v in self.visits
            ],
        }  # fmt: skip


class Weighting(NamedTuple):
    """How tasks are weighted.

    The weight of a task is what is expected of p(1 − p), its pass rate times its fail rate: the
    variance of a pass, which is what a learner that compares samples of a group learns from. It
    is largest for a task that passes half of the time, and nothing for one that always or never
    passes. It is known as *learnability* (Tzannetos et al., *Proximal Curriculum for
    Reinforcement Learning Agents*, 2023; Rutherford et al., *No Regrets*, 2024; Foster and
    Foerster, *Learning to Reason at the Frontier of Learnability*, 2025).

    The rate is not known but estimated: with a Beta prior, s passes and f fails, A = a + s and
    B = b + f, the expectation is AB / ((A + B)(A + B + 1)). So a task that failed once is not
    given up, and one that nobody has seen has a weight, too.
    """

    prior: tuple[float, float] = (1.0, 1.0)
    """a and b of the Beta prior."""
    floor: float = 0.1
    """Share of all draws that is spread evenly over the tasks, so that none is given up."""
    half_life: float | None = None
    """Steps after which a pass counts half, because the policy has changed; None for never."""

    def check(self) -> Weighting:
        """See that it makes sense.

        Raises:
            ConfigError: If it doesn't.
        """
        if min(self.prior) <= 0:
            raise ConfigError(f"prior={self.prior!r}: give two positive numbers, a and b")
        if not 0 <= self.floor <= 1:
            raise ConfigError(f"floor={self.floor!r}: give a share between 0 and 1")
        if self.half_life is not None and self.half_life <= 0:
            raise ConfigError(f"half_life={self.half_life!r}: give a positive number of steps")
        return self

    def learnability(self, passed: float = 0.0, failed: float = 0.0) -> float:
        """What is expected of p(1 − p).

        Example:
            >>> Weighting().learnability(), Weighting().learnability(5, 5)
            (0.16666666666666666, 0.23076923076923078)
        """
        a, b = self.prior[0] + passed, self.prior[1] + failed
        return a * b / ((a + b) * (a + b + 1))

    def of_visits(self, visits: Iterable[Visit], now: int) -> float:
        """The learnability of a task at a step."""
        passed = failed = 0.0
        for visit in visits:
            age = 0.0 if self.half_life is None else (now - visit.step) / self.half_life
            passed += visit.passes.passed * 0.5**age
            failed += (visit.passes.known - visit.passes.passed) * 0.5**age
        return self.learnability(passed, failed)


@dataclass(frozen=True, slots=True)
class Curriculum:
    """The tasks of a run, how the policy does on them, and how often each should be drawn."""

    campaign: str
    run: str
    moment: Moment
    pass_at: float
    weighting: Weighting
    tasks: tuple[TaskRecord, ...]
    """The most learnable first."""
    steps: tuple[Visit, ...] = ()
    """All tasks of a step and learner version together."""
    _known: Mapping[str, float] = field(default_factory=dict, repr=False)

    @property
    def passes(self) -> Passes:
        """All samples together."""
        return sum((task.passes for task in self.tasks), Passes())

    def weights(self, rows: Iterable[Any]) -> Iterator[float]:
        """One weight for each row of a dataset, in order, for whatever draws rows by weight.

        Needs no torch; `torch.utils.data.WeightedRandomSampler` takes the list of them. Weights
        are relative. A row that never came up has the weight of a task of which nothing is known.

        Args:
            rows: Prompts (text or chat messages), or rows with a column `prompt`, `task` or
                `group`.

        Example:
            >>> learnt = Curriculum("c", "r", Moment(0), 0.5, Weighting(), ())
            >>> list(learnt.weights(["2 + 2 =", "3 + 3 ="]))
            [0.16666666666666666, 0.16666666666666666]
        """
        usual = self._scaled(self.weighting.learnability())
        for row in rows:
            yield next((self._known[k] for k in _names(row) if k in self._known), usual)

    def _scaled(self, learnability: float) -> float:
        """A weight with its part of the floor, on the scale of learnability."""
        if not self.tasks:
            return learnability
        floor, total = self.weighting.floor, sum(self._learnabilities())
        return (1 - floor) * learnability + floor * total / len(self.tasks)

    def _learnabilities(self) -> list[float]:
        now = max((visit.step for visit in self.steps), default=0)
        return [self.weighting.of_visits(task.visits, now) for task in self.tasks]

    def as_json(self) -> dict[str, Any]:
        """The curriculum as JSON values."""
        return {
            "campaign": self.campaign, "run": self.run, "checkpoint": self.moment.as_json(),
            "pass_at": self.pass_at, "weighting": self.weighting._asdict(),
            **self.passes.as_json(), "tasks": [task.as_json() for task in self.tasks],
            "steps": [
                {"step": v.step, "learner_version": v.learner_version, **v.passes.as_json()}
                for v in self.steps
            ],
        }  # fmt: skip


def curriculum(
    ledger: Ledger,
    run: str | None = None,
    *,
    campaign: str | None = None,
    at: int | None = None,
    pass_at: float | None = None,
    weighting: Weighting | None = None,
    evaluation: bool = False,
) -> Curriculum:
    """Read a run's curriculum from the ledger; call it again as the run goes on.

    A sample passes if the best that is known of it reaches `pass_at` and it is not rejected;
    late answers count.

    Args:
        ledger: The ledger.
        run: The run; the newest by default.
        campaign: Its campaign, where several have a run of this name.
        at: Size of a signed checkpoint; by default all that is known now.
        pass_at: The reward that passes; by default 0.5 where rewards lie on a scale from 0 to 1.
        weighting: How tasks are weighted.
        evaluation: Read the run's evaluation instead, which no curriculum has a part of otherwise.

    Raises:
        ConfigError: If there is no such run, it is an evaluation and that was not asked for, or
            nobody said which reward passes.

    Example:
        >>> import verifier_ladder as vl
        >>> exact = vl.wrap(lambda completions: [float(completions[0] == "4")], name="exact",
        ...                 isolation="inline")
        >>> ledger = vl.open_ledger(":memory:")
        >>> with vl.Campaign.open("c", ladder=vl.Ladder("l", [exact]), ledger=ledger) as campaign:
        ...     _ = campaign.score(["4", "5", "5", "5"], groups=["even", "even", "odd", "odd"])
        >>> [(task.groups[0], task.passes.rate) for task in curriculum(ledger).tasks]
        [('even', 0.5), ('odd', 0.0)]
    """
    record = read_run(ledger, run, campaign=campaign, at=at, evaluation=evaluation)
    wanted = (weighting or Weighting()).check()
    threshold = record.usual_threshold() if pass_at is None else pass_at
    if threshold is None:
        raise ConfigError(
            "nobody said which reward passes, and these leave the scale from 0 to 1; give "
            "--pass-at (pass_at=)"
        )
    return _made(record, _visits(record, threshold), threshold, wanted)


Key = tuple[str, int, str]
"""Task, step and learner version."""


Seen = tuple[list[str], Passes]
"""Groups that a task came up in, and how they did."""


def _visits(record: RunRecord, threshold: float) -> dict[Key, Seen]:
    groups: dict[Key, dict[str, list[SampleRecord]]] = {}
    for sample in record.samples:
        key = (task_of(record, sample), sample.step, sample.learner_version)
        groups.setdefault(key, {}).setdefault(sample.group, []).append(sample)
    return {
        key: (list(of_group), sum((_passes(m, threshold) for m in of_group.values()), Passes()))
        for key, of_group in groups.items()
    }


def _passes(group: list[SampleRecord], threshold: float) -> Passes:
    known = [
        worth >= threshold and not sample.is_rejected
        for sample in group
        if (worth := sample.worth) is not None
    ]
    passed = sum(known)
    all_pass, all_fail = bool(known) and passed == len(known), bool(known) and not passed
    return Passes(
        len(group), len(known), passed, int(all_pass), int(all_fail), int(0 < passed < len(known))
    )


def _made(
    record: RunRecord,
    visits: Mapping[Key, Seen],
    threshold: float,
    weighting: Weighting,
) -> Curriculum:
    by_task: dict[str, list[Visit]] = {}
    groups: dict[str, dict[str, None]] = {}
    steps: dict[tuple[int, str], Passes] = {}
    for (task, step, version), (seen, passes) in visits.items():
        by_task.setdefault(task, []).append(Visit(step, version, passes))
        groups.setdefault(task, {}).update(dict.fromkeys(seen))
        steps[step, version] = steps.get((step, version), Passes()) + passes
    now = max((step for step, _ in steps), default=0)
    found = {task: weighting.of_visits(told, now) for task, told in by_task.items()}
    total = sum(found.values())
    tasks = [
        TaskRecord(
            task, tuple(groups[task]), record.transcripts.prompt(next(iter(groups[task]))),
            tuple(sorted(by_task[task])),
            (1 - weighting.floor) * learnability / total + weighting.floor / len(found),
        )
        for task, learnability in found.items()
    ]  # fmt: skip
    tasks.sort(key=lambda task: (-task.weight, task.task))
    known = {
        name: task.weight * total
        for task in tasks
        for name in (task.task, *(f"\0{group}" for group in task.groups))
    }
    made = tuple(Visit(step, version, steps[step, version]) for step, version in sorted(steps))
    return Curriculum(
        record.campaign.name, record.name, record.moment, threshold, weighting, tuple(tasks), made,
        known,
    )  # fmt: skip


def _names(row: Any) -> Iterator[str]:
    """What a dataset's row may be known as."""
    if isinstance(row, Mapping):
        for column in ("task", "prompt"):
            if isinstance(row.get(column), (str, list)):
                shown = row.get("images", row.get("image"))
                yield task_key(text_of_prompt(with_images(row[column], shown)))
        yield f"\0{row.get('group', '')}"
    else:
        yield task_key(text_of_prompt(row))
