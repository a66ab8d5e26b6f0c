"""Programs of torch.export as models. PyTorch is not a dependency: without it the refusals are tested, with it the programs."""

import importlib.util
import json

import numpy as np
import pytest

from adreno_sim.base.errors import AdrenoSimError, UnsupportedError
from adreno_sim.cli.main import main
from adreno_sim.compiler.importers import torch as torch_import
from adreno_sim.compiler.importers.load import load_model

pytestmark = pytest.mark.tvm

TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not TORCH, reason="PyTorch is not installed")


def test_without_pytorch_a_program_is_refused(tmp_path, monkeypatch, capsys):
    path = tmp_path / "model.pt2"
    path.write_bytes(b"PK")
    monkeypatch.setattr(torch_import.util, "find_spec", lambda name: None)
    assert main(["check", str(path)]) == 2
    assert "needs PyTorch to be read: pip install torch" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["model.pt", "model.pth"])
def test_weights_are_no_program(tmp_path, name, capsys):
    path = tmp_path / name
    path.write_bytes(b"PK")
    assert main(["check", str(path)]) == 2
    assert "expected a program, not a pickled module or weights: torch.export.save(" in capsys.readouterr().err


def test_modules_are_told_by_their_class_alone():
    """A class of the same name in the same module, without PyTorch."""
    module = type("Module", (), {"__module__": "torch.nn.modules.module"})
    network = type("Network", (module,), {"__module__": "models"})
    program = type("ExportedProgram", (), {"__module__": "torch.export.exported_program"})
    assert torch_import.is_module(network())
    assert not torch_import.is_module(program())
    assert torch_import.is_program(program())
    assert not torch_import.is_program(network())
    with pytest.raises(AdrenoSimError, match=r"model of type Network: expected a program: torch\.export\.save"):
        load_model(network())


@pytest.fixture(scope="module")
def exported():
    """A small convolution network, and a batch of at most 8 left open in a second program of it."""
    torch = pytest.importorskip("torch")

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Conv2d(4, 8, 3, padding=1), torch.nn.Conv2d(8, 8, 3, padding=1)
            self.norm, self.last = torch.nn.BatchNorm2d(8), torch.nn.Linear(8, 10)

        def forward(self, x):
            x = torch.relu(self.norm(self.first(x)))
            x = (x + torch.relu(self.second(x))).mean((2, 3))
            return torch.softmax(self.last(x), -1), x

    torch.manual_seed(0)
    network = Network().eval()
    export = torch.export.export
    batch = torch.export.Dim("batch", min=1, max=8)
    one, two = torch.randn(1, 4, 16, 16), torch.randn(2, 4, 16, 16)
    return export(network, (one,)), export(network, (two,), dynamic_shapes=({0: batch},))


@needs_torch
def test_a_program_is_checked_and_judged_by_pytorch_too(exported, tmp_path):
    import torch

    path, report = tmp_path / "net.pt2", tmp_path / "report.json"
    torch.export.save(exported[0], str(path))
    assert main(["check", str(path), "--json", str(report)]) == 0
    data = json.loads(report.read_text())
    assert {output["reference"] for output in data["outputs"]} == {"TVM llvm", "PyTorch"}
    assert len(data["outputs"]) == 4
    assert all(output["ok"] for output in data["outputs"])
    assert len(data["kernels"]) == data["kernels_in_model"] > 4


@needs_torch
def test_an_object_with_an_open_batch(exported):
    import adreno_sim

    report = adreno_sim.check(exported[1], target="buffer", shapes={"x": (3, 4, 16, 16)})
    assert report.ok, report
    assert report.inputs[0].shape == (3, 4, 16, 16)


@needs_torch
def test_a_wrong_reference_would_be_seen(exported):
    """PyTorch judges what it is given, not what TVM imported."""
    from adreno_sim.golden.torch_reference import run_torch

    x = np.random.default_rng(0).standard_normal((1, 4, 16, 16)).astype("float32")
    first, second = run_torch(exported[0], [x]), run_torch(exported[0], [x + 1])
    assert [array.shape for array in first] == [(1, 10), (1, 8)]
    assert not np.allclose(first[1], second[1])
    with pytest.raises(AdrenoSimError, match="PyTorch: "):
        run_torch(exported[0], [x[:, :3]])


@needs_torch
def test_what_cannot_be_imported(tmp_path):
    import torch

    class Odd(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.svd(x)[1]

    with pytest.raises(UnsupportedError, match=r"TVM cannot import this program: it has no operator _linalg_svd"):
        load_model(torch.export.export(Odd(), (torch.randn(4, 4),)))
    path = tmp_path / "broken.pt2"
    path.write_bytes(b"PK")
    with pytest.raises(AdrenoSimError, match=r"not a program that torch\.export\.save wrote"):
        load_model(path)
