"""LLVM as text and as machine code: writing modules, LLVM's passes, loading objects."""
