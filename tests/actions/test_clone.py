"""A clone is checked before anybody uses it, and one that is not sound never reaches a working tree."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import subprocess
import threading
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

import pytest

from tests.histories import commit
from tests.registries import RUN, assert_healthy, git, kstore, object_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# dulwich, which fetches, lets go of some files and sockets without closing them.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

SECRET = "s3cret-t0ken"  # noqa: S105  (a word to look for)


class _Backend(http.server.BaseHTTPRequestHandler):
    """Serves repositories by git's own program for that (git-http-backend(1)), to those who know the password."""

    root: ClassVar[str] = ""
    wanted: ClassVar[str | None] = None

    def do_GET(self) -> None:
        self._run(b"")

    def do_POST(self) -> None:
        self._run(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

    def log_message(self, *_: object) -> None:
        pass

    def _run(self, body: bytes) -> None:
        if self.wanted is not None and self.headers.get("Authorization") != self.wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="registry"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        url = urlsplit(self.path)
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        status = next((int(value.split()[0]) for name, value in headers if name == "Status"), 200)
        self.send_response(status)
        for name, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextlib.contextmanager
def served(folder: Path, wanted: str | None = None) -> Iterator[str]:
    """Serve the repositories in a folder by http, and give where."""
    handler = type("Handler", (_Backend,), {"root": str(folder), "wanted": wanted})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def tamper(registry: Path) -> None:
    path = object_path(registry, RUN)
    path.write_bytes(path.read_bytes().replace(b'"', b'"x', 1))
    commit(registry)


def tamper_and_undo(registry: Path) -> None:
    tamper(registry)
    git(registry, "revert", "--no-edit", "HEAD")


def hostile_files(registry: Path) -> None:
    (registry / "store" / "run.sh").write_text("#!/bin/sh\n")
    (registry / "store" / "objects" / "e8" / "link").symlink_to("/etc/passwd")
    commit(registry)


@pytest.mark.parametrize("bare", [False, True], ids=["tree", "bare"])
@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_sound_registry_is_cloned_whole(bare: bool, scheme: str, registry: Path, tmp_path: Path) -> None:
    source = registry
    if bare:
        source = tmp_path / "source.git"
        git(registry, "clone", "-q", "--bare", ".", str(source))
    ran = kstore("clone", "--json", f"{scheme}{source}", "copy", cwd=tmp_path).ok()
    assert ran.json()["path"] == str(tmp_path / "copy")
    assert ran.json()["audit"]["commits"] == 2
    unsigned = {"attestations": 0, "policies": 0, "checkpoints": 0}
    assert ran.json()["verify"]["checked"] == {"objects": 13, "metadata": 13, **unsigned}
    assert not (tmp_path / "copy.unchecked").exists()
    assert_healthy(tmp_path / "copy")
    assert git(tmp_path / "copy", "rev-parse", "HEAD") == git(registry, "rev-parse", "HEAD")
    assert git(tmp_path / "copy", "config", "remote.origin.url").endswith(str(source))
    git(tmp_path / "copy", "fetch", "-q")


def test_it_is_named_as_the_url_ends(registry: Path, tmp_path: Path) -> None:
    source = tmp_path / "far" / "results.git"
    git(registry, "clone", "-q", "--bare", ".", str(source))
    (tmp_path / "here").mkdir()
    kstore("clone", f"{source}/", cwd=tmp_path / "here").ok()
    kstore("clone", registry, cwd=tmp_path / "here").ok()
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["registry", "results"]
    for url in ("/", "..", "host:"):
        ran = kstore("clone", url, cwd=tmp_path / "here")
        assert ran.code in {1, 2}, url
        assert ran.err.startswith("error: "), url
    assert len(list((tmp_path / "here").iterdir())) == 2


@pytest.mark.parametrize("name", ["copy", "copy.unchecked"])
def test_what_is_there_already_is_left_alone(name: str, registry: Path, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "mine").write_text("mine")
    ran = kstore("clone", registry, "copy", cwd=tmp_path)
    assert ran.code == 1
    assert f"{tmp_path / name}: there is something here already" in ran.err
    assert [path.name for path in (tmp_path / name).iterdir()] == ["mine"]


@pytest.mark.parametrize("deed", [tamper, tamper_and_undo, hostile_files])
def test_a_registry_that_is_not_sound_is_kept_aside(
    deed: Callable[[Path], None], registry: Path, tmp_path: Path
) -> None:
    deed(registry)
    ran = kstore("clone", registry, "copy", cwd=tmp_path)
    assert ran.code == 1
    assert ran.out.startswith(b"error: ")
    assert "this registry is not sound" in ran.err
    assert not (tmp_path / "copy").exists()
    assert [path.name for path in (tmp_path / "copy.unchecked").iterdir()] == [".git"]
    assert kstore("clone", "--json", registry, "other", cwd=tmp_path).json()["path"].endswith("other.unchecked")


def test_an_object_that_the_source_lost_or_that_lies_is_found(registry: Path, tmp_path: Path) -> None:
    blob = git(registry, "rev-parse", f"HEAD:store/objects/e8/{RUN[7:]}.json")
    path = registry / ".git" / "objects" / blob[:2] / blob[2:]
    data = path.read_bytes()
    path.chmod(0o644)
    for number, damaged in enumerate(
        (data[: len(data) // 2], data[: len(data) // 2] + b"\0" + data[len(data) // 2 + 1 :])
    ):
        path.write_bytes(damaged)
        ran = kstore("clone", registry, f"copy{number}", cwd=tmp_path)
        assert ran.code == 1
        assert not (tmp_path / f"copy{number}").exists()


def test_what_is_no_registry(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "source")
    git(tmp_path / "source", "commit", "-q", "--allow-empty", "-m", "Nothing")
    ran = kstore("clone", tmp_path / "source", "copy", cwd=tmp_path)
    assert ran.code == 1
    assert "store/kstore.json" in ran.err
    assert not (tmp_path / "copy").exists()
    (tmp_path / "no-repository").mkdir()
    for source in ("nowhere", "no-repository"):
        ran = kstore("clone", tmp_path / source, "other", cwd=tmp_path)
        assert (ran.code, ran.out) == (1, b"")
        assert "cannot be cloned" in ran.err
        assert ran.err.count("\n") == 1
    assert not list(tmp_path.glob("other*"))


def test_by_http(registry: Path, tmp_path: Path) -> None:
    git(registry, "repack", "-adq")
    with served(tmp_path) as place:
        ran = kstore("clone", "--json", f"http://{place}/registry", "copy", cwd=tmp_path).ok()
        assert ran.json()["verify"]["checked"]["objects"] == 13
        missing = kstore("clone", f"http://{place}/nothing", "other", cwd=tmp_path)
    assert_healthy(tmp_path / "copy")
    assert missing.code == 1
    assert "cannot be cloned" in missing.err
    gone = kstore("clone", f"http://{place}/registry", "other", cwd=tmp_path)
    assert gone.code == 1
    assert gone.err.count("\n") == 1
    assert not list(tmp_path.glob("other*"))


def test_credentials_are_used_and_never_told(registry: Path, tmp_path: Path) -> None:
    import base64

    wanted = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()
    assert (registry / ".git").is_dir()
    with served(tmp_path, wanted) as place:
        good = kstore("clone", f"http://me:{SECRET}@{place}/registry", "copy", cwd=tmp_path).ok()
        bad = kstore("clone", f"http://me:{SECRET}x@{place}/registry", "other", cwd=tmp_path)
        missing = kstore("clone", f"http://me:{SECRET}@{place}/nothing", "other", cwd=tmp_path)
    gone = kstore("clone", f"http://me:{SECRET}@{place}/registry", "other", cwd=tmp_path)
    assert (bad.code, missing.code, gone.code) == (1, 1, 1)
    for ran in (good, bad, missing, gone):
        assert SECRET not in ran.text + ran.err, ran
    assert not list(tmp_path.glob("other*"))


@pytest.mark.parametrize(
    "url",
    [
        "-oProxyCommand=touch pwned",
        "ssh://-oProxyCommand=touch pwned/x",
        "ssh://me@-oProxyCommand=touch pwned/x",
        "-oProxyCommand=touch pwned:x",
        "me@-oProxyCommand=touch pwned:x",
        "git+ssh://-oProxyCommand=touch pwned/x",
        "--upload-pack=touch pwned",
        "ext::touch pwned",
    ],
)
def test_a_url_cannot_run_anything(url: str, tmp_path: Path) -> None:
    ran = kstore("clone", "--", url, "copy", cwd=tmp_path)
    assert ran.code in {1, 2}, ran
    assert list(tmp_path.iterdir()) == []


def test_a_registry_cannot_smuggle_in_hooks_or_configuration(registry: Path, tmp_path: Path) -> None:
    hook = registry / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/pwned\n")
    hook.chmod(0o755)
    git(registry, "config", "core.fsmonitor", f"touch {tmp_path}/pwned")
    (registry / ".gitattributes").write_text("* filter=evil\n")
    git(registry, "config", "filter.evil.smudge", f"touch {tmp_path}/pwned")
    commit(registry)
    (tmp_path / "pwned").unlink(missing_ok=True)
    kstore("clone", registry, "copy", cwd=tmp_path).ok()
    assert not (tmp_path / "pwned").exists()
    assert "filter" not in (tmp_path / "copy" / ".git" / "config").read_text()


def test_the_report_has_both_parts(registry: Path, tmp_path: Path) -> None:
    report = json.loads(kstore("clone", "--json", registry, "copy", cwd=tmp_path).ok().out)
    assert report.keys() == {"path", "audit", "verify"}
