"""The report renders whatever a campaign holds, and nothing a model wrote becomes markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from histories import (
    DFT,
    ESTIMATE,
    GATE,
    UNIT,
    XTB,
    History,
    Item,
    cost,
    ladder_spec,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.candidate import SampleId
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.report import render_report, write_report
from verifier_ladder.report.charts import reward_chart, uncertainty_chart
from verifier_ladder.reward import Reward
from verifier_ladder.scheduler.drift import Alarm, Direction
from verifier_ladder.scheduler.shadow import shadow_name
from verifier_ladder.summary.records import CurvePoint
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.simulation.predictors import SYNTHETIC
from verifier_ladder.verdict import Verdict

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"'><svg onload=alert(1)>",
    "</style><script>1</script>", "\x1b[31mred\x1b[0m", "\u202egnp.exe", "{{ 1234 * 5678 }}",
    "{% include 'x' %}", "javascript:alert(1)", "&lt;b&gt;", "<!--", "]]>", "\x00\x01", "\ud800",
)  # fmt: skip
BLOCKS = "html head meta title style body header main section article div p h1 h2 h3 figure"
LISTS = "ol ul li dl dt dd table thead tbody tr th td figcaption"
WORDS = "span i b em small code bdi"
PICTURES = "svg desc rect line text path circle ellipse"
TAGS = {*BLOCKS.split(), *LISTS.split(), *WORDS.split(), *PICTURES.split()}


class Page(HTMLParser):
    """Collects every tag and attribute of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def text_history(ladder: tuple[str, ...] = (GATE, ESTIMATE, XTB, DFT)) -> History:
    """A campaign about text: nothing is drawn, so no worker has to be started."""
    spec = ladder_spec(ladder)
    spec["kind"] = "text"
    return History(open_ledger(None), "try", spec)


def item(text: str, score: float = -5.0) -> Item:
    verdicts = {GATE: Verdict.accept(), ESTIMATE: Verdict.accept(score, unit=UNIT)}
    return Item(text, text, verdicts, Reward(0.5, 0.1, Tier.FAST), score, 1.0, reason=1)


def assert_safe(html: str) -> Page:
    page = Page(html)
    assert page.tags <= TAGS
    assert not {name for name in page.attributes if name.startswith("on")}
    assert not page.attributes.keys() & {"src", "href", "style", "srcdoc", "action", "xlink:href"}
    assert not {c for c in html if (ord(c) < 32 and c != "\n") or 0x7F <= ord(c) < 0xA0}
    assert "\u202e" not in html
    return page


def test_a_campaign_without_samples_has_a_page() -> None:
    page = assert_safe(render_report(text_history().ledger, "try"))

    assert "Nothing has been scored yet." in "".join(page.words)


def test_a_ladder_of_one_tier_has_a_page() -> None:
    history = text_history((ESTIMATE,))
    history.score([item("a"), item("b")])

    assert_safe(render_report(history.ledger, "try"))


def test_a_campaign_that_rejected_everything_has_a_page() -> None:
    history = text_history()
    history.score([Item("x", Verdict.reject("no"), {}, Reward(0.0, 0.0, Tier.FAST))] * 3)

    words = "".join(assert_safe(render_report(history.ledger, "try")).words)

    assert "The best candidates" not in words
    assert "Nothing failed." in words


def test_a_campaign_in_which_everything_failed_has_a_page() -> None:
    history = text_history()
    failed = Verdict.abstain("a worker crashed", failed_at="engine")
    history.score([Item("x", "x", {GATE: failed}, Reward(None, failed_at="engine"))])

    words = "".join(assert_safe(render_report(history.ledger, "try")).words)

    assert "Nothing was rejected." in words
    assert "a worker crashed" in words


def test_rejects_and_failures_are_in_different_sections() -> None:
    history = text_history()
    good = item("fine")
    history.score([good, Item("x", Verdict.reject("too long"), {}, Reward(0.0, 0.0, Tier.FAST))])
    history.check(good, XTB, cost(Verdict.abstain("SCF diverged", failed_at="tool"), 2.0))

    html = render_report(history.ledger, "try")

    rejects, failures = html.split('id="rejects"')[1].split('id="failures"')
    assert "too long" in rejects
    assert "too long" not in failures
    assert "SCF diverged" in failures
    assert "SCF diverged" not in rejects


def test_a_drift_alarm_is_told_and_what_it_names_is_only_text() -> None:
    history = text_history()
    history.score([item("fine")])
    first = SampleId("<b>run</b>", 3, 1)
    alarm = Alarm(ESTIMATE, Direction.OVERRATED, 9, first, first, ())
    history.ledger.append(Block("alarm", "try", facts=alarm.as_json()))

    words = "".join(assert_safe(render_report(history.ledger, "try")).words)

    assert "1 alarm" in words
    assert f"{ESTIMATE} is being gamed" in words
    assert words.index(f"{ESTIMATE} is being gamed") < words.index("The funnel")
    assert "<b>run</b>" in words
    assert 'id="alarms"' not in render_report(text_history().ledger, "try")


def test_agreement_and_curve_are_drawn_with_words_for_those_who_can_not_see() -> None:
    history = text_history()
    items = [item(f"m{n}", -float(n)) for n in range(8)]
    history.score(items)
    for n, each in enumerate(items):
        history.check(each, XTB, cost(Verdict.accept(-n - 0.5, uncertainty=1.0, unit=UNIT), 1.0))

    html = render_report(history.ledger, "try")

    assert "<title>fast against simulation</title>" in html
    said = "8 candidates, rank correlation 1.00, mean absolute difference 0.50 kcal/mol"
    assert f"<desc>{said}</desc>" in html
    assert "simulation (kcal/mol)" in html
    assert "cpu-seconds spent" in html


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(text: str) -> None:
    history = text_history()
    history.score([item(text), Item("r" + text, Verdict.reject(text), {}, Reward(0.0))])
    history.check(item(text), XTB, Verdict.abstain(text, failed_at="tool"))
    history.check(item(text), DFT, Verdict.abstain(text))

    page = assert_safe(render_report(history.ledger, "try"))

    assert "7006652" not in "".join(page.words)  # 1234 * 5678: no template was run


@settings(max_examples=25)  # A page takes about 30 ms.
@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_of_a_model_becomes_markup(content: str, reason: str) -> None:
    history = text_history()
    marked = f"<i-am-model>{content}"
    history.score([
        item(marked),
        Item(f"x{marked}", Verdict.reject(f"<i-am-reason>{reason}"), {}, Reward(0.0)),
    ])  # fmt: skip

    html = render_report(history.ledger, "try")

    assert "<i-am" not in html
    assert_safe(html)


def test_a_predictor_that_predicts_nothing_is_told_in_full() -> None:
    spec = ladder_spec((GATE, ESTIMATE))
    spec["verifiers"][0]["tools"] = {"boltz": f"{'2' * 60} ({SYNTHETIC})"}

    assert SYNTHETIC in render_report(History(open_ledger(None), "try", spec).ledger, "try")


def test_the_policy_allows_the_style_sheet_and_nothing_else() -> None:
    html = render_report(text_history().ledger, "try")

    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]


def test_the_page_names_no_address() -> None:
    history = text_history()
    history.score([item("a")])

    html = render_report(history.ledger, "try")

    assert not re.findall(r"(?:https?:)?//[\w.]+\.\w+", html)
    assert "@import" not in html
    assert "url(" not in html


def test_the_file_is_written_whole_into_a_new_folder(tmp_path: Path) -> None:
    place = tmp_path / "new" / "report.html"

    assert write_report(text_history().ledger, "try", place) == place
    assert place.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [p.name for p in place.parent.iterdir()] == ["report.html"]


def test_a_place_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigError, match="name another place"):
        write_report(text_history().ledger, "try", tmp_path / "file" / "report.html")


def with_curves(*names: str) -> History:
    """Campaigns whose learner was told 0.75, where the shadow says 0.25."""
    history = text_history()
    for name in names:
        for campaign, value in ((name, 0.75), (shadow_name(name), 0.25)):
            told = History(history.ledger, campaign, history.ladder)
            item = Item("t", "t", reward=Reward(value))
            block = told._block("score", [item], "curves", 0, range(1))
            history.ledger.append(replace(block, candidates=[told._candidate(item)]))
    return history


def test_curves_of_a_campaign_and_of_others_stand_beside_each_other() -> None:
    history = with_curves("try", "<b>other")

    html = render_report(history.ledger, "try", beside=["<b>other"])

    assert html.count("Told and true by step</title>") == 2
    assert html.count("told 0.75 at first and 0.75 at last, by the shadow 0.25 and 0.25") >= 2
    assert "<b>&lt;b&gt;other</b>" in html
    assert "Told and true" not in render_report(text_history().ledger, "try")


def test_the_curves_of_the_oldest_campaign_come_first() -> None:
    history = with_curves("try", "second")

    html = render_report(history.ledger, "second", beside=["try"])

    assert html.index("<figcaption><b>try</b>") < html.index("<figcaption><b>second</b>")


def test_a_page_has_the_title_and_the_first_words_it_is_given() -> None:
    history = text_history()
    page = assert_safe(render_report(history.ledger, "try", title=HOSTILE[0], lead=HOSTILE[1]))
    plain = Page(render_report(history.ledger, "try"))

    assert page.words.count(HOSTILE[0]) == 1  # In the head it is "… – verifier-ladder".
    assert f"{HOSTILE[0]} – verifier-ladder" in page.words
    assert page.words.index(HOSTILE[0]) < page.words.index(HOSTILE[1])
    assert "try – verifier-ladder" in plain.words


def test_a_campaign_beside_it_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no campaign 'other'; it has: try"):
        render_report(text_history().ledger, "try", beside=["other"])


def test_an_unknown_campaign_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no campaign"):
        write_report(open_ledger(None), "other", tmp_path / "report.html")


def test_a_campaign_of_nothing_has_no_empty_charts_and_settings_as_a_person_writes_them() -> None:
    spec = {**ladder_spec([GATE, XTB]), "kind": "text"}
    spec["policy"] = {"name": "thresholds", "thresholds": {"world": -5.5}, "steepness": None}
    history = History(open_ledger(None), "try", spec)
    words = " ".join("".join(Page(render_report(history.ledger, "try")).words).split())

    assert "Nothing has been scored yet." in words
    assert "What the money bought" not in words
    assert "Do the cheap tiers foretell" not in words
    assert "thresholds world -5.5; steepness none" in words


def test_little_cpu_time_has_a_unit_of_its_own() -> None:
    curve = [CurvePoint(seconds, None, 0.5, 0.0) for seconds in (0.0, 160e-6)]

    assert "cpu-microseconds spent" in reward_chart(curve)
    assert ">−0.2<" not in uncertainty_chart(curve)  # Nothing is less unsure than sure.
