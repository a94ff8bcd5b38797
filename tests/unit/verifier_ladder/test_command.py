"""Programs as verifiers: real ones, written in a line or two of Python."""

import os
import pickle
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psutil
import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.command import CommandVerifier
from verifier_ladder.errors import ConfigError, ToolError, VerifierError
from verifier_ladder.verdict import Verdict

pytestmark = pytest.mark.usefixtures("forked_workers")

Make = Callable[..., CommandVerifier]

# One deed per line of content, so that one program serves all tests.
PROGRAM = """
import json, os, sys, time
print("ready", os.getpid(), file=sys.stderr, flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    content = asked["content"]
    if content == "exit":
        print("giving up", file=sys.stderr, flush=True)
        sys.exit(3)
    if content == "leave":
        sys.exit(0)
    if content == "crash":
        os.kill(os.getpid(), 11)
    if content == "hang":
        time.sleep(60)
    said = {
        "garbage": "what?", "nan": "NaN", "null": "null", "true": "true", "two": "1\\n2",
        "long": "1" * 3_000_000, "typo": '{"result": 1}',
        "other": '{"id": 99, "outcome": "accept"}',
        "full": json.dumps({"id": asked["id"], "outcome": "reject", "reason": "no"}),
        "task": str(asked["task"] and asked["task"]["answer"]),
    }.get(content, str(len(content)))
    sys.stdout.write(said + ("\\n" if content != "unended" else ""))
    sys.stdout.flush()
"""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make command verifiers that are ended with the test."""
    made: list[CommandVerifier] = []
    program = tmp_path / "judge.py"
    program.write_text(textwrap.dedent(PROGRAM))

    def build(**options: Any) -> CommandVerifier:
        command = options.pop("command", [sys.executable, "-S", str(program)])
        given = {"name": "judge", "version": "1", "timeout": 20.0, **options}
        made.append(CommandVerifier(command=command, **given))
        return made[-1]

    yield build
    for verifier in made:
        verifier.close()


def judged(verifier: CommandVerifier, *contents: str) -> list[Verdict]:
    return verifier.judge([Candidate("text", content) for content in contents])


@pytest.mark.parametrize("per_batch", [False, True])
def test_a_program_answers_for_each_candidate(make: Make, per_batch: bool) -> None:  # noqa: FBT001
    verdicts = judged(make(per_batch=per_batch), "abc", "null", "true", "full")

    assert [3.0, None, 1.0, None] == [verdict.score for verdict in verdicts]
    assert ["accept", "abstain", "accept", "reject"] == [v.outcome.value for v in verdicts]
    assert [None] * 4 == [verdict.failed_at for verdict in verdicts]


def test_a_program_sees_the_task_and_any_text(make: Make) -> None:
    candidates = [Candidate("text", "task", {"answer": 4}), Candidate("text", "\ud800\n")]

    assert [4.0, 2.0] == [verdict.score for verdict in make().judge(candidates)]


@pytest.mark.parametrize(
    ("deed", "boundary", "said"),
    [
        ("exit", "tool", "ended with exit code 3"),
        ("leave", "verifier", "ended after 0 answers to 1 candidates"),
        ("crash", "verifier", "ended with signal 11"),
        ("garbage", "verifier", "answered 'what?', not JSON"),
        ("nan", "verifier", "not JSON"),
        ("long", "verifier", "more than 1048576 bytes"),
        ("typo", "verifier", "no field 'result'"),
        ("other", "verifier", "answered with the id 99, which nobody asked about"),
    ],
)
def test_a_bad_answer_costs_only_its_own_candidate(
    make: Make, deed: str, boundary: str, said: str
) -> None:
    first, culprit, last = judged(make(), "a", deed, "ccc")

    assert [1.0, 3.0] == [first.score, last.score]
    assert boundary == culprit.failed_at
    assert said in culprit.reason


TALKATIVE = """
import json, sys
late = []
for line in sys.stdin:
    asked = json.loads(line)
    for text in late:
        print(text, flush=True)
    late = [f"{asked['content'].count('!')}"] * ("!" in asked["content"])
    said = {"id": asked["id"], "outcome": "accept", "score": len(asked["content"])}
    print(json.dumps(said) if REPEATS else len(asked["content"]), flush=True)
    if asked["content"] == "twice":
        print(99.0, flush=True)
"""


@pytest.mark.parametrize("repeats", [True, False])
def test_a_line_too_many_is_no_other_candidates_answer(
    make: Make, tmp_path: Path, *, repeats: bool
) -> None:
    program = tmp_path / "talkative.py"
    program.write_text(TALKATIVE.replace("REPEATS", str(repeats)))
    verifier = make(command=[sys.executable, "-S", str(program)])

    first, late, after, twice, last = judged(verifier, "a", "now!", "ccc", "twice", "eeeeee")

    assert [1.0, 4.0, 5.0 if repeats else None] == [first.score, late.score, twice.score]
    assert {3.0, None} >= {after.score}
    assert {6.0, None} >= {last.score}


def test_a_program_that_repeats_the_id_is_started_once(make: Make, tmp_path: Path) -> None:
    program = tmp_path / "counting.py"
    program.write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    said = {'outcome': 'accept', 'score': os.getpid()}\n"
        "    said |= {'id': asked['id']} if asked['content'] == 'repeats' else {}\n"
        "    print(json.dumps(said), flush=True)\n"
    )
    command = [sys.executable, "-S", str(program)]

    first, second = judged(make(command=command), "repeats", "repeats")
    third, fourth = judged(make(command=command), "silent", "silent")

    assert first.score == second.score
    assert third.score != fourth.score


def test_silence_ends_at_the_time_limit(make: Make) -> None:
    culprit, last = judged(make(timeout=1.0), "hang", "ccc")

    assert ("tool", True) == (culprit.failed_at, "no answer in 1 s" in culprit.reason)
    assert 3.0 == last.score


def test_the_last_lines_of_a_failed_program_are_evidence(make: Make) -> None:
    (verdict,) = judged(make(), "exit")

    assert verdict.evidence["log"].endswith("giving up")


def test_a_line_too_many_is_no_answer_and_not_taken_for_the_next(make: Make) -> None:
    two, last = judged(make(), "two", "ccc")

    assert (None, "verifier", 3.0) == (two.score, two.failed_at, last.score)
    assert "more lines than it was asked" in two.reason


def test_a_program_that_never_ends_its_answer_is_told_to(make: Make) -> None:
    code = "import time\ninput()\nprint(1, flush=True)\nwhile True: time.sleep(60)"

    (verdict,) = judged(make(command=[sys.executable, "-c", code], timeout=1.0), "a")

    assert (None, "tool") == (verdict.score, verdict.failed_at)
    assert "did not end when its input did; have it end then" in verdict.reason


def test_a_program_is_kept_between_batches(make: Make) -> None:
    verifier = make()
    judged(verifier, "full")
    first = verifier._program

    judged(verifier, "full")

    assert first is verifier._program is not None


def test_a_batch_that_fails_as_a_whole_raises_for_the_engine_to_halve(make: Make) -> None:
    verifier = make(per_batch=True)

    for deed, error in (("exit", ToolError), ("leave", VerifierError), ("two", VerifierError)):
        with pytest.raises(error):
            judged(verifier, "a", deed)


def test_alone_in_its_batch_a_culprit_abstains(make: Make) -> None:
    (verdict,) = judged(make(per_batch=True), "exit")

    assert ("tool", True) == (verdict.failed_at, "giving up" in verdict.evidence["log"])


def test_a_last_line_may_lack_its_end(make: Make) -> None:
    assert [7.0] == [verdict.score for verdict in judged(make(per_batch=True), "unended")]


def test_a_program_that_is_not_there_says_what_to_do(make: Make) -> None:
    (verdict,) = judged(make(command=["/nowhere/judge"]), "a")

    assert "tool" == verdict.failed_at
    assert "can't be started: No such file or directory; install it" in verdict.reason


def test_killing_it_ends_what_it_started(make: Make) -> None:
    code = (
        "import subprocess as s\ninput()\nprint(s.Popen(['sleep', '600']).pid, flush=True)\n"
        "input()"
    )
    verifier = make(command=[sys.executable, "-c", code])
    (verdict,) = judged(verifier, "a")
    assert verdict.score is not None

    verifier.close()

    deadline = monotonic() + 300.0
    while psutil.pid_exists(int(verdict.score)) and monotonic() < deadline:
        if psutil.Process(int(verdict.score)).status() == psutil.STATUS_ZOMBIE:
            break
        sleep(0.005)
    assert monotonic() < deadline


def test_environment_and_folder_are_given(make: Make, tmp_path: Path) -> None:
    code = "import os\ninput()\nprint(len(os.environ['WORD']) + os.path.exists('here'))"
    (tmp_path / "here").touch()
    verifier = make(
        command=[sys.executable, "-c", code], environment={"WORD": "abc"}, folder=str(tmp_path)
    )

    assert 4.0 == judged(verifier, "a")[0].score
    assert "WORD" not in os.environ


def test_its_command_and_folder_may_be_paths(make: Make, tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text("print(float(len(input()) > 0))")
    verifier = make(command=[sys.executable, tmp_path / "judge.py"], folder=tmp_path)

    assert 1.0 == judged(verifier, "a")[0].score


def test_its_cpu_time_is_its_cost(make: Make) -> None:
    code = "import time\ninput()\nwhile time.process_time() < .2: 1\nprint(1, flush=True)\ninput()"

    cost = judged(make(command=[sys.executable, "-c", code]), "a")[0].cost

    assert cost is not None
    assert cost.seconds >= 0.15


def test_it_travels_to_workers_without_its_program(make: Make) -> None:
    verifier = make()
    judged(verifier, "a")

    copy = pickle.loads(pickle.dumps(verifier))  # noqa: S301

    assert copy._program is None
    assert verifier.digest == copy.digest


def test_another_command_is_another_verifier() -> None:
    one, two = (
        CommandVerifier(name="judge", version="1", command=["judge", level]) for level in "12"
    )

    assert one.digest != two.digest


@pytest.mark.parametrize(
    "options", [{"command": "judge.py --fast"}, {"command": []}, {"colour": "red"}]
)
def test_what_can_not_be_a_command_is_refused(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"command": ["judge"], **options}

    with pytest.raises(ConfigError, match="judge"):
        CommandVerifier(name="judge", version="1", **given)


@pytest.mark.parametrize("part", ["x = 1\n" * 1000, "no/such/file"])
def test_an_argument_that_can_be_no_file_name_is_no_file(make: Make, part: str) -> None:
    assert "" == make(command=[sys.executable.split("/")[-1], "-c", part]).source.digest
