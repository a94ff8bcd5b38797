"""Canonical forms: from raw content to content keys, without doing anything twice."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from verifier_ladder.errors import CandidateError
from verifier_ladder.keys import content_key, content_keys, raw_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Alias, CandidateRow
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import failure

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


class Canonicals:
    """Finds canonical forms for one ladder: in the ledger, or in the worker pool."""

    def __init__(self, ladder: Ladder, ledger: Ledger, engine: LocalEngine) -> None:
        """Serve one ladder."""
        self._by, self._kind = ladder.canonicaliser, ladder.kind
        self._ledger, self._engine = ledger, engine

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
        raws = [raw_key(self._kind, content) for content in contents]
        known = self._ledger.aliases(self._by.digest, raws)
        new = [place for place, raw in enumerate(raws) if raw not in known]
        made, lane = yield from self._make([contents[place] for place in new])
        fresh = dict(zip(new, made, strict=True))
        forms = Forms([], [], {}, lane)
        for place, (raw, content) in enumerate(zip(raws, contents, strict=True)):
            form = fresh[place] if place in fresh else known[raw]
            self._add(forms, place, content, form)
        self.note(forms, contents, new, arrivals)
        return forms

    def _add(self, forms: Forms, place: int, content: Content, form: Any) -> None:
        """Add one form: a canonical text, a verdict that there is none, or a known alias."""
        if isinstance(form, Alias):
            forms.keys.append(form.content_key)
            forms.contents.append(content if form.canonical is None else form.canonical)
            if form.verdict is not None:
                forms.problems[place] = form.verdict
            return
        if isinstance(form, Verdict):
            forms.problems[place] = form
            form = content
        forms.keys.append(content_key(self._kind, form))
        forms.contents.append(form)

    def _make(
        self, contents: list[Content]
    ) -> Generator[Future[Any], Any, tuple[list[Content | Verdict], int | None]]:
        if not contents:
            return [], None
        if self._by.inline:
            return [self._inline(content) for content in contents], None
        answer = yield self._engine.fast.canonicalise(self._by, contents)
        return answer.forms, answer.lane

    def _inline(self, content: Content) -> Content | Verdict:
        try:
            return self._by.canonicalise(content)
        except CandidateError as error:
            return Verdict.reject(str(error))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            return failure(error)

    def note(
        self, forms: Forms, given: Sequence[Content], places: Sequence[int], arrivals: Arrivals
    ) -> None:
        """Note new candidates for the ledger, but none that failed for a passing reason."""
        kind, by, problems = self._kind, self._by.digest, forms.problems
        if self.is_identity:  # There is no alias, so nobody asks for a raw key.
            arrivals.candidates += [
                CandidateRow(b"", forms.keys[place], kind, given[place], None, by)
                for place in places
            ]
            return
        for place in places:
            content, form, problem = given[place], forms.contents[place], problems.get(place)
            if problem is None or problem.is_answer:
                arrivals.candidates.append(
                    CandidateRow(
                        raw_key(kind, content), forms.keys[place], kind, content,
                        None if form == content else form, by, problem,
                    )
                )  # fmt: skip
