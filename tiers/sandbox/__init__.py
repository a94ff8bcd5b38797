"""The sandbox: programs that a model wrote, each input in a fresh process that can harm nobody."""

from verifier_ladder.tiers.sandbox.backend import STRENGTHS, Backend
from verifier_ladder.tiers.sandbox.compiler import compiled
from verifier_ladder.tiers.sandbox.program import Ending, Input, Limits, Program, Result, Warmth
from verifier_ladder.tiers.sandbox.sandbox import Sandbox

__all__ = [
    "STRENGTHS",
    "Backend",
    "Ending",
    "Input",
    "Limits",
    "Program",
    "Result",
    "Sandbox",
    "Warmth",
    "compiled",
]
