"""C functions as parts of other modules: what is kept of clang's text, which constants they share with Python."""

from __future__ import annotations

import ctypes
import re
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest
from c_functions import WORD, load_functions, shape

from adreno_sim import open_device
from adreno_sim.base.errors import BuildError
from adreno_sim.base.specs import BufferSpec
from adreno_sim.engine.abi import context, kernel_shape, mailbox, race_cells
from adreno_sim.engine.builtins.srgb import lower_edge
from adreno_sim.engine.emit import c_runtime
from adreno_sim.engine.emit.region import PARAMETERS
from adreno_sim.engine.llvm import objects
from adreno_sim.engine.run import native_functions
from adreno_sim.engine.runtime import compiled
from adreno_sim.engine.runtime.constants import declare_structure, define_constants
from adreno_sim.engine.runtime.functions import read_module

TEXT = """\
%struct.s = type { i64 }

@shape = external constant %struct.s, align 8

; Function Attrs: cold noinline nounwind optsize
define dso_local zeroext i8 @rare(ptr readonly captures(none) %p, i8 zeroext %v) local_unnamed_addr #0 {
entry:
  %0 = load i64, ptr @shape, align 8, !tbaa !3
  call void @helper(ptr nonnull %p) #4
  br label %end, !llvm.loop !5

end:                                              ; preds = %entry
  ret i8 %v
}

define internal fastcc void @helper(ptr %p) #1 {
  call void @llvm.experimental.noalias.scope.decl(metadata !9)
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false) #3, !alias.scope !9, !noalias !14
  ret void
}

declare void @llvm.memset.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg) #2

declare void @llvm.experimental.noalias.scope.decl(metadata) #3

attributes #0 = { cold noinline nounwind optsize "target-cpu"="x86-64" }
attributes #1 = { alwaysinline nounwind "target-features"="+cx8" }
"""


def test_only_the_code_of_a_function_is_kept():
    module = read_module(TEXT)
    rare, helper = module.functions["rare"], module.functions["helper"]
    assert rare.text("internal ", "#1") == (
        "define internal i8 @rare(ptr readonly captures(none) %p, i8 %v) #1 {\nentry:\n"
        "  %0 = load i64, ptr @shape, align 8\n  call void @helper(ptr nonnull %p)\n  br label %end\n"
        "end:\n  ret i8 %v\n}"
    )
    assert "i1 false)\n" in helper.text("internal ", "#3")  # attributes of a call go with the metadata behind them
    assert (rare.kind, helper.kind) == ("cold", "alwaysinline")
    assert rare.names == {"shape", "helper"}
    assert helper.names == {"llvm.memset.p0.i64"}
    assert list(module.declarations) == ["llvm.memset.p0.i64"]


def test_a_part_has_what_it_needs_and_no_more():
    module = read_module(TEXT)
    assert set(module.needed_for(["rare", "absent"]).functions) == {"rare", "helper"}
    helper = module.needed_for(["helper"])
    assert set(helper.functions) == {"helper"}
    assert set(helper.declarations) == {"llvm.memset.p0.i64"}
    assert not module.needed_for([]).declarations


def test_a_function_says_how_it_joins_a_kernel():
    called = c_runtime.whole_runtime().needed_for(
        [name for name in c_runtime.whole_runtime().functions if name not in (c_runtime.WORK, *native_functions.SIGNATURES)]
    )
    kernel = {name: function.kind for name, function in called.functions.items() if name != "make_call"}
    assert "" not in kernel.values()
    assert {"run_groups", "report", "shadow_read", "srgb_encode"} <= set(kernel)


def test_no_promise_of_clang_is_left():
    """A value may be undefined or have anything in its upper bits, and no attribute may keep a function out of its caller."""
    for text in (c_runtime.whole_runtime().text(), objects.soft_float_text()):
        for word in ("noundef", "zeroext", "signext", "target-cpu", "no-builtins", "metadata", "!", "vscale"):
            assert f" {word}" not in text, word
        assert not re.search(r"<\d+ x ", text), "vectors of clang's own, which the processor may lack"


def test_code_of_a_kernel_has_one_place():
    """Clang doubles a call for less; regions would be compiled twice."""
    for name, calls in {"run_in_lockstep": "run_region", "run_by_subgroup": "run_region", "run_groups": "group"}.items():
        assert c_runtime.whole_runtime().functions[name].body.count(f"@{calls}(") == 1


def test_the_parameters_of_a_group_are_those_of_the_emitters():
    types = re.findall(r"(ptr|i64)(?: noalias)? %(\w+)", PARAMETERS)
    assert re.findall(r"(ptr|i64)(?: noalias)? %(\w+)", c_runtime.whole_runtime().functions["run_in_lockstep"].head) == types


def test_every_constant_of_the_shared_modules_is_in_the_text():
    text = c_runtime.constants()
    for module in (context, race_cells, kernel_shape, mailbox):
        names = [name for name, value in vars(module).items() if name.isupper() and isinstance(value, int)]
        assert names
        assert all(re.search(rf"^#define {name} ", text, re.M) for name in names)
    assert "#define EPOCH_STEP 4294967296ull\n" in text
    assert "#define ABANDONED (-1)\n" in text


def test_two_constants_of_one_name_are_an_error():
    one, other = ModuleType("one"), ModuleType("other")
    one.SIZE, other.SIZE = 1, 2
    assert define_constants([one]) == "#define SIZE 1\n"
    with pytest.raises(ValueError, match="constant SIZE of other"):
        define_constants([one, other])


def test_a_structure_has_the_fields_of_its_tuple():
    class TwoWords(NamedTuple):
        first: int
        second: int

    text = declare_structure(TwoWords)
    assert text == "struct two_words {\n  __UINT64_TYPE__ first;\n  __UINT64_TYPE__ second;\n};\n"


@pytest.mark.parametrize("files", [*c_runtime.PARTS, ("soft_float.c",)])
def test_clang_has_nothing_to_warn_of(files, monkeypatch):
    monkeypatch.setattr(compiled, "FLAGS", (*compiled.FLAGS, "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"))
    monkeypatch.setenv("ADRENO_SIM_CACHE", "off")
    constants = c_runtime.constants()
    compiled.compile_files(constants, files)
    with pytest.raises(BuildError, match="unused"):
        compiled.compile_files(constants + "static int unused;\n", files)


def test_what_was_compiled_is_kept_until_something_changes(monkeypatch, tmp_path):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("ADRENO_SIM_CACHE", raising=False)
    calls = []
    compile_text = compiled._compile
    monkeypatch.setattr(compiled, "_compile", lambda source: calls.append(source) or compile_text(source))
    first = compiled.compile_files("", ("soft_float.c",))
    assert compiled.compile_files("", ("soft_float.c",)) == first
    assert len(calls) == 1
    compiled.compile_files("#define UNUSED 1\n", ("soft_float.c",))
    monkeypatch.setattr(compiled, "identify_compiler", lambda: "another")
    compiled.compile_files("", ("soft_float.c",))
    monkeypatch.setattr(compiled, "FLAGS", (*compiled.FLAGS, "-O1"))
    compiled.compile_files("", ("soft_float.c",))
    assert len(calls) == 4
    for path in (tmp_path / "runtime").iterdir():
        path.write_bytes(b"damaged")
    compiled.compile_files("", ("soft_float.c",))
    assert len(calls) == 5


REPORT = [ctypes.c_void_p, *[WORD] * 9]


@pytest.fixture(scope="module")
def functions():
    signatures = {"report": REPORT, "keep_first": REPORT, "diverged": [ctypes.c_void_p, *[WORD] * 4]}
    signatures |= {"stopped": [ctypes.c_void_p, *[WORD] * 3], "watched": [ctypes.c_void_p, *[WORD] * 3]}
    signatures |= {"raise_fault": [ctypes.c_void_p, ctypes.c_uint8]}
    return load_functions(signatures, shape(items=64, first_divergence_site=2, first_watchdog_site=5))


@pytest.fixture
def launch():
    """A context block and eight site records."""
    words, sites = np.zeros(context.WORDS, np.uint64), np.zeros((8, context.SITE_WORDS), np.uint64)
    sites[:, context.SITE_ORDER] = 2**64 - 1
    words[context.SITES] = sites.ctypes.data
    return words, sites


def test_a_report_counts_and_keeps_the_first_in_work_item_order(functions, launch):
    words, sites = launch
    for group, local in ((3, 1), (2, 63), (2, 60), (2, 61), (3, 0)):
        functions.report(words.ctypes.data, 1, group, local, *(100 * group + local + n for n in range(6)))
    functions.keep_first(words.ctypes.data, 1, 2, 59, *[7] * 6)
    record = sites[1]
    assert record[context.SITE_COUNT] == 5
    assert record[context.SITE_LOCK] == 0
    assert record[context.SITE_ORDER] == 2 * 64 + 59
    assert list(record[[context.SITE_GROUP, context.SITE_LOCAL]]) == [2, 59]
    assert list(record[context.SITE_VALUES : context.SITE_VALUES + 6]) == [7] * 6
    assert not sites[[0, *range(2, 8)], context.SITE_COUNT].any()


def test_sites_of_synchronisation_points(functions, launch):
    words, sites = launch
    functions.diverged(words.ctypes.data, 0, 1, 2, 1)  # the site of the second
    functions.diverged(words.ctypes.data, 0, 1, 0, 1)  # the end: the site of the other
    functions.stopped(words.ctypes.data, 0, 1, 3)
    assert list(sites[:, context.SITE_COUNT]) == [0, 0, 1, 1, 0, 0, 0, 1]
    assert list(sites[3, context.SITE_VALUES : context.SITE_VALUES + 2]) == [2, 1]


@pytest.mark.parametrize("flag", [0, 1])
def test_a_fault_stops_the_launch(functions, launch, flag):
    words, _ = launch
    functions.raise_fault(words.ctypes.data, flag)
    assert list(words[[context.FAULT_FLAG, context.STOP]]) == [flag, flag]
    assert words.sum() - words[context.SITES] == 2 * flag


@pytest.mark.parametrize("size", [1, 3, 8])
def test_watched_bytes_are_kept_while_there_is_room(functions, launch, size):
    words, _ = launch
    watched, events = np.arange(11, 11 + size, dtype=np.uint8), np.zeros((2, context.EVENT_WORDS), np.uint64)
    words[context.WATCH_LOW], words[context.WATCH_HIGH] = watched.ctypes.data, watched.ctypes.data + size
    words[context.WATCH_EVENTS], words[context.WATCH_CAPACITY] = events.ctypes.data, 1
    for site in (4, 5):
        functions.watched(words.ctypes.data, site, 6, 7)
    assert words[context.WATCH_COUNT] == 2
    assert not events[1].any()
    assert events[0].tolist() == [4, 6, 7, int.from_bytes(watched.tobytes(), "little")]


def test_srgb_bytes_begin_at_their_edges():
    edges = np.array([lower_edge(byte) for byte in range(1, 256)], np.float32)
    function = c_runtime.whole_runtime().functions["srgb_encode"].text("", "nounwind")
    data = ", ".join(f"float 0x{np.float64(edge).view(np.uint64):016X}" for edge in edges)
    code = objects.machine().compile(f"@srgb_edges = internal constant [255 x float] [{data}]\n{function}\n")
    loaded = objects.machine().load(code, "srgb_encode")
    encode = ctypes.CFUNCTYPE(ctypes.c_uint8, ctypes.c_float)(loaded.address)
    assert [encode(edge) for edge in edges] == list(range(1, 256))
    assert [encode(np.nextafter(edge, np.float32(-1))) for edge in edges] == list(range(255))
    assert [encode(value) for value in (np.nan, -np.inf, -1.0, 0.0, -0.0, 1.0, 2.0, np.inf)] == [0, 0, 0, 0, 0, 255, 255, 255]


OWN = "kernel void k(global int *a) { a[get_global_id(0)] = NUMBER; }"
SHARED = "kernel void k(global int *a) { atomic_add(&a[get_global_id(0) % 2], NUMBER); }"


@pytest.mark.parametrize(
    ("counters", "source", "files"),
    [
        (False, OWN, [c_runtime.FILES]),
        (True, OWN, [c_runtime.FILES, c_runtime.WATCHING]),
        (False, SHARED, [c_runtime.FILES, c_runtime.SHARING]),
    ],
    ids=["neither", "counted", "shared"],
)
def test_clang_compiles_what_counts_and_what_finds_races_only_for_launches_that_call_it(
    monkeypatch, tmp_path, counters, source, files
):
    """It is most of the work, and many processes need neither."""
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    compiled_files: list[tuple[str, ...]] = []
    compile_files = compiled.compile_files
    monkeypatch.setattr(
        compiled, "compile_files", lambda constants, files: compiled_files.append(files) or compile_files(constants, files)
    )
    c_runtime.runtime.cache_clear()
    device = open_device("sim:adreno-740", checks="full", counters=counters)
    view = device.view(device.allocate(32), BufferSpec(32, "int32"))
    device.write(view, np.zeros(8, np.int32))
    program = device.build(source.replace("NUMBER", str(7919 + counters)))
    device.launch(program["k"], (8,), None, [view])
    assert compiled_files == files


def test_no_part_of_the_runtime_calls_another():
    for part in c_runtime.PARTS:
        module = c_runtime.runtime(part)
        called = frozenset().union(*(function.names for function in module.functions.values()))
        others = (c_runtime.runtime(other).functions for other in c_runtime.PARTS if other != part)
        assert not called & frozenset().union(*others)
