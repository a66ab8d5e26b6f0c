"""LLVM's passes over a module: everything it has for code of one work-item, and what is worth its time for code in vectors."""

from __future__ import annotations

import llvmlite.binding as llvm

SHORT = 330
"""Lines of a module up to which even code in vectors gets LLVM's own pipeline: there it costs little, and its second round
finds that elements taken apart and put together again, as in sums of images, need not be moved at all."""


class Passes:
    """The passes for one processor."""

    def __init__(self, machine: llvm.TargetMachine) -> None:
        whole, function = llvm.create_pipeline_tuning_options(3), llvm.create_pipeline_tuning_options(2)
        for options in (whole, function):
            # Unrolling by LLVM's own measure makes these kernels two to three times slower.
            options.loop_unrolling = False
            options.loop_interleaving = False
        function.loop_vectorization = False
        function.slp_vectorization = False
        self._whole = llvm.create_pass_builder(machine, whole)
        self._function = llvm.create_pass_builder(machine, function)
        self._once = llvm.create_new_module_pass_manager()
        self._once.add_always_inliner_pass()
        self._once.add_global_dead_code_eliminate_pass()
        self._each = self._function.getFunctionPassManager()

    def run(self, module: llvm.ModuleRef) -> None:
        """LLVM's own pipeline at level 3."""
        self._whole.getModulePassManager().run(module, self._whole)

    def run_on_vectors(self, module: llvm.ModuleRef, lines: int) -> None:
        """For code that is in vectors already, inlining decided (`inlining`): what simplifies one function, once over each.

        LLVM's pipeline does that too, a third of it, between passes over the module that find nothing here and a second
        round behind the vectorisers. The code runs as fast, but for some that is SHORT.
        """
        if lines <= SHORT:
            self._function.getModulePassManager().run(module, self._function)
            return
        self._once.run(module, self._function)
        for function in module.functions:
            if not function.is_declaration and b"cold" not in function.attributes:
                self._each.run(function, self._function)
