"""The report in a browser that has no network: no errors, no requests, its own style."""

import json
from pathlib import Path
from typing import Any

import pytest
from histories import ESTIMATE, UNIT, XTB, History, Item, cost

from verifier_ladder.ledger import open_ledger
from verifier_ladder.report import write_report
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

HOSTILE = '"><script>document.title="owned"</script><img src=http://example.org/x.png>\u202e'
BROKEN_PAGE = """<!DOCTYPE html><html><head>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src http:"></head>
<body style="color: red"><script>1</script><img src="http://example.org/x.png"></body></html>"""


def opened(browser: Any, page: Path) -> tuple[str, list[str], list[str]]:
    """The page's HTML, what the console said, and the addresses that were asked for."""
    log = page.with_suffix(".netlog.json")
    done = browser._run(
        "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom",
        f"--log-net-log={log}", "--net-log-capture-mode=IncludeSensitive", page.as_uri(),
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    asked = {
        str(event.get("params", {}).get("url", ""))
        for event in json.loads(log.read_text())["events"]
        if isinstance(event.get("params"), dict)
    }
    # A browser with an empty profile asks for its own updates; a page asks for what it names.
    return done.stdout, console, sorted(url for url in asked if "example.org" in url)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    history = History(open_ledger(None), "try")
    items = [
        Item(smiles, smiles, {ESTIMATE: Verdict.accept(score, uncertainty=1.0, unit=UNIT)},
             Reward(0.5, 0.1, Tier.FAST), score, 1.0, reason=1)
        for smiles, score in (("CCO", -5.0), ("CO", -5.1), ("O", -6.3))
    ]  # fmt: skip
    bad = Item(HOSTILE, Verdict.reject(HOSTILE), {}, Reward(0.0, 0.0, Tier.FAST))
    history.score([*items, bad])
    for each in items:
        history.check(each, XTB, cost(Verdict.accept(-5.0, uncertainty=1.0, unit=UNIT), 1.0))
    return write_report(history.ledger, "try", tmp_path / "report.html")


@pytest.mark.browser
def test_the_report_opens_without_an_error_or_a_request(browser: Any, report: Path) -> None:
    html, console, asked = opened(browser, report)

    assert "The best candidates" in html
    assert "<title>try – verifier-ladder</title>" in html
    assert console == []
    assert asked == []


@pytest.mark.browser
def test_a_page_with_errors_and_requests_would_be_noticed(browser: Any, tmp_path: Path) -> None:
    """The control of the test above: what it looks for does show."""
    page = tmp_path / "broken.html"
    page.write_text(BROKEN_PAGE)

    _, console, asked = opened(browser, page)

    assert len(console) >= 2
    assert asked != []


@pytest.mark.browser
def test_the_report_is_drawn_with_its_style(browser: Any, report: Path, tmp_path: Path) -> None:
    """A page whose style sheet was refused is a few black words on white: a small picture."""
    styled = browser.screenshot(report, tmp_path / "styled.png")
    bare = tmp_path / "bare.html"
    html = report.read_text(encoding="utf-8")
    bare.write_text(html.replace("style-src 'sha256-", "style-src 'sha256-x"), encoding="utf-8")
    plain = browser.screenshot(bare, tmp_path / "plain.png")

    assert styled.read_bytes() != plain.read_bytes()
