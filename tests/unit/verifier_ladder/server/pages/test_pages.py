"""Pages about a ledger and their JSON twins, as a browser and a program get them."""

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import pytest
import viewed
from fastapi.testclient import TestClient
from histories import ESTIMATE, GATE, History, Item, ladder_spec

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block
from verifier_ladder.reward import Reward
from verifier_ladder.server.pages import rendering
from verifier_ladder.server.pages.app import PAGES, POLICY, create_viewer
from verifier_ladder.server.pages.rendering import asset
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Outcome, Verdict

HOSTILE = (
    '"><script>document.title="owned"</script><img src=http://example.org/x.png onerror=alert(1)>'
    "' \u202e\x1b[31m {{ 7 * 191 }}"
)
KEY = viewed.ETHANOL.content.hex()
ADDRESSES = {
    "ledger": "/ledger",
    "campaign": "/campaign?campaign=try",
    "candidates": "/candidates?campaign=try&order=newest",
    "candidate": f"/candidate?campaign=try&key={KEY}",
    "group": "/group?campaign=try&run=one&step=0&position=0",
    "failures": "/failures?campaign=try",
    "tiers": "/tiers?campaign=try",
    "agreement": "/agreement?campaign=try",
    "verifiers": "/verifiers?campaign=try",
    "queue": "/queue?campaign=try",
    "runs": "/runs?campaign=try",
    "diff": f"/diff?campaign=try&a={KEY}&b={viewed.METHANOL.content.hex()}",
    "versions": "/versions?campaign=try",
}
Get = Callable[..., Any]
See = Callable[[Path], Get]


def twin(address: str) -> str:
    path, _, query = address.partition("?")
    return f"{path}.json?{query}"


def test_once_a_viewer_has_started_no_page_has_to_read_its_template(
    get: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_late(*_: Any, **__: Any) -> Any:
        raise AssertionError("a template is read for a page")

    rendering._templates.cache_clear()
    get.viewer.start()
    for thread in threading.enumerate():
        if thread.name == "vl-prepare":
            thread.join(300)
    monkeypatch.setattr(jinja2.Environment, "compile", read_late)

    assert {200} == {get(address).status_code for address in ADDRESSES.values()}
    assert 404 == get("/nowhere").status_code


def test_there_is_a_test_address_for_each_page() -> None:
    assert set(PAGES) == set(ADDRESSES)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_each_page_answers_and_so_does_its_twin(get: Get, page: str) -> None:
    html, json = get(ADDRESSES[page]), get(twin(ADDRESSES[page]))

    assert (html.status_code, json.status_code) == (200, 200)
    assert html.headers["content-type"] == "text/html; charset=utf-8"
    assert json.headers["content-type"] == "application/json"
    assert "<h1" in html.text
    assert not [name for name in json.json() if name.startswith("_")]
    assert f'href="{twin(ADDRESSES[page]).replace("&", "&amp;").rstrip("?")}"' in html.text


@pytest.mark.parametrize("page", sorted(PAGES))
def test_no_page_may_run_or_load_anything_that_is_not_its_own(get: Get, page: str) -> None:
    answer = get(ADDRESSES[page])

    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "set-cookie" not in answer.headers
    assert not re.findall(r"<style|style=|<script>| on\w+=", answer.text)
    assert {"/static"} == {
        "/" + src.split("/")[1] for src in re.findall(r'src="([^"]*)"', answer.text)
    }


def test_the_first_page_leads_to_the_ledger(get: Get) -> None:
    assert get("/").headers["location"] == "/ledger"


def test_the_ledger_page_lists_its_campaigns(get: Get) -> None:
    (row,) = get("/ledger.json").json()["campaigns"]

    assert (row["name"], row["samples"], row["candidates"], row["alarms"]) == ("try", 3, 3, 1)
    assert row["best"]["label"] == "CCO"
    assert "fast → simulation → high fidelity → world" in get("/ledger").text


def test_the_campaign_page_says_who_won_beside_what_was_predicted(get: Get) -> None:
    told = get(ADDRESSES["campaign"]).text
    winner = get(twin(ADDRESSES["campaign"])).json()["winner"]

    assert (winner["label"], winner["truth"], winner["predicted"]) == ("CCO", -4.2, -5.0)
    assert "−4.20 ± 0.20" in told
    assert "<dt>predicted</dt><dd><b>−5.0 ± 1.0" in told
    assert "Why did it climb?" in told


def test_the_campaign_page_says_what_is_wrong(get: Get) -> None:
    told = get(ADDRESSES["campaign"]).text
    facts = get(twin(ADDRESSES["campaign"])).json()
    (alarm,) = facts["alarms"]

    assert (alarm["verifier"], alarm["step"], alarm["is_gamed"]) == (ESTIMATE, 0, True)
    assert re.search(r"ALARM</b> at step 0, <b>estimate</b>", told)
    assert 'class="alarm"' in told  # The line in the chart.
    assert [(b["name"], b["attempts"]) for b in facts["boundaries"]] == [("tool", 1)]
    assert "1 attempt at the tool" in told
    assert "high fidelity: 1 waiting for an answer" in told


def test_the_campaign_page_says_what_was_spent_and_what_is_an_estimate(get: Get) -> None:
    told = get(ADDRESSES["campaign"]).text
    facts = get(twin(ADDRESSES["campaign"])).json()

    assert facts["spent"]["cpu_seconds"] == pytest.approx(3.0)
    assert "an estimate" in told


def test_an_empty_ledger_says_how_a_campaign_is_opened_in_it(see: See, tmp_path: Path) -> None:
    open_ledger(tmp_path / "empty.db").close()
    told = see(tmp_path / "empty.db")("/ledger").text

    assert f"--ledger {tmp_path / 'empty.db'}" in told
    assert "vl.Campaign.open(" in told


def test_a_campaign_of_nothing_says_what_comes_next_and_shows_no_empty_tables(
    see: See, tmp_path: Path
) -> None:
    with open_ledger(tmp_path / "opened.db") as store:
        History(store)
    get = see(tmp_path / "opened.db")
    told = get(ADDRESSES["campaign"]).text

    assert "Nothing has been scored yet" in told
    assert "All by true value" not in told
    assert "Nothing has been scored yet" in get("/candidates?campaign=try").text
    assert "Nothing was spent yet" in get("/tiers?campaign=try").text


def test_what_each_tier_was_asked_for_stands_beside_what_it_says(get: Get) -> None:
    facts = get(twin(ADDRESSES["candidate"])).json()

    assert {"simulation"} == set(facts["asked_because"])
    assert "believed −5 ± 1, good enough" in facts["asked_because"]["simulation"]


def test_on_paper_and_in_print_pages_are_those_of_a_desk_by_day() -> None:
    """A sheet of paper is as narrow as a phone; what is for phones must say that it is."""
    style = asset("view.css")
    assert style is not None
    rules = re.findall(r"@media ([^{]*)\{", style[0].decode())

    assert "print" in {rule.strip() for rule in rules}
    assert [] == [rule for rule in rules if re.match(r"\((max-width|prefers-color)", rule)]


def test_candidates_are_sorted_filtered_and_searched_by_the_address(get: Get) -> None:
    def labels(query: str) -> list[str]:
        found = get(f"/candidates.json?campaign=try&{query}").json()["candidates"]
        return [row["label"] for row in found]

    assert labels("order=reward") == ["CO", "CCO", "C1CC"]
    assert labels("order=newest&outcome=rejected") == ["C1CC"]
    assert labels("reached=world") == ["CCO"]
    assert labels("text=1cc") == ["C1CC"]
    assert labels("text=&outcome=&reached=") == ["CO", "CCO", "C1CC"]


def test_a_long_text_is_found_by_its_beginning(see: See, tmp_path: Path) -> None:
    chain = "CO" * 75
    with open_ledger(tmp_path / "long.db") as store:
        History(store).score([Item(chain, chain, {GATE: Verdict.accept()})])
    found = see(tmp_path / "long.db")(f"/candidates.json?campaign=try&order=newest&text={chain}")

    assert 1 == len(found.json()["candidates"])


def test_long_lists_lead_from_page_to_page(see: See, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "long.db") as store:
        items = [
            Item(f"{n:03}", f"{n:03}", {GATE: Verdict.accept()}, Reward(n / 100, None, Tier.FAST))
            for n in range(95)
        ]
        History(store).score(items)
    get, found = see(tmp_path / "long.db"), []
    address = "/candidates?campaign=try"
    while address:
        page = get(address).text
        found += re.findall(r"<bdi>(\d{3})</bdi>", page)
        links = re.findall(r'rel="next" href="([^"]*)"', page)
        address = links[0].replace("&amp;", "&") if links else ""

    assert found == [f"{n:03}" for n in reversed(range(95))]


def test_a_candidate_page_tells_each_decision_in_words_and_numbers(get: Get) -> None:
    told = get(ADDRESSES["candidate"]).text

    for text in (
        "submitted in step 0 of run one",
        "ask the simulation tier: believed −5 ± 1, good enough for the simulation tier (−4)",
        "xtb failed at tool: SCF diverged",
        "measured says −4.20 ± 0.20 kcal/mol",
        "<b>Feedback:</b> shorter chains dissolve better",
        "calorimeter 7",
        "<code>curve.csv</code> 4 bytes, text/csv",
        "revision 1",
        "reward 0.440 ± 0.020",
        "<dt>compared with</dt><dd>−4</dd>",
    ):
        assert text in told, text


def test_a_candidate_page_gives_the_command_that_proves_a_verdict(get: Get, ledger: Path) -> None:
    facts = get(twin(ADDRESSES["candidate"])).json()
    measured = next(
        command for command, event in zip(facts["proof"], facts["timeline"], strict=True)
        if event["facts"].get("verifier") == "measured"
    )  # fmt: skip

    assert measured.startswith(f"vladder ledger prove {facts['entries'][-2]} --ledger {ledger}")
    assert f"--check {viewed.ETHANOL.check('measured').hex()}" in measured


def test_a_group_page_shows_completions_side_by_side_under_their_prompt(get: Get) -> None:
    told = get(ADDRESSES["group"]).text
    facts = get(twin(ADDRESSES["group"])).json()

    assert "Name a molecule that dissolves." in told
    assert [m["candidate"]["label"] for m in facts["members"]] == ["CO", "CCO", "C1CC"]
    assert facts["group"] == viewed.GROUP


def test_failures_are_apart_from_rejects(get: Get) -> None:
    facts = get(twin(ADDRESSES["failures"])).json()

    assert [(r["boundary"], r["text"]) for r in facts["failed"]] == [("tool", "SCF diverged")]
    assert [r["text"] for r in facts["rejected"]] == ["can't read '…'"]
    assert facts["rejected"][0]["examples"][0][2] == "C1CC"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", ""])
def test_other_names_of_this_machine_are_refused(get: Get, host: str) -> None:
    answer = get("/ledger", headers={"Host": host})

    assert answer.status_code == 421
    assert "--allow-host" not in answer.text


def test_pages_of_other_sites_are_refused(get: Get) -> None:
    assert 403 == get("/ledger.json", headers={"Origin": "http://evil.example"}).status_code


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(get: Get, method: str) -> None:
    assert 405 == get("/ledger", method).status_code


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/campaign?campaign=no", 404), ("/candidates?campaign=no", 404), ("/nowhere", 404),
        ("/candidate?campaign=try&key=00", 404), ("/candidate?campaign=try&key=xx", 422),
        ("/group?campaign=try&run=one&step=0&position=77", 404), ("/campaign", 422),
        ("/candidates?campaign=try&text=ab", 422), ("/candidates?campaign=try&after=x", 422),
        ("/candidates?campaign=try&order=odd", 422),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_on_a_page_and_as_json(
    get: Get, address: str, status: int
) -> None:
    html, json = get(address), get(twin(address))

    assert (html.status_code, json.status_code) == (status, status)
    assert "Go to the ledger" in html.text
    assert json.json()["status"] == status


def test_new_entries_are_seen_while_others_write(get: Get, ledger: Path) -> None:
    """The file was idle when the viewer came; a training begins afterwards."""
    before = get("/newest.json").json()
    with open_ledger(ledger) as store:
        history = History(store)
        history.step = 1
        history.score([replace(viewed.METHANOL, reward=Reward(0.9, 0.1, Tier.FAST))])
        get.viewer.catch_up()  # type: ignore[attr-defined]
        now = get("/newest.json").json()
        history.score([viewed.METHANOL])
        get.viewer.catch_up()  # type: ignore[attr-defined]

        assert now["newest"] == now["listed"] > before["newest"]
        assert get("/ledger.json").json()["campaigns"][0]["samples"] == 5


def test_a_viewer_leaves_the_ledger_as_it_is(see: See, ledger: Path) -> None:
    before = ledger.read_bytes()
    beside = sorted(path.name for path in ledger.parent.glob("ledger.db-*"))
    get = see(ledger)
    for address in ADDRESSES.values():
        get(address)

    assert ledger.read_bytes() == before
    assert sorted(path.name for path in ledger.parent.glob("ledger.db-*")) == beside


def test_while_the_lists_are_behind_pages_say_how_far_they_are(
    tmp_path: Path, ledger: Path
) -> None:
    app = create_viewer(ledger, index=tmp_path / "x.index", draws=False)
    with app.state.viewer.reader.reading() as store:
        newest = store.newest()
    told = TestClient(app, base_url="http://localhost").get(ADDRESSES["campaign"])
    app.state.viewer.close()

    assert told.status_code == 200
    assert f"entry 0 of {newest}" in told.text
    assert '<progress id="progress" max="1" value="0.0000">' in told.text


def test_a_viewer_says_so_when_its_ledger_goes_away(get: Get, ledger: Path) -> None:
    ledger.rename(ledger.with_name("elsewhere.db"))
    with pytest.raises(Exception, match="no ledger"):
        get.viewer.catch_up()  # type: ignore[attr-defined]
    answer = get("/ledger")

    assert answer.status_code == 503
    assert "there is no ledger" in answer.text


def test_hostile_text_is_text_in_every_field(see: See, tmp_path: Path) -> None:
    path = tmp_path / "hostile.db"
    spec = ladder_spec([GATE, ESTIMATE])
    for verifier in spec["verifiers"]:
        verifier["version"] = HOSTILE
    spec.update(kind=HOSTILE, name=HOSTILE)
    spec["target"].update(name=HOSTILE, unit=HOSTILE)
    bad = Verdict.accept(
        1.0, uncertainty=0.1, unit=HOSTILE, feedback=HOSTILE, evidence={HOSTILE: HOSTILE}
    )
    rejected = replace(Verdict.reject(HOSTILE, feedback=HOSTILE), evidence={"a": [HOSTILE]})
    text = f"{HOSTILE} \ud800"
    told = Reward(0.5, 0.1, Tier.FAST, reason=HOSTILE, feedback=HOSTILE)
    odd = Item(text, text, {GATE: Verdict.accept(), ESTIMATE: bad}, told, 1.0, 1.0)
    other = f"{HOSTILE}2"
    worse = Item(other, other, {GATE: rejected}, Reward(0.0, 0.0, reason=HOSTILE))
    failed = replace(bad, outcome=Outcome.ABSTAIN, score=None, failed_at=HOSTILE, reason=HOSTILE)
    with open_ledger(path) as store:
        history = History(store, "try", spec)
        viewed.score(history, [odd, worse], HOSTILE, HOSTILE)
        history.check(odd, ESTIMATE, failed)
        store.append(Block("alarm", "try", facts=viewed.alarm(HOSTILE, HOSTILE).as_json()))
    get = see(path)
    listed = get("/candidates.json?campaign=try&order=newest").json()["candidates"]
    assert len(listed) == 2
    addresses = [
        "/ledger", "/campaign?campaign=try", "/failures?campaign=try",
        "/candidates?campaign=try&order=newest", f"/candidates?campaign=try&text={HOSTILE[:40]}",
        *(f"/candidate?campaign=try&key={row['key']}" for row in listed),
    ]  # fmt: skip
    addresses += re.findall(r'href="(/group[^"]*)"', get(addresses[3]).text)[:1]
    for address in addresses:
        answer = get(address.replace("&amp;", "&"))
        assert answer.status_code in {200, 404}, (address, answer.text)
        assert "owned" in answer.text or address == "/ledger" or answer.status_code == 404
        for sign in ("<script>", "<img", "\u202e", "\x1b", "\ud800", "1337", 'owned"<'):
            assert sign not in answer.text, (address, sign)
        assert get(twin(address.replace("&amp;", "&"))).status_code == answer.status_code


def test_a_file_beside_a_verdict_is_downloaded_and_shown_by_no_browser(
    see: See, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = replace(viewed.MEASUREMENT, artifacts={"curve.csv": b"3,4\n"})
    monkeypatch.setattr(viewed, "MEASUREMENT", measured)
    with open_ledger(tmp_path / "file.db") as store:
        viewed.record(store)
    get = see(tmp_path / "file.db")
    (address,) = re.findall(r'href="(/artifact[^"]*)"', get(ADDRESSES["candidate"]).text)
    answer = get(address)

    assert (200, b"3,4\n") == (answer.status_code, answer.content), answer.text
    assert "attachment" == answer.headers["content-disposition"]
    assert "nosniff" == answer.headers["x-content-type-options"]
    assert "application/octet-stream" == answer.headers["content-type"]
    assert 404 == get(f"/artifact?digest={'0' * 64}").status_code
    assert 422 == get("/artifact?digest=../../x").status_code


def test_the_ledger_counts_the_alarms_that_a_campaign_shows(see: See, tmp_path: Path) -> None:
    crashed = Item("C", "C", {GATE: Verdict.abstain("killed", failed_at="engine")})
    with open_ledger(tmp_path / "silent.db") as store:
        history = History(store)
        history.score([crashed] * 60)
        store.append(Block("alarm", "try", facts=viewed.alarm().as_json()))
    get = see(tmp_path / "silent.db")
    (row,) = get("/ledger.json").json()["campaigns"]

    assert row["alarms"] == len(get("/campaign.json?campaign=try").json()["alarms"]) == 2


def test_trainings_are_shown_before_their_evaluations(see: See, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "evaluated.db") as store:
        history = History(store)
        for run in ("one", "one/eval", "two", "two/eval"):
            history.score([viewed.METHANOL], run)
    get = see(tmp_path / "evaluated.db")
    told = get("/campaign.json?campaign=try").json()

    assert told["run"] == "two"
    assert told["runs"] == ["two", "one", "two/eval", "one/eval"]
    assert get("/runs.json?campaign=try").json()["chosen_runs"] == ["two", "one"]


def test_of_campaigns_that_there_are_not_nothing_is_kept(get: Get) -> None:
    asked = [f"/{page}?campaign=none{n}" for n in range(5) for page in ("campaign", "tiers")]

    assert {404} == {get(address).status_code for address in asked}
    assert not get.viewer._waiting._until  # type: ignore[attr-defined]
