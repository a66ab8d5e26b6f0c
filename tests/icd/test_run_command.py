"""`adreno-sim run` around clients that speak the driver's protocol themselves: exit codes, merged reports, files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
import referencing
from fake_shim import __file__ as fake_shim_file

from adreno_sim import schemas
from adreno_sim.base.processes.descendants import find_descendants
from adreno_sim.cli.main import main
from adreno_sim.results.unwatched import LEVEL_BOUNDS

CLIENT = """\
import sys, struct
sys.path.insert(0, {folder!r})
from fake_shim import Shim, buffer
size, status = int(sys.argv[1]), int(sys.argv[2])
shim = Shim(**{{}})
shim.hello()
shim.build(1, "kernel void f(global int *a) {{\\n  a[get_global_id(0)] = 1;\\n}}")
shim.buffer(1, 16)
shim.launch(1, 0, (size,), (), [buffer(1)])
shim.finish()
sys.stderr.write(shim.close()[2])
sys.exit(status)
"""


@pytest.fixture
def client(tmp_path: Path) -> list[str]:
    """A command: SIZE work-items of a kernel on 4 elements, then exit with STATUS."""
    path = tmp_path / "client.py"
    path.write_text(CLIENT.format(folder=str(Path(fake_shim_file).parent)))
    return [sys.executable, str(path)]


def run(tmp_path: Path, *words: str) -> tuple[int, dict]:
    path = tmp_path / "report.json"
    status = main(["run", "--json", str(path), *words])
    data = json.loads(path.read_text())
    known = [(schema["$id"], referencing.Resource.from_contents(schema)) for schema in map(schemas.load, schemas.NAMES)]
    jsonschema.Draft202012Validator(schemas.load("run"), registry=referencing.Registry().with_resources(known)).validate(data)
    return status, data


def test_a_report_on_standard_output_is_alone_there(client, capfd) -> None:
    """What the command prints is not lost; the twin writes its report elsewhere."""
    words = ["--", "sh", "-c", 'echo said; exec "$@"', "sh", *client, "4", "0"]
    assert main(["run", "--json", "-", *words]) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out)["ok"]
    assert "said\n" in shown.err
    assert main(["run", *words]) == 0
    shown = capfd.readouterr()
    assert shown.out == "said\n"
    assert "said" not in shown.err


def test_a_clean_command_passes(tmp_path, client, capfd) -> None:
    status, data = run(tmp_path, "--", *client, "4", "0")
    assert status == 0
    assert data["ok"]
    assert data["findings"] == []
    assert data["checks"] == "full"
    assert not data["unchecked"]
    assert data["processes"][0]["kernels"]["f"]["launches"] == 1
    assert "ok: 0 errors, 0 warnings, 1 launch of 1 kernel, 1 process" in capfd.readouterr().err


def test_a_level_below_full_says_what_it_leaves_out(tmp_path, client) -> None:
    status, data = run(tmp_path, "--checks", "bounds", "--", *client, "4", "0")
    assert status == 0
    assert data["checks"] == "bounds"
    assert data["unchecked"] == [LEVEL_BOUNDS]


def test_findings_fail_a_command_that_ends_well(tmp_path, client, capfd) -> None:
    status, data = run(tmp_path, "--sarif", str(tmp_path / "s.sarif"), "--html", str(tmp_path / "r.html"), "--annotations",
                       "--", *client, "5", "0")  # fmt: skip
    assert status == data["exit_code"] == 1
    assert data["status"] == 0
    (found,) = data["findings"]
    assert (found["kind"], found["kernel"], found["line"]) == ("out-of-bounds-write", "f", 2)
    shown = capfd.readouterr()
    assert "enqueued by call" in shown.err
    assert "findings: 1 error" in shown.err
    assert "::error title=out-of-bounds" in shown.out
    assert json.loads((tmp_path / "s.sarif").read_text())["runs"][0]["results"]
    assert "enqueued by call" in (tmp_path / "r.html").read_text()


def test_findings_of_all_processes_are_merged(tmp_path, client) -> None:
    words = " ".join(client)
    status, data = run(tmp_path, "--", "sh", "-c", f"{words} 5 0 & {words} 6 0; wait")
    assert status == 1
    assert len(data["processes"]) == 2
    (found,) = data["findings"]
    assert found["count"] == 3


@pytest.mark.parametrize(("status", "code"), [("7", 7), ("0", 1)])
def test_the_commands_own_status_goes_first(tmp_path, client, status, code) -> None:
    assert run(tmp_path, "--", *client, "5", status)[0] == code


def test_an_allow_list_accepts(tmp_path, client) -> None:
    listed = tmp_path / "allow.toml"
    entry = '[[allow]]\nkernel = "f"\nkind = "out-of-bounds-write"\nreason = "known"\nexpires = 2999-01-01\n'
    listed.write_text(entry)
    status, data = run(tmp_path, "--allow", str(listed), "--", *client, "5", "0")
    assert status == 0
    assert data["findings"] == []
    assert data["allowed"][0]["reason"] == "known"


def test_a_command_without_opencl_is_no_success(tmp_path, capfd) -> None:
    status, data = run(tmp_path, "--", "true")
    assert status == 2
    assert data["processes"] == []
    assert not data["ok"]
    assert "no process opened the simulated device; no libOpenCL was seen" in capfd.readouterr().err


def test_a_library_that_was_loaded_instead_is_named(tmp_path, capfd) -> None:
    library = tmp_path / "libOpenCL.so.1"
    library.write_bytes(b"x" * 4096)
    script = f"import mmap, time; f = open({str(library)!r}, 'r+b'); m = mmap.mmap(f.fileno(), 0); time.sleep(1)"
    status, _ = run(tmp_path, "--", sys.executable, "-c", script)
    assert status == 2
    assert f"loaded {library}" in capfd.readouterr().err


def test_a_signal_ends_the_command_with_128_more(tmp_path) -> None:
    assert run(tmp_path, "--", "sh", "-c", "kill -9 $$")[0] == 128 + signal.SIGKILL


def test_ctrl_c_is_the_commands_own_affair(tmp_path) -> None:
    words = [sys.executable, "-m", "adreno_sim", "run", "--", "sh", "-c", "trap 'exit 5' INT; echo up; sleep 10 & wait"]
    running = subprocess.Popen(words, start_new_session=True, stdout=subprocess.PIPE)
    assert running.stdout is not None
    assert running.stdout.readline() == b"up\n"
    time.sleep(0.1)
    os.killpg(running.pid, signal.SIGINT)
    assert running.wait(timeout=120) == 5
    running.stdout.close()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--"], "no command: expected one after --"),
        (["--", "/no/such/program"], "cannot run /no/such/program: No such file"),
        (["--device", "cl:pocl", "--", "true"], "--device: cl:pocl: expected sim:PROFILE"),
        (["--device", "sim:adreno-741", "--", "true"], "'adreno-741' does not exist (did you mean"),
        (["--allow", "/no/such.toml", "--", "true"], "/no/such.toml"),
        (["--json", "/no/such/folder/r.json", "--", "true"], "cannot write"),
    ],
)
def test_bad_usage_is_one_line(words, said, capsys, monkeypatch) -> None:
    """It is told before the driver is compiled."""
    monkeypatch.setattr("adreno_sim.icd.environment.build_libraries", lambda: pytest.fail("compiled"))
    assert main(["run", *words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_a_signal_for_the_command_reaches_all_that_it_started(tmp_path) -> None:
    words = [sys.executable, "-m", "adreno_sim", "run", "--", "sh", "-c", "sh -c 'echo $$; sleep 60 & wait' & wait"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    grandchild = int(running.stdout.readline())
    (sleeping,) = wait_for(lambda: find_descendants(grandchild))
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=120) == 128 + signal.SIGTERM
    assert wait_for(lambda: not Path(f"/proc/{sleeping}").exists())
    running.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_what_was_left_alone(number) -> None:
    """A daemon, as shells make it: its parent ends at once. It is ended with the command."""
    words = [sys.executable, "-m", "adreno_sim", "run", "--", "sh", "-c", "(sh -c 'echo $$; exec sleep 60' &); sleep 60"]
    # what began this may ignore SIGHUP, as nohup does
    running = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert running.stdout is not None
    daemon = int(running.stdout.readline())
    time.sleep(0.1)
    running.send_signal(number)
    assert running.wait(timeout=120) == 128 + number
    assert wait_for(lambda: has_ended(daemon))
    running.stdout.close()


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or waits for whoever has it now to look."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_for(look):
    """What `look` finds, within some seconds."""
    end = time.monotonic() + 10
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


@pytest.mark.parametrize(("number", "said"), [(signal.SIGKILL, ""), (signal.SIGABRT, " (Aborted)")])
def test_a_server_that_dies_is_no_success(tmp_path, client, capfd, number, said) -> None:
    path = Path(client[1])
    ended = f"shim.server.send_signal({int(number)}); shim.server.wait()"
    path.write_text(path.read_text().replace("sys.stderr.write(shim.close()[2])", ended))
    status, data = run(tmp_path, "--", *client, "4", "0")
    assert status == 2
    assert data["processes"][0]["failed"].startswith(f"its server died{said}: what it had")
    assert data["processes"][0]["kernels"]["f"]["launches"] == 1
    assert f"its server died{said}: what it had found is here" in capfd.readouterr().err


def test_what_keeps_a_process_from_the_driver_is_named(tmp_path, capfd) -> None:
    sleeps = "import time; time.sleep(0.4)"
    assert main(["run", "--", "env", "-i", sys.executable, "-c", sleeps]) == 2
    assert "ran without the environment of the driver, as under sudo or env -i: keep it" in capfd.readouterr().err
    if os.geteuid():
        pytest.skip("only root may change its root folder")
    jail = tmp_path / "jail"
    jail.mkdir()
    assert main(["run", "--", sys.executable, "-c", f"import os, time; os.chroot({str(jail)!r}); time.sleep(0.4)"]) == 2
    assert f"a process ran in another root folder ({jail}), which has neither the driver nor its Python" in capfd.readouterr().err
