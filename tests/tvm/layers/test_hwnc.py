"""Integer convolutions in HWNC: packing, right against NumPy on the device, refusals."""

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as hnp  # noqa: E402
from tvm import relax  # noqa: E402
from tvm.script import relax as R  # noqa: E402

import adreno_sim  # noqa: E402
from adreno_sim import AdrenoSimError, UnsupportedError  # noqa: E402
from adreno_sim.compiler.compile import compile_model  # noqa: E402
from adreno_sim.compiler.layers import convert_hwnc, pack_int4, unpack_int4  # noqa: E402
from adreno_sim.compiler.run import vm  # noqa: E402

pytestmark = pytest.mark.tvm


@given(hnp.arrays(np.int64, st.tuples(st.integers(0, 4), st.integers(0, 5).map(lambda n: 2 * n)), elements=st.integers(-8, 7)))
def test_packing_is_undone(values):
    packed = pack_int4(values)
    assert packed.dtype == np.int8
    assert packed.nbytes * 2 == values.size
    np.testing.assert_array_equal(unpack_int4(packed), values)


def test_which_bits_hold_what():
    assert pack_int4(np.array([[1, -2]])).view(np.uint8).tolist() == [[0xE1]]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros(3, int), "even in number innermost"),
        (np.zeros(4), "expected integers"),
        (np.array([8, 0]), "values from -8 to 7, got 0 to 8"),
        (np.array(1), "expected integers"),
    ],
)
def test_what_cannot_be_packed(values, said):
    with pytest.raises(AdrenoSimError, match=said):
        pack_int4(values)


def network(groups=1, channels=4):
    """Two convolutions with integer weights, a strided and padded one second."""
    generator = np.random.default_rng(4)
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, channels, 9, 7), "float32"))
    first = generator.integers(-2, 3, (4 * groups, channels // groups, 1, 1)).astype("float32")
    second = generator.integers(-8, 8, (6, 4 * groups, 3, 3)).astype("float32")
    with builder.function("main", [x]):
        with builder.dataflow():
            a = builder.emit(relax.op.nn.conv2d(x, relax.const(first), groups=groups))
            clipped = builder.emit(relax.op.clip(a, -8, 7))
            b = builder.emit(relax.op.nn.conv2d(clipped, relax.const(second), strides=(2, 1), padding=(1, 2, 0, 1)))
            result = builder.emit_output(b)
        builder.emit_func_output(result)
    return builder.get(), [first, second]


def convolution(x, w, strides, padding):
    """conv2d, NCHW by OIHW, in NumPy integers."""
    top, left, bottom, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, :: strides[0], :: strides[1]]
    return np.einsum("nchwyx,ocyx->nohw", windows, w)


@pytest.mark.each_value
@pytest.mark.parametrize("target", ["texture", "buffer"])
@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_right_on_the_device(dtype, target):
    mod, (first, second) = network()
    x = np.random.default_rng(5).integers(-3, 4, (2, 4, 9, 7)).astype("float32")
    middle = np.clip(convolution(x.astype(int), first.astype(int), (1, 1), (0, 0, 0, 0)), -8, 7)
    expected = convolution(middle, second.astype(int), (2, 1), (1, 2, 0, 1))
    device = adreno_sim.open_device("sim:adreno-740")
    made = convert_hwnc(mod, dtype)
    (got,) = vm.run(compile_model(made, target=target), [x], device)
    np.testing.assert_array_equal(got, expected)
    assert adreno_sim.check(made, [x], device=device, target=target).ok


def test_skipped_layers_stay():
    mod, _ = network()
    tvm.ir.assert_structural_equal(convert_hwnc(mod, "int4", skip_layers=[0, 1]), mod)
    one = convert_hwnc(mod, "int4", skip_layers=[0])
    assert sum("conv2d_hwnc" in str(var.name_hint) for var, _ in one.functions_items()) == 1


@pytest.mark.parametrize(
    ("model", "options", "error", "said"),
    [
        (network(), {"dtype": "int2"}, AdrenoSimError, "expected int8 or int4"),
        (network(groups=2), {}, UnsupportedError, r"layer 0 in HWNC int8: it is grouped \(skip_layers"),
        (network(channels=3), {"dtype": "int4"}, UnsupportedError, "an even number of channels"),
        (network(), {"skip_layers": [2]}, AdrenoSimError, "skip_layers: 2"),
    ],
)
def test_refusals(model, options, error, said):
    with pytest.raises(error, match=said):
        convert_hwnc(model[0], **options)
