"""Patches of a kernel that has findings: small edits of its source, offered where the same launch then runs clean."""
