"""Allow-lists: which findings an entry accepts, until when, where entries are looked for, what is wrong in one."""

import datetime

import pytest

from adreno_sim import AdrenoSimError
from adreno_sim.base.allow import AllowEntry, apply, describe_expired, find_config
from adreno_sim.findings import Finding, Kind

DAY = datetime.date(2027, 6, 30)
RACE = Finding(Kind.DATA_RACE, "two write", "histogram_u8", 12, 3, file="src/histogram.cl")
READ = Finding(Kind.OUT_OF_BOUNDS_READ, "reads", "histogram_u8", 12, 3, file="src/histogram.cl")

ENTRY = """
[[{table}allow]]
kernel = "histogram_*"
kind = "data-race"
reason = "an estimate is enough"
expires = 2027-06-30
"""


def entry(**changes):
    values = {
        "kernel": "histogram_*",
        "kind": "data-race",
        "place": "",
        "reason": "why",
        "expires": DAY,
        "where": "a.toml: [[allow]] 1",
    }
    return AllowEntry(**{**values, **changes})


@pytest.mark.parametrize(
    "changes, accepted",
    [
        ({}, True),
        ({"kernel": "histogram_u8"}, True),
        ({"kernel": "histogram"}, False),
        ({"kernel": "*"}, True),
        ({"kind": "same-value-race"}, False),
        ({"place": "12"}, True),
        ({"place": "12:3"}, True),
        ({"place": "12:4"}, False),
        ({"place": "13"}, False),
        ({"place": "histogram.cl:12"}, True),
        ({"place": "src/histogram.cl:12:3"}, True),
        ({"place": "gram.cl:12"}, False),
    ],
)
def test_what_an_entry_accepts(changes, accepted):
    result = apply([entry(**changes)], [RACE, READ], DAY)
    assert [item.finding for item in result.allowed] == [RACE] * accepted
    assert result.kept == [READ] if accepted else [RACE, READ]
    assert not result.expired


def test_an_entry_holds_through_its_last_day():
    assert apply([entry()], [RACE], DAY).allowed[0].entry == entry()
    late = apply([entry()], [RACE, RACE], DAY + datetime.timedelta(1))
    assert late.kept == [RACE, RACE]
    assert not late.allowed
    assert late.expired == [entry()]
    assert describe_expired(entry()) == "a.toml: [[allow]] 1: expired on 2027-06-30: data-race in histogram_* counts again (why)"


def test_another_entry_may_still_hold():
    renewed = entry(expires=DAY + datetime.timedelta(30), where="a.toml: [[allow]] 2")
    result = apply([entry(), renewed], [RACE], DAY + datetime.timedelta(1))
    assert [item.entry for item in result.allowed] == [renewed]
    assert not result.expired


def test_an_expired_entry_that_fits_nothing_is_not_reported():
    assert apply([entry()], [READ], DAY + datetime.timedelta(1)).expired == []


@pytest.mark.parametrize("name, table", [("pyproject.toml", "tool.adreno-sim."), ("adreno-sim.toml", "")])
def test_the_nearest_configuration_is_used(tmp_path, name, table):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / name).write_text(ENTRY.format(table=table))
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "other"\n')
    (found,) = find_config(inner)
    assert (found.kernel, found.kind, found.expires) == ("histogram_*", "data-race", DAY)
    assert found.where.startswith(str(tmp_path / name))
    assert found.where.endswith("allow]] 1")
    (tmp_path / "a" / "adreno-sim.toml").write_text("")
    assert find_config(inner) == []


@pytest.mark.parametrize(
    "change, message",
    [
        (("2027-06-30", '"soon"'), "expires: expected the last day it holds, as 2027-06-30, got 'soon'"),
        (("2027-06-30", "2027-06-30T12:00:00"), "expires: expected the last day"),
        (('"data-race"', '"datarace"'), "kind: expected one of out-of-bounds-read"),
        (('"an estimate is enough"', '" "'), "reason: expected why it is accepted, got ' '"),
        (('reason = "an estimate is enough"\n', ""), "reason: missing: expected text"),
        (("reason", 'place = "somewhere"\nreason'), "place: expected [FILE:]LINE[:COLUMN], as \"conv.cl:12\", got 'somewhere'"),
        (("reason", "lines = 3\nreason"), "lines: no such key"),
    ],
)
def test_a_wrong_entry_is_one_line(tmp_path, change, message):
    path = tmp_path / "adreno-sim.toml"
    assert change[0] in ENTRY
    path.write_text(ENTRY.format(table="").replace(*change))
    with pytest.raises(AdrenoSimError) as error:
        find_config(tmp_path)
    assert str(error.value).startswith(f"{path}: [[allow]] 1: {message}")


def test_broken_configuration(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.adreno-sim")
    with pytest.raises(AdrenoSimError, match="not a TOML file"):
        find_config(tmp_path)
    (tmp_path / "pyproject.toml").write_text("[tool.adreno-sim]\nallow = 3")
    with pytest.raises(AdrenoSimError, match=r"allow: expected tables written \[\[tool.adreno-sim.allow\]\], got 3"):
        find_config(tmp_path)
