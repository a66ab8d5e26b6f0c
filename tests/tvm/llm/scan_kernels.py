"""TVM's cumulated sum and sampling kernels as they come, each with arguments and with what NumPy computes of them."""

import numpy as np
from kv_kernels import Case
from tvm.relax.backend.gpu_generic.cumsum import gpu_2d_continuous_cumsum
from tvm.relax.backend.gpu_generic.sampling import gpu_multinomial_from_uniform


def cumsum(_target):
    x = np.random.default_rng(3).random((3, 1000), np.float32)
    return Case(gpu_2d_continuous_cumsum(in_dtype="float32"), [x, np.zeros_like(x)], lambda x, _: [None, np.cumsum(x, 1, float)])


def multinomial(target):
    """Tokens of two distributions by three uniform numbers."""
    rng = np.random.default_rng(1)
    prob = rng.random((2, 1000), np.float32)
    prob /= prob.sum(1, keepdims=True)
    uniform, rows = rng.random((3, 1), np.float32), np.array([[0], [1], [1]], np.int64)

    def expected(prob, uniform, rows, _):
        sums = np.cumsum(prob[rows[:, 0]], 1, float)
        return [None, None, None, (sums < uniform).sum(1, keepdims=True)]

    with target:
        function = gpu_multinomial_from_uniform("float32", "float32", "int64", "int64")
    return Case(function, [prob, uniform, rows, np.zeros((3, 1), np.int64)], expected)


SCANS = {"cumsum": cumsum, "multinomial": multinomial}
