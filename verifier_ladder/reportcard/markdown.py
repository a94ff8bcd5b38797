"""The report card as Markdown, for people, repositories and model cards."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from verifier_ladder.reportcard.card import NOT_REPORTED, AuditEntry, Cohort, ReportCard, ToolEntry
from verifier_ladder.resource import Resource
from verifier_ladder.rollouts.passk import Estimate
from verifier_ladder.rollouts.statistics import DECLINED
from verifier_ladder.summary.amounts import duration, plural, shown_in
from verifier_ladder.text import printable

_MARKS = re.compile(r"([\\`*_\[\]<>|#])")
_NAMES = {
    "environment": "Environment", "tool_budget": "Tool budget", "scaffold": "Scaffold",
    "evaluator": "Evaluator", "failure_recovery": "Failure recovery",
}  # fmt: skip
_UNKNOWN = "–"
_ASK = "Which reward passes? Say so with `--pass-at REWARD` (`pass_at=` in Python)."


def as_markdown(card: ReportCard) -> str:
    """The card as a Markdown page.

    Text that people or models wrote is shown as text: control characters are stripped, and what
    Markdown would read as its own is escaped.

    Example:
        >>> import verifier_ladder as vl
        >>> from verifier_ladder.reportcard import report_card
        >>> exact = vl.wrap(lambda completions: [1.0], name="exact", isolation="inline")
        >>> ledger, ladder = vl.open_ledger(":memory:"), vl.Ladder("l", [exact])
        >>> with vl.Campaign.open("c", ladder=ladder, ledger=ledger, run="r") as campaign:
        ...     _ = campaign.score(["4"])
        >>> as_markdown(report_card(ledger)).splitlines()[0]
        '# Report card of r'
    """
    parts = (
        _head(card), _alarms(card.audits), _declared(card), _cohorts(card),
        _audits(card.audits, card.pass_at),
        _tagged("By capability", card.capabilities), _tagged("By domain", card.domains),
        _verifiers(card), _costs(card), _end(card),
    )  # fmt: skip
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(card: ReportCard) -> Iterator[str]:
    begun = _UNKNOWN if card.begun_at is None else _moment(card.begun_at)
    labels = ", ".join(f"{name}: {value}" for name, value in sorted(card.labels.items()))
    yield f"# Report card of {_text(card.run)}"
    yield ""
    yield from _table(
        ("Campaign", _text(card.campaign)), ("Project", _text(card.project)),
        ("By", _text(card.user)), ("Begun (UTC)", begun), ("Labels", _text(labels or _UNKNOWN)),
        ("Target", _text(card.target)), ("Ladder", _text(card.ladder)),
    )  # fmt: skip


def _alarms(found: AuditEntry) -> Iterator[str]:
    for alarm in found.alarms:
        yield f"> **Alarm:** {_text(alarm)}"
        yield ""


def _declared(card: ReportCard) -> Iterator[str]:
    yield "## What was reported"
    yield ""
    found = {} if card.tools is None else _counted(card.tools)
    yield from _table(*(
        row for name, said in card.declared.items()
        for row in ((_NAMES[name], _text(said)), *found.get(name, ()))
    ))  # fmt: skip


def _counted(tools: ToolEntry) -> dict[str, list[tuple[str, str]]]:
    """What was counted, beside what was declared of it."""
    low, high = tools.budgets or (None, None)
    allowed = "no task sets a limit" if low is None else f"tasks allow {_range(low, high)}"
    above = "" if low is None else f", and {plural(tools.over, 'sample')} made more"
    calls = (
        f"{plural(tools.calls, 'call')} in {plural(tools.samples, 'sample')}, at most "
        f"{tools.largest:,} in one; {allowed}{above}"
    )
    failed = (
        f"{tools.failed:,} of {plural(tools.calls, 'call')} failed, and {tools.recovered:,} of "
        "these were followed by a call of the same tool that succeeded"
    )
    if tools.unanswered:
        failed += f"; of {tools.unanswered:,} nothing was observed"
    return {
        "tool_budget": [("Calls, as counted", calls)],
        "failure_recovery": [("Failures, as counted", failed)],
    }


def _range(low: int, high: int | None) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _cohorts(card: ReportCard) -> Iterator[str]:
    yield "## How it did"
    yield ""
    yield (
        f"{plural(card.samples, 'sample')} of {plural(card.tasks, 'task')} in "
        f"{plural(card.steps, 'step')}, {plural(card.candidates, 'different candidate')}. "
        f"{plural(card.revised, 'reward')} revised; {card.pending:,} may still be."
    )
    yield ""
    yield from _cohort_table("steps", (card.whole, *card.phases))
    yield from _why_unknown(card)
    if card.pass_at is None:
        yield (
            f"**{_ASK}** These leave the scale from 0 to 1, so nothing can be assumed, and pass@k "
            "and the hack share can't be computed."
        )
    else:
        how = "assumed" if card.is_assumed else "as asked"
        yield (
            f"A sample passes at {card.pass_at:g} or more ({how}), by the best that is known of "
            "it, unless it was rejected and the top tier did not overrule that."
        )
    yield (
        "*Told* is the mean of the first rewards, *now* that of the rewards as they stand, which "
        "are corrected by what random draws have found. Brackets hold 95 % intervals, "
        "over the tasks of each step."
    )
    yield ""


def _why_unknown(card: ReportCard) -> Iterator[str]:
    if card.unknown:
        listed = ", ".join(
            f"{count:,} {'declined by verifiers' if at == DECLINED else f'failed at {_text(at)}'}"
            for at, count in card.unknown.items()
        )
        yield f"Without a reward, and in none of the means: {listed}."


def _audits(found: AuditEntry, pass_at: float | None) -> Iterator[str]:
    yield "## What audits found"
    yield ""
    if not found.is_possible:
        yield "The ladder has one tier: nothing stands above it that could audit it."
        yield ""
        return
    low, high = found.propensity or (None, None)
    chance = "nothing was drawn" if low is None else f"{low:.3g} to {high:.3g}"
    covered = _UNKNOWN if found.covered is None else f"{found.covered:.0%}"
    threshold = "" if pass_at is None else f" (at {pass_at:g})"
    yield from _table(
        ("Drawn for the top tier", f"{found.due:,}, of which {found.answered:,} answered"),
        ("Probability of a draw", chance),
        ("Samples that could be judged by the top tier", covered),
        ("Believed less true, mean over the drawn", _estimate(found.error)),
        ("Truths inside the belief's 90 % interval", _share(found.within)),
        (f"Believed to pass{threshold}, and found not to: **hack share**", _hacks(found, pass_at)),
    )  # fmt: skip
    for gate in found.gates:
        yield (
            f"- Of {gate.audited:,} rejects of {_text(gate.verifier)} that were audited, "
            f"{gate.good:,} were good; with 95 % confidence at most {gate.upper:.1%} are."
        )
    yield from _accuracies(found)
    if found.alarms:
        yield f"- {plural(len(found.alarms), 'drift alarm')}, told at the top."
    else:
        yield "- No drift alarm." if found.due else "- No drift alarm, for nothing was drawn."
    yield ""


def _accuracies(found: AuditEntry) -> Iterator[str]:
    if not found.accuracies:
        return
    yield ""
    names = (
        "verifier", "drawn and judged", "of the good, it accepts (sensitivity)",
        "of the bad, it rejects (specificity)", "of all, it declines",
    )  # fmt: skip
    yield from _rows(names, (
        (
            _text(each.verifier), f"{each.audited:,}", _share(each.sensitivity),
            _share(each.specificity), _share(each.declined),
        )
        for each in found.accuracies
    ))  # fmt: skip


def _hacks(found: AuditEntry, pass_at: float | None) -> str:
    if found.hacks is not None:
        count = plural(found.hacks.groups, "candidate")
        return f"{_share(found.hacks)}, from {count} judged"
    if pass_at is None:
        return _ASK
    return "not known: of those believed to pass, the top tier has judged none that was drawn"


def _tagged(title: str, cohorts: Sequence[Cohort]) -> Iterator[str]:
    name = title.rsplit(maxsplit=1)[-1]
    yield f"## {title}"
    yield ""
    if [cohort.label for cohort in cohorts] == [NOT_REPORTED]:
        yield f"Neither a task nor a verifier is tagged with a {name}."
        yield ""
    else:
        yield from _cohort_table(name, cohorts)


def _cohort_table(name: str, cohorts: Sequence[Cohort]) -> Iterator[str]:
    rows = [
        (
            _text(c.label), f"{c.samples:,}", f"{c.tasks:,}", f"{c.samples - c.known:,}",
            _estimate(c.told), _estimate(c.reward), _share(c.passes),
        )
        for c in cohorts
    ]  # fmt: skip
    yield from _rows((name, "samples", "tasks", "unknown", "told", "now", "pass"), rows)


def _verifiers(card: ReportCard) -> Iterator[str]:
    yield "## Verifiers"
    yield ""
    rows = [
        (
            f"{_text(v.name)} {_text(v.version)}", v.tier.replace("_", " "), v.role,
            _text(", ".join(f"{k}={value}" for k, value in v.settings.items()) or _UNKNOWN),
            _text(", ".join(f"{k} {value}" for k, value in v.tools.items()) or _UNKNOWN),
            _text(", ".join(filter(None, (*v.capabilities, v.domain))) or NOT_REPORTED),
        )
        for v in card.verifiers
    ]  # fmt: skip
    yield from _rows(("verifier", "tier", "role", "settings", "tools", "tags"), rows)


def _costs(card: ReportCard) -> Iterator[str]:
    yield "## Costs of the whole campaign"
    yield ""
    rows = []
    for cost in card.costs:
        shown = shown_in(Resource.parse(cost.resource))
        cap = "no cap" if cost.cap is None else shown(cost.cap)
        place = cost.tier.replace("_", " "), cost.resource.replace("_", " ")
        amounts = shown(cost.spent), shown(cost.failed), cap, duration(cost.wall)
        rows.append((*place, *amounts))
    names = ("tier", "resource", "spent", "of it without an answer", "cap", "tier's wall time")
    yield from _rows(names, rows)


def _end(card: ReportCard) -> Iterator[str]:
    yield "## Checkpoint"
    yield ""
    yield f"Read from the ledger at {_text(card.moment.text, None)}."
    if card.missing:
        yield ""
        yield f"Not reported: {', '.join(_NAMES[name].lower() for name in card.missing)}."


# -- cells ---------------------------------------------------------------------------------------


def _table(*rows: tuple[str, str]) -> Iterator[str]:
    yield from _rows(("", ""), rows)


def _rows(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    listed = list(rows)
    if not listed:
        yield "None."
    else:
        yield f"| {' | '.join(names)} |"
        yield f"|{'---|' * len(names)}"
        for row in listed:
            yield f"| {' | '.join(row)} |"
    yield ""


def _text(value: object, limit: int | None = 200) -> str:
    return _MARKS.sub(r"\\\1", printable(value, limit))


def _estimate(found: Estimate | None) -> str:
    if found is None:
        return _UNKNOWN
    if found.low is None or found.high is None:
        return f"{found.value:.3g}"
    return f"{found.value:.3g} [{found.low:.3g}, {found.high:.3g}]".replace("-", "−")


def _share(found: Estimate | None) -> str:
    if found is None:
        return _UNKNOWN
    if found.low is None or found.high is None:
        return f"{found.value:.1%}"
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
