"""Pages of a server on which people log in, read cases and hand results in."""

import asyncio
import csv
import io
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from fastapi import HTTPException
from fastapi.testclient import TestClient

import verifier_ladder as vl
from verifier_ladder.badrow import BadRow
from verifier_ladder.casework.resultfile import Written
from verifier_ladder.casework.results import Results
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.plates import approve
from verifier_ladder.reviews import READING, Reviews
from verifier_ladder.server import artifacts, revisions
from verifier_ladder.server.app import create_app
from verifier_ladder.server.pages import laboratory, reviewing, visitors
from verifier_ladder.server.pages.laboratory import LARGEST
from verifier_ladder.server.pages.rendering import ASSETS
from verifier_ladder.server.pages.viewer import Viewer
from verifier_ladder.server.tokens import TokenFile
from verifier_ladder.tiers.world.case import WorldVerifier
from verifier_ladder.tiers.world.expert import ExpertCase

HOST = "http://127.0.0.1:8420"
HOSTILE = (
    '"><script>document.title="owned"</script><img src=http://example.org/x.png onerror=alert(1)>'
    "' \u202e\x1b[31m {{ 7777 * 9999 }} </textarea>"
)


class Taste(ExpertCase):
    """Asks two people who taste."""

    name, version, isolation = "taste", "1", "inline"


class Scale(WorldVerifier):
    """Asks a laboratory for a weight."""

    name, version, kind, unit, low, high = "scale", "1", "text", "µg", 0.0, 100.0
    isolation = "inline"
    task_fields = ("batch", "expected")
    hidden = ("expected",)

    def question(self, candidate: vl.Candidate) -> str:
        task = candidate.task or {}
        return f"Weigh {candidate.content!r}; is it {task.get('expected')}?"


def opened(place: Path, asking: vl.Verifier) -> vl.Campaign:
    guess = vl.verifier(name="guess", kind="text", version="1", isolation="inline")(
        lambda candidate: float(len(candidate.content))
    )
    ladder = vl.Ladder(
        "asking", [guess, asking], policy="all_tiers", budget={"world": "unlimited"}
    )
    return vl.Campaign.open("asking", ladder=ladder, ledger=place, workers=1)


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vl.Campaign]:
    """A campaign whose cases one person answers, or a laboratory."""
    with opened(tmp_path_factory.mktemp("weighed") / "ledger.db", Scale()) as campaign:
        yield campaign


@pytest.fixture(scope="module")
def tasted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vl.Campaign]:
    """A campaign whose cases two people read."""
    twice = Taste(kind="text", readers=2, tolerance=1.0, unit="points")
    with opened(tmp_path_factory.mktemp("tasted") / "ledger.db", twice) as campaign:
        yield campaign


def asked(campaign: vl.Campaign, *texts: str) -> list[str]:
    """Keys of the only open cases, which are about these texts."""
    if campaign.cases():
        campaign.cancel()
        assert campaign.drain(300)
    task = {"batch": "b7", "expected": "secretive"}
    campaign.score([vl.Candidate("text", text, task) for text in texts], deadline=0)
    assert campaign.drain(300)
    found = {case.candidate.content: case.check_key.hex() for case in campaign.cases()}
    assert set(texts) == set(found)
    return [found[text] for text in texts]


class Visitor:
    """A browser of somebody's, which keeps cookies."""

    def __init__(self, app: Any) -> None:
        self.http = TestClient(
            app, base_url=HOST, raise_server_exceptions=False, follow_redirects=False
        )
        self.form_token = ""

    def get(self, address: str, **options: Any) -> Any:
        answer = self.http.get(address, **options)
        if found := re.search(r'name="form_token" value="(\w+)"', answer.text):
            self.form_token = found[1]
        return answer

    def post(self, address: str, files: Any = None, headers: Any = None, **fields: str) -> Any:
        data = {"form_token": self.form_token, **fields}
        return self.http.post(address, data=data, files=files, headers=headers)

    def log_in(self, secret: str, then: str = "", headers: Any = None) -> Any:
        self.get("/login")
        return self.post("/login", token=secret, next=then, headers=headers)

    def do(self, key: str, do: str, **fields: str) -> Any:
        """Do something with a case as its form does, with the claim that it shows."""
        page = self.get(f"/case?key={key}")
        claim = re.search(r'name="claim" value="(\d+)"', page.text)
        given = {"claim": claim[1]} if claim else {}
        return self.post(f"/case?key={key}", do=do, **{**given, **fields})


Serve = Callable[..., Any]


@pytest.fixture
def tokens(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "tokens")


@pytest.fixture
def serve(tokens: TokenFile, tmp_path: Path) -> Iterator[Serve]:
    """An application with pages for a campaign."""
    made: list[tuple[Any, Viewer]] = []

    def start(campaign: vl.Campaign, **options: Any) -> Any:
        viewer = Viewer(campaign.ledger.url, index=tmp_path / f"{len(made)}.index", draws=False)
        app = create_app(campaign, tokens=tokens, viewer=viewer, **options)
        made.append((app, viewer))
        return app

    yield start
    for app, viewer in made:
        asyncio.run(app.state.service.close())
        viewer.close()


@pytest.fixture
def come(serve: Serve, tokens: TokenFile) -> Callable[..., Visitor]:
    """`come(campaign, "ada", "bob")`: people who have logged in."""
    apps: dict[int, Any] = {}

    def start(campaign: vl.Campaign, name: str = "ada") -> Visitor:
        app = apps.get(id(campaign)) or serve(campaign)
        apps[id(campaign)] = app
        visitor = Visitor(app)
        assert 303 == visitor.log_in(tokens.add(name, ["read", "answer"])).status_code
        visitor.get("/login")
        return visitor

    return start


def facts(visitor: Visitor, key: str) -> dict[str, Any]:
    return dict(visitor.get(f"/case.json?key={key}").json())


# -- who is let in -----------------------------------------------------------------------------


def test_once_there_is_a_token_pages_ask_for_one(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    app = serve(weighed)
    visitor = Visitor(app)
    assert 200 == visitor.get("/ledger").status_code
    secret = tokens.add("ada", ["read"])

    structure = "/structure.txt?campaign=asking&key=00"
    for page in ("/ledger", "/campaign?campaign=asking", "/review", structure):
        sent = visitor.get(page)
        assert (303, True) == (sent.status_code, sent.headers["location"].startswith("/login?"))
    assert 401 == visitor.get("/ledger.json").status_code
    assert 401 == visitor.get("/newest.json").status_code
    wrong = visitor.log_in(f"{secret}x")
    assert (401, True) == (wrong.status_code, "not valid" in wrong.text)
    assert weighed.ledger.url.removeprefix("sqlite:///") not in wrong.text
    assert 303 == visitor.get("/ledger").status_code

    done = visitor.log_in(secret, "/campaign?campaign=asking")
    assert (303, "/campaign?campaign=asking") == (done.status_code, done.headers["location"])
    assert 200 == visitor.get("/ledger").status_code
    assert "ada" in visitor.get("/ledger").text


def test_nothing_but_the_login_page_and_its_style_is_open_to_strangers(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    tokens.add("ada", ["read"])
    app = serve(weighed)
    visitor, paths = Visitor(app), get_paths(app)
    shut = {path for path in paths if visitor.get(path).status_code in {303, 401}}

    assert {"/artifact", "/candidates.csv", "/newest.json", "/order.csv", "/review"} <= shut
    assert {"/", f"{ASSETS}/{{name}}", "/login", "/openapi.json"} == paths - shut


def test_programs_show_their_token_as_everywhere(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    headers = {"Authorization": f"Bearer {tokens.add('ada', ['read'])}"}

    assert 200 == Visitor(serve(weighed)).get("/ledger.json", headers=headers).status_code


def test_the_cookie_is_no_token_and_opens_pages_only(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    secret, app = tokens.add("ada", ["read"]), serve(weighed)
    visitor = Visitor(app)
    cookie = visitor.log_in(secret).headers["set-cookie"]
    encrypted = Visitor(app).log_in(secret, headers={"Origin": "https://127.0.0.1:8420"})

    for part in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert part in cookie
    assert "Secure" not in cookie
    assert "Secure" in encrypted.headers["set-cookie"]
    assert secret.split("_")[-1] not in cookie
    assert 200 == visitor.get("/ledger.json").status_code
    assert 401 == visitor.get("/v1/rewards").status_code


def test_a_session_ends_by_logging_out_and_with_its_token(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    visitor = Visitor(serve(weighed))
    secret = tokens.add("ada", ["read"])
    visitor.log_in(secret)
    visitor.get("/ledger")
    kept = dict(visitor.http.cookies)
    assert 303 == visitor.post("/logout").status_code
    visitor.http.cookies.update(kept)
    assert 401 == visitor.get("/ledger.json").status_code
    visitor.http.cookies.clear()

    visitor.log_in(secret)
    assert 200 == visitor.get("/ledger.json").status_code
    tokens.revoke("ada")
    assert 401 == visitor.get("/ledger.json").status_code


@pytest.mark.parametrize(
    ("given", "statuses"),
    [
        ((["read"], ()), (200, 403)), ((["answer"], ()), (403, 200)),
        ((["admin"], ()), (200, 200)),
        ((["score"], ()), (403, 403)), ((["read"], ("blue/",)), (403, 403)),
    ],
)  # fmt: skip
def test_who_has_logged_in_may_do_what_his_token_may(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile,
    given: tuple[list[str], tuple[str, ...]], statuses: tuple[int, int],
) -> None:  # fmt: skip
    visitor = Visitor(serve(weighed))
    visitor.log_in(tokens.add("ada", given[0], runs=given[1]))

    for page in ("/review", "/laboratory.json"):
        assert statuses == (visitor.get("/ledger").status_code, visitor.get(page).status_code)


def test_without_tokens_nobody_answers_unless_everybody_may(
    serve: Serve, weighed: vl.Campaign
) -> None:
    (key,) = asked(weighed, "nobody")
    closed, visitor = Visitor(serve(weighed)), Visitor(serve(weighed, anyone_may_answer=True))
    assert "vladder token add" in closed.get("/login").text
    assert 303 == closed.get("/review").status_code

    assert "Your name" in visitor.get("/review").text
    visitor.get("/review?by=ada")
    took = visitor.post("/review", by="ada").headers["location"]
    assert f"/case?key={key}&by=ada" == took
    page = visitor.get(took).text
    claim = re.search(r'name="claim" value="(\d+)"', page)
    assert claim is not None
    done = visitor.post(took, by="ada", do="answer", value="3", claim=claim[1])
    assert (303, took) == (done.status_code, done.headers["location"])
    assert "answered" == visitor.get(f"/case.json?key={key}&by=ada").json()["standing"]


@pytest.fixture
def opened_pages(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> tuple[Visitor, TokenFile]:
    """Somebody who has not logged in, and the tokens there are."""
    return Visitor(serve(weighed)), tokens


@pytest.mark.parametrize(
    ("scopes", "runs", "leads", "status"),
    [
        (["score"], [], "/review", 403), (["read"], ["blue/"], "/ledger", 403),
        (["answer"], [], "/review", 200), (["read"], [], "/ledger", 200),
    ],
)  # fmt: skip
def test_one_comes_to_what_ones_token_opens_and_hears_of_nothing_else(
    opened_pages: tuple[Visitor, TokenFile], scopes: list[str], runs: list[str], leads: str,
    status: int,
) -> None:  # fmt: skip
    visitor, tokens = opened_pages
    came = visitor.log_in(tokens.add("ada", scopes, runs=runs))
    page = visitor.get(leads)

    assert (303, leads) == (came.status_code, came.headers["location"])
    assert status == page.status_code
    assert ("ledger.db" in page.text) == (200 == status)


def test_a_page_names_its_twin_wherever_it_was_posted_to(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    ada = come(weighed)
    page = ada.post("/upload", files={"other": ("results.csv", b"")})

    assert 422 == page.status_code
    assert 'href="/laboratory.json"' in page.text


@pytest.mark.parametrize(
    "then", ["//evil.example", "https://evil.example", "/\\evil.example", "/login", "\n/x", "x"]
)
def test_the_login_page_leads_nowhere_else(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile, then: str
) -> None:
    answer = Visitor(serve(weighed)).log_in(tokens.add("ada", ["read"]), then)

    assert "/ledger" == answer.headers["location"]


def test_what_no_page_of_ours_has_sent_changes_nothing(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    (key,) = asked(weighed, "forged")
    ada, bob = come(weighed, "ada"), come(weighed, "bob")
    entries = weighed.ledger.newest()
    for form_token in ("", "0" * 64, bob.form_token):
        answer = ada.http.post(f"/case?key={key}", data={"form_token": form_token, "do": "claim"})
        assert (403, True) == (answer.status_code, "open its page again" in answer.text)
    foreign = ada.post(f"/case?key={key}", do="claim", headers={"Origin": "http://evil.example"})
    assert 403 == foreign.status_code
    assert 415 == ada.http.post(f"/case?key={key}", json={"do": "claim"}).status_code
    assert 413 == ada.post(f"/case?key={key}", do="claim", comment="x" * 2**18).status_code

    assert entries == weighed.ledger.newest()
    assert 303 == ada.post(f"/case?key={key}", do="claim").status_code


def test_pages_beside_the_calls_take_nothing_from_them(serve: Serve, weighed: vl.Campaign) -> None:
    visitor = Visitor(serve(weighed))

    assert {"status", "campaign", "waiting"} == set(visitor.get("/healthz").json())
    assert 404 == visitor.get("/v1/nowhere").json()["status"]
    assert "Go to the ledger" in visitor.get("/nowhere").text
    assert "script-src 'self'" in visitor.get("/ledger").headers["content-security-policy"]


# -- the review queue --------------------------------------------------------------------------


def test_one_claims_the_next_case_and_answers_it(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    (key,) = asked(weighed, "feather")
    ada = come(weighed)
    cursor = weighed.cursor
    assert "Weigh &#39;feather&#39;" in ada.get("/review").text
    to = ada.post("/review").headers["location"]
    page = ada.get(to).text
    told = facts(ada, key)

    assert f"/case?key={key}" == to
    assert "29 more minutes" in page or "30 more minutes" in page
    assert ("claimed", None, "µg", {"batch": "b7"}) == (
        told["standing"], told["other_tiers"], told["unit"], told["task"]
    )  # fmt: skip
    assert "secretive" not in page
    assert "What other tiers said</h2>" not in page

    wrong = ada.do(key, "answer", value="1,5", comment="second <pan>")
    assert 422 == wrong.status_code
    assert "is no answer; give a number" in wrong.text
    assert 'value="1,5"' in wrong.text
    assert "second &lt;pan&gt;</textarea>" in wrong.text
    far = ada.do(key, "answer", value="101")
    assert (422, True) == (far.status_code, "between 0 and 100" in far.text)

    assert 303 == ada.do(key, "answer", value="7.5", comment="second <pan>").status_code
    assert weighed.drain(300)
    told = facts(ada, key)
    assert ("answered", "accept 7.5", "second <pan>") == (
        told["standing"], told["answer"]["words"], told["answer"]["comment"]
    )  # fmt: skip
    assert {"guess": "accept 7"} == told["other_tiers"]
    assert [7.5] == [r.reward.value for r in weighed.revisions(after=cursor)]
    assert "/review" == ada.post("/review").headers["location"]
    assert "No case is open to ada" in ada.get("/review").text


def test_a_long_queue_is_listed_page_by_page(
    come: Callable[..., Visitor], weighed: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reviewing, "_LISTED", 2)
    keys, ada = asked(weighed, "list a", "list b", "list c"), come(weighed)
    first, page = ada.get("/review.json").json(), ada.get("/review").text
    (onward,) = re.findall(r'rel="next" href="(/review[^"]*)"', page)
    rest, last = ada.get(twin(unescape(onward))).json(), ada.get(unescape(onward)).text

    assert [2, 1] == [len(part["open"]) for part in (first, rest)]
    assert sorted(keys) == sorted(row["key"] for row in first["open"] + rest["open"])
    assert ("", True, False) == (rest["after"], 'rel="first"' in last, 'rel="next"' in last)
    assert 422 == ada.get("/review?after=nowhere").status_code
    assert "There are no more" in ada.get(f"/review?after={'0' * 64}").text


@pytest.mark.parametrize("do", ["failed", "decline"])
def test_there_is_a_button_for_what_is_no_number(
    come: Callable[..., Visitor], weighed: vl.Campaign, do: str
) -> None:
    (key,) = asked(weighed, f"button {do}")
    ada = come(weighed)
    ada.do(key, "claim")

    assert 303 == ada.do(key, do).status_code
    assert facts(ada, key)["answer"]["words"].startswith("abstain")


def test_two_read_a_case_and_neither_sees_the_other(
    come: Callable[..., Visitor], tasted: vl.Campaign
) -> None:
    (key,) = asked(tasted, "soup")
    ada, bob = come(tasted, "ada"), come(tasted, "bob")
    ada.do(key, "claim")
    ada.do(key, "answer", value="3", comment="salty")
    bob.do(key, "claim")
    page = bob.get(f"/case?key={key}").text

    assert "read" == facts(ada, key)["standing"]
    assert "You said <b>accept 3</b> points" in ada.get(f"/case?key={key}").text
    assert "salty" not in page
    assert "accept 3" not in page
    bob.do(key, "answer", value="4")
    told = facts(ada, key)
    assert ("answered", "accept 3.5 ± 0.5") == (told["standing"], told["answer"]["words"])
    assert [("ada", "salty"), ("bob", "")] == [
        (one["reader"], one["comment"]) for one in told["readings"]
    ]
    agreement = ada.get("/review.json").json()["agreement"]["taste"]
    assert (1, 1) == (agreement["cases"], agreement["agreed"])
    assert "Krippendorff" in ada.get("/review").text


def get_paths(app: Any) -> set[str]:
    """All paths that are read, of pages and of the server beside them."""
    routers = (visitors.router, reviewing.router, laboratory.router, revisions.router)
    more = [route for one in (*routers, artifacts.router) for route in one.routes]
    routes = [*app.routes[-1].app.routes, *more]
    return {route.path for route in routes if "GET" in getattr(route, "methods", ())}


def test_who_holds_a_case_is_told_nothing_of_candidates_until_he_has_answered(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    keys = asked(weighed, "blind a", "blind b", "blind c")
    app = serve(weighed)
    ada, bob = Visitor(app), Visitor(app)
    ada.log_in(tokens.add("ada", ["read", "answer"]))
    bob.log_in(tokens.add("bob", ["admin"]))
    shown = {"Authorization": f"Bearer {tokens.add('cy', ['read', 'answer'])}"}
    of_readers = {"/case", "/case.json", "/review", "/review.json", "/laboratory"}
    of_readers |= {"/laboratory.json", "/results", "/results.json", "/order.csv", "/order.json"}
    of_anybody = {"/", f"{ASSETS}/{{name}}", "/login", "/openapi.json"}

    assert 200 == ada.get("/ledger").status_code
    ada.do(keys[0], "claim")
    refused = {path for path in get_paths(app) if ada.get(path).status_code in {401, 403}}
    assert get_paths(app) - of_readers - of_anybody == refused
    told = ada.get("/candidates.csv?campaign=asking")
    assert (403, True) == (told.status_code, f"case {keys[0][:16]}" in told.json()["detail"])
    assert 'href="/review"' in ada.get("/candidate?campaign=asking&key=00").text
    assert 200 == bob.get("/ledger").status_code
    ada.do(keys[0], "answer", value="3")
    assert 200 == ada.get("/ledger").status_code

    for key, do in ((keys[1], "unblind"), (keys[2], "release")):
        ada.do(key, "claim")
        assert 403 == ada.get("/ledger.json").status_code
        ada.do(key, do)
        assert 200 == ada.get("/ledger.json").status_code
    with weighed_by(weighed, "cy", keys[2]):
        for path in ("/ledger.json", "/v1/rewards", f"/v1/artifacts/{'0' * 64}"):
            assert 403 == Visitor(app).get(path, headers=shown).status_code
    assert 200 == Visitor(app).get("/v1/rewards", headers=shown).status_code


def test_once_a_server_has_started_no_page_has_to_read_what_was_said_before(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, begun, entries = Visitor(serve(weighed)), list[int](), weighed.ledger.entries
    ada.log_in(tokens.add("ada", ["admin"]))
    with ada.http:  # It starts and ends.
        for thread in threading.enumerate():
            if thread.name == "vl-prepare":
                thread.join(300)

        def noted(*, after: int = 0, **how: Any) -> Any:
            begun.append(after)
            return entries(after=after, **how)

        monkeypatch.setattr(weighed.ledger, "entries", noted)
        assert 200 == ada.get("/ledger").status_code
        assert 200 == ada.get("/review").status_code
        monkeypatch.undo()

    assert begun
    assert 0 < min(begun)


def test_of_two_cases_about_one_candidate_neither_tells_the_answer_to_the_other(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    (first,) = asked(weighed, "a stone")
    weighed.score([vl.Candidate("text", "a stone", {"batch": "b8", "expected": "x"})], deadline=0)
    assert weighed.drain(300)
    (second,) = {case.check_key.hex() for case in weighed.cases()} - {first}
    ada, bob = come(weighed, "ada"), come(weighed, "bob")
    ada.do(first, "claim")
    ada.do(first, "answer", value="77")
    bob.do(second, "claim")
    told = facts(bob, first)

    assert ("closed", None, None) == (told["standing"], told["answer"], told["other_tiers"])
    assert "another case about this candidate" in bob.get(f"/case?key={first}").text
    assert "answered" == facts(ada, first)["standing"]
    bob.do(second, "answer", value="78")
    assert "77" in facts(bob, first)["answer"]["words"]


@contextmanager
def weighed_by(campaign: vl.Campaign, reader: str, key: str) -> Iterator[None]:
    """A case is claimed elsewhere, as by `vladder review`, and cancelled at the end."""
    reviews = Reviews(campaign.ledger, campaign.name, campaign.ladder)
    assert reviews.claim([c for c in campaign.cases() if c.check_key.hex() == key], reader)
    yield
    campaign.cancel()
    assert campaign.drain(300)


def test_that_a_reader_asks_what_other_tiers_said_is_kept(
    come: Callable[..., Visitor], tasted: vl.Campaign
) -> None:
    (key,) = asked(tasted, "broth")
    ada, bob = come(tasted, "ada"), come(tasted, "bob")
    ada.do(key, "claim")

    assert 303 == ada.do(key, "unblind").status_code
    assert {"guess": "accept 5"} == facts(ada, key)["other_tiers"]
    assert facts(bob, key)["other_tiers"] is None
    ledger = tasted.ledger
    acts = [
        (told["by"], act["act"])
        for entry in ledger.entries(kind=READING, campaign="asking")
        for told in [ledger.read(entry).facts] for act in told["acts"] if act["case"] == key
    ]  # fmt: skip
    assert [("ada", "claim"), ("ada", "unblind")] == acts


def test_a_case_is_skipped_given_back_and_claimed_anew(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    (key,) = asked(weighed, "passed on")
    ada, bob = come(weighed, "ada"), come(weighed, "bob")
    ada.do(key, "claim")
    assert ("closed", "others are reading it") == (
        facts(bob, key)["standing"], facts(bob, key)["why"]
    )  # fmt: skip
    first = facts(ada, key)["claim"]
    ada.do(key, "claim")
    assert facts(ada, key)["claim"] > first

    assert "/review" == ada.do(key, "release").headers["location"]
    assert [key] == [row["key"] for row in ada.get("/review.json").json()["open"]]
    ada.do(key, "claim")
    ada.do(key, "skip")
    assert [] == ada.get("/review.json").json()["open"]
    assert [key] == [row["key"] for row in bob.get("/review.json").json()["open"]]


def test_an_answer_under_a_lost_claim_is_refused_and_kept_on_the_page(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    (key,) = asked(weighed, "lost")
    ada = come(weighed)
    ada.do(key, "claim")
    lost = facts(ada, key)["claim"]
    ada.do(key, "claim")  # In another window.

    late = ada.do(key, "answer", value="5.25", claim=str(lost))

    assert 422 == late.status_code
    assert "has claimed it anew since" in late.text
    assert 'value="5.25"' in late.text
    assert 303 == ada.do(key, "answer", value="5.25").status_code


@pytest.mark.parametrize("do", ["claim", "unblind"])
def test_what_was_typed_stays_where_one_claims_anew_or_asks_for_other_tiers(
    come: Callable[..., Visitor], weighed: vl.Campaign, do: str
) -> None:
    (key,) = asked(weighed, f"half typed, {do}")
    ada = come(weighed)
    ada.do(key, "claim")

    page = ada.do(key, do, value="5.25", comment="it was <wet>").text

    assert 'value="5.25"' in page
    assert "it was &lt;wet&gt;</textarea>" in page


def test_a_case_that_nobody_waits_for_takes_no_answer(
    come: Callable[..., Visitor], tasted: vl.Campaign
) -> None:
    (key,) = asked(tasted, "thrown away")
    ada = come(tasted)
    ada.do(key, "claim")
    claim = str(facts(ada, key)["claim"])
    tasted.cancel()
    assert tasted.drain(300)

    late = ada.do(key, "answer", value="5", claim=claim)

    assert (422, True) == (late.status_code, "nobody waits for an answer any more" in late.text)
    assert ("over", None) == (facts(ada, key)["standing"], facts(ada, key)["said"])


def test_what_no_button_does_is_not_taken_for_an_answer(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    (key,) = asked(weighed, "unknown button")
    ada = come(weighed)
    ada.do(key, "claim")

    assert 422 == ada.do(key, "destroy", value="5").status_code
    assert "claimed" == facts(ada, key)["standing"]


def test_what_was_said_is_taken_back_and_what_stands_is_superseded(
    come: Callable[..., Visitor], tasted: vl.Campaign
) -> None:
    (key,) = asked(tasted, "stew")
    ada, bob = come(tasted, "ada"), come(tasted, "bob")
    ada.do(key, "claim")
    ada.do(key, "answer", value="9")
    assert 303 == ada.do(key, "withdraw").status_code
    assert "free" == facts(ada, key)["standing"]
    for reader in (ada, bob):
        reader.do(key, "claim")
        reader.do(key, "answer", value="9")

    read = ada.get("/review.json").json()["agreement"]
    assert 422 == ada.do(key, "withdraw").status_code, "it is answered by now"
    assert read == ada.get("/review.json").json()["agreement"]
    silent = ada.do(key, "supersede", value="2")
    assert (422, True) == (silent.status_code, "say why" in silent.text)
    assert 303 == ada.do(key, "supersede", value="2", why="it was <salt>").status_code
    assert "accept 2" == facts(bob, key)["answer"]["words"]
    *_, entry = tasted.ledger.entries(kind="review")
    told = tasted.ledger.read(entry).facts
    assert ("ada", "it was <salt>") == (told["source"], told["why"])


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/case", 422), ("/case?key=xx", 422), (f"/case?key={'0' * 64}", 404),
        ("/results?upload=nothing", 404), ("/order.csv?batch=nothing", 422),
    ],
)  # fmt: skip
def test_what_is_not_there_is_said(
    come: Callable[..., Visitor], weighed: vl.Campaign, address: str, status: int
) -> None:
    assert status == come(weighed).get(address).status_code


# -- the laboratory ----------------------------------------------------------------------------


def table(rows: list[dict[str, str]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def upload(visitor: Visitor, data: bytes, name: str = "results.csv", **fields: str) -> str:
    """Where an upload leads."""
    visitor.get("/laboratory")
    answer = visitor.post("/upload", files={"file": (name, data)}, **fields)
    assert 303 == answer.status_code, answer.text
    return str(answer.headers["location"])


def twin(address: str) -> str:
    return address.replace("?", ".json?", 1)


def test_a_work_order_leaves_and_its_results_are_looked_at_before_they_are_taken(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    keys = asked(weighed, "brick", "cloud", "=1+1")
    ada = come(weighed)
    ada.get("/laboratory")
    early = ada.post("/laboratory", verifier="scale")
    assert (422, True) == (early.status_code, "vladder case approve" in early.text)
    approve(weighed.ledger, "asking", 3, by="the head")
    left = ada.post("/laboratory", verifier="scale").headers["location"]
    page = ada.get(left).text
    (address, *_) = re.findall(r'href="(/order\.csv[^"]*)"', page)
    order = ada.get(unescape(address))
    rows = list(csv.DictReader(io.StringIO(order.text, newline="")))

    assert order.headers["content-disposition"].startswith("attachment; filename=")
    assert {"brick", "cloud", "'=1+1"} == {row["candidate"] for row in rows}
    assert "secretive" not in order.text
    assert 3 == len(ada.get(unescape(address).replace(".csv", ".json", 1)).json())

    values = {keys[0]: "7.5", keys[1]: HOSTILE, keys[2]: ""}
    filled = [{**row, "value": values[row["case"]]} for row in rows]
    seen = upload(ada, table(filled), name=HOSTILE + ".csv")
    told, page = ada.get(twin(seen)).json(), ada.get(seen).text
    (bad,) = told["bad_rows"]
    assert (1, 0, 1, None) == (told["good"], told["known"], told["blank"], told["taken"])
    assert "is no answer" in bad["reason"]
    assert f'data-label="line">{bad["line"]}' in page
    for sign in ("<script>", "<img", "\u202e", "\x1b", "77762223"):
        assert sign not in page
    ada.post(seen)
    assert {CheckState.WAITING} == states(weighed, keys)

    ada.get(seen)
    assert 303 == ada.post(seen, only_good="on").status_code
    told = ada.get(twin(seen)).json()
    assert (1, 1) == (told["taken"], len(told["bad_rows"]))
    assert 2 == len(weighed.cases())
    *_, entry = weighed.ledger.entries(kind="review")
    taken = weighed.ledger.read(entry).facts
    assert "ada" == taken["source"]
    assert "without 1 bad row" in taken["event"]
    filled = [{**row, "value": {keys[1]: "2"}.get(row["case"], row["value"])} for row in filled]
    again = ada.get(twin(upload(ada, table(filled)))).json()
    assert (1, 1, []) == (again["good"], again["known"], again["bad_rows"])


def states(campaign: vl.Campaign, keys: list[str]) -> set[CheckState]:
    return {check.state for check in campaign.ledger.checks(keys=[*map(bytes.fromhex, keys)])}


def test_an_upload_is_its_senders_alone(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    ada, bob = come(weighed, "ada"), come(weighed, "bob")
    seen = upload(ada, b"case,value\n")

    assert 200 == ada.get(seen).status_code
    assert 404 == bob.get(seen).status_code


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("results.csv", b"\x1f\x8b" + bytes(100), "is compressed; unpack it"),
        ("results.parquet", b"PAR1", "its name must end in"),
        ("results", b"case,value\n", "its name must end in"),
        ("results.xlsx", b"PK\x03\x04nothing", "can&#39;t read results.xlsx"),
        ("results.csv", b"key;value\na;b\n", "results.csv has no column &#39;case&#39;"),
        ("results.json", b"[" * 10**5, "results.json is not JSON"),
        ("results.csv", b'case,value\n"', "can&#39;t read results.csv as a table"),
    ],
)  # fmt: skip
def test_a_file_that_can_not_be_read_says_so_and_takes_nothing(
    come: Callable[..., Visitor], weighed: vl.Campaign, name: str, data: bytes, why: str
) -> None:
    ada = come(weighed)
    before = weighed.ledger.newest()
    seen = upload(ada, data, name)
    page = ada.get(seen).text

    assert why in page
    assert "verifier-ladder-upload" not in page
    ada.post(seen, only_good="on")
    assert before == weighed.ledger.newest()


def test_uploads_are_kept_as_long_as_there_is_room_for_what_was_read_in_them() -> None:
    uploads = laboratory.Uploads()
    bad = [BadRow(line, "is no row") for line in range(100_000)]
    of = laboratory.Upload("a.csv", b"x", Written(), "ada", found=Results(bad_rows=bad))
    first, second = uploads.keep(of), uploads.keep(of)

    assert of is uploads.of(second, "")
    with pytest.raises(HTTPException):
        uploads.of(first, "")


def test_a_form_that_is_sent_twice_takes_a_file_once_and_says_so(
    come: Callable[..., Visitor], weighed: vl.Campaign
) -> None:
    keys = asked(weighed, "twice a", "twice b")
    ada = come(weighed)
    rows = [{"case": key, "value": "5", "unit": "µg"} for key in keys]
    seen = upload(ada, table(rows))
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda _: ada.post(seen), range(2)))

    assert 2 == ada.get(seen.replace("results?", "results.json?")).json()["taken"]


def test_a_file_may_have_so_many_bytes(come: Callable[..., Visitor], weighed: vl.Campaign) -> None:
    ada = come(weighed)
    ada.get("/laboratory")
    answer = ada.post("/upload", files={"file": ("results.csv", bytes(LARGEST + 2**17))})

    assert 413 == answer.status_code


def test_text_that_a_model_wrote_is_text_on_every_page(
    serve: Serve, weighed: vl.Campaign, tokens: TokenFile
) -> None:
    (key,) = asked(weighed, HOSTILE)
    visitor = Visitor(serve(weighed))
    name = '"><script>owned</script>'
    visitor.log_in(tokens.add(name, ["admin"]))
    pages = [visitor.get("/review"), visitor.post("/nowhere")]
    visitor.do(key, "claim")
    pages += [
        visitor.get(f"/case?key={key}"),
        visitor.do(key, "answer", value=HOSTILE, comment=HOSTILE),
        visitor.get(f"/review?by={HOSTILE[:50]}"),
    ]
    visitor.do(key, "unblind")
    visitor.do(key, "answer", value="3", comment=HOSTILE)
    pages += [
        visitor.get(f"/case?key={key}"),
        visitor.do(key, "supersede", value="x", why=HOSTILE),
    ]

    for page in pages:
        for sign in ("<script>", "<img", "\u202e", "\x1b", "77762223", "}} </textarea>"):
            assert sign not in page.text, (page.url, sign)
