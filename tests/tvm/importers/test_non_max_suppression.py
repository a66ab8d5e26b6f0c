"""NonMaxSuppression, for which TVM makes TIR that it does not take: TVM's own step is blamed, never one of adreno-sim's."""

import numpy as np
import pytest

pytest.importorskip("tvm")
pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper

from adreno_sim import check
from adreno_sim.base.errors import UnsupportedError

pytestmark = pytest.mark.tvm


@pytest.mark.slow  # test_unsupported_operators.py has operators that are refused in less time
@pytest.mark.parametrize("target", ["buffer", "texture"])
def test_non_max_suppression(target):
    node = helper.make_node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"])
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("boxes", [1, 6, 4]), ("scores", [1, 2, 6]))
    ]
    given = {"most": np.array([3], np.int64), "overlap": np.array([0.5], np.float32), "least": np.array([0.1], np.float32)}
    held = [numpy_helper.from_array(array, name) for name, array in given.items()]
    graph = helper.make_graph([node], "m", inputs, [helper.make_tensor_value_info("kept", TensorProto.INT64, ["n", 3])], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(UnsupportedError, match="ONNX operator NonMaxSuppression") as caught:
        check(model, target=target)
    assert "adreno_sim." not in str(caught.value)
    assert "in pass" in str(caught.value)
