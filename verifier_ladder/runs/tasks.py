"""Tasks of a run: which samples answer one and the same prompt, whatever the step."""

from __future__ import annotations

from verifier_ladder.keys import digest
from verifier_ladder.runs.chat import text_of_prompt
from verifier_ladder.runs.records import RunRecord, SampleRecord


def task_of(record: RunRecord, sample: SampleRecord) -> str:
    """A short name for a sample's task.

    It follows from the task's name where one was given, else from the prompt. Where neither is
    known, it follows from what verifiers read beside the candidate, else from the group, else
    from the candidate: groups may be named anew in every step.
    """
    key = (sample.group, sample.task)
    if not sample.group and not any(sample.task):
        return task_key(f"\0{sample.content.hex()}")
    if key not in record.tasks:
        record.tasks[key] = _named(record, *key)
    return record.tasks[key]


def _named(record: RunRecord, group: str, task: bytes) -> str:
    named = record.transcripts.task(group)
    if named:
        return task_key(named)
    prompt = record.transcripts.prompt(group)
    if prompt is not None:
        return task_key(text_of_prompt(prompt))
    return task_key(f"\0task {task.hex()}" if any(task) else f"\0group {group}")


def task_key(text: str) -> str:
    """A short name for a task: prompts that differ in spaces or capitals only are one.

    Example:
        >>> task_key("2 + 2 = ") == task_key("2 +  2 =")
        True
    """
    return digest({"task": " ".join(text.split()).casefold()}).hex()[:16]
