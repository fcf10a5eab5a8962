"""What the pre-receive hook refuses, each through a real `git push`, and what it lets through."""

from __future__ import annotations

import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from tests.hooked import commit, edit, install, plant, remove, replant, run_git, stage_all, write
from tests.registries import PROTOCOL, RUN, Ran, environment, environments, git, kstore, object_path, process, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.hooked import Tamper

ABSENT = "sha256:" + "ab" * 32


@pytest.fixture
def server(registry: Path, tmp_path: Path) -> Path:
    """A bare registry that checks what is pushed to it; `registry` is a clone of it."""
    path = tmp_path / "a server" / "registry.git"
    git(tmp_path, "clone", "-q", "--bare", str(registry), str(path))
    git(path, "config", "http.receivepack", "true")
    git(registry, "remote", "add", "origin", str(path))
    git(registry, "fetch", "-q")
    install(path)
    return path


def push(registry: Path, *arguments: str) -> Ran:
    """Try to push HEAD to the branch of the same name, or what the arguments say."""
    return run_git(registry, "push", "-q", "origin", *(arguments or ("HEAD",)))


def refused(ran: Ran, *said: str) -> None:
    assert ran.code == 1
    for words in said:
        assert words in ran.err, ran.err
    assert "remote: error: this push is refused, and nothing of it was taken" in ran.err
    assert "pre-receive hook declined" in ran.err
    assert "Traceback" not in ran.err


CASES: dict[str, tuple[Tamper, str]] = {
    "newline": (lambda r: edit(r, RUN, lambda d: d + b"\n"), "object-changed"),
    "removed": (lambda r: remove(r, PROTOCOL), "object-removed"),
    "all objects removed": (lambda r: run_git(r, "rm", "-q", "-r", "store/objects").ok(), "object-removed"),
    "settings removed": (lambda r: (r / "store" / "kstore.json").unlink(), "invalid-settings"),
    "damaged settings": (lambda r: write(r / "store" / "kstore.json", b"{}"), "store/kstore.json"),
    "everything removed": (lambda r: run_git(r, "rm", "-q", "-r", "store").ok(), "invalid-settings"),
    "a stranger": (lambda r: write(r / "store" / "notes" / "x.txt"), "unexpected-file: store/notes"),
    "a document under its own name": (lambda r: save(r / "store", environment(), "my.json"), "`kstore add`"),
    "a file where a folder was": (
        lambda r: (run_git(r, "rm", "-q", "-r", "store/objects").ok(), write(r / "store" / "objects")),
        "unexpected-file: store/objects",
    ),
    "metadata removed": (lambda r: remove(r, RUN, "metadata"), "missing-metadata"),
    "metadata alone": (lambda r: write(object_path(r, ABSENT, "metadata"), b'{"name":"x"}'), "orphan-metadata"),
    "a required reference to nothing": (
        lambda r: replant(r, RUN, lambda body: body["spec"].update(protocolDigest=ABSENT)),
        "missing-reference",
    ),
    "no valid record": (lambda r: replant(r, RUN, lambda body: body["spec"].update(status="great")), "invalid-record"),
    "over 1 MiB": (lambda r: plant(r, b" " * 1_048_577), "unreadable"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_push_is_refused(case: str, server: Path, registry: Path) -> None:
    spoil, said = CASES[case]
    before = git(server, "for-each-ref")
    spoil(registry)
    stage_all(registry)
    commit(registry).ok()
    wrong = git(registry, "rev-parse", "HEAD")
    git(registry, "checkout", "-q", "HEAD~", "--", ".")
    (registry / "README").write_text("x")
    stage_all(registry)
    commit(registry).ok()
    refused(push(registry), f"commit {wrong}: ", said)
    assert git(server, "for-each-ref") == before
    assert git(server, "cat-file", "-t", wrong, check=False) == "", "nothing of it was kept"
    refused(push(registry, "HEAD:refs/heads/other"), said)
    refused(push(registry, "HEAD:refs/anything/else"), said)
    git(registry, "reset", "-q", "--hard", "origin/main")
    push(registry).ok()


def test_what_kstore_adds_is_taken(server: Path, registry: Path, tmp_path: Path) -> None:
    for number, document in enumerate(environments(3)):
        kstore("add", save(tmp_path, document, f"{number}.json"), cwd=registry).ok()
    assert push(registry).ok().err == ""
    kstore("--registry", server, "verify").ok()
    git(tmp_path, "clone", "-q", str(server), "clone")
    kstore("verify", cwd=tmp_path / "clone").ok()


def test_a_large_push_comes_as_a_pack(server: Path, registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environments(120)), cwd=registry).ok()
    push(registry).ok()
    assert list((server / "objects" / "pack").glob("*.pack"))
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a").ok()
    refused(push(registry), "object-changed")


def test_history_is_not_rewritten(server: Path, registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    push(registry).ok()
    commit(registry, "--amend").ok()
    refused(push(registry, "--force", "HEAD"), "refs/heads/main: the registry's history only grows", "git pull")
    git(registry, "reset", "-q", "--hard", "HEAD~")
    refused(push(registry, "--force", "HEAD"), "refs/heads/main: the registry's history only grows")
    refused(push(registry, ":main"), "refs/heads/main: this branch is the registry's history, and cannot be deleted")


def test_other_branches_may_be_rewritten(server: Path, registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    push(registry, "HEAD:draft").ok()
    commit(registry, "--amend").ok()
    push(registry, "--force", "HEAD:draft").ok()
    push(registry, ":draft").ok()
    assert git(server, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_one_wrong_branch_stops_the_whole_push(server: Path, registry: Path) -> None:
    git(registry, "branch", "sound")
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a").ok()
    refused(push(registry, "sound", "main"), "object-changed")
    assert git(server, "for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_branches_that_are_no_registry_and_odd_tags(server: Path, registry: Path) -> None:
    git(registry, "tag", "-a", "-m", "x", "v1")
    git(registry, "tag", "settings", "HEAD:store/kstore.json")
    git(registry, "tag", "tree", "HEAD^{tree}")
    push(registry, "v1", "settings", "tree").ok()
    git(registry, "checkout", "-q", "--orphan", "site")
    git(registry, "rm", "-q", "-r", "-f", ".")
    write(registry / "store" / "shop.html")
    stage_all(registry)
    commit(registry).ok()
    push(registry).ok()
    settings = git(registry, "show", "main:store/kstore.json")
    write(registry / "store" / "kstore.json", settings.encode())
    stage_all(registry)
    commit(registry).ok()
    refused(push(registry), "unexpected-file: store/shop.html")


def test_a_merge(server: Path, registry: Path, tmp_path: Path) -> None:
    git(registry, "checkout", "-q", "-b", "theirs")
    kstore("add", save(tmp_path, environments(2)[1]), cwd=registry).ok()
    git(registry, "checkout", "-q", "main")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    start = git(registry, "rev-parse", "HEAD")
    run_git(registry, "merge", "-q", "--no-edit", "-s", "ours", "theirs").ok()
    refused(push(registry), "object-removed")
    git(registry, "reset", "-q", "--hard", start)
    run_git(registry, "merge", "-q", "--no-edit", "theirs").ok()
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a", "--amend").ok()
    refused(push(registry), "object-changed")
    git(registry, "reset", "-q", "--hard", start)
    run_git(registry, "merge", "-q", "--no-edit", "theirs").ok()
    push(registry).ok()


def test_the_first_push_makes_a_registry(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "new.git")
    install(tmp_path / "new.git")
    git(registry, "remote", "add", "origin", str(tmp_path / "new.git"))
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a").ok()
    refused(push(registry), "object-changed")
    git(registry, "reset", "-q", "--hard", "HEAD~")
    push(registry).ok()
    kstore("--registry", tmp_path / "new.git", "verify").ok()


def test_replacements_do_not_hide_anything(server: Path, registry: Path) -> None:
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a").ok()
    wrong = git(registry, "rev-parse", "HEAD")
    git(registry, "commit", "-q", "--allow-empty", "-m", "Sound")
    git(registry, "replace", wrong, "HEAD~2")
    git(registry, "push", "-q", "origin", f"refs/replace/{wrong}")
    git(registry, "replace", "-d", wrong)
    refused(push(registry), f"commit {wrong}", "object-changed")


def make_tree(registry: Path, entries: str) -> str:
    return git(registry, "mktree", "--missing", stdin=entries.encode())


def test_modes_that_no_git_writes(server: Path, registry: Path) -> None:
    lines = [line.split(None, 3) for line in git(registry, "ls-tree", "HEAD:store").splitlines()]
    raw = b"".join(
        b"%b %b\0%b"
        % (b"100664" if name == "kstore.json" else mode.lstrip("0").encode(), name.encode(), bytes.fromhex(oid))
        for mode, _, oid, name in lines
    )
    store = git(registry, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=raw)
    root = make_tree(registry, f"040000 tree {store}\tstore\n")
    odd = git(registry, "commit-tree", "-p", "HEAD", "-m", "Odd", root)
    refused(push(registry, f"{odd}:refs/heads/odd"), "bad-mode", "store/kstore.json")


def test_a_hook_that_was_there_gets_the_same_input(server: Path, registry: Path, tmp_path: Path) -> None:
    kstore("--registry", server, "hook", "uninstall").ok()
    hook = write(server / "hooks" / "pre-receive", b'#!/bin/sh\ncat > "$GIT_DIR/seen"\n[ ! -e forbidden ]\n')
    hook.chmod(0o755)
    install(server)
    old = git(server, "rev-parse", "main")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    (server / "forbidden").touch()
    assert push(registry).code == 1
    (server / "forbidden").unlink()
    push(registry).ok()
    assert (server / "seen").read_text() == f"{old} {git(server, 'rev-parse', 'main')} refs/heads/main\n"


def test_a_long_list_ends(server: Path, registry: Path) -> None:
    for number in range(60):
        write(registry / "store" / f"{number}.txt")
    stage_all(registry)
    commit(registry).ok()
    ran = push(registry)
    refused(ran, "and more")
    assert ran.err.count("unexpected-file") == 50


def test_hostile_names_reach_no_terminal(server: Path, registry: Path) -> None:
    write(registry / "store" / "a\x1b[31m\n")
    stage_all(registry)
    commit(registry).ok()
    ran = push(registry)
    refused(ran, "store/a\\u001b[31m\\u000a")
    assert "\x1b[31m\n" not in ran.err


def test_a_server_whose_objects_are_elsewhere(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", "--shared", str(registry), "a:b.git")
    install(tmp_path / "a:b.git")
    git(registry, "remote", "add", "origin", f"file://{tmp_path}/a:b.git")
    git(registry, "checkout", "-q", "--orphan", "other")
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=registry).ok()
    commit(registry).ok()
    push(registry).ok()
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a").ok()
    refused(push(registry), "object-changed")


def test_by_hand_it_says_who_runs_it(registry: Path) -> None:
    ran = process("receive", cwd=registry)
    assert ran.code == 1
    assert "git runs this in its pre-receive hook" in ran.err
    ran = process("receive", cwd=registry, env={"GIT_DIR": ".git"}, stdin=b"nonsense\n")
    assert ran.code == 1
    assert "'nonsense'" in ran.err


class _Backend(BaseHTTPRequestHandler):
    """Just enough of CGI (RFC 3875) for `git http-backend`."""

    top: Path

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        length = int(self.headers.get("Content-Length") or 0)
        variables = {
            "GIT_PROJECT_ROOT": str(self.top),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "REMOTE_USER": "somebody",
        }
        done = subprocess.run(
            ["git", "http-backend"],
            input=self.rfile.read(length),
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            check=True,
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        self.send_response(next((int(value[:3]) for name, value in headers if name == "Status"), 200))
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  (the name that the base class looks for)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(server: Path) -> Iterator[str]:
    """Where the server is found over HTTP."""
    handler = type("Backend", (_Backend,), {"top": server.parent})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}/{server.name}"
        http.shutdown()
        thread.join()


def test_over_http(url: str, server: Path, registry: Path, tmp_path: Path) -> None:
    git(registry, "remote", "set-url", "origin", url)
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    push(registry).ok()
    assert git(server, "rev-parse", "main") == git(registry, "rev-parse", "HEAD")
    edit(registry, RUN, lambda data: data + b"\n")
    commit(registry, "-a").ok()
    refused(push(registry), "object-changed", "a newline was added")
    commit(registry, "--amend", "--allow-empty").ok()
    git(registry, "reset", "-q", "--hard", "HEAD~2")
    refused(push(registry, "--force", "HEAD"), "the registry's history only grows")
