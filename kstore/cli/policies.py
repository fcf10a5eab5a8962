"""What a person gives to `kstore trust`, and what that says of policies."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.cli import output
from kstore.errors import KstoreError, UsageError
from kstore.layout import MAX_FILE, policy_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.actions.trust.list_ import TrustList
    from kstore.actions.trust.publish import Published
    from kstore.attest.amend import Amendment
    from kstore.attest.key import PublicKey
    from kstore.attest.policy import Role
    from kstore.digest import Digest
    from kstore.registry import Registry


def amend(
    path: Path | None,
    amendment: Amendment,
    keys: Sequence[str] | None,
    propose: str | None,
    *,
    dry_run: bool,
    wait: float,
    json: bool,
    quiet: bool,
) -> None:
    """Change the trust of the registry at a path, or write a proposal, and say what came of it."""
    refuse_two_outputs(propose, json=json)
    from kstore.actions.trust.amend import amend_trust
    from kstore.cli.passphrase import signer_of
    from kstore.registry import Registry

    with Registry.open(path) as registry:
        signers = [signer_of(each) for each in keys or ()]
        published = amend_trust(registry, amendment, signers, propose=propose is not None, dry_run=dry_run, wait=wait)
    tell(published, json=json, quiet=quiet, dry_run=dry_run, proposal=propose)


def refuse_two_outputs(proposal: str | None, *, json: bool) -> None:
    """Keep standard output to one thing.

    Raises:
        UsageError: Both a proposal and JSON are to go there.
    """
    if proposal == "-" and json:
        raise UsageError("--json and a proposal on standard output exclude each other; write the proposal to a file")


def tell(published: Published, *, json: bool, quiet: bool, dry_run: bool, proposal: str | None = None) -> None:
    """Say what became of a policy; write it to `proposal` where it is one."""
    if proposal is not None and published.changes and not dry_run:
        from kstore.cli.lines import writing

        with writing(proposal) as write:
            write(published.envelope)
    output.notes(published.notes, quiet=quiet)
    if json:
        output.json(
            {
                "number": published.number,
                "digest": published.digest,
                "commit": published.commit,
                "changes": published.changes,
                "missing": published.missing,
                "proposal": proposal if published.changes and not dry_run else None,
            }
        )
    elif proposal != "-":
        for change in published.changes:
            output.line(change)
        if published.digest is not None:
            output.line(f"policy {published.number} {published.digest}")
    output.notes(map(str, published.missing), quiet=quiet)
    output.note(_outcome(published, dry_run, proposal), quiet=quiet)


def show(trust: TrustList) -> None:
    """Print whom a registry trusts."""
    for policy in trust.policies:
        output.line(f"policy {policy.number} {policy.digest}{'  pinned' * policy.pinned}")
    if trust.threshold is None:
        return
    maintainers = {each.name for each in trust.signers if "maintainer" in each.roles and each.state == "valid"}
    output.line(f"threshold {trust.threshold} of {len(maintainers)} maintainers")
    required = trust.requires_signature
    kinds = ", ".join(required) if isinstance(required, tuple) else "all records" if required else "nothing"
    output.line(f"signature required for {kinds}")
    for each in trust.signers:
        window = [
            f"{word} {instant}"
            for word, instant in (
                ("from", each.valid_after),
                ("before", each.valid_before),
                ("revoked from", each.revoked_from),
            )
            if instant is not None
        ]
        output.line("  ".join([f"{each.state:15} {each.name} {each.keyid} {'+'.join(each.roles)}", *window]))


def ask(registry: Registry) -> Digest:
    """Show the last policy of a registry to a person at a terminal, and ask whether to pin it.

    Returns:
        The digest of its file.

    Raises:
        UsageError: There is no terminal to ask at.
        KstoreError: There is no policy that could be pinned, or the answer was no.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "which policy? nobody can be asked here; give the digest that its maintainers have told you: "
            "kstore trust pin sha256:<hex>"
        )
    from kstore.actions.trust.pin import candidate
    from kstore.attest.amend import differences

    policy, digest = candidate(registry)
    for line in (f"policy {policy.number} {digest}", *differences(None, policy)):
        sys.stderr.write(output.escape(line) + "\n")
    sys.stderr.write("Is this digest the one that its maintainers have told you? Type yes to pin it: ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() != "yes":
        raise KstoreError("nothing was pinned")
    return digest


def ask_once(registry: Registry) -> None:
    """Ask a person at a terminal whether to pin the policy that a registry has, where none is pinned and nobody asked.

    The answer is remembered in the git directory: no is not asked about again.
    """
    asked = registry.derived / "asked"
    pinned = (registry.derived / "trust").exists()
    if pinned or asked.exists() or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    try:
        if registry.files.read(policy_path(1)) is None:
            return
        digest = ask(registry)
    except KstoreError as error:
        sys.stderr.write(output.escape(f"{error}; `kstore trust pin` asks again") + "\n")
        with contextlib.suppress(OSError):
            asked.parent.mkdir(parents=True, exist_ok=True)
            asked.touch()
        return
    from kstore.actions.trust.pin import pin_trust

    pin_trust(registry, digest)


def public_key(text: str) -> PublicKey:
    """Read a public key that is given as its line, or as the name of a file that has it.

    Raises:
        KstoreError: It is neither, or a key of another kind than Ed25519.
    """
    from kstore.attest.key import KeyRefusedError, PublicKey
    from kstore.attest.private_key import read_key_file, read_public

    if " " in text.strip() and not Path(text).exists():
        return PublicKey.parse(text)
    found = read_key_file(text)
    if found.private:
        raise KeyRefusedError(f"{text}: expected a public key, found a private one; give its .pub file")
    return read_public(found)


def roles(given: Sequence[str] | None) -> tuple[Role, ...]:
    """Read roles; none given is a signer.

    Raises:
        UsageError: One is no role.
    """
    from typing import get_args

    from kstore.attest.policy import Role

    known: tuple[Role, ...] = get_args(Role)
    for each in given or ():
        if each not in known:
            raise UsageError(f"there is no role {each!r}; the roles are {', '.join(known)}")
    return tuple(role for role in known if role in (given or ("signer",)))


def read_proposal(file: str) -> bytes:
    """Read the file of a proposal; `-` is standard input.

    Raises:
        KstoreError: It cannot be read, or is too large to be one.
    """
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_FILE + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(MAX_FILE + 1)
    except OSError as error:
        raise KstoreError(f"{file}: the proposal cannot be read: {error.strerror}") from None
    if len(data) > MAX_FILE:
        raise KstoreError(f"{file}: expected a proposal of at most {MAX_FILE:,} bytes, found more")
    return data


def _outcome(published: Published, dry_run: bool, proposal: str | None) -> str:
    if not published.changes:
        return f"policy {published.number} says that already; nothing was changed"
    if dry_run:
        return "nothing was written (--dry-run)"
    if published.commit is not None:
        return f"committed as {published.commit}"
    return f"the proposal is in {proposal}; `kstore trust sign {proposal} --key FILE` adds a signature"
