"""Layers of MLC-LLM's Llama as modules for `adreno-sim check`, as it defines them: llama_layers.py:feed_forward.

Its place is tests/adreno of MLC-LLM, with PYTHONPATH=python. It imports the definitions alone, not the engine and its library.
"""

import sys
import types
from importlib.util import find_spec

from tvm import relax
from tvm.relax.frontend import nn

package = types.ModuleType("mlc_llm")
package.__path__ = list(find_spec("mlc_llm").submodule_search_locations)
sys.modules["mlc_llm"] = package  # whose own __init__ loads the engine

if not hasattr(relax, "Constant"):
    relax.Constant = object  # TVM 0.27 has none, and mlc_llm/nn/rnn_state.py names it in an annotation

from mlc_llm.model.llama.llama_model import LlamaConfig, LlamaFFN  # noqa: E402

CONFIG = LlamaConfig(
    hidden_size=64,
    intermediate_size=96,
    num_attention_heads=4,
    num_hidden_layers=1,
    rms_norm_eps=1e-5,
    vocab_size=96,
    context_window_size=64,
)


def feed_forward():
    """One feed-forward layer in halves; n, the number of tokens, is left open."""
    layer = LlamaFFN(CONFIG)
    layer.to("float16")
    inputs = {"x": nn.spec.Tensor([1, "n", CONFIG.hidden_size], "float16"), "$": {"effect_mode": "none"}}
    return layer.export_tvm({"forward": inputs})[0]
