"""Entries that no program can have written are named as they are read, and do nothing else."""

from typing import Any

import pytest

from verifier_ladder.errors import LedgerError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block

CASE = b"a case".hex()
CLAIM = {"act": "claim", "case": CASE, "seat": 1, "lease": 60.0}
SAMPLE = ["run", 0, 3]
WINNER = {"sample": SAMPLE, "z": -3.0, "estimate": 2.0, "truth": 0.5, "group": "a"}
AUDIT = {
    "sample": SAMPLE, "draw": [0.5, 0.25, None, 2.0, 1.0, None, ["cheap", False]],
    "surprise": None, "truth": 0.5, "is_good": True, "group": "",
}  # fmt: skip
LESSONS: dict[str, Any] = {
    "keys": [CASE, b"another".hex()], "scores": [[1.0, None], [2.0, None]],
    "deviations": [[None, None]] * 2, "features": [[], []], "target": [[0.5], [None]],
    "rejected": [1], "audits": [AUDIT, None],
}  # fmt: skip
VERSION = {"name": CASE, "labels": 64, "weights.npy": CASE, "trained.npy": CASE}
HONEST: dict[str, dict[str, Any]] = {
    "cancel": {"run": None, "step": 3, "positions": [1, 2], "at_work": False},
    "cancelled": {"request": 1, "samples": 2, "checks": 0},
    "reading": {"by": "ada", "acts": [CLAIM, {"act": "answer", "case": CASE, "said": 7.0}]},
    "batch": {"plates": {"Pab-1": {"A1": CASE, "H12": "control:blank"}}},
    "approval": {"wells": 96},
    "plan": {"horizon": 20_000},
    "limits": {"accounts": [[3, 2, "closed"], [-1, 0, "limited"]]},
    "score": {"undecided_after": 3},
    "alarm": {
        "stratum": "cheap", "direction": "overrated", "audits": 9, "first": SAMPLE,
        "last": SAMPLE, "winners": [WINNER],
    },
    "alert": {"to": "webhook", "cause": "dead/xtb/1/1", "text": "1 check is dead"},
    "belief": {
        "keys": [CASE], "lessons": LESSONS,
        "costs": [{"verifier": "cheap", "columns": [[[1.0]], [[]], [[2.0]], [False]]}],
    },
    "shadow": {"run": "r", "step": 3, "samples": 8, "reason": "the disk is full"},
    "transcript": {
        "run": "r", "groups": {"a": {"prompt": "2 + 2 ="}}, "samples": [[0, 2, {"group": "a"}]],
    },
    "surrogate": {
        "labels": 64, "trained": 64, "speaks": None, "shadow": VERSION,
        "reviews": {CASE: [16.0, 0.25, 0.1], b"another".hex(): [0.0, None, None]},
    },
}  # fmt: skip
FORGED: list[tuple[str, dict[str, Any]]] = [
    ("cancel", {"positions": 2**62}),
    ("cancel", {"positions": ["1"]}),
    ("cancel", {"step": 2**70}),
    ("cancel", {"run": ["r"]}),
    ("cancelled", {"request": None}),
    ("reading", {"acts": {"act": "claim"}}),
    ("reading", {"acts": [{**CLAIM, "case": "no digits"}]}),
    ("reading", {"acts": [{**CLAIM, "seat": 2**62}]}),
    ("reading", {"acts": [{**CLAIM, "lease": "long"}]}),
    ("reading", {"acts": [{**CLAIM, "act": "read"}]}),
    ("reading", {"acts": [{"act": "answer", "case": CASE, "said": {"outcome": "yes"}}]}),
    ("batch", {"plates": 2**62}),
    ("batch", {"plates": {"Pab": {"A1": CASE}}}),
    ("batch", {"plates": {"Pab-1": {"1": CASE}}}),
    ("batch", {"plates": {"Pab-1": {"A1": 7}}}),
    ("batch", {"listed": "Oab", "cases": CASE}),
    ("approval", {"wells": "96"}),
    ("plan", {"horizon": 2**62}),
    ("limits", {"accounts": [[7, 2, "closed"]]}),
    ("score", {"undecided_after": "all"}),
    ("alarm", {"direction": "down"}),
    ("alarm", {"first": ["run", "0", 3]}),
    ("alarm", {"winners": [{**WINNER, "z": "3"}]}),
    ("alarm", {"winners": [{**WINNER, "by": "eve"}]}),
    ("alarm", {"error": "large"}),
    ("alert", {"cause": None}),
    ("belief", {"keys": ["no digits"]}),
    ("belief", {"turns": [[CASE, "open"]]}),
    ("belief", {"lessons": {**LESSONS, "keys": [CASE]}}),
    ("belief", {"lessons": {**LESSONS, "scores": [[1.0, None], [2.0]]}}),
    ("belief", {"lessons": {**LESSONS, "target": [[0.5], ["high"]]}}),
    ("belief", {"lessons": {**LESSONS, "rejected": [2]}}),
    ("belief", {"lessons": {**LESSONS, "audits": [None]}}),
    ("belief", {"lessons": {**LESSONS, "audits": [{**AUDIT, "draw": [0.5]}, None]}}),
    ("belief", {"waiting": {**LESSONS, "features": [[], [1.0]]}}),
    ("belief", {"costs": [{"verifier": 3, "columns": []}]}),
    ("shadow", {"step": None}),
    ("transcript", {"groups": {"a": "2 + 2 ="}}),
    ("transcript", {"samples": [[0, {"group": "a"}]]}),
    ("surrogate", {"labels": "64"}),
    ("surrogate", {"shadow": {**VERSION, "weights.npy": "no digits"}}),
    ("surrogate", {"speaks": {"name": CASE}}),
    ("surrogate", {"reviews": {CASE: [None, None, None]}}),
    ("surrogate", {"reviews": {CASE: [16.0, "much", 0.1]}}),
    ("surrogate", {"reviews": {CASE: [16.0, 0.25]}}),
]


def test_what_no_program_writes_is_an_error_that_names_the_entry() -> None:
    gone = [(kind, name) for kind, facts in HONEST.items() if kind != "score" for name in facts]
    with open_ledger(None) as ledger:
        for kind, facts in HONEST.items():
            ledger.append(Block(kind, "c", facts=facts))
        for kind, facts in FORGED:
            ledger.append(Block(kind, "c", facts={**HONEST[kind], **facts}))
        for kind, name in gone:
            left = {other: fact for other, fact in HONEST[kind].items() if other != name}
            ledger.append(Block(kind, "c", facts=left))

        for entry in ledger.entries():
            if entry.id <= len(HONEST):
                assert ledger.read(entry).facts == HONEST[entry.kind]
            else:
                with pytest.raises(LedgerError, match=f"entry {entry.id}: .* is damaged: "):
                    ledger.read(entry)
