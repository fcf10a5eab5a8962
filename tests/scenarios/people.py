"""A registry with several people: each has a clone, a key and a name, and a clock that says what it is told to say."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

from kstore.actions.root import Roots
from kstore.attest.checkpoint import checkpoint_bytes
from kstore.attest.key import PublicKey
from kstore.attest.policy import PAYLOAD_TYPE as POLICY_TYPE
from kstore.attest.policy import Policy, read_policy
from kstore.attest.signing import open_signer, sign_payload
from kstore.attest.statement import PAYLOAD_TYPE, Endorsement, Predicate, Sha256, statement_bytes
from kstore.digest import Digest
from kstore.layout import attestation_path, checkpoint_path, policy_path
from kstore.registry import Registry
from tests.hooked import run_git
from tests.registries import ALL, RUN, RUN_NAME, Ran, git, kstore, object_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

START = int(datetime(2024, 3, 1, 12, tzinfo=UTC).timestamp())
DAY = 86_400
RECORD = Digest(RUN)
_CENTRAL = "../central.git"


class Finding(NamedTuple):
    """What verify or audit said: a code, where, and in which words."""

    code: str
    path: str
    message: str


class World:
    """Where people meet: one repository that they push to, and what time it is.

    Attributes:
        central: The bare repository, made when somebody publishes a registry.
        time: Seconds since 1970.
    """

    def __init__(self, top: Path) -> None:
        self.top = top
        self.central = top / "central.git"
        self.time = START

    def sleep(self, days: float) -> None:
        """Let time pass."""
        self.time += int(days * DAY)

    def instant(self, days: float = 0) -> str:
        """Write the time so many days from now as commands and policies have it."""
        return datetime.fromtimestamp(self.time + days * DAY, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def person(self, name: str) -> Person:
        """Let somebody come who has a key, and a clone where there is something to clone."""
        person = Person(self, name)
        kstore("key", "generate", person.key).ok()
        if self.central.exists():
            git(self.top, "clone", "--quiet", str(self.central), str(person.clone))
            person.git("remote", "set-url", "origin", _CENTRAL)
        return person

    def publish(self, person: Person) -> None:
        """Make somebody's registry the one that everybody clones."""
        git(self.top, "clone", "--quiet", "--bare", str(person.clone), str(self.central))
        person.git("remote", "add", "origin", _CENTRAL)
        person.git("fetch", "--quiet")
        person.git("branch", "--quiet", "--set-upstream-to", "origin/main")


class Person:
    """Somebody with a clone of the registry.

    Attributes:
        clone: The clone's working tree.
        key: The file of the private key.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.clone = world.top / name
        self.key = world.top / f"{name}.key"

    @property
    def public(self) -> PublicKey:
        """The key's public half."""
        return PublicKey.parse(Path(f"{self.key}.pub").read_text())

    def another_key(self, label: str) -> Person:
        """Give the same person and the same clone with a second key."""
        other = Person(self.world, self.name)
        other.key = self.world.top / f"{self.name}-{label}.key"
        kstore("key", "generate", other.key).ok()
        return other

    def run(self, *args: str | Path, time: int | None = None) -> Ran:
        """Run kstore in the clone."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in self._environment(time).items():
                patch.setenv(name, value)
            return kstore(*args, cwd=self.clone)

    def do(self, *args: str | Path, time: int | None = None) -> Ran:
        """Run kstore with this person's key."""
        return self.run(*args, "--key", self.key, time=time).ok()

    def git(self, *args: str) -> str:
        """Run git in the clone, which is to succeed."""
        return run_git(self.clone, *args, env=self._environment(None)).ok().text.strip()

    def commit(self, message: str = "By hand", *, time: int | None = None) -> str:
        """Commit what lies in the working tree, and give the commit's id."""
        self.git("add", "--all", "--force")
        arguments = ("commit", "--quiet", "--no-verify", "--allow-empty", "--message", message)
        run_git(self.clone, *arguments, env=self._environment(time)).ok()
        return self.git("rev-parse", "HEAD")

    def push(self, *args: str) -> Ran:
        """Try to push."""
        return run_git(self.clone, "push", "--quiet", *args, "origin", "HEAD:main", env=self._environment(None))

    def pull(self) -> None:
        """Take what others have pushed, and merge it."""
        self.git("pull", "--quiet", "--no-rebase", "--no-edit")

    def pin(self) -> None:
        """Trust the first policy, whose digest somebody has told."""
        self.run("trust", "pin", Digest.of(self.file(policy_path(1)).read_bytes())).ok()

    def file(self, path: str) -> Path:
        """Give where a file of the registry lies."""
        return self.clone / path

    def write(self, path: str, data: bytes) -> str:
        """Put a file into the working tree, and give its path."""
        self.file(path).parent.mkdir(parents=True, exist_ok=True)
        self.file(path).write_bytes(data)
        return path

    def statement(
        self, predicate: Predicate | None = None, record: Digest = RECORD, name: str = RUN_NAME, **keys: Person
    ) -> bytes:
        """Sign a statement, an endorsement if nothing else is given, and give its file's bytes."""
        if predicate is None:
            predicate = Endorsement(Sha256.of(Digest.of(object_path(self.clone, record, "metadata").read_bytes())))
        return self.sealed(PAYLOAD_TYPE, statement_bytes(name, record, predicate), *keys.values())

    def sealed(self, payload_type: str, payload: bytes, *others: Person) -> bytes:
        """Sign any payload, together with others."""
        return sign_payload(payload_type, payload, [open_signer(each.key) for each in (self, *others)]).to_bytes()

    def put(self, data: bytes, record: Digest = RECORD) -> str:
        """Put a statement where those about a record lie, and give its path."""
        return self.write(attestation_path(record, Digest.of(data), 1), data)

    def statements(self, record: Digest = RECORD) -> list[str]:
        """Give the paths of the statements about a record."""
        folder = self.file(attestation_path(record, record, 1)).parent
        return sorted(path.relative_to(self.clone).as_posix() for path in folder.glob("*.json"))

    def policy(self, number: int) -> Policy:
        """Read a policy."""
        return read_policy(self.file(policy_path(number)).read_bytes())[1]

    def put_policy(self, policy: Policy, *signers: Person, number: int | None = None) -> str:
        """Sign a policy together with others, put it where it belongs or under another number, and give its path."""
        data = self.sealed(POLICY_TYPE, policy.to_bytes(), *signers)
        return self.write(policy_path(policy.number if number is None else number), data)

    def previous(self, number: int) -> Sha256:
        """Give what the policy after one has as `previous`."""
        return Sha256.of(Digest.of(self.file(policy_path(number)).read_bytes()))

    def checkpoint(self, number: int = 1) -> str:
        """Make a checkpoint of HEAD at the time that it is here, as `kstore checkpoint create` does, and commit it."""
        with Registry.open(self.clone) as registry:
            history = registry.history()
            assert history.head is not None
            root = Roots(registry, cache=False).of(history.commit(history.head).tree)
            previous = Digest.of(self.file(checkpoint_path(number - 1)).read_bytes()) if number > 1 else None
            payload = checkpoint_bytes(number, root, history.head.hex(), self.world.time, previous)
        path = self.write(checkpoint_path(number), self.sealed(PAYLOAD_TYPE, payload))
        self.commit(f"Checkpoint {number}")
        return path

    def verify(self, *args: str, code: int = 0) -> list[Finding]:
        """Verify the clone, and give the findings."""
        return self._findings("verify", *args, code=code)

    def audit(self, *args: str, code: int = 0) -> list[Finding]:
        """Audit the clone's history, and give the findings."""
        return self._findings("audit", *args, code=code)

    def _findings(self, *args: str, code: int) -> list[Finding]:
        ran = self.run(*args, "--json")
        assert ran.code == code, (ran.code, ran.text, ran.err)
        found: list[dict[str, Any]] = ran.json()["findings"]
        return [Finding(each["code"], each["path"], each["message"]) for each in found]

    def _environment(self, time: int | None) -> Mapping[str, str]:
        date = f"{self.world.time if time is None else time} +0000"
        given = {"NAME": self.name, "EMAIL": f"{self.name}@example.org", "DATE": date}
        roles = ("AUTHOR", "COMMITTER")
        return {f"GIT_{role}_{field}": value for role in roles for field, value in given.items()} | {
            "PATH": os.environ["PATH"],
            "FILTER_BRANCH_SQUELCH_WARNING": "1",
        }


def one(findings: list[Finding], code: str, path: str, *words: str) -> None:
    """Insist that something was found, under its code, at its place, and in words that say what it is."""
    found = [each.message for each in findings if (each.code, each.path) == (code, path)]
    assert found, f"expected {code} at {path}, found {findings}"
    assert all(any(word in message for message in found) for word in words), found


def settle(top: Path, *names: str) -> None:
    """Make people who share a registry with the reference records: a maintainer, and signers.

    The first one made the registry and its trust, and listed the others; everybody has pinned the first policy.
    """
    world = World(top)
    first = world.person(names[0])
    first.clone.mkdir()
    first.run("init").ok()
    first.run("add", *ALL).ok()
    first.do("trust", "init", "--name", names[0])
    world.publish(first)
    others = [world.person(name) for name in names[1:]]
    for other in others:
        first.do("trust", "add", other.name, f"{other.key}.pub")
    first.push().ok()
    for other in others:
        other.pull()
        other.pin()


def settled(top: Path, *names: str) -> tuple[Person, ...]:
    """Give the people that `settle` made, or a copy of them, a day later."""
    world = World(top)
    world.sleep(1)
    return tuple(Person(world, name) for name in names)


Settle: TypeAlias = "Callable[..., tuple[Person, ...]]"
"""The fixture that gives the people of some names who share a registry."""
