"""Paths and digests say the same, settings are read strictly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.layout import (
    Part,
    Place,
    Settings,
    SignedPlace,
    attestation_folder,
    attestation_path,
    checkpoint_path,
    is_folder,
    is_signed_folder,
    name_in_place,
    numbers_in,
    path_of,
    place_of,
    policy_path,
    signed_place_of,
)

digests = st.binary(max_size=8).map(Digest.of)
parts = st.sampled_from(["objects", "metadata"])
fanouts = st.sampled_from([1, 2])

DIGEST = Digest("sha256:" + "0123456789abcdef" * 4)
SETTINGS = {"fanout": 1, "format": 1, "requires": ["environmentDigest", "protocolDigest"]}


@given(parts, digests, fanouts)
def test_place_of_is_the_inverse_of_path_of(part: Part, digest: Digest, fanout: int) -> None:
    path = path_of(part, digest, fanout)
    assert place_of(path, fanout) == Place(part, digest, path)


def test_the_paths_are_those_of_the_format() -> None:
    assert path_of("objects", DIGEST, 1) == f"store/objects/01/{DIGEST.hex}.json"
    assert path_of("metadata", DIGEST, 2) == f"store/metadata/01/23/{DIGEST.hex}.json"


@given(parts, digests, fanouts, st.lists(st.text("0123456789abcdef", min_size=1, max_size=3), max_size=3))
def test_a_file_in_a_wrong_folder_is_recognised_and_says_where_it_belongs(
    part: Part, digest: Digest, fanout: int, folders: list[str]
) -> None:
    right = path_of(part, digest, fanout)
    path = "/".join(["store", part, *folders, f"{digest.hex}.json"])
    place = place_of(path, fanout)
    assert place is not None
    assert place.right == right
    assert (place.right == path) == (folders == right.split("/")[2:-1])


@given(parts, digests, fanouts, fanouts)
def test_a_name_is_in_place_where_its_file_belongs_and_nowhere_else(
    part: Part, digest: Digest, fanout: int, other: int
) -> None:
    path = path_of(part, digest, fanout)
    assert name_in_place(path, fanout) == digest.hex
    moved = path.replace(f"/{digest.hex[:2]}/", f"/{(digest.raw[0] + 1) % 256:02x}/", 1)
    for wrong in (moved, path.upper(), path + "\n", f"{path}x", path.removeprefix("store/")):
        assert name_in_place(wrong, fanout) is None
    assert (name_in_place(path, other) is None) == (other != fanout)


@given(digests)
def test_one_fan_out_takes_no_path_of_the_other(digest: Digest) -> None:
    for fanout, other in ((1, 2), (2, 1)):
        place = place_of(path_of("objects", digest, fanout), other)
        assert place is not None
        assert place.right == path_of("objects", digest, other) != path_of("objects", digest, fanout)


@given(st.text() | st.builds("{}{}{}".format, st.text(), parts, st.text()), fanouts)
def test_whatever_names_a_record_lies_in_the_store(path: str, fanout: int) -> None:
    place = place_of(path, fanout)
    assert place is None or path.startswith(f"store/{place.part}/")


@pytest.mark.parametrize(
    "path",
    [
        f"objects/01/{DIGEST.hex}.json",
        f"/store/objects/01/{DIGEST.hex}.json",
        f"other/store/objects/01/{DIGEST.hex}.json",
        f"store/other/01/{DIGEST.hex}.json",
        f"store/objects/01/{DIGEST.hex}.json\n",
        f"store/objects/01/{DIGEST.hex}.json.orig",
        f"store/objects/01/{DIGEST.hex}",
        f"store/objects/01/{DIGEST.hex[:-1]}.json",
        f"store/objects/01/{DIGEST.hex.upper()}.json",
        f"store/objects/01/sha256:{DIGEST.hex}.json",
        f"store/objects/01/x{DIGEST.hex}.json",
        "store/kstore.json",
        "",
    ],
)
def test_what_is_no_records_file_has_no_place(path: str) -> None:
    assert place_of(path, 1) is None


@given(parts, digests, fanouts)
def test_the_folders_above_a_record_belong_and_no_deeper_ones(part: Part, digest: Digest, fanout: int) -> None:
    steps = path_of(part, digest, fanout).split("/")
    assert all(is_folder("/".join(steps[:end]), fanout) for end in range(1, len(steps)))
    assert not is_folder("/".join([*steps[:-1], "ab"]), fanout)


@pytest.mark.parametrize(
    "path",
    ["", "stores", "store/", "store/other", "store/objects/zz", "store/objects/AB", "store/objects/ab\n", "x/store"],
)
def test_other_folders_do_not_belong(path: str) -> None:
    assert not is_folder(path, 1)


@given(digests, digests, fanouts)
def test_the_place_of_an_attestation_is_the_inverse_of_its_path(subject: Digest, digest: Digest, fanout: int) -> None:
    path = attestation_path(subject, digest, fanout)
    assert signed_place_of(path, fanout) == SignedPlace("attestations", path, subject, digest)
    assert path.rpartition("/")[0] == attestation_folder(subject, fanout)
    assert place_of(path, fanout) is None


@given(st.integers(1, 9_999_999_999))
def test_the_places_of_policies_and_checkpoints_are_the_inverses_of_their_paths(number: int) -> None:
    policy, checkpoint = policy_path(number), checkpoint_path(number)
    # No policy has a number above 10,000, so that a longer name is none's.
    assert signed_place_of(policy, 1) == (SignedPlace("trust", policy, number=number) if number < 100_000 else None)
    assert signed_place_of(checkpoint, 1) == SignedPlace("checkpoints", checkpoint, number=number)
    assert place_of(policy, 1) is place_of(checkpoint, 1) is None


def test_the_paths_of_signed_files_are_those_of_the_format() -> None:
    name = "f" * 64
    digest = Digest("sha256:" + name)
    assert attestation_path(DIGEST, digest, 1) == f"store/attestations/01/{DIGEST.hex}/{name}.json"
    assert attestation_path(DIGEST, digest, 2) == f"store/attestations/01/23/{DIGEST.hex}/{name}.json"
    assert policy_path(1) == "store/trust/1.json"
    assert checkpoint_path(12) == "store/checkpoints/0000000012.json"


@given(digests, digests, fanouts, st.lists(st.text("0123456789abcdef", min_size=1, max_size=3), max_size=3))
def test_an_attestation_in_a_wrong_folder_says_where_it_belongs(
    subject: Digest, digest: Digest, fanout: int, folders: list[str]
) -> None:
    right = attestation_path(subject, digest, fanout)
    path = "/".join(["store/attestations", *folders, subject.hex, f"{digest.hex}.json"])
    place = signed_place_of(path, fanout)
    assert place is not None
    assert place.right == right
    assert (place.right == path) == (folders == right.split("/")[2:-2])


@pytest.mark.parametrize(
    "path",
    [
        "store/trust/0.json",
        "store/trust/01.json",
        "store/trust/1.JSON",
        "store/trust/1.json\n",
        "store/trust/x/1.json",
        "store/trust/12345678901.json",
        "store/trust/¹.json",
        "store/checkpoints/1.json",
        "store/checkpoints/0000000000.json",
        "store/checkpoints/00000000001.json",
        "store/checkpoints/x/0000000001.json",
        "trust/1.json",
        "store/attestations/1.json",
        f"store/attestations/01/{DIGEST.hex}.json",
        f"store/attestations/01/{DIGEST.hex}/x.json",
        f"store/attestations/01/{DIGEST.hex}/{DIGEST.hex}.json.orig",
        f"store/attestations/01/{DIGEST.hex.upper()}/{DIGEST.hex}.json",
        f"store/objects/01/{DIGEST.hex}.json",
        "store/kstore.json",
        "",
    ],
)
def test_what_is_no_signed_file_has_no_place(path: str) -> None:
    assert signed_place_of(path, 1) is None


@given(digests, digests, fanouts)
def test_the_folders_above_a_signed_file_belong_and_no_deeper_ones(
    subject: Digest, digest: Digest, fanout: int
) -> None:
    for path in (attestation_path(subject, digest, fanout), policy_path(1), checkpoint_path(1)):
        steps = path.split("/")
        assert all(is_signed_folder("/".join(steps[:end]), fanout) for end in range(2, len(steps)))
        assert not is_signed_folder("/".join([*steps[:-1], "ab"]), fanout)
        assert not any(is_folder("/".join(steps[:end]), fanout) for end in range(2, len(steps)))


@pytest.mark.parametrize(
    "path",
    ["", "store", "store/objects", "store/attestation", "store/trust/1", "store/attestations/zz", "store/trust\n"],
)
def test_other_folders_have_no_signed_files(path: str) -> None:
    assert not is_signed_folder(path, 1)


@given(fanouts, st.lists(st.sampled_from(["environmentDigest", "workloadDigest", "operation.specDigest"]), unique=True))
def test_settings_are_read_back(fanout: int, requires: list[str]) -> None:
    settings = Settings(fanout=fanout, format=1, requires=tuple(requires))
    assert Settings.from_bytes(settings.to_bytes()) == settings


def test_settings_have_the_bytes_of_the_format() -> None:
    expected = b'{"fanout":1,"format":1,"requires":["environmentDigest","protocolDigest"]}'
    assert Settings(fanout=1, format=1, requires=("environmentDigest", "protocolDigest")).to_bytes() == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"fanout": 3}, "fanout"),
        ({"fanout": True}, "fanout"),
        ({"format": 2}, "format"),
        ({"requires": ["color"]}, "'color'"),
        ({"requires": "protocolDigest"}, "requires"),
        ({"more": 1}, "more"),
    ],
)
def test_other_settings_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(KstoreError, match=said):
        Settings.from_bytes(json.dumps(SETTINGS | change, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        json.dumps(SETTINGS).encode(),
        json.dumps(SETTINGS, separators=(",", ":")).encode() + b"\n",
        b'{"fanout":1,"fanout":1,"format":1,"requires":[]}',
    ],
    ids=["empty", "no fields", "an array", "no UTF-8", "brackets", "spaces", "a newline", "a field twice"],
)
def test_damaged_settings_are_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(KstoreError, match=r"store/kstore\.json: .*restore the file"):
        Settings.from_bytes(data)


def test_numbers_are_taken_from_names_that_are_policies_or_checkpoints() -> None:
    names = ["10.json", "2.json", "02.json", "0000000003.json", "x.json", "1.JSON", "\udcff.json", "2.json/3.json"]
    assert numbers_in("trust", names) == [2, 10]
    assert numbers_in("checkpoints", names) == [3]
