"""The files of many records are those that each record would have by itself, in the order of their paths."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.actions.new_files import NewFiles
from kstore.digest import Digest
from kstore.git.new_tree import by_folder
from kstore.layout import path_of

digests = st.tuples(st.sampled_from([b"\0\0", b"\0\1", b"\1\0", b"\xff\xff"]), st.binary(min_size=30, max_size=30)).map(
    b"".join
)
blobs = st.binary(min_size=20, max_size=20)


@given(st.dictionaries(digests, st.tuples(blobs, blobs), max_size=8), st.sampled_from([1, 2]))
def test_they_are_two_files_for_each_record(records: dict[bytes, tuple[bytes, bytes]], fanout: int) -> None:
    files = NewFiles({digest: body + metadata + b"more" for digest, (body, metadata) in records.items()}, fanout)
    expected = {}
    for digest, (body, metadata) in records.items():
        expected[path_of("objects", Digest.from_raw(digest), fanout)] = body
        expected[path_of("metadata", Digest.from_raw(digest), fanout)] = metadata
    assert list(files.items()) == sorted(expected.items())
    assert len(files) == len(expected)
    assert all(files[path] == oid for path, oid in expected.items())
    assert list(by_folder(files)) == list(by_folder(dict(sorted(expected.items()))))


def test_another_path_is_none_of_them() -> None:
    files = NewFiles({b"\0" * 32: b"\1" * 40}, 1)
    for path in ("store/kstore.json", path_of("objects", Digest.from_raw(b"\1" * 32), 1)):
        with pytest.raises(KeyError):
            files[path]
