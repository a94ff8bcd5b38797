"""What is drawn of one candidate, and what two of them or two versions of a verifier differ in."""

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import viewed
from crystals import PROTOTYPES, poscar
from fastapi.testclient import TestClient
from histories import GATE, XTB, History, Item, ladder_spec
from mmciffiles import mmcif
from peptides import HELIX, pdb, peptide

from verifier_ladder.candidate import Candidate, Terminate, ToolCall, Turn
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Block, CheckState
from verifier_ladder.report.drawings import Drawings
from verifier_ladder.reward import Reward
from verifier_ladder.server.pages.app import POLICY, create_viewer
from verifier_ladder.server.pages.beside import PATIENCE
from verifier_ladder.server.pages.viewer import PATIENT
from verifier_ladder.tier import Tier
from verifier_ladder.tiers.simulation.equity import EQUITY, written
from verifier_ladder.transcript import Transcript, transcript_block
from verifier_ladder.verdict import TurnVerdict, Verdict
from verifier_ladder.verifiers import Verifier

HOSTILE = (
    '"><script>document.title="owned"</script><img src=http://example.org/x.png> \u202e\x1b[31m'
)
SALT = poscar(PROTOTYPES["NaCl"])
Get = Callable[[str], Any]
See = Callable[..., Get]


def item(
    text: str, kind: str = "text", verdicts: Mapping[str, Verdict] = MappingProxyType({})
) -> Item:
    return Item(
        text, text, {GATE: Verdict.accept(), **verdicts}, Reward(0.5, 0.1, Tier.FAST), kind=kind
    )


def spec(kind: str = "text", *verifiers: dict[str, Any]) -> dict[str, Any]:
    made = ladder_spec([GATE, XTB])
    return {**made, "kind": kind, "verifiers": [*made["verifiers"], *verifiers]}


def named(name: str, **more: Any) -> dict[str, Any]:
    return {**ladder_spec([XTB])["verifiers"][0], "name": name, **more}


@pytest.fixture
def see(tmp_path: Path) -> Iterator[See]:
    """Record samples, and ask a viewer that reads texts in its own process: it is quicker."""
    apps = []

    def opened(
        items: Sequence[Item], ladder: dict[str, Any], *, told: Sequence[Transcript] = (),
        after: Callable[[History], None] = lambda _: None,
    ) -> Get:  # fmt: skip
        path = tmp_path / "ledger.db"
        with open_ledger(path) as store:
            history = History(store, "try", ladder)
            if told:
                store.append(transcript_block("try", "one", told))
            viewed.score(history, items, "g")
            after(history)
        app = create_viewer(path, index=tmp_path / "x.index", draws=False)
        apps.append(app)
        viewer = app.state.viewer
        viewer.read = read
        viewer.catch_up()
        client = TestClient(app, base_url="http://127.0.0.1:8421", raise_server_exceptions=False)

        def get(address: str) -> Any:
            return client.get(address)

        get.viewer = viewer  # type: ignore[attr-defined]
        return get

    def read(reader: Verifier, text: str, wait: float = 0.0) -> Verdict:
        del wait
        return reader.judge([Candidate(reader.kind, text)])[0]

    yield opened
    for app in apps:
        app.state.viewer.close()


def address(one: Item, page: str = "candidate", **more: str) -> str:
    rest = "".join(f"&{name}={value}" for name, value in more.items())
    return f"/{page}?campaign=try&key={one.content.hex()}{rest}"


# ---- Structures


def test_a_crystal_has_its_drawing_and_a_button_that_turns_it(see: See) -> None:
    salt = item(SALT, "crystal")
    page = see([salt], spec("crystal"))(address(salt))
    buttons = re.findall(r'data-structure="([^"]*)" data-format="(\w+)"', page.text)

    assert [("xyz")] == [form for _, form in buttons]
    assert '<svg class="crystal"' in page.text
    assert "Turning it takes JavaScript and WebGL" in page.text
    assert POLICY == page.headers["content-security-policy"]
    assert "3Dmol" not in re.sub(r'data-library="[^"]*"', "", page.text)  # Nothing loads it yet.


def test_a_structure_is_served_as_plain_text(see: See) -> None:
    salt = item(SALT, "crystal")
    get = see([salt], spec("crystal"))
    (link,) = re.findall(r'data-structure="([^"]*)"', get(address(salt)).text)
    answer = get(html.unescape(link))

    assert (200, "text/plain; charset=utf-8") == (
        answer.status_code, answer.headers["content-type"]
    )  # fmt: skip
    assert "nosniff" == answer.headers["x-content-type-options"]
    assert answer.text.split("\n")[1].startswith('Lattice="')


def test_a_file_that_ends_in_cif_may_hold_a_protein(see: See) -> None:
    made = item("AAAA", "protein")
    folded = Verdict.accept(artifacts={"model.cif": mmcif(pdb(peptide("AAAA", HELIX))).encode()})
    get = see([made], spec("protein"), after=lambda h: h.check(made, XTB, folded))
    (told,) = get(address(made, "candidate.json")).json()["structures"]
    link = address(made, "structure.txt", check=told["check"], file=told["file"])

    assert get(link).text.startswith("ATOM ")


def test_a_file_beside_a_verdict_is_a_structure_too(see: See) -> None:
    made, other = item("CCO", "molecule"), item("C", "molecule")
    relaxed = Verdict.accept(artifacts={"relaxed.vasp": SALT.encode(), "run.log": b"x"})
    get = see([made, other], spec("molecule"), after=lambda h: h.check(made, XTB, relaxed))
    (told,) = get(address(made, "candidate.json")).json()["structures"]
    link = address(made, "structure.txt", check=told["check"], file=told["file"])

    assert "relaxed.vasp" == told["name"]
    assert "Na " in get(link).text
    # Files of others, and files that hold no structure, are not served.
    assert 404 == get(link.replace(made.content.hex(), other.content.hex())).status_code
    assert 404 == get(link.replace("relaxed.vasp", "run.log")).status_code


@pytest.mark.parametrize(
    "text", [HOSTILE, "Cu\n1.0\n" + "9 " * 400, f"{SALT.rstrip()}\n{HOSTILE}"]
)
def test_what_is_no_structure_has_no_button(see: See, text: str) -> None:
    bad = item(text, "crystal")
    get = see([bad], spec("crystal"))

    assert "data-structure" not in get(address(bad)).text
    answer = get(address(bad, "structure.txt"))
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("text/plain")


def test_the_viewer_is_the_file_that_is_named_beside_it() -> None:
    folder = files("verifier_ladder.server.pages") / "static" / "vendor"
    told = (folder / "VERSIONS.txt").read_text()

    assert sha256((folder / "3Dmol-min.js").read_bytes()).hexdigest() in told
    assert "BSD-3-Clause" in (folder / "3Dmol.LICENSE.txt").read_text()


# ---- Code


def test_code_is_marked_on_the_pages_of_a_candidate_and_of_a_group(see: See) -> None:
    code = item("def solve(n):\n    return n  # <script>")
    get = see([code], spec("text", named("code-stdio", domain="software")))

    for page in (address(code), "/group?campaign=try&run=one&step=0&position=0"):
        told = get(page).text
        assert '<span class="code-keyword">def</span>' in told
        assert '<span class="code-comment"># &lt;script&gt;</span>' in told
        assert "style=" not in told


# ---- Forecasts and back-tests


def test_a_forecast_is_drawn_beside_what_came(see: See) -> None:
    said = item("It rises: <answer>3 ± 1</answer>")
    settled = Verdict.accept(1.2, evidence={"series": "a", "value": 2.5, "split": 2.0})
    get = see(
        [said], spec("text", named("numeric-forecast")),
        after=lambda h: h.check(said, "numeric-forecast", settled),
    )  # fmt: skip
    (chart,) = get(address(said, "candidate.json")).json()["charts"]

    assert "forecast 3.0 ± 1.0; 5.00 came, 2.0 deviations off" == chart["text"]
    assert 'class="mark came"' in get(address(said)).text


def test_a_back_test_is_drawn_as_what_it_earned(see: See) -> None:
    strategy = item("def decide(bar):\n    return 'hold'")
    scores = {"excess": -0.1, "excess_low": -0.2, "excess_high": 0.1}
    curve = written([0.0, 0.5, 0.25])
    verdict = Verdict.reject("it earns less", scores=scores, artifacts={EQUITY: curve})
    get = see(
        [strategy], spec("text", named("back-test")),
        after=lambda h: h.check(strategy, "back-test", verdict),
    )  # fmt: skip
    told = get(address(strategy)).text

    assert "−0.1, 95 % from −0.2 to 0.1; 0 is no better than holding" in told
    assert "25.0 % of the capital over 3 prices" in told
    assert 'class="loss"' in told


# ---- Turns

TURNS = (
    Turn(ToolCall("search", {"query": HOSTILE}), "351 K", thought="By heart? No.", reward=0.1),
    Turn(ToolCall("delete", {"path": "/"}), "permission denied", failed=True),
    Turn(Terminate("351 K"), terminated=True),
)
JUDGED = Verdict.accept(
    0.5, turns=(TurnVerdict(0, 1.0, ""), TurnVerdict(1, 0.0, f"never delete {HOSTILE}"))
)


def test_a_trajectory_is_told_turn_by_turn(see: See) -> None:
    agent = item("351 K", verdicts={XTB: JUDGED})
    told = [Transcript(step=0, position=0, group="g", prompt="When does it boil?", turns=TURNS)]
    get = see([agent], spec(), told=told)
    facts = get(address(agent, "candidate.json")).json()["trajectory"]
    page = get(address(agent)).text

    assert (3, 2, 1, 1, 2) == tuple(
        facts[name] for name in ("turns", "calls", "failed", "rewarded", "judged")
    )
    assert [("calls", "search"), ("calls", "delete"), ("ends", "")] == [
        (step["does"], step["tool"]) for step in facts["steps"]
    ]
    assert "✗ failed or denied" in page
    assert "reward 0.10 · xtb 1.00" in page
    assert "never delete" in page
    assert 3 == page.count("<b>Turn ")
    for sign in ("<script>document", "<img", "\u202e", "\x1b"):
        assert sign not in page


def test_where_turns_were_judged_and_not_kept_the_page_says_how_they_are(see: See) -> None:
    agent, plain = item("351 K", verdicts={XTB: JUDGED}), item("There is nothing to do.")
    get = see([agent, plain], spec())

    assert "Its turns were not kept" in get(address(agent)).text
    assert "Turn by turn" not in get(address(plain)).text


def test_turns_are_found_in_the_work_queue_and_in_the_text_itself(see: See) -> None:
    react = item('Thought: add.\nAction: add\nAction Input: {"a": 2}\nObservation: 4\n')
    plain, queued = item("There is nothing to do but wait."), item("351 K")

    def asked(history: History) -> None:
        turns = [turn.as_json() for turn in TURNS]
        history.enqueue(queued, XTB, CheckState.WAITING, turns=turns)
        history.check(queued, XTB, JUDGED)

    get = see([react, plain, queued], spec(), after=asked)
    steps = get(address(react, "candidate.json")).json()["trajectory"]["steps"]
    found = get(address(queued, "candidate.json")).json()["trajectory"]

    assert [("add", "4", "add.")] == [(s["tool"], s["observation"], s["thought"]) for s in steps]
    assert ("the work queue, whose rows nobody signs", 3) == (found["source"], found["turns"])
    assert get(address(plain, "candidate.json")).json()["trajectory"] is None


def test_of_a_long_trajectory_the_first_turns_are_shown_and_all_are_counted(see: See) -> None:
    agent = item("done")
    turns = [Turn(ToolCall("look", {"at": n}), "x" * 9_000) for n in range(300)]
    told = [Transcript(step=0, position=0, group="g", prompt="Look.", turns=turns)]
    get = see([agent], spec(), told=told)
    facts = get(address(agent, "candidate.json")).json()["trajectory"]
    page = get(address(agent))

    assert 300 == facts["turns"] > len(facts["steps"]) > 5
    assert f"Shown are the first {len(facts['steps'])}." in page.text
    assert "characters more" in facts["steps"][0]["observation"]


# ---- Differences


def diff(one: Item, other: Item, page: str = "diff") -> str:
    return f"/{page}?campaign=try&a={one.content.hex()}&b={other.content.hex()}"


def test_two_candidates_are_compared_line_by_line(see: See) -> None:
    one, other = item("def f(n):\n    return n + 1"), item("def f(n):\n    return n + 2\n# done")
    get = see([one, other], spec())
    page, facts = get(diff(one, other)).text, get(diff(one, other, "diff.json")).json()

    assert {"same": 1, "changed": 1, "removed": 0, "added": 1} == facts["counts"]
    assert "    return n + <del>1</del>" in page
    assert "    return n + <ins>2</ins>" in page
    assert "the same, 2 lines" in get(diff(one, one)).text


def test_lists_and_groups_lead_to_a_comparison(see: See) -> None:
    one, other = item("ant"), item("bee")
    get = see([one, other], spec())

    for page in ("/candidates?campaign=try&order=newest",
                 "/group?campaign=try&run=one&step=0&position=0"):  # fmt: skip
        told = get(page).text
        chosen = {
            name: re.findall(rf'name="{name}" form="compare" value="(\w+)" checked', told)[0]
            for name in ("a", "b")
        }
        assert (
            '<form id="compare" class="compare" method="get" action="/diff" data-server>' in told
        )
        answer = get(f"/diff?campaign=try&a={chosen['a']}&b={chosen['b']}")
        assert "<h1>Two candidates</h1>" in answer.text


def test_texts_that_take_too_long_stand_side_by_side(see: See) -> None:
    one, other = item("ant"), item(HOSTILE)
    get = see([one, other], spec())
    viewer = get.viewer  # type: ignore[attr-defined]
    viewer.read = lambda *_: Verdict.abstain("it hung", failed_at="engine")
    told = get(diff(one, other)).text

    assert "these texts can&#39;t be compared in the time that a page has" in told
    assert "&lt;script&gt;" in told
    assert "<img" not in told
    viewer.read = lambda *_: None
    assert "data-again" in get(diff(one, other)).text


def test_only_some_programs_are_waited_for_at_one_time(see: See) -> None:
    one, other = item("ant"), item("bee")
    get = see([one, other], spec())
    viewer, waited = get.viewer, list[float]()  # type: ignore[attr-defined]

    class Busy(Drawings):
        def ask(self, *told: Any) -> None:
            waited.append(told[-1])
            if len(waited) <= PATIENT:
                get(diff(one, other).replace("/diff?", "/diff.json?"))

    del viewer.read
    viewer._readings = Busy()
    get(diff(one, other).replace("/diff?", "/diff.json?"))

    assert [30.0] * PATIENT + [PATIENCE] == waited


@pytest.mark.parametrize("key", ["", "xx", "00", "a" * 200, "00.", "00.zz"])
def test_a_comparison_with_nothing_is_refused(see: See, key: str) -> None:
    one = item("ant")
    get = see([one], spec())

    assert get(f"/diff?campaign=try&a={one.content.hex()}&b={key}").status_code in {404, 422}


def test_two_versions_of_a_verifier_are_compared(see: See) -> None:
    words = [item(word, verdicts={XTB: Verdict.accept(1.0)}) for word in ("ant", "bee")]

    def newer(history: History) -> None:
        ladder = spec()
        ladder["verifiers"][1]["version"] = f"2{HOSTILE}"
        History(history.ledger, "reverify", ladder)
        rows = [
            replace_version(history._row(w, XTB, said), f"2{HOSTILE}")
            for w, said in zip(words, (Verdict.accept(3.0), Verdict.reject("no")), strict=True)
        ]
        history.ledger.append(Block("check", "reverify", verdicts=rows))

    get = see(words, spec(), after=newer)
    listed = get("/versions.json").json()
    (link,) = re.findall(r'href="(/versions\?[^"]*verifier[^"]*)"', get("/versions").text)
    link = html.unescape(link)
    facts = get(link.replace("/versions?", "/versions.json?")).json()
    page = get(link).text

    assert ["1", f"2{HOSTILE}"] == listed["verifiers"][XTB]
    assert (2, 1) == (facts["report"]["compared"], facts["report"]["flips"])
    assert 2.0 == facts["report"]["mean_change"]
    assert "of 2 candidates another outcome, 50.0 %" in page
    assert "<script>document" not in page
    assert 404 == get("/versions?verifier=xtb&old=1&new=7").status_code


def replace_version(row: Any, version: str) -> Any:
    return row._replace(version=version, check_key=sha256(row.check_key).digest())
