"""A tiny Llama in GGUF files with seeded weights: llama.cpp generates the same tokens on the OpenCL device as on the CPU.

Arguments: llama.cpp's llama-simple, a folder for the files. Exit code 1 where the tokens differ.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, KV_HEADS, INNER, VOCABULARY, CONTEXT = 2, 512, 8, 4, 1024, 512, 128
"""WIDTH and INNER are large enough for llama.cpp's kernels for Adreno; the keys and values of fewer heads are not."""
TOKENS = 32
PROMPT = "the quick brown fox"
TYPES = ("Q4_0", "Q8_0", "F16")
CONTROL = ("<unk>", "<s>", "</s>")
WITHOUT = {"GGML_OPENCL_ADRENO_XMEM_GEMM": "0"}
"""Its product of halves that loads weights into constant memory by sub-group, which not all drivers list."""


def write_vocabulary(writer: gguf.GGUFWriter) -> None:
    """Control tokens, all bytes, letters, and tokens that name their number."""
    pieces = [(text, gguf.TokenType.CONTROL) for text in CONTROL]
    pieces += [(f"<0x{byte:02X}>", gguf.TokenType.BYTE) for byte in range(256)]
    pieces += [(letter, gguf.TokenType.NORMAL) for letter in "▁abcdefghijklmnopqrstuvwxyz"]
    pieces += [(f"[{number}]", gguf.TokenType.NORMAL) for number in range(len(pieces), VOCABULARY)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in pieces])
    writer.add_token_scores([0.0] * VOCABULARY)
    writer.add_token_types([int(kind) for _, kind in pieces])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)


def write_model(path: Path, kind: gguf.GGMLQuantizationType) -> None:
    """Matrices of a type, generated so that activations keep their size from layer to layer."""
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(VOCABULARY)
    write_vocabulary(writer)

    def add_matrix(name: str, rows: int, columns: int, scale: float = 1.0) -> None:
        values = (rng.normal(size=(rows, columns)) * scale / np.sqrt(columns)).astype(np.float32)
        writer.add_tensor(f"{name}.weight", gguf.quantize(values, kind), raw_dtype=kind)

    def add_norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", (1 + 0.1 * rng.normal(size=WIDTH)).astype(np.float32))

    add_matrix("token_embd", VOCABULARY, WIDTH, np.sqrt(WIDTH))
    keys = WIDTH // HEADS * KV_HEADS
    for layer in range(LAYERS):
        at = f"blk.{layer}"
        add_norm(f"{at}.attn_norm")
        add_matrix(f"{at}.attn_q", WIDTH, WIDTH)
        add_matrix(f"{at}.attn_k", keys, WIDTH)
        add_matrix(f"{at}.attn_v", keys, WIDTH)
        add_matrix(f"{at}.attn_output", WIDTH, WIDTH)
        add_norm(f"{at}.ffn_norm")
        add_matrix(f"{at}.ffn_gate", INNER, WIDTH)
        add_matrix(f"{at}.ffn_up", INNER, WIDTH)
        add_matrix(f"{at}.ffn_down", WIDTH, INNER)
    add_norm("output_norm")
    add_matrix("output", VOCABULARY, WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def generate(program: str, model: Path, layers: int) -> bytes:
    """What llama-simple prints, greedily: the prompt, then tokens. layers: as many run on the device."""
    words = [program, "-m", str(model), "-n", str(TOKENS), "-ngl", str(layers), PROMPT]
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, **WITHOUT}).stdout


def main() -> int:
    program, folder = sys.argv[1], Path(sys.argv[2])
    same = True
    for name in TYPES:
        model = folder / f"tiny-{name}.gguf"
        write_model(model, gguf.GGMLQuantizationType[name])
        cpu, device = generate(program, model, 0), generate(program, model, LAYERS + 1)
        print(f"{name}: {'ok' if cpu == device else 'DIFFERS'}\n  CPU:    {cpu!r}\n  device: {device!r}", flush=True)
        same = same and cpu == device
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
