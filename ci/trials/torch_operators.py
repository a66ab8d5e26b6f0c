"""TVM's importer of PyTorch's programs, operator by operator: what it reads right, reads wrongly, and refuses.

python ci/trials/torch_operators.py [PATTERN ...]      needs torch

Each program is exported, imported by TVM and run by TVM's llvm target, in float32; PyTorch is the judge. A check for buffers of
those that come out wrong has to find it. Exit code: 0 it does, else 1.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import adreno_sim
from adreno_sim.compiler.compile import read_model
from adreno_sim.compiler.lower.compile_options import CompileOptions
from adreno_sim.golden.model_reference import ModelReference

IMAGE, ROWS, BATCH = (1, 4, 6, 8), (3, 6), (2, 5, 6)
NAMED = "TVM's import of the model changed the meaning"

Program = Callable[..., Any]


def whole(*shape: int) -> torch.Tensor:
    return torch.arange(int(np.prod(shape))).reshape(shape)


def real(*shape: int) -> torch.Tensor:
    return torch.linspace(-1, 1, int(np.prod(shape))).reshape(shape)


PROGRAMS: dict[str, tuple[Program, tuple[int, ...]]] = {
    # integers among floats
    "divide integers": (lambda x: x + whole(6) / 4, ROWS),
    "divide integers by integers": (lambda x: x + whole(6) / (whole(6) + 2), ROWS),
    "multiply integers by a float": (lambda x: x + whole(6) * 0.5, ROWS),
    "add a float to integers": (lambda x: x + (whole(6) + 0.5), ROWS),
    "subtract integers from a float": (lambda x: x + (0.5 - whole(6)), ROWS),
    "power of integers": (lambda x: x + whole(6) ** 0.5, ROWS),
    "root of integers": (lambda x: x + torch.sqrt(whole(6)), ROWS),
    "exponential of integers": (lambda x: x + torch.exp(whole(6)), ROWS),
    "sigmoid of integers": (lambda x: x + torch.sigmoid(whole(6)), ROWS),
    "mean of integers as floats": (lambda x: x + whole(6).float().mean(), ROWS),
    "floor division": (lambda x: x + (whole(6) - 3) // 2, ROWS),
    "floor division of floats": (lambda x: torch.floor_divide(x * 5, 2.0), ROWS),
    "remainder": (lambda x: x + (whole(6) - 3) % 4, ROWS),
    "remainder of floats": (lambda x: torch.remainder(x * 5, 2.0), ROWS),
    "fmod": (lambda x: torch.fmod(x * 5, 2.0), ROWS),
    "divide by trunc": (lambda x: torch.div(x * 5, 2.0, rounding_mode="trunc"), ROWS),
    "divide by floor": (lambda x: torch.div(x * 5, 2.0, rounding_mode="floor"), ROWS),
    "comparison as a number": (lambda x: (x > 0) * 2.0 + (x < 0.5).float(), ROWS),
    "sum of comparisons": (lambda x: x + (x > 0).sum(), ROWS),
    "mask times integers": (lambda x: x + (x > 0) * whole(6), ROWS),
    "where of integers": (lambda x: x + torch.where(x > 0, whole(6), 1), ROWS),
    "where of a number": (lambda x: torch.where(x > 0, x, 0), ROWS),
    "bool negated": (lambda x: x * (~(x > 0)), ROWS),
    "to int and back": (lambda x: (x * 5).to(torch.int32).to(torch.float32), ROWS),
    "rsub": (lambda x: torch.rsub(x, 2, alpha=3), ROWS),
    "add with alpha": (lambda x: torch.add(x, real(6), alpha=2), ROWS),
    "sub with alpha": (lambda x: torch.sub(x, real(6), alpha=2), ROWS),
    "addcmul": (lambda x: torch.addcmul(x, x, x, value=0.5), ROWS),
    "addcdiv": (lambda x: torch.addcdiv(x, x, x * x + 1, value=0.5), ROWS),
    "lerp": (lambda x: torch.lerp(x, x * x, 0.25), ROWS),
    "addmm": (lambda x: torch.addmm(real(3, 4), x, real(6, 4), beta=0.5, alpha=2), ROWS),
    "baddbmm": (lambda x: torch.baddbmm(real(2, 5, 5), x, x.transpose(1, 2), beta=0.5, alpha=2), BATCH),
    # pooling
    "avg_pool2d with divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    "avg_pool2d with padding": (lambda x: F.avg_pool2d(x, 3, 2, padding=1), IMAGE),
    "avg_pool2d without padding counted": (lambda x: F.avg_pool2d(x, 3, 2, padding=1, count_include_pad=False), IMAGE),
    "avg_pool2d by ceil": (lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), IMAGE),
    "max_pool2d by ceil": (lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), IMAGE),
    "max_pool2d dilated": (lambda x: F.max_pool2d(x, 2, 1, dilation=2), IMAGE),
    "max_pool2d with padding": (lambda x: F.max_pool2d(x, 3, 2, padding=1), IMAGE),
    "max_pool1d": (lambda x: F.max_pool1d(x, 2), BATCH),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2, padding=1), BATCH),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (3, 4)), IMAGE),
    "adaptive_avg_pool2d of odd sizes": (lambda x: F.adaptive_avg_pool2d(x, (4, 3)), IMAGE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 4)), IMAGE),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 4), BATCH),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 2, 2), IMAGE),
    # sizes of images
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGE),
    "bilinear by corners": (lambda x: F.interpolate(x, size=(9, 11), mode="bilinear", align_corners=True), IMAGE),
    "bilinear to smaller": (lambda x: F.interpolate(x, size=(4, 5), mode="bilinear"), IMAGE),
    "bilinear antialiased": (lambda x: F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True), IMAGE),
    "nearest": (lambda x: F.interpolate(x, size=(9, 11), mode="nearest"), IMAGE),
    "nearest by scale": (lambda x: F.interpolate(x, scale_factor=1.6, mode="nearest"), IMAGE),
    "nearest exact": (lambda x: F.interpolate(x, size=(9, 11), mode="nearest-exact"), IMAGE),
    "bicubic": (lambda x: F.interpolate(x, size=(9, 11), mode="bicubic"), IMAGE),
    "bicubic by corners": (lambda x: F.interpolate(x, size=(9, 11), mode="bicubic", align_corners=True), IMAGE),
    "linear": (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), BATCH),
    "area": (lambda x: F.interpolate(x, size=(3, 4), mode="area"), IMAGE),
    "grid_sample": (lambda x: F.grid_sample(x, real(1, 5, 6, 2), align_corners=False), IMAGE),
    "grid_sample by corners": (lambda x: F.grid_sample(x, real(1, 5, 6, 2) * 1.3, align_corners=True), IMAGE),
    "grid_sample of border": (lambda x: F.grid_sample(x, real(1, 5, 6, 2) * 1.3, padding_mode="border"), IMAGE),
    "grid_sample nearest": (lambda x: F.grid_sample(x, real(1, 5, 6, 2), mode="nearest"), IMAGE),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGE),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), IMAGE),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), IMAGE),
    "unfold": (lambda x: F.unfold(x, 2, padding=1), IMAGE),
    "fold": (lambda x: F.fold(F.unfold(x, 2, stride=2), (6, 8), 2, stride=2), IMAGE),
    "pad constant": (lambda x: F.pad(x, (1, 2, 0, 1), value=0.5), IMAGE),
    "pad negative": (lambda x: F.pad(x, (-1, 2)), IMAGE),
    "pad reflect": (lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"), IMAGE),
    "pad replicate": (lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"), IMAGE),
    "pad circular": (lambda x: F.pad(x, (1, 2, 2, 1), mode="circular"), IMAGE),
    # convolutions
    "conv2d same": (lambda x: F.conv2d(x, real(3, 4, 3, 2), padding="same"), IMAGE),
    "conv2d valid": (lambda x: F.conv2d(x, real(3, 4, 3, 2), padding="valid", stride=2), IMAGE),
    "conv2d grouped dilated": (lambda x: F.conv2d(x, real(6, 2, 3, 2), groups=2, dilation=(1, 2)), IMAGE),
    "conv1d": (lambda x: F.conv1d(x, real(4, 5, 3), real(4), padding=1), BATCH),
    "conv_transpose2d": (lambda x: F.conv_transpose2d(x, real(4, 3, 3, 3), stride=2, padding=1, output_padding=1), IMAGE),
    "conv_transpose2d grouped": (lambda x: F.conv_transpose2d(x, real(4, 3, 3, 3), groups=2, stride=2), IMAGE),
    "conv_transpose2d dilated": (lambda x: F.conv_transpose2d(x, real(4, 3, 3, 3), dilation=2), IMAGE),
    "conv_transpose1d": (lambda x: F.conv_transpose1d(x, real(5, 3, 3), stride=2), BATCH),
    # normalisations and activations
    "batch_norm": (lambda x: F.batch_norm(x, real(4), real(4) + 2, real(4), real(4)), IMAGE),
    "instance_norm": (lambda x: F.instance_norm(x), IMAGE),
    "group_norm": (lambda x: F.group_norm(x, 2, real(4), real(4)), IMAGE),
    "layer_norm": (lambda x: F.layer_norm(x, (5, 6), real(5, 6), real(5, 6)), BATCH),
    "rms_norm": (lambda x: F.rms_norm(x, (6,), real(6)), BATCH),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), IMAGE),
    "normalize": (lambda x: F.normalize(x, dim=1), BATCH),
    "celu": (lambda x: F.celu(x, 0.5), ROWS),
    "elu": (lambda x: F.elu(x, 0.5), ROWS),
    "selu": (lambda x: F.selu(x), ROWS),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), ROWS),
    "glu": (lambda x: F.glu(x, 1), ROWS),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 0.25), ROWS),
    "hardswish": (lambda x: F.hardswish(x * 4), ROWS),
    "hardsigmoid": (lambda x: F.hardsigmoid(x * 4), ROWS),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), ROWS),
    "prelu": (lambda x: F.prelu(x, real(4)), IMAGE),
    "softplus": (lambda x: F.softplus(x * 9, 2, 5), ROWS),
    "threshold": (lambda x: F.threshold(x, 0.1, 20), ROWS),
    "mish": (lambda x: F.mish(x), ROWS),
    "softshrink": (lambda x: F.softshrink(x, 0.3), ROWS),
    "tanhshrink": (lambda x: F.tanhshrink(x), ROWS),
    "softmin": (lambda x: F.softmin(x, 1), ROWS),
    "logsigmoid": (lambda x: F.logsigmoid(x), ROWS),
    "clamp of one side": (lambda x: torch.clamp(x, min=0.1), ROWS),
    "round half even": (lambda x: torch.round(x * 4) / 2, ROWS),
    "round to decimals": (lambda x: torch.round(x, decimals=1), ROWS),
    "sign": (torch.sign, ROWS),
    "frac": (torch.frac, ROWS),
    "trunc": (lambda x: torch.trunc(x * 3), ROWS),
    "atan2": (lambda x: torch.atan2(x, real(6)), ROWS),
    "expm1": (torch.expm1, ROWS),
    # reductions and orders
    "std": (lambda x: x.std(1), ROWS),
    "var of the population": (lambda x: x.var(1, unbiased=False), ROWS),
    "var corrected": (lambda x: torch.var(x, 1, correction=2), ROWS),
    "norm": (lambda x: torch.norm(x, dim=1), ROWS),
    "norm of 1": (lambda x: torch.norm(x, p=1, dim=1), ROWS),
    "norm of infinity": (lambda x: x.norm(float("inf"), 1), ROWS),
    "linalg norm": (lambda x: torch.linalg.vector_norm(x, 3, 1), ROWS),
    "logsumexp": (lambda x: x.logsumexp(1), ROWS),
    "prod": (lambda x: x.prod(1), ROWS),
    "amax of two axes": (lambda x: x.amax((0, 1)), ROWS),
    "argmax": (lambda x: x.argmax(1), ROWS),
    "argmax of all": (lambda x: x.argmax(), ROWS),
    "max with places": (lambda x: x.max(1), ROWS),
    "median": (lambda x: x.median(1).values, ROWS),
    "cumsum": (lambda x: x.cumsum(1), ROWS),
    "cumprod": (lambda x: x.cumprod(0), ROWS),
    "sort descending": (lambda x: x.sort(1, descending=True).values, ROWS),
    "topk": (lambda x: x.topk(2, 1).values, ROWS),
    "any": (lambda x: (x > 0.9).any(1).float(), ROWS),
    "all": (lambda x: (x > -3).all(1).float(), ROWS),
    "count_nonzero": (lambda x: x + torch.count_nonzero(x, 1)[:, None], ROWS),
    # shapes and places
    "flip": (lambda x: x.flip(0, 1), ROWS),
    "roll": (lambda x: x.roll((1, 2), (0, 1)), ROWS),
    "roll flat": (lambda x: x.roll(2), ROWS),
    "repeat": (lambda x: x.repeat(2, 1, 3), ROWS),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), ROWS),
    "tile": (lambda x: x.tile(2, 2), ROWS),
    "expand": (lambda x: x[:, None].expand(3, 4, 6) * 2, ROWS),
    "narrow": (lambda x: x.narrow(1, 2, 3), ROWS),
    "slices with steps": (lambda x: x[1:, ::2], ROWS),
    "negative slices": (lambda x: x[:, -4:-1], ROWS),
    "select from behind": (lambda x: x.select(1, -2), ROWS),
    "chunk uneven": (lambda x: x.chunk(4, 1)[2] * 2, ROWS),
    "split by sizes": (lambda x: x.split([1, 2, 3], 1)[1], ROWS),
    "unbind": (lambda x: x.unbind(1)[4], ROWS),
    "stack from behind": (lambda x: torch.stack((x, x * 2), -1), ROWS),
    "cat": (lambda x: torch.cat((x, real(2, 6)), 0), ROWS),
    "permute": (lambda x: x.permute(2, 0, 1), BATCH),
    "movedim": (lambda x: x.movedim(0, 2), BATCH),
    "unflatten": (lambda x: x.unflatten(1, (2, 3)), ROWS),
    "diagonal": (lambda x: x.diagonal(1), ROWS),
    "tril": (lambda x: x.tril(-1), ROWS),
    "triu": (lambda x: x.triu(1), ROWS),
    "rot90": (lambda x: x.rot90(1, (0, 1)), ROWS),
    "gather": (lambda x: x.gather(1, whole(3, 4) % 6), ROWS),
    "index_select": (lambda x: x.index_select(1, whole(4)), ROWS),
    "index by two": (lambda x: x[whole(3), whole(3) * 2], ROWS),
    "index by a mask of rows": (lambda x: x[:, [0, 2, -1]], ROWS),
    "scatter": (lambda x: x.scatter(1, whole(3, 2) % 6, 2.0), ROWS),
    "scatter_add": (lambda x: x.scatter_add(1, whole(3, 2) % 6, x), ROWS),
    "index_put": (lambda x: x.index_put((whole(2), whole(2) + 1), real(2)), ROWS),
    "index_add": (lambda x: x.index_add(1, whole(2), real(3, 2)), ROWS),
    "masked_fill": (lambda x: x.masked_fill(x > 0, 3.0), ROWS),
    "slice_scatter": (lambda x: x.slice_scatter(real(3, 2), 1, 2, 6, 2), ROWS),
    "select_scatter": (lambda x: x.select_scatter(real(3), 1, 2), ROWS),
    "one_hot": (lambda x: x + F.one_hot(whole(3) * 2 % 6, 6), ROWS),
    "embedding": (lambda x: F.embedding(whole(3), x), ROWS),
    "take": (lambda x: x.take(whole(4) * 3), ROWS),
    "einsum": (lambda x: torch.einsum("bij,bkj->bik", x, x), BATCH),
    "outer": (lambda x: torch.outer(x[0], x[1]), ROWS),
    "bilinear form": (lambda x: F.bilinear(x, x, real(2, 6, 6), real(2)), ROWS),
    "cdist": (lambda x: torch.cdist(x, x * 2), ROWS),
    "attention": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), BATCH),
    "attention causal": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True), BATCH),
    "attention scaled": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], scale=0.5), BATCH),
    "attention masked": (
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=whole(5, 5) % 3 > 0),
        BATCH,
    ),
    "full_like": (lambda x: x + torch.full_like(x, 2), ROWS),
    "linspace": (lambda x: x + torch.linspace(0, 1, 6), ROWS),
    "arange by halves": (lambda x: x + torch.arange(0, 3, 0.5), ROWS),
    "meshgrid": (lambda x: x + torch.meshgrid(whole(3), whole(6), indexing="ij")[1], ROWS),
    "new_zeros": (lambda x: x + x.new_zeros(6) + x.new_ones(6), ROWS),
    "nan_to_num": (lambda x: torch.nan_to_num(x / (x * 0 + 1)), ROWS),
    "bucketize": (lambda x: x + torch.bucketize(x, real(4)), ROWS),
    "searchsorted": (lambda x: x + torch.searchsorted(real(4), x), ROWS),
}
"""What it is -> the program, and the shape of its input."""


def judge(program: Program, shape: tuple[int, ...]) -> tuple[str, str]:
    """One of "right", "wrong" (a check finds it), "MISSED" (a check does not) and "refused", and why."""

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return program(x)

    x = torch.from_numpy(np.random.default_rng(0).uniform(-2, 2, shape).astype("f4"))
    exported = torch.export.export(Module(), (x,))
    expected = exported.module()(x)
    wanted = [item.numpy() for item in (expected if isinstance(expected, tuple) else (expected,))]
    try:
        got = ModelReference(read_model(exported, CompileOptions().reading).module).run([x.numpy()])
    except adreno_sim.AdrenoSimError as error:
        return "refused", str(error).splitlines()[0]
    why = next(filter(None, map(_difference, got, wanted)), "" if len(got) == len(wanted) else "the number of results")
    if not why:
        return "right", ""
    try:
        report = adreno_sim.check(exported, {"x": x.numpy()}, target="buffer")
    except adreno_sim.AdrenoSimError as error:
        return "refused", f"{why}; {error}".splitlines()[0]
    named = "" if any(NAMED in finding.message for finding in report.findings) else "; the import is not named"
    return ("MISSED" if report.ok else "wrong"), f"{why}{named}"


def _difference(got: np.ndarray, wanted: np.ndarray) -> str:
    if got.shape != wanted.shape:
        return f"shape {got.shape}, expected {wanted.shape}"
    off = np.abs(got.astype("f8") - wanted.astype("f8")).max(initial=0)
    return f"off by {off:.3g}" if not off <= 1e-4 * max(1.0, np.abs(wanted).max(initial=0)) else ""


def main() -> int:
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    for name, (program, shape) in PROGRAMS.items():
        if sys.argv[1:] and not any(pattern in name for pattern in sys.argv[1:]):
            continue
        try:
            kind, why = judge(program, shape)
        except Exception as error:  # of torch.export, or an internal error
            kind, why = "CRASH", f"{type(error).__name__}: {error}".splitlines()[0]
        counts[kind] += 1
        if kind != "right":
            print(f"{kind}: {name}: {why}", flush=True)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    return int(bool(counts["MISSED"] or counts["CRASH"]))


if __name__ == "__main__":
    sys.exit(main())
