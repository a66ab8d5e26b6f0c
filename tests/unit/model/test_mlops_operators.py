"""Operators of OpenCL ML on a simulated device: against plain loops and NumPy, in float32, half and half with float32 sums."""

import math

import numpy as np
import numpy_operators as golden
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adreno_sim
from adreno_sim.base.errors import DeviceError, UnsupportedError
from adreno_sim.base.specs import BufferSpec, TensorSpec
from adreno_sim.mlops.arithmetic import product
from adreno_sim.mlops.graph import Entry, Graph, Node
from adreno_sim.mlops.tensors import MLTensorSpec, pack, unpack


@pytest.fixture(scope="module")
def device():
    return adreno_sim.open_device("sim:adreno-740,ml_interface=5")


def _draw(shape, dtype="float32"):
    return np.random.default_rng([*shape, 3]).uniform(-1, 1, shape).astype(dtype)


def _run(device, name, inputs, shape, attrs=None, constants=(), dtype=None):
    """One operator of one result on `inputs` and constants."""
    arrays = [*inputs, *constants]
    dtype = dtype or inputs[-1].dtype.name
    nodes = [Node("input", f"x{i}", (a.shape,), (a.dtype.name,)) for i, a in enumerate(inputs)]
    nodes += [Node("const", f"c{i}", (a.shape,), (a.dtype.name,)) for i, a in enumerate(constants)]
    entries = tuple(Entry(i) for i in range(len(arrays)))
    nodes.append(Node("kernel", name, (tuple(shape),), (dtype,), entries, attrs or {}))
    graph = Graph(tuple(nodes), (Entry(len(arrays)),))
    program = device.build_graph(graph, {f"c{i}": a for i, a in enumerate(constants)})
    views = [_view(device, a.size, a.dtype.name) for a in inputs]
    for view, array in zip(views, inputs, strict=True):
        device.write(view, array.reshape(-1))
    result = _view(device, math.prod(shape), dtype)
    program.run(views, [result])
    out = device.read(result).reshape(shape)
    program.close()
    return out


def _view(device, count, dtype):
    nbytes = count * np.dtype(dtype).itemsize
    return device.view(device.allocate(nbytes), BufferSpec(nbytes, dtype))


CONV = {"strides": [2, 1], "padding": [1, 2, 0, 1], "dilation": [1, 2], "groups": 1}


@pytest.mark.parametrize(("dtype", "accumulate", "bound"), [
    ("float32", "", 2e-7), ("float16", "float32", 2**-10), ("float16", "", 36 * 2**-11),
])  # fmt: skip
def test_convolution_in_each_arithmetic_mode(device, dtype, accumulate, bound):
    """bound: of the error relative to the sum of |a * b|; n terms in half lose up to n * 2^-11 of it."""
    x, w = _draw((2, 4, 9, 11), dtype), _draw((6, 4, 3, 3), dtype)
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 0), (2, 1)))
    exact, scale = np.zeros((2, 6, 4, 10)), np.zeros((2, 6, 4, 10))
    for row in range(4):
        for column in range(10):
            seen = padded[:, :, 2 * row : 2 * row + 3, column : column + 5 : 2]
            exact[:, :, row, column] = np.einsum("nchw,ochw->no", seen, w.astype(np.float64))
            scale[:, :, row, column] = np.einsum("nchw,ochw->no", abs(seen), abs(w.astype(np.float64)))
    got = _run(device, "openclml.nn.conv2d", [x], exact.shape, CONV | {"accumulate": accumulate}, [w])
    assert got.dtype == dtype
    assert (abs(got - exact) <= bound * scale).all()
    assert (dtype == "float32") == bool((abs(got - exact) <= 2e-7 * scale).all())


def test_products_in_half_round_every_step():
    a, b = _draw((3, 50), "float16"), _draw((50, 4), "float16")
    expected = np.zeros((3, 4), np.float16)
    for k in range(50):
        expected = expected + a[:, k : k + 1] * b[k : k + 1]
    assert np.array_equal(product(a, b, "float16"), expected.astype(np.float32))
    assert np.isinf(product(np.full((1, 2), 60000, np.float16), np.ones((2, 1), np.float16), "float16")).all()


def test_fused_bias_normalisation_and_activation(device):
    x, w, bias = _draw((1, 4, 5, 5)), _draw((8, 4, 1, 1)), _draw((1, 8, 1, 1))
    figures = [_draw((8,)) + 1, _draw((8,)) * 2, _draw((8,)) / 4, abs(_draw((8,))) + 0.5]
    attrs = {"strides": [1, 1], "padding": [0, 0, 0, 0], "dilation": [1, 1], "groups": 1, "activation_type": "relu6"}
    attrs["batchnorm"] = ["1", "1e-3", "1", "1"]
    got = _run(device, "openclml.nn.conv2d", [x], (1, 8, 5, 5), attrs, [w, bias, *figures])
    plain = np.einsum("nchw,oc->nohw", x, w[:, :, 0, 0]) + bias
    scale, shift, mean, variance = (f.reshape(1, 8, 1, 1) for f in figures)
    expected = np.clip((plain - mean) / np.sqrt(variance + 1e-3) * scale + shift, 0, 6)
    assert np.allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert (got > 0).any()
    assert (got == 0).any()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_depthwise_and_transposed(device, dtype):
    x, w = _draw((1, 6, 7, 8), dtype), _draw((1, 6, 3, 3), dtype)
    attrs = {"strides": [1, 1], "padding": [0, 0, 0, 0], "dilation": [1, 1]}
    got = _run(device, "openclml.nn.depthwise_conv2d", [x], (1, 6, 5, 6), attrs, [w])
    each = [golden.conv2d(x[:, c : c + 1].astype("float32"), w[:, c : c + 1].astype("float32")) for c in range(6)]
    tolerance = 1e-6 if dtype == "float32" else 9 * 2**-10
    assert np.allclose(got, np.concatenate(each, 1), atol=tolerance)
    weights = _draw((5, 6, 3, 2), dtype)
    attrs |= {"strides": [2, 3], "padding": [1, 0, 0, 1], "groups": 1}
    shape = (1, 5, 6 * 2 + 3 - 1, 7 * 3 + 2 - 1)
    expected = np.zeros((1, 5, 15, 23))
    for row in range(7):
        for column in range(8):
            spread = np.einsum("nc,ochw->nohw", x[:, :, row, column].astype(float), weights.astype(float))
            expected[:, :, 2 * row : 2 * row + 3, 3 * column : 3 * column + 2] += spread
    got = _run(device, "openclml.nn.conv2d_transpose", [x], shape, attrs, [weights])
    assert np.allclose(got, expected[:, :, 1:, :-1], atol=2e-6 if dtype == "float32" else 36 * 2**-10)


def test_matrix_products(device):
    a, w, bias = _draw((3, 40)), _draw((7, 40)), _draw((1, 7))
    assert np.allclose(_run(device, "nn.dense", [a], (3, 7), {}, [w]), a @ w.T, atol=1e-5)
    assert np.allclose(_run(device, "nn.dense", [a[:1]], (1, 7), {}, [w, bias]), a[:1] @ w.T + bias, atol=1e-5)
    assert np.allclose(
        _run(device, "nn.batch_matmul", [a[None], w[None]], (1, 3, 7), {"transpose_b": 1}), (a @ w.T)[None], atol=1e-5
    )


def test_product_with_weights_in_four_bits(device):
    rng = np.random.default_rng(5)
    values = rng.integers(0, 16, (64, 6)).astype(np.uint32)
    packed = sum((values[i::8] << np.uint32(4 * i) for i in range(8)), np.zeros((8, 6), np.uint32))
    scales, data = _draw((2, 6), "float16"), _draw((1, 3, 64), "float16")
    weights = (values.astype(np.float32) - 7) * np.repeat(scales.astype(np.float32), 32, 0)
    got = _run(device, "openclml.dequant_matmul", [packed, scales, data], (1, 3, 6), {"accumulate": "float32"})
    assert np.allclose(got, data[0].astype(np.float32) @ weights, rtol=2e-3, atol=2e-2)


def test_pooling(device):
    x = _draw((1, 3, 8, 9))
    attrs = {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1], "dilation": [1, 1]}
    assert np.array_equal(
        _run(device, "openclml.nn.max_pool2d", [x], (1, 3, 4, 5), attrs), golden.max_pool2d(x, (3, 3), (2, 2), (1, 1))
    )
    got = _run(device, "openclml.nn.avg_pool2d", [x], (1, 3, 4, 5), attrs)
    assert np.allclose(got, golden.avg_pool2d(x, (3, 3), (2, 2), (1, 1)), atol=1e-6)
    assert np.allclose(_run(device, "openclml.nn.global_avg_pool2d", [x], (1, 3, 1, 1)), x.mean((2, 3), keepdims=True), atol=1e-6)
    assert np.array_equal(_run(device, "nn.global_max_pool2d", [x], (1, 3)), x.max((2, 3)))


def test_moving_elements(device):
    x = _draw((1, 8, 3, 4))
    shape = (1, 8, 6, 5)
    attrs = {"pad_mode": "edge", "pad_width": [1, 2, 0, 1]}
    assert np.array_equal(_run(device, "nn.pad", [x], shape, attrs), np.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), mode="edge"))
    got = _run(device, "nn.depth_to_space", [x], (1, 2, 6, 8), {"block_size": 2})
    for i, j in np.ndindex(2, 2):
        assert np.array_equal(got[:, :, i::2, j::2], x[:, (i * 2 + j) * 2 : (i * 2 + j) * 2 + 2])
    y = _draw((1, 8, 3, 2))
    assert np.array_equal(_run(device, "concatenate", [x, y], (1, 8, 3, 6), {"axis": 3}), np.concatenate([x, y], 3))
    ramp = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    got = _run(device, "nn.upsampling", [ramp], (1, 1, 5, 7), {"align_corners": 1, "method": "bilinear"})
    assert np.allclose(got[0, 0], np.linspace(0, 8, 5)[:, None] + np.linspace(0, 3, 7)[None], atol=1e-6)


@pytest.mark.parametrize(
    ("name", "shapes", "result", "attrs", "words"),
    [
        ("openclml.nn.conv2d", [(1, 4, 5, 5), (8, 2, 1, 1)], (1, 8, 5, 5), {"strides": [1, 1], "groups": 2}, "2 groups"),
        ("openclml.nn.conv2d", [(1, 4, 5, 5), (8, 4, 1, 1)], (1, 8, 4, 5), {"strides": [1, 1]}, "it would be (1, 8, 5, 5)"),
        ("openclml.nn.conv2d", [(1, 4, 5, 5), (8, 4, 1, 1)], (1, 8, 5, 5), {"strides": [1]}, "expected 2 integers"),
        ("openclml.nn.conv2d_transpose", [(1, 2, 3, 3), (2, 2, 2, 2)], (1, 2, 5, 5),
         {"strides": [1, 1], "output_padding": [1, 1]}, "output_padding"),
        ("openclml.relax.add", [(1, 4), (1, 5)], (1, 4), {}, "one shape"),
        ("openclml.relax.nn.relu", [(1, 2, 3, 4, 5)], (1, 2, 3, 4, 5), {}, "four dimensions"),
        ("openclml.nn.batch_norm", [(1, 2), (2,), (2,), (2,)], (1, 2), {"axis": 1, "epsilon": 0.1}, "4 inputs"),
        ("nn.batch_matmul", [(1, 2, 3), (1, 3, 4)], (1, 2, 4), {"transpose_b": 0}, "wrong axes"),
        ("openclml.relax.tanh", [(1, 2)], (1, 2), {}, "knows no operator"),
    ],
)  # fmt: skip
def test_refused(device, name, shapes, result, attrs, words):
    with pytest.raises(UnsupportedError) as error:
        _run(device, name, [_draw(shape) for shape in shapes], result, attrs)
    assert words in str(error.value)


@pytest.mark.parametrize("shape", [(1, 4, 3, 5), (2, 7, 2, 2), (1, 10), (3,), (1, 5, 6)])
@pytest.mark.parametrize("layout", ["optimal", "nchw"])
def test_layouts(shape, layout):
    spec, dense = MLTensorSpec(shape, "float32", layout), _draw(shape)
    stored = pack(dense, spec)
    assert stored.nbytes <= spec.nbytes
    assert spec.nbytes % 64 == 0
    assert np.array_equal(unpack(stored, spec), dense)
    if layout == "optimal" and math.prod(shape[2:]) > 1:
        assert not np.array_equal(stored[: dense.size], dense.reshape(-1))


def test_views_that_do_not_fit(device):
    node = Node("input", "x", ((1, 4),), ("float32",))
    graph = Graph((node, Node("kernel", "openclml.relax.nn.relu", ((1, 4),), ("float32",), (Entry(0),))), (Entry(1),))
    program = device.build_graph(graph, {})
    with pytest.raises(DeviceError, match="1 inputs and 0 outputs"):
        program.run([_view(device, 4, "float32")], [])
    with pytest.raises(DeviceError, match="3 float32 elements"):
        program.run([_view(device, 3, "float32")], [_view(device, 4, "float32")])
    program.close()


def test_device_without_the_extension():
    graph = Graph(
        (
            Node("input", "x", ((1, 4),), ("float32",)),
            Node("kernel", "openclml.relax.nn.relu", ((1, 4),), ("float32",), (Entry(0),)),
        ),
        (Entry(1),),
    )
    with pytest.raises(UnsupportedError, match="has no cl_qcom_ml_ops"):
        adreno_sim.open_device("sim:adreno-640").build_graph(graph, {})


@st.composite
def graphs(draw):
    """Sums, products and relus of tensors of one shape, some with several readers, some results of the graph."""
    shape = draw(st.sampled_from([(1, 4, 3, 3), (1, 7, 2, 5), (1, 10)]))
    nodes = [Node("input", f"x{i}", (shape,), ("float32",)) for i in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(1, 10))):
        name = draw(st.sampled_from(["relax.add", "relax.maximum", "relax.nn.relu"]))
        inputs = [draw(st.integers(0, len(nodes) - 1)) for _ in range(1 if name == "relax.nn.relu" else 2)]
        nodes.append(Node("kernel", f"openclml.{name}", (shape,), ("float32",), tuple(map(Entry, inputs))))
    last = len(nodes) - 1
    heads = draw(st.lists(st.integers(len(nodes) - min(3, last), last), min_size=1, max_size=2, unique=True))
    return Graph(tuple(nodes), tuple(map(Entry, heads)))


COMPUTE = {
    "openclml.relax.add": np.add,
    "openclml.relax.maximum": np.maximum,
    "openclml.relax.nn.relu": lambda x: np.maximum(x, 0),
}


@settings(max_examples=60, deadline=None)
@given(graphs(), st.sampled_from([0, 192, 512, 4096]))
def test_tensors_survive_where_they_are_planned(graph, size):
    """Whatever the on-chip memory, each result is what its operators make of the inputs, in a first run and in a second."""
    device = adreno_sim.open_device(f"sim:adreno-740,ONCHIP_GLOBAL_MEM_SIZE={size}")
    program = device.build_graph(graph, {})
    for seed in (1, 2):
        values = []
        for number, node in enumerate(graph.nodes):
            given = [values[entry.node] for entry in node.inputs]
            if node.op == "input":
                values.append(np.random.default_rng([seed, number]).uniform(-1, 1, node.shape).astype("float32"))
            else:
                values.append(COMPUTE[node.name](*given))
        inputs = [_view(device, node.size, "float32") for _, node in graph.of("input")]
        outputs = [_view(device, graph.nodes[head.node].size, "float32") for head in graph.heads]
        for view, (number, _) in zip(inputs, graph.of("input"), strict=True):
            device.write(view, values[number].reshape(-1))
        program.run(inputs, outputs)
        for view, head in zip(outputs, graph.heads, strict=True):
            assert np.array_equal(device.read(view), values[head.node].reshape(-1))
    program.close()


def test_memory_is_given_back():
    device = adreno_sim.open_device("sim:adreno-740")
    shapes = ((1, 4, 9, 9),)
    source = Node("input", "x", shapes, ("float32",))
    nodes = (source, Node("kernel", "openclml.relax.nn.relu", shapes, ("float32",), (Entry(0),)))
    programs = [device.build_graph(Graph(nodes, (Entry(1),)), {}) for _ in range(2)]
    assert device.pool_stats().used > 0
    for program in programs:
        program.close()
        program.close()
    assert device.pool_stats().used == 0


def test_images_are_copied_as_buffers_are(device):
    """A texture's elements in logical order are the tensor's; padding of rows is not copied."""
    shape = (1, 3, 5, 4)
    spec = TensorSpec(shape, "float32", "global.texture-nhwc").lower()
    image = device.view(device.allocate(device.view_nbytes(spec)), spec)
    x = _draw(shape)
    device.write(image, x.reshape(1, 3, 5, 4))
    source = Node("input", "x", (shape,), ("float32",))
    relu = Node("kernel", "openclml.relax.nn.relu", (shape,), ("float32",), (Entry(0),))
    program = device.build_graph(Graph((source, relu), (Entry(1),)), {})
    result = _view(device, x.size, "float32")
    run = program.run([image], [result])
    assert np.array_equal(device.read(result).reshape(shape), np.maximum(x, 0))
    assert run.copied_bytes == 2 * x.nbytes
    program.run([result], [image])
    assert np.array_equal(device.read(image).reshape(shape), np.maximum(x, 0))
    program.close()
