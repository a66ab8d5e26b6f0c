"""Sources that a real compiler takes and our device need not, with the reason of each; `docs/fidelity.md` lists them."""

from __future__ import annotations

INTEL = "it uses cl_intel_subgroups, which no Adreno device has, and OpenCV's host code builds it where a device has it"
VECTORS = (
    "it calls sub_group_broadcast with vectors, which OpenCL C does not have without cl_khr_subgroup_extended_types; ggml's host "
    "code builds it only for versions of Qualcomm's compiler that take it all the same"
)

REASONS = {
    "opencv/dnn/gemm_buffer.cl": INTEL,
    "opencv/dnn/softmax_loss.cl": INTEL,
    "ggml/gemv_noshuffle_q4_k_f32_32b_trans.cl": VECTORS,
    "ggml/gemv_noshuffle_q5_k_f32_32b_trans.cl": VECTORS,
    "ggml/gemv_noshuffle_q6_k_f32_32b_trans.cl": VECTORS,
}
"""Beginnings of names of sources -> why."""

ALLOWED = tuple(REASONS)
