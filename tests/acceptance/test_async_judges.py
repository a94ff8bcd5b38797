"""An async verifier asks a service about many candidates at once, with one client that it keeps.

A service that is busy is asked again when it says so; a call that fails leaves its own candidate
unknown and costs no other one anything.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from services import Reply, Service

import verifier_ladder as vl


class Moody(Service):
    """Breaks at what says so, and answers the first two only together."""

    def __init__(self) -> None:
        self.two = threading.Barrier(2, timeout=300.0)
        super().__init__()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        content = self.read(handler)["content"]
        if content.startswith("together"):
            self.two.wait()
        broken: Reply | None = (500, {}, {}) if "broken" in content else None
        self.send(handler, broken or self.prepared() or (200, {}, {"score": len(content)}))


class Judge(vl.AsyncVerifier):
    """Keeps a client of a service, which is connected in the worker."""

    name, version, kind, concurrency, timeout = "judge", "1", "text", 2, 300.0

    def __init__(self, url: str) -> None:
        self.client = vl.HttpService(url, timeout=300.0)
        super().__init__(url=url)

    async def verify_one(self, candidate: vl.Candidate) -> float:
        told = await self.client.post_json({"content": candidate.content})
        return float(told["score"])


@pytest.fixture
def service() -> Iterator[Moody]:
    with Moody() as running:
        yield running


@pytest.fixture
def campaign(service: Moody) -> Iterator[vl.Campaign]:
    ladder = vl.Ladder("judged", [Judge(service.url)])
    with vl.Campaign.open("judged", ladder=ladder, workers=1) as opened:
        yield opened


def test_many_are_asked_about_at_once(campaign: vl.Campaign) -> None:
    rewards = campaign.score(["together one", "together two", "apart"])

    assert [12.0, 12.0, 5.0] == [reward.value for reward in rewards]


def test_the_client_is_kept_from_call_to_call(campaign: vl.Campaign, service: Moody) -> None:
    for text in ("a", "bb", "ccc", "dddd", "eeeee"):
        (reward,) = campaign.score([text])
        assert float(len(text)) == reward.value

    assert service.connections < len(service.asked) == 5  # An idle one is kept for two seconds.


def test_a_busy_service_is_asked_again_when_it_says_so(
    campaign: vl.Campaign, service: Moody
) -> None:
    service.replies = [(503, {"Retry-After": "0"}, b""), (429, {"Retry-After": "0"}, b"")]

    (reward,) = campaign.score(["an answer"])

    assert (9.0, None) == (reward.value, reward.failed_at)
    assert 3 == len(service.asked)


def test_a_call_that_fails_leaves_its_own_candidate_unknown(campaign: vl.Campaign) -> None:
    first, broken, last = campaign.score(["one", "broken", "three"])

    assert (3.0, 5.0) == (first.value, last.value)
    assert (None, "tool") == (broken.value, broken.failed_at)
    assert "status 500" in broken.reason
