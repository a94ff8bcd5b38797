"""The description of the interface holds for whatever Schemathesis makes of it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import verifier_ladder as vl
from verifier_ladder.server.app import create_app

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_headers_conformance, response_schema_conformance,
]  # fmt: skip
_COMMON = {
    "deadline": None, "suppress_health_check": list(HealthCheck), "database": None,
    "phases": [Phase.explicit, Phase.generate],
}  # fmt: skip


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def length(candidate: vl.Candidate) -> float:
    """Say how long it is."""
    return float(len(candidate.content))


@asynccontextmanager
async def lasting(_: Any) -> AsyncIterator[None]:
    yield


@pytest.fixture(scope="module")
def interface() -> Iterator[Any]:
    """The description of a server that has all that a call may need."""
    with vl.Campaign.open("described", ladder=vl.Ladder("lengths", [length])) as campaign:
        app = create_app(campaign, on_abstain=0.5, masks=True, hosts=None, anyone_may_answer=True)
        app.router.lifespan_context = lasting  # Each call would end it.
        found = schemathesis.openapi.from_asgi("/openapi.json", app)
        yield found.exclude(path="/rl/set_reward")  # It needs AReaL's gateway behind it.
        asyncio.run(app.state.service.close())


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
def test_every_answer_is_as_described(interface: Any, mode: GenerationMode) -> None:
    check_all(interface, mode, examples=4)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
def test_every_one_of_many_answers_is_as_described(interface: Any, mode: GenerationMode) -> None:
    check_all(interface, mode, examples=300)


def check_all(interface: Any, mode: GenerationMode, examples: int) -> None:
    """Make calls that fit the description, or just don't, and compare the answers with it."""
    for found in interface.get_all_operations():
        operation = found.ok()
        if mode == GenerationMode.NEGATIVE and not (operation.body or operation.query):
            continue  # There is nothing to make wrong.

        @settings(max_examples=examples, derandomize=True, **_COMMON)  # type: ignore[arg-type]
        @given(operation.as_strategy(generation_mode=mode))
        def holds(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        holds()
