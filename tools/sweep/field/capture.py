# SPDX-License-Identifier: Apache-2.0
"""What the profiler of each rank sees of a simulated run: by its own clocks, with their resolution.

Times are integer nanoseconds since 1970 by the clock of the rank. Device times are multiples of 20 ns, a kernel
that waited for an event is seen to start a little early or late, and host and device clocks differ by some
microseconds: all as in recorded profiles.
"""

from dataclasses import dataclass, field

from .engine import COLLECTIVE, DEVICE, HOST, KERNEL, MEMCPY, MESSAGE, SYNC
from .noise import Dice
from .program import LOADER, SIDE

EPOCH = 1_764_246_877_000_000_000
TICK = 20
NONE = 4294967295


@dataclass
class Clock:
    """Error of the clock of a rank: true time t is seen as EPOCH + offset + t * (1 + ppm / 1e6)."""

    offset: int = 0
    ppm: float = 0.0
    device: int = 0

    def host_ns(self, true):
        return EPOCH + self.offset + true + int(true * self.ppm / 1e6)

    def device_ns(self, true):
        return self.host_ns(true + self.device) // TICK * TICK


@dataclass
class Task:
    """A small task of a communication operator."""

    start: int
    end: int
    kind: str  # Notify_Wait, Notify_Record, Memcpy, Reduce_Inline
    plane: int
    src: int
    dst: int
    size: int
    link: int  # 0 on chip, 1 HCCS, 5 HCCS_SW, 65535 none


@dataclass
class Row:
    """A task on the device, or a communication operator, and the call that launched it."""

    kind: str
    name: str
    type: str
    core: str
    stream: int
    start: int
    end: int
    host_start: int
    launch: int
    launched: int
    host_name: str
    step: int
    connection: int = 0
    task_id: int = 0
    group: object = None
    size: int = 0
    tasks: list = field(default_factory=list)
    side_thread: bool = False


@dataclass
class Capture:
    """All that was seen on one rank."""

    rank: int
    device: int
    host: int
    pid: int
    layout: object
    rows: list = field(default_factory=list)  # by start
    events: list = field(default_factory=list)  # rows of waits for events and of their records
    host_events: list = field(default_factory=list)  # (start, end, name), of the main thread
    pauses: list = field(default_factory=list)  # (start, end) of garbage collections
    steps: list = field(default_factory=list)  # (id, start, end)
    gc_recorded: bool = True

    def kernels(self):
        return [row for row in self.rows if row.kind == KERNEL]

    def communications(self):
        return [row for row in self.rows if row.group is not None]

    def number(self):
        """Launches and tasks are numbered in their order."""
        for number, row in enumerate(sorted(self.rows + self.events, key=lambda row: row.launch)):
            row.connection, row.task_id = 1200 + 3 * number, 30_000 + number


def _collective_tasks(op, layout):
    instance = op.instance
    group = instance.group
    mine = group.local(op.rank)
    start, end, arrival = op.start, op.end, instance.arrival
    reduces = op.name in ("hcom_allReduce_", "hcom_reduceScatter_")
    tasks = [Task(start, start + 600, "Reduce_Inline", 0, mine, NONE, 4, 0)]
    begin = min(max(arrival + 5000, start + 5000), end - 3000)
    room = max(end - 2500 - begin, 500)
    slowest = max(instance.slow.values(), default=1.0)
    for plane, peer in enumerate((rank for rank in group.members if rank != op.rank), 1):
        there = instance.members[peer].start
        link = 1 if layout.host(peer) == layout.host(op.rank) else 5
        local = group.local(peer)
        asked = min(start + 2600 + 280 * plane, end - 2500)
        tasks.append(
            Task(start + 1000 + 280 * plane, start + 1700 + 280 * plane, "Notify_Record", plane, mine, local, 0, 65535)
        )
        tasks.append(
            Task(asked, max(min(there + 2600, end - 2400), asked), "Notify_Wait", plane, mine, local, 0, 65535)
        )
        factor = instance.slow.get(frozenset((op.rank, peer)), 1.0)
        share = (factor / slowest) * (1 - 0.03 * ((plane * 7 + mine * 3) % 5) / 5)
        tasks.append(
            Task(
                begin, begin + max(int(room * share), 400), "Reduce_Inline" if reduces else "Memcpy", plane, mine,
                local, instance.size // len(group.members), link,
            )
        )
        tasks.append(Task(end - 900, end - 200, "Notify_Record", plane, mine, local, 0, 65535))
    return tasks


def _message_tasks(op, message, layout, group):
    mine, peer_rank = group.local(op.rank), message.dst if message.src == op.rank else message.src
    peer = group.local(peer_rank)
    link = 1 if layout.host(op.rank) == layout.host(peer_rank) else 5
    start, end = op.start, op.end
    if message.src == op.rank:
        copied = min(start + message.copy, end - 1500)
        tasks = [
            Task(start, copied, "Memcpy", 0, mine, mine, message.size, 0),
            Task(copied + 200, copied + 900, "Notify_Record", 0, mine, peer, 0, 65535),
        ]
        if not message.eager:
            ready = max(message.ready + 2000, copied + 1000)
            tasks.append(Task(copied + 1000, min(ready, end), "Notify_Wait", 0, mine, peer, 0, 65535))
            tasks.append(Task(min(ready + 300, end - 300), end - 300, "Notify_Wait", 0, mine, peer, 0, 65535))
        return tasks
    tasks = [
        Task(start, start + 600, "Reduce_Inline", 0, mine, NONE, 4, 0),
        Task(start + 1000, start + 1700, "Notify_Record", 0, mine, peer, 0, 65535),
    ]
    if message.eager:
        begin = min(max(message.sent + message.copy, start + 2000), message.ready - 1000)
        link = link if begin < message.sent + message.dur - 2000 else 0
        done = message.ready
    else:
        begin, done = max(message.ready + 1800, start + 2000), message.ready + message.dur - 2000
    done = min(done, end - 1000)
    begin = min(begin, done - 500)
    tasks.append(Task(min(start + 1900, begin), begin, "Notify_Wait", 0, mine, peer, 0, 65535))
    tasks.append(Task(begin, done, "Memcpy", 0, mine, peer if link else mine, message.size, link))
    tasks.append(Task(done + 100, done + 700, "Notify_Record", 0, mine, peer, 0, 65535))
    return tasks


class _Recorder:
    def __init__(self, program, rank, clock, seed, straddle, early, first_step):
        self.program, self.rank, self.clock, self.straddle, self.early = program, rank, clock, straddle, early
        self.layout = program.layout
        self.dice = Dice(seed, "capture", rank)
        self.first_step = first_step
        self.ordinals = {}
        self.busy = {}  # stream -> end of what was seen last

    def record(self):
        layout = self.layout
        device = self.rank % layout.per_host
        device += device // 2 * 2  # devices 0, 1, 4, 5: not the rank
        capture = Capture(self.rank, device, layout.host(self.rank), 205_000 + 613 * self.rank, layout)
        begun = None
        for op in self.program.ranks[self.rank]:
            self._host(op, capture)
            if op.host_name == "step-begin":
                begun = op.host_start
            elif op.host_name == "step-end":
                capture.steps.append((op.step + self.first_step, self.clock.host_ns(begun), self.clock.host_ns(op.end)))
            if op.kind in DEVICE and op.recorded:
                before = self.busy.get(op.stream, 0)
                rows = self._rows(op)
                self._events(op, capture, before, rows[0].start)
                capture.rows += rows
        if self.straddle:
            self._straddling(capture)
        capture.rows.sort(key=lambda row: (row.start, row.end))
        capture.number()
        return capture

    def _host(self, op, capture):
        ns = self.clock.host_ns
        if op.pause:
            name = op.pause_name
            if name == "GC":
                capture.pauses.append((ns(op.host_start), ns(op.host_start + op.pause)))
            elif name:
                capture.host_events.append((ns(op.host_start), ns(op.host_start + op.pause), name))
        if op.kind == HOST and op.host_name == LOADER:
            capture.host_events.append((ns(op.host_start + op.pause), ns(op.end), LOADER))
        elif op.kind == SYNC and all(dep.recorded for dep in op.deps):
            capture.host_events.append((ns(op.host_start), ns(op.end), "aclrtSynchronizeStreamWithTimeout"))

    def _events(self, op, capture, before, seen):
        """What other streams have to do first is waited for in the stream itself; the wait is a task, too."""
        others = [dep for dep in op.deps if dep.stream != op.stream and dep.recorded]
        if not others:
            return
        call = self.clock.host_ns(op.launch) - 3000
        for dep in others:
            at = self.clock.device_ns(dep.end) + TICK
            capture.events.append(
                Row(
                    "event", "EVENT_RECORD", "EVENT_RECORD", "", dep.stream, at, at + TICK, call, call, call + 600, "",
                    op.step,
                )
            )
        start = max(before, self.clock.device_ns(op.launched))
        end = min(self.clock.device_ns(op.start - op.gap), seen)
        if end > start:
            capture.events.append(
                Row(
                    "event", "EVENT_WAIT", "EVENT_WAIT", "", op.stream, start, end, call + 800, call + 800, call + 1500,
                    "", op.step,
                )
            )

    def _rows(self, op):
        ns, device_ns = self.clock.host_ns, self.clock.device_ns
        start, end = op.start, op.end
        if len(op.deps) and op.kind == KERNEL:
            start += int(self.dice.uniform(-self.early, self.early / 4))  # the event is seen with its own resolution
        start = max(device_ns(start), self.busy.get(op.stream, 0))
        end = max(device_ns(end), start + TICK)
        self.busy[op.stream] = end
        row = Row(
            op.kind, op.name, op.type, op.core, op.stream, start, end, ns(op.host_start + op.pause), ns(op.launch),
            ns(op.launched), op.host_name, op.step,
        )
        if op.kind in (KERNEL, MEMCPY):
            return [row]
        if op.kind == COLLECTIVE:
            row.group, row.size = op.instance.group, op.instance.size
            return [self._named(row, op, _collective_tasks(op, self.layout))]
        return self._messages(row, op)

    def _messages(self, row, op):
        group = op.group
        pairs = [(message, _message_tasks(op, message, self.layout, group)) for message in op.messages]
        row.group = group
        if op.name == "hcom_batchSendRecv_" or len(pairs) == 1:
            row.size = sum(message.size for message, _ in pairs)
            return [self._named(row, op, [task for _, tasks in pairs for task in tasks])]
        rows = []
        for message, tasks in pairs:
            name = "hcom_send_" if message.src == op.rank else "hcom_receive_"
            # both were given to the library at once, and it reports one interval for both
            copy = Row(
                row.kind, name, name, "", row.stream + (name == "hcom_receive_"), row.start, row.end, row.host_start,
                row.launch + len(rows),
                row.launched, "HcclSend" if name == "hcom_send_" else "HcclReceive", row.step, group=group,
                size=message.size,
            )
            rows.append(self._named(copy, op, tasks))
        return rows

    def _named(self, row, op, tasks):
        ordinal = self.ordinals.get(row.group.name, 0)
        self.ordinals[row.group.name] = ordinal + 1
        row.name = f"{row.type}_{row.group.hash % 1000:03d}_{ordinal}_1"
        for task in tasks:
            task.start = min(max(self.clock.device_ns(task.start), row.start), row.end)
            task.end = min(max(self.clock.device_ns(task.end), task.start), row.end)
        row.tasks = tasks
        return row

    def _straddling(self, capture):
        """Small kernels of another stream that happen to run while a receive ends."""
        taken = [(row.start, row.end) for row in capture.rows if row.stream == SIDE]
        for row in [row for row in capture.rows if row.type == "hcom_receive_"]:
            length = int(self.dice.uniform(8, 45)) * 1000
            start = row.end - int(length * self.dice.uniform(0.2, 0.8)) // TICK * TICK
            if not self.dice.chance(0.7) or start < row.start or any(
                s < start + length and e > start for s, e in taken
            ):
                continue
            taken.append((start, start + length))
            launch = row.launched - 9000
            capture.rows.append(Row(
                KERNEL, "aclnnCast_CastAiCore_Cast", "Cast", "AI_VECTOR_CORE", SIDE, start, start + length,
                launch - 5000, launch, launch + 6000,
                "aten::to", row.step, side_thread=True,
            ))


def record(program, clocks, seed, straddle=False, early=700, first_step=11):
    """The captures of all ranks; a kernel that waited may be seen `early` ns too early."""
    return [
        _Recorder(program, rank, clocks[rank], seed, straddle, early, first_step).record()
        for rank in range(program.layout.world)
    ]
