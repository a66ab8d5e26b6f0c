"""Tests of language models: the modules that they share."""

import sys
from pathlib import Path

from adreno_sim.compiler.tvm_bridge.versions import tvm_series

collect_ignore_glob = [] if tvm_series() == "0.27" else ["test_*.py"]  # the kernels are those of TVM 0.27
sys.path.insert(0, str(Path(__file__).parent))  # importlib mode leaves the shared modules off the path
