"""A module with products that the pass rewrites, and one that it must leave."""

from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 16), "float32")) -> R.Tensor((4, 16), "float32"):
        with R.dataflow():
            doubled = R.multiply(x, R.const(2, "float32"))
            tripled = R.multiply(R.nn.relu(doubled), R.const(3, "float32"))
            y = R.tanh(R.subtract(tripled, x))
            R.output(y)
        return y
