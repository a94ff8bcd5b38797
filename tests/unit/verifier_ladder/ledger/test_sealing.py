"""A sealed ledger gives nothing away that it is not asked for, and reads as any other."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.bundles import export_tiles
from verifier_ladder.ledger.encoding import ROWS, decode, encode, leaf
from verifier_ladder.ledger.export import COLUMNS, export_jsonl, export_statements
from verifier_ladder.ledger.merging import merge
from verifier_ladder.ledger.offline import (
    RejectedError,
    check_export,
    check_openings,
    check_proof,
    seal_hash,
)
from verifier_ladder.ledger.proof import prove
from verifier_ladder.ledger.records import Block
from verifier_ladder.ledger.sealing import NAMES, bare, chosen, openings_for, revealing
from verifier_ladder.ledger.sql import SqlLedger
from verifier_ladder.testing.records import key, score_block
from verifier_ladder.verdict import Verdict

HIDDEN = "a secret molecule"
ENTRY = 2
NEIGHBOURS = ROWS
JUNK = st.sampled_from([b"\n", b"\n\n", b"\n\n[]", b"\n[]", b'\n\n[["' + b"00" * 16 + b'","1"]]'])
"""What might be put into an entry, or behind it."""


def told() -> Block:
    """A call with a secret in every place where there can be one."""
    words = [HIDDEN, *(f"neighbour {number}" for number in range(NEIGHBOURS))]
    block = score_block(words)
    first = block.verdicts[0]._replace(
        verdict=Verdict.reject(f"no: {HIDDEN}", feedback=HIDDEN, evidence={"of": HIDDEN})
    )
    assert block.samples is not None
    block.samples.groups = [HIDDEN] * len(words)
    return replace(block, verdicts=[first, *block.verdicts[1:]], facts={"prompt": HIDDEN})


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlLedger]:
    with open_ledger(tmp_path_factory.mktemp("sealed") / "ledger.db") as made:
        assert isinstance(made, SqlLedger)
        made.seal()
        made.append(told())
        yield made


def test_a_sealed_ledger_is_read_and_searched_as_any_other(ledger: SqlLedger) -> None:
    entry = ledger.entry(ENTRY)
    assert entry is not None

    assert repr(ledger.read(entry)) == repr(decode(encode(told(), 0.0)))
    assert ledger.mentions(key(HIDDEN)) == [ENTRY]
    assert ledger.find_contents(key(HIDDEN).hex()) == [(key(HIDDEN), "text", HIDDEN)]
    assert (found := ledger.verify()).is_intact, found.problems


@pytest.mark.parametrize("records", [[], [("candidates", 0), ("verdicts", 0), ("samples", 0)]])
def test_a_proof_gives_no_secret_and_no_key_away(ledger: SqlLedger, records: Any) -> None:
    proof = prove(ledger, ENTRY, records)

    text = json.dumps(proof)
    assert HIDDEN not in text
    assert key(HIDDEN).hex() not in text
    assert key(f"check {HIDDEN}").hex() not in text
    assert "neighbour" not in text
    assert check_proof(proof).checkpoint.size == 2


def test_numbers_stay_open_and_links_within_the_entry_show(ledger: SqlLedger) -> None:
    asked = [("candidates", 1), ("verdicts", 1), ("samples", 1), ("rewards", 1)]

    candidate, verdict, sample, reward = check_proof(prove(ledger, ENTRY, asked)).records

    assert (verdict["verifier"], verdict["outcome"], verdict["score"]) == (
        "length",
        "accept",
        11.0,
    )
    assert reward["value"] == 11.0
    assert candidate["content_key"] == verdict["content_key"] == sample["contents"]
    assert sample["checks"] == [verdict["check_key"]]
    assert candidate["content"] != verdict["content_key"]


def test_what_is_revealed_is_proven_and_nothing_else_is(ledger: SqlLedger) -> None:
    asked = [("candidates", 0), ("verdicts", 0)]

    proof = prove(ledger, ENTRY, asked, reveal=["content", "evidence"])

    candidate, verdict = check_proof(proof).records
    assert (candidate["content"], verdict["evidence"]) == (HIDDEN, {"of": HIDDEN})
    assert {"$sealed"} == set(candidate["content_key"]) == set(verdict["reason"])
    assert len(proof["openings"]) == 2
    assert "neighbour" not in json.dumps(proof)  # Of the neighbours nothing is opened.


def test_an_entry_is_proven_whole_with_what_is_revealed(ledger: SqlLedger) -> None:
    found = check_proof(prove(ledger, ENTRY, reveal=["facts"]))
    assert {"facts": {"prompt": HIDDEN}} in found.records
    assert HIDDEN not in json.dumps(check_proof(prove(ledger, ENTRY, reveal=["keys"])).records)
    everything = check_proof(prove(ledger, ENTRY, reveal=NAMES))
    assert "$sealed" not in json.dumps(everything.records)


def _forged(salt: str, text: str) -> dict[str, tuple[str, str]]:
    """Openings that must not pass for one that opens."""
    flipped = ("0" if salt[0] != "0" else "1") + salt[1:]
    return {
        "another value": (salt, '"another molecule"'),
        "another salt": (flipped, text),
        "a salt that eats the value": (salt + text[:1].encode().hex(), text[1:]),
        "a salt in other letters": (salt.upper(), text),
        "a short salt": (salt[:-2], text),
        "no JSON": (salt, text + "}"),
        "no salt": ("", text),
    }


@pytest.mark.parametrize("how", _forged("00", ""))
@pytest.mark.parametrize("records", [[], [("verdicts", 1), ("candidates", 0)]])
def test_a_wrong_value_or_salt_is_rejected(ledger: SqlLedger, how: str, records: Any) -> None:
    proof = prove(ledger, ENTRY, records, reveal=["content"])
    body = proof.get("body", "").partition("\n\n")
    openings = proof.get("openings") or json.loads(body[2])
    forged = _forged(*openings[0])[how]
    changed = [forged, *openings[1:]]

    if records:
        proof["openings"] = changed
    else:
        proof["body"] = f"{body[0]}\n\n{json.dumps(changed)}"
    with pytest.raises(RejectedError):
        check_proof(proof)


def test_an_opening_of_another_record_is_rejected(ledger: SqlLedger) -> None:
    proof = prove(ledger, ENTRY, [("candidates", 1)])
    stranger = prove(ledger, ENTRY, [("candidates", 0)], reveal=["content"])

    with pytest.raises(RejectedError, match="not what was sealed"):
        check_proof({**proof, "openings": stranger["openings"]})


@given(data=st.data(), names=st.sets(st.sampled_from(NAMES)))
@settings(max_examples=60)
def test_no_changed_byte_of_what_is_shown_goes_unnoticed(
    ledger: SqlLedger, data: st.DataObject, names: set[str]
) -> None:
    proof = prove(ledger, 2, [("verdicts", 0)], reveal=names)
    honest = check_proof(proof)
    asked = {"records": proof.pop("records")}
    text = json.dumps(proof)
    place = data.draw(st.integers(0, len(text) - 1) | st.integers(len(text) - 200, len(text) - 1))
    other = data.draw(st.characters(codec="ascii"))

    try:
        found = check_proof({**json.loads(text[:place] + other + text[place + 1 :]), **asked})
    except (RejectedError, json.JSONDecodeError):
        return
    hidden = _without_openings(proof, asked)
    assert found in (honest, hidden)  # "openings" under another name open nothing.


def _without_openings(proof: dict[str, Any], asked: dict[str, Any]) -> Any:
    return check_proof({**{k: v for k, v in proof.items() if k != "openings"}, **asked})


@pytest.mark.parametrize("names", [(), ["content"], NAMES])
def test_an_export_leaves_out_what_is_not_revealed(
    ledger: SqlLedger, tmp_path: Path, names: Collection[str]
) -> None:
    export_tiles(ledger, tmp_path / "log", reveal=names)

    assert check_export(tmp_path / "log")[0].size == 2
    files = [path for path in (tmp_path / "log" / "tile").rglob("*") if path.is_file()]
    held = b"".join(path.read_bytes() for path in files)
    assert (HIDDEN.encode() in held) == bool(names)


def test_a_changed_opening_in_an_export_is_found(ledger: SqlLedger, tmp_path: Path) -> None:
    export_tiles(ledger, tmp_path / "log", reveal=NAMES)
    (path,) = (tmp_path / "log" / "tile" / "records").rglob("2")
    path.write_bytes(path.read_bytes().replace(HIDDEN.encode(), HIDDEN.upper().encode(), 1))

    with pytest.raises(RejectedError, match="not what was sealed"):
        check_export(tmp_path / "log")


def test_flat_rows_leave_sealed_columns_out(ledger: SqlLedger, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    export_jsonl(ledger, out)
    verdict = json.loads(out.read_text().splitlines()[0])
    assert (verdict["candidate"], verdict["evidence"], verdict["outcome"]) == (
        None,
        None,
        "reject",
    )
    assert HIDDEN not in out.read_text()
    assert list(verdict) == list(COLUMNS)

    export_jsonl(ledger, out, reveal=["evidence"])
    verdict = json.loads(out.read_text().splitlines()[0])
    assert (verdict["candidate"], json.loads(verdict["evidence"])) == (None, {"of": HIDDEN})


def test_statements_need_keys(ledger: SqlLedger, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--reveal keys"):
        export_statements(ledger, tmp_path / "out.jsonl")
    assert export_statements(ledger, tmp_path / "out.jsonl", reveal=["keys"]) == NEIGHBOURS + 1
    assert HIDDEN not in (tmp_path / "out.jsonl").read_text()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda body: body.replace(HIDDEN.encode(), HIDDEN.upper().encode(), 1), "not what was"),
        (bare, "taken out"),
        (lambda body: bare(body) + b"\n\n", "opens nothing"),
        (lambda body: bare(body) + b"\n\n[]", "opens nothing"),
        (lambda body: bare(body) + b"\n\n{}", "opens nothing"),
    ],
)
def test_a_ledger_whose_openings_were_changed_is_not_intact(
    tmp_path: Path, change: Callable[[bytes], bytes], problem: str
) -> None:
    with open_ledger(tmp_path / "ledger.db") as made:
        made.seal()
        made.append(told())
    with sqlite3.connect(tmp_path / "ledger.db") as file:
        (body,) = file.execute("SELECT body FROM entry WHERE id = 2").fetchone()
        file.execute("DROP TRIGGER entry_update_refused")
        file.execute("UPDATE entry SET body = ? WHERE id = 2", (change(body),))
        (hashed,) = file.execute("SELECT leaf FROM entry WHERE id = 2").fetchone()

    assert leaf(change(body)) == hashed  # The log itself is as it was signed.
    with open_ledger(tmp_path / "ledger.db") as made:
        assert isinstance(made, SqlLedger)
        assert any(problem in line for line in made.verify().problems)
        entry = made.entry(2)
        assert entry is not None
        with pytest.raises(LedgerError, match=problem):
            made.read(entry)


@given(data=st.data(), sealed=st.booleans())
@settings(max_examples=200)
def test_no_changed_byte_of_an_entry_goes_unnoticed(
    data: st.DataObject, sealed: bool  # noqa: FBT001
) -> None:  # fmt: skip
    body = encode(score_block(["a", "b"]), 0.0, sealed=sealed)
    check_openings(body)
    place, gone = data.draw(st.integers(0, len(body))), data.draw(st.integers(0, 2))
    changed = body[:place] + data.draw(JUNK | st.binary(max_size=2)) + body[place + gone :]

    with suppress(RejectedError):
        check_openings(changed)
        assert changed == body or leaf(changed) != leaf(body) or changed == bare(body)


def test_what_was_erased_leaves_the_log_intact(ledger: SqlLedger) -> None:
    entry = ledger.entry(ENTRY)
    assert entry is not None

    assert leaf(bare(entry.body)) == entry.leaf == leaf(revealing(entry.body, ["keys"]))


def test_equal_values_are_hashed_apart_and_salts_are_never_used_twice(ledger: SqlLedger) -> None:
    entry = ledger.entry(ENTRY)
    assert entry is not None
    openings = openings_for(entry.body, NAMES)

    assert len({salt for salt, _ in openings}) == len(openings)
    contents = openings_for(entry.body, ["content", "feedback", "facts"])
    assert 1 < [text for _, text in contents].count(json.dumps(HIDDEN))
    assert len({seal_hash(bytes.fromhex(s), text) for s, text in openings}) == len(openings)


def test_a_ledger_that_others_have_open_is_sealed_for_them_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("verifier_ladder.ledger.store._LOOK_AGAIN", 0.0)
    with open_ledger(tmp_path / "l.db") as mine, open_ledger(tmp_path / "l.db") as other:
        mine.append(score_block(["before"]))
        other.seal()
        mine.append(score_block([HIDDEN], step=1))
        before, _, after = mine.entries()

    assert b"before" in bare(before.body)
    assert HIDDEN.encode() not in bare(after.body)


def test_sealing_twice_changes_nothing_and_memory_is_never_sealed(ledger: SqlLedger) -> None:
    ledger.seal()
    assert ledger.newest() == ENTRY
    with open_ledger(None) as memory, pytest.raises(ConfigError, match="not signed"):
        memory.seal()


def test_a_sealed_ledger_is_not_merged_into_an_open_one(ledger: SqlLedger, tmp_path: Path) -> None:
    with open_ledger(tmp_path / "open.db") as mine:
        assert isinstance(mine, SqlLedger)
        with pytest.raises(ConfigError, match="seal this one too"):
            merge(mine, ledger)
        mine.seal()
        assert merge(mine, ledger).verdicts == NEIGHBOURS + 1
        assert HIDDEN.encode() not in b"".join(bare(entry.body) for entry in mine.entries())
        assert mine.verify().is_intact


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="keys, content, feedback, evidence, groups, facts"):
        chosen(["secrets"])
