"""What is said of a run on its way."""

import re
from collections.abc import Iterator

import pytest

from memec.train import Episode, Event, Tick, progress

STEPS = 100_000
SPEED = 1_000.0


class Clock:
    """A clock that goes on only when it is told to."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now


def cold_start(clock: Clock) -> Iterator[Event]:
    """The first step, the first episode and the first sweep wait for the compiler; then it goes at an even speed."""
    clock.now += 80.0
    yield Tick(1)
    clock.now += 70.0
    yield Episode(11, 10.0, 10)
    for step in range(211, STEPS + 1, 200):
        clock.now += 200 / SPEED + (25.0 if step == 2_611 else 0.0)
        yield Tick(step)


def test_the_time_left_does_not_count_the_compiling(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    assert [event.step for event in progress.show_progress(cold_start(clock), STEPS)][-1] == STEPS - 189
    lines = capsys.readouterr().err.splitlines()
    told = [(match[1], match[2]) for line in lines if (match := re.search(r"^([\d,]+)/.*  ([\d,]+) s left$", line))]
    assert len(lines) > 10 and len(told) > 8
    for step, left in told:
        assert int(left.replace(",", "")) == pytest.approx((STEPS - int(step.replace(",", ""))) / SPEED, abs=1.0)


def test_nothing_is_said_of_the_time_left_before_anything_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    events = progress.show_progress(cold_start(clock), STEPS)
    next(events), next(events)
    assert "11/100,000 steps" in (said := capsys.readouterr().err) and "left" not in said
