"""What tools do to canonical files is recognised."""

from __future__ import annotations

import json

import pytest

from kstore.actions.diagnose import diagnose
from kstore.digest import Digest

BODY = {"apiVersion": "x", "kind": "y", "spec": {"a": [1, "é"]}}
DATA = json.dumps(BODY, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (DATA + b"\n", "a newline was added at its end, as"),
        (DATA + b"\n\n", "a newline was added at its end, as"),
        (DATA + b"\r\n", "a newline was added at its end (CRLF), as"),
        (b"\xef\xbb\xbf" + DATA, "a byte-order mark was put at its start"),
        (b"\xef\xbb\xbf" + DATA + b"\r\n", "a byte-order mark was put at its start"),
        (json.dumps(BODY).encode(), "it was formatted, and says the same"),
        (json.dumps(BODY, indent=4).encode() + b"\n", "it was formatted, and says the same"),
        (json.dumps(BODY, indent=4).replace("\n", "\r\n").encode(), "it was formatted and has CRLF line ends"),
        (json.dumps({**BODY, "metadata": {"name": "z"}}).encode(), "it is a whole document"),
        (DATA.replace(b"1", b"2"), "it says something else now"),
        (b"null", "it says something else now"),
        (b"", None),
        (DATA[:-1], None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_diagnosis(data: bytes, said: str | None) -> None:
    found = diagnose(Digest.of(DATA), data)
    assert found is None if said is None else found is not None and found.startswith(said)
