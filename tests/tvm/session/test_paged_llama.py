"""A tiny Llama over TVM's paged KV cache: sequences are filled, forked, shortened and slid; each logit against TVM llvm."""

import functools
import os
import subprocess
import sys

import judges
import numpy as np
import pytest

pytest.importorskip("tvm")
import tvm
from paged_llama import Sizes, export

from adreno_sim import AdrenoSimError, Session, UnsupportedError
from adreno_sim.compiler.lower.targets import make_target
from adreno_sim.findings import Severity

pytestmark = pytest.mark.tvm

V = "vm.builtin."
STATE, ATTENTION = f"{V}kv_state_", f"{V}attention_kv_cache_"


@functools.cache
def exported(sizes, target):
    """To write the kernels of a cache takes TVM some seconds."""
    return export(sizes, make_target(target))


class Chat:
    """A session with a cache, and what is asked of both."""

    def __init__(self, dtype="float32", sliding=False, judged=True, target="buffer", layers=2, **options):
        self.sizes = Sizes(dtype=dtype, layers=layers)
        module, weights = exported(self.sizes, target)
        reference = export(self.sizes, tvm.target.Target("llvm"))[0] if judged else None
        self.session = Session(module, weights, reference=reference, target=target, **options)
        self.renew(sliding)
        self.rng = np.random.default_rng(5)
        self.errors = []

    def renew(self, sliding=False):
        """Begin a cache that holds no sequence."""
        self.cache = self.session.call("create_kv_cache", (4,), (96,), (32,), (16,), (int(sliding),))

    def state(self, name, *args):
        return self.session.call(f"{STATE}{name}", self.cache, *args)

    def forward(self, numbers, lengths):
        """New tokens for sequences; keeps how far the logits are from the reference's."""
        self.state("begin_forward", numbers, lengths)
        tokens = self.rng.integers(0, self.sizes.vocabulary, (1, sum(lengths))).astype("int32")
        hidden = self.session.call("embed", tokens)
        if max(lengths) == 1:
            logits, _ = self.session.call("batch_decode", hidden.numpy().reshape(len(numbers), 1, -1), self.cache)
        else:
            ends = (np.cumsum(lengths) - 1).astype("int32")
            logits, _ = self.session.call("batch_prefill", hidden, ends, self.cache)
        self.state("end_forward")
        self.errors.append(float(np.abs(logits.numpy() - logits.expected.numpy()).max()))

    def run_shortly(self):
        """A prefill of two sequences, a fork, a decode of three, and a prefill that reads pages."""
        self.state("add_sequence", 0)
        self.state("add_sequence", 1)
        self.forward((0, 1), (5, 9))
        self.state("fork_sequence", 0, 2, 3)
        self.forward((0, 1, 2), (1, 1, 1))
        self.forward((0, 2), (2, 3))

    def run(self, sliding=False):
        """Two sequences, prefills of 5 and 9, three decodes, a fork, a pop, and a window that slides."""
        self.state("add_sequence", 0)
        self.state("add_sequence", 1)
        if sliding:
            self.session.call(f"{ATTENTION}enable_sliding_window_for_seq", self.cache, 1, 10, 2)
        self.forward((0, 1), (5, 9))
        for _ in range(3):
            self.forward((0, 1), (1, 1))
        self.state("fork_sequence", 0, 2, 6)
        self.forward((0, 1, 2), (1, 1, 1))
        self.state("popn", 0, 3)
        self.forward((0, 2), (2, 3))
        self.forward((1,), (15,))
        self.forward((1,), (1,))


def errors_of(report):
    return [finding for finding in report.findings if finding.severity is Severity.ERROR]


KERNELS = ("ragged", "decode", "merge", "append", "copy_single_page", "batch_prefill_paged")
"""Parts of the names of kernels that a conversation runs."""


def test_each_logit_is_right():
    chat = Chat(layers=1)
    with chat.session:
        chat.run_shortly()
        assert max(chat.errors) < 5e-6
        report = chat.session.report()
    assert not errors_of(report)
    assert len(report.outputs) == 6
    assert all(row.ok and not row.vacuous for row in report.outputs)
    assert all(kernel.status == "ok" for kernel in report.kernels)
    names = " ".join(kernel.name for kernel in report.kernels)
    assert all(part in names for part in KERNELS)


@pytest.mark.slow
@pytest.mark.parametrize("sliding", [False, True], ids=["whole", "window"])
def test_each_logit_of_a_long_conversation_is_right(sliding, tmp_path, run_bundle):
    chat = Chat(sliding=sliding)
    with chat.session:
        chat.run(sliding)
        assert max(chat.errors) < 3e-6
        assert len(chat.errors) == 8
        free = chat.session.call(f"{ATTENTION}get_num_available_pages", chat.cache)
        length = chat.session.call(f"{ATTENTION}get_total_sequence_length", chat.cache)
        report = chat.session.report()
        chat.session.save(tmp_path / "chat.asim")
    assert (free, length) == ((11, 28) if sliding else (3, 47))
    assert not errors_of(report)
    assert len(report.outputs) == 16
    assert all(row.ok and not row.vacuous for row in report.outputs)
    assert all(kernel.status == "ok" for kernel in report.kernels)
    names = " ".join(kernel.name for kernel in report.kernels)
    assert all(part in names for part in KERNELS)
    if sliding:
        run_bundle(tmp_path / "chat.asim", "sim:adreno-740", None)
    run_bundle(tmp_path / "chat.asim", "cl:portable", "pocl")


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "most"), [("float32", 3e-6), ("float16", 2e-2)])
def test_textures_are_a_target_too(dtype, most):
    chat = Chat(dtype, target="texture")
    with chat.session:
        chat.run()
        assert max(chat.errors) < most
        report = chat.session.report()
    assert not errors_of(report)
    assert all(kernel.status == "ok" for kernel in report.kernels)


@pytest.mark.slow
def test_halves_are_right_and_run_from_their_bundle_on_a_driver(tmp_path, run_bundle):
    chat = Chat("float16")
    with chat.session:
        chat.run()
        assert 1e-4 < max(chat.errors) < 2e-2
        assert not errors_of(chat.session.report())
        chat.session.save(tmp_path / "chat.asim")
    run_bundle(tmp_path / "chat.asim", "cl:intel", "intel")


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.parametrize(("dtype", "most"), [("float32", 3e-6), ("float16", 2e-2)])
def test_a_session_runs_on_a_driver(dtype, most, request):
    judges.skip_without(request.node, "intel")
    chat = Chat(dtype, device="cl:intel")
    with chat.session:
        chat.run()
        report = chat.session.report()
    assert report.ok
    assert max(chat.errors) < most
    assert len(report.kernels) == 23
    assert all(kernel.status == "ok" for kernel in report.kernels)


CHECK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("tvm", "tvm_ffi"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
from adreno_sim import check
report = check(sys.argv[1], device=sys.argv[2])
print(sum(row.ok for row in report.outputs), len(report.outputs))
print(*[finding.message for finding in report.findings], sep="\\n")
"""


@pytest.fixture
def run_bundle(request):
    """Runs a bundle on a device in a process that cannot import TVM; every call agrees."""
    import judges

    def run(path, device, judge):
        if judge is not None:
            judges.skip_without(request.node, judge)
        words = [sys.executable, "-c", CHECK, str(path), device]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=os.environ)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.strip() == "16 16", done.stdout

    return run


@pytest.fixture(scope="module")
def unjudged():
    """A session without a reference, for tests that each begin a cache of their own in it."""
    chat = Chat(judged=False)
    with chat.session:
        yield chat


def test_a_layer_that_was_left_out_is_named(unjudged):
    """A forward that runs no model: nothing has written what the next one reads."""
    unjudged.renew()
    unjudged.state("add_sequence", 0)
    unjudged.state("begin_forward", (0,), (3,))
    unjudged.state("end_forward")
    report = unjudged.session.report()
    (finding,) = report.findings
    assert finding.kind.label == "uninitialized-read"
    assert "sequences 0 ended, and nothing wrote their keys and values of layers 0, 1" in finding.message
    assert any("reference= takes the same module" in sentence for sentence in report.unchecked)


CALLS = [
    (("begin_forward", (4,), (3,)), "no sequence 4; there are: 0"),
    (("begin_forward", (0,), (33,)), "at most 4 and 32"),
    (("add_sequence", 0), "there is a sequence 0 already"),
    (("popn", 0, 1), "1 positions of sequence 0 to pop: it has 0"),
    (("fork_sequence", 0), "fork_sequence: expected int, int, int, given int"),
]


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[said for _, said in CALLS])
def test_calls_that_do_not_fit_the_cache(unjudged, call, said):
    unjudged.renew()
    unjudged.state("add_sequence", 0)
    with pytest.raises(AdrenoSimError) as error:
        unjudged.state(*call)
    assert said in str(error.value)


def test_tokens_are_those_of_the_forward_that_has_begun(unjudged):
    unjudged.renew()
    unjudged.state("add_sequence", 0)
    hidden = np.zeros((1, 3, unjudged.sizes.hidden), "float32")
    with pytest.raises(AdrenoSimError, match="no forward has begun"):
        unjudged.session.call("batch_prefill", hidden, np.array([2], "int32"), unjudged.cache)
    unjudged.state("begin_forward", (0,), (2,))
    with pytest.raises(AdrenoSimError, match="for the 2 tokens of begin_forward"):
        unjudged.session.call("batch_prefill", hidden[:, :1], np.array([0], "int32"), unjudged.cache)
    with pytest.raises(UnsupportedError, match="a tree of tokens"):
        unjudged.state("begin_forward", (0,), (2,), (-1, 0))


class Noted(list):
    """A cache that a callable keeps: the names of the calls that took it."""


def note(name, give=lambda cache: None):
    def called(*args):
        cache = next(arg for arg in args if isinstance(arg, Noted))
        cache.append(name)
        return give(cache)

    return called


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["", f"{STATE}begin_forward", "batch_prefill"])
def test_callables_keep_a_cache_of_their_own_and_see_every_call_that_takes_it(missing):
    names = [f"{STATE}add_sequence", f"{STATE}begin_forward", f"{STATE}end_forward", "batch_prefill"]
    callables = {"create_kv_cache": lambda *sizes: Noted()}
    callables |= {
        name: note(name, (lambda cache: (None, cache)) if name == "batch_prefill" else lambda cache: None) for name in names
    }
    callables.pop(missing, None)
    module, weights = export(Sizes(layers=1), make_target("buffer"))
    with Session(module, weights, reference=callables, target="buffer") as session:
        cache = session.call("create_kv_cache", (4,), (96,), (32,), (16,), (0,))
        try:
            session.call(names[0], cache, 0)
            session.call(names[1], cache, (0,), (3,))
            hidden = session.call("embed", np.array([[1, 2, 3]], np.int32))
            _, same = session.call("batch_prefill", hidden, np.array([2], np.int32), cache)
            session.call(names[2], cache)
            assert not missing
            assert cache.expected is same.expected
            assert sorted(cache.expected) == sorted(names)
        except AdrenoSimError as error:
            assert missing
            assert f"reference of {missing}: none was given, and it may change state" in str(error)
            return
