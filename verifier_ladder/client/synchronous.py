"""The client for programs without an event loop."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar, Unpack

import orjson

from verifier_ladder.arguments import checked
from verifier_ladder.case import Case
from verifier_ladder.client import wire
from verifier_ladder.client.base import BaseClient
from verifier_ladder.client.events import Events
from verifier_ladder.client.wire import Given, Question, ScoreOptions
from verifier_ladder.measurement import Bound
from verifier_ladder.reward import Revision, Reward
from verifier_ladder.verdict import Verdict

T = TypeVar("T")


class Client(BaseClient):
    """Scores over HTTP as a campaign does in process.

    **Failures.** A server that is busy, starts anew or can't be reached is asked again, when it
    says so or after pauses that double. Calls carry an idempotency key, so a call that was
    answered and whose answer got lost is not scored twice. **Threads.** One client may be used
    from many.

    Example:
        >>> client = Client("http://127.0.0.1:8420", token="vladder_0a1b2c3d_secret")
        >>> client.url
        'http://127.0.0.1:8420'
    """

    def score(self, samples: Sequence[Given], **options: Unpack[ScoreOptions]) -> list[Reward]:
        """Reward samples, in the order given; see `Campaign.score`.

        Args:
            samples: Samples of one run and step, candidates, or bare content.
            **options: See `ScoreOptions`.

        Raises:
            ConfigError: If the server refuses what is asked.
            LadderError: If it fails or can't be reached, after all attempts.
        """
        scored = self._ask(wire.scoring(samples, **options))
        self.alarms = scored.alarms
        return scored.rewards

    @checked(after=0)
    def revisions(
        self, *, after: int = 0, follow: bool = False, evaluation: bool | None = False
    ) -> Iterator[Revision]:
        """Rewards that were replaced because a higher tier answered, oldest first.

        Args:
            after: Cursor of the last one that was read; 0 for all.
            follow: Whether to go on for ever, with a stream that is resumed when it breaks. A
                revision may then come twice.
            evaluation: As for `Campaign.revisions`: those of training by default.

        Raises:
            LadderError: As for `score`.
        """
        while True:
            page = self._ask(wire.revising(after, evaluation=evaluation))
            yield from page.revisions
            after = page.cursor
            if page.more:
                continue
            if not follow:
                return
            events = Events(after)
            yield from self._follow(events, evaluation=evaluation)
            after = events.last

    def _follow(self, events: Events, *, evaluation: bool | None) -> Iterator[Revision]:
        """Revisions of one stream until it breaks; `events` knows from where to go on."""
        try:
            call = wire.following(events.last, evaluation=evaluation)
            with self._http.stream(**self._stream(call)) as response:
                if not response.is_success:
                    return  # The next page says why.
                for line in response.iter_lines():
                    data = events.add(line)
                    if data is not None:
                        yield wire.revision_from(orjson.loads(data))
        except self._httpx.HTTPError:
            return

    @checked(limit=1)
    def cases(self, limit: int = wire.PAGE) -> list[Case]:
        """Open cases of the world, the most valuable first, so many; see `Campaign.cases`.

        Raises:
            LadderError: As for `score`.
        """
        return self._ask(wire.open_cases(limit))

    @checked(source=1)
    def answer(
        self,
        case: Case | bytes | str,
        value: Verdict | Bound | float | bool | None,  # noqa: FBT001 - the answer itself
        *,
        source: str,
        event: str | None = None,
    ) -> bool:
        """Hand in the world's result for a case; the rewards that waited for it are revised.

        Args:
            case: The case, or its `check_key`, as bytes or in hexadecimal.
            value: A number or a `Bound` in the case's unit, True or False where its verifier
                takes them, a verdict, or None to decline.
            source: Who answers.
            event: Id of the delivery: the same (source, event) again changes nothing.

        Returns:
            Whether it was taken; False if the same was answered before, be it by an earlier try
            of this call whose reply got lost.

        Raises:
            ConfigError: If there is no such case, the value is not valid for it, or the token
                has not the scope `answer`.
            LadderError: As for `score`.
        """
        return self._ask(wire.answering(case, value, source=source, event=event))

    def _connect(self, **options: Any) -> Any:
        return self._httpx.Client(**options)

    def _ask(self, question: Question[T]) -> T:
        tries = self._tries()
        while True:
            try:
                said = self._http.request(**self._request(question))
            except self._httpx.TransportError as error:
                wait: float | None = tries.missed(error)
            else:
                wait = tries.heard(said.status_code, said.content, said.headers.get("Retry-After"))
            if wait is None:
                return question.read(tries.answer)
            time.sleep(wait)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        """Use it as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
