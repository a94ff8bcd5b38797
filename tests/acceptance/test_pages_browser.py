"""Pages about a ledger, used in a real browser: by keyboard, with an eye on its policy."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scored
import viewed
from chromium import Tab
from serving import serving

from verifier_ladder.ledger import open_ledger

HOSTILE = '"><script>document.title="owned"</script><img src=http://example.org/x.png>'


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as store:
        viewed.record(store, group=HOSTILE)
    return path


@pytest.fixture
def address(ledger: Path, tmp_path: Path) -> Iterator[str]:
    """Where `vladder view` shows the ledger."""
    command = [sys.executable, "-m", "verifier_ladder.cli", "view", str(ledger), "--port", "0"]
    own = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "PATH": "/usr/bin"}
    with serving([*command, "--json"], own) as url:
        yield url


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    """A page of a browser that reaches this machine and no other."""
    with browser.tab() as opened:
        yield opened


@pytest.fixture
def read(tab: Tab, address: str, until: Any) -> None:
    """The first page, once it shows what was recorded before the viewer came."""
    tab.open(address)
    until(lambda: tab.run("!document.querySelector('progress')"))


@pytest.mark.browser
@pytest.mark.usefixtures("read")
def test_one_follows_a_candidate_from_the_campaign_to_the_decision(tab: Tab, until: Any) -> None:
    tab.follow("try")
    until(lambda: tab.run("document.body.textContent.includes('Who won')"))
    assert tab.run("document.querySelector('#wrong').parentNode.textContent.includes('ALARM')")
    tab.follow("Candidates")
    tab.run("document.querySelector('#text').value = '" + viewed.ETHANOL.content.hex()[:12] + "'")
    tab.events.clear()
    tab.run("document.querySelector('form').requestSubmit()")
    tab._await("Page.loadEventFired")
    tab.follow("CCO")
    told = tab.run("document.querySelector('#timeline').parentNode.textContent")

    assert "ask the simulation tier: believed −5 ± 1" in told
    assert "measured says −4.20 ± 0.20 kcal/mol" in told
    tab.follow("its group")
    assert tab.run("document.title") != "owned"
    assert tab.complaints() == []
    assert not [url for url in tab.asked() if "example.org" in url]


@pytest.mark.browser
def test_what_violates_the_policy_would_be_noticed(tab: Tab, address: str) -> None:
    """The control of the test above."""
    tab.open(address)
    tab.run("document.body.setAttribute('style', 'color: red')")
    tab.run("document.body.append(Object.assign(new Image(), {src: 'http://example.org/x.png'}))")

    assert len(tab.complaints()) >= 2


@pytest.mark.browser
def test_new_entries_appear_by_themselves(
    tab: Tab, address: str, ledger: Path, until: Any
) -> None:
    tab.open(f"{address}/ledger")
    with open_ledger(ledger) as store:
        viewed.record(store, "another")
    until(lambda: "another" in tab.run("document.querySelector('#main').textContent"))

    assert tab.complaints() == []


@pytest.mark.browser
@pytest.mark.usefixtures("read")
def test_what_was_opened_stays_open_when_a_row_comes_before_it(
    tab: Tab, address: str, ledger: Path, until: Any
) -> None:
    tab.open(f"{address}/candidate?campaign=try&key={viewed.ETHANOL.content.hex()}")
    opened = "document.querySelector('details[open]')?.parentElement.innerText"
    # As it was before its first line came.
    tab.run("document.querySelector('.events li').remove()")
    tab.run("document.querySelectorAll('details')[2].open = true")
    before = tab.run(opened)
    tab.run("document.querySelector('details[open] summary').focus()")
    with open_ledger(ledger) as store:
        viewed.record(store, "another")
    until(lambda: "submitted" in tab.run("document.querySelector('.events').textContent"))

    assert tab.run(opened) == before
    assert tab.run("document.activeElement.parentElement.open")


@pytest.mark.browser
@pytest.mark.usefixtures("read")
def test_on_paper_tables_are_tables_and_nothing_is_there_to_be_clicked(
    tab: Tab, address: str
) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=700, height=990, deviceScaleFactor=1,
             mobile=False)  # fmt: skip
    tab.call("Emulation.setEmulatedMedia", media="print")
    for page in ("candidates", "tiers", "runs"):
        tab.open(f"{address}/{page}?campaign=try")
        shown = "getComputedStyle(document.querySelector({!r})).display"
        assert tab.run(shown.format("tbody")) == "table-row-group", page
        assert tab.run(shown.format("nav")) == "none"
        assert tab.run("[...document.querySelectorAll('button, input:not([type=hidden]), select')]"
                       ".filter((one) => one.offsetParent).length") == 0, page  # fmt: skip
        assert tab.run("document.documentElement.scrollWidth <= innerWidth"), page


@pytest.mark.browser
def test_one_follows_numbers_and_outliers_to_their_candidates(
    tab: Tab, address: str, ledger: Path, until: Any
) -> None:
    with open_ledger(ledger) as store:
        scored.record(store, 20, "many")
    tab.open(f"{address}/ledger")
    until(lambda: "many" in tab.run("document.querySelector('#main').textContent"))
    tab.open(f"{address}/agreement?campaign=many")
    until(lambda: tab.run("document.body.textContent.includes('Furthest apart')"))
    tab.run("document.querySelector('svg a').focus()")
    assert tab.run("document.activeElement.getAttribute('aria-label')").startswith("1: ")
    tab.follow(scored.CHEAT)
    assert scored.CHEAT in tab.run("document.querySelector('h1').textContent")
    tab.follow("Tiers")
    tab.follow("20 passed")
    assert "20 candidates" in tab.run("document.querySelector('#found').textContent")
    for page in ("verifiers", "queue", "runs"):
        tab.open(f"{address}/{page}?campaign=try")
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")

    assert tab.complaints() == []
