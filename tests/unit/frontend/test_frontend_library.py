"""The library as kernel IR: what it defines, in what form, and how it is kept on disk."""

from __future__ import annotations

import re
import runpy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adreno_sim.base.errors import UnsupportedError
from adreno_sim.frontend import builtin_library, library_cache
from adreno_sim.frontend.mangling import demangle
from adreno_sim.ir import ir

PLAIN_UNITS = sorted(set(builtin_library._UNITS) - builtin_library._POINTER_UNITS)
INTRINSICS = {"fma", "sqrt", "fabs", "floor", "trunc", "copysign", "bitreverse"}
BRANCHING = {
    "sin",
    "cos",
    "tan",
    "half_sin",
    "half_cos",
    "half_tan",
    "native_sin",
    "native_cos",
    "native_tan",
    "fmod",
    "remainder",
}
"""Angles beyond 2^30 take another way; a remainder is a loop."""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An empty cache in memory and on disk; the folder of the latter."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    builtin_library._texts.cache_clear()
    builtin_library._functions.clear()
    yield tmp_path / "library"
    builtin_library._texts.cache_clear()
    builtin_library._functions.clear()


def instructions(function: ir.Function) -> list[ir.Instr]:
    return [instr for block in function.blocks for instr in block.instrs]


@pytest.mark.parametrize("unit", PLAIN_UNITS)
def test_units_define_what_the_table_says(unit):
    defined = {demangle(name).name for name in builtin_library._texts(builtin_library._Unit(unit))}
    assert defined == set(builtin_library._UNITS[unit].split())


@pytest.mark.parametrize("unit", PLAIN_UNITS)
def test_every_function_reads_calls_only_simple_intrinsics_and_does_not_branch(unit):
    names = list(builtin_library._texts(builtin_library._Unit(unit)))
    for name, function in builtin_library.functions(names).items():
        code = instructions(function)
        called = {instr.callee.name for instr in code if instr.callee}
        assert {re.fullmatch(r"llvm\.(\w+)\..*", callee)[1] for callee in called} <= INTRINSICS, name
        assert (len(function.blocks) > 1) == (demangle(name).name in BRANCHING), name
        assert not any(instr.op == "alloca" for instr in code), name
        assert [str(p.type) for p in function.params] == [spelled_type(arg) for arg in demangle(name).args], name


def spelled_type(spelled: str) -> str:
    words = {
        "char": "i8",
        "uchar": "i8",
        "short": "i16",
        "ushort": "i16",
        "int": "i32",
        "uint": "i32",
        "long": "i64",
        "ulong": "i64",
    }
    match = re.fullmatch(r"([a-z]+)(\d*)", spelled)
    elem = words.get(match[1], match[1])
    return f"<{match[2]} x {elem}>" if match[2] else elem


POINTERS = {"__private": "P", "__global": "PU3AS1", "__local": "PU3AS3", "__generic": "PU3AS4"}


@pytest.mark.parametrize("space", POINTERS)
@pytest.mark.parametrize(
    "name, second", [("fract", "f"), ("modf", "f"), ("sincos", "f"), ("frexp", "i"), ("lgamma_r", "i"), ("remquo", "i")]
)
def test_second_results_go_to_every_address_space(name, second, space):
    first = "ff" if name == "remquo" else "f"
    mangled = f"_Z{len(name)}{name}{first}{POINTERS[space]}{second}"
    assert demangle(mangled).args[-1].startswith(space)
    function = builtin_library.functions([mangled])[mangled]
    (store,) = [instr for instr in instructions(function) if instr.op == "store"]
    assert store.operands[1] is function.params[-1]


@pytest.mark.parametrize(
    "mangled", ["_Z6sincosDv4_fPU3AS1S_", "_Z5frexpDv3_DhPU3AS4Dv3_i", "_Z6remquoDv16_fS_PDv16_i", "_Z4modfDv2_DhPU3AS3S_"]
)
def test_second_results_of_vectors_are_functions_of_their_own(mangled):
    assert builtin_library.scalar_of(demangle(mangled)) == mangled
    assert builtin_library.functions([mangled])[mangled].name == mangled


@pytest.mark.parametrize(
    "mangled, scalar",
    [
        ("_Z3expDv4_f", "_Z3expf"),
        ("_Z3expDv8_Dh", "_Z3expDh"),
        ("_Z3powDv4_fS_", "_Z3powff"),
        ("_Z5ldexpDv4_fDv4_i", "_Z5ldexpfi"),
        ("_Z5ldexpDv4_fi", "_Z5ldexpfi"),
        ("_Z3mixDv4_fS_f", "_Z3mixfff"),
        ("_Z10smoothstepffDv4_f", "_Z10smoothstepfff"),
        ("_Z4stepfDv2_f", "_Z4stepff"),
        ("_Z4pownDv3_fDv3_i", "_Z4pownfi"),
        ("_Z3nanDv2_j", "_Z3nanj"),
        ("_Z3expf", "_Z3expf"),
        ("_Z3dotDv4_fS_", "_Z3dotDv4_fS_"),
        ("_Z5crossDv3_DhS_", "_Z5crossDv3_DhS_"),
        ("_Z3expd", None),
        ("_Z3expDv2_d", None),
        ("_Z10native_expDh", None),
        ("_Z3dotDv8_fS_", None),
        ("_Z6sincosff", None),
        ("_Z12no_such_namef", None),
        ("_Z13get_global_idj", None),
    ],
)
def test_scalar_of(mangled, scalar):
    assert builtin_library.scalar_of(demangle(mangled)) == scalar


def test_what_is_missing_is_refused_by_name():
    with pytest.raises(UnsupportedError, match=r"unsupported: exp\(double\)"):
        builtin_library.functions(["_Z3expd"])
    with pytest.raises(UnsupportedError, match=r"unsupported: no_such_name\(float\)"):
        builtin_library.functions(["_Z12no_such_namef"])


def test_the_same_function_is_read_once():
    assert builtin_library.functions(["_Z3expf"])["_Z3expf"] is builtin_library.functions(["_Z3expf"])["_Z3expf"]


def test_a_unit_is_compiled_once_and_then_found_on_disk(fresh, monkeypatch):
    first = builtin_library.functions(["_Z3erff"])["_Z3erff"]
    assert len(list(fresh.iterdir())) == 1
    monkeypatch.setattr(builtin_library, "_compile", lambda unit: pytest.fail("compiled again"))
    builtin_library._texts.cache_clear()
    builtin_library._functions.clear()
    second = builtin_library.functions(["_Z3erff"])["_Z3erff"]
    assert [instr.op for instr in instructions(second)] == [instr.op for instr in instructions(first)]


@pytest.mark.parametrize("damage", ["", "garbage", None])
def test_a_damaged_entry_is_made_again(fresh, damage):
    builtin_library.functions(["_Z3erff"])
    (entry,) = fresh.iterdir()
    whole = entry.read_text()
    entry.write_text(whole[:-40] if damage is None else damage)
    builtin_library._texts.cache_clear()
    builtin_library._functions.clear()
    assert builtin_library.functions(["_Z3erff"])["_Z3erff"].blocks
    assert entry.read_text() == whole


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(blocked))
    library_cache.store("name", "text")
    assert library_cache.load("name") is None


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")))
def test_texts_come_back_as_they_were(tmp_path_factory, text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        library_cache.store("name", text)
        assert library_cache.load("name") == text


@pytest.mark.representative
def test_the_polynomials_are_those_of_their_script():
    script = runpy.run_path(str(builtin_library._FOLDER / "coefficients.py"))
    assert (builtin_library._FOLDER / "shared" / "coefficients.h").read_text() == script["text"]()
