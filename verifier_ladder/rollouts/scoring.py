"""Scoring a file: chunk by chunk through a campaign, resumable at every line."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from verifier_ladder.arguments import checked
from verifier_ladder.badrow import BadRow
from verifier_ladder.budget import TOTAL, Budget
from verifier_ladder.candidate import Candidate, Sample, Turn
from verifier_ladder.cost import seconds
from verifier_ladder.errors import ConfigError
from verifier_ladder.forecast import Forecast
from verifier_ladder.keys import digest
from verifier_ladder.ladder import Ladder
from verifier_ladder.learners.messages import turns_of
from verifier_ladder.learners.scribe import Scribe
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.rollouts.columns import Columns, TaskColumns, choose_columns
from verifier_ladder.rollouts.records import Record, RolloutFile, in_parts
from verifier_ladder.rollouts.rows import Row, rows
from verifier_ladder.rollouts.scored import ScoredFile
from verifier_ladder.rollouts.statistics import TierCost
from verifier_ladder.rollouts.table import check_target
from verifier_ladder.run import Run
from verifier_ladder.tier import Tier
from verifier_ladder.transcript import KIND, Transcript, Transcripts

if TYPE_CHECKING:
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.status import CampaignStatus

_LOG = logging.getLogger(__name__)
CHUNK = 1024
"""Rows of one step, fewer where they are long. A step is one update: finished rows survive a
crash, and what higher tiers say of them teaches the next. It is part of the run's name, because it
numbers the samples."""
_LOOK = 200
"""Rows that are looked at to settle the columns."""
_TICK = 0.5


class Progress(NamedTuple):
    """How far scoring has come."""

    done: int
    """Rows with a first reward."""
    total: int
    status: CampaignStatus | None = None
    """Where the higher tiers stand, once every row has its first reward."""


Report = Callable[[Progress], None]


@checked(path=1, ladder=1, out=1, campaign=1, workers=1, memory=1)
def score_file(
    path: str | Path,
    *,
    ladder: Ladder | str | Path,
    ledger: str | Path | Ledger | None = None,
    columns: Mapping[str, TaskColumns] | None = None,
    out: str | Path | None = None,
    campaign: str | None = None,
    deadline: float | str | None = None,
    wait: bool = True,
    pass_at: float | None = None,
    workers: int | None = None,
    memory: int | None = None,
    budget: Budget | None = None,
    report: Report | None = None,
    evaluation: bool = False,
    when_planned: Callable[[Forecast], None] | None = None,
) -> ScoredFile:
    """Score a file of rollouts.

    Run again after an interruption it goes on: rows that are finished come from the ledger.
    Lines that can't be read are told by number, never stop the rest and never get a reward.

    Each 1,024 rows are an update of their own, so that what has answered decides about the rows
    that follow. Copies of a candidate share one draw within an update; in a later one they are
    drawn again, unless the top tier has answered by then.

    Args:
        path: JSON lines, CSV or TSV (also gzip), or Parquet. Cells of CSV are text.
        ladder: The ladder, or a TOML file that describes it.
        ledger: Where to keep everything; None keeps nothing, so that nothing can be resumed.
        columns: Which column holds what: `{"content": "completion", "task": "target", "group":
            "prompt_id"}`. `task` may also be a list of columns, or an object from task field to
            column. What is left out is looked for, and told in `columns.assumed`. A column
            named as `prompt` is kept, for training on the samples later; rows of one prompt are
            a group where no column names that.
        out: A table to write: `.parquet`, `.jsonl` or `.csv`; another file than those it reads.
        campaign: Name of the campaign; the ladder's by default.
        deadline: How long the higher tiers may take, counted from the start, in seconds or as
            text such as `"10 min"`; without one they are waited for until nothing more happens
            by itself. The lowest tier always finishes.
        wait: False gives the rewards of the lowest tier at once and leaves the rest queued.
        pass_at: Reward at which a sample passes; see `Statistics.threshold`.
        workers: Worker processes; one per core by default.
        memory: Bytes that one worker may use.
        budget: Caps, as in `Campaign.open`; those left out are the ladder's. What they leave is
            spent on this file.
        report: Called with the progress after every chunk of rows, and twice a second while
            higher tiers climb.
        evaluation: Whether the rows evaluate a policy. They are then in a run of their own that
            no export or curriculum reads unless it is asked for.
        when_planned: Called before the first check, with what each tier will be asked.

    Raises:
        ConfigError: If the file, the columns, the ladder or the target make no sense.
        LedgerError: If the ledger can't be read or written.

    Example:
        >>> score_file("rollouts.jsonl", ladder="solvation.toml")  # doctest: +SKIP
    """
    started = monotonic()
    limit = None if deadline is None else started + seconds(deadline)
    target = (
        None if out is None else check_target(out, path, ladder, getattr(ledger, "url", ledger))
    )
    ladder = ladder if isinstance(ladder, Ladder) else Ladder.from_toml(ladder)
    file = RolloutFile(path)
    chosen = _columns(file, columns, ladder)
    sizes, candidates = _survey(file, chosen)
    total = sizes.total()
    with ExitStack() as stack:
        options = {
            "run": _run(file, chosen, evaluation=evaluation),
            "workers": workers,
            "memory": memory,
            "budget": budget,
        }
        opened = _open(stack, ladder, ledger, campaign, **options)
        scored = ScoredFile(
            file, opened.name, opened.run.name, opened.ledger.url, chosen, pass_at=pass_at
        )
        compared = [count for group, count in sizes.items() if group and count > 1]
        group_size = sum(compared) / len(compared) if compared else 1.0
        scored.plan = _plan(opened, candidates, group_size)
        if when_planned is not None:
            when_planned(scored.plan)
        steps = _score(opened, scored, sizes, total, report)
        if wait:
            _climb(opened, limit, total, report)
        scored.rewards = _final(opened, scored, steps)
        scored.worths = _worths(opened, steps)
        scored.costs = _spent(opened)
    if target is not None:
        scored.write(target)
    return scored


def _columns(
    file: RolloutFile, wanted: Mapping[str, TaskColumns] | None, ladder: Ladder
) -> Columns:
    first = next(in_parts(file.records(), _LOOK), [])
    found = [record.values for record in first if isinstance(record, Record)]
    if not found:
        bad = next((f"line {r.line} is {r.reason}" for r in first if isinstance(r, BadRow)), "")
        raise ConfigError(f"{file.path} holds no row that can be read; {bad or 'it is empty'}")
    return choose_columns(wanted, found, _fields_read(ladder))


def _fields_read(ladder: Ladder) -> set[str] | None:
    """Task fields that the verifiers read; None if one of them reads all."""
    fields: set[str] = set()
    for verifier in ladder.verifiers:
        if verifier.task_fields is None:
            return None
        fields.update(verifier.task_fields)
    return fields


def _survey(file: RolloutFile, columns: Columns) -> tuple[Counter[str], int]:
    """Size of every group, known before the first sample is scored, and how many texts differ."""
    sizes: Counter[str] = Counter()
    seen: set[int] = set()
    for row in rows(file, columns):
        if isinstance(row, Row):
            sizes[row.group] += 1
            seen.add(hash((row.content, repr(row.task))))
    return sizes, len(seen)


def _plan(campaign: Campaign, candidates: int, group_size: float) -> Forecast:
    """What the candidates of a file will ask, before the first of them is scored.

    Of a file that was begun before, those that are recorded ask nothing new.

    Args:
        campaign: The campaign.
        candidates: How many they are.
        group_size: How many samples a group has in the mean.
    """
    from verifier_ladder.scheduler.foresight import foresee

    done, step = 0, 0
    while known := campaign.ledger.recorded(campaign.name, campaign.run.name, step):
        done, step = done + len(known), step + 1
    left = max(0, candidates - done)
    accounts = campaign.ledger.accounts(campaign.name)
    return foresee(campaign.ladder, left, accounts=accounts, group_size=group_size)


def _run(file: RolloutFile, columns: Columns, *, evaluation: bool) -> Run:
    """The same file read the same way is the same run, so its samples have the same ids."""
    made = digest({"file": file.digest(), "columns": columns.as_json(), "chunk": CHUNK})
    stem = re.sub(r"[^\w.\-]+", "-", file.path.name.partition(".")[0])[:80] or "rollouts"
    run = Run(f"{stem}-{made.hex()[:12]}")
    return run.evaluations if evaluation else run


def _open(
    stack: ExitStack, ladder: Ladder, ledger: str | Path | Ledger | None, name: str | None,
    **options: Any,
) -> Campaign:  # fmt: skip
    from verifier_ladder.campaign import Campaign
    from verifier_ladder.ledger import Ledger, open_ledger

    store = open_ledger(ledger, wait=True)
    if not isinstance(ledger, Ledger):
        stack.callback(store.close)
    if name is None:
        known = {row.name: row.ladder_digest for row in store.campaigns()}
        changed = known.get(ladder.name, ladder.digest) != ladder.digest
        name = f"{ladder.name}-{ladder.digest.hex()[:6]}" if changed else ladder.name
        if changed:
            _LOG.warning(
                "campaign %s has another ladder than this one; it is scored as campaign %s",
                ladder.name, name,
            )  # fmt: skip
    return stack.enter_context(Campaign.open(name, ladder=ladder, ledger=store, **options))


def _score(
    campaign: Campaign, scored: ScoredFile, sizes: Counter[str], total: int, report: Report | None
) -> list[tuple[int, list[int]]]:
    """Give every row its first reward; returns each step's number and its lines."""
    steps: list[tuple[int, list[int]]] = []
    columns = scored.columns
    is_grouped = columns.group is not None or columns.prompt is not None
    prompts = None if columns.prompt is None else PromptKeeper(campaign)
    reads_turns = any(verifier.reads_turns for verifier in campaign.ladder.verifiers)
    are_compared = any(verifier.scope == "group" for verifier in campaign.ladder.verifiers)
    for count, chunk in enumerate(in_parts(rows(scored.file, columns), CHUNK)):
        number = 0 if are_compared else count  # A group belongs to one step.
        good = [row for row in chunk if isinstance(row, Row)]
        scored.bad_rows += [row for row in chunk if isinstance(row, BadRow)]
        samples = [
            Sample(
                Candidate(
                    campaign.ladder.kind, row.content, row.task,
                    _turns(row) if reads_turns else (),
                ),
                run=campaign.run.name, step=number, position=row.line,
                group=row.group if is_grouped else "", group_size=sizes[row.group],
            )
            for row in good
        ]  # fmt: skip
        if prompts is not None:
            prompts.keep(samples, good)
        if samples:
            scored.rewards += campaign.score(
                samples, step=number, more=total - len(scored.rewards) - len(samples)
            )
        scored.lines += [row.line for row in good]
        scored.groups += [row.group for row in good]
        steps.append((number, [row.line for row in good]))
        _tell(report, Progress(len(scored.lines), total))
    return steps


def _climb(campaign: Campaign, limit: float | None, total: int, report: Report | None) -> None:
    """Wait for the higher tiers, until the limit or until nothing more happens by itself."""
    while True:
        left = _TICK if limit is None else min(_TICK, limit - monotonic())
        if left <= 0 or campaign.drain(left):
            return
        _tell(report, Progress(total, total, campaign.status()))


def _final(
    campaign: Campaign, scored: ScoredFile, steps: list[tuple[int, list[int]]]
) -> list[Reward]:
    """The rewards as they stand now, revisions included."""
    latest = iter(scored.rewards)
    made = []
    for number, lines in steps:
        recorded = campaign.ledger.recorded(campaign.name, campaign.run.name, number)
        for line in lines:
            first = next(latest)
            made.append(recorded[line].reward if line in recorded else first)
    return made


def _worths(campaign: Campaign, steps: list[tuple[int, list[int]]]) -> list[float | None]:
    """The best that is known of each row; empty where rewards say so, for nothing is drawn."""
    from verifier_ladder.runs import read_run

    if len(campaign.ladder.tiers) == 1:
        return []
    record = read_run(campaign.ledger, campaign.run.name, campaign=campaign.name)
    known = {(sample.step, sample.position): sample.worth for sample in record.samples}
    return [known.get((number, line)) for number, lines in steps for line in lines]


def _spent(campaign: Campaign) -> list[TierCost]:
    from verifier_ladder.summary import walls

    accounts = [a for a in campaign.ledger.accounts(campaign.name) if a.tier != TOTAL]
    more: dict[int, dict[str, float]] = {}
    for account in accounts:
        if account.resource is not Resource.CPU_SECONDS:
            more.setdefault(account.tier, {})[account.resource.unit] = account.spent
    at_work = walls(campaign.ledger, campaign.name)
    return [
        TierCost(
            Tier(a.tier), a.checks, a.settled, a.failed, more.get(a.tier, {}), at_work.get(a.tier)
        )
        for a in accounts
        if a.resource is Resource.CPU_SECONDS
    ]


def _tell(report: Report | None, progress: Progress) -> None:
    if report is not None:
        report(progress)


class PromptKeeper:
    """Keeps what the rows of a file say beside the candidates, unless the ledger has it."""

    def __init__(self, campaign: Campaign) -> None:
        """Look what an earlier call for the same file has kept."""
        self._campaign = campaign
        self._scribe = Scribe(campaign.ladder)
        self._known = Transcripts(campaign.run.name)
        for entry in campaign.ledger.entries(kind=KIND, campaign=campaign.name):
            self._known.read(campaign.ledger.read(entry).facts)

    def keep(self, samples: Sequence[Sample], rows: Sequence[Row]) -> None:
        """Keep the prompts of some rows, and completions that are more than content."""
        completions = [row.messages or _text(row) for row in rows]
        prompts = {"prompt": [row.prompt for row in rows]}
        told = self._scribe.transcripts(samples, completions, prompts)
        self._campaign.keep([one for one in told if not self._is_known(one)])

    def _is_known(self, told: Transcript) -> bool:
        if told.is_of_sample:
            return bool(self._known.sample(told.step, told.position))
        return self._known.prompt(told.group) is not None


def _turns(row: Row) -> tuple[Turn, ...]:
    return turns_of([each for each in row.messages or () if isinstance(each, Mapping)])


def _text(row: Row) -> str | None:
    return row.content if isinstance(row.content, str) else None
