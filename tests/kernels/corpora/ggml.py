"""ggml's kernels, with the build options that its host program gives for an Adreno GPU."""

from __future__ import annotations

from pathlib import Path

from .archives import GGML, unpack
from .source import Source

STANDARD = "-cl-std=CL2.0"
ALL = f"{STANDARD} -cl-mad-enable -cl-unsafe-math-optimizations -cl-finite-math-only -cl-fast-relaxed-math"

_ATTENTION = [
    f"-DDK={keys} -DDV={values} -DBLOCK_M={rows} -DBLOCK_N={columns} -DN_SPLIT={split} -DBLK_PREPASS_BM={rows}"
    for keys, values, rows, columns, split in (
        (40, 40, 32, 32, 1),
        (64, 64, 64, 64, 1),
        (128, 128, 32, 32, 2),
        (192, 128, 16, 16, 2),
    )
]
_STATES = [
    f"-DS_V={states} -DKDA={gate} -DSUBGROUP_SIZE=64 -DLANES_PER_COLUMN=8 -DCOLS_PER_LANE_GROUP={columns}"
    " -DUSE_QCOM_SUBGROUP_SHUFFLE=1 -DSUBGROUPS_PER_WG=1"
    for states in (64, 128)
    for gate in (0, 1)
    for columns in (1, 4)
]
_SIZES = [
    f"-DLINE_STRIDE_A={line} -DBLOCK_STRIDE_A={block} -DSIMDGROUP_WIDTH=64" for line, block in ((2048, 16384), (5504, 44032))
]
_VARIANTS = (
    ("flash_attn_", _ATTENTION),
    ("gated_delta_net", _STATES),
    ("gemv_noshuffle_q4_0_f32_spec", _SIZES),
    ("gemv_", ["-DSIMDGROUP_WIDTH=64"]),
    ("gemm_moe_q8_1_dp4a", ["-DMOE_QT=80", "-DMOE_QT=50", "-DMOE_QT=5"]),
    ("gemm_noshuffle_q4_k_q8_1_dp4a", ["-DTILESIZE_N=8", "-DTILESIZE_N=32"]),
    ("", [""]),
)
"""Beginnings of file names, and the variants of such files; the first that fits."""

_VECTORS = "-DVECTOR_SUB_GROUP_BROADCAST -DVECTOR_SUB_GROUP_BROADCAT"
"""What it gives for the newest compiler, in both of its spellings."""


def sources(folder: Path) -> list[Source]:
    """Every file in every variant."""
    found = []
    for file in sorted((unpack(GGML, folder) / "vendor/llama.cpp/ggml/src/ggml-opencl/kernels").glob("*.cl")):
        variants = next(variants for start, variants in _VARIANTS if file.name.startswith(start))
        text = file.read_text()
        if "VECTOR_SUB_GROUP_BROADCA" in text:
            variants = [*variants, f"{variants[-1]} {_VECTORS}"]
        for number, more in enumerate(variants):
            found.append(Source(f"ggml/{file.name}#{number}", text, f"{ALL} {more}".strip()))
    return found
