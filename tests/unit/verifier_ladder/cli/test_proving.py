"""`vladder ledger verify`, `prove`, `checkpoint` and the exports of a signed log."""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.offline import main, read_checkpoint, time_text
from verifier_ladder.ledger.signer import Signer, key_file
from verifier_ladder.testing.records import score_block

VERDICT = {"accept": "PASSED", "reject": "FAILED"}


def tamper(ledger: Path, statement: str) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        for table in ("entry", "verdict"):
            connection.execute(f"DROP TRIGGER {table}_update_refused")
        connection.execute(statement)
        connection.commit()


def first_entry(run: Any, ledger: Path, kind: str) -> int:
    rows = json.loads(run("ledger", "ls", "--kind", kind, "--json", "--ledger", ledger).stdout)
    return int(rows[-1]["id"])


def test_an_honest_ledger_is_intact(run: Any, ledger: Path) -> None:
    done = run("ledger", "verify", "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert "\nintact\n" in done.stdout
    assert "signed by verifier-ladder/ledger.db/" in done.stdout


def test_who_has_a_copy_alone_is_told_what_it_can_not_show(
    run: Any, ledger: Path, tmp_path: Path
) -> None:
    saved, copy = tmp_path / "saved.txt", tmp_path / "copy" / "ledger.db"
    run("ledger", "checkpoint", "--out", saved, "--ledger", ledger)
    copy.parent.mkdir()
    shutil.copy(ledger, copy)
    copy.chmod(0o444)
    unnoted = "an end that was cut off would not show"

    assert unnoted not in run("ledger", "verify", "--ledger", ledger).stdout
    assert unnoted in run("ledger", "verify", "--ledger", copy).stdout
    done = run("ledger", "verify", "--ledger", copy, "--checkpoint", saved)
    assert unnoted not in done.stdout
    assert re.search(r"compared: \d+ entries with \d+ signed checkpoints?;", done.stdout)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET body = CAST(replace(CAST(body AS TEXT), 'CCO', 'CCN') AS BLOB)",
        "UPDATE verdict SET score = score + 1",
    ],
)
def test_a_changed_ledger_is_not(run: Any, ledger: Path, statement: str) -> None:
    tamper(ledger, statement)

    done = run("ledger", "verify", "--ledger", ledger)
    assert 1 == done.exit_code
    assert re.search(
        r"^NOT INTACT: \d+ problems?, told above; .*restore", done.stdout, re.MULTILINE
    )
    told = json.loads(run("ledger", "verify", "--json", "--ledger", ledger).stdout)
    assert not told["is_intact"]
    assert told["problems"]


def test_a_saved_checkpoint_is_compared(run: Any, ledger: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved.txt"
    assert 0 == run("ledger", "checkpoint", "--out", saved, "--ledger", ledger).exit_code

    done = run("ledger", "verify", "--checkpoint", saved, "--ledger", ledger)
    assert 0 == done.exit_code, done.stderr
    other = tmp_path / "other.db"
    with open_ledger(other) as store:
        store.append(score_block(["a"]))
    assert 1 == run("ledger", "verify", "--checkpoint", saved, "--ledger", other).exit_code
    saved.write_text(saved.read_text().replace("\n", "\nx", 1))
    assert 2 == run("ledger", "verify", "--checkpoint", saved, "--ledger", ledger).exit_code


def test_one_entry_is_verified(run: Any, ledger: Path, tmp_path: Path) -> None:
    entry = first_entry(run, ledger, "score")
    saved = tmp_path / "saved.txt"
    run("ledger", "checkpoint", "--out", saved, "--ledger", ledger)

    done = run("ledger", "verify", "--entry", entry, "--checkpoint", saved, "--ledger", ledger)
    assert (0, f"entry {entry} (score) stands in the signed log\n") == (
        done.exit_code, done.stdout
    )  # fmt: skip
    tamper(ledger, f"UPDATE entry SET body = body || x'0a' WHERE id = {entry}")  # noqa: S608
    assert 1 == run("ledger", "verify", "--entry", entry, "--ledger", ledger).exit_code


@pytest.mark.parametrize("options", [["--entry", 999], ["--key", "x"], ["--checkpoint", "none"]])
def test_what_cannot_be_asked_says_so(run: Any, ledger: Path, options: list[Any]) -> None:
    done = run("ledger", "verify", *options, "--ledger", ledger)

    assert 2 == done.exit_code
    assert "vladder:" in done.stderr


def test_a_checkpoint_is_printed_with_its_key(run: Any, ledger: Path) -> None:
    told = json.loads(run("ledger", "checkpoint", "--json", "--ledger", ledger).stdout)
    done = run("ledger", "checkpoint", "--ledger", ledger)

    assert told["note"] == done.stdout
    assert told["note"].startswith(f"{told['origin']}\n{told['size']}\n")
    assert f"signed by {told['keys'][0]}" in done.stderr


def test_a_checkpoint_tells_when_its_last_entry_was_recorded(run: Any, ledger: Path) -> None:
    told = json.loads(run("ledger", "checkpoint", "--json", "--ledger", ledger).stdout)
    with open_ledger(ledger) as store:
        (*_, last) = store.entries()

    assert time_text(last.recorded_at) == told["time"]
    assert f"\ntime {told['time']}\n" in told["note"]


def test_an_entry_is_proven_under_the_checkpoint_that_was_published(
    run: Any, ledger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published, proof = tmp_path / "published.txt", tmp_path / "proof.json"
    run("ledger", "checkpoint", "--out", published, "--ledger", ledger)
    with open_ledger(ledger) as store:
        early = max(entry.id for entry in store.entries())
        late = store.append(score_block(["b"], step=1))
    under = ["--checkpoint", published, "--ledger", ledger]

    done = run("ledger", "prove", early, "--out", proof, *under)
    refused = run("ledger", "prove", late, *under)
    assert (0, 2) == (done.exit_code, refused.exit_code), done.stderr
    assert "it came later" in " ".join(refused.stderr.split())
    assert published.read_text() == json.loads(proof.read_text())["checkpoint"]
    assert 0 == main([str(proof)])
    time = read_checkpoint(published.read_text()).time
    assert f"checkpoint of {early} entries, the last of {time}" in capsys.readouterr().out


def test_nothing_is_proven_under_a_checkpoint_of_another_log(
    run: Any, ledger: Path, tmp_path: Path
) -> None:
    published = tmp_path / "published.txt"
    with open_ledger(tmp_path / "other.db") as store:
        store.append(score_block(["a"]))
    run("ledger", "checkpoint", "--out", published, "--ledger", tmp_path / "other.db")

    assert 1 == run("ledger", "prove", 1, "--checkpoint", published, "--ledger", ledger).exit_code


@pytest.mark.parametrize(
    "command",
    [
        ["verify", "--checkpoint"], ["verify", "--no-index", "--checkpoint"],
        ["verify", "--entry", 1, "--checkpoint"], ["prove", 1, "--checkpoint"],
        ["prove", 1, "--since"],
    ],
)  # fmt: skip
def test_a_saved_checkpoint_with_a_false_time_is_found(
    run: Any, ledger: Path, tmp_path: Path, command: list[Any]
) -> None:
    saved = tmp_path / "saved.txt"
    run("ledger", "checkpoint", "--out", saved, "--ledger", ledger)
    told = read_checkpoint(saved.read_text())._replace(time="2020-01-01T00:00:00.000000+00:00")
    saved.write_text(Signer.read(key_file(f"sqlite:///{ledger}")).sign(told))
    with open_ledger(ledger) as store:
        store.append(score_block(["b"], step=1))

    done = run("ledger", *command, saved, "--ledger", ledger)
    assert 1 == done.exit_code
    assert "was not recorded at 2020-01-01" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "option", [["--checkpoint"], ["--record", "verdicts:0"], ["--check", "ab"], ["--position", 0]]
)
def test_growth_and_an_entry_are_not_proven_at_once(
    run: Any, ledger: Path, tmp_path: Path, option: list[Any]
) -> None:
    saved = tmp_path / "saved.txt"
    run("ledger", "checkpoint", "--out", saved, "--ledger", ledger)
    option = option if option[1:] else [*option, saved]

    done = run("ledger", "prove", 1, "--since", saved, *option, "--ledger", ledger)
    assert (2, "") == (done.exit_code, done.stdout)
    assert "--since proves that the log has grown" in " ".join(done.stderr.split())


def test_a_proof_is_checked_by_the_verifier_alone(run: Any, ledger: Path, tmp_path: Path) -> None:
    entry = first_entry(run, ledger, "check")
    options = ["--record", "verdicts:0", "--out", tmp_path / "proof.json", "--ledger", ledger]
    assert 0 == run("ledger", "prove", entry, *options).exit_code
    assert 0 == run("ledger", "verifier", "--out", tmp_path / "verify.py").exit_code

    done = subprocess.run(
        [sys.executable, "-I", tmp_path / "verify.py", tmp_path / "proof.json"],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    assert (0, "") == (done.returncode, done.stderr)
    record = json.loads(done.stdout.splitlines()[1])
    assert ("verdicts", "xtb", "abstain") == (
        record["section"], record["verifier"], record["outcome"]
    )  # fmt: skip


def test_a_sample_is_proven_by_its_position(run: Any, ledger: Path) -> None:
    entry = first_entry(run, ledger, "score")
    done = run("ledger", "prove", entry, "--position", 0, "--ledger", ledger)

    records = json.loads(done.stdout)["records"]
    assert {"samples", "rewards", "decisions.0"} == {section for section, _ in records}


@pytest.mark.parametrize("record", ["verdicts", "verdicts:x", "verdicts:99"])
def test_a_record_that_is_not_there_says_so(run: Any, ledger: Path, record: str) -> None:
    done = run("ledger", "prove", 2, "--record", record, "--ledger", ledger)

    assert 2 == done.exit_code


def test_growth_is_proven(run: Any, ledger: Path, tmp_path: Path) -> None:
    saved, proof = tmp_path / "saved.txt", tmp_path / "growth.json"
    run("ledger", "checkpoint", "--out", saved, "--ledger", ledger)
    done = run("ledger", "prove", 1, "--since", saved, "--out", proof, "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert 0 == main([str(proof)])


def test_a_log_is_exported_with_its_verifier(run: Any, ledger: Path, tmp_path: Path) -> None:
    out = tmp_path / "log"
    done = run("ledger", "export", "--format", "tiles", "--out", out, "--ledger", ledger)

    assert 0 == done.exit_code, done.stderr
    assert 0 == main([str(out)])


@pytest.mark.parametrize("options", [[], ["--out", "log", "--campaign", "solvation"]])
def test_a_log_is_exported_whole(run: Any, ledger: Path, options: list[str]) -> None:
    done = run("ledger", "export", "--format", "tiles", *options, "--ledger", ledger)

    assert 2 == done.exit_code


def test_verdicts_are_exported_as_statements(run: Any, ledger: Path) -> None:
    rows = run("ledger", "export", "--format", "in-toto", "--ledger", ledger).stdout
    statements = [json.loads(line) for line in rows.splitlines()]
    lines = run("ledger", "export", "--ledger", ledger).stdout.splitlines()
    flat = [json.loads(line) for line in lines]

    verdicts = [row for row in flat if row["record"] == "verdict" and row["outcome"] in VERDICT]
    assert [row["candidate"] for row in verdicts] == [
        statement["subject"][0]["digest"]["sha256"] for statement in statements
    ]
    assert [VERDICT[row["outcome"]] for row in verdicts] == [
        statement["predicate"]["verificationResult"] for statement in statements
    ]
    last = statements[-1]["predicate"]
    assert "urn:verifier-ladder:verifier:xtb" == last["verifier"]["id"]
    assert 1 == len(last["inputAttestations"])  # The fast tier's entry.
    assert {"uri", "digest"} == set(last["policy"])


@pytest.fixture
def sealed(run: Any, tmp_path: Path) -> Path:
    """A ledger that was sealed before anything was written."""
    path = tmp_path / "sealed.db"
    done = run("ledger", "seal", "--ledger", path)
    assert (0, "is sealed from now on\n") == (done.exit_code, done.stderr[-22:])
    with open_ledger(path) as store:
        store.append(score_block(["CCO", "CCN"]))
    return path


def test_a_sealed_ledger_shows_only_what_it_is_asked_to(
    run: Any, sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = ["--record", "candidates:0", "--ledger", sealed, "--out", tmp_path / "proof.json"]

    assert 0 == run("ledger", "prove", 2, *record).exit_code
    assert "CCO" not in (tmp_path / "proof.json").read_text()
    assert 0 == main([str(tmp_path / "proof.json")])
    assert '"content": {"$sealed": "' in capsys.readouterr().out

    assert 0 == run("ledger", "prove", 2, *record, "--reveal", "content").exit_code
    assert 0 == main([str(tmp_path / "proof.json")])
    assert '"content": "CCO"' in capsys.readouterr().out
    assert "CCN" not in (tmp_path / "proof.json").read_text()

    text = (tmp_path / "proof.json").read_text()
    (tmp_path / "proof.json").write_text(text.replace("CCO", "CCC"))
    assert 1 == main([str(tmp_path / "proof.json")])
    assert "not what was sealed" in capsys.readouterr().err


def test_an_export_of_a_sealed_ledger_says_what_it_leaves_out(run: Any, sealed: Path) -> None:
    done = run("ledger", "export", "--ledger", sealed, "--reveal", "feedback")
    assert "left out where the ledger is sealed: keys, content, evidence" in done.stderr
    assert json.loads(done.stdout.splitlines()[0])["candidate"] is None
    body = run("ledger", "show", 2, "--entry", "--json", "--ledger", sealed).stdout
    assert json.loads(body)["body"][1]["candidates"]["content"] == ["CCO", "CCN"]
    assert "they are keys, content" in run("ledger", "export", "--reveal", "x").stderr


def test_sealing_a_ledger_says_what_stays_open(run: Any, ledger: Path) -> None:
    assert "entries before stay open" in run("ledger", "seal", "--ledger", ledger).stderr
    assert "was sealed before" in run("ledger", "seal", "--ledger", ledger).stderr
