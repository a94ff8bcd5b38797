"""Prompts of a file are kept where somebody asks for it, once, and can be trained on."""

import json
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.datasets import training_set

CHAT = [{"role": "user", "content": "Say d."}]
SPOKEN = [
    {"role": "assistant", "content": "hm"}, {"role": "tool", "content": "?"},
    {"role": "assistant", "content": "dd"},
]  # fmt: skip
ROWS = [
    {"prompt": "Say a.", "completion": "aa", "id": 1},
    {"prompt": "Say a.", "completion": "a", "id": 1},
    {"prompt": CHAT, "completion": SPOKEN, "id": 2},
    {"completion": "d", "id": 2},
]


@pytest.fixture
def ladder() -> vl.Ladder:
    @vl.verifier(name="length", version="1", kind="text", isolation="inline")
    def length(candidate: vl.Candidate) -> float:
        return len(candidate.content) / 4

    return vl.Ladder("lengths", [length])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rollouts.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in ROWS))
    return path


def kept(place: Path) -> list[Any]:
    with vl.open_ledger(place) as ledger:
        told = [ledger.read(entry).facts for entry in ledger.entries(kind="transcript")]
        return [(facts["groups"], facts["samples"]) for facts in told]


def test_prompts_and_chats_are_kept_once_however_often_a_file_is_scored(
    file: Path, ladder: vl.Ladder, tmp_path: Path
) -> None:
    place = tmp_path / "ledger.db"
    columns = {"group": "id", "content": "completion"}
    first = vl.score_file(file, ladder=ladder, ledger=place, columns=columns)
    assert [] == kept(place)
    runs = {
        vl.score_file(
            file, ladder=ladder, ledger=place, columns={**columns, "prompt": "prompt"}
        ).run
        for _ in range(2)
    }

    # A prompt that names no group changes no sample: it is kept for those of before.
    assert {first.run} == runs
    groups = {"1": {"prompt": "Say a."}, "2": {"prompt": CHAT}}
    assert [(groups, [[0, 3, {"completion": SPOKEN, "group": "2"}]])] == kept(place)


def test_rows_of_one_prompt_are_a_group_and_make_a_training_set(
    file: Path, ladder: vl.Ladder, tmp_path: Path
) -> None:
    place = tmp_path / "ledger.db"
    columns = {"content": "completion", "prompt": "question"}
    bare = [{"question": row.get("prompt"), "completion": row["completion"]} for row in ROWS]
    file.write_text("\n".join(json.dumps(row) for row in bare))
    scored = vl.score_file(file, ladder=ladder, ledger=place, columns=columns)
    with vl.open_ledger(place) as ledger:
        (row,) = training_set(ledger, "preferences").splits["train"]

    assert scored.groups[0] == scored.groups[1] != scored.groups[2]
    assert "line 4" == scored.groups[3]
    assert ("Say a.", "aa", "a") == (row["prompt"], row["chosen"], row["rejected"])


@pytest.mark.parametrize("word", ["false", "0"])
def test_the_environment_may_forbid_it(
    file: Path, ladder: vl.Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("VLADDER_TRANSCRIPTS", word)
    columns = {"content": "completion", "prompt": "prompt"}
    vl.score_file(file, ladder=ladder, ledger=tmp_path / "ledger.db", columns=columns)

    assert [] == kept(tmp_path / "ledger.db")
