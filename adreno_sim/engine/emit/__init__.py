"""Code of one work-item and of its work-group, with checks: the scalar emitter."""
