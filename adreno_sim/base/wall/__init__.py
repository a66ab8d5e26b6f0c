"""A second wall around what runs foreign text: what this process, and all that it starts, can still do to the machine.

The first wall is the simulator's own checks. This one holds where they, clang, LLVM, TVM or a driver have a defect.
"""
