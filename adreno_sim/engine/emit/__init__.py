"""The scalar emitter: LLVM text for one work-item at a time and for its work-group, with run-time checks."""
