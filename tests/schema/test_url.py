from __future__ import annotations

import re

import can_ada
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kstore.schema.url import _PLAIN, _Url, is_url


def accepted_by_the_parser(text: str) -> bool:
    try:
        return bool(can_ada.parse(text).protocol == "https:")
    except ValueError:
        return False


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org",
        "https://example.org:8443/a/../b?c=%zz#e",
        "https://a-b--c.x-/",
        "HTTPS:example.org",
        " https://example.org\n",
        "https://user:word@example.org",
        "https://127.1/",
        "https://[::1]/",
        "https://\u65e5\u672c.example",
        "https://example.org/" + "a" * 1980,
        "https://example.org/" + "\U0001f600" * 990,
    ],
)
def test_accepts(text: str) -> None:
    assert is_url(text)
    assert _Url.read(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "example.org",
        "//example.org",
        "http://example.org",
        "https://",
        "https://exa mple.org",
        "https://example.org:65536",
        "https://example.org:-1",
        "https://a.256.256.256.256",
        "https://1.2.3.4.5",
        "https://xn--zzzzzzzzzzzz.example",
        "https://a<b",
        "https://example.org/\ud800",
        "https://example.org/" + "a" * 1981,
        "https://example.org/" + "\U0001f600" * 990 + "a",
    ],
)
def test_refuses(text: str) -> None:
    assert not is_url(text)
    with pytest.raises(ValueError, match="expected an https URL of at most 2000 characters, found "):
        _Url.read(text)


@pytest.mark.parametrize("value", [None, 1, True, ["https://example.org"], {}])
def test_refuses_what_is_no_text(value: object) -> None:
    with pytest.raises(ValueError, match="expected an https URL"):
        _Url.read(value)


HOSTS = st.lists(st.text("abnx0-", min_size=1, max_size=4), min_size=1, max_size=3).map(".".join)
TAILS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.builds("https://{}{}{}".format, HOSTS, st.sampled_from(["", ":8", ":9999", "/", "?", "#"]), TAILS))
@example('https://a/?#\\|<>"^`{}%')
@example("https://-.a-")
@example("https://xn--a.b")
@example("https://a.xn--b")
@example("https://a.0x1")
@example("https://ab--c.xn-a:9999")
def test_what_is_taken_without_the_parser_is_accepted_by_it(text: str) -> None:
    assert accepted_by_the_parser(text) or not _PLAIN.fullmatch(text)


@pytest.mark.parametrize(
    "text", ["https://a", "https://example.org:8443/a?b#c", "https://a-b--c.x-/", "https://1.a?\\|"]
)
def test_ordinary_urls_need_no_parser(text: str) -> None:
    assert _PLAIN.fullmatch(text)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ahttps:/.-0x1[]@?#%\t \u00e9\U0001f600"), max_size=12).map("https://".__add__))
def test_the_verdict_is_the_parsers(text: str) -> None:
    assert is_url(text) == accepted_by_the_parser(text)


@pytest.mark.parametrize("text", ["https:a", "HtTpS:a", "\x00\x1f https:a", "h\ntt\tp\rs\n:a"])
def test_the_pattern_for_json_schema_takes_every_spelling_of_the_scheme(text: str) -> None:
    assert is_url(text)
    assert re.search(_Url.json_schema["pattern"], text)


@pytest.mark.parametrize("text", ["http:a", "a https:a", "https", "\u00a0https:a"])
def test_the_pattern_for_json_schema_refuses_other_schemes(text: str) -> None:
    assert not is_url(text)
    assert not re.search(_Url.json_schema["pattern"], text)
