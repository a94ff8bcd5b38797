"""Workers under attack: nothing that a row, a queue or a message made up is run, read or sent.

Each attack has what an attacker with write access to database and broker has. The worker is the
real command, which holds programs, services and functions of its own; canary files, a listening
socket and the ledger tell what it did, and honest checks behind the forged ones that it goes on.
"""

from __future__ import annotations

import json
import os
import pickle
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import forked
import psycopg
import pytest

import verifier_ladder as vl
from verifier_ladder.keys import check_key, content_key, digest
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import Block, CheckRow, CheckState
from verifier_ladder.ledger.values import dumps
from verifier_ladder.registry import REGISTRY

CODE = """
import os, sys
import verifier_ladder as vl

@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def attack_guess(candidate):
    return 1.0

@vl.verifier(tier="simulation", kind="text", version="1", settings={"factor": 2})
def attack_measure(candidate):
    return 2.0 * len(candidate.content)

@vl.verifier(tier="simulation", kind="text", version="1", reads="raw", task_fields=["answer"])
def attack_raw(candidate):
    return float(len(candidate.content))

program = "for line in __import__('sys').stdin: print(3.0, flush=True)"
attack_command = vl.CommandVerifier(
    name="attack-command", version="1", kind="text", tier="simulation",
    command=[sys.executable, "-c", program])
attack_endpoint = vl.EndpointVerifier(
    name="attack-endpoint", version="1", kind="text", tier="simulation",
    url="http://127.0.0.1:9/verify", headers={"Authorization": "$VLADDER_SECRET"})
ladder = vl.Ladder("l", [attack_guess, attack_measure], policy="all_tiers")
commands = vl.Ladder("l", [attack_guess, attack_command], policy="all_tiers")
raw = vl.Ladder("l", [attack_guess, attack_raw], policy="all_tiers")
"""
SCRIPT = """
import sys
import verifier_ladder as vl
import mine
with vl.Campaign.open(sys.argv[3], ladder=getattr(mine, sys.argv[3]), ledger=sys.argv[1],
                      engine=sys.argv[2], workers=1) as campaign:
    campaign.score(sys.argv[4:])
    if sys.argv[2] == "local":
        campaign.drain("200 s")
"""
CLI = "from verifier_ladder.cli import main; main()"
SECRET = {**os.environ, "VLADDER_SECRET": "the secret"}
HONEST = ["an honest text", "another one"]
_PATIENCE = 120.0


class Scene(NamedTuple):
    """A ledger, and what an attacker sees move."""

    folder: Path
    url: str
    change: Callable[..., None]
    """Changes the database behind the program's back; `?` stands for a value."""
    trap: socket.socket
    """What no honest program connects to."""

    @property
    def canary(self) -> Path:
        """What no honest program makes."""
        return self.folder / "canary"

    @property
    def trap_url(self) -> str:
        return f"http://127.0.0.1:{self.trap.getsockname()[1]}/"

    def ask(self, *texts: str, ladder: str = "ladder", engine: str = "workers") -> None:
        """Have an honest campaign ask for checks."""
        forked.run(
            [sys.executable, "-c", SCRIPT, self.url, engine, ladder, *texts], cwd=self.folder,
            check=True, timeout=300, env=SECRET,
        )  # fmt: skip

    def worker(self, *options: str) -> subprocess.Popen[str]:
        """Start a worker of the command line."""
        return forked.Popen(
            [sys.executable, "-c", CLI, "worker", "start", "--import", "mine.py", "--ledger",
             self.url, "--workers", "1", "--json", *options],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=SECRET,
        )  # fmt: skip

    def work(self) -> tuple[str, dict[str, Any]]:
        """Run a worker until there is nothing left; what it said, and its report."""
        worker = self.worker("--until-idle")
        try:
            out, said = worker.communicate(timeout=300)
        finally:
            worker.kill()
        assert 0 == worker.returncode, said
        return said, json.loads(out)

    def check(self, text: str) -> CheckRow:
        """The check of a text, as it was asked for."""
        with open_ledger(self.url) as ledger:
            return next(c for c in ledger.checks() if c.payload.get("content") == text)

    def scores(self) -> dict[str, float | None]:
        """What is known, by the text that was asked about."""
        with open_ledger(self.url) as ledger:
            rows = {c.check_key: str(c.payload.get("content")) for c in ledger.checks()}
            said = ledger.verdicts(list(rows))
        return {rows[key]: verdict.score for key, verdict in said.items()}

    def assert_nothing_was_done(self) -> None:
        """No file was made and no connection opened."""
        assert [] == list(self.folder.glob("canary*"))
        with pytest.raises(BlockingIOError):
            self.trap.accept()


@pytest.fixture(params=["sqlite", "postgresql"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / "mine.py").write_text(CODE)
    if request.param == "sqlite":
        url, change = f"sqlite:///{tmp_path / 'ledger.db'}", _sqlite(tmp_path / "ledger.db")
    else:
        url = request.getfixturevalue("postgresql")
        change = _postgresql(url)
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.0)
        yield Scene(tmp_path, url, change, trap)


def _sqlite(path: Path) -> Callable[..., None]:
    def change(statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(path, timeout=300)) as connection, connection:
            connection.execute("DROP TRIGGER IF EXISTS campaign_update_refused")
            connection.execute(statement, values)

    return change


def _postgresql(url: str) -> Callable[..., None]:
    def change(statement: str, *values: Any) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            connection.execute(statement.replace("?", "%s"), values)  # type: ignore[arg-type, unused-ignore]

    return change


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


# -- rows of campaigns ----------------------------------------------------------------------------


def _specs(scene: Scene, pipe: Path) -> dict[str, tuple[str, str, bytes, Any]]:
    """What campaigns would have workers make: name, version, digest, settings."""
    shell = ["/bin/sh", "-c", f"touch {scene.canary}; cat"]
    common: dict[str, Any] = {"version": "1", "kind": "text", "tier": "simulation"}
    command = vl.CommandVerifier(name="attack-command", command=shell, **common)
    endpoint = vl.EndpointVerifier(name="attack-endpoint", url=scene.trap_url, **common)
    made: dict[str, tuple[str, str, bytes, Any]] = {
        "a shell": (
            "attack-command", "1", command.digest,
            {"name": "attack-command", "command": shell, **common},
        ),
        "the command alone": ("attack-command", "1", command.digest, {"command": shell}),
        "an address, and a secret for it": (
            "attack-endpoint", "1", endpoint.digest,
            {"name": "attack-endpoint", "url": scene.trap_url, **common,
             "headers": {"Authorization": "$VLADDER_SECRET"}},
        ),
        "a function": (
            "attack_measure", "1", digest("f"),
            {"name": "attack_measure", "function": "os.system", **common},
        ),
        "a module": ("forged_module", "1", digest("m"), {}),
        "an entry point": ("forged_module:made", "1", digest("e"), {"a": 1}),
        "a path": ("../forged_module.py", "1", digest("p"), {}),
        "a file": (
            "measured-hydration", "1", digest("t"),
            {"table": str(pipe), "low": -50.0, "high": 20.0},
        ),
        "a basis": (
            "dft-hydration", "2", digest("d"),
            {**_defaults("dft-hydration"), "level": f"pbe/{pipe}"},
        ),
        "a solvent": (
            "xtb-hydration", "2", digest("x"),
            {**_defaults("xtb-hydration"), "corrected": False, "solvent": f"../{pipe}"},
        ),
        "its class": ("attack-command", "1", digest("c"), {"__class__": "Popen", "args": shell}),
        "very much": ("attack_measure", "1", digest("v"), {"text": "x" * 4_000_000}),
        "very many": ("expert-case", "1", digest("n"), {f"k{n}": n for n in range(20_000)}),
        "very deep": ("attack_measure", "1", digest("y"), json.loads("[" * 90 + "]" * 90)),
    }  # fmt: skip
    return made


def _defaults(name: str) -> dict[str, Any]:
    return dict(REGISTRY.get(name).settings)


def _enqueue(ledger: Ledger, name: str, version: str, made: bytes, text: str) -> None:
    """Queue a check of a verifier that a campaign's row makes up."""
    read = content_key("text", text)
    row = CheckRow(
        check_key(made, read), read, "evil", name, version, 1, CheckState.QUEUED, 9.0,
        vl.Cost(1.0), {"kind": "text", "content": text}, digest=made,
    )  # fmt: skip
    ledger.append(Block("score", "evil"), enqueue=[(row, [])])


def test_a_campaigns_row_makes_no_worker_run_read_or_send_anything(scene: Scene) -> None:
    pipe = scene.folder / "pipe"  # Whoever opens it to read it waits for ever.
    os.mkfifo(pipe)
    (scene.folder / "forged_module.py").write_text(f"open({str(scene.canary)!r}, 'w')\nmade = 1\n")
    scene.ask(*HONEST)
    with open_ledger(scene.url) as ledger:
        (honest,) = ledger.campaigns()
        for place, (name, version, made, settings) in enumerate(_specs(scene, pipe).values()):
            entry = {
                **honest.ladder["verifiers"][1], "name": name, "version": version,
                "digest": made.hex(), "settings": settings,
            }  # fmt: skip
            spec = {**honest.ladder, "verifiers": [entry]}
            ledger.open_campaign(f"evil {place}", spec, digest(f"{place}"))
            _enqueue(ledger, name, version, made, f"evil {place}")

    said, report = scene.work()

    scene.assert_nothing_was_done()
    assert {text: 2.0 * len(text) for text in HONEST} == scene.scores()
    assert 0 == report["refused"]
    assert "may not choose its settings" in said
    assert "no verifier is called 'forged_module'" in said


def test_campaigns_rows_that_are_no_ladders_are_told_and_hide_no_others(scene: Scene) -> None:
    bomb = pickle.dumps(Bomb(scene.canary))
    yaml = f"!!python/object/apply:pathlib.Path.touch [{scene.canary}]".encode()
    bodies = [
        bomb, yaml, b"", b"[]", b"null", b'{"verifiers":', b'{"verifiers":null}',
        b'{"verifiers":["os.system"]}', b'{"verifiers":[{"name":"attack_measure"}]}',
        b'{"verifiers":[{"name":1,"version":{},"digest":"zz","settings":[]}]}',
        b'{"verifiers":{"$map":[[[],1]]}}', b'{"verifiers":[' + b"[" * 3000 + b"]" * 3000 + b"]}",
    ]  # fmt: skip
    with open_ledger(scene.url) as ledger:
        for place in range(len(bodies)):
            ledger.open_campaign(f"evil {place}", {}, digest(f"{place}"))
    for place, body in enumerate(bodies):
        scene.change("UPDATE campaign SET ladder = ? WHERE name = ?", body, f"evil {place}")
    scene.ask(*HONEST)

    said, _ = scene.work()

    scene.assert_nothing_was_done()
    assert {text: 2.0 * len(text) for text in HONEST} == scene.scores()
    assert "names no verifier" in said


# -- rows of the queue ----------------------------------------------------------------------------

Forge = Callable[[Scene, CheckRow], dict[str, Any]]
"""New values of some columns of a check."""


def payload(**changes: Any) -> Forge:
    return lambda _, check: {
        "payload": dumps({n: v for n, v in {**check.payload, **changes}.items() if v is not None})
    }


def column(**values: Any) -> Forge:
    return lambda *_: values


FORGED: dict[str, Forge] = {
    "another text": payload(content="a text that pays more"),
    "another kind": payload(kind="molecule"),
    "bytes": payload(content=None, bytes=b"raw"),
    "its own bytes": payload(content=None, bytes=b"its own bytes"),
    "both": payload(bytes=b"raw"),
    "a task": payload(task={"answer": "4"}),
    "turns": payload(turns=[["2+2", "4"]]),
    "a namespace": payload(namespace="another"),
    "a replicate": payload(replicate=1),
    "a replicate that is none": payload(replicate="1"),
    "no text": payload(content=None),
    "a list": payload(content=["a"]),
    "very much text": payload(content="x" * 3_000_000),
    "another candidate": column(content_key=content_key("text", "the best of all")),
    "a candidate that is none": column(content_key=b"short"),
    "another version": column(version="2"),
    "another verifier's name": column(verifier="attack_guess"),
    "another tier": column(tier=2),
    "a pickle": lambda scene, _: {"payload": pickle.dumps(Bomb(scene.canary))},
    "yaml": column(payload=b"!!python/object/apply:os.system [touch canary]"),
    "half a row": lambda _, check: {"payload": dumps(dict(check.payload))[:-9]},
    "nothing": column(payload=b""),
    "a row of marks": column(payload=b'{"$map": [[["a"], {"$int": "x"}]]}'),
}


@pytest.mark.parametrize("runner", ["worker", "campaign"])
def test_a_changed_row_of_the_queue_is_refused_and_never_answers_for_its_key(
    scene: Scene, runner: str
) -> None:
    scene.ask(*HONEST, *FORGED)
    checks = {text: scene.check(text) for text in FORGED}
    for text, forge in FORGED.items():
        changes = forge(scene, checks[text])
        for name, value in changes.items():
            scene.change(
                f"UPDATE check_queue SET {name} = ? WHERE check_key = ?",  # noqa: S608
                value, checks[text].check_key,
            )  # fmt: skip

    if runner == "worker":
        said, report = scene.work()
        assert (len(FORGED), len(HONEST)) == (report["refused"], report["done"] - len(FORGED))
        assert "is not what its check key stands for" in said
    else:
        scene.ask(engine="local")

    scene.assert_nothing_was_done()
    assert {text: 2.0 * len(text) for text in HONEST} == scene.scores()
    with open_ledger(scene.url) as ledger:
        ended = {c.check_key: c for c in ledger.checks()}
        assert {} == ledger.verdicts([check.check_key for check in checks.values()])
        for text, check in checks.items():
            now = ended[check.check_key]
            assert CheckState.DEAD is now.state, text
            assert now.note.startswith("ledger: the queue's row "), text


def test_checks_that_were_exchanged_answer_for_nobody(scene: Scene) -> None:
    scene.ask("good", "bad", *HONEST)
    good, bad = scene.check("good"), scene.check("bad")
    for check, other in ((good, bad), (bad, good)):
        scene.change(
            "UPDATE check_queue SET payload = ? WHERE check_key = ?",
            dumps(dict(other.payload)), check.check_key,
        )  # fmt: skip

    scene.work()

    assert set(HONEST) == set(scene.scores())


def test_raw_text_is_filed_under_its_own_candidate_only(scene: Scene) -> None:
    """The check key of raw text says nothing about whose history it belongs to."""
    scene.ask("stolen", "retold", *HONEST, ladder="raw")
    stolen, retold = scene.check("stolen"), scene.check("retold")
    scene.change(
        "UPDATE check_queue SET content_key = ? WHERE check_key = ?",
        content_key("text", "the best of all"), stolen.check_key,
    )  # fmt: skip
    scene.change(
        "UPDATE check_queue SET payload = ? WHERE check_key = ?",
        dumps({**retold.payload, "canonicaliser": "00" * 32}), retold.check_key,
    )  # fmt: skip

    said, report = scene.work()

    assert {text: float(len(text)) for text in HONEST} == scene.scores()
    assert 1 == report["refused"]
    assert "wait for a host that holds their canonicaliser" in said


def test_what_is_asked_for_again_after_a_forgery_is_verified(scene: Scene) -> None:
    scene.ask("a text")
    scene.change("UPDATE check_queue SET payload = ?, tier = 2", b"nothing")
    scene.work()

    scene.ask("a text", "b text")
    scene.work()

    assert {"a text": 12.0, "b text": 12.0} == scene.scores()
