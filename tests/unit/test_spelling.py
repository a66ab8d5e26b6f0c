"""How foreign text is spelled, encoded, and kept from being a command of who reads a log."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.base.json_io import dump_json
from adreno_sim.base.text import spelling
from adreno_sim.base.text.stream import ShownStream, styled

ANY = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"]), st.sampled_from(":#[ \n\rv")))

SPELLED = {
    "plain é ü 漢字": "plain é ü 漢字", "\x1b[0m": "\\x1b[0m", "a\r\nb": "a\\r\\nb", "\0": "\\x00", "caf\udce9": "caf\\xe9",
    "\x85\u2028\u202e": "\\u0085\\u2028\\u202e", "\ud800": "\\ud800", "\U000e0041": "\\U000e0041",
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLED)
def test_a_line(text):
    assert spelling.spell_line(text) == SPELLED[text]


def test_lines_keep_their_ends_and_tabs():
    assert spelling.spell_lines("a\tb\r\nc\rd\n") == "a\tb\nc\\rd\n"


PRINTED = {
    "::error::x": ":\\x3aerror::x", "a ::b\n \t::c": "a ::b\n \t:\\x3ac", ": x\nstd::pair": ": x\nstd::pair",
    "x ##[error]": "x ##\\x5berror]", "##vso[a]": "##vso\\x5ba]", "a##b c[i] #[x]": "a##b c[i] #[x]",
}  # fmt: skip


@pytest.mark.parametrize("text", PRINTED)
def test_commands(text):
    assert spelling.spell_printed(text) == PRINTED[text]


@given(ANY)
def test_what_is_spelled_stays_and_is_printable(text):
    for spell in (spelling.spell_line, spelling.spell_lines, spelling.spell_printed):
        once = spell(text)
        assert spell(once) == once
        assert once.replace("\n", "").replace("\t", "").isprintable()
        assert once.encode() == spelling.encode(once)


@given(ANY)
def test_bytes_come_back_and_encoding_never_fails(text):
    spelling.encode(text).decode()
    data = spelling.encode_exactly(text)
    assert spelling.encode_exactly(spelling.decode(data)) == data


@given(st.binary())
def test_text_of_any_bytes(data):
    assert spelling.encode_exactly(spelling.decode(data)) == data


@given(st.lists(ANY), st.booleans())
def test_a_stream_in_parts_holds_no_command(parts, shared):
    guard = spelling.OutputGuard(shared)
    out = "".join(map(guard.show, parts))
    assert "##[" not in out
    assert not any(line.lstrip(" \t").startswith("::") for line in out.split("\n"))
    if not shared and "\r" not in "".join(parts):
        assert out == spelling.OutputGuard().show("".join(parts))


@given(st.recursive(ANY, lambda inner: st.lists(inner) | st.dictionaries(ANY, inner), max_leaves=5))
def test_json_loses_nothing_but_what_it_cannot_hold(data):
    text = dump_json(data, indent=1)
    assert text.replace("\n", "").isprintable()
    assert "##[" not in text

    def spelled(value):
        if isinstance(value, str):
            return "".join(spelling.spell_char(char) if "\ud800" <= char <= "\udfff" else char for char in value)
        if isinstance(value, list):
            return [spelled(item) for item in value]
        return {spelled(key): spelled(item) for key, item in value.items()}

    assert json.loads(text) == spelled(data)


def test_a_stream_of_another_encoding():
    data = io.BytesIO()
    stream = ShownStream(io.TextIOWrapper(data, encoding="ascii"))
    print("é\udce9 ::", file=stream, flush=True)
    print("\x1b[1m::x\x1b[0m ##[y]", file=styled(stream), flush=True)
    assert data.getvalue() == b"\\xe9\\xe9 ::\n\x1b[1m::x\x1b[0m ##\\x5by]\n"
