"""Every public argument is checked where it enters, by name, before anything is done."""

from __future__ import annotations

import asyncio
import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.client.wire import ScoreOptions
from verifier_ladder.ledger.records import Entry
from verifier_ladder.ledger.replies import Reply
from verifier_ladder.registry import REGISTRY
from verifier_ladder.tiers.fast.actionguard import Permission

ODD: list[Any] = [
    object(), True, 1.5, -1, -5, 0, math.nan, math.inf, 10**400, "", "\0", "abc", b"abc", [],
    ["a"], {}, {1: 2}, {"a": object()}, [object()], int, lambda: 1,
]  # fmt: skip
RESULTS = {
    "Belief", "Case", "Decision", "Decisions", "Reward", "Revision", "SampleId", "Situation",
    "Ledger", "EscalationPolicy", "Artifact",
}  # fmt: skip
"""What is given to users or is a protocol: nothing enters by its constructor."""
ERRORS = (vl.LadderError, TypeError, ValueError)


def length(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def judge(completions: Sequence[str], **_columns: Any) -> list[float]:
    return [float(len(text)) for text in completions]


def check() -> vl.Verifier:
    return vl.verifier(name="length", version="1", isolation="inline")(length)


def ladder() -> vl.Ladder:
    return vl.Ladder("lengths", [check()])


@pytest.fixture
def campaign() -> Iterator[vl.Campaign]:
    with vl.Campaign.open("c", ladder=ladder(), workers=1) as opened:
        yield opened


GOOD: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ActionGuard": (vl.ActionGuard, {"task": {"tools": [{"name": "t"}]}}),
    "Candidate": (vl.Candidate, {"kind": "text", "content": "a"}),
    "Turn": (vl.Turn, {"action": "a"}),
    "ToolCall": (vl.ToolCall, {"name": "t"}),
    "Terminate": (vl.Terminate, {}),
    "StepResult": (vl.StepResult, {}),
    "Rate": (vl.Rate, {"limit": "1/s"}),
    "Cost": (vl.Cost, {}),
    "Run": (vl.Run, {"name": "r"}),
    "Target": (vl.Target, {}),
    "RewardRule": (vl.RewardRule, {}),
    "Transcript": (vl.Transcript, {}),
    "TurnVerdict": (vl.TurnVerdict, {"turn": 0}),
    "Verdict": (vl.Verdict, {"outcome": "accept"}),
    "Verdict.accept": (vl.Verdict.accept, {}),
    "Verdict.reject": (vl.Verdict.reject, {"reason": "r"}),
    "Verdict.abstain": (vl.Verdict.abstain, {"reason": "r"}),
    "Ladder": (vl.Ladder, {"name": "l", "verifiers": [check()]}),
    "CommandVerifier": (vl.CommandVerifier, {"name": "n", "version": "1", "command": ["true"]}),
    "EndpointVerifier": (
        vl.EndpointVerifier, {"name": "n", "version": "1", "url": "http://localhost:1"}
    ),
    "HttpService": (vl.HttpService, {"url": "http://localhost:1"}),
    "verifier": (lambda **o: vl.verifier(**{"name": "n", "version": "1", **o})(length), {}),
    "wrap": (lambda **o: vl.wrap(**{"function": judge, "version": "1", **o}), {}),
    "open_ledger": (vl.open_ledger, {}),
    "Client": (vl.Client, {"url": "http://127.0.0.1:9"}),
    "AsyncClient": (vl.AsyncClient, {"url": "http://127.0.0.1:9"}),
    "Campaign.open": (vl.Campaign.open, {"name": "c", "ladder": ladder(), "workers": 1}),
    "score_file": (vl.score_file, {"path": "rows.jsonl", "ladder": ladder()}),
}  # fmt: skip
SIGNATURES: dict[str, Any] = {"verifier": vl.verifier, "wrap": vl.wrap}
ATTRIBUTES: tuple[str, ...] = (
    "timeout", "memory", "batch_size", "task_fields", "reads_turns", "replicates", "unit",
    "deviation", "same_quantity", "control", "tools", "definitive", "features", "capabilities",
    "domain", "concurrency", "settings", "role", "isolation", "reads",
)  # fmt: skip


def parameters(name: str) -> list[str]:
    found = inspect.signature(SIGNATURES.get(name, GOOD[name][0])).parameters.values()
    names = [p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    takes_more = any(p.kind is p.VAR_KEYWORD for p in found)
    skipped = {"function"} if name == "verifier" else set()
    more: tuple[str, ...] = ATTRIBUTES if takes_more else ()
    if name in {"CommandVerifier", "EndpointVerifier"}:
        more = tuple(each for each in more if each not in {"concurrency", "settings"})
    if name == "wrap":
        more = tuple(each for each in more if each not in {"task_fields", "reads", "settings"})
    return [each for each in [*names, *more] if each not in skipped]


CASES = [(name, parameter) for name in GOOD for parameter in parameters(name)]
OBJECTS: dict[str, Callable[[], Any]] = {
    "Cost": vl.Cost, "Ladder": ladder, "RewardRule": vl.RewardRule, "Run": lambda: vl.Run("r"),
    "Target": vl.Target, "Transcript": vl.Transcript,
    "ActionGuard": lambda: vl.ActionGuard({"tools": [{"name": "t"}]}),
}  # fmt: skip
"""What has methods that users call, beside campaigns and clients."""


def methods(name: str) -> list[tuple[str, str, str]]:
    owner = getattr(vl, name)
    return [
        (name, method, parameter)
        for method in sorted(dir(owner))
        if not method.startswith("_") and callable(getattr(owner, method)) and method != "open"
        for parameter in inspect.signature(getattr(owner, method)).parameters
        if parameter != "self"
    ]


METHODS = [each for name in ("Campaign", *OBJECTS) for each in methods(name)]
STORE = [
    (name, parameter)
    for name in sorted(dir(vl.Ledger))
    if not name.startswith("_") and inspect.isfunction(inspect.getattr_static(vl.Ledger, name))
    and name not in {"aliases", "verdicts", "append"}  # What `score` itself calls for each batch.
    for parameter in inspect.signature(getattr(vl.Ledger, name)).parameters
    if parameter != "self"
]  # fmt: skip
SOUND: dict[str, Any] = {
    "str": "a", "bytes": b"k" * 32, "int": 1, "float": 1.0, "bool": False, "Sequence": [],
    "Mapping": {}, "Callable": lambda *_: None, "Rate": vl.Rate("1/s"), "Cost": vl.Cost(),
    "Verdict": vl.Verdict.accept(1.0), "Reply": Reply(b"", "c", "r", 0, 0),
    "Entry": Entry(1, "score", "c", 0.0, b"", b""),
}  # fmt: skip
"""What is right, by the first word of an annotation."""
HOSTILE: list[Callable[[], Any]] = [
    lambda: True, lambda: 1.5, lambda: -1, lambda: math.nan, lambda: math.inf, lambda: 10**400,
    lambda: 2**63, lambda: 1e300, lambda: "", lambda: "\ud800", lambda: "x" * 100_000,
    lambda: "a\x1b[31m\x9b2J\u202e", list, lambda: (each for each in "ab"), lambda: b"a",
    lambda: {"a": 1}, lambda: np.zeros(3),
]  # fmt: skip
"""Made anew for each call, for a generator is read once."""
NO_WHOLE_NUMBER = HOSTILE[:2] + HOSTILE[3:6] + HOSTILE[8:]
WRONG: dict[str, Any] = {"case": "nonsense", "value": object(), "values": 3, "rows": 3}
"""Values that no annotation tells to be wrong."""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"completion": "abc"}\n')


def test_everything_public_is_among_them() -> None:
    classes = {n for n in vl.__all__ if inspect.isclass(getattr(vl, n))}
    errors = {n for n in classes if issubclass(getattr(vl, n), Exception)}
    told = {name.split(".")[0] for name in GOOD} | {
        "Action", "AsyncVerifier", "Campaign", "Canonicaliser", "Environment", "Outcome",
        "Sample", "Service", "Tier", "Verifier", *RESULTS,
    }  # fmt: skip

    assert set(vl.__all__) - errors <= told


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_a_wrong_argument_is_refused_with_its_name_or_taken_as_it_is(
    name: str, parameter: str
) -> None:
    """Never an AttributeError from the inside; an object that is nothing is always refused."""
    may_be_anything = parameter in {"prompt", "completion"}
    # What a function of the caller's own raises is not ours.
    is_called = parameter in {"when_planned", "report"}
    for odd in (each for each in ODD if not (is_called and callable(each))):
        told = what_is_told(name, parameter, odd)
        if told is None:
            assert type(odd) is not object or may_be_anything, f"{name}({parameter}={odd!r})"
        else:
            assert isinstance(told, vl.LadderError) or parameter in str(told), (odd, told)


def what_is_told(name: str, parameter: str, odd: Any) -> Exception | None:
    call, good = GOOD[name]
    try:
        made = call(**{**good, parameter: odd})
    except ERRORS as error:
        return error
    if isinstance(made, (vl.Campaign, vl.Client, vl.Ledger)):
        made.close()
    return None


@pytest.mark.parametrize(("owner", "name", "parameter"), METHODS)
def test_methods_refuse_what_makes_no_sense(
    campaign: vl.Campaign, owner: str, name: str, parameter: str
) -> None:
    """Only by an error of the library's own, which is short and can be shown."""
    method = getattr(OBJECTS[owner]() if owner in OBJECTS else campaign, name)
    given: dict[str, Any] = {
        "samples": ["a"], "run": "r", "step": 0, "case": b"k" * 32, "value": 1.0,
        "source": "me", "values": {}, "rows": [], "transcripts": [], "tier": "fast",
        "factor": 1.0, "deviation": 1.0, "namespace": "n", "path": "nothing.toml", "table": {},
        "verdict": vl.Verdict.accept(1.0), "call": vl.ToolCall("t"), "observation": "",
        "execute": lambda _: "", "permission": Permission(allowed=True, turn=0),
    }  # fmt: skip
    known = inspect.signature(method).parameters
    needed = {n: given.get(n) for n, p in known.items() if p.default is p.empty}

    with pytest.raises(vl.LadderError):
        finished(method(**{**needed, parameter: WRONG.get(parameter, object())}))
    is_whole = "bool" not in str(known[parameter].annotation) and "int" in str(
        known[parameter].annotation
    ).split(" | ")
    # So long as `revisions` is told to wait, it waits.
    for make in HOSTILE if parameter != "wait" else HOSTILE[8:]:
        told = ""
        try:
            finished(method(**{**needed, parameter: make()}))
        except vl.LadderError as error:
            told = str(error)
        assert told or not (is_whole and make in NO_WHOLE_NUMBER), make()
        assert len(told) <= 1000
        assert told.replace("\n", "").isprintable()


def test_constructors_say_little_of_what_is_long_and_nothing_a_terminal_obeys() -> None:
    for name, parameter in CASES:
        for odd in ("x" * 100_000, "a\x1b[31m\x9b2J\u202e", "\ud800", np.zeros(3)):
            told = what_is_told(name, parameter, odd)
            if isinstance(told, vl.LadderError):
                assert len(str(told)) <= 1000, (name, parameter)
                assert str(told).replace("\n", "").isprintable(), (name, parameter)


def finished(made: Any) -> None:
    if inspect.isgenerator(made):
        next(made, None)
    if inspect.iscoroutine(made):
        asyncio.run(made)
    if inspect.isasyncgen(made):
        asyncio.run(anext(made))


ASKED: dict[str, dict[str, Any]] = {
    "score": {"samples": ["a"]}, "revisions": {}, "cases": {},
    "answer": {"case": b"k" * 32, "value": 1.0, "source": "me"},
}  # fmt: skip
CLIENTS = [
    (client, name, parameter)
    for client in (vl.Client, vl.AsyncClient)
    for name in ASKED
    for parameter in (
        *(p for p in inspect.signature(getattr(client, name)).parameters
          if p not in {"self", "options"}),
        *(ScoreOptions.__annotations__ if name == "score" else ()),
    )
]  # fmt: skip


def test_all_methods_of_the_clients_are_tried() -> None:
    for client in (vl.Client, vl.AsyncClient):
        assert {n for n in dir(client) if not n.startswith("_")} - {"close"} == set(ASKED)


@pytest.mark.parametrize(("client", "name", "parameter"), CLIENTS)
def test_a_clients_methods_refuse_what_makes_no_sense_before_they_ask(
    client: Any, name: str, parameter: str
) -> None:
    """No server is there: what is refused is refused without one."""
    asking = client("http://127.0.0.1:9", attempts=1)

    for odd in (object(), [object()], {"a": object()}):
        given = {**ASKED[name], parameter: odd}
        with pytest.raises(vl.ConfigError):
            finished(getattr(asking, name)(**given))


@pytest.mark.parametrize("place", [None, "ledger.db"])
def test_the_methods_of_a_ledger_refuse_what_makes_no_sense(place: str | None) -> None:
    wrong = []
    with vl.open_ledger(place) as ledger:
        for name, parameter in STORE:
            method = getattr(ledger, name)
            known = inspect.signature(method).parameters
            needed = {n: sound(p) for n, p in known.items() if p.default is p.empty}
            for odd in (object(), [object()], {"a": object()}):
                holds_many = "[" in str(known[parameter].annotation)
                if holds_many and type(odd) is not object:
                    continue
                told = ""
                try:
                    method(**{**needed, parameter: odd})
                except vl.LadderError as error:
                    told = str(error)
                if not told.startswith(f"Ledger.{name}: {parameter}="):
                    wrong.append((name, parameter, odd, told))
        with pytest.raises(vl.ConfigError, match=r"Ledger\.checks: states=\['queued'\]"):
            ledger.checks(states=["queued"])  # type: ignore[list-item]
        assert 0 == ledger.newest()
    assert [] == wrong


def sound(parameter: inspect.Parameter) -> Any:
    return SOUND[re.split(r"\W", str(parameter.annotation), maxsplit=1)[0]]


INSTALLED = entry_points(group="verifier_ladder.verifiers")
NO_NUMBER = ("3", "false", [1], math.nan)


def test_settings_of_all_our_verifiers_are_checked_where_a_ladder_names_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Text for a number or a truth value would be found out by every single candidate."""
    monkeypatch.setattr(REGISTRY, "_verifiers", {})  # Other tests have some of these names.
    wrong = []
    for name in sorted(point.name for point in INSTALLED):
        of = type(REGISTRY.get(name))
        if not of.__module__.startswith("verifier_ladder."):
            continue
        for parameter in inspect.signature(of).parameters.values():
            kind = str(parameter.annotation)
            may_be_none = kind.endswith(" | None")
            odd: list[Any] = [object(), [object()], 10**400]
            if kind.removesuffix(" | None") in {"int", "float", "bool"}:
                odd += NO_NUMBER
            for value in odd:
                told = refusal_of(name, parameter.name, value)
                is_free = kind.startswith(("str", "Sequence", "Mapping")) or may_be_none
                if told is None and (type(value) is object or not is_free):
                    wrong.append((name, parameter.name, value))
    assert [] == wrong


def refusal_of(name: str, setting: str, value: Any) -> vl.LadderError | None:
    """Why a ladder's table is refused; whatever else is raised comes through."""
    table = {"name": "l", "verifiers": [{"name": name, "settings": {setting: value}}]}
    try:
        vl.Ladder.from_table(table)
    except vl.LadderError as error:
        return error
    return None


def test_messages_name_what_a_user_writes(campaign: vl.Campaign) -> None:
    wrong: list[tuple[str, Callable[[], Any]]] = [
        (
            "vl.CommandVerifier(...): name=",
            lambda: GOOD["CommandVerifier"][0](name="", version="1", command=["true"]),
        ),
        ("Campaign.answer: source=", lambda: campaign.answer(b"k" * 32, 1.0, source="")),
        ("Campaign.cancel: step=", lambda: campaign.cancel("r", step=-1)),
        ("Campaign.revisions: after=", lambda: list(campaign.revisions(after=-1))),
        ("Campaign.open: workers=", lambda: vl.Campaign.open("n", ladder=ladder(), workers=0)),
        ("vl.Turn(...): action=", lambda: vl.Turn(3)),  # type: ignore[arg-type]
        ("vl.Client(...): url=", lambda: vl.Client("")),
        ("score_file: path=", lambda: vl.score_file(3, ladder=ladder())),  # type: ignore[arg-type]
    ]
    for begins, call in wrong:
        with pytest.raises(vl.ConfigError) as told:
            call()
        assert str(told.value).startswith(begins)


@pytest.mark.parametrize(
    "batch",
    [
        "abc", b"abc", 3, None, {"a": 1}, [3], [None], ["a", 1.5], [vl.Sample("x")],  # type: ignore[arg-type]
        *[
            [vl.Sample(vl.Candidate("text", "a"), **{field: odd})]  # type: ignore[arg-type]
            for field, odd in [
                ("step", 1.5), ("step", "1"), ("step", True), ("step", -2), ("position", "0"),
                ("position", None), ("group", 3), ("group_size", -2), ("group_size", 2.0),
                ("learner_version", 7), ("weight", math.nan), ("weight", -1.0), ("weight", "1"),
                ("run", 3), ("evaluation", "yes"),
            ]
        ],
    ],
)  # fmt: skip
def test_a_batch_with_something_odd_in_it_is_refused_and_nothing_is_written(
    campaign: vl.Campaign, batch: Any
) -> None:
    before = campaign.ledger.sequence()

    with pytest.raises(vl.ConfigError):
        campaign.score(["fine", *batch] if isinstance(batch, list) else batch)

    assert before == campaign.ledger.sequence()


@pytest.mark.parametrize("groups", ["ab", [1, 2], ["a"], 3, {"a": 1}])
@pytest.mark.parametrize("step", [None])
def test_groups_are_one_text_for_each_sample(
    campaign: vl.Campaign, groups: Any, step: Any
) -> None:
    with pytest.raises(vl.ConfigError, match="groups"):
        campaign.score(["a", "b"], groups=groups, step=step)


@pytest.mark.parametrize("step", [1.5, "3", True, -1, math.nan, 2**70])
def test_a_step_is_a_whole_number(campaign: vl.Campaign, step: Any) -> None:
    with pytest.raises(vl.ConfigError, match="step"):
        campaign.score(["a"], step=step)


@pytest.mark.parametrize("deadline", ["soon", -1, True, math.nan, math.inf, [1], "30 parsecs"])
def test_a_deadline_is_an_amount_of_time(campaign: vl.Campaign, deadline: Any) -> None:
    with pytest.raises(vl.ConfigError, match="deadline"):
        campaign.score(["a"], deadline=deadline)


def test_numbers_of_numpy_are_numbers(campaign: vl.Campaign) -> None:
    one = vl.Sample(vl.Candidate("text", "abc"), step=np.int64(4), weight=np.float32(0.5))  # type: ignore[arg-type]

    assert [3.0] == [reward.value for reward in campaign.score([one])]
    assert [2.0] == [reward.value for reward in campaign.score(["ab"], step=np.int32(5))]  # type: ignore[arg-type]
    with vl.Campaign.open("n", ladder=ladder(), workers=np.int64(1), horizon=np.int64(9)):  # type: ignore[arg-type]
        pass


def test_a_policy_that_decides_with_a_list_is_named() -> None:
    class Listing:
        name, version, is_sequential = "listing", "1", False

        def decide(self, situation: vl.Situation) -> Any:
            return [vl.Action.STOP] * len(situation)

        def as_json(self) -> dict[str, Any]:
            return {"name": self.name, "version": self.version}

    cheap = vl.verifier(name="cheap", version="1", isolation="inline")(length)
    dear = vl.verifier(name="dear", version="1", tier="simulation", isolation="inline")(length)
    made = vl.Ladder("l", [cheap, dear], policy=Listing())
    with (
        vl.Campaign.open("c", ladder=made, workers=1) as campaign,
        pytest.raises(vl.ConfigError, match=r"listing.*list"),
    ):
        campaign.score(["abc"])
