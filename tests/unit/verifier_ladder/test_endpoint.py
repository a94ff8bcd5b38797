"""Services as verifiers: a real server on this machine."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from services import Reply, Service

from verifier_ladder.candidate import Candidate
from verifier_ladder.endpoint import EndpointVerifier
from verifier_ladder.errors import ConfigError, ToolError, VerifierError
from verifier_ladder.exchange import asked_pause
from verifier_ladder.verdict import Verdict


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        yield running


def made(service: Service, **options: Any) -> EndpointVerifier:
    given = {"name": "judge", "version": "2", "timeout": 10.0, **options}
    return EndpointVerifier(url=service.url, **given)


def judged(verifier: EndpointVerifier, *contents: str) -> list[Verdict]:
    return verifier.judge([Candidate("text", content) for content in contents])


def test_a_batch_is_one_request(service: Service) -> None:
    verdicts = judged(made(service), "abc", "\ud800")

    assert [3.0, 1.0] == [verdict.score for verdict in verdicts]
    ((_, message),) = service.asked
    assert {"name": "judge", "version": "2"} == message["verifier"]


def test_a_bare_list_will_do(service: Service) -> None:
    service.replies = [(200, {}, [True, {"outcome": "reject", "reason": "no"}])]

    assert ["accept", "reject"] == [v.outcome.value for v in judged(made(service), "a", "b")]


def test_one_bad_verdict_costs_only_its_own_candidate(service: Service) -> None:
    service.replies = [(200, {}, {"verdicts": [1.0, {"outcome": "great"}]})]

    first, second = judged(made(service), "a", "b")

    assert (1.0, None, "verifier") == (first.score, first.failed_at, second.failed_at)


@pytest.mark.parametrize(
    ("reply", "boundary", "said"),
    [
        ((500, {}, {"error": "broken"}), "tool", "answered with status 500"),
        ((404, {}, b""), "tool", "answered with status 404"),
        ((302, {"Location": "http://localhost/"}, b""), "tool", "answered with status 302"),
        ((200, {}, b"<html>"), "verifier", "answered '<html>', not JSON"),
        ((200, {}, {"rewards": [1]}), "verifier", "no list of verdicts"),
        ((200, {}, b" " * (17 * 1024 * 1024)), "tool", "more than 16777216 bytes"),
    ],
)
def test_a_service_in_trouble_makes_its_batch_abstain(
    service: Service, reply: Reply, boundary: str, said: str
) -> None:
    service.replies = [reply]

    verdicts = judged(made(service), "a", "b")

    assert [boundary, boundary] == [verdict.failed_at for verdict in verdicts]
    assert said in verdicts[0].reason


def test_a_busy_service_is_asked_again(service: Service) -> None:
    service.replies = [(503, {"Retry-After": "0"}, b""), (429, {"Retry-After": "0"}, b"")]

    assert [1.0] == [verdict.score for verdict in judged(made(service), "a")]
    assert 3 == len(service.asked)


def test_a_busy_service_is_not_asked_for_ever(service: Service) -> None:
    service.replies = [(503, {"Retry-After": "0"}, b"")] * 9

    (verdict,) = judged(made(service, retries=2), "a")

    assert ("tool", 3) == (verdict.failed_at, len(service.asked))


def test_a_pause_longer_than_the_time_limit_is_not_waited_for(service: Service) -> None:
    service.replies = [(429, {"Retry-After": "3600"}, b"")]

    (verdict,) = judged(made(service), "a")

    assert ("tool", 1) == (verdict.failed_at, len(service.asked))


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refused_batch_raises_for_the_engine_to_halve(service: Service, status: int) -> None:
    service.replies = [(status, {}, b"")] * 2

    with pytest.raises(ToolError, match=f"refused the batch with status {status}"):
        judged(made(service), "a", "b")
    assert ["tool"] == [verdict.failed_at for verdict in judged(made(service), "a")]


def test_the_wrong_number_of_verdicts_raises_for_the_engine_to_halve(service: Service) -> None:
    service.replies = [(200, {}, [1.0])]

    with pytest.raises(VerifierError, match="1 verdicts for 2 candidates"):
        judged(made(service), "a", "b")


def test_silence_ends_at_the_time_limit(service: Service) -> None:
    service.replies = [(200, {}, "wait")]

    (verdict,) = judged(made(service, timeout=0.3), "a")

    assert ("tool", True) == (verdict.failed_at, "could not be asked" in verdict.reason)


def test_a_service_that_is_not_there_makes_its_batch_abstain() -> None:
    verifier = EndpointVerifier(name="judge", version="1", url="http://127.0.0.1:9/")

    assert ["tool"] == [verdict.failed_at for verdict in judged(verifier, "a")]


def test_secrets_come_from_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = made(service, headers={"Authorization": "$JUDGE_TOKEN"})

    (missing,) = judged(verifier, "a")
    monkeypatch.setenv("JUDGE_TOKEN", "sesame")
    judged(verifier, "a")

    assert "set JUDGE_TOKEN in the environment" in missing.reason
    assert ["sesame"] == [headers["Authorization"] for headers, _ in service.asked]
    assert "sesame" not in str(verifier.__dict__)


def test_retry_after_may_be_a_date() -> None:
    pause = asked_pause(format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True))

    assert pause is not None
    assert 90 < pause <= 100
    assert [None, None, 7.0] == [asked_pause(None), asked_pause("soon"), asked_pause("7")]


@pytest.mark.parametrize("said", ["-5", "NaN", "1e9", "1 Jan 2030 0:0:0 +99999999999999999999"])
def test_a_retry_after_that_makes_no_sense_asks_for_nothing(said: str) -> None:
    assert asked_pause(said) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"url": "ftp://x"}, "http://"),
        ({"retries": -1}, "retries=-1.*at least 0"),
        ({"colour": 1}, "colour"),
    ],
)
def test_what_can_not_be_an_endpoint_is_refused(options: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"url": "http://localhost", **options}

    with pytest.raises(ConfigError, match=said):
        EndpointVerifier(name="judge", version="1", **given)
