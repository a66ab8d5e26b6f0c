"""Transformers of two layers, made from their Hugging Face configurations with seeded weights, as programs of torch.export."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf

torch.set_num_threads(1)  # tests run beside one another

SIZES: dict[str, Any] = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 96}
DECODER: dict[str, Any] = {**SIZES, "num_key_value_heads": 2, "vocab_size": 96, "max_position_embeddings": 64, "use_cache": False}
IMAGE: dict[str, Any] = {"image_size": 32, "patch_size": 8}
WHISPER: dict[str, Any] = {
    "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 32,
    "vocab_size": 96, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "use_cache": False,
}  # fmt: skip
TEXT: dict[str, Any] = {**SIZES, "vocab_size": 96, "max_position_embeddings": 64, "eos_token_id": 95, "projection_dim": 32}


class First(torch.nn.Module):
    """A model that takes tensors by position and returns the first of its results."""

    def __init__(self, model: Any, *names: str, **fixed: Any):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.model(**dict(zip(self.names, tensors, strict=True)), **self.fixed, return_dict=False)[0]


def tokens(count: int = 7) -> torch.Tensor:
    return torch.randint(3, 90, (1, count), generator=torch.Generator().manual_seed(1))


def floats(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(2))


def _decoder(model: type, config: Any) -> tuple[Any, tuple[torch.Tensor, ...]]:
    return First(model(config), "input_ids", use_cache=False), (tokens(),)


def bert() -> Any:
    model = hf.BertModel(hf.BertConfig(**SIZES, vocab_size=96, max_position_embeddings=64), add_pooling_layer=False)
    mask = torch.ones(1, 7, dtype=torch.int64)
    mask[0, 5:] = 0
    return First(model, "input_ids", "attention_mask"), (tokens(), mask)


def vit() -> Any:
    return First(hf.ViTModel(hf.ViTConfig(**SIZES, **IMAGE), add_pooling_layer=False), "pixel_values"), (floats(1, 3, 32, 32),)


def whisper_encoder() -> Any:
    return First(hf.WhisperModel(hf.WhisperConfig(**WHISPER)).encoder, "input_features"), (floats(1, 16, 40),)


def whisper_decoder() -> Any:
    model = hf.WhisperModel(hf.WhisperConfig(**WHISPER)).decoder
    return First(model, "input_ids", "encoder_hidden_states", use_cache=False), (tokens(), floats(1, 20, 64))


def clip() -> Any:
    """Both towers: the logits of two pictures for two texts."""
    config = hf.CLIPConfig(text_config=TEXT, vision_config={**SIZES, **IMAGE, "projection_dim": 32}, projection_dim=32)
    both = torch.cat([tokens(), tokens().flip(1)])
    both[:, -1] = 95
    return First(hf.CLIPModel(config), "input_ids", "pixel_values"), (both, floats(2, 3, 32, 32))


def llama() -> Any:
    return _decoder(hf.LlamaForCausalLM, hf.LlamaConfig(**DECODER))


def qwen2() -> Any:
    return _decoder(hf.Qwen2ForCausalLM, hf.Qwen2Config(**DECODER))


def phi() -> Any:
    return _decoder(hf.PhiForCausalLM, hf.PhiConfig(**DECODER))


def gemma() -> Any:
    return _decoder(hf.GemmaForCausalLM, hf.GemmaConfig(**DECODER, head_dim=16))


def mixtral() -> Any:
    """Four experts, of which each token goes through two."""
    return _decoder(
        hf.MixtralForCausalLM,
        hf.MixtralConfig(**DECODER, num_local_experts=4, num_experts_per_tok=2, experts_implementation="batched_mm"),
    )


MODELS: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (bert, vit, whisper_encoder, whisper_decoder, clip, llama, qwen2, phi, gemma, mixtral)
}  # fmt: skip


def export(name: str, dtype: str = "float32") -> tuple[torch.export.ExportedProgram, list[Any]]:
    """The program of a model, and its inputs as arrays. dtype: of weights and float inputs."""
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    kind = getattr(torch, dtype)
    given = tuple(x.to(kind) if x.is_floating_point() else x for x in inputs)
    model = model.to(kind).eval()
    with torch.no_grad():
        program = torch.export.export(model, given)
    return program, [x.numpy() for x in given]
