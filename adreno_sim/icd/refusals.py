"""Calls of the client that OpenCL refuses, as findings: which are errors, and which a program may make on purpose."""

from __future__ import annotations

import hashlib
import re

from ..findings import Finding, Kind
from ..results.run_report import HostCall
from .finding_log import FindingLog
from .status import NAMES, code_of

_PROBES = {
    ("clCreateContextFromType", code_of("CL_DEVICE_NOT_FOUND")),
    ("clCreateKernel", code_of("CL_INVALID_KERNEL_NAME")),  # pyopencl: whenever an attribute of a program is asked for
    ("clCreateImage", code_of("CL_IMAGE_FORMAT_NOT_SUPPORTED")),
    ("clCreateImage2D", code_of("CL_IMAGE_FORMAT_NOT_SUPPORTED")),
    ("clCreateImage3D", code_of("CL_IMAGE_FORMAT_NOT_SUPPORTED")),
    ("clCreateImageWithProperties", code_of("CL_IMAGE_FORMAT_NOT_SUPPORTED")),
}
"""Refused tries of what a device may lack; queries (clGet...) besides. Everything else asks for something to be done."""

_MEANINGS = {
    "CL_OUT_OF_RESOURCES": "the device has too little of something for it",
    "CL_MEM_OBJECT_ALLOCATION_FAILURE": "the device's memory has no room for it",
    "CL_MEM_COPY_OVERLAP": "source and target overlap",
    "CL_IMAGE_FORMAT_MISMATCH": "the two images have different formats",
    "CL_IMAGE_FORMAT_NOT_SUPPORTED": "the device has no such image format",
    "CL_MAP_FAILURE": "there is no room to map it",
    "CL_MISALIGNED_SUB_BUFFER_OFFSET": "the offset is not a multiple of CL_DEVICE_MEM_BASE_ADDR_ALIGN",
    "CL_INVALID_VALUE": "an argument has a value that the call does not take, or a region is outside its object",
    "CL_INVALID_CONTEXT": "the context is not valid, or the objects are of different contexts",
    "CL_INVALID_COMMAND_QUEUE": "the queue is not valid",
    "CL_INVALID_HOST_PTR": "the flags require a pointer to the host's memory, or do not allow the given one",
    "CL_INVALID_MEM_OBJECT": "the memory object is not valid, or of another kind",
    "CL_INVALID_IMAGE_SIZE": "the image is empty, or larger than the device's images are",
    "CL_INVALID_IMAGE_DESCRIPTOR": "the descriptor of the image contradicts itself or its format",
    "CL_INVALID_IMAGE_FORMAT_DESCRIPTOR": "the image format is not one of OpenCL's",
    "CL_INVALID_SAMPLER": "the sampler is not valid",
    "CL_INVALID_PROGRAM": "the program is not valid",
    "CL_INVALID_PROGRAM_EXECUTABLE": "the program was not built",
    "CL_INVALID_KERNEL_NAME": "the program has no kernel of this name",
    "CL_INVALID_KERNEL": "the kernel is not valid",
    "CL_INVALID_KERNEL_ARGS": "an argument of the kernel is not set, or was released",
    "CL_INVALID_WORK_DIMENSION": "expected 1 to 3 dimensions",
    "CL_INVALID_GLOBAL_WORK_SIZE": "no global size was given, or one of 0",
    "CL_INVALID_GLOBAL_OFFSET": "the global offset and size exceed what an index can hold",
    "CL_INVALID_EVENT_WAIT_LIST": "the wait list holds something that is not an event, or its length contradicts it",
    "CL_INVALID_EVENT": "the event is not valid",
    "CL_INVALID_OPERATION": "the device or the object does not allow it",
    "CL_INVALID_BUFFER_SIZE": "the size is 0, or larger than CL_DEVICE_MAX_MEM_ALLOC_SIZE",
}

_MADE_UNLIKE = re.compile(r"\s*__constant int pyopencl_defeat_cache_\w+ = 0;\s*$")
"""What pyopencl adds to a source so that no two are alike."""


class Refusals:
    """Logs the calls that are refused. A build that fails is not an error if the same source builds with other options."""

    def __init__(self, log: FindingLog):
        self._log = log
        self._built: set[str] = set()
        self._failed: dict[str, list[Finding]] = {}
        self._last_failed = ""

    def note_build(self, source: str, *, succeeded: bool) -> None:
        """A request to build or compile was answered; the call that made it may be reported as refused next."""
        digest = hashlib.sha256(_MADE_UNLIKE.sub("", source).encode("utf-8", "surrogateescape")).hexdigest()
        self._last_failed = "" if succeeded else digest
        if succeeded:
            self._built.add(digest)
            for finding in self._failed.pop(digest, ()):
                self._log.change_kind(finding, Kind.PROBE_REFUSED)

    def add(self, function: str, code: int, kernel: str, why: str, call: HostCall) -> None:
        """A call of `function` gave the error `code`. why: the reason in words, "" if the code says it."""
        name = NAMES.get(code, "an unknown error")
        reason = why.removeprefix(f"{name}: ") or _MEANINGS.get(name, "")
        message = f"{function} gives {name} ({code}){reason and ': ' + reason}"
        detail: dict[str, object] = {"code": name, "function": function}
        finding = Finding(self._kind_of(function, code), message, kernel, detail=detail)
        shown = self._log.add(finding, "", lambda: call)
        if shown is not None and function in ("clBuildProgram", "clCompileProgram") and self._last_failed:
            self._failed.setdefault(self._last_failed, []).append(shown)

    def _kind_of(self, function: str, code: int) -> Kind:
        if function.startswith("clGet") or (function, code) in _PROBES:
            return Kind.PROBE_REFUSED
        if function in ("clBuildProgram", "clCompileProgram") and self._last_failed in self._built:
            return Kind.PROBE_REFUSED
        return Kind.CALL_REFUSED
