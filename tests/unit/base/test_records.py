"""Records behave as dataclasses of the standard library do, which are the judge of each case."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from adreno_sim import records

ROOT = Path(__file__).parents[3]
BOTH = {"library": dataclasses.dataclass, "records": records.dataclass}


def of_each(make: Any) -> list[Any]:
    """What `make` returns with the decorator of the standard library, and with ours."""
    return [make(decorate) for decorate in BOTH.values()]


def make_plain(decorate: Any, **options: Any) -> Any:
    @decorate(**options)
    class Plain:
        name: str
        size: int = 3
        parts: list[int] = field(default_factory=list)
        hidden: int = field(default=1, repr=False, compare=False)
        later: int = field(init=False, default=7)
        filled: dict[str, int] = field(init=False, default_factory=dict)

        def __post_init__(self) -> None:
            self.filled["size"] = self.size

    return Plain


def make_extended(decorate: Any) -> Any:
    @decorate(frozen=True)
    class Base:
        a: int
        b: float = 0.5

    @decorate(frozen=True)
    class Extended(Base):
        c: str = "c"
        b: float = 1.5

    return Extended


def make_explicit(decorate: Any) -> Any:
    @decorate(frozen=True)
    class Explicit:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "explicit"

    return Explicit


@dataclasses.dataclass(frozen=True, slots=True)
class LibrarySlots:
    a: int
    b: int = field(init=False, default=2)


@records.dataclass(frozen=True, slots=True)
class RecordSlots:
    a: int
    b: int = field(init=False, default=2)


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"eq": False}, {"kw_only": True}, {"slots": True}, {"frozen": True, "slots": True}]
)
def test_instances_are_made_shown_compared_and_copied_as_the_library_does(options):
    def describe(decorate: Any) -> Any:
        plain = make_plain(decorate, **options)
        one, other = plain(name="n"), plain(name="n", hidden=5)
        names = [found.name for found in fields(plain)]
        shown = repr(one).replace("record", "library")
        changed = replace(one, size=9)
        return (
            shown, one == other, one != other, one == plain(name="m"), one == 3, names, asdict(one), asdict(changed),
            asdict(copy.deepcopy(one)), plain.__hash__ is None, plain.__match_args__, one.filled, hasattr(one, "__dict__"),
        )  # fmt: skip

    expected, found = of_each(describe)
    assert found == expected


@pytest.mark.parametrize("options", [{}, {"kw_only": True}])
def test_arguments_are_taken_and_refused_as_the_library_does(options):
    def describe(decorate: Any) -> Any:
        plain = make_plain(decorate, **options)
        shown = [str(inspect.signature(plain))]  # before there is an instance, and after
        plain(name="n")
        shown.append(str(inspect.signature(plain)))
        refused = []
        for given in ((), ("a", 1, [], 2, 3)):
            with pytest.raises(TypeError) as error:
                plain(*given)
            refused.append(str(error.value))
        return shown, refused

    expected, found = of_each(describe)
    assert found == expected


def test_signatures_are_those_of_the_class_that_is_asked():
    def describe(decorate: Any) -> Any:
        extended = make_extended(decorate)

        class Own(extended):
            def __init__(self, only: int) -> None:
                super().__init__(only)

            def __call__(self, given: str) -> None:
                pass

        class Same(extended):
            pass

        return [str(inspect.signature(one)) for one in (extended, Own, Same, Own(1), make_explicit(decorate))]

    expected, found = of_each(describe)
    assert found == expected


def test_a_method_that_others_have_replaced_stays_replaced(monkeypatch):
    """A replacement may call what it replaces, which compiles itself only then."""
    plain = make_plain(records.dataclass)
    made: list[str] = []
    begin = plain.__init__
    monkeypatch.setattr(plain, "__init__", lambda self, name: made.append(name) or begin(self, name))
    assert [plain("a").name, plain("b").name] == made == ["a", "b"]


def test_two_instances_share_no_value_that_a_function_made():
    plain = make_plain(records.dataclass)
    one, other = plain("a"), plain("b")
    one.parts.append(1)
    assert other.parts == []


def test_the_fields_of_a_base_come_first_and_are_replaced():
    expected, found = of_each(lambda decorate: [str(make_extended(decorate)(1)), hash(make_extended(decorate)(1))])
    assert found == expected


def test_equal_frozen_records_are_one_key():
    extended = make_extended(records.dataclass)
    assert {extended(1): "found"}[extended(1)] == "found"
    assert extended(1) != extended(2)


def test_methods_of_the_class_are_kept():
    expected, found = of_each(lambda decorate: [repr(make_explicit(decorate)(1)), make_explicit(decorate)(1) == 2])
    assert found == expected
    one, other = of_each(lambda decorate: hash(make_explicit(decorate)(1)))
    assert one == other


@pytest.mark.parametrize(
    "change", [lambda made: setattr(made, "a", 2), lambda made: setattr(made, "z", 2), lambda made: delattr(made, "a")]
)
def test_a_frozen_record_refuses_changes_as_the_library_does(change):
    def refuse(decorate: Any) -> str:
        with pytest.raises(FrozenInstanceError) as error:
            change(make_extended(decorate)(1))
        return str(error.value)

    expected, found = of_each(refuse)
    assert found == expected


def test_a_plain_class_that_extends_a_frozen_record_has_attributes_of_its_own():
    def describe(decorate: Any) -> tuple[int, str]:
        class Plain(make_extended(decorate)):
            pass

        made = Plain(1)
        made.own = 4
        with pytest.raises(FrozenInstanceError) as error:
            made.a = 3
        own = made.own
        del made.own
        return own, str(error.value)

    expected, found = of_each(describe)
    assert found == expected


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("of_base", [{}, {"frozen": True}, {"eq": False}])
def test_a_class_of_the_library_extends_a_record_as_it_would_its_own(of_base, frozen):
    def extend(decorate: Any, outer: Any) -> Any:
        base = make_plain(decorate, **of_base)
        try:
            extended = outer(frozen=frozen)(type("Extended", (base,), {"__annotations__": {"more": int}, "more": 4}))
        except TypeError as error:
            return str(error)
        shown = base.__dataclass_params__, extended.__dataclass_params__, repr(extended("n", more=5))
        return [re.sub(r"\w+\(", "(", str(text)) for text in shown]

    expected, *found = [extend(one, other) for one in BOTH.values() for other in BOTH.values()]
    assert found == [expected] * 3


def test_frozen_records_with_slots_are_pickled():
    for made in (LibrarySlots(5), RecordSlots(5)):
        assert pickle.loads(pickle.dumps(made)) == made
    assert RecordSlots(5).__getstate__() == LibrarySlots(5).__getstate__() == [5, 2]


def test_a_record_that_holds_itself_is_shown():
    @records.dataclass
    class Node:
        next: Any = None

    node = Node()
    node.next = node
    assert repr(node).endswith("Node(next=...)")


def test_the_packages_make_no_dataclass_but_by_records():
    """The library's own takes several times as long, and a command makes hundreds of classes before its work."""
    direct = re.compile(r"^from dataclasses import .*\bdataclass\b|\bdataclasses\.dataclass\b", re.M)
    scripts = {"records.py", "coefficients.py"}  # the second is a program outside the packages
    files = [
        path for top in ("adreno_sim", "compiler", "golden") for path in (ROOT / top).rglob("*.py") if path.name not in scripts
    ]
    assert len(files) > 1000
    assert [str(path.relative_to(ROOT)) for path in files if direct.search(path.read_text(encoding="utf-8"))] == []
