from __future__ import annotations

import pytest

from kstore.errors import InvalidDocumentError
from kstore.reading.json_syntax import too_deep
from kstore.reading.json_text import read_json
from kstore.reading.limits import MAX_NESTING


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1\n "b": 2}', 'f:2:2: expected `,` or `}`, found `"b"`'),
        ("[1 2]", "f:1:4: expected `,` or `]`, found `2`"),
        ('{"a": [{"b": 1}, 2 }', "f:1:20: expected `,` or `]`, found `}`"),
        ('{"a" 1}', "f:1:6: expected `:` after the key, found `1`"),
        ("{a: 1}", "f:1:2: expected a key in double quotes, found `a`"),
        ("{'a': 1}", "f:1:2: expected a key in double quotes, found `'a'`"),
        ("{\"a\": 'b'}", "f:1:7: expected a value, found `'b'`; strings take double quotes"),
        ('{"a": 1,}', "f:1:8: expected no comma before the closing `}`; JSON allows none after the last member"),
        ("[1,\n2,\n]", "f:2:2: expected no comma before the closing `]`; JSON allows none after the last member"),
        ('{"a": 1,,}', "f:1:9: expected a key in double quotes, found `,`"),
        ('{"a": 1, // no\n"b": 2}', "f:1:10: expected JSON, found `//`; JSON has no comments"),
        ('{"a": /* no */ 1}', "f:1:7: expected JSON, found `/*`; JSON has no comments"),
        ('{"a": 1 # no\n}', "f:1:9: expected JSON, found `#`; JSON has no comments"),
        ('{"a": True}', "f:1:7: expected a value, found `True`; JSON writes `true`"),
        ('{"a": None}', "f:1:7: expected a value, found `None`; JSON writes `null`"),
        ('{"a": nan}', "f:1:7: expected a value, found `nan`; JSON has no such number"),
        ('{"a": yes}', "f:1:7: expected a value, found `yes`"),
        ('{"a": .5}', "f:1:7: expected a value, found `.5`"),
        ('{"a": 01}', "f:1:8: expected `,` or `}`, found `1`"),
        ('{"a": 0x1F}', "f:1:8: expected `,` or `}`, found `x1F`"),
        ('{"a": 1e}', "f:1:8: expected `,` or `}`, found `e`"),
        ('{"a": "b', 'f:1:7: the string that begins here has no closing `"`'),
        ('{"a": "b\nc"}', "f:1:9: expected no control character inside a string, found U+000A; escape it"),
        ('{"a": "\\x41"}', "f:1:8: expected an escape that JSON knows, found `\\x41`"),
        ('{"a": "\\u12"}', "f:1:8: expected an escape that JSON knows, found `\\u12`"),
        ('{"a": {"b": 1}', "f:1:1: `{` is never closed: the text ends first"),
        ('{"a": [1, {"b": 1}', "f:1:7: `[` is never closed: the text ends first"),
        ('{"a": ', "f:1:1: `{` is never closed: the text ends first"),
        ("", "f:1:1: expected a value, found the end of the text"),
        ("x", "f:1:1: expected a value, found `x`"),
        ('{"a": 1}}', "f:1:9: expected nothing after the end of the document, found `}`"),
        ('{"a": 1}\x0c', "f:1:9: expected nothing after the end of the document, found `\\u000c`"),
        (
            '{"a": 1}\n{"b": 2}',
            (
                'f:2:1: expected nothing after the end of the document, found `{"b": 2}`; '
                "put several documents into one array (one document a line is for `kstore import`)"
            ),
        ),
        ('{"a": 1\x0c}', "f:1:8: expected `,` or `}`, found `\\u000c`"),
    ],
)
def test_messages(text: str, message: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        read_json(text, 0, "f")
    assert str(caught.value) == message


def test_brackets_in_strings_do_not_nest() -> None:
    assert too_deep('["' + "[" * 100 + '\\"' + "[" * 100 + '"]', 0) is None
    assert too_deep("[" * (MAX_NESTING + 1), 0) == MAX_NESTING
    assert too_deep("[[]" * MAX_NESTING, 0) == 3 * MAX_NESTING - 2
    assert too_deep("[" * MAX_NESTING, 0) is None
