"""A guard between a model and the tools of a toolset of verifiers 0.4."""
# mypy: ignore-errors
# verifiers is not installed everywhere that types are checked.

import asyncio
from typing import Any

import verifiers.v1 as vf
from forbiddencalls import FORBIDDEN, HONEST, TASK, answered
from mcp.server.mcpserver import MCPServer
from verifiers.v1.mcp.toolset import Toolset, ToolsetConfig

import verifier_ladder as vl


class Shop(Toolset[ToolsetConfig, vf.State]):
    """Tools of a shop, each called through the guard of its rollout."""

    def __init__(self, config: ToolsetConfig) -> None:
        super().__init__(config)
        self.guard = vl.ActionGuard(TASK)
        self.executed: list[tuple[str, Any]] = []

    @vf.tool
    def call(self, name: str, arguments: dict[str, Any] | str) -> str:
        """Call a tool of the shop."""
        return self.guard.run(vl.ToolCall(name, arguments), self.execute)

    def execute(self, call: vl.ToolCall) -> str:
        self.executed.append((call.name, call.arguments))
        return answered(call)


def played(calls: Any) -> tuple[list[Any], list[str]]:
    """What is executed of calls that come by the library's own server, and what is answered."""
    shop, server = Shop(ToolsetConfig()), MCPServer("shop")
    shop.register(server)

    async def answers() -> list[str]:
        return [
            str(await server.call_tool("call", {"name": name, "arguments": arguments}))
            for name, arguments in calls
        ]

    return shop.executed, asyncio.run(answers())


def test_none_of_thirty_forbidden_calls_is_executed() -> None:
    assert 30 == len(FORBIDDEN)
    for before, forbidden in FORBIDDEN:
        executed, seen = played([*before, forbidden])

        assert len(executed) <= len(before), forbidden
        assert "It was not executed." in seen[-1], forbidden


def test_all_honest_calls_are_executed() -> None:
    executed, seen = played(HONEST)

    assert HONEST == executed
    assert all("done" in each for each in seen)
