"""Reads the text of LLVM modules into kernel IR."""
