"""OpenCV's operations on UMat, through OpenCL, against the same on its CPU path. Exit code 1 where one differs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np

RNG = np.random.default_rng(0)
COLOUR, GREY = RNG.integers(0, 256, (123, 157, 3), np.uint8), RNG.integers(0, 256, (123, 157), np.uint8)
REAL = RNG.normal(size=(90, 110)).astype(np.float32)
MAP_X, MAP_Y = (np.ascontiguousarray(part.astype(np.float32)) for part in np.meshgrid(np.arange(157) * 0.9, np.arange(123) * 0.8))
AFFINE = np.array([[1, 0.2, 3], [-0.1, 0.9, 4]], np.float32)
PERSPECTIVE = np.array([[1, 0.2, 3], [-0.1, 0.9, 4], [1e-4, 1e-4, 1]], np.float32)
SQUARE = np.ones((3, 3), np.uint8)
INVERSE = np.arange(255, -1, -1).astype(np.uint8).reshape(1, 256)

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda on: cv2.add(on(COLOUR), on(COLOUR)),
    "bilateralFilter": lambda on: cv2.bilateralFilter(on(GREY), 5, 30, 30),
    "blur": lambda on: cv2.blur(on(COLOUR), (7, 7)),
    "Canny": lambda on: cv2.Canny(on(GREY), 50, 150),
    "CLAHE": lambda on: cv2.createCLAHE(2.0, (4, 4)).apply(on(GREY)),
    "compare": lambda on: cv2.compare(on(REAL), 0.1, cv2.CMP_GT),
    "cornerHarris": lambda on: cv2.cornerHarris(on(GREY), 2, 3, 0.04),
    "cvtColor, grey": lambda on: cv2.cvtColor(on(COLOUR), cv2.COLOR_BGR2GRAY),
    "cvtColor, HSV": lambda on: cv2.cvtColor(on(COLOUR), cv2.COLOR_BGR2HSV),
    "cvtColor, YUV": lambda on: cv2.cvtColor(on(COLOUR), cv2.COLOR_BGR2YUV),
    "dft": lambda on: cv2.dft(on(REAL), flags=cv2.DFT_COMPLEX_OUTPUT),
    "dilate": lambda on: cv2.dilate(on(GREY), SQUARE, iterations=2),
    "equalizeHist": lambda on: cv2.equalizeHist(on(GREY)),
    "erode": lambda on: cv2.erode(on(GREY), SQUARE),
    "exp": lambda on: cv2.exp(on(REAL)),
    "Farneback": lambda on: cv2.calcOpticalFlowFarneback(on(GREY), on(np.roll(GREY, 1, 1)), None, 0.5, 1, 9, 1, 5, 1.1, 0),
    "fastNlMeansDenoising": lambda on: cv2.fastNlMeansDenoising(on(GREY[:40, :40].copy()), None, 5, 5, 9),
    "flip": lambda on: cv2.flip(on(COLOUR), 1),
    "GaussianBlur": lambda on: cv2.GaussianBlur(on(COLOUR), (5, 5), 1.2),
    "gemm": lambda on: cv2.gemm(on(REAL), on(REAL.T.copy()), 1.0, None, 0.0),
    "inRange": lambda on: cv2.inRange(on(COLOUR), (20, 30, 40), (200, 210, 220)),
    "integral": lambda on: cv2.integral(on(GREY)),
    "Laplacian": lambda on: cv2.Laplacian(on(GREY), cv2.CV_16S),
    "log": lambda on: cv2.log(cv2.exp(on(REAL))),
    "LUT": lambda on: cv2.LUT(on(GREY), on(INVERSE)),
    "matchTemplate": lambda on: cv2.matchTemplate(on(GREY), on(GREY[20:40, 30:60].copy()), cv2.TM_CCORR),
    "meanStdDev": lambda on: cv2.meanStdDev(on(GREY))[0],
    "medianBlur": lambda on: cv2.medianBlur(on(GREY), 3),
    "merge": lambda on: cv2.merge([on(GREY), on(GREY), on(GREY)]),
    "minMaxLoc": lambda on: np.array(cv2.minMaxLoc(on(REAL))[:2]),
    "multiply": lambda on: cv2.multiply(on(REAL), on(REAL)),
    "norm": lambda on: np.float64(cv2.norm(on(REAL))),
    "normalize": lambda on: cv2.normalize(on(REAL), None, 0, 1, cv2.NORM_MINMAX),
    "phase": lambda on: cv2.phase(on(REAL), on(REAL)),
    "pow": lambda on: cv2.pow(cv2.multiply(on(REAL), on(REAL)), 1.5),
    "pyrDown": lambda on: cv2.pyrDown(on(GREY)),
    "pyrUp": lambda on: cv2.pyrUp(on(GREY)),
    "remap": lambda on: cv2.remap(on(GREY), on(MAP_X), on(MAP_Y), cv2.INTER_LINEAR),
    "resize, area": lambda on: cv2.resize(on(COLOUR), (52, 41), interpolation=cv2.INTER_AREA),
    "resize, linear": lambda on: cv2.resize(on(COLOUR), (300, 200), interpolation=cv2.INTER_LINEAR),
    "resize, nearest": lambda on: cv2.resize(on(COLOUR), (80, 70), interpolation=cv2.INTER_NEAREST),
    "Sobel": lambda on: cv2.Sobel(on(GREY), cv2.CV_16S, 1, 0),
    "sqrt": lambda on: cv2.sqrt(cv2.multiply(on(REAL), on(REAL))),
    "sumElems": lambda on: np.array(cv2.sumElems(on(COLOUR))),
    "threshold": lambda on: cv2.threshold(on(GREY), 100, 255, cv2.THRESH_BINARY)[1],
    "transpose": lambda on: cv2.transpose(on(COLOUR)),
    "warpAffine": lambda on: cv2.warpAffine(on(GREY), AFFINE, (150, 120)),
    "warpPerspective": lambda on: cv2.warpPerspective(on(GREY), PERSPECTIVE, (150, 120)),
}

ELSEWHERE = {
    "Canny": "its hysteresis follows edges between work-items without a barrier; it differs on Intel's driver too",
    "Farneback": "its kernels compute another border; the difference is the same on Intel's driver",
}
"""Operations that differ from OpenCV's CPU path on every driver."""

INTEGERS, FLOATS = 1, 1e-4
"""Rounding: one unit of integers, of floats a share of the largest value."""


def main() -> int:
    """Compare all operations; print a line for each."""
    cv2.ocl.setUseOpenCL(True)
    if not cv2.ocl.useOpenCL():
        print("OpenCV found no OpenCL device")
        return 2
    print(f"OpenCV {cv2.__version__} on {cv2.ocl.Device.getDefault().name()}")
    wrong = 0
    for name, operation in OPERATIONS.items():
        expected, got = (np.asarray(_fetch(operation(on))) for on in (lambda array: array, cv2.UMat))
        error = np.abs(expected.astype(np.float64) - got.astype(np.float64)).max()
        allowed = max(INTEGERS if expected.dtype.kind in "iu" else 0.0, FLOATS * np.abs(expected.astype(np.float64)).max())
        known = ELSEWHERE.get(name, "")
        verdict = "ok" if error <= allowed else f"differs: {known}" if known else "DIFFERS"
        wrong += verdict == "DIFFERS"
        print(f"{name}: largest error {error:.3g}, allowed {allowed:.3g}: {verdict}")
    return 1 if wrong else 0


def _fetch(result: Any) -> Any:
    return result.get() if isinstance(result, cv2.UMat) else result


if __name__ == "__main__":
    sys.exit(main())
