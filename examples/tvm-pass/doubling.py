"""A pass that makes x + x of 2 * x, and the same with a defect."""

import tvm
from tvm import relax
from tvm.relax.dpl import is_const, is_op, rewrite_call, wildcard

X, FACTOR = wildcard(), is_const()
PRODUCT = is_op("relax.multiply")(X, FACTOR)


@tvm.ir.transform.module_pass(opt_level=0, name="Doubling")
class Doubling:
    """Makes a sum of each product with the constant 2."""

    def transform_module(self, module, context):
        return _rewrite(module, lambda factor: bool((factor.value.numpy() == 2).all()))


@tvm.ir.transform.module_pass(opt_level=0, name="WrongDoubling")
class WrongDoubling:
    """Makes a sum of each product with a constant, whatever it is."""

    def transform_module(self, module, context):
        return _rewrite(module, lambda factor: True)


def _rewrite(module, is_two):
    def double(call, matched):
        x, factor = matched[X], matched[FACTOR]
        return relax.op.add(x, x) if is_two(factor) else call

    functions = {
        variable: rewrite_call(PRODUCT, double, function) if isinstance(function, relax.Function) else function
        for variable, function in module.functions_items()
    }
    return tvm.IRModule(functions, attrs=module.attrs, global_infos=module.global_infos)
