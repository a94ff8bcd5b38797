"""An edited reward function is run anew, whichever way it came into a campaign."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forked
import pytest

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function

OLD = """
import verifier_ladder as vl

BONUS = 1.0

def helper(text):
    return len(text) + BONUS

def judge(completions, **columns):
    return [helper(text) for text in completions]

@vl.verifier(name="decorated", isolation="inline")
def decorated(candidate):
    return helper(candidate.content)

class Judge(vl.Verifier):
    name, isolation = "class", "inline"
    def verify(self, candidates):
        return [helper(candidate.content) for candidate in candidates]
"""
EDITS = {
    "a constant": ("BONUS = 1.0", "BONUS = 2.0"),
    "a helper": ("len(text) + BONUS", "len(text) + 2.0"),
}


def module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def by_wrap(path: Path, ledger: Path) -> float | None:
    return by_campaign(vl.wrap(module(path).judge, isolation="inline"), ledger)


def by_decorator(path: Path, ledger: Path) -> float | None:
    return by_campaign(module(path).decorated, ledger)


def by_class(path: Path, ledger: Path) -> float | None:
    return by_campaign(module(path).Judge(), ledger)


def by_campaign(verifier: vl.Verifier, ledger: Path) -> float | None:
    ladder = vl.Ladder("l", [verifier])
    with vl.Campaign.open(f"c-{verifier.version}", ladder=ladder, ledger=ledger) as campaign:
        return campaign.score(["abc"])[0].value


def by_trl(path: Path, ledger: Path) -> float | None:
    function = reward_function(vl.wrap(module(path).judge, isolation="inline"), ledger=ledger)
    (reward,) = function(prompts=["p"], completions=["abc"])
    function.close()
    return reward  # type: ignore[no-any-return]


def by_file(path: Path, ledger: Path) -> float | None:
    rows = ledger.with_name("rows.jsonl")
    rows.write_text('{"completion": "abc"}\n')
    check = vl.wrap(module(path).judge, isolation="inline")
    out = ledger.with_name("out.jsonl")
    ladder = vl.Ladder(f"l-{check.version}", [check])
    vl.score_file(rows, ladder=ladder, ledger=ledger, out=out)
    return float(json.loads(out.read_text())["reward"])


DOORS = [by_wrap, by_decorator, by_class, by_trl, by_file]


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("door", DOORS)
def test_an_edited_function_never_gets_its_old_rewards(
    door: Callable[[Path, Path], float | None], edit: str, tmp_path: Path
) -> None:
    before, after = tmp_path / "a" / "rewards.py", tmp_path / "b" / "rewards.py"
    for path, text in ((before, OLD), (after, OLD.replace(*EDITS[edit]))):
        path.parent.mkdir()
        path.write_text(text)

    assert 4.0 == door(before, tmp_path / "ledger.db")
    assert 5.0 == door(after, tmp_path / "ledger.db")
    assert 4.0 == door(before, tmp_path / "ledger.db")


def test_a_comment_or_another_layout_keeps_the_rewards(tmp_path: Path) -> None:
    """The function says how often it ran: once, though its file was edited and renamed."""
    runs = "with open(LOG, 'a') as log:\n        log.write('ran')\n    return helper(candidate"
    text = OLD.replace("return helper(candidate", runs)
    text = f"LOG = {str(tmp_path / 'log')!r}\n{text}"
    edited = text.replace("def helper", "\n\n# A comment.\ndef helper").replace("'ran'", '"ran"')
    for name, said in (("one", text), ("two", edited)):
        (tmp_path / f"{name}.py").write_text(said)

    rewards = [by_decorator(tmp_path / f"{n}.py", tmp_path / "ledger.db") for n in ("one", "two")]

    assert [4.0, 4.0] == rewards
    assert "ran" == (tmp_path / "log").read_text()


def test_a_new_program_under_an_old_version_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = tmp_path / "judge.py"

    def opened() -> list[str]:
        caplog.clear()
        check = vl.CommandVerifier(name="p", version="1", command=[sys.executable, str(program)])
        with vl.Campaign.open("c", ladder=vl.Ladder("l", [check]), ledger=tmp_path / "l.db"):
            return [record.getMessage() for record in caplog.records]

    program.write_text("print(1)")
    assert not opened()
    program.write_text("print(2)")
    (told,) = opened()
    assert str(program) in told


def test_a_function_without_source_is_refused_where_a_script_runs(tmp_path: Path) -> None:
    """As in `python -c`, where nobody could tell an edit."""
    script = (
        "import verifier_ladder as vl\n"
        "try:\n    vl.Ladder('l', [vl.wrap(lambda completions: [1.0], name='judge')]).digest\n"
        "except vl.ConfigError as error:\n    print(error)\n"
    )
    done = forked.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=300,
        cwd=tmp_path, env=dict(os.environ),
    )  # fmt: skip

    assert "judge needs a version" in done.stdout
