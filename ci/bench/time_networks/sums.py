"""Times of networks by the model, by the times of the records, and with Winograd's algorithm; beside published ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from time_records.record import Record

from time_networks.architectures import make_network
from time_networks.choices import Choice, Choices

PUBLISHED = {
    ("resnet-18", "float32"): 10.58,
    ("resnet-18", "float16"): 7.05,
    ("resnet-34", "float32"): 16.26,
    ("resnet-34", "float16"): 11.35,
    ("resnet-50", "float32"): 19.19,
    ("resnet-50", "float16"): 13.39,
    ("densenet-121, all connected", "float32"): 25.43,
    ("densenet-121, all connected", "float16"): 12.38,
    ("inception_v3", "float32"): 40.41,
    ("inception_v3", "float16"): 29.91,
    ("mobilenet v1", "float32"): 4.09,
    ("mobilenet v1", "float16"): 2.8,
}
"""Milliseconds. Which form of DenseNet was measured is not said: the times are nearer to this one."""
COLUMNS = ("the model", "the records' times", "the model, Winograd", "the records' times, Winograd")
"""What the time of a network is added up by."""


def find_published(name: str, dtype: str) -> float | None:
    return PUBLISHED.get((name, dtype))


def find_choices(convolutions: Iterable[Record], choices: Choices) -> list[Choice]:
    return [choice for one in convolutions if (choice := choices.get(one.workload)) is not None]


def sum_network(predicted: float, convolutions: Iterable[Record], choices: Choices) -> list[float]:
    """Returns the seconds of a network by COLUMNS. predicted: by the model."""
    chosen = find_choices(convolutions, choices)
    saved = sum(choice.saved for choice in chosen)
    measured = [choice.measured_own - choice.direct.own for choice in chosen]
    # Where Winograd's launches are taken, the kernel that the record is of does not run.
    left = [more for more, choice in zip(measured, chosen, strict=True) if not choice.saved]
    return [predicted, predicted + sum(measured), predicted - saved, predicted + sum(left) - saved]


def sum_records(convolutions: Sequence[Record], choices: Choices) -> str:
    """Returns as text the times of convolutions by their records, and by the model."""
    chosen = find_choices(convolutions, choices)
    known = [choice for choice in chosen if choice.measured is not None]
    whole, own = sum(choice.measured or 0.0 for choice in known), sum(choice.measured_own for choice in known)
    predicted = [sum(choice.direct.own for choice in some) for some in (known, chosen)]
    taken = sum(choice.direct.own - choice.saved for choice in chosen)
    return (
        f"records of {len(known)} of {len(convolutions)} convolutions: {1e3 * whole:.2f} ms with copies, {1e3 * own:.2f} "
        f"without, predicted {1e3 * predicted[0]:.2f}; all: predicted {1e3 * predicted[1]:.2f}, with Winograd {1e3 * taken:.2f}"
    )


def show_growth(tasks: Sequence[tuple[str, str]], choices: Choices) -> None:
    """Prints, where a network has all convolutions of another and more, the published and predicted times of the additional ones:
    the other launches of both are the same."""
    networks = {task: make_network(*task)[1] for task in tasks}
    for (name, dtype), larger in networks.items():
        for (other, kind), smaller in networks.items():
            counts = [Counter(one.workload for one in some) for some in (larger, smaller)]
            published = [find_published(each, dtype) for each in (name, other)]
            if kind == dtype and counts[1] < counts[0] and set(counts[0]) == set(counts[1]) and published[0] and published[1]:
                every = {one.workload: one for one in larger}
                more = [every[workload] for workload in (counts[0] - counts[1]).elements()]
                taken = published[0] - published[1]
                print(f"{name} less {other}, {dtype}: published {taken:.2f} ms; {sum_records(more, choices)}")


def summarise(ratios: np.ndarray) -> None:
    """Prints for each of COLUMNS the factors between published and other times, and what is left of them without a common one."""
    if not len(ratios):
        return
    for column, found in zip(COLUMNS, ratios.T, strict=True):
        off, common = np.exp(np.abs(np.log(found))), float(np.exp(np.median(np.log(found))))
        rest = np.exp(np.abs(np.log(found / common)))
        print(f"by {column}: factor {np.median(off):.3f} in the median, {off.max():.3f} at the most; published over it is")
        print(f"    {common:.3f} in the median; without this the factor is {np.median(rest):.3f}, {rest.max():.3f} at the most")
