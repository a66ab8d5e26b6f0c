"""`adreno-sim scopes`: which storage scope every tensor of a model gets, who asked for it, and what is copied."""

from __future__ import annotations

import argparse
from typing import Any

from . import options
from .output import command_line, declare, report_stream, write_data

EXIT_OK, EXIT_FINDINGS = 0, 1

DETAILS = """\
The pipeline's texture scoping, stage by stage. --stage NAME prints the module as that stage left it, as TVMScript that parses
back (tvm.script.from_source); --stage list names them. Constants of more than 1 MiB in all are left out unless --constants.

exit code: 0 ok; 1 scopes disagree (a use that expects another scope than its tensor has, a texture that is not five
dimensions, the last of 4); 2 usage or bad input; 3 unsupported. Unnecessary copies are warnings.
"""


FLAGS = ("--target", "--pipeline", "--rule", "--weights", "--shape", "--input-value")
"""Options that other commands have, too."""


def add(commands: Any) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "scopes",
        help="show which tensors become textures, who asked for it, and what is copied",
        description="Run the texture scoping of TVM's Adreno pipeline on a model and show its decisions.",
        epilog=DETAILS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a model (.onnx, .pt2, .py)")
    options.add(parser, *FLAGS)
    parser.add_argument("--device", metavar="DEVICE", help="whose image limits hold (default: ADRENO_SIM_DEVICE, ...)")
    parser.add_argument("--stage", metavar="NAME", help="print the module after this stage (list: their names)")
    parser.add_argument("--constants", action="store_true", help="with --stage: print constants too, however large they are")
    parser.add_argument("--all", action="store_true", help="list every tensor, not only textures and what is contested")
    parser.add_argument("--html", metavar="FILE", help="one page: the graph coloured by scope")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON (- = standard output)")
    declare(parser, ("--json", "--html"), ("model",))
    parser.set_defaults(run=_scopes)


def _scopes(args: argparse.Namespace) -> int:
    from ..backends.open import open_device
    from ..compiler.explain.memory_scopes import scope_stages
    from ..compiler.explain.script import script
    from ..render.memory_scopes import html, text

    if args.stage is None or args.stage == "list":
        options.refuse(args, ("--constants",), "is for the module that --stage prints")
    if args.stage is not None:
        options.refuse(args, ("--all", "--html", "--json"), "is for the report; --stage prints a module instead")
    limits = open_device(args.device).info.limits
    staged, report = scope_stages(
        args.model,
        limits=limits,
        **options.given_options(args, *FLAGS),
    )
    if args.stage == "list":
        print("\n".join(staged.modules))
        return EXIT_OK
    if args.stage is not None:
        print(script(staged.at(args.stage), args.constants or None))
        return EXIT_OK
    if args.html:
        html.write_html(args.html, report, command_line(args))
    write_data(args, report.as_json)
    text.show(report, report_stream(args), args.all)
    return EXIT_OK if report.ok else EXIT_FINDINGS
