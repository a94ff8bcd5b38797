"""Pictures of a candidate: structures, forecasts, marked code and turns, as its page shows them.

What reads model-made text runs in the viewer's process for drawings, which may be killed. What is
not ready when a page is made is on the next one, which its script asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from verifier_ladder.analysis.candidates import Listed
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Block, CampaignRow
from verifier_ladder.report import forecasts, highlighting, structures
from verifier_ladder.report.structures import Format
from verifier_ladder.report.timeline import Event
from verifier_ladder.server.pages.beside import PATIENCE
from verifier_ladder.server.pages.trajectory import Trajectory, trajectory_of
from verifier_ladder.server.pages.viewer import Viewer
from verifier_ladder.text import plain_lines
from verifier_ladder.tiers.simulation import equity
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_INTERVALS: Final = {
    "skill": ("its skill", "as good as the best reference"),
    "excess": ("beyond buying and holding", "no better than holding"),
}
"""Named scores that come with their ends: what they are, and what 0 means."""
_MOST_FILES = 8
_LONGEST = 100_000
"""Characters of a text that is read as a forecast."""
_MARKED = 8
"""Texts of a page whose code is marked."""


class Chart(NamedTuple):
    """A chart, and the same in words."""

    title: str
    text: str
    drawing: Markup
    legend: str = ""
    """Which legend the page has beside it."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A structure that can be looked at in three dimensions."""

    name: str
    """Where it stands: the candidate, or the name of a file."""
    check: str
    """The check whose file it is, in hexadecimal; empty for the candidate itself."""
    file: str
    format: Format
    what: str
    """What it is, where it was read already."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """All that is drawn of one candidate."""

    structures: tuple[Offered, ...]
    still: Markup | None
    code: Markup | None
    """Its text with marks; None where it is plain."""
    charts: tuple[Chart, ...]
    trajectory: Trajectory | None
    is_late: bool
    """Whether more is to come."""

    def facts(self) -> dict[str, Any]:
        """What a page says of them; what begins with _ is for the page alone."""
        return {
            "structures": self.structures, "trajectory": self.trajectory,
            "charts": [{"title": chart.title, "text": chart.text} for chart in self.charts],
            "_still": self.still, "_code": self.code, "_charted": self.charts,
        }  # fmt: skip


class Subject(NamedTuple):
    """A candidate, and what is known of it."""

    store: Ledger
    row: CampaignRow
    found: Listed
    content: str | None
    """Its text, if it can be read."""
    events: Sequence[Event]
    """What happened to it."""


class Readings:
    """Asks readers, and remembers whether one is still at work."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.is_late = False

    def of(self, reader: Verifier, question: str | None) -> Verdict | None:
        """What a reader finds; None if it is still at work, or there is nothing to ask."""
        if question is None:
            return None
        verdict = self._viewer.read(reader, question, 0.0 if self.is_late else PATIENCE)
        self.is_late = self.is_late or verdict is None
        return verdict


def pictures(viewer: Viewer, of: Subject) -> Pictures:
    """What is drawn of a candidate."""
    readings = Readings(viewer)
    payload = _queued(of.store, of.events)
    task = payload.get("task") or {}
    offered, still = _structures(readings, of.found, of.content, of.events)
    code = marked(readings, of.content, language(of.row, task))
    charts = tuple(_charts(readings, of, task))
    kept = _transcript(viewer, of.store, of.row.name, of.found)
    turns = trajectory_of(of.found, of.content, of.events, kept=kept, payload=payload)
    return Pictures(offered, still, code, charts, turns, readings.is_late)


def _queued(store: Ledger, events: Sequence[Event]) -> Mapping[str, Any]:
    """The candidate with task and turns as the work queue has it; {} if it has it no more."""
    keys = [bytes.fromhex(e.facts["check"]) for e in events if e.facts.get("check")]
    rows = store.checks(keys=list(dict.fromkeys(keys))) if keys else []
    return next((row.payload for row in rows if row.payload.get("content") is not None), {})


def _transcript(viewer: Viewer, store: Ledger, campaign: str, found: Listed) -> Block | None:
    """The entry that holds the transcript of its last sample, if one is known."""
    if found.step is None or found.position is None:
        return None
    party = viewer.index.party(campaign, found.run, found.step, found.position)
    if party is None or party.prompt_entry is None:
        return None
    return viewer.block(store, party.prompt_entry)


# ---- Code


def language(row: CampaignRow, task: Mapping[str, Any]) -> str:
    """The language that a campaign's candidates are in; "" where that is not known."""
    kind = str(row.ladder.get("kind", ""))
    return highlighting.language_of(kind, row.ladder.get("verifiers") or (), task)


def marked(readings: Readings, content: str | None, known: str) -> Markup | None:
    """A text with the words of its code marked; None where it is shown as it is."""
    if content is None or len(content) > highlighting.LONGEST:
        return None
    text = plain_lines(content)
    verdict = readings.of(highlighting.READER, highlighting.question(text, known))
    return None if verdict is None else highlighting.marked(text, verdict)


def marked_texts(
    viewer: Viewer, row: CampaignRow, texts: Mapping[str, str], most: int
) -> tuple[dict[str, Markup], bool]:
    """Texts of a campaign with the words of their code marked, and whether more is to come.

    Args:
        viewer: Reads them.
        row: The campaign.
        texts: Texts by key; only the first few are marked.
        most: Characters of each that are shown.
    """
    readings, spoken = Readings(viewer), language(row, {})
    made = {
        key: marked(readings, text[:most], spoken) for key, text in list(texts.items())[:_MARKED]
    }
    return {key: code for key, code in made.items() if code is not None}, readings.is_late


# ---- Structures


def _structures(
    readings: Readings, found: Listed, content: str | None, events: Sequence[Event]
) -> tuple[tuple[Offered, ...], Markup | None]:
    offered, still = list[Offered](), None
    form = structures.KINDS.get(found.kind)
    if form is not None and content is not None and len(content) <= structures.LARGEST:
        form = structures.format_of(content, form)
        verdict = readings.of(structures.READERS[form], content)
        shown = None if verdict is None else structures.structure_of(verdict, form)
        if shown is not None:
            still = shown.still
            offered.append(Offered("the candidate", "", "", form, shown.name))
    return (*offered, *_files(events)), still


def _files(events: Sequence[Event]) -> Iterator[Offered]:
    """The files of its verdicts that hold structures; they are read when they are asked for."""
    count = 0
    for event in events:
        for name, file in (event.facts.get("artifacts") or {}).items():
            form = structures.FORMATS.get(name.rpartition(".")[2].lower())
            is_large = file["size"] > structures.LARGEST or file.get("note")
            if form is not None and not is_large and count < _MOST_FILES:
                count += 1
                yield Offered(name, str(event.facts.get("check", "")), name, form, "")


# ---- Charts


def _charts(readings: Readings, of: Subject, task: Mapping[str, Any]) -> Iterator[Chart]:
    verdicts = {str(e.facts.get("verifier")): e.facts for e in of.events if e.sort == "verdict"}
    settings = {
        str(each.get("name")): each.get("settings") or {}
        for each in of.row.ladder.get("verifiers") or ()
    }
    unit = str((of.row.ladder.get("target") or {}).get("unit", ""))
    text = of.content if of.content is not None and len(of.content) <= _LONGEST else None
    if text is not None and forecasts.NUMBER in settings:
        facts = verdicts.get(forecasts.NUMBER, {})
        yield from _number(readings, text, settings[forecasts.NUMBER], facts, unit)
    if text is not None and forecasts.SERIES in settings and task.get("values"):
        yield from _series(readings, text, settings[forecasts.SERIES], task)
    for facts in verdicts.values():
        yield from _scores(facts)
        yield from _equity(of.store, facts)


def _number(
    readings: Readings, content: str, settings: Mapping[str, Any], facts: Mapping[str, Any],
    unit: str,
) -> Iterator[Chart]:  # fmt: skip
    asked = forecasts.question(forecasts.NUMBER, content, None, settings)
    verdict = readings.of(forecasts.READER, asked)
    said = None if verdict is None else forecasts.said_in(verdict)
    if said is None:
        return
    came = _came(facts.get("evidence") or {})
    yield Chart(
        "The forecast and what came", forecasts.number_text(said, came),
        forecasts.number_chart(said, came, unit), "number",
    )  # fmt: skip


def _came(evidence: Mapping[str, Any]) -> float | None:
    """What came, in the units of the forecast; None while that is not known."""
    value, split = evidence.get("value"), evidence.get("split")
    if not isinstance(value, (int, float)) or not isinstance(split, (int, float)):
        return None
    return value * split


def _series(
    readings: Readings, content: str, settings: Mapping[str, Any], task: Mapping[str, Any]
) -> Iterator[Chart]:
    asked = forecasts.question(forecasts.SERIES, content, task, settings)
    verdict = readings.of(forecasts.READER, asked)
    points = [] if verdict is None else forecasts.points_in(verdict)
    if points:
        yield Chart(
            "Forecasts and what came", forecasts.series_text(points),
            forecasts.series_chart(points), "series",
        )  # fmt: skip


def _scores(facts: Mapping[str, Any]) -> Iterator[Chart]:
    """Named scores that come with an interval, against what 0 means."""
    scores = facts.get("scores") or {}
    for name, (what, zero) in _INTERVALS.items():
        ends = [scores.get(f"{name}{end}") for end in ("_low", "", "_high")]
        low, value, high = ends
        if low is None or value is None or high is None or not low <= value <= high:
            continue
        text = f"{value:.3g}, 95 % from {low:.3g} to {high:.3g}; 0 is {zero}"
        marks = [("said", value), ("zero", 0.0)]
        rows = [forecasts.Interval("95 %", low, high)]
        yield Chart(
            f"{what[0].upper()}{what[1:]}", text.replace("-", "−"),
            forecasts.intervals_chart(what, text, rows, marks), "interval",
        )  # fmt: skip


def _equity(store: Ledger, facts: Mapping[str, Any]) -> Iterator[Chart]:
    """What a strategy had earned at each price."""
    file = (facts.get("artifacts") or {}).get(equity.EQUITY)
    if file is None or file["size"] > equity.LARGEST:
        return
    worth = equity.read(store.artifact(file["digest"]) or b"")
    if len(worth) > 1:
        yield Chart(
            "What was earned", forecasts.equity_text(worth), forecasts.equity_chart(worth),
            "equity",
        )  # fmt: skip
