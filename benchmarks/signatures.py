"""Checking 20,000 signed statements, against a bare loop that verifies the same signatures over the same messages.

The bare loop has the key, the messages and the signatures in its hands and does nothing but verify. kstore is measured
twice: with the files' bytes in its hands, from which it reads envelopes and statements, compares names and subjects and
verifies, in one process; and as `kstore verify` does it, where it also finds the files in a working tree, looks up when
each came into history and which policy was in force, in as many processes as pay.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import measure
from benchmarks.results import Comparison
from benchmarks.setting import flush, kstore
from kstore.actions.statements import check_signed
from kstore.attest.envelope import Envelope, pae, sealed
from kstore.attest.judge import examine
from kstore.attest.key import PublicKey
from kstore.attest.statement import PAYLOAD_TYPE, Endorsement, Sha256, statement_bytes
from kstore.digest import Digest
from kstore.layout import attestation_path, signed_place_of
from kstore.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from benchmarks.setting import Setting

_AGAINST = "a bare loop of `Ed25519PublicKey.verify` over the same messages"


def run(setting: Setting) -> None:
    """Measure both."""
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    count = 200 if setting.quick else 20_000
    folder = setting.folder("signatures")
    path, key = folder / "registry", folder / "key"
    setting.run(*kstore(), "init", "--quiet", path)
    setting.run(*kstore(), "key", "generate", "--quiet", key)
    setting.run(*kstore(), "--registry", path, "trust", "init", "--quiet", "--name", "somebody", "--key", key)
    private: Ed25519PrivateKey = load_ssh_private_key(key.read_bytes(), None)  # type: ignore[assignment] # of that kind
    public = PublicKey(private.public_key().public_bytes_raw())
    files = dict(_statement(private, public, number) for number in range(count))
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    setting.run("git", "-C", path, "add", "--all")
    setting.run("git", "-C", path, "commit", "--quiet", "--message", "statements")
    flush()
    envelopes = [Envelope.from_bytes(data) for data in files.values()]
    signed = [(envelope.signatures[0].sig, envelope.signed) for envelope in envelopes]
    with Registry.open(path) as registry:
        check_signed(registry, None, _everything)
        ways: Mapping[str, measure.Timed] = {
            "kstore": measure.function(partial(_examine, files, public)),
            "verify": measure.function(lambda: check_signed(registry, None, _everything)),
            "loop": measure.function(partial(_verify, private, signed)),
        }
        seconds = measure.in_turn(ways, setting.long_runs)
    for way, name, work in (
        ("kstore", "signatures", f"check {count:,} signed statements"),
        ("verify", "signatures-tree", f"verify's check of {count:,} signed statements, working tree"),
    ):
        comparison = Comparison(
            section="signatures", work=work, against=_AGAINST, ours=seconds[way], theirs=seconds["loop"]
        )
        setting.book.compare(name, comparison)


def _statement(private: Ed25519PrivateKey, public: PublicKey, number: int) -> tuple[str, bytes]:
    subject = Digest.of(b"record %d" % number)
    said = Endorsement(Sha256(hashlib.sha256(b"metadata %d" % number).hexdigest()))
    payload = statement_bytes(f"record-{number}", subject, said)
    data = sealed(PAYLOAD_TYPE, payload, {public.id: private.sign(pae(PAYLOAD_TYPE, payload))}).to_bytes()
    return attestation_path(subject, Digest.of(data), 1), data


def _examine(files: Mapping[str, bytes], public: PublicKey) -> None:
    keys = {public.id: public}
    for path, data in files.items():
        place = signed_place_of(path, 1)
        assert place is not None, "it was made by the layout"
        found = examine(path, place, data, keys)
        assert found.keys, found.faults


def _verify(private: Ed25519PrivateKey, signed: Sequence[tuple[bytes, bytes]]) -> None:
    verify = private.public_key().verify
    for signature, message in signed:
        verify(signature, message)


def _everything(_digest: Digest) -> bool:
    return True
