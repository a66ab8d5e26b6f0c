"""Sources that a real compiler takes and our device need not, with the reason of each; `docs/fidelity.md` lists them."""

from __future__ import annotations

INTEL = "it uses cl_intel_subgroups, which no Adreno device has, and OpenCV's host code builds it where a device has it"

REASONS = {
    "opencv/dnn/gemm_buffer.cl": INTEL,
    "opencv/dnn/gemm_image.cl": INTEL,
    "opencv/dnn/softmax_loss.cl": INTEL,
}
"""Beginnings of names of sources -> why."""

ALLOWED = tuple(REASONS)
