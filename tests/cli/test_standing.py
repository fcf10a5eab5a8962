"""Whoever reads a record is told who stands behind it, and above all when it is withdrawn; the data stay the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import kstore as api
from kstore.attest.statement import Retraction, Sha256, Supersession
from kstore.cli.list_ import FEW
from kstore.digest import Digest
from tests.registries import ENVIRONMENT, PROTOCOL, RUN, environments, kstore, object_path, process, save

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.scenarios.people import Person, Settle

OTHER_RUN = "sha256:14b531af1843294a00a470db8083b9b849f2e5218df31b29a6da1bb89b8ce8e3"
READS = (
    ["show", RUN],
    ["show", "--yaml", RUN],
    ["show", "--canonical", RUN],
    ["resolve", RUN],
    ["list", "--json"],
    ["list", "--jsonl"],
)
EMPTY: dict[str, Any] = {
    "status": "reported",
    "signedBy": [],
    "staleMetadata": [],
    "reproducedBy": [],
    "notReproducedBy": [],
    "retractions": [],
    "supersessions": [],
    "objections": [],
    "untrusted": None,
    "uncounted": 0,
}


@pytest.fixture
def people(settle: Settle) -> tuple[Person, ...]:
    return settle("alice", "bob", "carol", "dora")


def share(*people: Person) -> Person:
    """Let the first one's clone have what the others have done in it, and give that one."""
    first, *others = people
    for other in others:
        other.clone = first.clone
    return first


def said(person: Person, *args: str) -> list[str]:
    return person.run(*args).ok().err.splitlines()


def test_a_registry_without_statements_is_shown_as_before(registry: Path, people: tuple[Person, ...]) -> None:
    """Even where there is a policy."""
    alice, *_ = people
    for command in (*READS, ["list"], ["log", RUN]):
        ran = kstore("--registry", registry, *command).ok()
        assert ran.err == ""
        if command[0] != "log":
            assert alice.run(*command).ok() == ran


def test_statements_change_no_data(people: tuple[Person, ...]) -> None:
    alice, bob, *_ = people
    share(alice, bob)
    before = [alice.run(*command).ok().out for command in READS]
    alice.do("sign", RUN, PROTOCOL)
    bob.do("attest", RUN, "--result", "not-reproduced")
    alice.do("retract", PROTOCOL, "--reason", "the timer was wrong")
    assert [alice.run(*command).ok().out for command in READS] == before
    head = alice.git("rev-parse", "HEAD")
    resolved = alice.run("resolve", RUN).ok().out
    assert kstore("add", "-", "--json", cwd=alice.clone, stdin=resolved).ok().json()["commit"] is None
    assert alice.git("rev-parse", "HEAD") == head


def test_the_standing_of_one_record(people: tuple[Person, ...]) -> None:
    alice, bob, carol, dora = people
    share(*people)
    assert said(alice, "show", RUN) == []
    alice.do("sign", RUN)
    signed = f"note: {RUN}: signed by alice"
    assert said(alice, "show", RUN) == [signed]
    bob.do("attest", RUN, "--result", "reproduced")
    carol.do("attest", RUN, "--result", "reproduced")
    assert said(alice, "show", RUN) == [signed, f"note: {RUN}: reproduced by bob, carol"]
    assert api_status(alice) == "replicated"
    dora.do("attest", RUN, "--result", "not-reproduced")
    assert said(alice, "show", "--quiet", RUN) == [f"warning: {RUN}: not reproduced by dora"]
    alice.do("supersede", RUN, OTHER_RUN, "--reason", "measured again")
    assert said(alice, "show", "--quiet", RUN)[0] == (
        f"warning: {RUN}: superseded by {OTHER_RUN}, says alice: measured again"
    )
    alice.do("retract", RUN, "--reason", "the clock was wrong")
    assert said(alice, "show", "--quiet", RUN)[0] == f"warning: {RUN}: retracted by alice: the clock was wrong"
    assert api_status(alice) == "retracted"
    for command in READS:
        assert any("retracted by alice" in line for line in said(alice, *command)), command


def api_status(person: Person, record: str = RUN) -> str:
    with api.Registry.open(person.clone) as registry:
        return api.standing(registry, record).status


def test_an_objection_is_no_retraction(people: tuple[Person, ...]) -> None:
    alice, bob, *_ = people
    share(*people)
    alice.do("sign", RUN)
    bob.do("retract", RUN, "--reason", "I do not like it")
    bob.do("supersede", RUN, OTHER_RUN, "--reason", "mine is better")
    wish = f"warning: {RUN}: bob, who neither signed it nor is a maintainer, wants it"
    assert sorted(said(alice, "show", "--quiet", RUN)) == [
        f"{wish} retracted: I do not like it",
        f"{wish} superseded by {OTHER_RUN}: mine is better",
    ]
    assert api_status(alice) == "disputed"


def test_resolving_tells_of_everything_that_a_run_refers_to(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("sign", ENVIRONMENT)
    alice.do("retract", PROTOCOL, "--reason", "the timer was wrong")
    assert said(alice, "resolve", RUN) == [
        f"warning: protocol {PROTOCOL}: retracted by alice: the timer was wrong",
        f"note: environment {ENVIRONMENT}: signed by alice",
    ]
    assert said(alice, "resolve", "--quiet", RUN) == [
        f"warning: protocol {PROTOCOL}: retracted by alice: the timer was wrong"
    ]


def test_metadata_that_changed_after_the_signature(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("sign", ENVIRONMENT)
    document = json.loads(alice.run("show", ENVIRONMENT).ok().out)
    document["metadata"]["title"] = "The best machine of all"
    alice.run("add", save(alice.world.top, document)).ok()
    assert said(alice, "show", ENVIRONMENT) == [
        f"note: {ENVIRONMENT}: signed by alice",
        f"note: {ENVIRONMENT}: its metadata changed since alice signed it",
    ]
    alice.do("sign", ENVIRONMENT)
    assert said(alice, "show", ENVIRONMENT) == [f"note: {ENVIRONMENT}: signed by alice"]


def test_a_list_has_a_column(people: tuple[Person, ...]) -> None:
    alice, bob, *_ = people
    share(*people)
    without = alice.run("list").ok().text.splitlines()
    alice.do("sign", RUN)
    alice.do("retract", PROTOCOL, "--reason", "the timer was wrong")
    rows = alice.run("list").ok()
    assert rows.err == ""
    status = {line.split()[0]: line.split()[2] for line in rows.text.splitlines()}
    assert status.pop(RUN) == "signed"
    assert status.pop(PROTOCOL) == "retracted"
    assert set(status.values()) == {"reported"}
    assert [f"{line[:95]}{line[106:]}" for line in rows.text.splitlines()] == without
    assert said(alice, "list", "--json", "--kind", "BenchmarkRun") == ["note: 1 signed"]
    assert said(alice, "list", "--json") == [
        f"warning: {PROTOCOL}: retracted by alice: the timer was wrong",
        "note: 1 retracted, 1 signed",
    ]
    assert len(said(alice, "list", "--jsonl", "--quiet")) == 1
    del bob


def test_a_list_does_not_flood_the_terminal(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.run("add", "-q", save(alice.world.top, environments(FEW + 5))).ok()
    for row in json.loads(alice.run("list", "--json", "--kind", "ExecutionEnvironment").ok().out):
        alice.put(alice.statement(Retraction("no"), Digest(row["digest"]), row["name"]), Digest(row["digest"]))
    alice.commit()
    warnings = said(alice, "list", "--json", "--quiet")
    assert len(warnings) == FEW + 1
    assert warnings[-1].startswith("warning: and 6 more such warnings: `kstore list`")


def test_the_shape_of_the_json(people: tuple[Person, ...]) -> None:
    alice, bob, *_ = people
    share(*people)
    alice.do("sign", RUN)
    alice.do("retract", RUN, "--reason", "the clock was wrong")
    bob.do("supersede", RUN, OTHER_RUN, "--reason", "mine is better")
    names = {path.rpartition("/")[2].removesuffix(".json") for path in alice.statements()}

    shown = alice.run("show", "--with-attestations", RUN).ok().json()
    assert shown["document"] == alice.run("show", RUN).ok().json()
    found = shown["attestations"]
    (retraction,), (objection,) = found["retractions"], found["objections"]
    assert {each.pop("statement").removeprefix("sha256:") for each in (retraction, objection)} < names
    assert found == {
        **EMPTY,
        "status": "retracted",
        "signedBy": ["alice"],
        "retractions": [{"by": ["alice"], "reason": "the clock was wrong", "replacement": None}],
        "objections": [{"by": ["bob"], "reason": "mine is better", "replacement": OTHER_RUN}],
    }

    with_them = alice.run("resolve", "--with-attestations", RUN).ok()
    resolved = with_them.json()
    attestations = resolved.pop("attestations")
    assert resolved == alice.run("resolve", RUN).ok().json()
    assert len(attestations) == len(resolved)
    assert attestations[RUN]["status"] == "retracted"
    assert attestations[PROTOCOL] == EMPTY
    again = kstore("add", "-", "--json", cwd=alice.clone, stdin=with_them.out).ok()
    assert again.json()["commit"] is None

    for form in ("--json", "--jsonl"):
        listed = alice.run("list", form, "--with-attestations").ok()
        rows = listed.json() if form == "--json" else list(map(json.loads, listed.text.splitlines()))
        status = {row["digest"]: row.pop("attestations")["status"] for row in rows}
        assert status.pop(RUN) == "retracted"
        assert set(status.values()) == {"reported"}
        assert rows == json.loads(alice.run("list", "--json").ok().out)


@pytest.mark.parametrize(
    "command",
    [["show", "--yaml", RUN], ["show", "--canonical", RUN], ["list"]],
)
def test_attestations_are_added_to_json_alone(command: Sequence[str], registry: Path) -> None:
    ran = kstore("--registry", registry, *command, "--with-attestations")
    assert (ran.code, ran.out) == (2, b"")
    assert "--with-attestations adds to JSON" in ran.err


def test_nothing_that_somebody_signs_takes_the_terminal_over(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    reason = "x\x1b[31m\u202e\nerror: this registry is damaged"
    alice.put(alice.statement(Retraction(reason)))
    alice.put(alice.statement(Supersession(Sha256.of(Digest(PROTOCOL)), reason)))
    alice.commit()
    for command in (*READS, ["list"], ["log", RUN], ["log", RUN, "--jsonl"], ["show", RUN, "--with-attestations"]):
        ran = alice.run(*command).ok()
        assert b"\x1b" not in ran.out
        assert "\x1b" not in ran.err
        assert "\u202e" not in ran.text + ran.err
        assert all(line.startswith(("warning: ", "note: ")) for line in ran.err.splitlines()), ran.err


def test_what_does_not_count_is_counted(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    mallory = alice.world.person("mallory")
    alice.put(mallory.statement(Retraction("give it to me")))
    line = "1 statement does not count: `kstore verify` says why"
    assert said(alice, "show", RUN) == [f"note: {RUN}: {line}"]
    assert said(alice, "list") == [f"note: {line}"]
    assert api_status(alice) == "reported"
    alice.put(b"{}")
    assert said(alice, "show", RUN) == [f"note: {RUN}: 2 statements do not count: `kstore verify` says why"]
    alice.commit()
    (event,) = [line for line in alice.run("log", RUN).ok().text.splitlines() if mallory.public.id in line]
    assert ": retracted by nobody who counts (" in event
    assert ": something that is no statement, by nobody who counts (" in alice.run("log", RUN).ok().text


def test_a_list_of_what_is_not_trusted(people: tuple[Person, ...]) -> None:
    alice, bob, *_ = people
    alice.do("sign", RUN)
    alice.do("retract", PROTOCOL, "--reason", "the timer was wrong")
    alice.push().ok()
    stranger = alice.world.person("stranger")
    ran = stranger.run("list").ok()
    status = {line.split()[0]: line.split()[2] for line in ran.text.splitlines()}
    assert status.pop(RUN) == status.pop(PROTOCOL) == "untrusted"
    assert set(status.values()) == {"reported"}
    note = "note: 2 records have statements that are not trusted here: pin a policy with `kstore trust pin`"
    assert ran.err.splitlines() == [note]
    warning, last = said(stranger, "list", "--json")
    assert warning.startswith(f"warning: {PROTOCOL}: retracted by key {alice.public.id} (not trusted here")
    assert last == note
    found = stranger.run("show", "--with-attestations", PROTOCOL).ok().json()["attestations"]
    assert found["untrusted"]["status"] == "retracted"
    assert found["untrusted"]["retractions"][0]["by"] == [alice.public.id]
    assert {**found, "untrusted": None} == EMPTY
    text = stranger.run("log", RUN).ok().text
    assert f"signed by key {alice.public.id} (not trusted here" in text
    assert "signed by alice" not in text
    del bob


def test_the_life_of_a_record_has_what_was_said_of_it(people: tuple[Person, ...]) -> None:
    alice, bob, *_ = people
    share(*people)
    alice.do("sign", RUN)
    alice.world.sleep(1)
    bob.do("attest", RUN, "--result", "reproduced", "--note", "to the digit")
    alice.world.sleep(1)
    bob.do("retract", PROTOCOL, "--reason", "about another record")
    alice.do("supersede", RUN, OTHER_RUN, "--reason", "measured again")
    alice.do("retract", RUN, "--reason", "the clock was wrong")
    commits = alice.git("log", "--reverse", "--format=%H", "--", "store/attestations").split()
    added, signed, reproduced, superseded, retracted = alice.run("log", "--json", RUN).ok().json()["events"]
    assert "statement" not in added
    assert [each["commit"] for each in (signed, reproduced, superseded, retracted)] == [*commits[:2], *commits[3:]]
    assert {each["event"] for each in (signed, reproduced, superseded, retracted)} == {"statement-added"}
    assert reproduced["author"] == "bob <bob@example.org>"
    (name,) = (path.rpartition("/")[2] for path in alice.statements() if _of(alice, path) == "endorsement")
    assert {**signed["statement"], "predicate": None} == {
        "digest": f"sha256:{name.removesuffix('.json')}",
        "kind": "endorsement",
        "by": ["alice"],
        "keys": [alice.public.id],
        "counts": True,
        "why": [],
        "predicate": None,
    }
    assert reproduced["statement"]["predicate"] == {"result": "reproduced", "note": "to the digit"}
    lines = [line.partition(">: ")[2] for line in alice.run("log", RUN).ok().text.splitlines() if ">: " in line]
    assert lines == [
        "added",
        "signed by alice",
        "reproduced by bob: to the digit",
        f"superseded by {OTHER_RUN}, says alice: measured again",
        "retracted by alice: the clock was wrong",
    ]


def _of(person: Person, path: str) -> str:
    from kstore.attest.envelope import Envelope
    from kstore.attest.statement import read_statement

    return read_statement(Envelope.from_bytes(person.file(path).read_bytes()).payload).kind


def test_a_life_has_the_statements_that_went(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("retract", RUN, "--reason", "the clock was wrong")
    (path,) = alice.statements()
    alice.write(path, b"{}")
    alice.commit()
    alice.git("rm", "--quiet", path)
    alice.commit()
    lines = [line.partition(">: ")[2] for line in alice.run("log", RUN).ok().text.splitlines() if ">: " in line]
    nobody = "by nobody who counts (it is not in the registry any more)"
    assert lines == [
        "added",
        f"retracted {nobody}: the clock was wrong",
        f"statement changed: something that is no statement, {nobody}",
        f"statement removed: something that is no statement, {nobody}",
    ]


def test_what_is_no_statement_among_statements_is_no_event(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("sign", RUN)
    (path,) = alice.statements()
    alice.write(f"{path.rpartition('/')[0]}/notes.txt", b"hello")
    alice.commit()
    assert len(alice.run("log", "--json", RUN).ok().json()["events"]) == 2


def test_metadata_that_nobody_can_read_are_not_what_was_signed(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("sign", RUN)
    path = object_path(alice.clone, RUN, "metadata")
    path.unlink()
    path.mkdir()
    with api.Registry.open(alice.clone) as registry:
        assert api.standing(registry, RUN).stale_metadata == ("alice",)


def test_every_shape_of_registry_says_the_same(shaped: Path, people: tuple[Person, ...]) -> None:
    alice, *_ = people
    key = ("--key", alice.key)
    kstore("--registry", shaped, "trust", "init", "--name", "alice", *key).ok()
    kstore("--registry", shaped, "sign", RUN, *key).ok()
    kstore("--registry", shaped, "retract", RUN, "--reason", "no", *key).ok()
    for command in (["show", RUN], ["resolve", RUN], ["list", "--json"]):
        ran = kstore("--registry", shaped, *command).ok()
        assert f"{RUN}: retracted by alice: no\n" in ran.err
    assert " retracted  " in kstore("--registry", shaped, "list").ok().text
    text = kstore("--registry", shaped, "log", RUN).ok().text
    assert ": signed by alice\n" in text
    assert ": retracted by alice: no\n" in text


def test_a_statement_that_is_not_committed_yet_is_told(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.put(alice.statement())
    assert said(alice, "show", RUN) == [f"note: {RUN}: signed by alice"]


def test_what_lies_where_statements_should_lie(people: tuple[Person, ...]) -> None:
    """A file in the place of the folder, or a folder in that of a statement, keeps nobody from reading a record."""
    alice, *_ = people
    before = alice.run("show", RUN).ok().out
    alice.do("sign", RUN)
    (path,) = alice.statements()
    alice.file(path).unlink()
    alice.file(path).mkdir()
    shown = alice.run("show", RUN).ok()
    assert (shown.out, shown.err) == (before, "")
    alice.file(path).rmdir()
    folder = alice.file(path).parent
    folder.rmdir()
    folder.write_bytes(b"")
    for command in (["show", RUN], ["list"], ["log", RUN]):
        assert alice.run(*command).ok().err == ""


def test_the_log_of_all_commits_counts_statements(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("sign", RUN, PROTOCOL)
    alice.do("retract", RUN, "--reason", "no")
    alice.put(b"{}")
    path = alice.put(alice.statement(Retraction("another")))
    alice.commit()
    alice.git("rm", "--quiet", path)
    alice.commit()
    rows = alice.run("log", "--json", "-n", "4").ok().json()
    assert [(row["statements"], row["removed"]) for row in rows] == [
        ({}, 1),
        ({"retraction": 1, "unreadable": 1}, 0),
        ({"retraction": 1}, 0),
        ({"endorsement": 2}, 0),
    ]
    text = alice.run("log").ok().text
    assert "    signed statements: 1 retraction, 1 unreadable\n" in text
    assert "    removed objects or statements, which never go: 1\n" in text


def test_a_record_that_nobody_signed_loads_nothing_that_checks_signatures(people: tuple[Person, ...]) -> None:
    alice, *_ = people
    alice.do("sign", ENVIRONMENT)
    for record, needed in ((PROTOCOL, False), (ENVIRONMENT, True)):
        ran = process("show", record, cwd=alice.clone, env={"PYTHONPROFILEIMPORTTIME": "1"}).ok()
        assert ("cryptography" in ran.err) is needed
        assert ("kstore.attest" in ran.err) is needed
