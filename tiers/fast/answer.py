r"""Answers: where, in a language model's output, the one thing it proposes is written.

Marks are read in this order, and the first that occurs decides:

1. `<answer>…</answer>` and `\boxed{…}`,
2. code blocks, and lines such as `SMILES: …` or `Answer: …`,
3. the last line, if it is one word,
4. `inline code`.

Whatever a model thinks aloud before `</think>` is not part of its answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from verifier_ladder.errors import CandidateError

# Every repetition is bounded, or ends at a character that it can't contain: no text makes
# these expressions take more than linear time.
_TAG = re.compile(r"<answer>(.*?)(?:</answer>|\Z)", re.DOTALL | re.IGNORECASE)
_BOXED = re.compile(r"\\boxed\{(?:\\(?:text|texttt|mathrm|mathtt)\{)?([^{}]*)\}")
_BLOCK = re.compile(r"```[\w+-]{0,20}[ \t]{0,3}\n([^`]*)```")
_LABEL = re.compile(
    r"(?:smiles|answer)(?: (?:string|code|notation))?[*_]{0,2} ?(?:is)?[:=][*_]{0,2}([^\n]*)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"`([^`\s]{1,2000})`")
_REMARK = re.compile(r"(\S+)\s{1,3}\([^()\n]*\)\.?")
_SAFE = re.compile(r"[^\s<>`\"'$*:;,|{}]*[^\s<>`\"'$*:;,|{}.]")
"""One word without any mark around it: nothing to look for."""

HOW = "write one SMILES, alone, between <answer> and </answer>"
"""What to tell a model whose answer can't be found."""


def refused(reason: str, advice: str = HOW) -> CandidateError:
    """The error that says what is wrong with an answer, and what to do.

    Example:
        >>> refused("the output is empty").feedback
        'Write one SMILES, alone, between <answer> and </answer>.'
    """
    return CandidateError(f"{reason}; {advice}", feedback=f"{advice[0].upper()}{advice[1:]}.")


def answers(text: str) -> list[str]:
    r"""Find what a model proposes: the distinct single words at the strongest mark.

    More than one is a hedge, unless they turn out to be the same thing.

    Args:
        text: The whole output.

    Returns:
        At least one word, none of them empty, in the order they were written.

    Raises:
        CandidateError: If there is no answer, or an answer is more than one word.

    Example:
        >>> answers("Ethanol mixes with water.\nSMILES: CCO")
        ['CCO']
    """
    if _SAFE.fullmatch(text):
        return [text]
    spoken = text.rpartition("</think>")[2].strip()
    if not spoken:
        raise refused("the output is empty")
    for find in (_final, _labelled, _last_line, _inline):
        parts = list(find(spoken))
        found = dict.fromkeys(word for part in parts if (word := part.strip()))
        if parts and not found and find is _final:
            raise refused("the answer is empty")
        if found:
            return list(dict.fromkeys(_word(part) for part in found))
    raise refused("no answer was found in the output")


def _final(text: str) -> Iterator[str]:
    yield from _TAG.findall(text)
    yield from _BOXED.findall(text)


def _labelled(text: str) -> Iterator[str]:
    yield from _BLOCK.findall(text)
    yield from _LABEL.findall(text)


def _last_line(text: str) -> Iterator[str]:
    line = text.rsplit("\n", maxsplit=1)[-1].strip()
    if len(line.split(maxsplit=1)) == 1 and not line.startswith("```"):
        yield line


def _inline(text: str) -> Iterator[str]:
    yield from _INLINE.findall(text)


def _word(part: str) -> str:
    """The single word of an answer, without the marks that models put around it."""
    marked = [w for find in (_final, _labelled) for w in find(part) if w.strip()]
    inner = " ".join(dict.fromkeys(w.strip() for w in marked)) or part
    inner = inner.strip()
    remark = _REMARK.fullmatch(inner)
    word = remark[1] if remark else inner
    words = len(word.split())
    if words > 1:
        raise refused(f"the answer is {words} words long")
    word = word.rstrip(".,;").removeprefix("**").removesuffix("**").strip("`\"'$")
    if not word:
        raise refused("the answer is empty")
    return word
