"""Functions whose names OpenCL C does not know, as those that TVM names after a Python lambda."""

import numpy as np
import pytest

pytest.importorskip("tvm")
from tvm import relax, topi

import adreno_sim
from adreno_sim.base.errors import BuildError
from adreno_sim.compiler.compile import compile_model
from adreno_sim.compiler.doctor.models import unnamed_function
from adreno_sim.compiler.passes.function_names import identifier
from adreno_sim.compiler.tvm_bridge.versions import tensor_type

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("target", ["texture", "buffer"])
def test_kernels_of_lambdas_get_a_name_and_are_judged(target):
    report = adreno_sim.check(unnamed_function(), target=target)
    assert report.ok
    assert [(kernel.name, kernel.status) for kernel in report.kernels] == [("lambda_kernel", "ok")]


@pytest.mark.parametrize("how", [{"pipeline": "stock"}, {"without_fix": ["function-names"]}])
def test_without_the_fix_the_kernel_does_not_compile(how):
    """As on every device: the name stands in the source."""
    with pytest.raises(BuildError, match=r"^kernel <lambda>_kernel: its name is not valid in OpenCL C"):
        adreno_sim.check(unnamed_function(), target="buffer", **how)


def test_two_lambdas_stay_two_functions():
    x = relax.Var("x", tensor_type((4, 16), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit(builder.call_te(lambda a: topi.sum(a, axis=1, keepdims=True), x))
        z = builder.emit(builder.call_te(lambda a, b: topi.subtract(a, b), x, y))
        builder.emit_func_output(z)
    module = builder.get()
    names = set(compile_model(module, target="buffer").kernels)
    assert len(names) == 2
    assert all(name.isidentifier() for name in names)
    array = np.random.default_rng(0).standard_normal((4, 16)).astype("float32")
    report = adreno_sim.check(module, [array], target="buffer")
    assert report.ok
    assert report.checked == 2


def test_names_that_c_knows_are_left_alone():
    assert [identifier(name) for name in ("<lambda>", "a.b", "2x", "!!", "fine_1")] == [
        "lambda", "a_b", "function_2x", "function", "fine_1",
    ]  # fmt: skip
