"""Machine code of small kernels: by Mesa's library, which must be installed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from validators import validator

import adreno_sim
from adreno_sim.base.errors import UnsupportedError
from adreno_sim.base.installed.extras import MissingPackageError, is_installed
from adreno_sim.cli import main as command_line
from adreno_sim.device.machine_code import Instructions
from adreno_sim.isa import compile as isa_compile
from adreno_sim.isa.assembly import count_instructions
from adreno_sim.isa.chips import chip_of_profile, chips, find_chip
from adreno_sim.isa.compile import compile_kernel
from adreno_sim.isa.mesa import layout

needs_mesa = pytest.mark.skipif(
    not is_installed("tinymesa"), reason="Mesa's compiler is not installed: the extra isa, for glibc from 2.32 on"
)
FEATURES = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "features").rglob("*.cl"))}
CHIPS = ("a630", "a650", "a740")

ACCUMULATORS = (
    "kernel void k(global const float4 *x, global float4 *y, int n) {{ int i = get_global_id(0); {} for (int j = 0; j < n; \
j++) {{ float4 v = x[j]; {} }} {} }}"
)
"""A kernel with so many live float4."""


def with_accumulators(count: int) -> str:
    first = "".join(f"float4 a{k} = x[i * {count} + {k}];" for k in range(count))
    step = "".join(f"a{k} = mad(a{k}, v, a{(k + 1) % count});" for k in range(count))
    last = "".join(f"y[i * {count} + {k}] = a{k};" for k in range(count))
    return ACCUMULATORS.format(first, step, last)


def compiled(source: str, *names: str):
    function = adreno_sim.open_device("sim:adreno-740").build(source, "-cl-std=CL3.0").module.kernels["k"]
    return compile_kernel(function, map(find_chip, names or ("a630",)))


@needs_mesa
@pytest.mark.parametrize("name", FEATURES)
def test_each_feature_compiles_for_three_chips(name):
    found = compiled(FEATURES[name], *CHIPS)
    assert [one.chip for one in found] == list(CHIPS)
    for one in found:
        assert 0 < one.unrolled.registers <= 48
        assert 1 <= one.unrolled.waves <= 16
        assert one.unrolled.text.rstrip().endswith(("end", "nop"))


USES = ((8, "a630"), (16, "a630"), (32, "a630", "a650"), (64, "a630"))
"""So many live float4, and for which chips."""


@needs_mesa
def test_more_live_values_take_more_registers_and_leave_fewer_waves():
    found = {count: compiled(with_accumulators(count), *chips) for count, *chips in USES}
    assert [found[count][0].rolled.waves for count in found] == sorted((found[c][0].rolled.waves for c in found), reverse=True)
    assert [found[count][0].rolled.registers for count in (16, 32)] == [19, 38]
    assert [found[count][0].rolled.waves for count in (16, 32)] == [10, 4]
    assert found[32][1].rolled.waves < found[32][0].rolled.waves  # a smaller file
    assert found[32][0].rolled.spills == 0 < found[64][0].rolled.spills


@needs_mesa
def test_categories():
    image, local, half = (compiled(FEATURES[name])[0].unrolled.instructions for name in ("image", "local-memory", "halves"))
    assert (image.texture, image.memory, image.special) == (1, 1, 0)
    assert local.barriers >= 2
    assert half.alu_half >= 4
    root = compiled("kernel void k(global float *a) { a[0] = native_rsqrt(a[1]) + native_log2(a[2]); }")[0].unrolled
    assert root.instructions.special == 2
    assert root.ss >= 1


@needs_mesa
def test_halves_in_pairs_take_half_the_registers():
    full = with_accumulators(32)
    wide, narrow = (compiled(text)[0].rolled for text in (full, full.replace("float4", "half4")))
    assert narrow.registers <= 0.6 * wide.registers
    assert narrow.half_registers > 32
    assert narrow.waves > wide.waves


@needs_mesa
def test_unrolling_is_shown_as_a_range():
    (code,) = compiled("kernel void k(global float *a) { float s = 0; for (int i = 0; i < 16; i++) s += a[i]; a[0] = s; }")
    assert code.rolled.loops == 1
    assert code.unrolled.loops == 0
    assert code.rolled.instructions.memory < code.unrolled.instructions.memory == 17


@needs_mesa
def test_what_mesa_asserts_ends_its_child_alone(monkeypatch):
    translate = isa_compile.translate_kernel

    def spoil(function, group=None):
        found = translate(function, group)
        program = json.loads(found.program)
        program["instructions"][1:1] = [["alu", "pack_64_2x32_split", [0, 0]]]  # of values that there are not
        return replace(found, program=json.dumps(program))

    monkeypatch.setattr(isa_compile, "translate_kernel", spoil)
    with pytest.raises(UnsupportedError, match="unsupported by isa: kernel k for a630: Mesa's ir3 was ended by SIG"):
        compiled(FEATURES["bytes"])
    monkeypatch.undo()
    assert compiled(FEATURES["bytes"])[0].unrolled.instructions.total > 0


@needs_mesa
def test_a_result_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("ADRENO_SIM_CACHE_DIR", str(tmp_path))
    first = compiled(FEATURES["longs"])
    monkeypatch.setattr(isa_compile, "_ask", None)
    assert compiled(FEATURES["longs"]) == first


@needs_mesa
def test_the_command_shows_chips_side_by_side(tmp_path, capsys):
    source = tmp_path / "k.cl"
    source.write_text(FEATURES["halves"] + "\nkernel void twice(global int *a) { a[0] *= 2; }")
    data = tmp_path / "k.json"
    assert command_line.main(["kernel", str(source), "--isa-of", "a630,a740", "--json", str(data)]) == 0
    shown = capsys.readouterr().out
    assert "twice" in shown
    assert "a740" in shown
    assert "not Qualcomm's compiler" in shown
    report = json.loads(data.read_text())
    validator("machine-code").validate(report)
    assert [(one["kernel"], one["chip"]) for one in report["kernels"]] == [
        ("k", "a630"), ("k", "a740"), ("twice", "a630"), ("twice", "a740"),
    ]  # fmt: skip


@needs_mesa
def test_the_command_dumps_assembly_and_names_refused_kernels(tmp_path, capsys):
    source = tmp_path / "k.cl"
    source.write_text("kernel void good(global int *a) { a[0] *= 2; }\nkernel void bad(global double *a) { a[0] *= 2; }")
    command = ["kernel", str(source), "--dump", "isa", "--isa-of", "a630", "--device", "sim:reference"]
    assert command_line.main(command) == 3
    out, err = capsys.readouterr()
    assert out.startswith("; good for a630\n")
    assert "stg" in out
    assert "registers" in err
    assert "bad: unsupported by isa: double" in err


@needs_mesa
def test_a_launch_shows_its_machine_code(tmp_path, capsys):
    (tmp_path / "k.cl").write_text("kernel void k(global int *o) { o[get_global_id(0)] = 1; }")
    (tmp_path / "k.toml").write_text('global_size = [4]\n[[argument]]\nkind = "buffer"\ncount = 4\ndtype = "int32"\n')
    command = [
        "kernel",
        str(tmp_path / "k.cl"),
        "--launch",
        str(tmp_path / "k.toml"),
        "--isa",
        "--json",
        str(tmp_path / "r.json"),
    ]
    assert command_line.main([*command, "--html", str(tmp_path / "r.html")]) == 0
    report = json.loads((tmp_path / "r.json").read_text())
    validator("launch-report").validate(report)
    (code,) = report["machine_code"]
    assert code["chip"] == "a740"
    assert code["unrolled"]["registers"] >= 1
    assert "stg" in (tmp_path / "r.html").read_text()
    assert "registers" in capsys.readouterr().out


@needs_mesa
def test_a_limit_that_a_kernel_is_beyond_ends_the_command_with_1(tmp_path, capsys):
    source = tmp_path / "k.cl"
    source.write_text(with_accumulators(32))
    command = ["kernel", str(source), "--isa-of", "a630,a650"]
    assert command_line.main([*command, "--max-registers", "40", "--min-waves", "2"]) == 0
    assert command_line.main([*command, "--min-waves", "4"]) == 1
    assert "k for a650: 2 waves, fewer than 4" in capsys.readouterr().out
    source.write_text("kernel void k(global int *a) { a[get_global_id(0)] = N; }")
    assert command_line.main([*command, "--build-options=-DN=3", "--max-registers", "1"]) == 1


@needs_mesa
def test_a_change_that_costs_waves_is_told_beside_what_was_before(tmp_path, capsys):
    for name, count in (("old", 8), ("new", 24)):
        (tmp_path / f"{name}.cl").write_text(with_accumulators(count))
    old, new, data = (str(tmp_path / name) for name in ("old.cl", "new.cl", "r.json"))
    assert command_line.main(["kernel", new, "--isa-of", "a630", "--against", old, "--json", data]) == 1
    shown = capsys.readouterr().out
    assert shown.index("k (before)") < shown.index("\n  k  ")
    assert "waves, 16 in" in shown
    report = json.loads(Path(data).read_text())
    validator("machine-code").validate(report)
    assert [one["kernel"] for one in report["before"]] == ["k"]
    assert command_line.main(["kernel", old, "--isa-of", "a630", "--against", new]) == 0
    assert command_line.main(["kernel", old, "--isa-of", "a630", "--against", old]) == 0


@needs_mesa
def test_code_of_another_chip_stands_for_5xx():
    own, other = compiled(with_accumulators(16), "a650", "a530")
    assert (own.code_of, other.code_of) == ("", "a650")
    assert other.rolled.text == own.rolled.text
    assert other.rolled.group_limit == 64 // other.rolled.registers * 64 < own.rolled.group_limit


@needs_mesa
def test_the_limit_of_a_group_is_what_the_waves_hold():
    for count in (8, 16, 32, 40):
        for one in compiled(with_accumulators(count), "a630", "a650", "a740"):
            assert one.rolled.group_limit == min(1024, 64 * one.rolled.waves)


@needs_mesa
@pytest.mark.parametrize(("chip", "items", "found"), [("a650", 320, 1), ("a650", 128, 0), ("a610", 256, 1), ("a740", 512, 1)])
def test_a_group_that_finds_no_registers_is_a_warning(chip, items, found, tmp_path):
    (tmp_path / "k.cl").write_text(with_accumulators(32))
    array = f'[[argument]]\nkind = "buffer"\ndtype = "float32"\ncount = {items * 128}\ndata = {{fill = "ones"}}\n'
    launch = f'global_size = [{items}]\nlocal_size = [{items}]\n{array * 2}[[argument]]\nkind = "scalar"\nvalue = 1\n'
    (tmp_path / "k.toml").write_text(launch)
    command = ["kernel", str(tmp_path / "k.cl"), "--launch", str(tmp_path / "k.toml"), "--isa-of", chip]
    assert command_line.main([*command, "--json", str(tmp_path / "r.json")]) == 0
    findings = json.loads((tmp_path / "r.json").read_text())["findings"]
    assert [(one["kind"], one["severity"]) for one in findings] == [("group-may-be-refused", "warning")] * found
    assert command_line.main([*command, "--strict"]) == found


def test_the_rule_of_the_group_limit():
    limits = {name: [find_chip(name).group_limit(registers) for registers in (6, 12, 13, 24, 32, 48)] for name in chips()}
    assert limits["a630"] == [1024, 1024, 896, 512, 384, 256]  # min(1024, 384 * 32 // (registers * 128) * 128): tinygrad's
    assert limits["a650"] == [1024, 640, 512, 256, 256, 128]
    assert limits["a530"] == [640, 320, 256, 128, 128, 64]
    assert limits["a610"] == [512, 256, 192, 128, 64, 64]


@pytest.mark.parametrize(
    ("profile", "chip"),
    [("adreno-650", "a650"), ("adreno-740,driver=E031.41.03", "a740"), ("galaxy-s23", "a740"), ("adreno-x1-85", "x1-85")],
)
def test_a_profile_has_the_machine_code_of_its_chip(profile, chip):
    assert chip_of_profile(profile).name == chip


@pytest.mark.parametrize("profile", ["adreno-830", "reference", "my-gpu"])
def test_a_profile_without_machine_code_is_refused(profile):
    with pytest.raises(UnsupportedError, match=f"no machine code for {profile}; expected a chip by name"):
        chip_of_profile(profile)


def test_a_chip_that_is_not_known_is_named(tmp_path, capsys):
    (tmp_path / "k.cl").write_text("kernel void k(global int *o) { o[get_global_id(0)] = 1; }")
    assert command_line.main(["kernel", str(tmp_path / "k.cl"), "--isa-of", "a631"]) == 2
    assert "isa-of: 'a631' is not a chip" in capsys.readouterr().err
    assert {"a630", "a740", "x1-85"} < set(chips())


def test_without_mesa_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(isa_compile, "is_installed", lambda name: False)
    with pytest.raises(MissingPackageError, match=r"Mesa's tinymesa is not installed, .*\[isa\]"):
        compiled(FEATURES["bytes"])


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(isa_compile, "is_installed", lambda name: True)
    monkeypatch.setattr(isa_compile.metadata, "version", lambda name: "25.3.0")
    with pytest.raises(UnsupportedError, match=f"tinymesa 25.3.0: expected {layout.VERSION}"):
        compiled(FEATURES["bytes"])


def test_instructions_are_counted_from_assembly():
    text = (
        "shps #l2\n(nop3) mul.f r48.x, c0.x, c0.y\n(rpt2)nop\nshpe\nl2:\n"
        "(sy)(ss)(nop2) add.f r0.x, r0.y, r0.z\n(rpt3)mul.f hr0.x, hr1.x, hr2.x\nl4:\n(rpt1)nop\nbr p0.x, #l4\n"
        "isam (f32)(xyzw)r1.y, r0.w, s#0, t#0\nldg.u32 r3.x, g[r1.x], 4\nrsq r0.x, r0.y\ncov.u16s32 r2.y, hr4.x\n(ss)bar.g\n"
        "mad.f32 r0.x, r0.y, r0.z, r0.w\nend\nnop\nnop\n"
    )
    assert count_instructions(text) == Instructions(
        alu_full=2, alu_half=4, special=1, moves=1, texture=1, memory=1, flow=2, barriers=1, nops=4, preamble=3
    )
