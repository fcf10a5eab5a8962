from __future__ import annotations

import pytest

from kstore.errors import InvalidDocumentError, KstoreError
from kstore.reading.limits import MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_TAG_DIRECTIVES
from kstore.reading.yaml_events import check_text, events


def refused(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        check_text(text, "f")
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("char", "escape"),
    [
        ("\x01", "\\x01"), ("\x1b", "\\x1B"), ("\x7f", "\\x7F"), ("\x80", "\\x80"), ("\x85", "\\x85"),
        ("\x9f", "\\x9F"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\ufffe", "\\uFFFE"), ("\uffff", "\\uFFFF"),
    ],
)  # fmt: skip
def test_characters_that_yaml_1_1_reads_differently_are_refused_with_their_escape(char: str, escape: str) -> None:
    assert refused(f'a: b\nc: "d{char}"\n') == [
        f"f:2:6: found the raw character U+{ord(char):04X}; write it as `{escape}` in double quotes"
    ]
    (value,) = [event for event in events(f'"{escape}"', "f") if type(event).__name__ == "ScalarEvent"]
    assert getattr(value, "value", None) == char


def test_every_such_character_is_reported_up_to_the_limit() -> None:
    assert [fault.split(": ")[0] for fault in refused("a: \u2028b\nc: \ufeff")] == ["f:1:4", "f:2:4"]
    assert len(refused("\x7f" * 100_000)) == MAX_FAULTS + 1


def test_plain_characters_beyond_ascii_pass() -> None:
    check_text("a: é\u00a0日本語\U0001f600\ue000\ufffd\U0001ffff\t\r\n", "f")


def test_a_text_is_at_most_1_mib_in_bytes() -> None:
    check_text("é" * (MAX_DOCUMENT_BYTES // 2), "f")
    assert refused("é" * (MAX_DOCUMENT_BYTES // 2) + "a") == [
        "f: expected at most 1,048,576 bytes of YAML, found 1,048,577"
    ]


def test_tag_directives_are_bounded() -> None:
    directives = "".join(f"%TAG !a{number}! tag:x\n" for number in range(50_000))
    assert refused(directives + "---\na: b") == [
        f"f:{MAX_TAG_DIRECTIVES + 1}:1: expected at most {MAX_TAG_DIRECTIVES} %TAG directives, found 50000"
    ]
    check_text("".join(directives.splitlines(keepends=True)[:MAX_TAG_DIRECTIVES]) + "---\na: b", "f")


@pytest.mark.parametrize("version", ["1.1", "1.0", "1.3", "2.0"])
def test_another_version_of_yaml_is_refused(version: str) -> None:
    assert refused(f"%YAML {version}\n---\na: yes") == [
        f"f:1:1: expected YAML 1.2, found a text that declares `{version}`; remove the %YAML directive"
    ]
    assert refused(f"%TAG ! tag:x\n%YAML {version} # why\n---\na: yes")[0].startswith("f:2:1: expected YAML 1.2")
    check_text(f"a: |\n  %YAML {version}\n", "f")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: b: c",
            (
                "f:1:5: no YAML: mapping values are not allowed in this context; "
                "put a value that has `: ` in it in quotes, or check the indentation"
            ),
        ),
        (
            "a: @b",
            (
                "f:1:4: no YAML: while scanning for the next token, found character that cannot start any token; "
                "put `@` in quotes"
            ),
        ),
        (
            "\ta: b",
            (
                "f:1:1: no YAML: while scanning for the next token, found character that cannot start any token; "
                "indent with spaces, not with tabs"
            ),
        ),
        (
            "a: [b,\nc: d",
            (
                "f:2:5: no YAML: while parsing a flow sequence that begins at line 1, column 4, "
                "did not find expected ',' or ']'"
            ),
        ),
        (
            'a: "\\ud83d\\ude00"',
            (
                "f:1:7: no YAML: while parsing a quoted scalar, found invalid Unicode character escape code; "
                "write a character beyond U+FFFF as one `\\U` and eight digits"
            ),
        ),
    ],
)
def test_what_libyaml_says_comes_with_its_place_and_with_advice(text: str, message: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        list(events(text, "f"))
    assert str(caught.value) == message


def test_without_libyaml_there_is_no_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    with pytest.raises(KstoreError, match="PyYAML with libyaml"):
        list(events("a: b", "f"))
