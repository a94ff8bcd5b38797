"""Characters of steps as tokens: of real tokenizers, which are trained here on a few lines."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import ConfigError
from verifier_ladder.learners.spans import step_tokens, tokens_between
from verifier_ladder.reward import Reward
from verifier_ladder.tiers.simulation.steps import Splitter
from verifier_ladder.verdict import TurnVerdict

tokenizers = pytest.importorskip("tokenizers")
LINES = [
    "1 + 1 = 2",
    "Größe 👩‍🔬 des Lichts",
    "So the answer is 4.\n\nStep 2: add them up",
    "你好世界",
]
END = "<|end|>"


def trained(kind: str) -> Any:
    """A tokenizer of its kind, of a few hundred tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    if kind == "bytes":  # As of Llama 3 and Qwen.
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
        )
    else:  # As of Llama 2 and Mistral: a mark for spaces, one before the text too.
        made = Tokenizer(models.BPE(unk_token="<unk>"))  # noqa: S106
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        trainer = trainers.BpeTrainer(
            vocab_size=300, special_tokens=["<unk>", END], show_progress=False,
            initial_alphabet=list("abc*=é\r"),
        )  # fmt: skip
    made.train_from_iterator(LINES * 20, trainer)
    return made


@pytest.fixture(scope="module", params=["bytes", "metaspace"])
def tokenizer(request: pytest.FixtureRequest) -> Any:
    return trained(request.param)


BYTES = trained("bytes")


def rewarded(text: str, split: str = "lines") -> Reward:
    """A reward that speaks of each step of a text."""
    steps = Splitter(split).steps(text)
    return Reward(1.0, turns=tuple(TurnVerdict(n, 1.0, span=s.span) for n, s in enumerate(steps)))


def said(tokenizer: Any, ids: list[int], tokens: tuple[int, int] | None) -> str:
    assert tokens is not None
    return str(tokenizer.decode(ids[slice(*tokens)]))


@pytest.mark.parametrize(
    "text",
    ["1 + 1 = 2\n2 * 2 = 4", "Größe 👩‍🔬\nLicht é\n你好世界", "a\n\n\nb\r\n  c  ", "👩‍🔬\n👩‍🔬"],
)
def test_the_tokens_of_a_step_say_the_step(tokenizer: Any, text: str) -> None:
    reward, ids = rewarded(text), tokenizer.encode(text, add_special_tokens=False).ids

    for given_ids in (None, ids):
        found = step_tokens(reward, text, tokenizer, given_ids)
        assert [each.text for each in Splitter("lines").steps(text)] == [
            said(tokenizer, ids, tokens).strip() for tokens in found
        ]


def test_a_token_that_ends_one_step_and_begins_another_belongs_to_both() -> None:
    offsets = [(0, 2), (2, 5), (5, 6)]

    assert [(0, 2), (1, 3)] == tokens_between([(0, 3), (4, 6)], offsets)


def test_special_tokens_stand_for_no_characters(tokenizer: Any) -> None:
    text = "1 + 1 = 2\n2 * 2 = 4"
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    end = tokenizer.token_to_id(END)

    assert step_tokens(rewarded(text), text, tokenizer, ids) == step_tokens(
        rewarded(text), text, tokenizer, [*ids, end, end]
    )


def test_what_was_cut_has_the_tokens_that_are_left() -> None:
    offsets = [(0, 4), (4, 6), (7, 10)]

    assert [(0, 2), (2, 3), None] == tokens_between([(0, 6), (7, 12), (13, 15)], offsets)
    assert [None, None] == tokens_between([(0, 6), None], [])


def test_a_truncated_encoding_has_no_tokens_for_what_is_missing() -> None:
    text = "1 + 1 = 2\n2 * 2 = 4\nSo the answer is 4."
    short = trained("bytes")
    short.enable_truncation(6)
    first, *rest = step_tokens(rewarded(text), text, short)

    assert first is not None
    assert rest[-1] is None


def test_tokens_that_the_tokenizer_would_not_have_made_are_decoded(tokenizer: Any) -> None:
    """A model may write a word letter by letter."""
    text = "Größe 1 + 1 = 2\nSo the answer is 4.\n👩‍🔬"
    whole = tokenizer.encode(text, add_special_tokens=False).ids
    letters = [
        one
        for part in (text if tokenizer.decoder.__class__.__name__ == "ByteLevel" else [text])
        for one in tokenizer.encode(part, add_special_tokens=False).ids
    ]
    found = step_tokens(rewarded(text), text, tokenizer, letters)

    assert tokenizer.decode(letters) == tokenizer.decode(whole) == text
    assert ["Größe 1 + 1 = 2", "So the answer is 4.", "👩‍🔬"] == [
        said(tokenizer, letters, tokens).strip() for tokens in found
    ]


@given(st.text(alphabet="ab 12+=\né👩\u200d🔬好", max_size=40))
def test_both_ways_find_the_same_tokens(text: str) -> None:
    whole = BYTES.encode(text).ids
    letters = [one for letter in text for one in BYTES.encode(letter).ids]
    offsets, count = [], 0
    for place, letter in enumerate(text):
        size = len(BYTES.encode(letter).ids)
        offsets += [(place, place + 1)] * size
        count += size
    reward = rewarded(text)

    assert tokens_between([t.span for t in reward.turns], offsets) == step_tokens(
        reward, text, BYTES, letters
    )
    assert step_tokens(reward, text, BYTES, whole) == step_tokens(reward, text, BYTES)


def test_tokens_of_something_else_are_refused(tokenizer: Any) -> None:
    text = "1 + 1 = 2"
    with pytest.raises(ConfigError, match="do not say what was judged"):
        step_tokens(rewarded(text), text, tokenizer, tokenizer.encode("2 + 2 = 4").ids)


def test_a_tokenizer_of_transformers_will_do() -> None:
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=BYTES, eos_token=END)
    text = "Größe 1\n👩‍🔬"
    ids = fast(text, add_special_tokens=False)["input_ids"]

    assert step_tokens(rewarded(text), text, BYTES, ids) == step_tokens(
        rewarded(text), text, fast, [*ids, fast.eos_token_id]
    )


def test_a_tokenizer_without_offsets_is_refused_with_advice() -> None:
    class Slow:
        def __call__(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    with pytest.raises(ConfigError, match="use_fast=True"):
        step_tokens(rewarded("1"), "1", Slow())


def test_without_spans_no_tokenizer_is_asked() -> None:
    assert [None] == step_tokens(Reward(1.0, turns=(TurnVerdict(0, 1.0),)), "1", None)
