"""`python -m verifier_ladder.cli` is `vladder`."""

from __future__ import annotations

from verifier_ladder.cli import main

main()
