"""Training sets: rows of one kind in splits, with where they come from and what was left out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite
from pathlib import Path
from typing import Any

import orjson

from verifier_ladder.datasets.examples import Examples
from verifier_ladder.datasets.kinds import KINDS, Row
from verifier_ladder.datasets.selection import Selection
from verifier_ladder.datasets.tables import FORMATS, Layout, as_table, write_rows
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.private import (
    check_other_file,
    make_private_folder,
    private_file,
    unwritable,
)
from verifier_ladder.runs import Moment, RunRecord, read_run

CARD = "export.json"
"""Name of the file that tells where a training set comes from."""


WHOLE: Mapping[str, float] = {"train": 1.0}


def checked_splits(shares: Mapping[str, float]) -> dict[str, float]:
    """Shares that add up to 1.

    Raises:
        ConfigError: If there is none, one is negative or its name can't be a file's, or all are 0.

    Example:
        >>> checked_splits({"train": 9, "test": 1})
        {'train': 0.9, 'test': 0.1}
    """
    bad = [name for name in shares if not name.isidentifier()]
    if bad:
        raise ConfigError(f"a split can't be called {bad[0]!r}; use letters, digits and _")
    total = sum(shares.values())
    if not shares or total <= 0 or any(not isfinite(s) or s < 0 for s in shares.values()):
        raise ConfigError(
            f"splits={dict(shares)!r}: give each split its share, such as train=0.9, test=0.1"
        )
    return {name: share / total for name, share in shares.items()}


def split_of(task: str, shares: Mapping[str, float], seed: int = 0) -> str:
    """The split of a task: always the same, however many other tasks there are.

    Example:
        >>> split_of("a", {"train": 0.5, "test": 0.5}) == split_of("a", {"train": 1, "test": 1})
        True
    """
    data = hashlib.sha256(f"vl:split:1\0{seed}\0{task}".encode()).digest()
    place = int.from_bytes(data[:7], "big") / 2.0**56
    names, ends = list(shares), list(accumulate(shares.values()))
    for name, end in zip(names, ends, strict=True):
        if place * ends[-1] < end:
            return name
    return names[-1]


def split_rows(
    rows: Sequence[Row], shares: Mapping[str, float], seed: int, left_out: Counter[str]
) -> dict[str, list[Row]]:
    """Give every row to the split of its task.

    A candidate that came up in several tasks stays in the first split that has it, in the order
    in which splits are named; rows of the others are left out.
    """
    parts: dict[str, list[Row]] = {name: [] for name in shares}
    for row in rows:
        parts[split_of(row.task, shares, seed)].append(row)
    seen: set[bytes] = set()
    for name, part in parts.items():
        clean = [row for row in part if seen.isdisjoint(row.contents)]
        left_out[f"left out of {name}: another split has its candidate"] += len(part) - len(clean)
        parts[name] = clean
        seen.update(content for row in clean for content in row.contents)
    return parts


@dataclass
class TrainingSet:
    """Rows of one kind, split by task, as they were known at one moment.

    **Reproducible.** The same ledger, moment and arguments give the same rows in the same order.
    """

    kind: str
    campaign: str
    run: str
    moment: Moment
    selection: Selection
    seed: int
    shares: Mapping[str, float]
    samples: int
    """Samples of the run."""
    pending: int
    """Samples that a higher tier may still revise; they are taken as they stand."""
    splits: dict[str, list[dict[str, Any]]]
    """The rows of each split."""
    left_out: Mapping[str, int]
    """How many samples are not in it, by reason."""
    pass_at: float | None = None
    """The reward that passes, as given or assumed."""
    layout: Layout = field(repr=False, default_factory=lambda: Layout({}, ()))
    evaluation: bool = False
    """Whether its samples are of an evaluation."""
    terms: tuple[str, ...] = ()
    """Names of the terms that verdicts of the run come under, left out or not."""

    def __len__(self) -> int:
        """Count the rows of all splits."""
        return sum(map(len, self.splits.values()))

    def table(self, split: str = "train") -> Any:
        """The rows of a split as a `pyarrow.Table`; `datasets.Dataset` takes it as it is.

        Raises:
            ConfigError: If pyarrow is not installed, or there is no such split.
        """
        if split not in self.splits:
            known = ", ".join(self.splits)
            raise ConfigError(f"there is no split {split!r}; there are {known}")
        return as_table(self.layout, self.splits[split])

    def as_json(self) -> dict[str, Any]:
        """Where it comes from, what it holds and what was left out, as JSON values."""
        from verifier_ladder import __version__

        return {
            "kind": self.kind, "campaign": self.campaign, "run": self.run,
            "evaluation": self.evaluation,
            "checkpoint": self.moment.as_json(), "version": __version__,
            "selection": self.selection.as_json(), "pass_at": self.pass_at,
            "columns": dict(self.layout.columns), "is_chat": self.layout.is_chat,
            "splits": {name: len(rows) for name, rows in self.splits.items()},
            "shares": dict(self.shares), "seed": self.seed, "samples": self.samples,
            "pending": self.pending, "left_out": dict(self.left_out), "terms": list(self.terms),
        }  # fmt: skip

    def write(
        self, folder: str | Path, form: str = "parquet", *, inputs: Iterable[object] = ()
    ) -> list[Path]:
        """Write one file for each split that holds rows, and `export.json` beside them.

        `datasets.load_dataset(folder)` finds the splits by their names.

        Args:
            folder: Where to; it is made if it is missing. Files of an earlier export are replaced.
            form: `parquet` or `jsonl`.
            inputs: Files that were read for it, none of which is replaced.

        Returns:
            What was written.

        Raises:
            ConfigError: If it holds no row, can't be written, would replace one of `inputs`, or
                pyarrow is missing.
        """
        if not len(self):
            why = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
            raise ConfigError(
                f"run {self.run} has no sample for {self.kind}: {why or 'it has no samples yet'}"
            )
        if form not in FORMATS:
            raise ConfigError(f"form={form!r}: write {' or '.join(FORMATS)}")
        target = Path(folder)
        written = {target / f"{name}.{form}": rows for name, rows in self.splits.items() if rows}
        _prepare(target, written, inputs)
        for path, rows in written.items():
            write_rows(path, self.layout, rows)
        card = target / CARD
        with private_file(card) as file:
            file.write(orjson.dumps(self.as_json(), option=orjson.OPT_INDENT_2))
        return [*written, card]


def training_set(
    ledger: Ledger,
    kind: str,
    *,
    run: str | None = None,
    campaign: str | None = None,
    at: int | None = None,
    selection: Selection | None = None,
    splits: Mapping[str, float] = WHOLE,
    seed: int = 0,
    prompts: Mapping[str, Any] | None = None,
    evaluation: bool = False,
) -> TrainingSet:
    """Make a training set of a run, with its rewards as they stand now, or stood then.

    Args:
        ledger: The ledger.
        kind: `sft`, `preferences`, `hints`, `turns` or `distillation`.
        run: The run; the newest by default.
        campaign: Its campaign, where several have a run of this name.
        at: Size of a signed checkpoint; by default all that is known now.
        selection: What to take; see `Selection`.
        splits: The share of each split, such as `{"train": 0.9, "test": 0.1}`.
        seed: Another seed gives other splits.
        prompts: Prompts by group, for a run whose prompts the ledger does not hold.
        evaluation: Take the run's evaluation instead, such as for a held-out test set; otherwise
            no evaluation sample is ever in a training set.

    Raises:
        ConfigError: If the arguments can't work, the run is an evaluation and that was not asked
            for, no prompt is known, a verifier of the run judges groups, or samples are to be left
            out by terms that none of its verdicts comes under while others do.

    Example:
        >>> import verifier_ladder as vl
        >>> exact = vl.wrap(lambda completions: [float(completions[0] == "4")], name="exact",
        ...                 isolation="inline")
        >>> ledger = vl.open_ledger(":memory:")
        >>> with vl.Campaign.open("c", ladder=vl.Ladder("l", [exact]), ledger=ledger) as campaign:
        ...     _ = campaign.score(["4", "5"], groups=["sum", "sum"])
        >>> made = training_set(ledger, "preferences", prompts={"sum": "2 + 2 ="})
        >>> [(row["chosen"], row["rejected"]) for row in made.splits["train"]]
        [('4', '5')]
    """
    if kind not in KINDS:
        raise ConfigError(f"there is no training set of kind {kind!r}; write {', '.join(KINDS)}")
    shares, wanted = checked_splits(splits), selection or Selection()
    record = read_run(ledger, run, campaign=campaign, at=at, evaluation=evaluation)
    _check_comparable(record)
    examples = Examples(record, wanted, prompts or {}, ledger.artifact)
    _check_prompts(record, examples)
    left_out = examples.left_out
    rows = KINDS[kind].rows(examples, left_out)
    parts = split_rows(rows, shares, seed, left_out)
    return TrainingSet(
        kind, record.campaign.name, record.name, record.moment, wanted, seed, shares,
        len(record.samples), sum(sample.reward.pending for sample in record.samples),
        {name: [row.values for row in part] for name, part in parts.items()},
        {why: count for why, count in left_out.most_common() if why and count},
        examples.pass_at, _layout(kind, rows), evaluation, tuple(examples.terms),
    )  # fmt: skip


def _layout(kind: str, rows: list[Row]) -> Layout:
    return Layout(KINDS[kind].columns, [row.values for row in rows])


def _check_comparable(record: RunRecord) -> None:
    for verifier in record.campaign.ladder.get("verifiers", ()):
        if verifier.get("scope") == "group":
            raise ConfigError(
                f"run {record.name!r} has rewards of {verifier['name']}, which compares the "
                "members of one group: samples of different groups can't be chosen or paired by "
                "them. Score the candidates with a ladder of other verifiers for a training set"
            )


def _check_prompts(record: RunRecord, examples: Examples) -> None:
    if record.samples and not len(examples) and _lack_prompts(examples.left_out):
        raise ConfigError(
            f"the ledger holds no prompt of run {record.name!r}, and without them nothing can be "
            "trained on. Learners' adapters keep them; else give a file of them with --prompts "
            "(prompts=), or keep them while scoring: Campaign.keep"
        )


def _lack_prompts(left_out: Counter[str]) -> bool:
    return left_out["its prompt is not known"] > 0


def _prepare(folder: Path, written: Iterable[Path], inputs: Iterable[object]) -> None:
    """Make the folder, and take an earlier export out of it: its splits may have other names."""
    try:
        make_private_folder(folder)
        card = folder / CARD
        earlier = orjson.loads(card.read_bytes())["splits"] if card.exists() else {}
        old = [folder / f"{Path(name).name}.{form}" for name in earlier for form in FORMATS]
        for path in (card, *written, *old):
            check_other_file(path, *inputs)
        for path in old:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{card} is no export's; choose an empty folder") from None
