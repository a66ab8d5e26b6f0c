"""Trained networks on real pictures: PP-OCR's direction classifier, detector and recogniser, equal to ONNX Runtime."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import adreno_sim
from adreno_sim.compiler.extract.module import extract
from adreno_sim.compiler.importers.inputs import make_inputs
from adreno_sim.compiler.importers.load import load_model
from adreno_sim.compiler.lower.pipeline import lower
from adreno_sim.compiler.run.vm import run

pytestmark = [pytest.mark.tvm, pytest.mark.slow]

SHAPE = (1, 3, 48, 192)


def network(name: str) -> Path:
    """A model file inside the rapidocr-onnxruntime package, which is not imported (it would pull in OpenCV)."""
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("rapidocr-onnxruntime is not installed")
    return Path(spec.submodule_search_locations[0]) / "models" / name


def classifier() -> Path:
    return network("ch_ppocr_mobile_v2.0_cls_infer.onnx")


def picture(path: Path, turned: bool, shape: tuple[int, ...] = SHAPE) -> Path:
    """A line of black text on white, upright or upside down."""
    drawing = pytest.importorskip("PIL.ImageDraw")
    from PIL import Image, ImageFont

    image = Image.new("RGB", shape[:1:-1], "white")
    drawing.Draw(image).text((10, 2), "Hello 42", fill="black", font=ImageFont.load_default(36))
    (image.rotate(180) if turned else image).save(path)
    return path


def test_direction_of_text_in_textures(tmp_path: Path, adreno: Any) -> None:
    """Every kernel is right, and the whole network tells upright from upside down, as ONNX Runtime does."""
    model = load_model(classifier(), {"x": SHAPE})
    assert model.onnx is not None
    assert not model.seeded
    compiled = extract(lower(model.module, "texture"), "classifier")
    session = onnxruntime.InferenceSession(str(classifier()))
    classes = []
    for turned in (False, True):
        arrays = make_inputs(model, picture(tmp_path / f"{turned}.png", turned))
        (golden,) = session.run(None, arrays)
        (got,) = run(compiled, arrays, adreno)
        np.testing.assert_allclose(got, golden, atol=1e-3)
        assert got.argmax() == golden.argmax()
        classes.append(int(got.argmax()))
    assert classes == [0, 1]


def test_direction_of_text_in_buffers(tmp_path: Path, adreno: Any) -> None:
    file = picture(tmp_path / "line.png", turned=True)
    report = adreno_sim.check(classifier(), file, device=adreno, target="buffer", shapes={"x": SHAPE})
    assert report.ok, str(report)
    judges = {output.reference: output for output in report.outputs}
    assert judges["ONNX Runtime"].ok
    assert not judges["ONNX Runtime"].vacuous
    assert judges["ONNX Runtime"].max_abs < 1e-3


@pytest.mark.parametrize(
    ("name", "shape"), [("ch_PP-OCRv4_det_infer.onnx", (1, 3, 160, 320)), ("ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320))]
)
def test_detector_and_recogniser_in_textures(name: str, shape: tuple[int, ...], tmp_path: Path, adreno: Any) -> None:
    """Transposed convolutions in the one, attention in the other; every kernel is checked on what a real picture makes of it."""
    file = picture(tmp_path / "line.png", turned=False, shape=shape)
    report = adreno_sim.check(network(name), file, device=adreno, target="texture", shapes={"x": shape})
    assert report.ok, str(report)
    assert report.checked == report.kernels_in_model > 150, str(report)
    assert {output.reference for output in report.outputs if output.ok and not output.vacuous} == {"TVM llvm", "ONNX Runtime"}
