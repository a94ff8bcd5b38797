"""Canonical forms: from raw content to content keys, without doing anything twice."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from verifier_ladder.errors import CandidateError
from verifier_ladder.keys import content_key, raw_key
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.records import Alias, CandidateRow
from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.engines.local import LocalEngine
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import failure

Content = str | bytes


class Form(NamedTuple):
    """One content, keyed."""

    raw_key: bytes | None
    """None where the content is its own canonical form, and nothing needs the key."""
    content_key: bytes
    content: Content
    """The canonical form; as given if there is none."""
    problem: Verdict | None = None
    """Why there is no canonical form."""


class Canonicals:
    """Finds canonical forms for one ladder: in the ledger, or in the worker pool."""

    def __init__(self, ladder: Ladder, ledger: Ledger, engine: LocalEngine) -> None:
        """Serve one ladder."""
        self._by, self._kind = ladder.canonicaliser, ladder.kind
        self._ledger, self._engine = ledger, engine

    def forms(
        self, contents: Sequence[Content], arrivals: Arrivals
    ) -> Generator[Future[Any], Any, tuple[list[Form], int | None]]:
        """Give the form of each content, and the worker that made them, if one did."""
        kind = self._kind
        if self.is_identity:
            return [Form(None, content_key(kind, content), content) for content in contents], None
        raws = [raw_key(kind, content) for content in contents]
        known = self._ledger.aliases(self._by.digest, raws)
        new = [place for place, raw in enumerate(raws) if raw not in known]
        made, lane = yield from self._make([contents[place] for place in new])
        fresh = dict(zip(new, made, strict=True))
        forms = [
            _known(raw, content, known[raw]) if raw in known
            else self._fresh(raw, content, fresh[place])
            for place, (raw, content) in enumerate(zip(raws, contents, strict=True))
        ]  # fmt: skip
        self.note([forms[place] for place in new], [contents[place] for place in new], arrivals)
        return forms, lane

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

    def _fresh(self, raw: bytes, content: Content, made: Content | Verdict) -> Form:
        if isinstance(made, Verdict):
            return Form(raw, content_key(self._kind, content), content, made)
        return Form(raw, content_key(self._kind, made), made)

    @property
    def is_identity(self) -> bool:
        """Whether content is its own canonical form, so that there is no alias to look up."""
        return self._by.name == "identity"

    def note(
        self, forms: Sequence[Form], contents: Sequence[Content], arrivals: Arrivals
    ) -> None:
        """Note candidates for the ledger; one that failed for a passing reason is not known."""
        kind, by = self._kind, self._by.digest
        arrivals.candidates += [
            CandidateRow(
                raw or raw_key(kind, content), key, kind, content,
                None if form == content else form, by, problem,
            )
            for (raw, key, form, problem), content in zip(forms, contents, strict=True)
            if problem is None or problem.is_answer
        ]


def _known(raw: bytes, content: Content, alias: Alias) -> Form:
    canonical = content if alias.canonical is None else alias.canonical
    return Form(raw, alias.content_key, canonical, alias.verdict)
