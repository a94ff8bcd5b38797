"""Outputs become samples, step by step, whatever characters they hold."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.demo.outputs import read_outputs

TEXTS = st.lists(st.tuples(st.integers(0, 3), st.text(max_size=20)), max_size=12)


@given(TEXTS)
def test_every_output_keeps_its_text_and_its_place(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]]
) -> None:
    path = tmp_path_factory.mktemp("outputs") / "outputs.jsonl"
    lines = [json.dumps({"completion": t, "step": s}, ensure_ascii=True) for s, t in rows]
    path.write_text("\n".join(lines), encoding="utf-8")

    steps = read_outputs(path)

    found = [(x.step, x.position, x.candidate.content) for step in steps for x in step]
    wanted = [
        (step, position, text)
        for step in sorted({s for s, _ in rows})
        for position, text in enumerate(t for s, t in rows if s == step)
    ]
    assert found == wanted


def test_a_line_separator_inside_an_output_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "outputs.jsonl"
    path.write_text('{"completion": "CC\u2028O", "prompt_id": "p"}\n\n', encoding="utf-8")

    ((sample,),) = read_outputs(path)

    assert (sample.candidate.content, sample.group) == ("CC\u2028O", "p")
