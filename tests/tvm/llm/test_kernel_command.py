"""`adreno-sim kernel FILE.py --function NAME`, and what one PrimFunc is refused for, in one line."""

import json

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm.script import tirx as T

from adreno_sim import AdrenoSimError, check_kernel
from adreno_sim.cli.main import main as command

pytestmark = pytest.mark.tvm

SOURCE = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def scale(a: T.handle, b: T.handle, factor: T.float32):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.sblock("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] * factor
"""


@T.prim_func(s_tir=True)
def gather(a: T.handle, p: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    P = T.match_buffer(p, (m,), "int32")
    B = T.match_buffer(b, (m, 8), "float32")
    for i, j in T.grid(m, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[P[vi], vj]


A, P = np.arange(40, dtype="float32").reshape(5, 8), np.array([4, 0, 2], "int32")


@pytest.fixture
def file(tmp_path):
    (tmp_path / "module.py").write_text(SOURCE)
    return tmp_path / "module.py"


def test_a_function_of_a_file_runs_and_is_judged(file, tmp_path, capsys):
    run = ["kernel", str(file), "--function", "scale", "--shape", "A=100", "--scalar", "factor=1.5", "--checks", "full"]
    assert command([*run, "--json", str(tmp_path / "report.json")]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert [kernel["status"] for kernel in report["kernels"]] == ["ok"]
    assert not report["findings"]
    a = np.linspace(1, 2, 100, dtype="float32")
    np.savez(tmp_path / "in.npz", A=a, factor=np.float32(2))
    np.savez(tmp_path / "right.npz", B=2 * a)
    np.savez(tmp_path / "wrong.npz", B=3 * a)
    given = ["kernel", str(file), "--function", "scale", "--input", str(tmp_path / "in.npz"), "--expected"]
    assert command([*given, str(tmp_path / "right.npz")]) == 0
    capsys.readouterr()
    assert command([*given, str(tmp_path / "wrong.npz")]) == 1
    assert "wrong-value" in capsys.readouterr().out


@pytest.mark.share()
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--function", "other"], "no PrimFunc 'other'; it has scale"),
        (["--function", "scale", "--scalar", "factor=2"], "the shape of 'A' is not known"),
        (["--function", "scale", "--shape", "A=9"], "no value for 'factor', a scalar of type float32"),
        (["--function", "scale", "--shape", "C=9", "--scalar", "factor=2"], "scale has no parameter 'C'; it has A, B, factor"),
        (["--function", "scale", "--launch", "x.toml"], "--launch: is for a kernel with a launch file"),
        ([], "module.py: expected a kernel, as FILE.cl; --function NAME runs a PrimFunc of a .py file"),
    ],
)
def test_what_does_not_fit_is_one_line(file, capsys, arguments, said):
    assert command(["kernel", str(file), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    ("args", "expected", "said"),
    [
        ([A, P], None, "2 arguments given: gather takes 3 (A, P, B)"),
        ([A, None, None], None, "the shape of 'P' is not known"),
        ([A.astype("float16"), P, None], None, "'A' is a rank 2 float32 tensor, given float16"),
        ([A, P, np.zeros((4, 8), "float32")], None, "'B' has shape [3, 8], given [4, 8]"),
        ({"A": A, "P": P, "C": P}, None, "gather has no parameter 'C'"),
        ([A, P, None], 5, "expected is int"),
        ([A, P, None], {"D": A}, "expected D: the parameters are A, P, B"),
        ([A, P, None], lambda *_: [None], "returned 1 items: expected one for each of the 3 arguments"),
        ([A, P, None], lambda *_: [None, None, A], "says [5, 8] of argument 2, which is [3, 8]"),
        ([A, P, None], lambda *_: 1 / 0, "the given reference raised ZeroDivisionError"),
    ],
)
def test_bad_arguments_are_named(args, expected, said):
    with pytest.raises(AdrenoSimError) as error:
        check_kernel(gather, args, expected)
    assert said in str(error.value)


def test_integers_are_never_guessed():
    with pytest.raises(AdrenoSimError, match="'P' holds int32, whose range nobody knows"):
        check_kernel(gather, [A, None, None], shapes={"P": (3,)})


def test_what_is_no_prim_func_and_options_of_models_are_refused():
    with pytest.raises(AdrenoSimError, match="kernel of type int: expected a TIR PrimFunc"):
        check_kernel(3)
    with pytest.raises(AdrenoSimError, match="recast: means nothing for one kernel"):
        check_kernel(gather, [A, P, None], recast="int8")


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_a_gather_is_right_and_a_wrong_row_is_not(target):
    assert check_kernel(gather, [A, P, None], target=target, checks="full").ok
    assert check_kernel(gather, [A, P, None], lambda a, p, b: [None, None, a[p]], target=target).ok
    report = check_kernel(gather, [A, P, None], lambda a, p, b: [None, None, a[p[::-1]]], target=target)
    assert [finding.kind.label for finding in report.findings] == ["wrong-value"]
