"""Outputs: what a language model wrote when asked for molecules that dissolve well in water."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.transcript import Transcript

FOLDER = Path(__file__).parent
LADDER = FOLDER / "solvation.toml"
OUTPUTS = FOLDER / "outputs.jsonl"


def read_outputs(path: Path = OUTPUTS) -> list[list[Sample]]:
    """The outputs as samples, one list per training step, in the order they were written.

    Args:
        path: JSON lines with `completion`, and optionally `step`, `prompt_id` and `sampler`.

    Example:
        >>> steps = read_outputs()
        >>> steps[0][0].candidate.kind
        'molecule'
    """
    steps: dict[int, list[Sample]] = {}
    for row in _rows(path):
        step = int(row.get("step", 0))
        batch = steps.setdefault(step, [])
        batch.append(
            Sample(
                Candidate("molecule", row["completion"]), step=step, position=len(batch),
                group=str(row.get("prompt_id", "")), learner_version=str(row.get("sampler", "")),
            )
        )  # fmt: skip
    return [steps[step] for step in sorted(steps)]


def read_transcripts(path: Path = OUTPUTS) -> list[list[Transcript]]:
    """What the model was asked and wrote, one list per training step.

    Example:
        >>> read_transcripts()[0][0].prompt[:29]
        'Propose one small molecule th'
    """
    rows = _rows(path)
    prompts = {str(row.get("prompt_id", "")): row.get("prompt") for row in rows}
    return [
        [
            Transcript(
                sample.step, sample.position, sample.group, prompts.get(sample.group),
                completion=sample.candidate.content,
            )
            for sample in step
        ]
        for step in read_outputs(path)
    ]  # fmt: skip


def run_name(path: Path = OUTPUTS) -> str:
    """The run that these outputs belong to, for ever: scored again, they are known samples."""
    return f"demo-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}"


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    # Split at line feeds only: an output may hold other characters that end a line for Python.
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)
