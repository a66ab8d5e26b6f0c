"""Launch files: what is read from them, and the one line that each wrong or missing entry gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adreno_sim import AdrenoSimError
from adreno_sim.findings import Access, Finding, Kind, WorkItem
from adreno_sim.launch_spec import scalars
from adreno_sim.launch_spec.data import DTYPES, Data
from adreno_sim.launch_spec.expected import ExpectedFinding, match
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

BUFFER = '[[argument]]\nkind = "buffer"\nname = "x"\ndtype = "float32"\ncount = 4\n'
IMAGE = '[[argument]]\nkind = "image2d"\nwidth = 4\nheight = 2\n'
GOOD = "global_size = [4]\n" + BUFFER


@pytest.fixture
def launch(tmp_path):
    """Write a launch file and read it."""

    def read(text, variant=""):
        path = tmp_path / "launch.toml"
        path.write_text(text)
        return read_launch(path, variant)

    return read


def complaint(launch, text, variant=""):
    with pytest.raises(AdrenoSimError) as error:
        launch(text, variant)
    message = str(error.value)
    assert "\n" not in message
    assert "launch.toml: " in message
    assert error.value.exit_code == 2
    return message.partition("launch.toml: ")[2]


def test_what_a_file_says(launch, tmp_path):
    spec = launch(
        """
schema = "adreno-sim/launch/1"
source = "k.cl"
kernel = "k"
options = "-DN=4"
device = "sim:adreno-650"
global_size = [8, 4]
local_size = [4, 2]
[run]
checks = "full"
timeout = 2
[storage.pool]
nbytes = 4096
[[argument]]
kind = "buffer"
dtype = "int8"
data = [[1, -2], [3]]
storage = "pool"
offset = 128
[[argument]]
kind = "image2d_array"
width = 3
height = 2
layers = 5
order = "RG"
channel_type = "HALF_FLOAT"
row_pitch = 64
[[argument]]
kind = "scalar"
type = "float4"
value = [1, 2, 3, 4]
[[argument]]
kind = "local"
nbytes = 64
[[argument]]
kind = "sampler"
normalized = true
addressing = "repeat"
filter = "linear"
[[output]]
argument = 1
data = {fill = "constant", value = 2}
tolerance = 0.5
[[allow]]
kernel = "k*"
kind = "data-race"
reason = "an estimate"
expires = 2030-01-31
"""
    )
    assert spec.source == tmp_path / "k.cl"
    assert spec.run == {"checks": "full", "timeout": 2}
    assert spec.findings is None
    buffer, image, scalar, local, sampler = spec.arguments
    assert buffer.data.values == (1, -2, 3)
    assert (buffer.place.storage, buffer.place.offset) == ("pool", 128)
    assert str(image.spec) == "image2d_array 3 x 2 x 5 RG HALF_FLOAT"
    assert image.spec.row_pitch == 64
    assert scalar.type == "float4"
    assert local.nbytes == 64
    assert sampler.sampler.filter == "linear"
    assert spec.outputs[0].tolerance == 0.5
    assert spec.allow[0].expires.year == 2030


def test_a_variant_replaces_keys(launch):
    text = 'options = "-DA"\n' + GOOD + '[variant.other]\noptions = "-DB"\nglobal_size = [2]\n'
    assert launch(text).options == "-DA"
    other = launch(text, "other")
    assert other.options == "-DB"
    assert other.global_size == (2,)
    assert len(other.arguments) == 1
    assert complaint(launch, text, "some") == "no variant 'some'; there are: other"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "global_size: missing: expected a list of 1 to 3 whole numbers, each 0 or more"),
        ("global_size = 4", "global_size: expected a list of 1 to 3 whole numbers, each 0 or more, got 4"),
        ("global_size = [1, 2, 3, 4]", "global_size: expected a list of 1 to 3 whole numbers, each 0 or more, got [1, 2, 3, 4]"),
        ("global_size = [-1]", "global_size: expected a list of 1 to 3 whole numbers, each 0 or more, got [-1]"),
        ("global_size = [1]\ngroup_size = [1]", "group_size: no such key (did you mean global_size?); there are: "),
        ("global_size = [4]\nargument = 3", "argument: expected tables written [[argument]], got 3"),
        ('global_size = [4]\n[[argument]]\nkind = "bufer"', "[[argument]] 1: kind: expected one of buffer, image1d"),
        ("local_size = [4]", "global_size: missing: expected a list of 1 to 3 whole numbers, each 0 or more"),
        (
            "global_sise = [4]",
            "global_size: missing: expected a list of 1 to 3 whole numbers, each 0 or more; there is global_sise",
        ),
        ("global_size = [4]\n[[argument]]", "[[argument]] 1: kind: missing: expected one of buffer"),
        (GOOD.replace('"float32"', '"float"'), "[[argument]] 1 (x): dtype: expected one of int8, uint8"),
        (GOOD.replace("count = 4", "count = 0"), "[[argument]] 1 (x): count: expected a whole number of 1 or more, got 0"),
        (GOOD.replace("count = 4\n", ""), "[[argument]] 1 (x): count: missing: expected a whole number of 1 or more"),
        (GOOD + "data = 5", "[[argument]] 1 (x): data: expected one of zeros, ones"),
        (GOOD + 'data = "one"', "[[argument]] 1 (x): data: expected one of zeros, ones"),
        (GOOD + 'data = ["a"]', "[[argument]] 1 (x): data: expected numbers, got 'a' among them"),
        (GOOD + 'data = {fill = "constant"}', "[[argument]] 1 (x): data: value: missing: expected a number"),
        (GOOD + 'data = {fill = "random", sed = 1}', "[[argument]] 1 (x): data: sed: no such key (did you mean seed?)"),
        (GOOD + 'data = {file = "a.npy", fill = "zeros"}', "[[argument]] 1 (x): data: expected one of zeros"),
        (GOOD + 'storage = "pool"', "[[argument]] 1 (x): storage: expected one of the [storage.NAME] tables (there are none)"),
        (GOOD + "offset = 8", "[[argument]] 1 (x): offset: only an argument with a storage has an offset"),
        ("global_size = [4]\n" + IMAGE + 'order = "RGB"', "[[argument]] 1: order: expected one of R, A, RG"),
        ("global_size = [4]\n" + IMAGE + "layers = 2", "[[argument]] 1: layers: no such key"),
        ('global_size = [4]\n[[argument]]\nkind = "scalar"', "[[argument]] 1: value: missing: expected a number, or a list"),
        (
            'global_size = [4]\n[[argument]]\nkind = "scalar"\ntype = "float4"\nvalue = [1, 2]',
            "[[argument]] 1: value: expected 4 numbers for float4, got 2 values",
        ),
        (
            'global_size = [4]\n[[argument]]\nkind = "scalar"\ntype = "uchar"\nvalue = 256',
            "[[argument]] 1: value: expected uchar, got 256",
        ),
        (
            'global_size = [4]\n[[argument]]\nkind = "scalar"\ntype = "flot"\nvalue = 1',
            "[[argument]] 1: type: expected a scalar or vector type of OpenCL C, or bytes (did you mean float?), got 'flot'",
        ),
        (GOOD + '[[output]]\nargument = "y"\ndata = "ones"', "[[output]] 1: argument: expected an argument's name (x) or its"),
        (GOOD + "[[output]]\nargument = 0", "[[output]] 1: data: missing: expected one of zeros"),
        (GOOD + '[[output]]\nargument = 0\ndata = "unwritten"', "[[output]] 1: data: expected what the argument holds"),
        (GOOD + '[[finding]]\nkind = "data-rase"', "[[finding]] 1: kind: expected one of "),
        (GOOD + '[[finding]]\nkind = "data-race"\nlines = 3', "[[finding]] 1: lines: no such key (did you mean line?)"),
        (GOOD + '[run]\nchecks = "all"', "[run]: option checks=all: expected off, bounds, full"),
        (GOOD + "[run]\nspeed = 3", "[run]: option 'speed' does not exist (did you mean seed?)"),
        (GOOD + "[storage]\npool = 3", "[storage]: pool: expected a table, got 3"),
        (GOOD + "[storage.pool]", "[storage.pool]: nbytes: missing: expected a whole number of 1 or more"),
        (GOOD + '[[allow]]\nkernel = "k"', "[[allow]] 1: expires: missing: expected the last day it holds, as 2027-06-30"),
        ("global_size = [", "not a TOML file: "),
    ],
)
def test_each_wrong_entry_is_one_line_with_file_table_and_key(launch, text, message):
    assert complaint(launch, text).startswith(message)


def test_files_that_are_no_launch_files(tmp_path):
    with pytest.raises(AdrenoSimError, match=r"none\.toml: cannot be read: No such file"):
        read_launch(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AdrenoSimError, match="not UTF-8 text"):
        read_launch(tmp_path / "binary.toml")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(AdrenoSimError, match="not a TOML file"):
        read_launch(tmp_path / "deep.toml")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80) | st.binary(max_size=80))
def test_no_text_is_a_traceback(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "launch.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    with pytest.raises(AdrenoSimError) as error:
        read_launch(path)
    assert str(error.value).count("\n") == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TOML_KEYS = ["kind", "name", "dtype", "count", "data", "storage", "offset", "width", "height", "value", "type", "nbytes", "order"]


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(st.sampled_from(TOML_KEYS), JSON | st.sampled_from(["buffer", "image2d", "scalar", "float32"]), max_size=6),
    st.dictionaries(
        st.sampled_from(
            ["kernel", "run", "storage", "output", "finding", "allow", "options", "local_size", "values", "expected"]
        ),
        JSON,
    ),
)
@example({}, {"storage": {"\n": None}})
def test_any_tables_are_read_or_refused_in_one_line(argument, rest):
    from pathlib import Path

    from adreno_sim.launch_spec.read import read_tables

    try:
        read_tables({"global_size": [1], "argument": [argument], **rest}, Path("x.toml"))
    except AdrenoSimError as error:
        assert str(error).startswith("x.toml: ")
        assert "\n" not in str(error)


def filled(fill, dtype, count, **parameters):
    defaults = {"arange": {"start": 0, "step": 1}, "random": {"seed": 0}}.get(fill, {})
    return Data(fill, "here", {**defaults, **parameters}).array(dtype, count)


def test_generators():
    assert filled("zeros", "int8", 3).tolist() == [0, 0, 0]
    assert filled("ones", "float16", 2).tolist() == [1, 1]
    assert filled("arange", "uint8", 4, start=250).tolist() == [250, 251, 252, 253]
    assert filled("arange", "float32", 3, start=1, step=-0.5).tolist() == [1, 0.5, 0]
    assert filled("arange", "uint64", 2, start=2**64 - 2).tolist() == [2**64 - 2, 2**64 - 1]
    assert np.isnan(filled("constant", "float32", 2, value=float("nan"))).all()
    assert filled("unwritten", "float32", 2) is None
    uniform = filled("random", "float32", 1000, seed=3, low=2, high=4)
    assert uniform.min() >= 2
    assert uniform.max() < 4
    assert 2.9 < uniform.mean() < 3.1
    assert (uniform == filled("random", "float32", 1000, seed=3, low=2, high=4)).all()
    assert set(filled("random", "int8", 100, low=-1, high=2).tolist()) == {-1, 0, 1}


@pytest.mark.parametrize(
    "fill, dtype, parameters",
    [
        ("arange", "uint8", {"start": 254}),
        ("arange", "int8", {"start": 0, "step": 0.5}),
        ("constant", "uint32", {"value": -1}),
        ("constant", "int32", {"value": float("nan")}),
        ("random", "uint8", {"low": 0, "high": 300}),
        ("random", "int32", {"low": 2, "high": 2}),
        ("random", "float32", {"low": 0.0, "high": float("inf")}),
        ("random", "int64", {"low": 0, "high": 2**70}),
    ],
)
def test_generators_refuse_what_does_not_fit(fill, dtype, parameters):
    with pytest.raises(AdrenoSimError, match=r"^here: "):
        filled(fill, dtype, 4, **parameters)


@given(st.sampled_from(DTYPES), st.integers(1, 20), st.integers(-(2**70), 2**70), st.integers(-5, 5))
def test_arange_is_exact_or_refused(dtype, count, start, step):
    if np.dtype(dtype).kind == "f":
        return
    wanted = [start + i * step for i in range(count)]
    limits = np.iinfo(dtype)
    if all(limits.min <= value <= limits.max for value in wanted):
        assert filled("arange", dtype, count, start=start, step=step).tolist() == wanted
    else:
        with pytest.raises(AdrenoSimError):
            filled("arange", dtype, count, start=start, step=step)


def test_arrays_from_files(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(6, dtype=np.float32).reshape(2, 3))
    data = Data("file", "here", file=path)
    assert data.count == 6
    assert data.array("float32", 6).tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(AdrenoSimError, match="expected 6 elements of float16, got 6 of float32"):
        data.array("float16", 6)
    with pytest.raises(AdrenoSimError, match="expected 5 elements"):
        data.array("float32", 5)
    np.savez(tmp_path / "x.npz", a=1)
    for name, text in (("none.npy", "cannot be read"), ("x.npz", "archive"), ("text.npy", "not a .npy file")):
        (tmp_path / "text.npy").write_text("1 2 3")
        with pytest.raises(AdrenoSimError, match=text):
            Data("file", "here", file=tmp_path / name).array("float32", 1)
    np.save(tmp_path / "object.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(AdrenoSimError, match=r"not a \.npy file"):
        Data("file", "here", file=tmp_path / "object.npy").array("float32", 1)


def test_values_by_type():
    assert scalars.make("half", 1.5) == np.float16(1.5)
    assert scalars.make("float3", [1, 2, 3]).tolist() == [1, 2, 3, 0]
    assert scalars.make("uchar4", [1, 2, 3, 255]).dtype == np.uint8
    assert scalars.make("bytes", [1, 2]).tobytes() == b"\1\2"
    assert scalars.shape_of("unsigned int") == ("uint32", 1)
    assert scalars.shape_of("my_t") is None
    assert scalars.shape_of("float5") is None
    assert scalars.shape_of("float16") == ("float32", 16)


READ = Finding(Kind.OUT_OF_BOUNDS_READ, "reads", "k", 3, 7, WorkItem((4, 0, 0), (0, 0, 0), (1, 0, 0)), Access("x", 4, offset=16))
WRITE = Finding(Kind.OUT_OF_BOUNDS_WRITE, "writes", "k", 3, 1, access=Access("y", 4, coordinate=(4, 2)), count=2)


def test_expectations_are_paired_with_findings():
    anything, exact = ExpectedFinding("out-of-bounds-read"), ExpectedFinding("out-of-bounds-read", line=3, column=7, offset=16)
    other = Finding(Kind.OUT_OF_BOUNDS_READ, "reads", "k", 9)
    result = match([anything, exact], [READ, other])
    assert result.expected == [READ, other]
    assert not result.missing
    assert not result.unexpected
    result = match([exact, exact], [READ, WRITE])
    assert result.missing == [exact]
    assert result.unexpected == [WRITE]
    assert str(exact) == "out-of-bounds-read (line 3, column 7, offset 16)"


@pytest.mark.parametrize(
    "expected, matches",
    [
        ({"coordinate": (4, 2)}, True),
        ({"coordinate": (4, 2, 0)}, False),
        ({"coordinate": (2, 4)}, False),
        ({"count": 2, "argument": "y", "line": 3}, True),
        ({"count": 1}, False),
        ({"argument": "x"}, False),
        ({"message": "rite"}, True),
        ({"work_item": (0,)}, False),
        ({"code": "CL_OUT_OF_RESOURCES"}, False),
    ],
)
def test_what_an_expectation_compares(expected, matches):
    assert ExpectedFinding("out-of-bounds-write", **expected).matches(WRITE) is matches


def test_work_items_may_leave_out_dimensions():
    assert ExpectedFinding("out-of-bounds-read", work_item=(4,)).matches(READ)
    assert ExpectedFinding("out-of-bounds-read", work_item=(4, 0)).matches(READ)
    assert not ExpectedFinding("out-of-bounds-read", work_item=(4, 1)).matches(READ)


KERNEL = "typedef struct { int a; float b; } S;\nkernel void k(global float* x, S s, float3 v) { x[0] = s.a + s.b + v.z; }\n"
STRUCT = """global_size = [1]
[[argument]]
kind = "buffer"
dtype = "float32"
count = 1
[[argument]]
kind = "scalar"
type = "bytes"
value = [5, 0, 0, 0, 0, 0, 0, 64]
[[argument]]
kind = "scalar"
value = [1, 2, 3]
[[output]]
argument = 0
data = [10]
"""


def test_structs_and_vectors_by_value(launch, tmp_path):
    source = tmp_path / "k.cl"
    source.write_text(KERNEL)
    report = run_launch(launch(STRUCT), source)
    assert report.ok
    assert report.outputs[0].ok
    assert report.verdict == "ok: 0 errors, 0 warnings, 1 of 1 outputs right"
    with pytest.raises(AdrenoSimError, match=r"\[\[argument\]\] 2 \(s\): type: missing: the kernel declares S"):
        run_launch(launch(STRUCT.replace('type = "bytes"\n', "")), source)


@pytest.mark.parametrize(
    "change, message",
    [
        (("kind = \"scalar\"\nvalue = [1, 2, 3]\n", "kind = \"scalar\"\nvalue = [1, 2]\n"), "3 (v): value: expected 3 numbers"),
        (("global_size", "kernel = \"other\"\nglobal_size"), "kernel: got 'other': the kernels of "),
        (("[[argument]]\nkind = \"scalar\"\nvalue = [1, 2, 3]\n", ""), "kernel k takes 3 arguments (x, s, v), 2 given"),
        (("count = 1\n", "count = 1\nname = \"y\"\n"), "[[argument]] 1: name: kernel k calls this argument x, got 'y'"),
        (("data = [10]", "data = [10, 11]"), "[[output]] 1: data: expected 1 values, got 2"),
    ],
)  # fmt: skip
def test_launch_files_that_do_not_fit_the_kernel(launch, tmp_path, change, message):
    source = tmp_path / "k.cl"
    source.write_text(KERNEL)
    assert change[0] in STRUCT
    with pytest.raises(AdrenoSimError) as error:
        run_launch(launch(STRUCT.replace(*change)), source)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_includes_lie_beside_the_source(launch, tmp_path):
    (tmp_path / "scale.h").write_text("#define SCALE 3\ninline void put(global float* x, int i) { x[i] = SCALE; }\n")
    source = tmp_path / "k.cl"
    source.write_text('#include "scale.h"\nkernel void k(global float* x) { put(x, get_global_id(0)); }\n')
    report = run_launch(launch("global_size = [5]\n" + BUFFER), source)
    (finding,) = report.findings
    assert finding.kind is Kind.OUT_OF_BOUNDS_WRITE
    assert finding.line == 2
    assert finding.file.endswith("scale.h")
