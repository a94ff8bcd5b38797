"""What holds for every command, found by walking over all of them.

A new command stands in `CALLS` with what it needs to work; a new parameter that names something
stands in `UNKNOWN`, `READ` or `WRITTEN`.
"""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import histories
import pytest
import typer
from histories import History, Item, cost, ladder_spec

from verifier_ladder.cli.app import app
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

HOSTILE = "x\x1b]0;owned\x07\x1b[31m\x9b31m\x7f\u202e\r[bold]"


def walk(command: Any, *words: str) -> Iterator[tuple[str, Any]]:
    """Every command and group below a command, with the words that call it."""
    yield " ".join(words), command
    for word, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, *words, word)


EVERYTHING = dict(walk(typer.main.get_command(app)))
COMMANDS = {w: c for w, c in EVERYTHING.items() if not getattr(c, "commands", {})}
LADDER = ["--ladder", "ladder.toml", "--import", "words.py"]
DIGEST = sha256(b"x").hexdigest()
"""Of an artifact of the ledger."""
CALLS: dict[str, list[str]] = {
    "demo": ["--quick"], "doctor": [], "score": ["rows.jsonl", *LADDER], "serve": ["ladder.toml"],
    "campaign ls": [], "campaign show": [], "campaign report": [], "campaign watch": ["--once"],
    "campaign bundle": ["--into", "pages"],
    "campaign cancel": ["--run", "{run}", "--import", "words.py"], "campaign forecast": [],
    "campaign import": ["imported", "rows.jsonl", *LADDER, "--column", "content=completion"],
    "campaign pause": ["--tier", "simulation"], "campaign resume": ["--tier", "simulation"],
    "campaign shadow": [], "campaign spend": [], "run ls": [],
    "run report": ["--pass-at", "0.5"], "run export": [], "run curriculum": ["--pass-at", "0.5"],
    "ledger ls": [], "ledger show": ["CCO"], "ledger replay": [], "ledger verify": [],
    "ledger export": [], "ledger prove": ["1"], "ledger checkpoint": [], "ledger verifier": [],
    "ledger diff": ["1"], "ledger backup": ["copy.db"], "ledger restore": ["theirs.db"],
    "ledger accept-restore": [], "ledger upgrade": [], "ledger merge": ["theirs.db"],
    "ledger seal": [], "ledger artifact": [DIGEST, "--out", "x.log"], "ledger erase": [DIGEST],
    "verifier ls": [], "verifier info": ["words.py:words"],
    "verifier diff": ["{verifier}", "1", "1"], "verifier reverify": ["words.py:words"],
    "verifier check": ["words.py:words"], "review next": [], "check ls": [],
    "review undo": ["00"], "review agreement": [],
    "check retry": ["--all"], "alert ls": ["--rules", "rules.toml"],
    "alert test": ["--rules", "rules.toml"], "token add": ["somebody"], "token ls": [],
    "token revoke": ["somebody"], "token secret": [], "worker start": ["--until-idle"],
    "try": ["words.py:words", "--kind", "choice"],
    "case out": ["--out", "order.csv"], "case in": ["rows.jsonl"],
    "case approve": ["--rows", "96", "--by", "ada"], "case seal": [],
    "case feed": ["prices.csv"], "case resettle": [], "view": ["--no-open", "--port", "0"],
}  # fmt: skip
MAKE_A_LEDGER = {
    "demo", "score", "serve", "campaign import", "ledger seal", "ledger restore", "token add",
    "worker start", "ledger merge",
}  # fmt: skip
"""Commands that make the ledger, if there is none."""
NOT_JSON = {
    "ledger prove": "a proof is JSON",
    "ledger verifier": "writes a Python program",
    "ledger export": "writes rows in the format that is asked for, JSON lines unless told",
}
NAMES = {
    "campaign", "run", "tiers", "tier", "verifiers", "verifier", "states", "kind", "keys",
    "reveal", "resources", "entry", "case", "by", "old", "new", "scopes", "check", "what", "at",
    "version",
}  # fmt: skip
FREE = {
    ("score", "campaign"), ("serve", "campaign"), ("serve", "run"), ("campaign import", "name"),
    ("review next", "by"), ("case in", "by"), ("token add", "name"),
    ("case approve", "by"), ("review undo", "by"), ("case out", "by"),
}  # fmt: skip
"""Names that a call gives to something new."""
READ = {
    "ladder", "ladders", "imports", "rules", "checkpoint", "since", "prompts", "webhooks", "file",
    "copy", "others", "first",
}  # fmt: skip
WRITTEN = {"out", "report"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger whose every name is hostile, and the files that the calls name."""
    monkeypatch.setitem(histories.TIERS, HOSTILE, Tier.SIMULATION)
    with open_ledger(tmp_path / "ledger.db") as store:
        spec = {**ladder_spec((*histories.TIERS,)), "name": HOSTILE}
        book = History(store, HOSTILE, spec)
        failed = Verdict.abstain(HOSTILE, failed_at="tool", artifacts={"x.log": b"x"})
        said = {HOSTILE: cost(failed, 1.0)}
        ethanol = Item("CCO", "CCO", said, Reward(0.5, 0.1, Tier.FAST, reason=HOSTILE), -5.0, 1.0)
        book.score([ethanol, Item(HOSTILE, Verdict.reject(HOSTILE))], run=HOSTILE)
        book.enqueue(ethanol, histories.MEASURED, CheckState.WAITING)
    with open_ledger(tmp_path / "theirs.db") as store:
        History(store, HOSTILE).score([Item("C", "C")], run=HOSTILE)
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    (tmp_path / "garbage.db").write_text("no database at all " * 100)
    (tmp_path / "a-folder").mkdir()
    (tmp_path / "ladder.toml").write_text('name = "l"\n[[verifiers]]\nname = "words"\n')
    (tmp_path / "rules.toml").write_text('[alerts]\nreceivers = ["command:true"]\n')
    (tmp_path / "rows.jsonl").write_text(json.dumps({"completion": HOSTILE, "words": 1}) + "\n")
    (tmp_path / "prices.csv").write_text("time,value\n0,1\n")
    (tmp_path / "words.py").write_text(
        "import verifier_ladder as vl\n"
        "@vl.verifier(name='words', version='1', isolation='inline')\n"
        "def words(candidate): return float(len(candidate.content.split()))\n"
    )
    return tmp_path


def call(name: str, *more: str) -> list[str]:
    given = [a.format(run=HOSTILE, verifier=HOSTILE) for a in CALLS[name]]
    return [*name.split(), *given, *more]


def replaced(name: str, param: Any, value: str) -> list[str]:
    """The call with another value of one parameter."""
    given = call(name)
    if param.param_type_name == "option":
        return [*given, param.opts[0], value]
    head, rest = given[: len(name.split())], given[len(name.split()) :]
    places = [p for p in COMMANDS[name].params if p.param_type_name == "argument"]
    at = places.index(param)
    rest[at : at + param.required] = [value]  # One that may be left out is left out in `CALLS`.
    return [*head, *rest]


def takes(*kinds: str) -> list[tuple[str, Any]]:
    return [(n, p) for n, c in COMMANDS.items() for p in c.params if p.name in kinds]


def told(pair: Any) -> str:
    return str(getattr(pair, "name", pair))


def is_told(done: Any, code: int) -> None:
    """One message on stderr, nothing on stdout, and the code."""
    assert code == done.exit_code, (done.exit_code, done.stderr, done.exception)
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert "" == done.stdout


def test_every_command_is_called_here() -> None:
    assert set(COMMANDS) == set(CALLS)


@pytest.mark.parametrize("name", EVERYTHING)
def test_help_is_told_whole_at_80_columns(
    run: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = run(*name.split(), "--help").stdout.splitlines()

    assert [] == [line for line in lines[1:] if line.rstrip().endswith(("...", "…"))]
    assert [] == [line for line in lines if len(line) > 80]
    assert [] == [p.name for p in EVERYTHING[name].params if not p.help and p.name != "help"]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_does_not_exist_is_wrong_usage(run: Any, name: str) -> None:
    is_told(run(*call(name), "--no-such-option"), 2)


@pytest.mark.parametrize(("name", "param"), takes("ledger"), ids=told)
def test_a_ledger_that_cannot_be_used_has_one_code_for_each_cause(
    run: Any, folder: Path, name: str, param: Any
) -> None:
    causes = {"missing.db": 2, "no/ledger.db": 2, "a-folder": 2, "garbage.db": 3, "other.db": 3}
    if name in {"doctor", "demo"}:  # The doctor finds it; the demo would need its packages.
        return
    if name in MAKE_A_LEDGER:
        del causes["missing.db"]
    if name == "ledger restore":  # What stood there is put aside.
        del causes["garbage.db"], causes["other.db"]

    done = {place: run(*replaced(name, param, place)) for place in causes}

    assert causes == {place: each.exit_code for place, each in done.items()}
    assert "Traceback" not in "".join(each.stderr for each in done.values())
    assert not (folder / "missing.db").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("name", "param"),
    [
        (name, param) for name, param in takes(*NAMES, "name")
        if (name, param.name) not in FREE and not param.is_eager
    ],
    ids=told,
)  # fmt: skip
def test_a_name_that_nothing_has_is_told_alike(run: Any, name: str, param: Any) -> None:
    value = "987654" if param.name in {"entry", "at", "keys", "case", "check"} else "nobody"

    is_told(run(*replaced(name, param, value)), 2)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "param"), takes(*READ), ids=told)
def test_a_file_that_cannot_be_read_is_told_alike(run: Any, name: str, param: Any) -> None:
    for place in ("nothing.toml", "a-folder"):
        is_told(run(*replaced(name, param, place)), 2)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "param"), takes(*WRITTEN), ids=told)
def test_a_place_that_cannot_be_written_is_told_alike(run: Any, name: str, param: Any) -> None:
    if name == "demo":
        return  # It would need its packages.
    value = "rows.jsonl/out.jsonl" if name in {"score", "ledger export"} else "rows.jsonl/out"

    for place in (value, "", "/"):
        done = run(*replaced(name, param, place))

        assert 2 == done.exit_code, (place, done.stderr, done.exception)
        assert "Traceback" not in done.stderr


def test_what_prints_results_prints_json_too() -> None:
    silent = {n for n, c in COMMANDS.items() if all("--json" not in p.opts for p in c.params)}

    assert set(NOT_JSON) == silent


NUMBERS = [
    (name, param)
    for name, command in COMMANDS.items()
    for param in command.params
    if {int, float}
    & {param.type_descriptor.annotation, *get_args(param.type_descriptor.annotation)}
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("name", "param"), NUMBERS, ids=told)
def test_a_number_that_makes_no_sense_is_wrong_usage(run: Any, name: str, param: Any) -> None:
    """Text, infinities and what is too large always; what is too small where there is a least."""
    kind = param.type_descriptor.annotation
    odd = ["abc", "", "9" * 30, "-" + "9" * 30, "9" * 400, "1e400", "nan", "-inf"]
    least = getattr(param.type_descriptor.parameter_info, "min", None)
    if least is not None:
        odd += [str(least - 1), "-1"]
    for value in odd:
        given = [value, value] if "tuple" in str(kind) else [value]
        if param.param_type_name == "argument":
            done = run(*name.split(), "--", *given)
        else:
            done = run(*call(name), param.opts[0], *given)
        is_told(done, 2)
        assert (param.opts or [param.name])[0] in done.stderr


def obeyed(text: str) -> list[str]:
    """Characters that a terminal obeys instead of showing them."""
    return [c for c in text if unicodedata.category(c) in {"Cc", "Cf"} and c != "\n"]


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {"demo", "serve", "view"}))
def test_hostile_names_and_texts_never_reach_the_terminal(
    run: Any, folder: Path, name: str
) -> None:
    """As the ledger and the files hold them, and as arguments."""
    (folder / "ledger.db").rename(folder / f"{HOSTILE}.db")
    place = ["--ledger", f"{HOSTILE}.db"] if any(n == name for n, _ in takes("ledger")) else []
    has_json = name not in NOT_JSON

    done = [run(*call(name, *place)), *([run(*call(name, *place, "--json"))] * has_json)]
    named = [p for n, p in takes(*NAMES, *READ, *WRITTEN, "name") if n == name]
    done += [run(*replaced(name, param, HOSTILE), *place) for param in named]

    assert [[]] * len(done) == [obeyed(each.stdout + each.stderr) for each in done]
    assert not any("Traceback" in each.stderr for each in done), [each.stderr for each in done]
    if has_json and done[1].stdout:
        json.loads(done[1].stdout)
