"""The server as a process: clients, tokens, signals, and what is left after a kill."""

import asyncio
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

import verifier_ladder as vl
from verifier_ladder.cli.app import app
from verifier_ladder.ledger import open_ledger
from verifier_ladder.server.tokens import TokenFile
from verifier_ladder.tier import Tier


def test_clients_with_a_token_are_served_and_known_after_a_kill(start: Any, folder: Path) -> None:
    secret = TokenFile(folder / "ledger.db.tokens").add("trainer", ["score"])
    first = start("--run", "train")
    sample = vl.Sample(
        vl.Candidate("text", b"bytes", {"x": 1}, (vl.Turn("look", "seen"),)), step=7, position=3,
        group="g", learner_version="v1",
    )  # fmt: skip

    async def ask() -> list[vl.Reward]:
        async with vl.AsyncClient(first.url, secret) as client:
            return await client.score(["a", "?", "abc"], groups=["g", "g", "h"], deadline="5 s")

    with vl.Client(first.url, secret) as client:
        once = client.score(["a", "?", "abc"], groups=["g", "g", "h"], key="once")
        assert once == client.score(["a", "?", "abc"], groups=["g", "g", "h"], key="once")
        assert [5.0] == [reward.value for reward in client.score([sample])]
        with pytest.raises(vl.ConfigError, match="has not the scope read"):
            list(client.revisions())
    with vl.Client(first.url) as nobody, pytest.raises(vl.ConfigError, match="401"):
        nobody.score(["a"])
    assert [1.0, None, 3.0] == [r.value for r in once] == [r.value for r in asyncio.run(ask())]
    assert -signal.SIGKILL == first.end(signal.SIGKILL)

    second = start("--run", "train")
    with vl.Client(second.url, secret) as client:
        assert once == client.score(["a", "?", "abc"], step=0)
        assert once == client.score(["a", "?", "abc"], groups=["g", "g", "h"], key="once")
    assert 0 == second.end()
    with open_ledger(folder / "ledger.db") as ledger:
        assert [3, 1, 3] == [len(ledger.recorded("lengths", "train", n)) for n in (0, 7, 8)]
        assert [3] == list(ledger.recorded("lengths", "train", 7))


def test_open_cases_are_read_and_answered_by_clients(start: Any, folder: Path) -> None:
    tokens = TokenFile(folder / "ledger.db.tokens")
    secret = tokens.add("desk", ["score", "read", "answer"])
    served = start(ladder="asking")
    candidate = vl.Candidate("text", b"a rose")
    with vl.Client(served.url, secret) as client:
        (reward,) = client.score([candidate], deadline=0)
        while not (cases := client.cases()):
            pass
        (case,) = cases
        with pytest.raises(vl.ConfigError, match="422"):
            client.answer(case, 11, source="reader")
        assert client.answer(case, vl.Verdict.accept(7, uncertainty=1), source="reader", event="1")
        assert not client.answer(case.check_key, 7, source="reader", event="1")
        again = client.answer(case, vl.Verdict.accept(7, uncertainty=1), source="reader")
        assert again is False  # as of `Campaign.answer`
        revision = next(client.revisions(follow=True))

    async def ask() -> list[vl.Case]:
        async with vl.AsyncClient(served.url, secret) as client:
            with pytest.raises(vl.ConfigError, match="answered before with accept 7 ± 1"):
                await client.answer(case, None, source="somebody else")
            return await client.cases()

    assert reward.pending
    assert (candidate, "points") == (case.candidate, case.unit)
    assert "How good is it?" in case.question
    assert (7.0, Tier.WORLD) == (revision.reward.value, revision.reward.tier)
    assert asyncio.run(ask()) == []


def test_without_tokens_cases_are_answered_only_where_anyone_may(start: Any) -> None:
    with vl.Client(start(ladder="asking").url) as client:
        assert [True] == [reward.pending for reward in client.score(["a rose"], deadline=0)]
        with pytest.raises(vl.ConfigError, match="--anyone-may-answer"):
            client.cases()
        with pytest.raises(vl.ConfigError, match="vladder token add"):
            client.answer(b"\0" * 32, 10, source="a neighbour")
    with vl.Client(start("--anyone-may-answer", ladder="asking").url) as client:
        while not (cases := client.cases()):
            pass
        assert client.answer(cases[0], 7, source="reader")


def is_listening(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code in (200, 503)
    except httpx.TransportError:
        return False


def test_what_was_accepted_is_finished_before_it_ends(start: Any, folder: Path) -> None:
    served = start("--run", "train")

    def ask() -> list[vl.Reward]:
        with vl.Client(served.url, attempts=1) as client:
            return client.score(["slow"], step=0)

    def gauge() -> int:
        return int(httpx.get(f"{served.url}/healthz").json()["waiting"])

    with ThreadPoolExecutor() as pool:
        asked = pool.submit(ask)
        while not gauge():
            pass
        served.process.send_signal(signal.SIGTERM)
        while is_listening(served.url):
            pass
        (folder / "go").touch()
        (reward,) = asked.result(300)
    _, said = served.process.communicate(timeout=300)

    assert (4.0, 0) == (reward.value, served.process.returncode)
    assert "Traceback" not in said
    with open_ledger(folder / "ledger.db") as ledger:
        assert [0] == list(ledger.recorded("lengths", "train", 0))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["served.py:ladder", "--host", "0.0.0.0"], "vladder token add"),  # noqa: S104
        (["served.py:judge"], "must be a vl.Ladder"),
        (["served.py"], "give a TOML file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["served.py:ladder", "--webhooks", "no.toml"], "no.toml"),
        (["served.py:ladder", "--mask"], "on_abstain"),
        (["served.py:ladder", "--deadline", "soon"], "amount of time"),
    ],
)  # fmt: skip
def test_what_can_not_be_served_is_said_in_a_sentence(
    folder: Path, arguments: list[str], said: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, ["serve", *arguments, "--port", "0"])

    assert 2 == done.exit_code
    assert said in done.output.replace("\n", " ")
    assert "Traceback" not in done.output


def test_a_port_that_is_taken_is_said(folder: Path) -> None:
    with socket.socket() as taken, pytest.MonkeyPatch.context() as patch:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        patch.chdir(folder)
        done = CliRunner().invoke(app, ["serve", "served.py:ladder", "--port", str(port)])

    assert 2 == done.exit_code
    assert f"port {port} of 127.0.0.1 is taken" in done.output
