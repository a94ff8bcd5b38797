"""What a check of structured output costs, as a multiple of the bare library in the same run.

    python benchmarks/structured.py

Each pair takes turns: the library on JSON or CSV that is ready for it, and the verifier on the
same candidates, with the answer found, the strict rules and a verdict. It prints µs a check and
medians of the ratios.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from decimal import Decimal
from statistics import median
from typing import Any

import jsonschema_rs

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.fast.choice import Choice
from verifier_ladder.tiers.fast.constraints import InstructionConstraints
from verifier_ladder.tiers.fast.exactmatch import ExactMatch
from verifier_ladder.tiers.fast.f1 import F1
from verifier_ladder.tiers.fast.jsonschema import JsonSchema
from verifier_ladder.tiers.fast.numeric import Numeric
from verifier_ladder.tiers.fast.tableschema import TableSchema
from verifier_ladder.verdict import Outcome
from verifier_ladder.verifiers import Verifier

COUNT, ROUNDS = 500, 9
SCHEMA = {
    "type": "object", "required": ["name", "age", "tags"],
    "properties": {
        "name": {"type": "string", "minLength": 1}, "age": {"type": "integer", "minimum": 0},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 8},
    },
}  # fmt: skip
TABLE = {"columns": [{"name": "id", "type": "integer", "unique": True},
                     {"name": "score", "type": "number", "minimum": 0}]}  # fmt: skip
RULES = [{"rule": "words", "most": 40}, {"rule": "keywords", "words": ["river"]},
         {"rule": "without", "signs": ","}]  # fmt: skip
PROSE = [f"On day {i} the boat lay on the river and nobody came for it." for i in range(COUNT)]
JSON = [json.dumps({"name": f"n{i}", "age": i, "tags": ["a", "b"]}) for i in range(COUNT)]
CSV = ["id,score\n" + "".join(f"{j},{j * 0.5 + i}\n" for j in range(20)) for i in range(COUNT)]


def bare_csv(text: str) -> bool:
    """Every cell converts, by the standard library."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return len({int(r["id"]) for r in rows}) == len(rows) and all(
        float(r["score"]) >= 0 for r in rows
    )


def pairs() -> dict[str, tuple[Verifier, list[Candidate], Callable[[str], Any], list[str]]]:
    """Verifier, its candidates, and the bare library on what it needs."""
    check = jsonschema_rs.validator_for(SCHEMA)
    numbers = [f"{i}.25" for i in range(COUNT)]

    def of(texts: list[str], form: str = "%s", **task: Any) -> list[Candidate]:
        return [Candidate("text", form % text, task=task) for text in texts]

    answers = [Candidate("text", f"<answer>{n}</answer>", task={"answer": n}) for n in numbers]
    return {
        "json-schema": (JsonSchema(), of(JSON, schema=SCHEMA),
                        lambda text: check.is_valid(json.loads(text)), JSON),
        "json-schema, in a block": (JsonSchema(), of(JSON, "```json\n%s\n```", schema=SCHEMA),
                                    lambda text: check.is_valid(json.loads(text)), JSON),
        "table-schema": (TableSchema(), of(CSV, table=TABLE), bare_csv, CSV),
        "numeric": (Numeric(), answers, lambda text: Decimal(text) == Decimal(text), numbers),
        "exact-match": (ExactMatch(), answers, lambda text: text.strip() == text, numbers),
        "f1": (F1(), answers, lambda text: set(text.lower().split()) == {text}, numbers),
        "instruction-constraints": (
            InstructionConstraints(), of(PROSE, constraints=RULES),
            lambda text: len(text.split()) < 40 and "river" in text and "," not in text,  # noqa: PLR2004
            PROSE,
        ),
        "choice": (Choice(), of(["The answer is (B)"] * COUNT, answer="B"),
                   lambda text: text.strip("()") == "B", ["(B)"] * COUNT),
    }  # fmt: skip


def seconds(run: Callable[[], Any]) -> float:
    """Cpu seconds of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    print(f"{'verifier':26}{'µs':>8}{'bare µs':>9}{'ratio':>8}")
    for name, (verifier, candidates, bare, texts) in pairs().items():
        verifier.setup()
        assert all(v.outcome is Outcome.ACCEPT for v in verifier.judge(candidates))  # noqa: S101
        taken = [
            (seconds(lambda: verifier.judge(candidates)), seconds(lambda: [*map(bare, texts)]))  # noqa: B023
            for _ in range(ROUNDS)
        ]
        ours, theirs = (median(column) / COUNT * 1e6 for column in zip(*taken, strict=True))
        ratio = median(a / b for a, b in taken)
        print(f"{name:26}{ours:8.1f}{theirs:9.1f}{ratio:8.1f}")


if __name__ == "__main__":
    main()
