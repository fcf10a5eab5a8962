import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.digest import Digest

EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_digest_of_nothing_is_the_published_one() -> None:
    assert Digest.of(b"") == f"sha256:{EMPTY}"


@given(st.binary())
def test_a_digest_is_the_sha256_of_the_bytes_and_reads_back_in_both_spellings(data: bytes) -> None:
    digest = Digest.of(data)
    assert digest.hex == hashlib.sha256(data).hexdigest()
    assert Digest.parse(digest) == Digest.parse(digest.hex) == digest
    assert type(Digest.parse(digest.hex)) is Digest


def test_a_digest_is_the_string_that_it_shows() -> None:
    digest = Digest.parse(EMPTY)
    assert hash(digest) == hash("sha256:" + EMPTY)
    assert f"{digest}" == "sha256:" + EMPTY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256:",
        EMPTY[:-1],
        EMPTY + "0",
        EMPTY.upper(),
        f"SHA256:{EMPTY}",
        f"sha512:{EMPTY}",
        f"sha256:sha256:{EMPTY}",
        f"sha256:{EMPTY}\n",
        f" {EMPTY}",
        f"sha256: {EMPTY}",
        "g" + EMPTY[1:],
        "\N{FULLWIDTH DIGIT ONE}" + EMPTY[1:],
    ],
)
def test_what_is_no_digest_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="expected sha256: and 64 lower-case hexadecimal digits") as caught:
        Digest.parse(text)
    assert repr(text) in str(caught.value)


@given(st.binary(min_size=32, max_size=32))
def test_a_digest_goes_to_its_32_bytes_and_back(raw: bytes) -> None:
    digest = Digest.from_raw(raw)
    assert digest.raw == raw
    assert Digest.parse(digest.hex) == digest
    assert type(digest) is Digest
