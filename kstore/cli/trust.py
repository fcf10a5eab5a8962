"""`kstore trust`: who may sign in a registry, and who says so."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from kstore.cli import output
from kstore.cli.options import DryRun, Json, Quiet, Wait
from kstore.cli.policies import amend, ask, public_key, read_proposal, refuse_two_outputs, roles, show, tell
from kstore.errors import UsageError

HELP = "Say who may sign, and whose word on that this clone takes."

Key: TypeAlias = Annotated[
    str, typer.Option("--key", metavar="FILE", help="A private key, or a public one that an ssh-agent has.")
]
Keys: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--key", metavar="FILE", help="A maintainer's key; repeat it for a threshold above 1."),
]
Propose: TypeAlias = Annotated[
    str | None,
    typer.Option("--propose", metavar="FILE", help="Write the policy there for others to sign; commit nothing."),
]


def init(
    context: typer.Context,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the first maintainer is called.")],
    key: Key,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Begin: make policy 1, with one key as maintainer and signer, and pin it in this clone.

    Examples:

        kstore trust init --name alice --key ~/.ssh/id_ed25519
    """
    from kstore.actions.trust.init import init_trust
    from kstore.cli.passphrase import signer_of
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        published = init_trust(registry, name, signer_of(key), dry_run=dry_run, wait=wait)
    tell(published, json=json, quiet=quiet, dry_run=dry_run)
    if not dry_run:
        output.note(f"pinned in this clone; in another: kstore trust pin {published.digest}", quiet=quiet)


def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is; all keys of a name count once.")],
    key_text: Annotated[
        str, typer.Argument(metavar="PUBLIC_KEY", help="A .pub file, or its line: `ssh-ed25519 AAAA…`.")
    ],
    key: Keys = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="ROLE", help="signer (the default) or maintainer; repeat it for both."),
    ] = None,
    valid_after: Annotated[
        str | None, typer.Option("--valid-after", metavar="TIME", help="The key counts from then on.")
    ] = None,
    valid_before: Annotated[
        str | None, typer.Option("--valid-before", metavar="TIME", help="The key counts until then.")
    ] = None,
    propose: Propose = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a key sign, or say anew what a key of the same name may do and when.

    TIME is an instant in UTC, 2026-03-01T12:00:00Z, or a date, which is its midnight in UTC.

    Examples:

        kstore trust add bob bob.pub --key ~/.ssh/id_ed25519

        kstore trust add carol "ssh-ed25519 AAAA…" --role maintainer --role signer --key ~/.ssh/id_ed25519
    """
    from msgspec import UNSET

    from kstore.attest.amend import listed, with_key
    from kstore.attest.instant import parse_instant

    after, before = (UNSET if text is None else parse_instant(text) for text in (valid_after, valid_before))
    entry = listed(name, public_key(key_text), roles(role), after, before)
    amend(context.obj, with_key(entry), key, propose, dry_run=dry_run, wait=wait, json=json, quiet=quiet)


def revoke(
    context: typer.Context,
    who: Annotated[str, typer.Argument(metavar="NAME|KEYID", help="A signer, or one key: SHA256:…")],
    key: Keys = None,
    since: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Since when the key cannot be trusted; now by default.")
    ] = None,
    propose: Propose = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Revoke a signer's keys, or one key, from some time on.

    What a key signed before that time stays good only where a checkpoint shows that it was there by then.

    Examples:

        kstore trust revoke bob --key ~/.ssh/id_ed25519

        kstore trust revoke SHA256:4fdn2FyMj2Di9aYN+kiYzKsU8iCYlMo7AERXS6PWD5E --from 2026-03-01 --key new
    """
    from kstore.attest.amend import with_revoked
    from kstore.attest.instant import instant_of, now, parse_instant

    instant = instant_of(now()) if since is None else parse_instant(since)
    amendment = with_revoked(who, instant)
    amend(context.obj, amendment, key, propose, dry_run=dry_run, wait=wait, json=json, quiet=quiet)


def threshold(
    context: typer.Context,
    number: Annotated[int, typer.Argument(metavar="N", min=1, help="How many maintainers must sign a policy.")],
    key: Keys = None,
    propose: Propose = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Set how many maintainers, different names, must sign the next policy, and this one.

    Examples:

        kstore trust threshold 2 --key alice --key carol
    """
    from kstore.attest.amend import with_threshold

    amendment = with_threshold(number)
    amend(context.obj, amendment, key, propose, dry_run=dry_run, wait=wait, json=json, quiet=quiet)


def require(
    context: typer.Context,
    kind: Annotated[list[str] | None, typer.Argument(metavar="[KIND]...", help="Kinds of records.")] = None,
    key: Keys = None,
    everything: Annotated[bool, typer.Option("--all", help="All records must be signed.")] = False,
    nothing: Annotated[bool, typer.Option("--nothing", help="No record need be signed.")] = False,
    propose: Propose = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say which records must be signed; hooks then refuse them without a signature.

    Examples:

        kstore trust require BenchmarkRun ServingRun --key ~/.ssh/id_ed25519

        kstore trust require --nothing --key ~/.ssh/id_ed25519
    """
    from kstore.attest.amend import with_required

    if bool(kind) + everything + nothing != 1:
        raise UsageError("say which kinds must be signed, or --all, or --nothing; one of the three")
    amendment = with_required(kind or everything)
    amend(context.obj, amendment, key, propose, dry_run=dry_run, wait=wait, json=json, quiet=quiet)


def sign(
    context: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `--propose FILE` wrote.")],
    key: Keys = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sign a policy that another maintainer proposes, and commit it once enough have.

    Until then FILE gets the signature, to be sent on. What the policy changes is said; `--dry-run` says it only.

    Examples:

        kstore trust sign policy.json --dry-run

        kstore trust sign policy.json --key ~/.ssh/id_ed25519
    """
    refuse_two_outputs(file, json=json)
    from kstore.actions.trust.cosign import cosign_trust
    from kstore.cli.passphrase import signer_of
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        signers = [signer_of(each) for each in key or ()]
        published = cosign_trust(registry, read_proposal(file), signers, dry_run=dry_run, wait=wait)
    tell(published, json=json, quiet=quiet, dry_run=dry_run, proposal=file if published.missing else None)


def pin(
    context: typer.Context,
    digest: Annotated[
        str | None, typer.Argument(metavar="[sha256:<hex>]", help="The digest of a policy's file.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Pin a policy in this clone: what follows from it is trusted.

    The digest must come from somebody whom you believe, and not from the registry. Without one, on a terminal, the last
    policy is shown, and whether to pin it is asked.

    Examples:

        kstore trust pin sha256:e8a0f82e8e2dcba804ea830e44d6a7deceba406114a858520811e5310309984e
    """
    from kstore.actions.trust.pin import pin_trust
    from kstore.digest import Digest
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        try:
            wanted = ask(registry) if digest is None else Digest.parse(digest)
        except ValueError as error:
            raise UsageError(f"the digest to pin: {error}") from None
        pinned = pin_trust(registry, wanted)
    output.notes(pinned.problems, quiet=quiet)
    if pinned.before not in (None, pinned.digest):
        output.note(f"{pinned.before} was pinned before", quiet=quiet)
    if json:
        output.json(pinned)
    else:
        output.line(f"pinned policy {pinned.number} {pinned.digest}; the last that follows is {pinned.latest}")


def list_(context: typer.Context, json: Json = False, quiet: Quiet = False) -> None:
    """Show the policies, the maintainers, the signers, and what is pinned.

    Ends with 1 when a policy is not to be believed.

    Examples:

        kstore trust list
    """
    from kstore.actions.trust.list_ import list_trust
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        trust = list_trust(registry)
    if json:
        output.json(trust)
    else:
        show(trust)
    for problem in trust.problems:
        output.complain(f"{problem.code}: {problem.path}: {problem.message}")
    if not trust.policies and not trust.problems:
        output.note("this registry has no trust policy; `kstore trust init` makes one", quiet=quiet)
    elif not trust.trusted and trust.pinned is None:
        output.note("nothing is pinned in this clone: these keys are what the registry says of itself", quiet=quiet)
    if trust.problems:
        raise typer.Exit(1)


def export(
    context: typer.Context,
    allowed_signers: Annotated[
        bool, typer.Option("--allowed-signers", help="As an allowed signers file of OpenSSH.")
    ] = False,
) -> None:
    """Write the trusted keys in a form that other programs read.

    `git verify-commit` (gpg.ssh.allowedSignersFile) and `ssh-keygen -Y verify` take it. Revoked keys are left out.

    Examples:

        kstore trust export --allowed-signers > allowed_signers
    """
    from kstore.actions.trust.export import export_allowed_signers
    from kstore.registry import Registry

    if not allowed_signers:
        raise UsageError("say in which form: --allowed-signers")
    with Registry.open(context.obj) as registry:
        lines = export_allowed_signers(registry)
    for line in lines:
        output.line(line)


COMMANDS = {
    "init": init,
    "add": add,
    "revoke": revoke,
    "threshold": threshold,
    "require": require,
    "sign": sign,
    "pin": pin,
    "list": list_,
    "export": export,
}
