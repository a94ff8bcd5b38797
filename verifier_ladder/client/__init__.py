"""Clients of a reward server, for programs with and without an event loop. Needs `httpx`."""

from verifier_ladder.client.asynchronous import AsyncClient
from verifier_ladder.client.synchronous import Client

__all__ = ["AsyncClient", "Client"]
