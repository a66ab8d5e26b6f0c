"""A program of subgraphs and kernels, for whoever tests the two together."""

from __future__ import annotations

import pytest

pytest.importorskip("tvm")

from clml_modules import constant, conv, module, nn
from tvm import relax


def _residual(x):
    """Two subgraphs around a sine that stays with a kernel."""
    y = nn.relu(conv(x, 8, padding=1) + constant(1, 8, 1, 1))
    z = relax.op.sin(nn.max_pool2d(y, (2, 2), (2, 2)))
    return nn.relu(z + conv(z, 8, inputs=8, padding=1))


@pytest.fixture(scope="module")
def mixed():
    return module(_residual, (1, 4, 24, 24))
