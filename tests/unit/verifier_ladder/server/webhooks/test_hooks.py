"""Results come in once, signed; revisions go out until they are taken."""

import asyncio
import json
from pathlib import Path
from time import time
from typing import Any

import httpx
import pytest

import verifier_ladder as vl
from verifier_ladder.private import write_private
from verifier_ladder.server import revisions
from verifier_ladder.server.webhooks import outgoing
from verifier_ladder.server.webhooks.outgoing import Cursors, Sender
from verifier_ladder.server.webhooks.settings import Receiver, Source, WebhookSettings
from verifier_ladder.server.webhooks.signing import check, key_of, new_secret, signed

SECRET = new_secret()
HOOKS = WebhookSettings(sources={"lab": Source(secrets=[SECRET])})


@pytest.fixture
def hooked(wait: Any) -> Any:
    return wait("a", "bb", webhooks=HOOKS)


def send(
    asker: Any, body: bytes, *, secret: str = SECRET, source: str = "lab", **more: Any
) -> Any:
    headers = signed(
        key_of(secret), more.get("event", f"e{asker.start}"), int(more.get("now", time())), body
    )
    return asker("POST", f"/v1/webhooks/{source}", content=body, headers=headers)


def test_a_signed_result_is_taken_once(hooked: Any, world: vl.Campaign) -> None:
    case = world.cases()[0].check_key.hex()
    body = json.dumps({"case": case, "value": 4.5}).encode()
    taken = [send(hooked, body).json()["taken"] for _ in range(2)]
    assert world.drain(300)

    assert [True, False] == taken
    assert [4.5] == [revision.reward.value for revision in world.revisions(after=hooked.start)]
    assert 1 == len(world.cases())


def test_what_is_not_signed_lately_by_the_source_changes_nothing(
    hooked: Any, world: vl.Campaign
) -> None:
    case = world.cases()[0].check_key.hex()
    body = json.dumps({"case": case, "value": 4.5}).encode()
    refused = [
        send(hooked, body, secret=new_secret()), send(hooked, body, now=time() - 400),
        send(hooked, body, source="other"), hooked("POST", "/v1/webhooks/lab", content=body),
    ]  # fmt: skip

    assert [401, 401, 404, 401] == [answer.status_code for answer in refused]
    assert 2 == len(world.cases())


def test_a_signed_result_that_makes_no_sense_is_refused(hooked: Any, world: vl.Campaign) -> None:
    case = world.cases()[0].check_key.hex()
    bodies = [b"{", b"{}", json.dumps({"case": case, "value": "x"}).encode()]

    assert [422] * 3 == [send(hooked, body).status_code for body in bodies]
    assert 2 == len(world.cases())


class Inbox:
    """A receiver that answers what it is told to, then 200."""

    def __init__(self, *answers: int | Exception) -> None:
        self.answers, self.taken = list(answers), []  # type: ignore[var-annotated]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        check([key_of(SECRET)], dict(request.headers), request.content, time())
        assert "hooks.example" == request.headers["host"]
        assert "hooks.example" == request.extensions["sni_hostname"]
        self.taken.append((request.headers["webhook-id"], json.loads(request.content)))
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer)


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses that take no time, and a name that is always found."""
    monkeypatch.setattr(outgoing, "_FIRST_PAUSE", 0.0)

    async def found(*_: Any, **__: Any) -> Any:
        return [(2, 1, 6, "", ("93.184.215.14", 443))]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", found)


def told(asker: Any, inbox: Inbox, cursors: Cursors, answers: list[tuple[bytes, float]]) -> None:
    """Tell a receiver of what some answers revise, until it has taken all."""
    receiver = Receiver(name="board", url="https://hooks.example/in", secret=SECRET)
    transport, client = httpx.MockTransport(inbox), httpx.AsyncClient

    def mocked(**options: Any) -> httpx.AsyncClient:
        return client(transport=transport, **options)

    async def run() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(httpx, "AsyncClient", mocked)
            sender = Sender(receiver, asker.service, cursors)
            task = asyncio.create_task(sender.run())
            while cursors.get(sender._name, "board") is None:  # noqa: ASYNC110 - looks until it is so
                await asyncio.sleep(0)
            begun = cursors.get(sender._name, "board")
            for case, value in answers:
                await asyncio.to_thread(asker.service.campaign.answer, case, value, source="x")
            while cursors.get(sender._name, "board") == begun and not task.done():  # noqa: ASYNC110 - looks until it is so
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asker.runner.run(run())


@pytest.mark.usefixtures("quickly")
def test_a_revision_is_told_until_it_is_taken_with_one_id(
    hooked: Any, world: vl.Campaign, tmp_path: Path
) -> None:
    inbox = Inbox(500, httpx.ConnectError("down"), 302, 200)
    case = world.cases()[0].check_key
    told(hooked, inbox, Cursors(tmp_path / "told"), [(case, 3.0)])
    ids, bodies = zip(*inbox.taken, strict=True)

    assert 4 == len(ids)
    assert 1 == len(set(ids))
    assert [3.0] == [revision["reward"]["value"] for revision in bodies[-1]["data"]]
    assert [{**revision, "reward": None} for revision in bodies[0]["data"]] == [
        {**revision._asdict(), "reward": None} for revision in world.revisions(after=hooked.start)
    ]


@pytest.mark.usefixtures("quickly")
def test_after_a_restart_it_goes_on_where_it_was(
    hooked: Any, world: vl.Campaign, tmp_path: Path
) -> None:
    first, second = Inbox(), Inbox()
    cases = [case.check_key for case in world.cases()]
    told(hooked, first, Cursors(tmp_path / "told"), [(cases[0], 3.0)])
    assert world.answer(cases[1], 4.0, source="x")
    assert world.drain(300)
    told(hooked, second, Cursors(tmp_path / "told"), [])
    values = [
        [revision["reward"]["value"] for _, body in inbox.taken for revision in body["data"]]
        for inbox in (first, second)
    ]

    assert [[3.0], [4.0]] == values


@pytest.mark.usefixtures("quickly")
def test_what_lies_behind_many_entries_without_revisions_is_told(
    hooked: Any, world: vl.Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(revisions, "_PASSED", 1)
    inbox = Inbox()
    told(hooked, inbox, Cursors(None), [(world.cases()[0].check_key, 3.0)])

    assert [3.0] == [r["reward"]["value"] for _, body in inbox.taken for r in body["data"]]


@pytest.mark.usefixtures("quickly")
def test_a_file_that_can_not_be_written_ends_no_telling(
    hooked: Any, world: vl.Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox, write, failures = Inbox(), write_private, [OSError(28, "No space left")]

    def fail(*given: Any) -> None:
        if failures:
            raise failures.pop()
        write(*given)

    monkeypatch.setattr(outgoing, "write_private", fail)
    told(hooked, inbox, Cursors(tmp_path / "told"), [(world.cases()[0].check_key, 3.0)])

    assert [3.0] == [r["reward"]["value"] for _, body in inbox.taken for r in body["data"]]


def revised(opened: vl.Campaign, asker: Any) -> bytes:
    """Have a sample wait for the world, and give its case."""
    asker.start = opened.cursor
    asker.score(["a rose"], run="train", step=opened.take_step(), deadline=0)
    assert opened.drain(300)
    return opened.cases()[0].check_key


@pytest.mark.usefixtures("quickly")
def test_campaigns_that_share_a_file_lose_no_revisions(
    hooked: Any, world: vl.Campaign, serve: Any, tmp_path: Path
) -> None:
    with vl.Campaign.open("other", ladder=world.ladder) as other:
        asker, first, second, third = serve(other, deadline=0), Inbox(), Inbox(), Inbox()
        told(asker, first, Cursors(tmp_path / "told"), [(revised(other, asker), 5.0)])
        # What comes while no server of the other one runs must be told when one does.
        case = revised_again(other, asker)
        assert other.answer(case, 6.0, source="x")
        assert other.drain(300)
        told(hooked, second, Cursors(tmp_path / "told"), [(world.cases()[0].check_key, 3.0)])
        told(asker, third, Cursors(tmp_path / "told"), [])

    values = [
        [revision["reward"]["value"] for _, body in inbox.taken for revision in body["data"]]
        for inbox in (first, second, third)
    ]
    assert [[5.0], [3.0], [6.0]] == values


def revised_again(opened: vl.Campaign, asker: Any) -> bytes:
    """The case of another sample."""
    asker.score(["a violet"], run="train", step=opened.take_step(), deadline=0)
    assert opened.drain(300)
    return opened.cases()[0].check_key


def test_cursors_of_an_older_version_are_read_and_files_are_private(tmp_path: Path) -> None:
    (tmp_path / "told").write_text('{"board": 7}')
    cursors, other = Cursors(tmp_path / "told"), Cursors(tmp_path / "told")
    cursors.put("a", "board", 9)
    other.put("b", "board", 8)
    again = Cursors(tmp_path / "told")

    assert [9, 8, 7] == [again.get(campaign, "board") for campaign in "abc"]
    assert 0o600 == (tmp_path / "told.a").stat().st_mode & 0o777
    (tmp_path / "told.a").write_text("[")
    with pytest.raises(vl.ConfigError, match=r"told\.a"):
        Cursors(tmp_path / "told").get("a", "board")


@pytest.mark.usefixtures("quickly")
def test_a_receiver_that_is_gone_is_told_nothing_more(hooked: Any, world: vl.Campaign) -> None:
    inbox = Inbox(410)
    told(hooked, inbox, Cursors(None), [(world.cases()[0].check_key, 3.0)])

    assert 1 == len(inbox.taken)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "169.254.169.254", "10.1.2.3", "[::1]", "[::ffff:10.1.2.3]", "[::10.1.2.3]",
        "[64:ff9b::10.1.2.3]", "[64:ff9b::169.254.169.254]", "[64:ff9b:1::10.1.2.3]",
        "[64:ff9b:1:a01:2:300::]", "[2002:a01:203::1]", "[2002:7f00:1::]", "[fd00::1]",
        "[2001:0:a01:203::1]", "[::ffff:0:10.1.2.3]", "[fe80::5efe:10.1.2.3]", "100.64.0.1",
        "224.0.0.1", "[ff0e::1]", "[::]", "[fec0::1]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_private", [True, False])
def test_private_networks_are_asked_only_if_so_allowed(
    serve: Any, host: str, *, is_private: bool
) -> None:
    asker = serve()
    receiver = Receiver(name="b", url=f"http://{host}:9/x", secret=SECRET, private=is_private)
    sender = Sender(receiver, asker.service, Cursors(None))
    vetted = sender._vetted(httpx.URL(receiver.url))

    if is_private:
        url, _ = asker.runner.run(vetted)
        assert url.port == 9
    else:
        with pytest.raises(OSError, match="private = true"):
            asker.runner.run(vetted)


@pytest.mark.parametrize("host", ["93.184.215.14", "[2606:2800::1]", "[64:ff9b::93.184.215.14]"])
def test_public_addresses_are_asked(serve: Any, host: str) -> None:
    asker = serve()
    receiver = Receiver(name="b", url=f"http://{host}:9/x", secret=SECRET)
    sender = Sender(receiver, asker.service, Cursors(None))
    url, _ = asker.runner.run(sender._vetted(httpx.URL(receiver.url)))

    assert url.port == 9


def test_settings_are_read_from_toml_and_secrets_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "webhooks.toml"
    file.write_text(
        '[sources.lab]\nsecrets = ["$LAB_SECRET"]\n'
        f'[[receivers]]\nname = "board"\nurl = "https://x.example"\nsecret = "{SECRET}"\n'
    )
    with pytest.raises(vl.ConfigError, match="LAB_SECRET"):
        WebhookSettings.from_toml(file)
    monkeypatch.setenv("LAB_SECRET", SECRET)
    settings = WebhookSettings.from_toml(file)

    assert [key_of(SECRET)] == settings.sources["lab"].keys()
    assert ["board"] == [receiver.name for receiver in settings.receivers]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "webhooks"), ("[source.lab]", "source"), ("[sources.lab]\nsecrets = []", "secrets"),
        ('[sources.lab]\nsecrets = ["short"]', "whsec_"),
        ('[[receivers]]\nname = "a"\nurl = "ftp://x"\nsecret = "s"', "url"),
    ],
)  # fmt: skip
def test_settings_that_make_no_sense_are_named(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "hooks.toml").write_text(text)

    with pytest.raises(vl.ConfigError, match=why):
        WebhookSettings.from_toml(tmp_path / "hooks.toml")
