"""Transcripts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Turn
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.transcript import Transcript, Transcripts, transcript_block

TEXT = st.text(max_size=8)
CHAT = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXT}),
    min_size=1, max_size=2,
)  # fmt: skip
TOLD = st.builds(
    Transcript, step=st.integers(-1, 3), position=st.integers(-1, 3), group=TEXT,
    prompt=st.none() | TEXT | CHAT, capability=st.sampled_from(["", "planning"]), domain=TEXT,
    completion=st.none() | TEXT | CHAT, turns=st.lists(st.builds(Turn, TEXT, TEXT), max_size=2),
    logprobs=st.none() | st.lists(st.floats(allow_nan=False), max_size=2),
)  # fmt: skip


def kept(*told: Transcript, run: str = "r") -> Transcripts:
    """What a reader finds after a ledger has held them."""
    found = Transcripts("r")
    with open_ledger(":memory:") as ledger:
        ledger.append(transcript_block("c", run, told))
        for entry in ledger.entries(kind="transcript"):
            found.read(ledger.read(entry).facts)
    return found


@given(TOLD)
def test_what_was_kept_comes_back(told: Transcript) -> None:
    found = kept(told)

    assert (told.prompt or None) == found.prompt(told.group)
    assert told.tags == found.tags(told.group)
    if told.is_of_sample:
        sample = found.sample(told.step, told.position)
        assert told.completion == sample.get("completion")
        assert told.logprobs == sample.get("logprobs")
        assert list(told.turns) == found.turns(told.step, told.position)


@given(st.lists(TOLD, max_size=6))
def test_one_entry_or_many_are_the_same(told: list[Transcript]) -> None:
    together, apart = kept(*told), Transcripts("r")
    for one in told:
        apart.read(transcript_block("c", "r", [one]).facts)

    for one in told:
        assert apart.prompt(one.group) == together.prompt(one.group)
        assert apart.tags(one.group) == together.tags(one.group)


def test_a_learner_that_tells_no_step_is_found_by_position() -> None:
    found = kept(Transcript(position=7, completion="4"))

    assert "4" == found.sample(12, 7)["completion"]
    assert {} == found.sample(12, 8)


def test_other_runs_are_left_out() -> None:
    assert kept(Transcript(group="a", prompt="2 + 2 ="), run="other").prompt("a") is None


def test_what_json_can_not_hold_is_kept_by_its_content() -> None:
    prompt: Any = [{"role": "user", "content": [{"type": "image", "image": b"pixels"}]}]
    told = kept(Transcript(group="a", prompt=prompt)).prompt("a")

    assert {"sha256", "bytes"} == told[0]["content"][0]["image"].keys()


def test_what_has_no_content_is_refused_where_an_address_would_be_kept() -> None:
    with pytest.raises(ConfigError, match="a object stands in a prompt"):
        kept(Transcript(group="a", prompt=[{"role": "user", "content": [object()]}]))


def test_log_probabilities_need_a_token_each() -> None:
    with pytest.raises(ConfigError, match="2 log-probabilities for 1 tokens"):
        Transcript(position=0, token_ids=[1], logprobs=[-0.5, -0.1])
