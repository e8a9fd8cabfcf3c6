# SPDX-License-Identifier: Apache-2.0
"""When everything happens: hosts that launch, streams in order, events between them, collectives and messages.

Nothing is random here: all draws are in the program. Times are integer nanoseconds from the begin of the run.
"""

KERNEL, MEMCPY, COLLECTIVE, MESSAGE, HOST, SYNC = "kernel", "memcpy", "collective", "message", "host", "sync"
DEVICE = (KERNEL, MEMCPY, COLLECTIVE, MESSAGE)


class Op:
    """One item of a host's program: something it launches, work of its own, or a wait for the device."""

    __slots__ = (
        "rank", "step", "kind", "name", "type", "core", "stream", "deps", "host_name", "tag", "nominal",
        "base_dur", "base_pre", "dur", "pre", "pause", "pause_name", "api", "latency", "gap", "jitter",
        "instance", "messages", "group", "recorded", "host_start", "launch", "launched", "start", "end",
        "_need", "_next", "_at", "_left", "_done",
    )

    def __init__(self, rank, step, kind, **more):
        self.rank, self.step, self.kind = rank, step, kind
        self.name = self.type = self.core = self.host_name = self.pause_name = ""
        self.tag = ""
        self.deps = ()
        self.messages = ()
        self.instance = self.group = None
        self.stream = self.nominal = self.base_dur = self.base_pre = 0
        self.api = self.latency = self.gap = self.jitter = 0
        self.recorded = True
        for key, value in more.items():
            setattr(self, key, value)
        self.reset()

    def reset(self):
        """Back to what was drawn: no fault."""
        self.dur, self.pre, self.pause, self.pause_name = self.base_dur, self.base_pre, 0, ""
        self.host_start = self.launch = self.launched = self.start = self.end = None


class Instance:
    """One collective of a communicator: nobody ends before the last has begun."""

    __slots__ = ("group", "ordinal", "base_dur", "dur", "bias", "size", "members", "arrival", "slow")

    def __init__(self, group, ordinal, dur, bias, size):
        self.group, self.ordinal, self.base_dur, self.bias, self.size = group, ordinal, dur, bias, size
        self.members = {}
        self.reset()

    def reset(self):
        self.dur, self.arrival, self.slow = self.base_dur, None, {}


class Message:
    """From one rank to another; eager ones do not keep the sender until the receiver is there."""

    __slots__ = (
        "src", "dst", "base_dur", "dur", "size", "eager", "copy", "sender", "receiver", "sent", "received", "ready",
    )

    def __init__(self, src, dst, dur, size, eager, copy):
        self.src, self.dst, self.base_dur, self.size, self.eager, self.copy = src, dst, dur, size, eager, copy
        self.sender = self.receiver = None
        self.reset()

    def reset(self):
        self.dur = self.base_dur
        self.sent = self.received = self.ready = None


class Program:
    """What all hosts do, in their order."""

    def __init__(self, layout, steps):
        self.layout, self.steps = layout, steps
        self.ranks = [[] for _ in range(layout.world)]
        self.instances = []
        self.messages = []

    def reset(self):
        for ops in self.ranks:
            for op in ops:
                op.reset()
        for each in self.instances + self.messages:
            each.reset()


class _Run:
    def __init__(self, program):
        self.program = program
        self.cursor = [0] * len(program.ranks)
        self.clock = [0] * len(program.ranks)
        self.hosts = []
        self.begun = []
        self._link()

    def _link(self):
        for ops in self.program.ranks:
            tails = {}
            for op in ops:
                op._next, op._at, op._done = [], 0, False
                if op.kind in DEVICE:
                    op._need = 1 + len(op.deps)
                    before = tails.get(op.stream)
                    if before is not None and before not in op.deps:
                        before._next.append(op)
                        op._need += 1
                    tails[op.stream] = op
                    for dep in op.deps:
                        dep._next.append(op)
                else:
                    op._need = 0
                op._left = len(op.messages)

    def go(self):
        self.hosts = list(range(len(self.program.ranks)))
        while self.hosts or self.begun:
            if self.begun:
                self._begin(self.begun.pop())
            else:
                self._advance(self.hosts.pop())
        for ops, cursor in zip(self.program.ranks, self.cursor):
            if cursor < len(ops):
                op = ops[cursor]
                raise ValueError(f"rank {op.rank} never gets past {op.name or op.host_name} of step {op.step}")

    def _advance(self, rank):
        ops, now = self.program.ranks[rank], self.clock[rank]
        for index in range(self.cursor[rank], len(ops)):
            op = ops[index]
            if op.kind == SYNC:
                missing = [dep for dep in op.deps if not dep._done]
                if missing:
                    if op.host_start is None:
                        op.host_start = now
                    op._need = len(missing)
                    for dep in missing:
                        dep._next.append(op)
                    self.cursor[rank], self.clock[rank] = index, now
                    return
                if op.host_start is None:
                    op.host_start = now
                now = max([now] + [dep.end for dep in op.deps]) + op.pre
                op.end = now
                continue
            op.host_start = now
            now += op.pause + op.pre
            if op.kind == HOST:
                op.end = now = now + op.dur
                continue
            op.launch = now
            now += op.api
            op.launched = now
            self._arrive(op, now + op.latency)
        self.cursor[rank], self.clock[rank] = len(ops), now

    def _arrive(self, op, time):
        op._need -= 1
        if time > op._at:
            op._at = time
        if op._need == 0:
            if op.kind == SYNC:
                self.hosts.append(op.rank)
            else:
                self.begun.append(op)

    def _begin(self, op):
        op.start = op._at
        if op.kind == COLLECTIVE:
            self._join(op)
        elif op.kind == MESSAGE:
            for message in op.messages:
                self._post(op, message)
        else:
            self._finish(op, op.start + op.dur)

    def _join(self, op):
        instance = op.instance
        instance.members[op.rank] = op
        members = [instance.members.get(rank) for rank in instance.group.members]
        if any(each is None or each.start is None for each in members):
            return
        instance.arrival = max(each.start for each in members)
        for place, each in enumerate(members):
            self._finish(each, instance.arrival + instance.dur + instance.bias[place] + each.jitter)

    def _post(self, op, message):
        if message.src == op.rank:
            message.sent, message.sender = op.start, op
        else:
            message.received, message.receiver = op.start, op
        if message.eager:
            if message.src == op.rank:
                self._part(op, op.start + message.copy)
            if message.sent is not None and message.received is not None:
                message.ready = max(message.sent + message.dur, message.received + message.copy)
                self._part(message.receiver, message.ready + message.receiver.jitter)
        elif message.sent is not None and message.received is not None:
            message.ready = max(message.sent, message.received)
            self._part(message.sender, message.ready + message.dur + message.sender.jitter)
            self._part(message.receiver, message.ready + message.dur + message.receiver.jitter)

    def _part(self, op, time):
        op._left -= 1
        op.end = max(op.end or 0, time)
        if op._left == 0:
            self._finish(op, op.end)

    def _finish(self, op, time):
        op.end, op._done = time, True
        for each in op._next:
            self._arrive(each, time + (each.gap if each.kind in DEVICE else 0))


def simulate(program):
    """Fill in the times of the program's items."""
    for each in program.instances:
        each.members = {}
    _Run(program).go()
