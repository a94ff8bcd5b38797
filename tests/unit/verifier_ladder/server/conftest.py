"""An application and somebody who asks it, without sockets."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import pytest

import verifier_ladder as vl
from verifier_ladder.server.app import create_app


def judge(completions: list[str], **_: Any) -> list[float | None]:
    """Judge by the text: a number is itself, ? is not known, and ! fails."""
    if completions[0] == "!":
        raise RuntimeError("the judge fell over")
    return [None if c == "?" else float(len(c)) for c in completions]


class Asker:
    """Asks an application, in one event loop for as long as it lives."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        self.app, self.runner = app, runner
        self.start = 0
        """Cursor before the first sample."""
        self.service = app.state.service

    def __call__(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.runner.run(self.ask(method, path, **options))

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, client=("127.0.0.1", 5000))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.request(method, path, **options)

    def score(self, samples: Any, **options: Any) -> Any:
        answer = self("POST", "/v1/score", json={"samples": samples, **options})
        assert 200 == answer.status_code, answer.text
        return answer.json()

    def together(self, *calls: Any) -> list[httpx.Response]:
        """Ask several things at once."""

        async def ask() -> list[httpx.Response]:
            return await asyncio.gather(*(self.ask(*c[:2], **c[2]) for c in calls))

        return self.runner.run(ask())


Serve = Callable[..., Asker]


@pytest.fixture
def campaign() -> Iterator[vl.Campaign]:
    check = vl.wrap(judge, name="judge", version="1", isolation="inline")
    with vl.Campaign.open("served", ladder=vl.Ladder("judge", [check])) as opened:
        yield opened


@pytest.fixture
def serve(campaign: vl.Campaign) -> Iterator[Serve]:
    """`serve(on_abstain=0.5)`: an application for the campaign, or for another one."""
    runners: list[tuple[asyncio.Runner, Any]] = []

    def start(of: vl.Campaign = campaign, **options: Any) -> Asker:
        runner = asyncio.Runner()
        asker = Asker(create_app(of, **options), runner)
        runners.append((runner, asker.service))
        return asker

    yield start
    for runner, service in runners:
        runner.run(service.close())
        runner.close()


class Laboratory(vl.Verifier):
    """Asks somebody to measure."""

    name, version, tier, kind, unit = "laboratory", "1", "world", "text", "points"
    waits, isolation = True, "inline"

    def question(self, candidate: vl.Candidate) -> str:
        return f"How good is {candidate.content!r}?"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("waiting", evidence={"waiting": True}) for _ in candidates]


@pytest.fixture(scope="module")
def world() -> Iterator[vl.Campaign]:
    """A campaign whose world is asked; one for many tests, because its workers start slowly."""
    guess = vl.verifier(name="guess", version="1", isolation="inline", deviation=3.0)(
        lambda candidate: float(len(candidate.content))
    )
    ladder = vl.Ladder("w", [guess, Laboratory()], budget={"world": "unlimited"})
    with vl.Campaign.open("world", ladder=ladder) as opened:
        yield opened


@pytest.fixture
def wait(serve: Serve, world: vl.Campaign) -> Callable[..., Asker]:
    """`wait("a", "bb")`: an application whose only open cases are these samples."""

    def start(*texts: str, **options: Any) -> Asker:
        for case in world.cases():
            world.answer(case.check_key, None, source="nobody")
        assert world.drain(300)
        step = world.take_step()
        asker = serve(world, deadline=0, anyone_may_answer=True, **options)
        asker.start = world.cursor
        samples = [f"{text} {step}" for text in texts]
        told = asker.score(samples, run="train", step=step, groups=["g"] * len(texts))
        assert all(reward["pending"] for reward in told["rewards"])
        assert world.drain(300)
        return asker

    return start


@pytest.fixture
def ask(wait: Callable[..., Asker]) -> Asker:
    """An application whose three samples wait for the world."""
    return wait("a", "bb", "ccc")
