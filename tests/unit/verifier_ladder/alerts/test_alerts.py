"""Alerts: each cause is told to each receiver, at least once and then no more."""

import asyncio
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from time import time
from typing import Any

import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.alerts import AlertRules, load_rules
from verifier_ladder.alerts.alerter import Alerter, Alerts
from verifier_ladder.alerts.causes import causes
from verifier_ladder.campaignrecord import AlarmWatch
from verifier_ladder.cli.app import app
from verifier_ladder.cost import Cost
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, Charged
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.server.webhooks.signing import check, key_of, new_secret
from verifier_ladder.testing.records import (
    CAMPAIGN,
    CPU,
    NOW,
    check_row,
    claim,
    completion,
    enqueue,
    key,
)
from verifier_ladder.verdict import Verdict

NOBODY = AlertRules()
HOSTILE = {"stratum": "cheap\x1b[31m", "direction": "overrated", "audits": 9}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        store.open_campaign(CAMPAIGN, {"name": "l", "verifiers": []}, key("ladder"))
        yield store


def spend(ledger: Ledger, seconds: float) -> None:
    ledger.append(Block("score", CAMPAIGN), charges={Charged(1): (Cost(seconds), 1)})


def die(ledger: Ledger, *words: str) -> None:
    said = Verdict.abstain("no such file", failed_at="tool")
    enqueue(ledger, *map(check_row, words))
    lost = [completion(claimed, said) for claimed in claim(ledger, len(words))]
    ledger.fail(lost, retry_at=None, now=NOW)


def names(ledger: Ledger, rules: AlertRules = NOBODY) -> list[str]:
    return [cause.name for cause in causes(ledger, rules)]


class Receiver:
    """A program that keeps what it reads, and fails while the file `down` is there."""

    def __init__(self, folder: Path) -> None:
        self._kept, self._down = folder / "kept", folder / "down"
        code = (
            "import sys, pathlib; kept, down = map(pathlib.Path, sys.argv[1:]); "
            "down.exists() and sys.exit('down'); "
            "kept.open('ab').write(sys.stdin.buffer.read() + b'\\n')"
        )
        command = (sys.executable, "-c", code, str(self._kept), str(self._down))
        self.rules = AlertRules(command=command)

    @property
    def heard(self) -> list[str]:
        if not self._kept.exists():
            return []
        return [json.loads(line)["id"] for line in self._kept.read_text().splitlines()]

    def be_down(self, *, is_down: bool) -> None:
        self._down.touch() if is_down else self._down.unlink()


@pytest.fixture
def receiver(tmp_path: Path) -> Receiver:
    return Receiver(tmp_path)


# -- what is told --------------------------------------------------------------------------------


def test_a_budget_is_told_when_a_share_of_it_is_spent(ledger: Ledger) -> None:
    ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
    found = []
    for seconds in (7.9, 0.2, 1.0, 2.0):
        spend(ledger, seconds)
        found.append(names(ledger))
    share = f"budget/{CAMPAIGN}/simulation/cpu_seconds/{{}}/10"
    assert [[], [share.format(0.8)], [share.format(0.8)], [share.format(1)]] == found
    ledger.set_caps(CAMPAIGN, {(1, CPU): 12.0})
    assert [f"budget/{CAMPAIGN}/simulation/cpu_seconds/0.8/12"] == names(ledger)


def test_dead_checks_are_told_at_each_power_of_ten(ledger: Ledger) -> None:
    die(ledger, "a")
    assert ["dead/xtb/1/1"] == names(ledger)
    die(ledger, *(f"b{number}" for number in range(10)))
    assert ["dead/xtb/1/10"] == names(ledger)
    assert [] == names(ledger, AlertRules(dead=0))
    assert [] == names(ledger, AlertRules(dead=12))


def test_a_queue_that_nobody_works_on_is_told(ledger: Ledger) -> None:
    enqueue(ledger, check_row("a"))
    assert [] == names(ledger, AlertRules(queue_age=1000.0))
    with ledger._writing() as connection:  # type: ignore[attr-defined]
        connection.exec_driver_sql("UPDATE check_queue SET asked_at = ?", (time() - 2000,))
    (name,) = names(ledger, AlertRules(queue_age=1000.0))
    assert name.startswith("queue/xtb/1/")


def test_drift_is_told_without_what_a_terminal_would_obey(ledger: Ledger) -> None:
    sample = ["run", 0, 1]
    alarm = {**HOSTILE, "first": sample, "last": sample, "winners": []}
    ledger.append(Block("alarm", CAMPAIGN, facts=alarm))
    (cause,) = causes(ledger, NOBODY)
    assert ("drift", CAMPAIGN) == (cause.kind, cause.campaign)
    assert "being gamed" in cause.text
    assert "\x1b" not in cause.text
    assert [] == names(ledger, AlertRules(drift=False))


def test_a_forged_entry_keeps_nobody_from_being_told(
    ledger: Ledger, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    sample, watch = ["run", 0, 1], AlarmWatch(ledger, CAMPAIGN)
    honest = {**HOSTILE, "first": sample, "last": sample, "winners": []}
    entries: list[tuple[str, dict[str, Any]]] = [
        ("alarm", {}), ("alarm", honest), ("alert", {"to": 1})
    ]  # fmt: skip
    for kind, facts in entries:
        ledger.append(Block(kind, CAMPAIGN, facts=facts))
    for _ in range(2):
        watch.look(at_once=True)

    assert 1 == watch.gaming
    forged, told = caplog.messages
    assert "can't be told: entry 2" in forged
    assert "ALARM in campaign" in told
    assert 2 == Alerts(ledger, receiver.rules).look()
    assert [f"drift/{CAMPAIGN}/{entry}" for entry in (2, 3)] == receiver.heard


# -- delivery ------------------------------------------------------------------------------------


def test_each_cause_is_told_once(ledger: Ledger, receiver: Receiver) -> None:
    die(ledger, "a")
    alerts = Alerts(ledger, receiver.rules)
    assert [1, 0, 0] == [alerts.look() for _ in range(3)]
    assert 0 == Alerts(ledger, receiver.rules).look()  # As after a restart.
    assert ["dead/xtb/1/1"] == receiver.heard


def test_what_was_not_delivered_is_delivered_later(
    ledger: Ledger, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    monkeypatch.setattr("verifier_ladder.alerts.alerter.monotonic", lambda: clock)
    die(ledger, "a")
    receiver.be_down(is_down=True)
    alerts = Alerts(ledger, receiver.rules)
    assert 0 == alerts.look()
    receiver.be_down(is_down=False)
    assert 0 == alerts.look()  # Too early to try again.
    clock += 15.0
    assert 1 == alerts.look()
    assert ["dead/xtb/1/1"] == receiver.heard


def test_a_command_that_is_not_there_loses_nothing(ledger: Ledger, receiver: Receiver) -> None:
    die(ledger, "a")
    assert 0 == Alerts(ledger, AlertRules(command=("/no/such/program",))).look()
    assert 1 == Alerts(ledger, receiver.rules).look()


def test_no_shell_reads_the_command(ledger: Ledger, tmp_path: Path) -> None:
    die(ledger, "a")
    rules = AlertRules(command=("echo", f"$(touch {tmp_path / 'pwned'})", ";", "true"))
    assert 1 == Alerts(ledger, rules).look()
    assert not (tmp_path / "pwned").exists()


class Posted:
    """A web server that keeps what is posted to it."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers = [500, 302, 204]
        posted = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                posted.got.append((headers, body))
                self.send_response(posted.answers[len(posted.got) - 1])
                self.send_header("location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/alerts"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_a_webhook_is_signed_and_repeated_under_one_id(ledger: Ledger) -> None:
    die(ledger, "a")
    posted, secret = Posted(), new_secret()
    try:
        rules = AlertRules(webhook=posted.url, secret=secret)
        told = [Alerts(ledger, rules).look() for _ in range(4)]
    finally:
        posted.close()
    assert [0, 0, 1, 0] == told  # An error, a redirect that is not followed, and it is taken.
    ids = {check([key_of(secret)], headers, body, time()) for headers, body in posted.got}
    assert (1, 3) == (len(ids), len(posted.got))
    assert {"dead/xtb/1/1"} == {json.loads(body)["id"] for _, body in posted.got}


def test_a_webhook_whose_answer_has_no_end_has_been_told(ledger: Ledger) -> None:
    die(ledger, "a")
    with socket.create_server(("127.0.0.1", 0)) as server:
        telling = Thread(target=_answer_without_end, args=(server,))
        telling.start()
        rules = AlertRules(webhook=f"http://127.0.0.1:{server.getsockname()[1]}/")
        assert 1 == Alerts(ledger, rules).look()
        telling.join()


def test_a_webhook_is_told_where_an_event_loop_runs(ledger: Ledger) -> None:
    async def look() -> int:
        return Alerts(ledger, AlertRules(webhook=posted.url)).look()

    die(ledger, "a")
    posted = Posted()
    posted.answers = [204]
    try:
        assert 1 == asyncio.run(look())
    finally:
        posted.close()


def test_a_receiver_that_is_silent_is_not_asked_again_at_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.alerts.delivery._PATIENCE", 0.1)
    die(ledger, "a")
    ledger.set_caps(CAMPAIGN, {(1, CPU): 10.0})
    spend(ledger, 11.0)
    assert 2 <= len(names(ledger))
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        alerts = Alerts(ledger, AlertRules(webhook=f"http://127.0.0.1:{server.getsockname()[1]}/"))
        assert [0, 0] == [alerts.look(), alerts.look()]
        server.accept()[0].close()
        with pytest.raises(BlockingIOError):
            server.accept()


def test_an_address_that_is_none_keeps_nothing_from_other_receivers(
    ledger: Ledger, receiver: Receiver
) -> None:
    die(ledger, "a")
    rules = AlertRules(webhook="http://[bad", command=receiver.rules.command)

    assert 1 == Alerts(ledger, rules).look()
    assert ["dead/xtb/1/1"] == receiver.heard


def _answer_without_end(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection, suppress(ConnectionError):
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * 65_536)


@pytest.mark.usefixtures("_tried_again_at_once")
def test_a_campaign_at_work_alerts(
    tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "alerts.toml"
    rules.write_text(f"[alerts]\ncommand = {json.dumps(list(receiver.rules.command))}\n")
    monkeypatch.setenv("VLADDER_ALERTS", str(rules))

    @vl.verifier(name="broken-a", tier="simulation", kind="text", version="1", isolation="inline")
    def broken(candidate: vl.Candidate) -> float:
        raise ValueError(candidate.content)

    ladder = vl.Ladder("l", [broken], policy=AllTiers())
    for _ in range(2):
        with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
            campaign.score(["a"], deadline="300 s")
    assert ["dead/broken-a/1/1"] == receiver.heard


def test_rules_that_make_no_sense_are_told_when_a_campaign_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLADDER_ALERTS", str(tmp_path / "missing.toml"))
    fine = vl.verifier(name="fine-a", version="1", isolation="inline")(lambda c: len(c.content))
    ladder, place = vl.Ladder("l", [fine]), tmp_path / "ledger.db"
    with pytest.raises(vl.ConfigError, match=r"can't read the alerts of .*missing\.toml"):
        vl.Campaign.open("c", ladder=ladder, ledger=place)
    monkeypatch.delenv("VLADDER_ALERTS")
    with vl.Campaign.open("c", ladder=ladder, ledger=place) as campaign:
        assert [1.0] == [reward.value for reward in campaign.score(["a"])]


def test_the_thread_looks_by_itself(ledger: Ledger, receiver: Receiver) -> None:
    die(ledger, "a")
    Alerter(Alerts(ledger, receiver.rules), every=3600.0).close()
    assert ["dead/xtb/1/1"] == receiver.heard


# -- a ladder's own rules ------------------------------------------------------------------------


@pytest.fixture
def _tried_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verifier_ladder.scheduler.engines.retry._FIRST_PAUSE", 0.01)


def broken_ladder(name: str, rules: AlertRules | None) -> vl.Ladder:
    @vl.verifier(name=name, tier="simulation", kind="text", version="1", isolation="inline")
    def broken(candidate: vl.Candidate) -> float:
        raise ValueError(candidate.content)

    return vl.Ladder(f"l {name}", [broken], policy=AllTiers(), alerts=rules)


@pytest.mark.usefixtures("_tried_again_at_once")
def test_a_ladders_rules_win_for_what_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own", "rest"):
        (tmp_path / name).mkdir()
    own, rest = Receiver(tmp_path / "own"), Receiver(tmp_path / "rest")
    settings = tmp_path / "alerts.toml"
    settings.write_text(f"[alerts]\ncommand = {json.dumps(list(rest.rules.command))}\n")
    monkeypatch.setenv("VLADDER_ALERTS", str(settings))
    place = tmp_path / "ledger.db"

    for name, rules in (("broken-own", own.rules), ("broken-rest", None)):
        ladder = broken_ladder(name, rules)
        for _ in range(2):
            with vl.Campaign.open(name, ladder=ladder, ledger=place) as campaign:
                campaign.score(["a"], deadline="300 s")

    assert ["dead/broken-own/1/1"] == own.heard
    assert ["dead/broken-rest/1/1"] == rest.heard


def test_a_ladder_needs_no_setting_to_be_heard_of(tmp_path: Path, receiver: Receiver) -> None:
    ladder = broken_ladder("broken-alone", receiver.rules)
    with vl.Campaign.open("c", ladder=ladder, ledger=tmp_path / "ledger.db") as campaign:
        campaign.score(["a"], deadline="300 s")
    assert ["dead/broken-alone/1/1"] == receiver.heard


def test_budgets_and_drift_are_told_by_campaign(ledger: Ledger, receiver: Receiver) -> None:
    sample = ["run", 0, 1]
    for name in (CAMPAIGN, "another"):
        facts = {**HOSTILE, "first": sample, "last": sample, "winners": []}
        ledger.append(Block("alarm", name, facts=facts))
    alerts = Alerts(ledger)
    assert 0 == alerts.look()
    assert not alerts.watch("silent", broken_ladder("silent", None))
    assert alerts.watch(CAMPAIGN, broken_ladder("loud", receiver.rules))
    assert 1 == alerts.look()
    (told,) = receiver.heard
    assert told.startswith(f"drift/{CAMPAIGN}/")
    alerts.forget(CAMPAIGN)
    assert 0 == alerts.look()


def test_who_is_told_changes_no_reward_and_is_not_recorded(receiver: Receiver) -> None:
    told, silent = broken_ladder("x", receiver.rules), broken_ladder("x", None)
    assert told.digest == silent.digest
    assert told.as_json() == silent.as_json()


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (
            "[alerts]\ncommand = ['x']\nbudgets = [0.5]",
            r"\[alerts\] has no budgets; it has budget,",
        ),
        ("[alerts]\ndead = 3", "tells nobody"),
        ("[[alerts]]\ndead = 3", r"\[alerts\] of the ladder must be a table"),
    ],
)
def test_a_ladders_rules_that_make_no_sense_are_refused(
    tmp_path: Path, section: str, message: str
) -> None:
    vl.verifier(name="fine-b", version="1", isolation="inline")(lambda c: len(c.content))
    path = tmp_path / "ladder.toml"
    path.write_text(f'name = "x"\nverifiers = ["fine-b"]\n{section}\n')
    with pytest.raises(vl.ConfigError, match=message):
        vl.Ladder.from_toml(path)
    path.write_text('name = "x"\nverifiers = ["fine-b"]\n[alerts]\ncommand = ["cat"]\ndead = 7\n')
    rules = vl.Ladder.from_toml(path).alerts
    assert rules is not None
    assert rules == load_rules(path)


def test_a_ladder_whose_secret_is_no_key_is_not_opened(tmp_path: Path) -> None:
    rules = AlertRules(webhook="https://example.org", secret="short")  # noqa: S106 - it is none
    with pytest.raises(vl.ConfigError, match="secret"):
        vl.Campaign.open("c", ladder=broken_ladder("y", rules), ledger=tmp_path / "ledger.db")


# -- rules ---------------------------------------------------------------------------------------


def test_rules_are_read(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(
        '[alerts]\nwebhook = "https://example.org/x"\nbudget = 0.5\nqueue_age = "2 h"\ndead = 0\n'
    )
    rules = load_rules(path)
    assert ((0.5,), 7200.0, 0) == (rules.budget, rules.queue_age, rules.dead)
    assert "secret" not in repr(rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no section"),
        ("[alerts]\n", "tells nobody"),
        ("[alerts]\ncolour = 1\n", "has no colour"),
        ('[alerts]\nwebhook = "ftp://x"\n', "https://"),
        ('[alerts]\ncommand = "rm -rf /"\n', "as a list"),
        ('[alerts]\ncommand = ["x"]\nbudget = [2]\n', "shares of a cap"),
        ('[alerts]\ncommand = ["x"]\ndead = -1\n', "number of checks"),
        ('[alerts]\ncommand = ["x"]\ndrift = "no"\n', "true or false"),
        ("[alerts\n", "not TOML"),
    ],
)
def test_rules_that_make_no_sense_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "alerts.toml"
    path.write_text(text)
    with pytest.raises(vl.ConfigError, match=message):
        load_rules(path)


def test_a_secret_that_is_no_key_is_refused(ledger: Ledger) -> None:
    with pytest.raises(vl.ConfigError, match="secret"):
        Alerts(ledger, AlertRules(webhook="https://example.org", secret="short"))  # noqa: S106 - it is none


# -- commands ------------------------------------------------------------------------------------


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["alert", *map(str, arguments)])


def test_ls_tells_without_telling_anybody(
    ledger: Ledger, receiver: Receiver, tmp_path: Path
) -> None:
    die(ledger, "a")
    rules = tmp_path / "alerts.toml"
    rules.write_text(f"[alerts]\ncommand = {json.dumps(list(receiver.rules.command))}\n")
    place = ("--rules", rules, "--ledger", tmp_path / "ledger.db")
    (cause,) = json.loads(call("ls", "--json", *place).stdout)
    assert "dead/xtb/1/1" == cause["id"]
    assert "1 checks of xtb 1 are dead" in " ".join(call("ls", *place).stdout.split())
    assert [] == receiver.heard


def test_test_sends_a_test_alert(receiver: Receiver, tmp_path: Path) -> None:
    rules = tmp_path / "alerts.toml"
    rules.write_text(f"[alerts]\ncommand = {json.dumps(list(receiver.rules.command))}\n")
    assert 0 == call("test", "--rules", rules).exit_code
    receiver.be_down(is_down=True)
    done = call("test", "--rules", rules)
    assert (1, ["test"]) == (done.exit_code, receiver.heard)
    assert "down" in done.stderr


def test_without_rules_it_says_where_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLADDER_ALERTS", raising=False)
    done = call("test")
    assert 2 == done.exit_code
    assert "VLADDER_ALERTS" in done.stderr
