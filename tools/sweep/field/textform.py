# SPDX-License-Identifier: Apache-2.0
"""Profiles as text: kernel_details.csv, step_trace_time.csv, communication.json, trace_view.json and the statistics."""

import csv
import json
import os
from statistics import pvariance

from . import vendor
from .capture import NONE
from .common import make_directory
from .engine import KERNEL, MEMCPY

KERNEL_COLUMNS = (
    "Step Id", "Device_id", "Model ID", "Task ID", "Stream ID", "Name", "Type", "OP State", "Accelerator Core",
    "Start Time(us)", "Duration(us)", "Wait Time(us)", "Block Dim", "Mix Block Dim", "HF32 Eligible", "Input Shapes",
    "Input Data Types", "Input Formats", "Output Shapes", "Output Data Types", "Output Formats", "Context ID",
)
STEP_COLUMNS = (
    "Device_id", "Step", "Computing", "Communication(Not Overlapped)", "Overlapped", "Communication", "Free", "Stage",
    "Bubble", "Communication(Not Overlapped and Exclude Receive)", "Preparing",
)
LINK_NAMES = {0: "ON_CHIP", 1: "HCCS", 5: "HCCS_SW", 65535: "INVALID_TYPE"}
TASK_NAMES = {"Notify_Wait": "Notify Wait", "Notify_Record": "Write Value", "Memcpy": "SDMA", "Reduce_Inline": "SDMA"}
HARDWARE_TYPES = {
    "AI_CORE": "AI_CORE", "AI_VECTOR_CORE": "AI_CORE", "MIX_AIC": "MIX_AIC", "MIX_AIV": "MIX_AIV", "DSA_SQE": "DSA_SQE",
}


def _us(ns):
    """Microseconds with three decimals, exactly."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def _csv(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def _kernel_details(capture):
    """Rows of kernels and operators, by start."""
    windows = vendor.windows(capture)
    shape, kinds, formats = '"4096,1024;1024,4096"', "DT_BF16;DT_BF16", "ND;ND"
    rows, last = [], None
    for row in capture.rows:
        if row.kind == MEMCPY:
            continue
        step = next((str(step) for step, _, first, end in windows if first <= row.start < end), "")
        wait = 0 if last is None else max(row.start - last, 0)
        last = row.end if last is None else max(last, row.end)
        if row.group is not None:
            rows.append(
                (
                    step, capture.device, NONE, "N/A", "N/A", row.name, row.type, "N/A", "COMMUNICATION",
                    _us(row.start) + "\t", _us(row.end - row.start), _us(wait), 0, 0,
                ) + ("N/A",) * 8
            )
        else:
            rows.append(
                (
                    step, capture.device, NONE, row.task_id, row.stream, row.name, row.type, "dynamic", row.core,
                    _us(row.start) + "\t", _us(row.end - row.start), _us(wait), 20 if row.core == "AI_CORE" else 40, 0,
                    "NO", shape, kinds, formats, shape, kinds, formats, "N/A",
                )
            )
    return rows


def _op_statistic(capture):
    types = {}
    for row in capture.kernels():
        types.setdefault((row.type, row.core), []).append(row.end - row.start)
    total = sum(map(sum, types.values())) or 1
    rows = sorted(types.items(), key=lambda item: -sum(item[1]))
    return [
        (
            capture.device, kind, core, len(durs), _us(sum(durs)), _us(min(durs)), _us(sum(durs) // len(durs)),
            _us(max(durs)), round(100 * sum(durs) / total, 3),
        )
        for (kind, core), durs in rows
    ]


def _api_statistic(capture):
    calls = {}
    for row in capture.rows:
        name = row.type if row.group is not None else "aclrtMemcpyAsync" if row.kind == MEMCPY else f"aclnn{row.type}"
        calls.setdefault(("acl", name), []).append(row.launched - row.launch)
        if row.kind != MEMCPY:
            calls.setdefault(("node", "launch"), []).append(row.launched - row.launch)
    for start, end, name in capture.host_events:
        if name.startswith("aclrt"):
            calls.setdefault(("acl", name), []).append(end - start)
    return [
        (
            "host", level, name, _us(sum(durs)), len(durs), _us(sum(durs) // len(durs)), _us(min(durs)), _us(max(durs)),
            round(pvariance([dur / 1000 for dur in durs]), 3),
        )
        for (level, name), durs in calls.items()
    ]


class _Trace:
    """trace_view.json: the framework's half first, then that of CANN."""

    def __init__(self, capture):
        self.capture = capture
        self.pid = capture.pid
        self.events = []
        self.queue = capture.pid + 41
        self.prefetch = capture.pid + 57

    def lane(self, sort):
        return self.pid << 10 | sort << 5 | self.capture.device

    def _meta(self, pid, name, sort, label, threads):
        add = self.events.append
        add(f'{{"name": "process_name", "pid": {pid}, "tid": 0, "args": {{"name": "{name}"}}, "ph": "M"}}')
        add(f'{{"name": "process_labels", "pid": {pid}, "tid": 0, "args": {{"labels": "{label}"}}, "ph": "M"}}')
        add(f'{{"name": "process_sort_index", "pid": {pid}, "tid": 0, "args": {{"sort_index": {sort}}}, "ph": "M"}}')
        for tid, text in threads:
            add(f'{{"name": "thread_name", "pid": {pid}, "tid": {tid}, "args": {{"name": "{text}"}}, "ph": "M"}}')
            add(
                f'{{"name": "thread_sort_index", "pid": {pid}, "tid": {tid}, "args": {{"sort_index": {tid}}}, '
                f'"ph": "M"}}'
            )

    def _slice(self, pid, tid, name, start, end, args="", cat=""):
        cat = f', "cat": "{cat}"' if cat else ""
        args = f', "args": {{{args}}}' if args or cat else ""
        self.events.append(
            f'{{"ph": "X", "name": "{name}", "pid": {pid}, "tid": {tid}, "ts": "{_us(start)}", '
            f'"dur": {_us(end - start)}{cat}{args}}}'
        )

    def _flow(self, phase, name, number, cat, pid, tid, at):
        self.events.append(
            f'{{"ph": "{phase}", "bp": "e", "name": "{name}", "id": {number}, "pid": {pid}, "tid": {tid}, '
            f'"ts": "{_us(at)}", "cat": "{cat}"}}'
        )

    def framework(self):
        capture, pid = self.capture, self.pid
        plain = '"Sequence number": -1, "Fwd thread id": 0'
        self._meta(pid, "Python", 0, "CPU", [(tid, f"Thread {tid}") for tid in (pid, self.queue, self.prefetch)])
        for step, start, end in capture.steps:
            self._slice(pid, pid, f"ProfilerStep#{step}", start, end, plain, "cpu_op")
        for start, end, name in capture.host_events:
            if not name.startswith("aclrt"):
                self._slice(pid, pid, name, start, end, plain, "cpu_op")
        for row in sorted(capture.rows, key=lambda row: row.launch):
            tid = self.prefetch if row.side_thread else pid
            number = row.connection + 8000
            middle = max(row.host_start, row.launch - 3000)
            self._slice(pid, tid, row.host_name, row.host_start, row.launch, plain, "cpu_op")
            self._slice(pid, tid, "Enqueue", middle, row.launch, f'"correlation_id": {number}', "enqueue")
            self._flow("s", "enqueue_to_dequeue", number, "async_task_queue", pid, tid, middle)
            self._slice(
                pid, self.queue, f"Dequeue@{row.host_name.split('::')[-1]}", row.launch, row.launched,
                f'"correlation_id": {number}', "dequeue",
            )
            self._flow("f", "enqueue_to_dequeue", number, "async_task_queue", pid, self.queue, row.launch)
        if capture.gc_recorded and capture.pauses:
            lane = self.lane(1)
            self._meta(lane, "Python GC", 1, "CPU", [(pid, "Python GC")])
            for start, end in capture.pauses:
                self._slice(lane, pid, "GC", start, end, "", "GC")
        return self

    def device(self, rows):
        """The lanes of host calls and of the device, with these of the tasks that were recorded."""
        capture = self.capture
        npu = f"NPU {capture.device}"
        cann, hardware, hccl, overlap, freq = (self.lane(sort) for sort in (7, 13, 15, 23, 14))
        self._meta(cann, "CANN", 7, "CPU", [(tid, f"Thread {tid}") for tid in (self.queue, self.prefetch, self.pid)])
        self._meta(
            hardware, "Ascend Hardware", 13, npu,
            [(stream, f"Stream {stream}") for stream in sorted({row.stream for row in rows})],
        )
        groups, threads, tid = {}, [], 0
        for row in rows:
            if row.group is not None and row.group.name not in groups:
                planes = max(len(row.group.members), 2)
                groups[row.group.name] = tid
                threads.append((tid, f"Group {len(groups) - 1} Communication"))
                threads += [(tid + 1 + plane, f"Plane {plane}") for plane in range(planes)]
                tid += planes + 1
        self._meta(hccl, "Communication", 15, npu, threads)
        self._meta(
            overlap, "Overlap Analysis", 23, npu,
            list(enumerate(("Computing", "Communication", "Communication(Not Overlapped)", "Free"))),
        )
        self._meta(freq, "AI Core Freq", 14, npu, [])
        for at in (capture.steps[0][1] - 2_000_000, capture.steps[-1][2] + 2_000_000):
            self.events.append(
                f'{{"name": "AI Core Freq", "ts": "{_us(at)}", "pid": {freq}, "tid": 0, "args": {{"MHz": 1800}}, '
                f'"ph": "C"}}'
            )
        for start, end, name in capture.host_events:
            if name.startswith("aclrt"):
                self._slice(
                    cann, self.pid, f"AscendCL@{name}", start, end,
                    f'"Thread Id": {self.pid}, "Mode": "ACL_RTS", "level": "acl", "id": "{name}", "item_id": "0", '
                    '"connection_id": 9',
                )
        for row in rows:
            self._row(row, cann, hardware, hccl, groups)
        for row in capture.events:
            self._event(row, cann, hardware)
        lanes = vendor.Lanes(rows)
        for tid, (name, lane) in enumerate(
            (
                ("Computing", lanes.computing), ("Communication", lanes.communication),
                ("Communication(Not Overlapped)", lanes.exposed), ("Free", lanes.free),
            )
        ):
            for start, end in lane:
                self._slice(overlap, tid, name, start, end)
        return self

    def _row(self, row, cann, hardware, hccl, groups):
        tid = self.prefetch if row.side_thread else self.queue
        flow = row.connection << 32  # as text, and shifted, since 2025
        acl = row.type if row.group is not None else "aclrtMemcpyAsync" if row.kind == MEMCPY else f"aclnn{row.type}"
        self._slice(
            cann, tid, f"AscendCL@{acl}", row.launch, row.launched,
            f'"Thread Id": {tid}, "Mode": "ACL_OP", "level": "acl", "id": "{acl}", "item_id": "0", '
            f'"connection_id": {row.connection + (row.kind != MEMCPY)}',
        )
        inner = row.launch
        if row.kind == KERNEL:
            inner += (row.launched - row.launch) // 3
        if row.kind != MEMCPY:
            self._slice(
                cann, tid, "Node@launch", inner, row.launched,
                f'"Thread Id": {tid}, "Mode": "launch", "level": "node", "id": "0", "item_id": "{row.type}", '
                f'"connection_id": {row.connection}',
            )
        self._flow("s", f"HostToDevice{flow}", f'"{flow}"', "HostToDevice", cann, tid, inner)
        if row.group is None:
            kind = "PCIE_DMA_SQE" if row.kind != KERNEL else HARDWARE_TYPES[row.core]
            lane, thread = hardware, row.stream
            self._slice(
                lane, thread, row.name, row.start, row.end,
                f'"Model Id": {NONE}, "Task Type": "{kind}", "Physic Stream Id": {row.stream}, '
                f'"Task Id": {row.task_id}, "Batch Id": 0, "Subtask Id": {NONE}, "connection_id": {row.connection}',
            )
        else:
            lane, thread = hccl, groups[row.group.name]
            self._slice(
                lane, thread, row.name, row.start, row.end,
                f'"connection_id": {row.connection}, "model id": {NONE}, "data_type": "BFP16", "alg_type": "MESH", '
                f'"count": {row.size // 2}',
            )
            for number, task in enumerate(row.tasks):
                self._small(row, number, task, hccl, thread, hardware)
        self._flow("f", f"HostToDevice{flow}", f'"{flow}"', "HostToDevice", lane, thread, row.start)
        self._flow(
            "s", "torch_to_npu", row.start, "async_npu", self.pid, self.prefetch if row.side_thread else self.pid,
            row.host_start,
        )
        self._flow("f", "torch_to_npu", row.start, "async_npu", lane, thread, row.start)

    def _event(self, row, cann, hardware):
        call = "aclrtStreamWaitEvent" if row.type == "EVENT_WAIT" else "aclrtRecordEvent"
        flow = row.connection << 32
        self._slice(
            cann, self.queue, f"AscendCL@{call}", row.launch, row.launched,
            f'"Thread Id": {self.queue}, "Mode": "ACL_RTS", "level": "acl", "id": "{call}", "item_id": "0", '
            f'"connection_id": {row.connection}',
        )
        self._flow("s", f"HostToDevice{flow}", f'"{flow}"', "HostToDevice", cann, self.queue, row.launch)
        self._slice(
            hardware, row.stream, row.type, row.start, row.end,
            f'"Model Id": {NONE}, "Task Type": "{row.type}_SQE", "Physic Stream Id": {row.stream}, '
            f'"Task Id": {row.task_id}, "Batch Id": 0, "Subtask Id": {NONE}, "connection_id": {row.connection}',
        )
        self._flow("f", f"HostToDevice{flow}", f'"{flow}"', "HostToDevice", hardware, row.stream, row.start)

    def _small(self, row, number, task, hccl, thread, hardware):
        dur = task.end - task.start
        rate = task.size / dur if dur else 0
        kind = "BFP16" if task.kind == "Reduce_Inline" else "INVALID_TYPE"
        transport = "LOCAL" if task.kind == "Notify_Wait" else "SDMA"
        self._slice(
            hccl, thread + 1 + task.plane, task.kind, task.start, task.end,
            f'"notify_id": "{0 if task.kind == "Reduce_Inline" else 4 * (task.dst + 10)}", '
            f'"duration estimated(us)": {dur / 1000}, "stream id": {row.stream}, "task id": {row.task_id}, '
            f'"context id": {number}, "task type": "{task.kind}", "src rank": {task.src}, "dst rank": {task.dst}, '
            f'"transport type": "{transport}", "size(Byte)": {task.size}, "data type": "{kind}", '
            f'"link type": "{LINK_NAMES[task.link]}", "bandwidth(GB/s)": {rate}, "model id": {NONE}',
        )
        self._slice(
            hardware, row.stream, TASK_NAMES[task.kind], task.start, task.end,
            f'"Model Id": {NONE}, "Task Type": "{TASK_NAMES[task.kind]}", "Physic Stream Id": {row.stream}, '
            f'"Task Id": {row.task_id}, "Batch Id": 0, "Subtask Id": {number}, "connection_id": {row.connection}',
        )


def write(root, capture, keep=None, file=None, trace=True):
    """The rank's directory. keep: a function that leaves some rows of the file, 'csv' or 'trace'."""
    output = make_directory(root, capture, "text")
    rows = _kernel_details(capture)
    if keep and file == "csv":
        rows = keep(rows)
    _csv(os.path.join(output, "kernel_details.csv"), KERNEL_COLUMNS, rows)
    _csv(os.path.join(output, "step_trace_time.csv"), STEP_COLUMNS, vendor.step_times_text(capture))
    _csv(
        os.path.join(output, "op_statistic.csv"),
        (
            "Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)", "Avg Time(us)",
            "Max Time(us)", "Ratio(%)",
        ),
        _op_statistic(capture),
    )
    _csv(
        os.path.join(output, "api_statistic.csv"),
        ("Device_id", "Level", "API Name", "Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"),
        _api_statistic(capture),
    )
    for name, content in (
        ("communication.json", vendor.communication(capture)), ("communication_matrix.json", vendor.matrix(capture)),
    ):
        with open(os.path.join(output, name), "w", encoding="utf-8") as out:
            json.dump(content, out)
    if not trace:
        return
    rows = keep(capture.rows) if keep and file == "trace" else capture.rows
    with open(os.path.join(output, "trace_view.json"), "w", encoding="utf-8") as out:
        out.write("[" + ", ".join(_Trace(capture).framework().device(rows).events) + "]")
