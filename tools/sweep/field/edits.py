# SPDX-License-Identifier: Apache-2.0
"""Changes to captures: what was recorded of a run is not all, or not by one clock."""


def _rows(capture):
    return capture.rows + capture.events


def _keep(capture, wanted):
    """Leave only what began where wanted(time) is true."""
    capture.rows = [row for row in capture.rows if wanted(row.start)]
    capture.events = [row for row in capture.events if wanted(row.start)]
    capture.host_events = [each for each in capture.host_events if wanted(each[0])]
    capture.pauses = [each for each in capture.pauses if wanted(each[0])]


def begin_later(rank, share):
    """The capture begins after this share of the first step; its mark is there."""

    def edit(captures):
        capture = next(each for each in captures if each.rank == rank)
        _, begin, end = capture.steps[0]
        _keep(capture, lambda time: time >= begin + share * (end - begin))

    return edit


def leave_steps(rank, numbers):
    """Steps at the begin or the end were not captured, by their place."""

    def edit(captures):
        capture = next(each for each in captures if each.rank == rank)
        kept = [each for number, each in enumerate(capture.steps) if number not in numbers]
        first = kept[0][1] if capture.steps[0] is not kept[0] else None
        last = capture.steps[len(capture.steps) - len(numbers)][1] if capture.steps[-1] is not kept[-1] else None
        # work is launched within the step and may run after it
        _keep(capture, lambda time: (first is None or time >= first))
        if last is not None:
            capture.rows = [row for row in capture.rows if row.launch < last]
            capture.events = [row for row in capture.events if row.launch < last]
            capture.host_events = [each for each in capture.host_events if each[0] < last]
            capture.pauses = [each for each in capture.pauses if each[0] < last]
        if first is not None:
            capture.rows = [row for row in capture.rows if row.launch >= first]
        capture.steps = kept

    return edit


def together(*edits):
    def edit(captures):
        for each in edits:
            each(captures)

    return edit


def set_clock(host, share, by):
    """The clock of a host is off by so many ns from a share of the capture on."""

    def edit(captures):
        for capture in captures:
            if capture.host != host:
                continue
            begin, end = capture.steps[0][1], capture.steps[-1][2]
            at = begin + share * (end - begin) if share >= 0 else float("-inf")

            def moved(time, at=at):
                return time + by // 20 * 20 if time >= at else time

            for row in _rows(capture):
                for name in ("start", "end", "host_start", "launch", "launched"):
                    setattr(row, name, moved(getattr(row, name)))
                for task in row.tasks:
                    task.start, task.end = moved(task.start), moved(task.end)
            capture.rows.sort(key=lambda row: (row.start, row.end))
            capture.host_events = [(moved(start), moved(end), *more) for start, end, *more in capture.host_events]
            capture.pauses = [(moved(start), moved(end)) for start, end in capture.pauses]
            capture.steps = [(step, moved(start), moved(end)) for step, start, end in capture.steps]

    return edit


def leave_tasks(captures):
    """Operators without the tasks below them, as at Level0."""
    for capture in captures:
        for row in capture.rows:
            row.tasks = []
