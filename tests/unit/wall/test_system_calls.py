"""The filter of system calls, run by an interpreter of its instructions; and what Landlock is asked for, by version."""

from __future__ import annotations

import struct

import pytest

from adreno_sim.base.wall import landlock, seccomp
from adreno_sim.base.wall.landlock import Right

X86, ARM, I386 = 0xC000003E, 0xC00000B7, 0x40000003
ALLOW, FAIL = 0x7FFF0000, 0x00050001


def decide(program: bytes, machine: int, number: int, second: int = 0, first: int = 0) -> int:
    """What the classic BPF says of a system call: struct seccomp_data is number, machine, address, six arguments."""
    data = struct.pack("=iIQ6Q", number, machine, 0, first, second, 0, 0, 0, 0)
    steps = list(struct.iter_unpack("=HBBI", program))
    held, place = 0, 0
    while True:
        code, if_true, if_false, operand = steps[place]
        place += 1
        if code == 0x20:
            held = struct.unpack_from("=I", data, operand)[0]
        elif code == 0x15:
            place += if_true if held == operand else if_false
        elif code == 0x35:
            place += if_true if held >= operand else if_false
        else:
            assert code == 0x06
            return operand


@pytest.mark.parametrize(("name", "machine", "column"), [("x86_64", X86, 0), ("aarch64", ARM, 1)])
def test_the_filter_refuses_what_is_named_and_nothing_else(name, machine, column):
    program = seccomp.write_program(name)
    refused = {pair[column] for pair in seccomp.REFUSED.values()} - {None}
    ioctl = {"x86_64": 16, "aarch64": 29}[name]
    for number in range(600):
        assert decide(program, machine, number) == (FAIL if number in refused else ALLOW), number
    assert [decide(program, machine, ioctl, request) for request in (0x5413, 0x5412, 0x541C, (1 << 32) | 0x5412)] == [
        ALLOW,
        *[FAIL] * 3,
    ]
    limits = {"x86_64": 302, "aarch64": 261}[name]
    assert decide(program, machine, limits, first=1234) == FAIL
    assert decide(program, machine, limits, first=0) == ALLOW
    assert decide(program, I386, 1) == FAIL
    assert ioctl not in refused
    assert len(program) // 8 < 4096


def test_the_filter_of_x86_64_refuses_the_other_names_of_its_calls():
    program = seccomp.write_program("x86_64")
    assert decide(program, X86, 0x40000000 + 41) == FAIL
    assert decide(program, X86, 0x40000001) == FAIL


def test_numbers_of_system_calls_are_named_once():
    for column in (0, 1):
        numbers = [pair[column] for pair in seccomp.REFUSED.values() if pair[column] is not None]
        assert len(numbers) == len(set(numbers))


def test_another_processor_has_no_filter(monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert seccomp.restrict() is False


@pytest.mark.parametrize(
    ("version", "size", "unknown", "network", "scopes"),
    [
        (1, 8, Right.REFER | Right.TRUNCATE | Right.IOCTL_DEV, 0, 0),
        (2, 8, Right.TRUNCATE | Right.IOCTL_DEV, 0, 0),
        (3, 8, Right.IOCTL_DEV, 0, 0),
        (4, 16, Right.IOCTL_DEV, 3, 0),
        (5, 16, Right(0), 3, 0),
        (6, 24, Right(0), 3, 3),
        (99, 24, Right(0), 3, 3),
    ],
)
def test_a_kernel_is_asked_for_what_its_version_knows(version, size, unknown, network, scopes, monkeypatch, tmp_path):
    """With the system calls replaced: this kernel has one version only."""
    asked = []

    def note(number, *arguments):
        asked.append((number, arguments))
        return landlock.os.open("/dev/null", landlock.os.O_RDONLY) if number == 444 else 0

    monkeypatch.setattr(landlock, "call", note)
    monkeypatch.setattr(landlock, "give_up_privileges", lambda: asked.append(("privileges", ())))
    (tmp_path / "file").write_text("")
    landlock.restrict(
        [(tmp_path, landlock.WRITE), (tmp_path / "file", landlock.WRITE), (tmp_path / "none", landlock.READ)], version
    )
    numbers = [number for number, _ in asked]
    assert numbers == [444, 445, 445, "privileges", 446]
    ruleset, given, flags = asked[0][1]
    assert given == size
    assert flags == 0
    assert (ruleset._obj.network, ruleset._obj.scopes) == (network, scopes)
    assert Right(ruleset._obj.files) == Right((1 << 16) - 1) & ~unknown
    folder, file = (Right(rule[1][2]._obj.allowed) for rule in asked[1:3])
    assert folder == landlock.WRITE & ~unknown
    assert file == (Right.READ_FILE | Right.WRITE_FILE | Right.TRUNCATE) & ~unknown
