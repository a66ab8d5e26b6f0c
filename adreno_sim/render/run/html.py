"""The report of a run as one page: verdict, findings with the host's calls and source lines, processes with their kernels."""

from __future__ import annotations

import os

from ...base.json_io import write_text
from ...findings import rank
from ...results.plain_text import allow_lines
from ...results.run_report import LaunchRow, ProcessReport, RunReport, host_call_of, maker_of
from ..counters.html import list_parts as counter_parts
from ..page import escape
from ..report.html import list_of, of_finding, section
from ..time.html import list_parts as time_parts
from ..viewer.html import LOOKS, view_page
from .launches import list_columns


def write_html(path: str | os.PathLike[str], report: RunReport, command: str = "") -> None:
    """Write the page. command: the line that made it. AdrenoSimError if the file cannot be written."""
    write_text(path, of_run(report, command))


def of_run(report: RunReport, command: str = "") -> str:
    """The page of a run."""
    good = "good" if report.judgement == 0 else "bad"
    parts = [
        f'<p class="{good}"><strong>{escape(report.verdict)}</strong></p>',
        f"<p><code>{escape(' '.join(report.command))}</code>, checks {escape(report.checks)}</p>",
    ]
    found = []
    listed = sorted(report.shown, key=rank)
    for number, finding in enumerate(listed):
        call = host_call_of(finding)
        found.append(of_finding(number, finding, report.sources.get(finding.kernel, "")))
        found += [_called(str(call), call.where)] if call else []
        made = maker_of(finding)
        found += [_called(*made)] if made else []
    parts += section("Findings", found)
    parts.append(LOOKS)
    parts += section("Accepted", [f"<p>{escape(line)}</p>" for line in allow_lines(report.allowed, report.expired)])
    parts += section("Unsupported", [list_of(report.unsupported)] if report.unsupported else [])
    parts += section("Not checked", [list_of(report.unchecked)] if report.unchecked else [])
    parts += section("Not as recorded", [list_of(report.differs)] if report.differs else [])
    parts += section("Counters", counter_parts(list(report.counters.items())) if report.counters else [])
    parts += section("Predicted times", time_parts(report.time))
    parts += section("Readings", [list_of(report.readings.lines())] if report.readings is not None else [])
    for process in report.processes:
        parts += section(f"{process.program} ({process.pid})", [_process(process)])
    return view_page(f"{report.command[0]} on {report.device}", parts, report.evidence, listed, command)


def _called(sentence: str, where: tuple[str, ...]) -> str:
    """A call of the program, and its frames."""
    frames = "".join(f"<br>from <code>{escape(frame)}</code>" for frame in where)
    return f"<p>{escape(sentence)}{frames}</p>"


def _process(process: ProcessReport) -> str:
    rows = "".join(
        f'<tr><td><code>{escape(name)}</code></td><td class="n">{count.launches}</td><td class="n">{count.seconds:.3f}</td></tr>'
        for name, count in sorted(process.kernels.items(), key=lambda item: -item[1].seconds)
    )
    said = f"<p>{escape(process.failed)}</p>" if process.failed else ""
    leaks = f"<p>{len(process.leaks)} objects were never released</p>" if process.leaks else ""
    heads = "<tr><th>kernel</th><th>launches</th><th>seconds</th></tr>"
    launches = _launches(process.launches) if process.launches else ""
    return f'{said}{leaks}<div class="scroll"><table><thead>{heads}</thead><tbody>{rows}</tbody></table></div>{launches}'


def _launches(rows: list[LaunchRow]) -> str:
    columns = list_columns(rows)
    heads = "".join(f"<th>{escape(column.title)}</th>" for column in columns)
    figure = ' class="n"'
    cells = (
        "".join(f"<td{figure if column.right else ''}>{escape(column.text(row))}</td>" for column in columns) for row in rows
    )  # fmt: skip
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f'<div class="scroll"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'
