"""The review queue as pages: one case a screen, and what its readers say."""

# Without postponed annotations: FastAPI reads them as they stand.
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from verifier_ladder.arguments import whole_number
from verifier_ladder.campaign import Campaign
from verifier_ladder.casework.opencases import (
    MOST_LOOKED_AT,
    OpenCase,
    case_of,
    cases_of,
    hidden_fields,
    other_tiers,
    read_answer,
)
from verifier_ladder.casework.reviewing import SharedReviews, hand_in_concluded
from verifier_ladder.casework.workorders import content_text
from verifier_ladder.errors import ConfigError, LeaseError, VerifierError
from verifier_ladder.ledger.records import CheckRow, CheckState
from verifier_ladder.measurement import READERS
from verifier_ladder.reviews import COMMENT, ENDED, LEASE, Claim, Reviews
from verifier_ladder.scheduler.answering import words_of_answer
from verifier_ladder.server.access import token_of
from verifier_ladder.server.forms import Form
from verifier_ladder.server.pages.asking import Facts, viewer_of
from verifier_ladder.server.pages.rendering import link
from verifier_ladder.server.pages.viewer import Viewer
from verifier_ladder.server.pages.visitors import shown
from verifier_ladder.server.service import RewardService
from verifier_ladder.server.sessions import posts, visits
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

router = APIRouter(dependencies=[visits("answer")])
Key = Annotated[str, Query(pattern="^[0-9a-f]{64}$", description="Key of the case.")]
After = Annotated[
    str, Query(pattern="^([0-9a-f]{64})?$", description="What the page before says of it.")
]
By = Annotated[str, Query(max_length=200, description="Who reads, where no tokens are asked for.")]
_LISTED: Final = 25
"""Cases that a page lists."""
_LOOKS: Final = 20
"""How often a page waits for a drawing: nothing of it changes while somebody types."""
_WORDS: Final = ("yes", "no", "failed", "decline")
"""Answers that have a button of their own."""
_OTHER_FIRST: Final = (
    "you read another case about this candidate, and the answer to this one is shown once you "
    "have answered that"
)
_REFUSED = (ConfigError, LeaseError, VerifierError)


def reviews_of(request: Request) -> SharedReviews:
    """The reviews behind an application's pages."""
    service: RewardService = request.app.state.service
    return service.reviews


def reader_of(request: Request, told: str) -> str:
    """Who reads: the holder of the token; where none are asked for, whoever he says he is."""
    token = token_of(request)
    return told.strip() if token is None else token.name


# ---- What the pages say


def review(request: Request, by: By = "", after: After = "") -> Facts:
    """The review queue: the next case, those that are claimed, and how far readers agree."""
    shared, reader = reviews_of(request), reader_of(request, by)
    asking = [v.name for v in shared.campaign.ladder.verifiers if v.waits]
    twice = [v.name for v in shared.campaign.ladder.verifiers if getattr(v, "readers", 1) > 1]
    told: Facts = {
        "campaign": shared.campaign.name, "reader": reader, "asking": asking, "held": [],
        "held_in_all": 0, "open": [], "after": "", "agreement": {}, "lease": LEASE,
        "_by": by, "_is_first": not after, "_looked_at": MOST_LOOKED_AT,
    }  # fmt: skip
    if not reader:
        return told
    with shared.queue(reader) as queue:
        claims = queue.reviews.held(reader)
        page = queue.page(_LISTED, after=bytes.fromhex(after) if after else None)
        told["agreement"] = {name: queue.reviews.agreement(name) for name in twice}
    return {
        **told, "held": _held(shared.campaign, claims[:_LISTED]), "held_in_all": len(claims),
        "open": [_line(shared.campaign, case) for case in page.cases],
        "after": "" if page.after is None else page.after.hex(),
    }  # fmt: skip


def _line(campaign: Campaign, case: OpenCase) -> Facts:
    question, _ = case.disclosed(hidden_fields(campaign.ladder))
    return {
        "key": case.check_key.hex(), "verifier": case.verifier, "question": question,
        "deadline": case.deadline,
    }  # fmt: skip


def _held(campaign: Campaign, claims: Sequence[Claim]) -> list[Facts]:
    """The cases that a reader has claimed, so far as they are open."""
    until = {claim.case: claim.until for claim in claims}
    found = cases_of(campaign.ledger, campaign.name, campaign.ladder, list(until))
    return [{**_line(campaign, case), "until": until[case.check_key]} for case in found]


def case(request: Request, key: Key, by: By = "") -> Facts:
    """One case: what is asked, who has claimed it, and what its readers have said.

    What other tiers said is told to a reader who has asked for it, and once it is answered.
    """
    shared, reader = reviews_of(request), reader_of(request, by)
    campaign = shared.campaign
    check, asked = _asked(campaign, bytes.fromhex(key))
    verdict = campaign.ledger.verdicts([check.check_key]).get(check.check_key)
    with shared.queue(reader) as queue:
        reviews, now = queue.reviews, campaign.ledger.clock()
        claim = next((c for c in reviews.held(reader) if c.case == check.check_key), None)
        mine = reviews.said(check.check_key, reader)
        why = reviews.refusal(asked, reader)
        wanted = reviews.readers(asked)
        is_unblinded = reviews.has_unblinded(check.check_key, reader)
        is_shut = verdict is not None and queue.reads_blind(asked)
    standing = _standing(check, verdict, claim, mine, why)
    if is_shut:
        verdict, standing, why = None, "closed", _OTHER_FIRST
    question, task = asked.disclosed(hidden_fields(campaign.ladder))
    return {
        "campaign": campaign.name, "reader": reader, "key": key, "standing": standing,
        "why": why if standing == "closed" else "", "verifier": check.verifier,
        "question": question, "kind": asked.candidate.kind,
        "candidate": content_text(asked.candidate.content), "task": task, "unit": asked.unit,
        "takes_yes": asked.takes_yes, "deadline": asked.deadline, "readers": wanted,
        "claim": None if claim is None else claim.number,
        "until": None if claim is None else claim.until,
        "minutes": None if claim is None else max(0, round((claim.until - now) / 60)),
        "said": None if mine is None else _words(mine),
        "answer": None if verdict is None else _words(verdict),
        "readings": [] if verdict is None else _readings(verdict),
        "other_tiers": other_tiers(campaign.ledger, asked)
        if is_unblinded or verdict is not None else None,
        "is_unblinded": is_unblinded, "_drawing": _drawing(viewer_of(request), asked),
        "_by": by, "_typed": {}, "_error": "", "_words": _WORDS,
    }  # fmt: skip


def _asked(campaign: Campaign, key: bytes) -> tuple[CheckRow, OpenCase]:
    """A case of the campaign, open or not.

    Raises:
        HTTPException: If there is none.
    """
    rows = campaign.ledger.checks(keys=[key], campaign=campaign.name, tiers=[int(Tier.WORLD)])
    for check in rows:
        if (found := case_of(check, campaign.ladder)) is not None:
            return check, found
    raise HTTPException(404, f"the campaign has not asked the world about {key.hex()[:16]}")


def _standing(
    check: CheckRow, verdict: Verdict | None, claim: Claim | None, mine: Verdict | None, why: str
) -> str:
    """Where a case stands for a reader."""
    if check.state is CheckState.DONE and verdict is not None:
        return "answered"
    if check.state in ENDED:
        return "over"
    if mine is not None:
        return "read"
    if check.state is not CheckState.WAITING:
        return "over"
    if claim is not None:
        return "claimed"
    return "closed" if why else "free"


def _words(verdict: Verdict) -> Facts:
    comment = verdict.evidence.get(COMMENT)
    return {
        "words": words_of_answer(verdict), "unit": verdict.unit, "reason": verdict.reason,
        "comment": "" if comment is None else str(comment),
    }  # fmt: skip


def _readings(verdict: Verdict) -> list[Facts]:
    """What each reader of an answered case has said; evidence is told by anybody."""
    told = verdict.evidence.get(READERS)
    return [
        {"reader": one.get("reader"), "said": one.get("said"), "comment": one.get(COMMENT, "")}
        for one in (told if isinstance(told, (list, tuple)) else ())
        if isinstance(one, Mapping)
    ]


def _drawing(viewer: Viewer, asked: OpenCase) -> Any:
    """The drawing of a molecule, once it is made; "" where there is none."""
    content = asked.candidate.content
    if asked.candidate.kind != "molecule" or not isinstance(content, str):
        return ""
    for _ in range(_LOOKS):
        drawn = viewer.drawings([content])
        if drawn.are_all:
            return drawn.made.get(content, "")
    return ""


# ---- What readers do


class _Action(NamedTuple):
    """What a reader does at a case."""

    shared: SharedReviews
    reader: str
    key: bytes
    form: Form

    @property
    def claim(self) -> Claim:
        """The claim under which it is done, as the form tells it."""
        number = whole_number(self.form.text("claim")) or 0
        return Claim(self.key, self.reader, number, 0.0)


@router.post("/review")
def take_next(request: Request, form: Annotated[Form, posts()]) -> Response:
    """Claim the next case, and go to it; to the list where there is none."""
    by = form.text("by")
    with reviews_of(request).queue(reader_of(request, by)) as queue:
        claimed = queue.claim()
    if claimed is None:
        return RedirectResponse(link("review", by=by), 303)
    return RedirectResponse(link("case", key=claimed[0].check_key.hex(), by=by), 303)


@router.post("/case")
def act(request: Request, key: Key, form: Annotated[Form, posts()]) -> Response:
    """Do what a reader wants with a case; what he has typed is shown again if that can't be."""
    by, do = form.text("by"), form.text("do")
    action = _Action(reviews_of(request), reader_of(request, by), bytes.fromhex(key), form)
    _asked(action.shared.campaign, action.key)
    if (act_on := _ACTIONS.get(do)) is None:
        raise HTTPException(422, f"nothing is done by {do!r:.60}: send the form of the case")
    typed, why = {name: form.text(name) for name in ("value", "comment", "why")}, ""
    try:
        act_on(action)
    except _REFUSED as error:
        why = str(error)
    if why or (do in {"claim", "unblind"} and any(typed.values())):
        facts = {**case(request, key, by), "_typed": typed, "_error": why}
        return shown(request, "case", facts, 422 if why else 200)
    if do in {"skip", "release"}:
        return RedirectResponse(link("review", by=by), 303)
    return RedirectResponse(link("case", key=key, by=by), 303)


def _answer(action: _Action) -> None:
    do = action.form.text("do")
    value = read_answer(do if do in _WORDS else action.form.text("value"))
    with action.shared.queue(action.reader) as queue:
        is_concluded = queue.answer(action.claim, value, action.form.text("comment"))
        concluded = queue.reviews.concluded([action.key]) if is_concluded else {}
    if action.key in concluded:
        try:
            hand_in_concluded(action.shared.campaign, {action.key: concluded[action.key]})
        except _REFUSED as error:
            raise ConfigError(f"{error}. What you have said is kept in the ledger") from error


def _claim(action: _Action) -> None:
    with action.shared.queue(action.reader) as queue:
        if queue.claim(action.key.hex()) is None:
            raise ConfigError("the case is not open any more")


def _noted(note: Callable[[Reviews, _Action], None]) -> Callable[[_Action], None]:
    """What only writes down that a reader has done something."""

    def act(action: _Action) -> None:
        with action.shared.queue(action.reader) as queue:
            note(queue.reviews, action)

    return act


def _supersede(action: _Action) -> None:
    why = action.form.text("why").strip()
    value = read_answer(action.form.text("value"))
    if not why:
        raise ConfigError("say why the other answer was wrong: both stay in the ledger")
    action.shared.campaign.supersede(action.key, value, source=action.reader, why=why)


_ACTIONS: Final[dict[str, Callable[[_Action], None]]] = {
    "claim": _claim, "supersede": _supersede,
    "skip": _noted(lambda reviews, of: reviews.release(of.claim, skip=True)),
    "release": _noted(lambda reviews, of: reviews.release(of.claim)),
    "unblind": _noted(lambda reviews, of: reviews.unblind(of.key, of.reader)),
    "withdraw": _noted(lambda reviews, of: reviews.withdraw(of.key, of.reader)),
    **dict.fromkeys(("answer", *_WORDS), _answer),
}  # fmt: skip
"""What buttons do."""
