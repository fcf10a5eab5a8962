"""`kstore key generate` and `kstore key show`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Json, Quiet
from kstore.cli.passphrase import new_passphrase, passphrase

HELP = "Make a key to sign with, and show what is public of one."


def generate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to write the private key; FILE.pub gets the rest.")
    ],
    no_passphrase: Annotated[
        bool, typer.Option("--no-passphrase", help="Do not ask for a passphrase, and do not encrypt the key.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make an Ed25519 key, in the format of OpenSSH.

    Nothing is ever overwritten. The key is encrypted with the passphrase in KSTORE_KEY_PASSPHRASE, or with one
    that is asked for on a terminal; otherwise only its file's mode, 0600, protects it. `ssh-keygen -t ed25519`
    makes such keys as well.

    Examples:

        kstore key generate ~/.ssh/results
    """
    from kstore.attest.private_key import generate as generate_key

    secret = "" if no_passphrase else new_passphrase()
    key = generate_key(file, secret or None)
    _show(str(key), key.id, json=json)
    output.note(f"{file} is the private key: keep it to yourself; {file}.pub is for everybody", quiet=quiet)
    if not secret:
        output.note("it is not encrypted; `ssh-keygen -p -f FILE` gives it a passphrase", quiet=quiet)


def show(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A private or a public key.")],
    json: Json = False,
) -> None:
    """Print what is public of a key: as OpenSSH writes it on one line, and its id.

    The id is the SHA256 fingerprint that `ssh-keygen -l` prints; signatures and policies have it.

    Examples:

        kstore key show ~/.ssh/id_ed25519

        kstore key show --json key.pub | jq -r .id
    """
    from kstore.attest.private_key import public_key_in

    key = public_key_in(file, lambda: passphrase(file))
    _show(str(key), key.id, json=json)


def _show(public: str, key_id: str, *, json: bool) -> None:
    if json:
        output.json({"id": key_id, "publicKey": public})
    else:
        output.line(public)
        output.line(key_id)


COMMANDS = {"generate": generate, "show": show}
