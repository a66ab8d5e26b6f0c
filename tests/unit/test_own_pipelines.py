"""`adreno_check` with passes of the test's own: what they do not compile fails the test, what TVM lacks skips it."""

from types import SimpleNamespace

import pytest

from adreno_sim.base.errors import UncompiledError, UnsupportedError
from adreno_sim.base.pytest_settings import PytestSettings
from adreno_sim.compiler.check import check
from adreno_sim.pytest.checking import AdrenoCheck


@pytest.mark.parametrize(
    "error, options, outcome",
    [
        (UncompiledError("unsupported: the pass fails"), {"pipeline": lambda module: module}, pytest.fail.Exception),
        (UncompiledError("unsupported: relax.sort"), {}, pytest.skip.Exception),
        (UncompiledError("unsupported: relax.sort"), {"pipeline": "stock"}, pytest.skip.Exception),
        (UnsupportedError("unsupported: double"), {"pipeline": lambda module: module}, pytest.skip.Exception),
    ],
)
def test_who_is_at_fault_decides(monkeypatch, error, options, outcome):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(check, "check", refuse)
    node = SimpleNamespace(user_properties=[])
    with pytest.raises(outcome, match=str(error)):
        AdrenoCheck(None, "sim:adreno-740", PytestSettings(), node)("model.onnx", **options)
