"""Tiers, agreement, verifiers, the queue and runs as pages, and lists as files."""

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import scored
from histories import DFT, ESTIMATE, GATE, MEASURED, UNIT, XTB, History, Item, ladder_spec

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

Get = Callable[..., Any]
See = Callable[[Path], Get]
HOSTILE = (
    '"><script>document.title="owned"</script><img src=http://example.org/x.png onerror=alert(1)>'
    "' \u202e\x1b[31m {{ 7 * 191 }}"
)
PAGES = ("tiers", "agreement", "verifiers", "queue", "runs")
MANY = 300


@pytest.fixture
def many(see: See, tmp_path: Path) -> Get:
    """A ledger with some hundred candidates, all of them measured."""
    with open_ledger(tmp_path / "many.db") as store:
        scored.record(store, MANY)
    return see(tmp_path / "many.db")


def both(get: Get, page: str, query: str = "") -> tuple[str, Any]:
    """A page and its twin."""
    html, twin = (get(f"/{page}{ending}?campaign=try{query}") for ending in ("", ".json"))
    assert (html.status_code, twin.status_code) == (200, 200), html.text
    return html.text, twin.json()


def queue_of(get: Get, until: Any) -> tuple[str, Any]:
    """The page of the queue once that was looked at."""
    until(lambda: get("/queue.json?campaign=try").json()["queue"] is not None)
    return both(get, "queue")


def count_behind(get: Get, html: str, text: str) -> int:
    """How many candidates the list has to which a number of the funnel leads."""
    (address,) = re.findall(rf'<a href="(/candidates[^"]*)">{text}</a>', html)
    found = get(address.replace("&amp;", "&").replace("/candidates?", "/candidates.json?")).json()
    assert found["count"] == len(found["candidates"])
    return int(found["count"])


@pytest.mark.parametrize("page", PAGES)
def test_of_a_campaign_without_samples_each_page_says_what_there_is(
    see: See, tmp_path: Path, page: str
) -> None:
    with open_ledger(tmp_path / "new.db") as store:
        History(store)
        store.open_campaign("empty", {"verifiers": [], "kind": "text", "name": ""}, b"1" * 32)
    get = see(tmp_path / "new.db")
    both(get, page)

    assert get(f"/{page}?campaign=empty").status_code == 200
    assert get(f"/{page}.json?campaign=empty").status_code == 200


@pytest.mark.parametrize("page", PAGES)
def test_each_page_leads_to_all_others(get: Get, page: str) -> None:
    told, _ = both(get, page)

    for other in (*PAGES, "campaign", "candidates", "failures"):
        assert f'<a href="/{other}?campaign=try"' in told
    assert f'<a href="/{page}?campaign=try" aria-current="page">' in told


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_many_candidates_is_light(many: Get, page: str) -> None:
    import gzip

    html, twin = (many(f"/{page}{end}?campaign=try") for end in ("", ".json"))

    assert len(gzip.compress(html.content)) < 50_000
    assert len(gzip.compress(twin.content)) < 50_000


class TestTiers:
    """The funnel, cost, time and budgets."""

    def test_every_number_of_the_funnel_leads_to_its_list(self, get: Get) -> None:
        told, facts = both(get, "tiers")
        fast = facts["tiers"][0]

        assert (fast["accepted"], fast["rejected"]) == (2, 1)
        assert count_behind(get, told, "1 rejected") == 1
        assert count_behind(get, told, "2 passed") == 2

    def test_costs_are_told_by_tier_and_resource_and_together(self, many: Get) -> None:
        _, facts = both(many, "tiers")
        spent = {
            (cost["tier"], cost["resource"]): (cost["settled"], cost["failed"])
            for cost in facts["costs"]
        }

        assert spent["fast", "cpu_seconds"] == (pytest.approx(MANY * 0.5), 0.0)
        assert spent["world", "cpu_seconds"] == (pytest.approx(MANY * 2.0), 0.0)
        assert spent["total", "cpu_seconds"][0] == pytest.approx(MANY * 4.5)

    def test_what_would_have_been_spent_is_called_an_estimate(self, get: Get) -> None:
        told, facts = both(get, "tiers")
        (cost,) = (c for c in facts["costs"] if c["tier"] == "simulation")

        # One of the two acceptable candidates took 2 s.
        assert (cost["settled"], cost["failed"]) == (pytest.approx(2.0), 0.0)
        assert cost["everything"] == pytest.approx(4.0)
        assert "is an estimate" in told

    def test_what_is_not_recorded_is_not_zero(self, get: Get) -> None:
        _, facts = both(get, "tiers")

        assert facts["elapsed"]["world"] == {"wall": None, "latency": None}

    def test_a_budget_says_how_far_it_is_spent(self, see: See, tmp_path: Path) -> None:
        with open_ledger(tmp_path / "b.db") as store:
            history = scored.record(store, 4)
            store.set_caps(history.name, {(int(Tier.WORLD), Resource.CPU_SECONDS): 16.0})
        told, facts = both(see(tmp_path / "b.db"), "tiers")
        (budget,) = facts["budgets"]

        assert (budget["tier"], budget["cap"]) == ("world", 16.0)
        assert budget["spent"] == pytest.approx(8.0)
        assert "50 % <small>of 16 s" in told


class TestAgreement:
    """Tiers against each other, and predictions against what came of them."""

    def test_the_cheapest_comes_first_against_the_top_then_neighbours(self, many: Get) -> None:
        told, facts = both(many, "agreement")

        first = facts["pairs"][0]

        assert (first["low"], first["high"]) == ("fast", "world")
        assert told.index("Fast against world") < told.index("Fast against simulation")
        assert f"of {MANY} pairs" in told
        assert 0.5 < facts["pairs"][0]["correlation"] < 1.0

    def test_outliers_are_labelled_and_lead_to_their_candidate(self, many: Get) -> None:
        told, _ = both(many, "agreement")
        (address,) = set(re.findall(rf'<a href="([^"]*)" aria-label="\d+: {scored.CHEAT}"', told))

        assert scored.CHEAT in many(address.replace("&amp;", "&")).text

    def test_suspicious_winners_are_told_with_the_worst_first(self, many: Get) -> None:
        told, facts = both(many, "agreement")

        assert facts["pairs"][0]["suspicious"][0]["candidate"]["label"] == scored.CHEAT
        assert "Suspicious winners" in told

    def test_predictions_are_compared_with_what_came(self, many: Get) -> None:
        told, facts = both(many, "agreement")

        assert [w["count"] for w in facts["calibration"]["within"]] == [MANY, MANY]
        assert sum(b["count"] for b in facts["calibration"]["bins"]) == MANY
        assert "± 1 sd" in told

    def test_of_too_few_it_says_so(self, get: Get) -> None:
        told, facts = both(get, "agreement")

        assert facts["pairs"][0]["count"] == 1
        assert facts["pairs"][0]["correlation"] is None
        assert "not known: 1 pair, and it takes 8" in told
        assert "Too few to tell" in told

    def test_a_ladder_of_one_tier_has_nothing_to_compare(self, see: See, tmp_path: Path) -> None:
        with open_ledger(tmp_path / "one.db") as store:
            History(store, "try", ladder_spec([GATE, ESTIMATE])).score([scored.item("A", 1.0)])
        told, facts = both(see(tmp_path / "one.db"), "agreement")

        assert (facts["pairs"], facts["predicted"]) == ([], None)
        assert "Fewer than two tiers of this ladder score" in told


class TestVerifiers:
    """Each version: how its checks ended, and what they cost."""

    @pytest.fixture
    def got(self, see: See, tmp_path: Path) -> Get:
        spec = ladder_spec()
        spec["verifiers"][2]["cost"] = {"seconds": 1.0}
        with open_ledger(tmp_path / "v.db") as store:
            history = scored.record(store, 3, history=History(store, "try", spec))
            lost = Item("lost", "lost", {GATE: Verdict.reject("toxic")}, Reward(0.0, 0.0))
            history.score([lost])
            diverged = Verdict.abstain("SCF diverged", failed_at="tool")
            store.append(Block("check", "try", verdicts=[history._row(lost, XTB, diverged)]))
        return see(tmp_path / "v.db")

    def test_how_its_checks_ended(self, got: Get) -> None:
        told, facts = both(got, "verifiers")
        lines = {line["verifier"]: line for line in facts["verifiers"]}
        counts = lines[XTB]["counts"]

        assert (counts["accepted"], counts["failures"]) == (3, {"tool": 1})
        assert lines[GATE]["counts"]["rejected"] == 1
        assert lines[DFT]["counts"] is None
        assert "75.0 %" in told
        assert "It has said nothing yet" in told

    def test_what_was_measured_stands_beside_what_was_declared(self, got: Get) -> None:
        told, facts = both(got, "verifiers")
        (line,) = (line for line in facts["verifiers"] if line["verifier"] == XTB)
        (cost,) = line["costs"]

        assert (cost["mean"], cost["declared"]) == (pytest.approx(2.0), 1.0)
        assert "2 ×" in told

    def test_its_failures_are_a_click_away(self, got: Get) -> None:
        told, _ = both(got, "verifiers")
        (address,) = re.findall(r'href="(/failures[^"]*verifier=xtb)"', told)
        found = got(address.replace("&amp;", "&"))

        assert "SCF diverged" in found.text
        assert "toxic" not in found.text

    def test_that_no_answer_key_is_recorded_is_said(self, got: Get) -> None:
        assert "no result of an answer key" in both(got, "verifiers")[0]


class TestQueue:
    """What waits, and for whom."""

    def test_an_open_case_and_who_waits_for_it(self, get: Get, until: Any) -> None:
        told, facts = queue_of(get, until)
        (tier,) = (t for t in facts["tiers"] if t["tier"] == "high_fidelity")
        (case,) = facts["queue"]["cases"]
        (wait,) = facts["queue"]["waits"]

        assert tier["waiting"] == 1
        assert (case["text"], case["question"]) == ("CO", "What does dft say of it?")
        assert (wait["run"], wait["verifier"], wait["samples"]) == ("one", DFT, 1)
        assert "What does dft say of it?" in told

    def test_a_case_leads_to_its_candidate(self, get: Get, until: Any) -> None:
        told, _ = queue_of(get, until)
        section = told[told.index('id="cases"') :]
        address = re.findall(r'href="(/candidates[^"]*)"', section)[0].replace("&amp;", "&")

        assert "<bdi>CO</bdi>" in get(address).text

    def test_an_empty_queue_says_that_nothing_waits(self, many: Get, until: Any) -> None:
        assert "Nothing waits." in queue_of(many, until)[0]


class TestRuns:
    """Runs and campaigns side by side."""

    @pytest.fixture
    def got(self, see: See, tmp_path: Path) -> Get:
        with open_ledger(tmp_path / "r.db") as store:
            history = History(store)
            for name, team in (("one", "red"), ("two", "red"), ("three", "blue")):
                store.add_run("try", {"name": name, "labels": {"team": team}})
            history.score([scored.item("A", -5.0, -4.0)], "one")
            history.score([scored.item("B", -5.0, -6.0)], "two")
            history.score([scored.item("C", -5.0, -5.0)], "three")
            spec = ladder_spec()
            spec["verifiers"][2]["version"] = "9"
            History(store, "other", spec).score([scored.item("D", -5.0, -7.0)], "far")
        return see(tmp_path / "r.db")

    def test_the_newest_two_stand_side_by_side_unless_others_are_named(self, got: Get) -> None:
        told, facts = both(got, "runs")
        assert [s["run"] for s in facts["sides"]] == ["three", "two"]
        assert [s["best"]["label"] for s in facts["sides"]] == ["C", "B"]
        assert 'aria-label="mean reward told by step"' in told

        _, facts = both(got, "runs", "&run=one&run=three")
        assert [s["run"] for s in facts["sides"]] == ["one", "three"]

    def test_of_runs_it_says_what_differs_in_what_they_say_of_themselves(self, got: Get) -> None:
        _, facts = both(got, "runs", "&run=one&run=two&run=three")

        assert [found["differences"] for found in facts["run_differences"]] == [
            [], [{"where": ["labels", "team"], "one": "red", "other": "blue"}],
        ]  # fmt: skip

    def test_of_campaigns_it_says_what_differs_in_their_ladders(self, got: Get) -> None:
        told, facts = both(got, "runs", "&other=other")
        (found,) = facts["ladder_differences"]

        assert [(s["campaign"], s["run"]) for s in facts["sides"]] == [("try", ""), ("other", "")]
        assert [s["best"]["label"] for s in facts["sides"]] == ["B", "D"]
        assert found["differences"] == [
            {"where": ["verifiers", XTB, "version"], "one": "1", "other": "9"}
        ]
        assert "verifiers, xtb, version" in told

    @pytest.mark.parametrize(
        ("query", "status"),
        [
            ("&run=nobody", 404), ("&other=nobody", 404),
            ("".join(f"&run={n}" for n in range(7)), 422),
            ("&run=one&run=two&run=three&other=other", 200),
        ],
    )  # fmt: skip
    def test_what_is_not_there_is_said(self, got: Get, query: str, status: int) -> None:
        assert got(f"/runs?campaign=try{query}").status_code == status


class TestFiles:
    """Lists of candidates as CSV and JSON lines."""

    @pytest.mark.parametrize("size", [7, 500])
    def test_the_whole_list_comes_in_its_order(
        self, many: Get, size: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("verifier_ladder.server.pages.exporting._SIZE", size)
        table = many("/candidates.csv?campaign=try&order=truth")
        lines = many("/candidates.jsonl?campaign=try&order=truth").text.splitlines()
        rows = list(csv.DictReader(StringIO(table.text)))
        listed = [json.loads(line) for line in lines]

        assert len(rows) == len(listed) == MANY
        assert [row["label"] for row in rows] == [row["label"] for row in listed]
        assert [row["truth"] for row in listed] == sorted(row["truth"] for row in listed)
        assert float(rows[0]["truth"]) == listed[0]["truth"]
        assert float(rows[0]["score_simulation"]) == listed[0]["scores"]["simulation"]["value"]
        assert table.headers["content-disposition"] == 'attachment; filename="candidates.csv"'

    def test_filters_are_those_of_the_page(self, get: Get) -> None:
        found = get("/candidates.csv?campaign=try&order=newest&by=fast&said=rejected").text

        assert [row["label"] for row in csv.DictReader(StringIO(found))] == ["C1CC"]

    def test_the_page_leads_to_its_files(self, get: Get) -> None:
        page = get("/candidates?campaign=try&order=newest&outcome=rejected").text
        for ending in ("csv", "jsonl"):
            (address,) = re.findall(rf'href="(/candidates\.{ending}[^"]*)"', page)
            assert "C1CC" in get(address.replace("&amp;", "&")).text

    @pytest.mark.parametrize("ending", ["csv", "jsonl"])
    @pytest.mark.parametrize(
        ("query", "status"), [("campaign=no", 404), ("campaign=try&text=ab", 422), ("", 422)]
    )
    def test_what_can_not_be_listed_is_said_as_json(
        self, get: Get, ending: str, query: str, status: int
    ) -> None:
        answer = get(f"/candidates.{ending}?{query}")

        assert answer.status_code == status
        assert answer.json()["status"] == status

    def test_no_cell_is_run_by_a_spreadsheet(self, see: See, tmp_path: Path) -> None:
        with open_ledger(tmp_path / "h.db") as store:
            History(store).score([scored.item('=HYPERLINK("http://example.org")', -5.0)])
        found = see(tmp_path / "h.db")("/candidates.csv?campaign=try").text
        (row,) = csv.DictReader(StringIO(found))

        assert row["label"].startswith("'=")


def test_lists_can_be_cut_down_to_what_a_tier_said(get: Get) -> None:
    def labels(query: str) -> list[str]:
        found = get(f"/candidates.json?campaign=try&order=newest&{query}").json()["candidates"]
        return [row["label"] for row in found]

    assert labels("by=fast&said=rejected") == ["C1CC"]
    assert labels("by=world&said=accepted") == ["CCO"]
    assert labels("by=world&said=rejected") == []
    assert labels("by=fast&said=accepted&reached=world") == ["CCO"]


def test_those_of_which_a_tier_said_so_are_counted(many: Get) -> None:
    found = many("/candidates.json?campaign=try&order=truth&by=world&said=accepted").json()

    assert found["count"] == MANY
    assert found["candidates"]


def test_hostile_text_is_text_in_every_field(see: See, tmp_path: Path, until: Any) -> None:
    spec = ladder_spec()
    for verifier in spec["verifiers"]:
        verifier["version"] = HOSTILE
        verifier["unit"] = HOSTILE
    spec.update(kind=HOSTILE, name=HOSTILE)
    spec["target"].update(name=HOSTILE, unit=HOSTILE)
    text = f"{HOSTILE} \ud800"
    items = [
        replace(
            scored.item(f"{text}{n}", float(n)), mean=float(n), deviation=1.0,
            verdicts={ESTIMATE: Verdict.accept(float(n), uncertainty=0.1, unit=HOSTILE)},
        )
        for n in range(12)
    ]  # fmt: skip
    with open_ledger(tmp_path / "hostile.db") as store:
        history = History(store, "try", spec)
        history.score(items, HOSTILE)
        told = [Verdict.accept(float(-n), uncertainty=0.1, unit=UNIT) for n in range(12)]
        scored.judge(history, items, MEASURED, told)
        lost = Verdict.abstain(HOSTILE, failed_at=HOSTILE)
        store.append(Block("check", "try", verdicts=[history._row(items[0], XTB, lost)]))
        history.enqueue(scored.item(f"{HOSTILE}0"), DFT, CheckState.WAITING)
        other = History(store, "other", ladder_spec())
        other.score([scored.item("A", 1.0)], "far")
    get = see(tmp_path / "hostile.db")
    until(lambda: get("/queue.json?campaign=try").json()["queue"] is not None)
    addresses = [f"/{page}?campaign=try" for page in PAGES]
    addresses += [
        "/runs?campaign=other&other=try",
        "/candidates?campaign=try&by=fast&said=accepted",
    ]
    for address in addresses:
        answer = get(address)
        assert answer.status_code == 200, (address, answer.text)
        assert "owned" in answer.text, address
        for sign in ("<script>", "<img", "\u202e", "\x1b", "\ud800", "1337", 'owned"<'):
            assert sign not in answer.text, (address, sign)
        path, _, query = address.partition("?")
        assert get(f"{path}.json?{query}").status_code == 200
    for ending in ("csv", "jsonl"):
        found = get(f"/candidates.{ending}?campaign=try&order=newest").text
        assert not {"\u202e", "\x1b", "\ud800"} & set(found)
