r"""The verifier `citations`: every quotation stands, word for word, in the source that it names.

| Field | Meaning |
|---|---|
| `sources` | name or address → text; or a list of names of files in the verifier's `folder` |
| `form` | `numbered`, `links` or `json`; any of them by default |
| `required` | whether an answer without citations is rejected; true by default |
| `least_coverage` | the least share of sentences that must have a citation; 0 by default |

| Form | A citation is |
|---|---|
| `numbered` | `"words" [1]`, and at the end of the answer a line `[1] name` for each source |
| `links` | `"words" ([title](address))`, `["words"](address)` or `"words" (address)` |
| `json` | `{"answer": …, "citations": [{"quote": "words", "source": "name"}]}`, or that list |

What is thought aloud before `</think>`, and what nobody sees there or in a source, don't count:
see `verifier_ladder.tiers.fast.markup`. How words are compared:
`verifier_ladder.tiers.fast.quotation`.
"""

# ruff: noqa: RUF001  # Marks that end sentences of other scripts are meant.

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from verifier_ladder.arguments import checked
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.keys import digest
from verifier_ladder.text import printable
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.fast.extraction import DOCUMENT, LONGEST, answers, blocks, text_of
from verifier_ladder.tiers.fast.jsonschema import parse
from verifier_ladder.tiers.fast.markup import shown, without_hidden
from verifier_ladder.tiers.fast.quotation import LARGEST, LEAST, plain, quoted_in
from verifier_ladder.tiers.single import SingleVerifier
from verifier_ladder.tiers.tasks import TaskError, read_task
from verifier_ladder.verdict import Verdict

HOW: Mapping[str, str] = {
    "numbered": 'Write "words of the source" [1], and end with a list of lines such as [1] name.',
    "links": 'Write "words of the source" ([title](address)).',
    "json": 'Write {"citations": [{"quote": "words of the source", "source": "name"}]}.',
}
"""What to tell a student model about each form."""
MOST = 100
"""Citations of one answer."""
_TEXTS = {".txt", ".md"}
_DEPTH = 8
_SHOWN, _TOLD = 60, 6
_ENTRY = re.compile(r"\s{0,8}\[(\d{1,4})\][:.]?[ \t]+(\S.*)")
_HEADING = re.compile(
    r"[#* ]{0,8}(?:references|sources|bibliography|works cited|notes):?[* ]{0,3}", re.IGNORECASE
)
_MARK = re.compile(
    r"\[(?P<numbers>\d{1,4}(?: ?[,;] ?\d{1,4}){0,20})\](?!\()"
    r"|\[(?P<label>[^\[\]]{0,20000})\]\(<?(?P<address>(?:[^()\s<>]|\([^()\s<>]{0,200}\)){1,2000})>?\)"
    r"|(?P<bare>https?://[^\s<>()\[\]\"”»]{1,2000})"
)
_BETWEEN = re.compile(r"[\s.,;:(]")
_AND = re.compile(r"[\s,;]{0,3}")
_OPENING = {'"': '"', "”": "“„", "»": "«", "“": "„"}
"""Closing quotation mark → those that may open."""
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"”’)\]]{0,3}\s+|(?<=[a-z][a-z][.!?])(?=[A-Z])|(?<=[。！？｡।۔؟])|\n\s*\n"
    r"|(?<!:)\n(?=[ \t]{0,8}(?:[-*+•>|#]|\d{1,3}[.)][ \t]))"
)
"""Or where an item of a list, a heading or a row of a table begins."""
_CITED = "\0"
_FAR = 8
"""Characters between a quotation and its mark."""


class _Task(BaseModel):
    model_config = ConfigDict(strict=True)
    sources: Annotated[dict[str, str], Field(min_length=1)] | list[str] | None = None
    form: Literal["numbered", "links", "json", "any"] = "any"
    required: bool = True
    least_coverage: Annotated[FiniteFloat, Field(ge=0, le=1)] = 0.0


class Citation(NamedTuple):
    """One quotation, and the source that it names."""

    quote: str | None
    """None where nothing is quoted."""
    source: str
    """Name of the source; "" where none is told."""
    label: str
    """How the answer names it."""
    is_entry: bool = False
    """Whether it is an entry of the list of sources that no citation uses."""


class Citations(SingleVerifier):
    r"""Accepts an answer whose citations all quote, word for word, a source of the task.

    Named scores: `supported`, the share of citations that do, which is also the score of a
    reject; `coverage`, the share of sentences that have a citation; and one for each citation,
    `citation_1` and so on. Feedback tells of each that fails what to mend.

    **Limits.** It reads words, not meaning: a true quotation may be beside the point, or cut out
    of a sentence that says the opposite. Nothing is fetched: the task brings the sources.

    Example:
        >>> task = {"sources": {"a": "The harbour is 14 m deep since 2019."}}
        >>> right, wrong = '"harbour is 14 m deep" [1]\n[1] a', '"harbour is 41 m deep" [1]\n[1] a'
        >>> said = [Candidate("text", text, task=task) for text in (right, wrong)]
        >>> [verdict.score for verdict in Citations().judge(said)]
        [1.0, 0.0]
    """

    name = "citations"
    version = "6"
    tier = Tier.FAST
    kind = "text"
    domain = "research"
    capabilities = ("reasoning",)
    cost = Cost(seconds=2e-4)
    timeout = 30.0
    observed = "outside"
    task_fields = ("sources", "form", "required", "least_coverage")
    control = Candidate(
        "text", '"These words stand there" [1]\n\n[1] a',
        task={"sources": {"a": "These words stand there."}},
    )  # fmt: skip

    @checked()
    def __init__(self, *, folder: str | Path | None = None) -> None:
        """Take sources of your own.

        Args:
            folder: Text files (`.txt`, `.md`), which tasks name by their path below it; a task
                without `sources` has them all. They are read now, and what they hold is part of
                every check's key.

        Raises:
            ConfigError: If it can't be read, or holds no text.
        """
        self._files = {} if folder is None else _read(Path(folder))
        super().__init__(folder=digest(self._files).hex() if self._files else None)

    def examine(self, candidate: Candidate) -> Verdict:
        """Look each quotation up."""
        task = read_task(_Task, candidate.task)
        sources = self._sources(task)
        if task.form == "json" and task.least_coverage:
            raise TaskError("the task's least_coverage makes no sense: JSON has no sentences")
        found, coverage = citations_in(candidate.content, task.form)
        found = [each for each in found if not each.is_entry or _name(each.source) not in sources]
        if task.required and all(each.is_entry for each in found):
            how = HOW.get(task.form, HOW["numbered"])
            raise CandidateError("the answer has no citation", feedback=f"Cite. {how}")
        faults = [_fault(each, sources, task.form) for each in found]
        return _verdict(found, faults, coverage, task.least_coverage)

    def _sources(self, task: _Task) -> dict[str, str]:
        """Name → text, for all that may be cited."""
        given = task.sources
        if isinstance(given, dict):
            return _checked(given)
        if given is None and not self._files:
            raise TaskError("the task has no sources, and the verifier no folder")
        if missing := [name for name in given or () if name not in self._files]:
            raise TaskError(f"the task names a source that no folder has: {missing[0]!r}")
        return _checked({name: self._files[name] for name in given or self._files})


def _read(folder: Path) -> dict[str, str]:
    try:
        found = {
            path.relative_to(folder).as_posix(): path.read_text("utf-8")
            for path in sorted(folder.rglob("*"))
            if path.suffix.lower() in _TEXTS and path.is_file()
        }
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"folder={str(folder)!r} can't be read as UTF-8 text: {error}") from None
    if not found:
        raise ConfigError(f"folder={str(folder)!r} holds no file that ends with .txt or .md")
    return found


def _checked(given: Mapping[str, str]) -> dict[str, str]:
    made = {
        _name(name): shown(without_hidden(text, is_source=True)) for name, text in given.items()
    }
    if len(made) < len(given) or not all(made):
        raise TaskError("the task's sources make no sense: a name is empty, or there twice")
    if not all(map(plain, made.values())):
        raise TaskError("the task's sources make no sense: one of them holds no words")
    if sum(map(len, made.values())) > LARGEST:
        raise TaskError(f"the task's sources are too long: {LARGEST} characters are read")
    return made


def _name(text: str) -> str:
    """A source's name without what may stand around it."""
    return text.strip().strip("<>").rstrip("/")


# ---- What an answer cites


def citations_in(content: str | bytes, form: str = "any") -> tuple[list[Citation], float | None]:
    r"""Find the citations of an answer, and the share of its sentences that have one.

    Args:
        content: The whole output.
        form: Where to look; `any` for all forms.

    Returns:
        The citations, in their order, and the share; None where there are no sentences, as in
        JSON.

    Raises:
        CandidateError: If it is no text, too long, no JSON where that is wanted, or cites too
            often.

    Example:
        >>> citations_in('It "is so" [1].  But why?\n\n[1] a')
        ([Citation(quote='is so', source='a', label='[1]', is_entry=False)], 0.5)
    """
    text = text_of(content)
    if len(text) > LONGEST:
        raise CandidateError(
            f"the output is {len(text)} characters long; at most {LONGEST} are read",
            feedback=f"Write at most {LONGEST} characters.",
        )
    markup = without_hidden(text.rpartition("</think>")[2], is_source=False)
    if form == "json" or (form == "any" and _is_json(markup.text)):
        found: list[Citation] = list(islice(_in_json(markup.text), MOST + 1))
        coverage = None
    else:
        found, coverage = _in_text(shown(markup))
    if len(found) > MOST:
        raise CandidateError(
            f"the answer has more than {MOST} citations", feedback=f"Cite at most {MOST} times."
        )
    return found, coverage


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[{")) or any(b.language == "json" for b in blocks(text))


def _in_json(text: str) -> Iterator[Citation]:
    how = HOW["json"]
    found = answers(text, DOCUMENT, how, languages=("json",))
    if len(found) > 1:
        raise CandidateError("the output holds several documents", feedback=f"Write one. {how}")
    value = parse(found[0], _DEPTH)
    listed = value.get("citations") if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise CandidateError("the JSON has no list of citations", feedback=how)
    for place, each in enumerate(listed, 1):
        fields = each if isinstance(each, dict) else {}
        quote, source = fields.get("quote"), fields.get("source")
        yield Citation(
            quote if isinstance(quote, str) else None, source if isinstance(source, str) else "",
            f"citation {place}",
        )  # fmt: skip


class _Place(NamedTuple):
    """Where a citation stands in the text, from its quotation to its mark."""

    start: int
    end: int
    ends_sentence: bool


def _in_text(text: str) -> tuple[list[Citation], float]:
    body, entries = _references(text)
    found: list[Citation] = []
    places: list[_Place] = []
    quote: str | None = None
    start = end = 0
    for mark in islice(_MARK.finditer(body), MOST + 1):
        if not (places and _AND.fullmatch(body, end, mark.start())):
            quote, start = _quotation(body, mark)
        end = mark.end()
        found += [Citation(quote, *named) for named in _named(mark, entries)]
        between = body[start : mark.start()].rstrip('( "”»“')
        places.append(_Place(start, end, between.endswith((".", "!", "?"))))
    cited = {each.label for each in found}
    for number, named in entries.items():
        if f"[{number}]" not in cited:
            found.append(Citation(None, named, f"[{number}]", is_entry=True))
    return found, _coverage(body, places)


def _references(text: str) -> tuple[str, dict[str, str]]:
    """The answer without the list at its end, and the list: number → name of the source."""
    lines = text.rstrip().split("\n")
    entries: dict[str, str] = {}
    while lines and (not lines[-1].strip() or (entry := _ENTRY.fullmatch(lines[-1]))):
        line = lines.pop()
        if line.strip() and entry:
            number, named = str(int(entry[1])), _source_of(entry[2])
            entries[number] = named if entries.get(number, named) == named else ""
    if entries and lines and _HEADING.fullmatch(lines[-1].strip()):
        lines.pop()
    return "\n".join(lines), entries


def _source_of(entry: str) -> str:
    """The name in an entry of the list: its one address, or all of it."""
    linked = [mark["address"] or mark["bare"].rstrip(".,;:") for mark in _MARK.finditer(entry)
              if mark["numbers"] is None]  # fmt: skip
    if len(linked) > 1 or (linked and len(entry.rpartition(linked[0])[2].strip("<>)./ ")) > 0):
        return ""
    return _name(linked[0] if linked else entry)


def _named(mark: re.Match[str], entries: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Source and label of all that a mark names."""
    if mark["numbers"] is None:
        address = mark["address"] or mark["bare"].rstrip(".,;:")
        yield _name(address), printable(address, _SHOWN)
        return
    for number in re.findall(r"\d+", mark["numbers"]):
        yield entries.get(str(int(number)), ""), f"[{int(number)}]"


def _quotation(body: str, mark: re.Match[str]) -> tuple[str | None, int]:
    """What is quoted before a mark, or in a link's own words; and where it begins."""
    label = (mark["label"] or "").strip()
    if label[:1] in _OPENING.values() and len(label) > 1 and label[-1] in _OPENING:
        return label[1:-1], mark.start()
    end = mark.start()
    while end and mark.start() - end < _FAR and _BETWEEN.fullmatch(body[end - 1]):
        end -= 1
    opening = _OPENING.get(body[end - 1 : end], "")
    start = max((body.rfind(each, 0, end - 1) for each in opening), default=-1)
    return (body[start + 1 : end - 1], start) if start >= 0 else (None, mark.start())


def _coverage(body: str, places: Sequence[_Place]) -> float:
    """The share of sentences that have a citation."""
    parts, last = [], 0
    body = body.replace(_CITED, " ")
    for place in places:
        parts += [body[last : place.start], _CITED, ". " if place.ends_sentence else ""]
        last = max(place.end, last)
    text = "".join([*parts, body[last:]])
    sentences = [
        part for part in _SENTENCE_END.split(text)
        if _CITED in part or any(map(str.isalnum, part))
    ]  # fmt: skip
    return sum(_CITED in each for each in sentences) / len(sentences) if sentences else 0.0


# ---- What comes of it


def _fault(citation: Citation, sources: Mapping[str, str], form: str) -> str:
    """What is wrong with a citation, as advice; "" if nothing is."""
    is_number = citation.label.startswith("[")
    if form in {"numbered", "links"} and is_number != (form == "numbered"):
        return f"it has another form. {HOW[form]}"
    text = sources.get(_name(citation.source))
    if text is None:
        return "it names none of the sources. Cite only those that were given, by their names"
    if citation.quote is None:
        return "nothing is quoted. Put words of the source in quotation marks before it"
    if quoted_in(citation.quote, text):
        return ""
    return (
        f'"{printable(citation.quote, _SHOWN)}" does not stand there. Quote at least {LEAST} '
        "letters of the source, word for word"
    )


def _verdict(
    found: Sequence[Citation], faults: Sequence[str], coverage: float | None, least: float
) -> Verdict:
    supported = faults.count("") / len(faults) if faults else 1.0
    scores: dict[str, Any] = {"supported": supported}
    scores |= {f"citation_{n}": float(not fault) for n, fault in enumerate(faults, 1)}
    if coverage is not None:
        scores["coverage"] = coverage
    told = [f"{c.label}: {fault}." for c, fault in zip(found, faults, strict=True) if fault]
    if told:
        more = f" And {len(told) - _TOLD} more." if len(told) > _TOLD else ""
        return Verdict.reject(
            f"{len(told)} of {len(found)} citations are not supported", score=supported,
            feedback=" ".join(told[:_TOLD]) + more, scores=scores,
        )  # fmt: skip
    if least and (coverage is None or coverage < least):
        return Verdict.reject(
            f"{coverage or 0:.0%} of the sentences have a citation; {least:.0%} must",
            score=coverage or 0.0, feedback="Cite a source in more sentences.", scores=scores,
        )  # fmt: skip
    return Verdict.accept(1.0, scores=scores)
