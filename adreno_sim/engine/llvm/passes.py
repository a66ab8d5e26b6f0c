"""LLVM's passes over a module: the full pipeline for scalar code, and a cheaper selection for vectorised code."""

from __future__ import annotations

from collections.abc import Iterator

import llvmlite.binding as llvm

from ...records import dataclass

SHORT = 175
"""The most lines of vectorised code in a module that gets LLVM's own pipeline: it costs little there, and its second round
removes vector elements that are extracted and inserted again, as in sums of images."""

UNROLLING = "llvm.loop.unroll.count"
"""What a module says of a loop if several iterations must become one."""

LONG = 4000
"""The most lines of a function of any shape that LLVM optimises. Some of its passes take time that grows with the square of the
number of blocks, its selection and scheduling of instructions with that of a block: 5 s for 10,000 lines. Without them it is
linear."""

LONG_OF_SHORT_BLOCKS, MOST_BLOCKS = 12_000, 500
"""The most lines of a function that LLVM optimises if it has at most so many blocks, and their squares are together no more than
that of one block of LONG lines: there that takes twice the time of code that is not optimised, and runs in a third of it."""

MOST_VECTORS = 100_000
"""The most lines of a function in vectors. Not optimised, each may take as many bytes of a thread's stack as its vector has."""

MOST = 400_000
"""The most lines of a module that is compiled."""


class Passes:
    """The passes for one processor and one module.

    llvmlite adds callbacks to a pass builder in each run and removes none: a builder that is kept takes longer with each module
    (eight times as long after 600). A new one takes 60 microseconds.
    """

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

    def run_least(self, module: llvm.ModuleRef) -> None:
        """Inlines what must be, and optimises nothing."""
        self._once.run(module, self._function)

    def run(self, module: llvm.ModuleRef) -> None:
        """Runs LLVM's own pipeline at level 3."""
        self._whole.getModulePassManager().run(module, self._whole)

    def run_on_vectors(self, module: llvm.ModuleRef, lines: int, unrolling: bool) -> None:
        """Optimises `lines` of vectorised code, whose inlining is decided (`inlining`): one round of function simplification over
        each function.

        This is a third of LLVM's pipeline; the rest are module passes that find nothing here, and a second round after the
        vectorisers. The code runs as fast, except in some modules of at most SHORT lines, and in those of `unrolling`, which LLVM
        does late.
        """
        if lines <= SHORT or unrolling:
            self._function.getModulePassManager().run(module, self._function)
            return
        self._once.run(module, self._function)
        for function in module.functions:
            if not function.is_declaration and b"cold" not in function.attributes:
                self._each.run(function, self._function)


@dataclass(frozen=True)
class Size:
    """Of a function: lines, basic blocks, and the sum of the squares of the blocks' lines."""

    lines: int = 0
    blocks: int = 0
    squares: int = 0

    @property
    def is_long(self) -> bool:
        """It is not to be optimised."""
        shaped = self.blocks <= MOST_BLOCKS and self.squares <= LONG * LONG
        return self.lines > (LONG_OF_SHORT_BLOCKS if shaped else LONG)


def function_sizes(text: str) -> Iterator[Size]:
    """Returns the sizes of the functions of a module's text."""
    blocks: list[int] = []
    for line in text.splitlines():
        if line.startswith("define"):
            blocks = [0]
        elif line == "}":
            yield Size(sum(blocks), len(blocks), sum(lines * lines for lines in blocks))
        elif blocks:
            if line[:1] not in ("", " "):  # the label of a block
                blocks.append(0)
            blocks[-1] += 1
