"""The sandbox: programs that a model wrote, each input in a fresh process that can harm nobody."""

from verifier_ladder.tiers.sandbox.compiler import compiled
from verifier_ladder.tiers.sandbox.program import Ending, Input, Limits, Program, Result
from verifier_ladder.tiers.sandbox.sandbox import STRENGTHS, Sandbox, Warmth

__all__ = [
    "STRENGTHS",
    "Ending",
    "Input",
    "Limits",
    "Program",
    "Result",
    "Sandbox",
    "Warmth",
    "compiled",
]
