"""The VM against a device of NumPy arrays that notices every leak, double free and use after the end."""

from collections import Counter
from dataclasses import dataclass, field, replace

import handmade
import numpy as np
import pytest

from adreno_sim.base.errors import AdrenoSimError, BuildError, DeviceError
from adreno_sim.base.run_options import RunOptions
from adreno_sim.base.specs import BufferSpec
from adreno_sim.compiler.artifact import host_function as h
from adreno_sim.compiler.artifact import vm_function as v
from adreno_sim.compiler.artifact.model import TensorInfo
from adreno_sim.compiler.run.observer import Observer, Observers
from adreno_sim.compiler.run.vm import VirtualMachine, run
from adreno_sim.device.protocol import DeviceInfo, LaunchResult


@dataclass(eq=False)
class FakeStorage:
    nbytes: int
    data: np.ndarray
    live: bool = True
    views: int = 0


@dataclass(eq=False)
class FakeView:
    storage: FakeStorage
    spec: object
    offset: int
    live: bool = True

    def release(self):
        assert self.live, "view released twice"
        self.live = False
        self.storage.views -= 1

    @property
    def array(self):
        assert self.live, "view used after its end"
        assert self.storage.live, "view used after its end"
        if isinstance(self.spec, BufferSpec):
            shape, dtype = (self.spec.count,), self.spec.dtype
        else:
            shape, dtype = (self.spec.depth_or_layers, self.spec.height, self.spec.width, 4), "float32"
        return np.ndarray(shape, dtype, self.storage.data.data, self.offset)


def add_one(sizes, y, x, n):
    assert isinstance(n, np.int32)
    assert sizes[0] >= n > sizes[0] - 8
    y.array[:n] = x.array[:n] + 1


def twice(sizes, y, x):
    assert sizes == (5, 3, 2)
    y.array[...] = 2 * x.array


@dataclass
class FakeDevice:
    info: DeviceInfo = field(default_factory=lambda: DeviceInfo("fake", "sim", "", frozenset(), {}))
    options: RunOptions = field(default_factory=RunOptions)
    storages: list = field(default_factory=list)
    builds: Counter = field(default_factory=Counter)
    most_live: int = 0

    def allocate(self, nbytes):
        storage = FakeStorage(nbytes, np.full(nbytes, 0xFF, np.uint8))
        self.storages.append(storage)
        self.most_live = max(self.most_live, sum(s.nbytes for s in self.storages if s.live))
        return storage

    def free(self, storage):
        assert storage.live, "freed twice"
        assert not storage.views, "freed under a view"
        storage.live = False

    def view_nbytes(self, spec):
        if isinstance(spec, BufferSpec):
            return spec.nbytes
        return 16 * spec.width * spec.height * spec.depth_or_layers

    def view(self, storage, spec, offset=0):
        assert storage.live
        if offset + self.view_nbytes(spec) > storage.nbytes:
            raise DeviceError("CL_INVALID_IMAGE_SIZE", "too large")
        storage.views += 1
        return FakeView(storage, spec, offset)

    def build(self, source, options=""):
        self.builds[source] += 1
        if "syntax error" in source:
            raise BuildError("1:1: error: expected expression")
        return {fn.__name__: fn for fn in (add_one, twice) if fn.__name__ in source}

    def launch(self, kernel, global_size, local_size, args, *, watch=None):
        kernel(tuple(global_size), *args)
        return LaunchResult(device_seconds=0.5)

    def write(self, view, array):
        view.array[...] = array

    def read(self, view):
        return view.array.copy()

    def copy(self, source, target):
        target.array[...] = source.array.reshape(target.array.shape)

    def discard(self, view):
        view.array[...] = np.full(view.array.nbytes, 0xFF, np.uint8).view(view.array.dtype).reshape(view.array.shape)

    def finish(self):
        pass

    def pool_stats(self):
        raise AssertionError("the VM does not ask")

    def take_warnings(self):
        return []

    def assert_clean(self):
        assert not [s for s in self.storages if s.live]
        assert not [s for s in self.storages if s.views]


@pytest.fixture
def device():
    made = FakeDevice()
    yield made
    made.assert_clean()


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("n", [1, 3, 100])
def test_symbolic_sizes_come_from_the_input(device, n):
    x = numbers(n, 4)
    flat, first = run(handmade.symbolic(), [x], device)
    np.testing.assert_array_equal(first, x + 1)
    np.testing.assert_array_equal(flat, (x + 1 + 1).reshape(-1))
    assert set(device.builds.values()) == {1}
    assert device.most_live == 3 * x.nbytes  # input, t0, t1


def test_one_machine_runs_many_times_and_builds_once(device):
    with VirtualMachine(handmade.symbolic(), device) as machine:
        for n in (2, 5):
            np.testing.assert_array_equal(machine.run({"x": numbers(n, 4)})[1], numbers(n, 4) + 1)
    assert set(device.builds.values()) == {1}


def test_textures_copy_in_and_out_and_storages_are_reused(device):
    x = numbers(2, 3, 5, 4)
    np.testing.assert_array_equal(run(handmade.texture(), [x], device)[0], 8 * x)
    assert [s.nbytes for s in device.storages] == [x.nbytes, x.nbytes, 1024, 1024, x.nbytes]  # x, xt, s0, s1, out


@pytest.mark.parametrize("taken", [True, False])
def test_branches(device, taken):
    x = numbers(2, 4)
    (y,) = run(handmade.branch(), [np.array(taken), x], device)
    np.testing.assert_array_equal(y, x + 1 if taken else np.full((2, 4), 7))


def test_constants_are_uploaded_once_and_all_before_the_first_call(device):
    with VirtualMachine(handmade.branch(), device) as machine:
        machine.run([np.array(True), numbers(2, 4)])
        before = len(device.storages)
        for _ in range(3):
            machine.run([np.array(False), numbers(2, 4)])
        assert len(device.storages) - before == 3 * 2  # both inputs each time; the constant of the other side was there


class Recorder(Observer):
    def __init__(self, log):
        self.log = log

    def before_function(self, call):
        assert call.tensors(written=True)[0][1].name == "t0" if call.index == 0 else True
        self.log.append(("before", call.function.name, call.index, call.symbols["n"], call.args[0].read().shape))

    def after_function(self, call):
        ((position, written),) = call.tensors(written=True)
        self.log.append(("after", call.function.name, position, float(written.read()[0, 0])))

    def before_launch(self, launch):
        self.log.append(("launch", launch.code.name, launch.index, launch.global_size, launch.local_size, launch.names))

    def after_launch(self, launch, result):
        self.log.append(("done", result.device_seconds))


def test_observers_see_every_call_and_launch(device):
    log = []
    run(handmade.symbolic(), [np.zeros((3, 4), np.float32)], device, Recorder(log))
    launch = ((16, 1, 1), (8, 1, 1), ("y", "x", ""))
    assert log == [
        ("before", "add_one", 0, 3, (3, 4)), ("launch", "add_one", 0, *launch), ("done", 0.5), ("after", "add_one", 1, 1.0),
        ("before", "add_one", 1, 3, (3, 4)), ("launch", "add_one", 1, *launch), ("done", 0.5), ("after", "add_one", 1, 2.0),
    ]  # fmt: skip


def test_an_observer_may_replay_a_launch_with_other_data(device):
    class Replay(Observer):
        def after_launch(self, launch, result):
            y, _, n = launch.args
            snapshot = launch.call.device.read(y)
            launch.call.device.launch(launch.kernel, launch.global_size, launch.local_size, (y, y, n))
            np.testing.assert_array_equal(launch.call.device.read(y), snapshot + 1)
            launch.call.device.write(y, snapshot)

    x = numbers(2, 4)
    np.testing.assert_array_equal(run(handmade.symbolic(), [x], device, Observers(Replay(), Observer()))[1], x + 1)


def test_everything_is_freed_when_an_observer_stops_the_run(device):
    class Stop(Observer):
        def before_launch(self, launch):
            if launch.index == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(handmade.symbolic(), [numbers(2, 4)], device, Stop())


BAD_INPUTS = {
    "too few": ([], "0 inputs given: the model expects 1"),
    "rank": ([np.zeros(4, np.float32)], r"input 'x': expected float32 \(n, 4\), given float32 \(4,\)"),
    "extent": ([np.zeros((2, 5), np.float32)], r"expected float32 \(n=2, 4\), given float32 \(2, 5\)"),
    "dtype": ([np.zeros((2, 4))], "given float64"),
    "unknown name": ({"y": np.zeros((2, 4), np.float32)}, r"inputs \['y'\]: the model expects \['x'\]"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_inputs_are_named(device, case):
    inputs, message = BAD_INPUTS[case]
    with pytest.raises(AdrenoSimError, match=message):
        run(handmade.symbolic(), inputs, device)


def changed(model, **bodies):
    main = model.functions["main"]
    return replace(model, functions={"main": replace(main, **bodies)})


def test_a_symbol_means_one_size_everywhere(device):
    model = handmade.symbolic()
    model = replace(changed(model, params=("x", "z")), inputs=(*model.inputs, TensorInfo("z", ("n",), "float32")))
    with pytest.raises(AdrenoSimError, match=r"input 'z': expected float32 \(n=2\), given float32 \(3,\)"):
        run(model, [numbers(2, 4), numbers(3)], device)


def body_of(model):
    return list(model.functions["main"].body)


def test_a_buffer_given_to_a_texture_parameter_is_refused_before_the_launch(device):
    body = body_of(handmade.texture())
    body[3] = v.CallHost("twice", (v.Reg("x"), v.Reg("t0")))
    with pytest.raises(AdrenoSimError, match=r"twice: parameter 'x' is .*global.texture, given float32 \(2, 3, 5, 4\) in global"):
        run(changed(handmade.texture(), body=tuple(body)), [numbers(2, 3, 5, 4)], device)


def test_a_view_that_does_not_fit_names_the_tensor(device):
    body = body_of(handmade.texture())
    body[1] = v.AllocStorage("s0", v.ShapeLiteral((100,)), "global", "uint8")
    with pytest.raises(
        DeviceError, match=r"^CL_INVALID_IMAGE_SIZE: tensor 't0', float32 .* in global.texture \(main, instruction 2\)"
    ):
        run(changed(handmade.texture(), body=tuple(body)), [numbers(2, 3, 5, 4)], device)


def test_use_after_kill_is_refused(device):
    body = body_of(handmade.symbolic())
    body.insert(14, v.Kill("t0"))
    with pytest.raises(AdrenoSimError, match="register 't0' holds nothing"):
        run(changed(handmade.symbolic(), body=tuple(body)), [numbers(2, 4)], device)


def test_a_wrong_shape_names_where(device):
    body = body_of(handmade.symbolic())
    body[2] = v.MatchShape(v.Reg("x"), "heap", (handmade.entry("const", 9), handmade.entry("any")), "main, param[0] (x)")
    with pytest.raises(AdrenoSimError, match=r"main, param\[0\] \(x\), dimension 0 of \(2, 4\): expected 9, found 2"):
        run(changed(handmade.symbolic(), body=tuple(body)), [numbers(2, 4)], device)


def test_reshape_must_keep_the_number_of_elements(device):
    body = body_of(handmade.symbolic())
    body[15] = v.Reshape("flat", v.Reg("t1"), v.ShapeLiteral((3,)))
    with pytest.raises(AdrenoSimError, match=r"cannot reshape \(2, 4\) to \(3,\)"):
        run(changed(handmade.symbolic(), body=tuple(body)), [numbers(2, 4)], device)


def test_a_kernel_that_does_not_compile_is_named(device):
    model = handmade.branch()
    broken = replace(model, kernels={"add_one": replace(model.kernels["add_one"], source="syntax error")})
    with pytest.raises(BuildError, match="kernel add_one: 1:1: error"):
        run(broken, [np.array(True), numbers(2, 4)], device)


def test_functions_call_functions_and_share_tuples(device):
    inner = v.VMFunction("inner", ("p",), (v.MakeTuple("t", (v.Reg("p"), v.Reg("p"))), v.Return(v.Reg("t"))))
    body = (
        v.CallVM("pair", "inner", (v.Reg("x"),)),
        v.GetItem("a", v.Reg("pair"), 1),
        v.Kill("pair"),
        v.Copy("b", v.Reg("a")),
        v.Kill("a"),
        v.ShapeOf("shape", v.Reg("b")),
        v.Reshape("r", v.Reg("b"), v.Reg("shape")),
        v.Return(v.Reg("r")),
    )
    info = TensorInfo("x", (2, 4), "float32")
    model = handmade.model([info], info, [], body)
    model = replace(model, functions={**model.functions, "inner": inner})
    x = numbers(2, 4)
    np.testing.assert_array_equal(run(model, [x], device)[0], x)


def test_workspaces_and_textures_inside_a_function_end_with_their_block(device):
    ones = (handmade.ONE,) * 3
    host = h.HostFunction(
        "twice",
        handmade.TWICE_HOST.params,
        (
            h.IfThen(
                handmade.const(True, "bool"),
                (
                    h.AllocImage("inner", "float32", *(handmade.const(d) for d in (5, 3, 2)), "global.texture"),
                    h.Launch("twice", (h.BufferRef("inner"), h.BufferRef("x")), handmade.TWICE_HOST.body[0].groups, ones),
                    h.For(
                        "i",
                        handmade.const(0),
                        handmade.const(2),
                        (
                            h.AllocBuffer("unused", "float32", (h.Var("i"), handmade.const(8))),
                            h.Launch("twice", (h.BufferRef("y"), h.BufferRef("inner")), handmade.TWICE_HOST.body[0].groups, ones),
                        ),
                    ),
                ),
            ),
        ),
    )
    model = replace(handmade.texture(), host_functions={"twice": host})
    x = numbers(2, 3, 5, 4)
    np.testing.assert_array_equal(run(model, [x], device)[0], 64 * x)
