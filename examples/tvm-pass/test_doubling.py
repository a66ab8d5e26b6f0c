"""The pass under pytest: right on every device, and its defect found."""

import pytest
from check_pass import with_pass
from doubling import Doubling, WrongDoubling
from module import Module


@pytest.mark.parametrize("target", ["buffer", "texture"])
def test_the_pass_keeps_what_the_module_computes(adreno_check, target):
    adreno_check(Module, target=target, pipeline=with_pass(Doubling))


def test_its_defect_is_found(adreno_check):
    report = adreno_check.report(Module, target="buffer", pipeline=with_pass(WrongDoubling))
    assert not report.ok
    assert {finding.kind.label for finding in report.findings} == {"wrong-value"}
