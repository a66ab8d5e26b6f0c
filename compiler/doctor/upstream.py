"""Reports of defects for TVM's tracker: a script that needs TVM alone, what it gives, the cause and a proposed patch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ...base.output_file import write_text
from ..passes.registry import FIXES
from ..tvm_bridge.tensors import constant_array
from ..tvm_bridge.versions import import_tvm, type_of
from .defects import DEFECTS, Defect, fixes_of
from .examine import Diagnosis, Examination
from .patches import CAUSES, PATCHES, SCRIPTS

EXPECTED = {
    "compiles": "The module lowers, and its kernels compute what the operators mean.",
    "values": "The kernel named below computes what its PrimFunc meant before it was scheduled.",
    "plan": "The plan reserves what its tensors need.",
}

FUTURE = "from __future__ import annotations"
TYPE_VARIABLE = "from typing import TypeVar"

LOWER = """
target = tvm.target.Target("{tag}")
with target:
    lowered = tvm.relax.get_default_pipeline(target)(Module)
print(lowered.script())
"""

SOURCE = """
from tvm.tirx import compilation_pipeline as pipelines
from tvm.tirx.build import split_host_device_mods

kept = {var: function for var, function in lowered.functions_items() if isinstance(function, tvm.tirx.PrimFunc)}
functions = tvm.IRModule(kept, attrs=lowered.attrs)
functions = tvm.tirx.transform.BindTarget(target.with_host(tvm.target.Target("llvm")))(functions)
found = pipelines.get_default_tir_pipeline(target)
passes, device_passes = (found[0], found[2]) if isinstance(found, tuple) else (found, pipelines.finalize_device_passes)
with target:
    for kernels_target, kernels in split_host_device_mods(passes(functions))[1].items():
        built = tvm.get_global_func("target.build.opencl")(device_passes()(kernels), kernels_target)
        print(built.inspect_source())
"""
"""What is added where a module lowers, so that its kernels can be read and run."""


def write_reports(found: Examination, folder: Path) -> list[Path]:
    """Write NAME.md for every defect that was found present, into an existing folder; the files, in the order of the defects."""
    by_name = {defect.name: defect for defect in DEFECTS}
    files = []
    for item in found.present:
        files.append(folder / f"{item.name}.md")
        write_text(files[-1], report(by_name[item.name], item, found))
    return files


def report(defect: Defect, item: Diagnosis, found: Examination) -> str:
    """The report of one defect as Markdown."""
    got = item.stock if item.stock != "ok" else item.alone
    kind = "plan" if "bytes planned" in got else "compiles" if got.startswith(("does not compile", "TypeError")) else "values"
    return f"""# [Adreno] {item.summary[0].upper()}{item.summary[1:]}

Versions: apache-tvm {found.tvm}, apache-tvm-ffi {found.tvm_ffi}, Python {found.python} on {sys.platform}.
Target `{_tag(defect)}`.

## Reproduce

```python
{script(defect, kind == "values").strip()}
```

## Expected

{EXPECTED[kind]}

## Got

{got}

## Cause

{cause(defect)}

## Proposed patch (not built yet)

{PATCHES[defect.name]}
"""


def _tag(defect: Defect) -> str:
    from ..lower.targets import TAGS

    return TAGS[defect.target]


def cause(defect: Defect) -> str:
    """Why TVM does that: what the fix's own file says of it, or a text where no pass fixes it."""
    if defect.name in CAUSES:
        return CAUSES[defect.name]
    names = fixes_of(defect)
    fix = next(fix for fix in FIXES if fix.name == names[0])
    text = sys.modules[fix.maker.__module__].__doc__ or ""
    return text.partition("\n\n")[2].strip()


def script(defect: Defect, with_source: bool) -> str:
    """A Python script that shows a defect and imports TVM alone. with_source: it prints the kernels too."""
    if defect.name in SCRIPTS:
        return SCRIPTS[defect.name]
    assert defect.build is not None, defect.name
    tvm = import_tvm()
    tir = "tirx" if hasattr(tvm.script, "tirx") else "tir"
    head = ["import tvm", f"from tvm.script import ir as I, relax as R, {tir} as T"]
    lines = weights_as_inputs(defect.build()).script(show_meta=True).splitlines()
    # TVM prints a symbolic size as a type parameter (Python 3.12 and later) or as a TypeVar, whose import it leaves as a comment.
    # Python must evaluate neither where it reads the annotations, and allows no statement before the import that says so.
    printed = [line.removeprefix("# ") for line in lines]
    if TYPE_VARIABLE in printed:
        head.insert(0, TYPE_VARIABLE)
    if FUTURE in printed or TYPE_VARIABLE in printed:
        head.insert(0, FUTURE)
    dropped = ("# from tvm.script", FUTURE, f"# {TYPE_VARIABLE}")
    text = "\n".join(line for line in lines if not line.startswith(dropped)).strip()
    return "\n".join(head) + f"\n\n{text}\n" + LOWER.format(tag=_tag(defect)) + (SOURCE if with_source else "")


def weights_as_inputs(module: Any) -> Any:
    """The module with constants of more than one element as parameters of their functions: they make no difference to TVM."""
    tvm = import_tvm()
    relax = tvm.relax

    class Lift(relax.PyExprMutator):  # type: ignore[name-defined]
        def __init__(self, mod: Any) -> None:
            super().__init__(mod)
            self.lifted: list[Any] = []

        def visit_constant_(self, constant: Any) -> Any:
            value = constant_array(constant)
            if value is None or value.size == 1:
                return constant
            self.lifted.append(relax.Var(f"w{len(self.lifted)}", type_of(constant)))
            return self.lifted[-1]

    mutator = relax.expr_functor.mutator(Lift)(module)
    for var, function in module.functions_items():
        if var.name_hint != "main":
            continue
        body = mutator.visit_expr(function.body)
        lifted = relax.Function([*function.params, *mutator.lifted], body, is_pure=function.is_pure, attrs=function.attrs)
        mutator.builder_.update_func(var, relax.utils.copy_with_new_vars(lifted))
    return mutator.builder_.get()
