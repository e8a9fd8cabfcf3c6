# SPDX-License-Identifier: Apache-2.0
"""Figures that torch_npu derives from what it recorded: step windows and times, waits and links of operators."""

from .engine import KERNEL, MEMCPY

LINKS = {1: "HCCS", 5: "HCCS", 0: "LOCAL"}


def union(intervals):
    """Disjoint intervals that cover the same, by start."""
    out = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return [(start, end) for start, end in out]


def minus(left, right):
    """What of the disjoint intervals left is not in right."""
    out, index = [], 0
    for start, end in left:
        while index < len(right) and right[index][1] <= start:
            index += 1
        at, each = start, index
        while each < len(right) and right[each][0] < end:
            if right[each][0] > at:
                out.append((at, right[each][0]))
            at = max(at, right[each][1])
            each += 1
        if at < end:
            out.append((at, end))
    return out


def length(intervals):
    return sum(end - start for start, end in intervals)


class Lanes:
    """The lanes of the overlap analysis."""

    def __init__(self, rows):
        self.computing = union((row.start, row.end) for row in rows if row.kind == KERNEL)
        self.communication = union((row.start, row.end) for row in rows if row.group is not None)
        self.exposed = minus(self.communication, self.computing)
        both = union(self.computing + self.communication)
        self.free = [(a[1], b[0]) for a, b in zip(both, both[1:])]


def windows(capture):
    """(step, begin of the host's step, begin and end on the device) of each step."""
    out = []
    for step, begin, end in capture.steps:
        rows = [row for row in capture.rows if row.kind != MEMCPY and begin <= row.launch and row.launched <= end]
        start = min((row.start for row in rows), default=begin)
        out.append((step, begin, start, max([end] + [row.end for row in rows])))
    return out


def step_times_db(capture):
    """Rows of StepTraceTime, in microseconds."""
    out = []
    for step, begin, first, last in windows(capture):
        rows = [
            row for row in capture.rows if first <= row.start < last and (row.kind == KERNEL or row.group is not None)
        ]
        lanes = Lanes(rows)
        start = min((row.start for row in rows), default=first)
        span = max((row.end for row in rows), default=first) - start
        bubble = sum(row.end - row.start for row in rows if row.name.startswith("hcom_receive"))
        exposed, communication = length(lanes.exposed), length(lanes.communication)
        values = (
            length(lanes.computing), exposed, communication - exposed, communication, length(lanes.free), span - bubble,
            bubble, max(exposed - bubble, 0), start - begin,
        )
        out.append((str(step),) + tuple(value / 1000 for value in values))
    return out


def step_times_text(capture):
    """Rows of step_trace_time.csv: sums over the lanes' events that begin in the step, as doubles."""
    lanes = Lanes(capture.rows)
    out = []
    for step, begin, first, last in windows(capture):
        held = [
            [(start / 1000, (end - start) / 1000) for start, end in lane if first <= start < last]
            for lane in (lanes.computing, lanes.exposed, lanes.communication, lanes.free)
        ]
        receives = [
            (row.start / 1000, (row.end - row.start) / 1000)
            for row in capture.rows
            if row.name.startswith("hcom_receive") and first <= row.start < last
        ]
        sums = [sum(dur for _, dur in lane) for lane in held]
        events = [each for lane in held for each in lane] + receives
        bubble = sum(dur for _, dur in receives)
        stage = max(ts + dur for ts, dur in events) - min(ts for ts, _ in events) - bubble
        preparing = min(ts for ts, _ in held[0] + held[2]) - begin / 1000
        computing, exposed, communication, free = sums
        out.append(
            (
                capture.device, step, computing, exposed, communication - exposed, communication, free, stage, bubble,
                max(exposed - bubble, 0), preparing,
            )
        )
    return out


def is_p2p(row):
    return row.type in ("hcom_send_", "hcom_receive_", "hcom_batchSendRecv_")


def _time_info(row):
    """Times of an operator by its master plane, in milliseconds."""
    plane = 1 if any(task.plane == 1 for task in row.tasks) else 0
    tasks = sorted((task for task in row.tasks if task.plane == plane), key=lambda task: task.start)
    moves = [task for task in tasks if task.kind in ("Memcpy", "Reduce_Inline") and task.link in (1, 5)]
    waits = [task for task in tasks if task.kind == "Notify_Wait"]
    first = moves[0].start if moves else None
    transit = sum(task.end - task.start for task in moves) / 1e6
    wait = sum(task.end - task.start for task in waits) / 1e6
    sync = sum(task.end - task.start for task in waits if first is None or task.start < first) / 1e6
    elapse = (row.end - row.start) / 1e6
    return {
        "Start Timestamp(us)": row.start / 1000, "Elapse Time(ms)": elapse, "Transit Time(ms)": transit,
        "Wait Time(ms)": wait,
        "Synchronization Time(ms)": sync, "Idle Time(ms)": elapse - transit - wait,
        "Wait Time Ratio": round(wait / (wait + transit), 4) if wait + transit else 0,
        "Synchronization Time Ratio": round(sync / (sync + transit), 4) if sync + transit else 0,
    }


def _bandwidth_info(tasks):
    out = {
        kind: {
            "Transit Size(MB)": 0, "Transit Time(ms)": 0, "Bandwidth(GB/s)": 0, "Large Packet Ratio": 0,
            "Size Distribution": {},
        }
        for kind in ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")
    }
    moves = [task for task in tasks if task.kind in ("Memcpy", "Reduce_Inline") and task.link in (1, 5)]
    if moves:
        size, time = sum(task.size for task in moves) / 1e6, sum(task.end - task.start for task in moves) / 1e6
        sizes = {}
        for task in moves:
            count, dur = sizes.get(task.size, (0, 0.0))
            sizes[task.size] = (count + 1, dur + (task.end - task.start) / 1e6)
        large = sum(task.size > 32_000_000 for task in moves) / len(moves)
        rate = round(size / time, 4) if time else 0
        out["HCCS"] = {
            "Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": rate,
            "Large Packet Ratio": round(large, 4),
            "Size Distribution": {str(key / 1e6): list(value) for key, value in sizes.items()},
        }
        out["SDMA"] = {
            "Transit Size(MB)": size, "Transit Time(ms)": time, "Bandwidth(GB/s)": rate, "Large Packet Ratio": 0,
            "Size Distribution": {},
        }
    return out


def communication(capture):
    """The content of communication.json."""
    out = {}
    for step, _, first, last in windows(capture):
        kinds = out[f"step{step}"] = {"p2p": {}, "collective": {}}
        tasks = {"p2p": [], "collective": []}
        for row in capture.communications():
            if not first <= row.start < last:
                continue
            kind = "p2p" if is_p2p(row) else "collective"
            tasks[kind] += row.tasks
            kinds[kind][f"{row.name}@{row.group.hash}"] = {
                "Communication Time Info": _time_info(row), "Communication Bandwidth Info": _bandwidth_info(row.tasks),
            }
        for kind, ops in kinds.items():
            total = {}
            for op in ops.values():
                for key, value in op["Communication Time Info"].items():
                    if key.endswith("(ms)"):
                        total[key] = total.get(key, 0) + value
            if not total:
                continue
            wait, transit, sync = total["Wait Time(ms)"], total["Transit Time(ms)"], total["Synchronization Time(ms)"]
            total["Wait Time Ratio"] = round(wait / (wait + transit), 4) if wait + transit else 0
            total["Synchronization Time Ratio"] = round(sync / (sync + transit), 4) if sync + transit else 0
            ops["Total Op Info"] = {
                "Communication Time Info": total, "Communication Bandwidth Info": _bandwidth_info(tasks[kind]),
            }
    return out


def matrix(capture):
    """The content of communication_matrix.json."""
    out = {}
    for step, _, first, last in windows(capture):
        kinds = out[f"step{step}"] = {"p2p": {}, "collective": {}}
        links = {}
        for row in capture.communications():
            if not first <= row.start < last:
                continue
            sums = {}
            for task in row.tasks:
                if task.kind not in ("Memcpy", "Reduce_Inline"):
                    continue
                key = f"{task.src}-{task.src if task.dst > 1 << 30 else task.dst}"
                size, time, _ = sums.get(key, (0, 0, ""))
                sums[key] = (size + task.size / 1e6, time + (task.end - task.start) / 1e6, LINKS[task.link])
            name = row.type[5:-1].lower()
            name = "reduce" if name == "reducescatter" else "alltoall" if name == "alltoallv" else name
            kind = "p2p" if is_p2p(row) else "collective"
            for key, (size, time, transport) in sums.items():
                links.setdefault((kind, name, row.group.hash, key), []).append(
                    (round(size / time, 4) if time else 0, size, time, transport, row.name)
                )
        for (kind, name, group, key), found in links.items():
            found.sort(key=lambda each: -each[0])
            places = {"top1": found[0], "middle": found[len(found) // 2], "bottom1": found[-1]}
            for number in (2, 3):
                if len(found) >= number:
                    places[f"bottom{number}"] = found[-number]
            for place, (rate, size, time, transport, op_name) in places.items():
                kinds[kind].setdefault(f"{name}-{place}@{group}", {})[key] = {
                    "Transport Type": transport, "Transit Size(MB)": size, "Transit Time(ms)": time,
                    "Bandwidth(GB/s)": rate, "Op Name": op_name,
                }
            size, time = sum(each[1] for each in found), sum(each[2] for each in found)
            kinds[kind].setdefault(f"{name}-total@{group}", {})[key] = {
                "Transport Type": found[0][3], "Transit Size(MB)": size, "Transit Time(ms)": time,
                "Bandwidth(GB/s)": round(size / time, 4) if time else 0,
            }
    return out
