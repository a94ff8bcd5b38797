"""Cases are read and results handed in by pages: in a real browser, with an eye on its policy."""

import csv
import io
import os
import sys
from collections.abc import Iterator
from json import dumps
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from chromium import Tab
from serving import serving

import verifier_ladder as vl
from verifier_ladder.plates import approve
from verifier_ladder.server.tokens import TokenFile

HOSTILE = '"><script>document.title="owned"</script><img src=http://example.org/x.png>'
LADDER = f"""
import verifier_ladder as vl
from verifier_ladder.tiers.world.expert import ExpertCase

check = vl.verifier(name="length", kind="text", version="1", isolation="inline")(
    lambda candidate: float(len(candidate.content))
)
taste = ExpertCase(ask={HOSTILE!r}, kind="text", low=0, high=10, unit={HOSTILE[:40]!r})
ladder = vl.Ladder(
    "asking", [check, taste], policy="all_tiers", budget={{"world": "unlimited"}}
)
"""


class Server(NamedTuple):
    """A server whose three cases are open."""

    url: str
    folder: Path
    secret: str
    """A token of its only reader."""

    def open_cases(self) -> int:
        with vl.Client(self.url, self.secret) as client:
            return len(client.cases())


@pytest.fixture
def server(tmp_path: Path, until: Any) -> Iterator[Server]:
    (tmp_path / "served.py").write_text(LADDER)
    secret = TokenFile(tmp_path / "ledger.db.tokens").add(HOSTILE[:60], ["admin"])
    command = [
        sys.executable, "-P", "-m", "verifier_ladder.cli", "serve", "served.py:ladder", "--pages",
        "--json", "--port", "0", "--linger", "0 s", "--workers", "1",
    ]  # fmt: skip
    own = {"VLADDER_LEDGER": "ledger.db", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    with serving(command, os.environ | own, tmp_path) as url:
        made = Server(url, tmp_path, secret)
        with vl.Client(made.url, secret) as client:
            client.score([HOSTILE, "a rose", "so much"], deadline=0)
        until(lambda: made.open_cases() == 3)
        yield made


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    """A page of a browser that reaches this machine and no other."""
    with browser.tab() as opened:
        opened.call("Emulation.setFocusEmulationEnabled", enabled=True)
        yield opened


class Keys:
    """Somebody without a mouse."""

    def __init__(self, tab: Tab, until: Any) -> None:
        self.tab, self._until = tab, until

    def type(self, field: str, text: str) -> None:
        """Write into a field that has the focus already, in the place of what is there."""
        self.reach(field)
        self.tab.run(f"document.activeElement.select(), {dumps(field)}")
        self.tab.call("Input.insertText", text=text)

    def reach(self, field: str) -> None:
        """Wait until a field or a button has the focus that a page begins with."""
        found = f"document.activeElement && document.activeElement.matches({dumps(field)})"
        self._until(lambda: self.tab.run(found))

    def enter(self) -> str:
        """Press Enter, and wait for the page that it leads to; what that page says."""
        self.tab.press("Enter", leads_on=True)
        assert self.tab.run("window.violations") == []
        assert self.tab.run("document.title") != "owned"
        return str(self.tab.run("document.querySelector('#main').textContent"))


@pytest.fixture
def keys(tab: Tab, until: Any) -> Keys:
    return Keys(tab, until)


def log_in(keys: Keys, server: Server, page: str, secret: str = "") -> str:
    keys.tab.open(f"{server.url}{page}")
    keys.type("#token", secret or server.secret)
    return keys.enter()


@pytest.mark.browser
def test_one_reads_cases_by_keyboard_alone(keys: Keys, server: Server) -> None:
    assert "this token is not valid" in log_in(keys, server, "/review", "vladder_0_x")
    assert "claimed for" in log_in(keys, server, "/review")
    keys.reach("button")  # The next case.
    assert "Claimed for" in keys.enter()

    keys.type("#value", "1,5")
    assert "is no answer" in keys.enter()
    assert "1,5" == keys.tab.run("document.querySelector('#value').value")
    keys.type("#value", "7")
    keys.tab.press("Tab")
    keys.type("#comment", HOSTILE)
    keys.tab.press("Tab")
    keys.reach("button[value=answer]")
    told = keys.enter()
    assert "The answer that stands is accept 7" in told
    assert HOSTILE in told
    assert 2 == server.open_cases()

    keys.reach("button")
    assert "Claimed for" in keys.enter()
    keys.type("#value", "decline")
    assert "abstain" in keys.enter()
    keys.tab.follow("asking")
    keys.tab.run("document.querySelector('.logout button').focus()")
    keys.enter()
    keys.tab.open(f"{server.url}/review")
    assert "Token" in keys.tab.run("document.querySelector('#main').textContent")
    assert not [url for url in keys.tab.asked() if "example.org" in url]


@pytest.mark.browser
def test_a_broken_file_of_a_laboratory_is_told_row_by_row_and_taken_as_far_as_one_says(
    keys: Keys, server: Server
) -> None:
    with vl.open_ledger(server.folder / "ledger.db") as ledger:
        approve(ledger, "asking", 10, by="the head")
    log_in(keys, server, "/laboratory")
    keys.tab.run("document.querySelector('form[action=\"/laboratory\"] button').focus()")
    assert "has left" in keys.enter()
    address = keys.tab.run("document.querySelector('a[href^=\"/order.csv\"]').href")
    order = httpx.get(address, headers={"Authorization": f"Bearer {server.secret}"}).text
    rows = list(csv.DictReader(io.StringIO(order, newline="")))
    for row, value in zip(rows, ("3", HOSTILE, "11"), strict=True):
        row["value"] = value
    results = server.folder / "results.csv"
    with results.open("w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)

    root = keys.tab.call("DOM.getDocument")["root"]["nodeId"]
    field = keys.tab.call("DOM.querySelector", nodeId=root, selector="#file")["nodeId"]
    keys.tab.call("DOM.setFileInputFiles", nodeId=field, files=[str(results)])
    keys.tab.run("document.querySelector('form[action=\"/upload\"] button').focus()")
    told = keys.enter()

    assert "1 new answer" in told
    assert "is no answer" in told
    assert "must lie between 0 and 10" in told
    assert 3 == server.open_cases()
    keys.tab.run("document.querySelector('[name=only_good]').click()")
    keys.tab.run("document.querySelector('form.work button').focus()")
    assert "1 answer taken" in keys.enter()
    assert 2 == server.open_cases()
    assert not [url for url in keys.tab.asked() if "example.org" in url]
