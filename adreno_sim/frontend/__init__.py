"""OpenCL C to kernel IR.

`program` is the entrance: `driver` runs clang, `reader` (with `text`, `metadata`, `instructions`) reads its LLVM IR,
and `link` makes each kernel whole: `inline`, `cfg`, `vec3`, `promote`, `spaces`, `dead`, and `verify` last.
"""
