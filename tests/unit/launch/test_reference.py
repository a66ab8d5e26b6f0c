"""`expected = "file.py:function"`: what the function is given, what it may return, and the line that each mistake gives."""

from __future__ import annotations

import pytest

from adreno_sim import AdrenoSimError
from adreno_sim.findings import Kind
from adreno_sim.launch_spec.read import read_launch
from adreno_sim.launch_spec.run import run_launch

KERNEL = """kernel void axpy(global float* y, global const float* x, float a, global int* count, float3 v) {
  int i = get_global_id(0);
  y[i] = a * x[i] + v.z;
  count[i] = i;
}
"""
LAUNCH = """
global_size = ["n"]
expected = {expected}
[values]
n = 16
[[argument]]
kind = "buffer"
dtype = "float32"
count = "n"
[[argument]]
kind = "buffer"
dtype = "float32"
count = "n"
data = "random"
[[argument]]
kind = "scalar"
value = 2.5
[[argument]]
kind = "buffer"
dtype = "int32"
count = "n"
[[argument]]
kind = "scalar"
value = [1, 2, 3]
"""
RIGHT = "return {'y': a * x.astype('float64') + v[2], 'count': range(n)}"


@pytest.fixture
def run(tmp_path):
    """Run the kernel with a reference whose body is given."""

    def judge(body=RIGHT, signature="x, a, n, v", expected='"ref.py:axpy"', launch=LAUNCH, **options):
        (tmp_path / "k.cl").write_text(KERNEL)
        (tmp_path / "launch.toml").write_text(launch.format(expected=expected))
        (tmp_path / "ref.py").write_text(f"import numpy as np\n\ndef axpy({signature}):\n    {body}\n")
        return run_launch(read_launch(tmp_path / "launch.toml"), tmp_path / "k.cl", **options)

    return judge


def test_right_and_wrong_values(run, tmp_path):
    report = run()
    assert report.ok
    assert [output.argument for output in report.outputs] == ["y", "count"]
    assert not report.unchecked
    report = run(RIGHT.replace("range(n)", "np.zeros(n, int)"))
    (finding,) = report.findings
    assert finding.kind is Kind.WRONG_VALUE
    assert finding.message.startswith("count: 15 of 16 elements")
    assert finding.line == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["k.cl", "launch.toml", "ref.py"]


def test_what_a_function_may_ask_for(run):
    body = "assert set(given) == {'x', 'a', 'n', 'v'}; return {'y': given['a'] * given['x'] + given['v'][2]}"
    assert run(body, "**given").ok
    report = run("return {'y': a * x + v[2] + more}", "x, a, v, more=0")
    assert report.ok
    assert len(report.outputs) == 1


def test_the_function_cannot_change_what_the_kernel_gets(run):
    assert run("r = a * x + v[2]; x[:] = 0; return {'y': r}").ok


def test_a_tolerance(run):
    body = "return {'y': (a * x + v[2]) * 1.01}"
    assert not run(body).ok
    assert run(body, expected='{function = "ref.py:axpy", tolerance = 0.1}').ok


def test_one_array_is_of_the_only_argument_that_is_written(run, tmp_path):
    only = KERNEL.replace("global int* count", "global const int* count").replace("  count[i] = i;\n", "")
    run_it = LAUNCH.format(expected='"ref.py:axpy"')
    (tmp_path / "one.cl").write_text(only)
    (tmp_path / "one.toml").write_text(run_it)
    (tmp_path / "ref.py").write_text("def axpy(x, a, v):\n    return a * x + v[2]\n")
    assert run_launch(read_launch(tmp_path / "one.toml"), tmp_path / "one.cl").ok


@pytest.mark.parametrize(
    "options, message",
    [
        ({"signature": "x, y"}, "axpy asks for y: expected a value, or an argument that holds something before the "
         "launch: n, x, a, v"),
        ({"body": "return a * x"}, "axpy returned one array, and the kernel may write y, count: return a dict of arrays by name"),
        ({"body": "pass"}, "axpy returned nothing: expected an array, or arrays by name"),
        ({"body": "return {}"}, "axpy returned no array"),
        ({"body": "return {'x': x}"}, "axpy returned 'x', which the kernel does not write; it may write y, count"),
        ({"body": "return {'y': x[:3]}"}, "axpy: y: expected 16 elements for float32, got 3 of float32 (shape (3,))"),
        ({"body": "return {'y': 'abc'}"}, "axpy: y: expected 16 elements for float32, got 1 of <U3 (shape ())"),
        ({"body": "return {'y': [[1], [2, 3]]}"}, "axpy: y: not an array: setting an array element with a sequence."),
        ({"body": "return {'count': np.full(n, 2**40)}"}, "count: expected int32, got numbers of int64 that it cannot hold"),
        ({"body": "return {'count': x}"}, "axpy: count: expected int32, got numbers of float32 that it cannot hold"),
        ({"body": "return {'y': np.ones(3) @ np.ones(4)}"}, "ref.py:4: ValueError: matmul: Input operand 1 has a mismatch"),
        ({"body": "raise SystemExit(3)"}, "ref.py:4: SystemExit: 3"),
        ({"body": "raise KeyError('two\\nlines')"}, "ref.py:4: KeyError: 'two\\nlines'"),
        ({"body": "return (}"}, "ref.py:4: SyntaxError: closing parenthesis"),
        ({"body": "return axpy(x, a, n, v)"}, "ref.py:4: RecursionError: maximum recursion depth exceeded"),
        ({"expected": '"ref.py:other"'}, "ref.py: no function other; it has axpy"),
        ({"expected": '"none.py:f"'}, "none.py: cannot be read: No such file or directory"),
        ({"expected": '"../ref.py:f"'}, "../ref.py: expected a file below the launch file's folder, since its code is run"),
        ({"expected": '"/ref.py:f"'}, "/ref.py: expected a file below the launch file's folder, since its code is run"),
        ({"expected": '"ref.py"'}, 'expected "file.py:function", or {function = "file.py:function", tolerance = 1e-3}, got'),
        ({"expected": "3"}, 'expected "file.py:function", or {'),
        ({"expected": '{file = "ref.py"}'}, "function: missing: expected text"),
        ({"expected": '{function = "ref.py:axpy", tolerance = -1}'}, "tolerance: expected a number of 0 or more, got -1"),
        ({"launch": LAUNCH + '[[output]]\nargument = 0\ndata = "ones"\n'}, "axpy returned y, which has an [[output]] too"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_says_where(run, options, message):
    with pytest.raises(AdrenoSimError) as error:
        run(**options)
    text = str(error.value)
    assert "launch.toml: expected: " in text
    assert message in text
    assert "\n" not in text
    assert error.value.exit_code == 2


def test_a_file_behind_a_link_is_outside(run, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "code.py").write_text("def f(): pass\n")
    (tmp_path / "inside" / "code.py").symlink_to(tmp_path / "code.py")
    (tmp_path / "inside" / "launch.toml").write_text('global_size = [1]\nexpected = "code.py:f"\n')
    with pytest.raises(AdrenoSimError, match="below the launch file's folder"):
        read_launch(tmp_path / "inside" / "launch.toml")


def test_what_it_prints_is_not_in_the_report(run, capsys):
    assert run("print('hello'); " + RIGHT).ok
    out, err = capsys.readouterr()
    assert not out
    assert err == "hello\n"


def test_images_come_by_layer_row_column_and_channel(tmp_path):
    (tmp_path / "k.cl").write_text(
        "kernel void copy(read_only image2d_t x, write_only image2d_t y) {\n"
        "  int2 at = (int2)(get_global_id(0), get_global_id(1));\n  write_imagef(y, at, 2 * read_imagef(x, at));\n}\n"
    )
    image = '[[argument]]\nkind = "image2d"\nwidth = 5\nheight = 3\n'
    text = 'global_size = [5, 3]\nexpected = "ref.py:copy"\n' + image + 'data = "random"\n' + image
    (tmp_path / "launch.toml").write_text(text)
    (tmp_path / "ref.py").write_text("def copy(x):\n    assert x.shape == (1, 3, 5, 4), x.shape\n    return 2 * x\n")
    report = run_launch(read_launch(tmp_path / "launch.toml"), tmp_path / "k.cl")
    assert report.ok
    assert report.outputs[0].elements == 60


def test_where_the_kernel_does_not_run_nothing_is_judged(run):
    report = run(launch=LAUNCH.replace('global_size = ["n"]', "global_size = [3]\nlocal_size = [2]"))
    assert not report.ok
    assert not report.outputs
    assert "the kernel: it was not run" in report.unchecked
