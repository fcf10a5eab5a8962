from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope as TheirEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, Key, SSlibKey

from kstore.attest.envelope import MAX_SIGNATURES, Envelope, EnvelopeError, pae, sealed
from kstore.attest.key import PublicKey
from kstore.attest.signing import sign_payload
from kstore.attest.statement import PAYLOAD_TYPE, Retraction, statement_bytes
from kstore.canonical import canonical
from kstore.digest import Digest
from tests.registries import RUN

PRIVATE = [Ed25519PrivateKey.from_private_bytes(bytes([number] * 32)) for number in range(1, 4)]
KEYS = [PublicKey(private.public_key().public_bytes_raw()) for private in PRIVATE]
THEIR_KEYS: list[Key] = [SSlibKey(key.id, "ed25519", "ed25519", {"public": key.raw.hex()}) for key in KEYS]
SIGNERS = [
    CryptoSigner(private, key) for private, key in zip(PRIVATE, THEIR_KEYS, strict=True) if isinstance(key, SSlibKey)
]
KNOWN = {key.id: key for key in KEYS}

PAYLOAD = statement_bytes("my-run", Digest(RUN), Retraction("wrong"))
DATA = sign_payload(PAYLOAD_TYPE, PAYLOAD, SIGNERS[:2]).to_bytes()


def accepted(data: bytes) -> bool:
    """Tell whether every signature of an envelope is of a known key, and right."""
    try:
        envelope = Envelope.from_bytes(data)
    except EnvelopeError:
        return False
    return all(
        each.keyid in KNOWN and KNOWN[each.keyid].verifies(each.sig, envelope.signed) for each in envelope.signatures
    )


def by_the_words(data: bytes, raw: bytes) -> bytes:
    """Verify as DSSE's `protocol.md` says, with one key, and give the payload.

    It knows nothing of kstore: SERIALIZED_BODY and TYPE come from the envelope, PAE puts their lengths in ASCII
    decimal and single spaces between them.
    """
    envelope = json.loads(data)
    body = base64.b64decode(envelope["payload"])
    kind = envelope["payloadType"].encode("utf-8")
    encoded = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(body)).encode(), body])
    for signature in envelope["signatures"]:
        try:
            Ed25519PublicKey.from_public_bytes(raw).verify(base64.b64decode(signature["sig"]), encoded)
        except InvalidSignature:
            continue
        assert isinstance(body, bytes)
        return body
    raise InvalidSignature


def changed(**fields: Any) -> bytes:
    """Give the envelope with other fields, spelled canonically."""
    return canonical({**json.loads(DATA), **fields})


def with_signatures(*signatures: dict[str, Any]) -> bytes:
    return changed(signatures=list(signatures))


SIGNATURES: list[dict[str, Any]] = json.loads(DATA)["signatures"]


def test_securesystemslib_verifies_our_envelopes() -> None:
    theirs = TheirEnvelope.from_dict(json.loads(DATA))
    assert set(theirs.verify(THEIR_KEYS[:1], 1)) == {KEYS[0].id}
    assert set(theirs.verify(THEIR_KEYS, 2)) == {KEYS[0].id, KEYS[1].id}
    assert theirs.payload == PAYLOAD
    with pytest.raises(VerificationError):
        theirs.verify(THEIR_KEYS, 3)
    with pytest.raises(VerificationError):
        theirs.verify(THEIR_KEYS[2:], 1)


def test_a_verifier_by_the_words_of_dsse_verifies_our_envelopes() -> None:
    for key in KEYS[:2]:
        assert by_the_words(DATA, key.raw) == PAYLOAD
    with pytest.raises(InvalidSignature):
        by_the_words(DATA, KEYS[2].raw)


def test_sigstore_for_node_verifies_our_envelopes(tmp_path: Path) -> None:
    one = sign_payload(PAYLOAD_TYPE, PAYLOAD, SIGNERS[:1]).to_bytes()
    assert node("verify", tmp_path, one, KEYS[0]) == "verified"
    assert node("verify", tmp_path, one, KEYS[1]) == "SIGNATURE_ERROR"
    swapped = one.replace(base64.b64encode(PAYLOAD), base64.b64encode(PAYLOAD.replace(b"wrong", b"right")))
    assert node("verify", tmp_path, swapped, KEYS[0]) == "SIGNATURE_ERROR"


def test_envelopes_of_securesystemslib_verify() -> None:
    theirs = TheirEnvelope(PAYLOAD, PAYLOAD_TYPE, {})
    for signer in sorted(SIGNERS[:2], key=lambda signer: signer.public_key.keyid):
        theirs.sign(signer)
    assert canonical(theirs.to_dict()) == DATA
    assert accepted(canonical(theirs.to_dict()))


def test_envelopes_by_the_words_of_dsse_verify() -> None:
    encoded = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(PAYLOAD)} ".encode() + PAYLOAD
    signature = {"keyid": KEYS[2].id, "sig": base64.b64encode(PRIVATE[2].sign(encoded)).decode()}
    assert accepted(with_signatures(signature))


def test_envelopes_of_sigstore_for_node_verify(tmp_path: Path) -> None:
    theirs = json.loads(node("sign", tmp_path, PAYLOAD, KEYS[0], PRIVATE[0].private_bytes_raw().hex()))
    assert canonical(theirs) == sign_payload(PAYLOAD_TYPE, PAYLOAD, SIGNERS[:1]).to_bytes()


def test_the_example_of_the_specification() -> None:
    """DSSE's `protocol.md` gives this one."""
    assert pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@given(st.binary(max_size=200), st.dictionaries(st.sampled_from(list(KNOWN)), st.binary(max_size=80), min_size=1))
def test_every_envelope_reads_back_and_is_canonical(payload: bytes, signatures: dict[str, bytes]) -> None:
    envelope = sealed("application/x", payload, signatures)
    data = envelope.to_bytes()
    assert Envelope.from_bytes(data) == envelope
    assert canonical(json.loads(data)) == data


def test_every_flipped_bit_is_refused() -> None:
    assert accepted(DATA)
    passed = []
    for bit in range(len(DATA) * 8):
        flipped = bytearray(DATA)
        flipped[bit // 8] ^= 1 << bit % 8
        if accepted(bytes(flipped)):
            passed.append(bit)
    assert passed == []


def test_every_byte_dropped_or_doubled_is_refused() -> None:
    for at in range(len(DATA)):
        assert not accepted(DATA[:at] + DATA[at + 1 :])
        assert not accepted(DATA[: at + 1] + DATA[at:])


@given(st.data())
def test_signatures_are_for_one_payload_and_one_type(data: st.DataObject) -> None:
    """The lengths in PAE keep what is at a border from moving over it."""
    moved = data.draw(st.integers(1, 20))
    kind, payload = "application/x", b"a" * 40
    at = len(kind) - min(moved, 10)
    envelope = sign_payload(kind, payload, SIGNERS[:1])
    other = Envelope(kind[at:].encode() + payload, kind[:at] + "x", envelope.signatures)
    assert not KEYS[0].verifies(other.signatures[0].sig, other.signed)


def test_a_payload_swapped_between_records_is_refused() -> None:
    other = statement_bytes("other-run", Digest(RUN), Retraction("wrong"))
    assert not accepted(changed(payload=base64.b64encode(other).decode()))


def test_a_key_that_claims_anothers_id_is_refused() -> None:
    forged = sign_payload(PAYLOAD_TYPE, PAYLOAD, SIGNERS[2:]).signatures[0]
    assert not accepted(sealed(PAYLOAD_TYPE, PAYLOAD, {KEYS[0].id: forged.sig}).to_bytes())


def test_one_wrong_signature_among_right_ones_is_refused() -> None:
    right = {each.keyid: each.sig for each in Envelope.from_bytes(DATA).signatures}
    assert accepted(sealed(PAYLOAD_TYPE, PAYLOAD, right).to_bytes())
    assert not accepted(sealed(PAYLOAD_TYPE, PAYLOAD, {**right, KEYS[2].id: bytes(64)}).to_bytes())


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"null", id="null"),
        pytest.param(b"[]", id="array"),
        pytest.param(b"\xff", id="no UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(DATA[:-1] + b',"x":' + b"[" * 100_000, id="deep below"),
        pytest.param(DATA + b"\n", id="newline at the end"),
        pytest.param(b"\xef\xbb\xbf" + DATA, id="byte-order mark"),
        pytest.param(DATA.replace(b":", b": ", 1), id="white space"),
        pytest.param(DATA.replace(b'"payload"', b'"p\\u0061yload"'), id="escaped key"),
        pytest.param(json.dumps(dict(reversed(json.loads(DATA).items())), separators=(",", ":")).encode(), id="order"),
        pytest.param(DATA[:-1] + b',"payloadType":"application/vnd.in-toto+json"}', id="field twice"),
        pytest.param(changed(more=1), id="unknown field"),
        pytest.param(with_signatures({**SIGNATURES[0], "more": 1}), id="unknown field in a signature"),
        pytest.param(changed(signatures=[]), id="no signature"),
        pytest.param(with_signatures(SIGNATURES[0], SIGNATURES[0]), id="one key twice"),
        pytest.param(with_signatures(SIGNATURES[1], SIGNATURES[0]), id="signatures not sorted"),
        pytest.param(with_signatures({"sig": SIGNATURES[0]["sig"]}), id="no key id"),
        pytest.param(with_signatures({**SIGNATURES[0], "keyid": ""}), id="empty key id"),
        pytest.param(
            with_signatures({**SIGNATURES[0], "keyid": SIGNATURES[0]["keyid"] + "\n"}), id="line end in an id"
        ),
        pytest.param(with_signatures({**SIGNATURES[0], "keyid": "é" * 50}), id="another id"),
        pytest.param(with_signatures({**SIGNATURES[0], "sig": None}), id="null"),
        pytest.param(changed(payloadType="no type"), id="no media type"),
        pytest.param(changed(payloadType="a/" + "b" * 300), id="long media type"),
        pytest.param(changed(payload=base64.b64encode(PAYLOAD).decode() + "===="), id="padding"),
        pytest.param(changed(payload=base64.b64encode(PAYLOAD).decode().rstrip("=") + "\n"), id="base64 in lines"),
        pytest.param(changed(payload="%%%%"), id="no base64"),
        pytest.param(changed(payload="YQ"), id="base64 without padding"),
        pytest.param(changed(payload="YR=="), id="base64 with bits left over"),
        pytest.param(changed(payload="-_-_"), id="the other alphabet of base64"),
        pytest.param(with_signatures({**SIGNATURES[0], "sig": SIGNATURES[0]["sig"][:-2]}), id="signature cut"),
    ],
)
def test_what_is_no_envelope_is_refused(data: bytes) -> None:
    with pytest.raises(EnvelopeError):
        Envelope.from_bytes(data)


def test_signatures_are_bounded() -> None:
    keys = [f"SHA256:{number:043}" for number in range(MAX_SIGNATURES + 1)]
    Envelope.from_bytes(sealed("a/b", b"", dict.fromkeys(keys[:-1], b"")).to_bytes())
    with pytest.raises(EnvelopeError, match="length <= 64"):
        Envelope.from_bytes(sealed("a/b", b"", dict.fromkeys(keys, b"")).to_bytes())


def test_a_huge_envelope_of_wrong_signatures_is_refused() -> None:
    assert not accepted(sealed(PAYLOAD_TYPE, b"x" * 700_000, {KEYS[0].id: bytes(64)}).to_bytes())


NODE = r"""
const { createRequire } = require('module');
const crypto = require('crypto'), fs = require('fs');
const [mode, modules, file, raw, secret] = process.argv.slice(2);
const load = createRequire(modules + '/');
const { bundleFromJSON, envelopeToJSON } = load('@sigstore/bundle');
const { Verifier, toSignedEntity } = load('@sigstore/verify');
const data = fs.readFileSync(file);
const url = hex => Buffer.from(hex, 'hex').toString('base64url');
if (mode === 'sign') {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: url(raw), d: url(secret) };
  const key = crypto.createPrivateKey({ key: jwk, format: 'jwk' });
  const kind = 'application/vnd.in-toto+json';
  const pae = Buffer.concat([Buffer.from(`DSSEv1 ${kind.length} ${kind} ${data.length} `), data]);
  const keyid = process.argv[7];
  console.log(JSON.stringify(envelopeToJSON(
    { payload: data, payloadType: kind, signatures: [{ keyid, sig: crypto.sign(null, pae, key) }] })));
} else {
  const envelope = JSON.parse(data);
  const key = crypto.createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: url(raw) }, format: 'jwk' });
  const bundle = bundleFromJSON({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: envelope.signatures[0].keyid }, tlogEntries: [] },
    dsseEnvelope: envelope,
  });
  const trust = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [],
    publicKey: () => ({ publicKey: key, validFor: () => true }) };
  try {
    new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 }).verify(toSignedEntity(bundle));
    console.log('verified');
  } catch (error) { console.log(error.code); }
}
"""


def node(mode: str, folder: Path, data: bytes, key: PublicKey, secret: str = "") -> str:
    """Run npm's sigstore on a file, where KSTORE_SIGSTORE_MODULES says that it is installed."""
    modules = os.environ.get("KSTORE_SIGSTORE_MODULES", "")
    if shutil.which("node") is None or not Path(modules, "@sigstore", "verify").is_dir():
        pytest.skip("npm's @sigstore/verify is not here; KSTORE_SIGSTORE_MODULES names the node_modules that has it")
    (folder / "script.cjs").write_text(NODE)
    (folder / "data").write_bytes(data)
    command = ["node", f"{folder}/script.cjs", mode, modules, f"{folder}/data", key.raw.hex(), secret, key.id]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
