"""Exports an architecture of torchvision, timm or transformers with random weights.

python ci/networks/export.py PACKAGE NAME SHAPE FILE.pt2 [KEY=VALUE ...]     needs torch and the package

SHAPE: 1x3x64x64 of floats, or ids:1x12 of tokens. KEY=VALUE: an argument of the architecture, or a field of its configuration.
"""

from __future__ import annotations

import ast
import sys
from typing import Any

import torch

TOKENS = 128
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
"""Fields of a language model's configuration, where it has them."""


class LastHiddenState(torch.nn.Module):
    """A language model whose result is a tensor, not a class of transformers, without which nobody could load the program."""

    def __init__(self, model: torch.nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=tokens).last_hidden_state


def define_suppression() -> torch.library.Library:
    """Operators of torchvision's compiled half, which on PyPI is made for CUDA and does not load beside a PyTorch without."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def make_model(package: str, name: str, settings: dict[str, Any]) -> torch.nn.Module:
    """The architecture with weights of seed 0."""
    torch.manual_seed(0)
    if package == "torchvision":
        import torchvision

        return torchvision.models.get_model(name, weights=None, **settings)
    if package == "timm":
        import timm

        return timm.create_model(name, **settings)
    from transformers import AutoConfig, AutoModel

    config = AutoConfig.for_model(name, vocab_size=TOKENS)
    config.use_cache = False
    for key, value in (SMALL | settings).items():
        if hasattr(config, key):
            setattr(config, key, value)
    return LastHiddenState(AutoModel.from_config(config))


def main(package: str, name: str, shape: str, file: str, *settings: str) -> None:
    library = define_suppression()
    pairs = [setting.split("=", 1) for setting in settings]
    model = make_model(package.split("==")[0], name, {key: ast.literal_eval(value) for key, value in pairs}).eval()
    sizes = [int(size) for size in shape.removeprefix("ids:").split("x")]
    with torch.no_grad():
        example = torch.randint(2, TOKENS, sizes) if shape.startswith("ids:") else torch.randn(sizes)
        program = torch.export.export(model, (example,))
    torch.export.save(program, file)
    del library


if __name__ == "__main__":
    main(*sys.argv[1:])
