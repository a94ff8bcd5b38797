"""Canonical forms: from raw content to content keys, without doing anything twice."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from verifier_ladder.keys import content_keys, raw_keys
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.memory import LONGEST_CHARACTER, longest, weigh, why_too_long, written
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.engines.inline import canonical_inline
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.verdict import Verdict

Content = str | bytes


class Forms(NamedTuple):
    """Many contents, keyed; columns of equal length."""

    keys: list[bytes]
    """Content keys."""
    contents: list[Content]
    """Canonical forms; as given where there is none."""
    problems: dict[int, Verdict]
    """Why there is no canonical form, by place."""
    lane: int | None = None
    """The worker that made them, if one did."""
    raws: Sequence[bytes] = ()
    """Raw keys; none where content is its own canonical form, for nobody asks for them."""

    def add(self, place: int, form: Content | Verdict | None) -> None:
        """Set one: a canonical form, a verdict that there is none, None for what was given."""
        if isinstance(form, Verdict):
            self.problems[place] = form
        elif form is not None:
            self.contents[place] = form


class Canonicals:
    """Finds canonical forms for one ladder: in the ledger, or in the worker pool."""

    def __init__(self, ladder: Ladder, ledger: Ledger, engine: LocalEngine) -> None:
        """Serve one ladder."""
        self._by, self._kind = ladder.canonicaliser, ladder.kind
        self._ledger, self._engine = ledger, engine
        self._longest = longest()

    @property
    def is_identity(self) -> bool:
        """Whether content is its own canonical form, so that there is no alias to look up."""
        return self._by.name == "identity"

    def forms(
        self, contents: list[Content], arrivals: Arrivals
    ) -> Generator[Future[Any], Any, Forms]:
        """Give the forms of contents; those the ledger does not know are noted as arrivals."""
        if self.is_identity:
            return Forms(content_keys(self._kind, contents), contents, {})
        raws = raw_keys(self._kind, contents)
        known = self._ledger.aliases(self._by.digest, raws)
        new = [place for place, raw in enumerate(raws) if raw not in known]
        made, lane = yield from self._make([contents[place] for place in new])
        forms = Forms([], list(contents), {}, lane, raws)
        for place, form in zip(new, made, strict=True):
            forms.add(place, self._with_room(form))
        for place, raw in enumerate(raws) if known else ():
            if raw in known:
                alias = known[raw]
                forms.add(place, alias.verdict or alias.canonical)
        forms.keys.extend(content_keys(self._kind, forms.contents))
        self.note(forms, contents, new, arrivals)
        return forms

    def is_named(self, content: Content, key: bytes) -> bool:
        """Whether a key stands for content: that of the text as it is, or of its canonical form.

        A sample is recorded under the first where there was no time, or no memory, for the second.
        """
        if key == content_keys(self._kind, [content])[0]:
            return True
        raws = raw_keys(self._kind, [content])
        known = {} if self.is_identity else self._ledger.aliases(self._by.digest, raws)
        return any(alias.content_key == key for alias in known.values())

    def _make(
        self, contents: list[Content]
    ) -> Generator[Future[Any], Any, tuple[list[Content | Verdict], int | None]]:
        if not contents:
            return [], None
        if self._by.inline:
            return canonical_inline(self._by, contents), None
        answer = yield self._engine.fast.canonicalise(self._by, contents)
        return answer.forms, answer.lane

    def _with_room(self, form: Content | Verdict | None) -> Content | Verdict | None:
        """A canonical form, or that there is no memory for it."""
        if not isinstance(form, (str, bytes)) or len(form) * LONGEST_CHARACTER <= self._longest:
            return form
        size = weigh(form, written)
        if size <= self._longest:
            return form
        return Verdict.abstain(f"its canonical form is {why_too_long(size)}", failed_at="memory")

    def note(
        self, forms: Forms, given: Sequence[Content], places: Sequence[int], arrivals: Arrivals
    ) -> None:
        """Note new candidates for the ledger, but none that failed for a passing reason."""
        problems = forms.problems
        if problems:
            passing = {place for place, problem in problems.items() if not problem.is_answer}
            places = [place for place in places if place not in passing]
        contents = [given[place] for place in places]
        canonical = [forms.contents[place] for place in places]
        count = len(places)
        arrivals.candidates.extend(
            [forms.raws[place] for place in places] if forms.raws else [b""] * count,
            [forms.keys[place] for place in places], [self._kind] * count, contents,
            [None if form == c else form for form, c in zip(canonical, contents, strict=True)],
            [self._by.digest] * count, list(map(problems.get, places)),
        )  # fmt: skip
