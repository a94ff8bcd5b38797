"""The asynchronous trainer's own worker process generates and scores; a stand-in for vLLM answers.

The trainer itself can't run here: its attention is a kernel of graphics cards."""
# mypy: ignore-errors
# TRL is not installed everywhere that types are checked.

import importlib
import json
import queue
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from accelerate import PartialState
from datasets import Dataset

import verifier_ladder as vl
from verifier_ladder.learners.trl import reward_function
from verifier_ladder.runs import read_run
from verifier_ladder.scheduler.late import step_advantages

worker = pytest.importorskip("trl.experimental.async_grpo.async_rollout_worker")

CHAT = (
    "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}w8 {% endif %}"
)
ANSWER = {
    "defaults": {"role": "assistant"},
    "start_anchor": "w8",
    "fields": {"content": {"close_pattern": r"<eos>", "content": "text"}},
}
ENDS = 1
"""The token that ends a completion."""


JUDGE = """
def accuracy(completions, answer):
    said = [completion[0]["content"] for completion in completions]
    return [float(c.strip() == a) for c, a in zip(said, answer)]
"""
"""A user's module: the worker process imports it, as it could not import this file."""


class Completions(BaseHTTPRequestHandler):
    """Answers each prompt with its first two words in turn."""

    protocol_version = "HTTP/1.1"
    asked: Counter[tuple[int, ...]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = tuple(asked["prompt"])
        self.asked[prompt] += 1
        ids = [prompt[self.asked[prompt] % 2], ENDS]
        told = {"choices": [{"token_ids": ids, "logprobs": {"token_logprobs": [-1.0, -1.0]}}]}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    """The address of a server that completes as vLLM does."""
    handler = type("Handler", (Completions,), {"asked": Counter()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield "http://{}:{}".format(*server.server_address)
        server.shutdown()
        thread.join()


def test_each_group_of_the_asynchronous_trainer_is_compared_by_itself(
    words: Any, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes through its prompts again and again, and tells no step."""
    monkeypatch.setattr(worker, "is_vllm_available", lambda: True)
    PartialState()  # What a trainer has; the worker's log asks for it.
    words.chat_template, words.response_template = CHAT, ANSWER
    (tmp_path / "judging.py").write_text(JUDGE)
    monkeypatch.syspath_prepend(tmp_path)
    accuracy = importlib.import_module("judging").accuracy
    rows = [
        {"prompt": [{"role": "user", "content": f"w{i} w{i + 1}"}], "answer": f"w{i}"}
        for i in range(2)
    ]
    function = reward_function(
        vl.wrap(accuracy, version="1", columns=["answer"]), ledger=tmp_path / "l.db", run="r",
        campaign="c", deadline=None,
    )  # fmt: skip
    rollouts = worker.AsyncRolloutWorker(
        model_name="m", dataset=Dataset.from_list(rows), reward_funcs=[function],
        processing_class=words, eos_token_ids=[ENDS], num_generations=2, max_inflight_tasks=2,
        vllm_server_url=url, queue_maxsize=1, score_queue_maxsize=1, child_ready_timeout=900,
    )  # fmt: skip
    rollouts.start()
    try:
        told = []
        while len(told) < 8:
            rollouts.check_health(stale_after_s=900)
            with suppress(queue.Empty):
                told.append(rollouts.rollout_buffer.get(timeout=1))
    finally:
        rollouts.stop()

    groups = [sorted(s.metrics["reward"] for s in told[i : i + 2]) for i in range(0, 8, 2)]
    assert [[0.0, 1.0]] * 4 == groups
    with vl.open_ledger(tmp_path / "l.db") as ledger:
        record = read_run(ledger, "r", campaign="c")
        assert 2 == len({sample.group for sample in record.samples})
        assert 8 <= len(record.samples)
        steps = range(-1, ledger.next_step("c", "r"))
        told = [row.advantage for i in steps for row in step_advantages(ledger, "c", "r", i)]
    assert sorted([-1.0, 1.0] * (len(record.samples) // 2)) == sorted(told)
