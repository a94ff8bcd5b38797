"""The audit: what the ledger holds in the end, against what the ranks and verifiers noted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from chaos.campaigning import CAMPAIGN, CHECK, open_campaign, said, texts, truth
from chaos.crew import Stuck
from chaos.onlooker import Onlooker
from chaos.place import Place
from chaos.rank import told

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.encoding import leaf
from verifier_ladder.ledger.records import CheckState

_ALONE = 20
"""Cases that are answered one by one."""


class Audit(NamedTuple):
    """What came of it; all but `samples`, `checks` and `again` must be zero."""

    samples: int
    """Samples whose rewards a rank was told."""
    checks: int
    """Checks that were answered."""
    lost: int
    """Samples without the right reward in the end, and checks without an end."""
    paid_twice: int
    """Checks that were charged beyond once each, over all tiers."""
    answered_twice: int
    """Checks with more than one answer in the history."""
    broken: int
    """Entries whose bytes are not those that were hashed."""
    late: int
    """Executions that began after their answer was recorded."""
    again: int
    """Executions beyond one per check: work that died with its process."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, paid twice, broken or begun for nothing."""
        return not (
            self.lost or self.paid_twice or self.answered_twice or self.broken or self.late
        )


def finish(place: Place) -> None:
    """Let all climbs end; every case of the world is answered, and told twice.

    Raises:
        Stuck: If for minutes no check ends.
    """
    before = -1
    with open_campaign(place.ledger, place.folder / "executions", "closing") as campaign:
        while not (campaign.drain("120 s") & _answer(campaign)):
            ended = sum(states.get(CheckState.DONE, 0) for states in _counts(campaign))
            if ended == before:
                raise Stuck(f"no check has ended for minutes; {ended} have before")
            before = ended


def _answer(campaign: vl.Campaign) -> bool:
    """Answer the open cases, a few of them one by one; whether there was none."""
    cases = campaign.cases()
    verdicts = {case.check_key: said(case.candidate) for case in cases}
    for _ in range(2):
        for key in list(verdicts)[:_ALONE]:
            campaign.answer(key, verdicts[key], source="lab", event=key.hex())
        campaign.answer_all(dict(list(verdicts.items())[_ALONE:]), source="lab", event="plate")
    return not cases


def _counts(campaign: vl.Campaign) -> Iterable[dict[CheckState, int]]:
    return campaign.ledger.counts(CAMPAIGN).values()


def audit(place: Place, ranks: int, onlooker: Onlooker) -> Audit:
    """Read everything once more."""
    folder = place.folder
    with open_ledger(place.ledger) as store:
        answers = Counter(
            row.check_key
            for entry in store.entries()
            for row in store.read(entry).verdicts
            if row.verdict.is_answer
        )
        promised = [(rank, step) for rank in range(ranks) for step in range(_steps(folder, rank))]
        wrong = sum(_wrong(store, rank, step) for rank, step in promised)
        ended = (CheckState.DONE,)
        open_ = [check for check in store.checks() if check.state not in ended]
        executions = folder / "executions"
        executed = [line.rpartition("\t")[0] for line in executions.read_text().splitlines()]
        return Audit(
            samples=sum(len(texts(*one)) for one in promised),
            checks=len(answers),
            lost=wrong + len(open_),
            paid_twice=_paid(store) - len(answers),
            answered_twice=sum(count > 1 for count in answers.values()),
            broken=sum(leaf(entry.body) != entry.leaf for entry in store.entries()),
            late=onlooker.late(executions),
            again=len(executed) - len(set(executed)),
        )


def _steps(folder: Path, rank: int) -> int:
    return len(told(folder, rank))


def _wrong(store: Ledger, rank: int, step: int) -> int:
    """Samples of a step that were promised and are not there with the world's reward."""
    rows = store.recorded(CAMPAIGN, f"rank-{rank}", step)
    return sum(
        place not in rows or rows[place].reward.value != truth(text)
        for place, text in enumerate(texts(rank, step))
    )


def _paid(store: Ledger) -> int:
    """How many checks were paid for, by what was charged."""
    settled = sum(account.settled for account in store.accounts(CAMPAIGN))
    return round(float(settled) / CHECK.seconds)
