"""Cards: what a notebook shows where a campaign, a reward or a verdict ends a cell.

A card is small, needs no script and nothing from elsewhere, and takes colours and letters from the
notebook, light or dark. Whatever a candidate or a verifier has written is stripped of what obeys
or hides, cut and escaped. It never raises: what can't be told, it says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final

from verifier_ladder.containment import ends_program, text_of
from verifier_ladder.resource import Resource
from verifier_ladder.text import plain_lines, printable

if TYPE_CHECKING:
    from verifier_ladder.ledger import Ledger
    from verifier_ladder.reward import Revision, Reward
    from verifier_ladder.verdict import Verdict

_SHORT, _LONG = 80, 400
"""Characters of a text, and of one that says why."""
_MOST: Final = 12
"""Alarms, scores or files that are listed."""
_ALARM: Final = "#c0392b"
"""Seen on white and on black; nothing is told by it alone."""
_CARD: Final = (
    "border-left: 3px solid {}; padding: .2em 1em; margin: .4em 0; max-width: 62em; "
    "line-height: 1.45; overflow-wrap: break-word"
)
_CELL: Final = "text-align: left; vertical-align: top; padding: .1em 1.2em .1em 0"
_HEAD: Final = f"{_CELL}; white-space: nowrap"
_WIDE: Final = f"{_CELL}; overflow-wrap: anywhere"
_SAID: Final = {"accept": "✓ accepted", "reject": "✗ rejected", "abstain": "– no opinion"}
_shown = Repr()
"""What a value looks like, for a time that does not grow with it."""
_shown.maxlevel, _shown.maxstring, _shown.maxother, _shown.maxlong = 5, 400, 400, 60
_shown.maxdict = _shown.maxlist = _shown.maxtuple = _shown.maxset = _shown.maxfrozenset = 40


def campaign_card(ledger: Ledger, name: str) -> str:
    """The best, alarms, what was spent, and the tiers.

    A ledger of some thousand records is read for it; of a larger one it says what is counted.

    Args:
        ledger: The ledger.
        name: Name of the campaign.

    Example:
        >>> from verifier_ladder.ledger import open_ledger
        >>> ledger = open_ledger(":memory:")
        >>> _ = ledger.open_campaign("try", {"verifiers": []}, b"0" * 32)
        >>> "nobody yet" in campaign_card(ledger, "try")
        True
    """
    return _told(f"campaign {name}", lambda: _campaign(ledger, name))


def reward_card(reward: Reward) -> str:
    """The number and its deviation, which tier has answered, what is awaited, and why.

    Example:
        >>> from verifier_ladder.reward import Reward
        >>> "no reward" in reward_card(Reward(None, reason="<script>"))
        True
        >>> "<script>" in reward_card(Reward(None, reason="<script>"))
        False
    """
    return _told("reward", lambda: _card(_reward(reward)))


def revision_card(revision: Revision) -> str:
    """Which sample it is about, what its reward was, and what it is."""
    return _told("revision", lambda: _revision(revision))


def verdict_card(verdict: Verdict) -> str:
    """The outcome, the score and its deviation, why, what it took, and the evidence folded."""
    return _told("verdict", lambda: _verdict(verdict))


def _told(what: str, make: Callable[[], str]) -> str:
    """A card, or one that says why there is none."""
    try:
        return make()
    except BaseException as error:
        if ends_program(error):
            raise
        said = f"This {_text(what)} can't be told: {_text(text_of(error), _LONG)}"
        return _card(f"<div>{said}</div>")


# -- a campaign ----------------------------------------------------------------------------------


def _campaign(ledger: Ledger, name: str) -> str:
    from verifier_ladder.summary.amounts import plural

    told = _standing(ledger, name)
    facts = told.as_json()
    alarms = [str(text) for text in facts["alarms"]]
    kind = _text(facts["ladder"].get("kind") or "candidates")
    rewards = facts["rewards"]
    samples = plural(facts["samples"], "sample")
    if facts["candidates"] is not None:
        samples += f", {plural(facts['candidates'], 'distinct candidate')}"
    lines = [
        ("best", _best(facts)),
        ("alarms", _listed([f"⚠ {_text(text, _LONG)}" for text in alarms]) or "✓ none"),
        ("spent", _spent(facts)),
        ("rewards", _rewards(rewards)),
    ]
    if waiting := sum(tier["waiting"] for tier in facts["tiers"]):
        lines.append(("waiting", f"{plural(waiting, 'open case')} for the world to answer"))
    updated = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(facts["updated_at"]))
    title = _title(_text(name), f"campaign about {kind} · {samples} · last entry {updated}")
    return _card(title + _rows(lines) + _tiers(facts["tiers"]), is_alarmed=bool(alarms))


def _standing(ledger: Ledger, name: str) -> Any:
    """A summary where all of the ledger is read in a moment, else what is counted.

    All of it, for a summary looks in other campaigns for verdicts that this one has reused.
    """
    from verifier_ladder.analysis.overview import MOST_READ, overview
    from verifier_ladder.analysis.totals import campaign_counts
    from verifier_ladder.summary import summarise

    size = 0
    for row in ledger.campaigns():
        size += campaign_counts(ledger, row.name).size
        if size > MOST_READ:
            return overview(ledger, name)
    return summarise(ledger, name)


def _best(facts: Mapping[str, Any]) -> str:
    """The best by what the top tier says, or else by what is believed."""
    listed = facts["best"]
    if listed is None:
        return "not told of a campaign of this size: <code>vladder view</code> lists them"
    top = facts["tiers"][-1]["tier"] if facts["tiers"] else ""
    true = facts["winner"]
    best = true or next((c for c in listed if not c["doubt"]), None)
    if best is None:
        return "nobody yet"
    unit = facts["target"].get("unit", "")
    value = _amount(best["known"], best["known_uncertainty"], unit)
    by = f"by the {_words(top)} tier" if true else "believed, and not judged by the top tier"
    return f"<b>{value}</b> {by}: <code><bdi>{_text(best['content'])}</bdi></code>"


def _spent(facts: Mapping[str, Any]) -> str:
    from verifier_ladder.summary.amounts import duration

    parts = [f"{duration(facts['spent'])} of cpu time", *_resources(facts["resources"])]
    everything = _resources(facts["everything"] or {})
    more = f"; climbing everything ≈ {', '.join(everything)}, an estimate" if everything else ""
    return _text(", ".join(parts) + more, _LONG)


def _resources(amounts: Mapping[str, float]) -> list[str]:
    from verifier_ladder.summary.amounts import resources_text

    return resources_text({Resource.parse(name): amount for name, amount in amounts.items()})


def _rewards(rewards: Mapping[str, Any]) -> str:
    unknown = rewards["unknown"]
    without = "an unknown number" if unknown is None else f"{unknown:,}"
    return f"mean {_amount(rewards['mean'])}; {without} of {rewards['count']:,} without one"


def _tiers(tiers: Sequence[Mapping[str, Any]]) -> str:
    from verifier_ladder.summary.amounts import duration, share

    rows = []
    for tier in tiers:
        spent = tier["settled"] + tier["failed_seconds"]
        cap = "no cap" if tier["cap"] is None else share(spent, tier["cap"])
        queued = sum(tier[n] or 0 for n in ("queued", "running", "waiting", "parked", "expired"))
        rows.append([
            _words(tier["tier"]) + (" (paused)" if tier["paused"] else ""),
            _text(", ".join(map(str, tier["verifiers"]))), f"{tier['checks'] or 0:,}",
            f"{queued:,}", duration(spent), cap,
        ])  # fmt: skip
    return _table(["tier", "verifiers", "checks answered", "open", "cpu time", "of its cap"], rows)


# -- a reward ------------------------------------------------------------------------------------


def _reward(reward: Reward) -> str:
    """The inside of a reward's card."""
    said = "reward" if reward.value is not None else "no reward: mask it, it is not 0"
    if reward.is_rejected:
        said = "reward of a rejected candidate"
    if reward.revision:
        said += f" · revision {_text(reward.revision)}"
    lines = [
        ("interval", _interval(reward.value, reward.uncertainty)),
        ("tier", "none has answered" if reward.tier is None else _words(reward.tier.label)),
        ("awaited", "a higher tier, so a revision may follow" if reward.pending else "nothing"),
        ("why", _text(reward.reason, _LONG)),
        ("failed at", _text(reward.failed_at or "")),
        ("scores", _named(reward.components)),
        ("further scores", _named(reward.scores)),
        ("feedback", _text(reward.feedback, _LONG)),
        ("turns", f"{len(reward.turns):,}" if reward.turns else ""),
    ]
    return _title(_amount(reward.value, reward.uncertainty), said) + _rows(lines)


def _interval(value: float | None, spread: float | None) -> str:
    """One standard deviation to both sides."""
    if value is None or spread is None:
        return ""
    return f"{_amount(value - spread)} to {_amount(value + spread)}, one standard deviation"


def _revision(revision: Revision) -> str:
    from verifier_ladder.candidate import sample_place

    place = sample_place(revision.run, revision.step, revision.position)
    lines = [
        ("revised", _text(place)),
        ("before", _amount(revision.previous)),
        ("advantage", _amount(revision.advantage) if revision.advantage is not None else ""),
    ]
    return _card(_rows(lines) + _reward(revision.reward))


# -- a verdict -----------------------------------------------------------------------------------


def _verdict(verdict: Verdict) -> str:
    said = _SAID[verdict.outcome.value]
    if verdict.failed_at is not None:
        said = f"! failed at {_text(verdict.failed_at)}"
    score = _amount(verdict.score, verdict.uncertainty, verdict.unit)
    files = [f"<code>{_text(name)}</code>" for name in list(verdict.artifacts)[:_MOST]]
    cost = verdict.cost
    took = {r.label: cost.amounts[r] for r in Resource} if cost is not None else {}
    lines = [
        ("score", score if verdict.score is not None else "none"),
        ("why", _text(verdict.reason, _LONG)),
        ("feedback", _text(verdict.feedback, _LONG)),
        ("further scores", _named(verdict.scores)),
        ("turns", f"{len(verdict.turns):,}" if verdict.turns else ""),
        ("took", _text(", ".join(_resources(took)), _LONG)),
        ("files", ", ".join(files)),
    ]
    folded = _folded("evidence", verdict.evidence) if verdict.evidence else ""
    return _card(_title(said, "verdict") + _rows(lines) + folded)


def _folded(what: str, value: Mapping[str, Any]) -> str:
    """Values that a reader opens, in a time that does not grow with them."""
    lines = [f"{_shown.repr(name)}: {_shown.repr(one)}" for name, one in _first(value.items())]
    more = len(value) - len(lines)
    lines += [f"… {more:,} more"] if more > 0 else []
    text = escape(plain_lines("\n".join(lines)))
    return (
        f"<details><summary>{what}</summary>"
        f'<pre style="white-space: pre-wrap; margin: .2em 0">{text}</pre></details>'
    )


# -- what cards are made of ----------------------------------------------------------------------


def _card(inside: str, *, is_alarmed: bool = False) -> str:
    return f'<div style="{_CARD.format(_ALARM if is_alarmed else "#888")}">{inside}</div>'


def _title(first: str, said: str) -> str:
    """What is read first, and what it is; both are HTML."""
    return f'<div><b style="font-size: 1.25em">{first}</b> &nbsp;{said}</div>'


def _rows(lines: Iterable[tuple[str, str]]) -> str:
    """What is called what, without what there is not; values are HTML."""
    rows = "".join(
        f'<tr><th scope="row" style="{_HEAD}">{name}</th><td style="{_WIDE}">{value}</td></tr>'
        for name, value in lines if value
    )  # fmt: skip
    return f"<table>{rows}</table>" if rows else ""


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col" style="{_HEAD}">{name}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    made = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x: auto">{made}</div>'


def _listed(items: Sequence[str]) -> str:
    more = [f"and {len(items) - _MOST:,} more"] if len(items) > _MOST else []
    return "<br>".join([*items[-_MOST:], *more])


def _named(values: Mapping[str, float | None]) -> str:
    told = [f"{_text(name)} {_amount(value)}" for name, value in _first(values.items())]
    return ", ".join(told) + (", …" if len(values) > len(told) else "")


def _first(items: Iterable[Any]) -> list[Any]:
    return [item for item, _ in zip(items, range(_MOST), strict=False)]


def _amount(value: float | None, spread: float | None = None, unit: str = "") -> str:
    """A number with its deviation and its unit, as HTML."""
    from verifier_ladder.summary.amounts import number

    return f"{number(value, spread)} {_text(unit, 24)}".strip()


def _words(label: str) -> str:
    return _text(label.replace("_", " "))


def _text(value: object, limit: int = _SHORT) -> str:
    """Text of anybody, as HTML."""
    return escape(printable(value, limit))
