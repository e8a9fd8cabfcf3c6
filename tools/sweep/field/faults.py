# SPDX-License-Identifier: Apache-2.0
"""Faults: changes to the draws of a program. Without them the same program is the run that never had the fault."""

from .engine import DEVICE, HOST, KERNEL, MEMCPY
from .noise import Dice
from .program import LOADER, SIDE


def _ops(program, ranks, steps=None):
    for rank in ranks:
        for op in program.ranks[rank]:
            if steps is None or op.step in steps:
                yield op


def slow_kernels(ranks, factor, steps=None, part=None):
    """Kernels take longer, all or those of a part of the step; factor may be a function of the step."""

    def apply(program):
        for op in _ops(program, ranks, steps):
            if op.kind == KERNEL and op.stream != SIDE and part in (None, op.tag):
                op.dur = int(op.dur * (factor(op.step) if callable(factor) else factor))

    return apply


def slow_cores(ranks, core, factor):
    """Kernels of one kind of core take longer."""

    def apply(program):
        for op in _ops(program, ranks):
            if op.kind == KERNEL and op.core == core and op.stream != SIDE:
                op.dur = int(op.dur * factor)

    return apply


def slow_copies(ranks, factor):
    """Copies between device and host take longer."""

    def apply(program):
        for op in _ops(program, ranks):
            if op.kind == MEMCPY:
                op.dur = int(op.dur * factor)

    return apply


def slow_host(ranks, factor, steps=None):
    """The host takes longer before every launch."""

    def apply(program):
        for op in _ops(program, ranks, steps):
            if op.kind in DEVICE:
                op.pre = int(op.pre * factor)

    return apply


def loader(ranks, millis, steps=None):
    """The data loader keeps the host waiting at the begin of a step."""

    def apply(program):
        for op in _ops(program, ranks, steps):
            if op.kind == HOST and op.host_name == LOADER:
                op.dur += int(millis * 1e6)

    return apply


def idle(ranks, millis, steps=None):
    """The hosts do something that no event tells of between two steps."""

    def apply(program):
        for op in _ops(program, ranks, steps):
            if op.host_name == "step-begin":
                op.dur += int(millis * 1e6)

    return apply


def collections(seed, ranks, millis, share):
    """Garbage collections, on each rank in steps and at places of its own."""

    def apply(program):
        for rank in ranks:
            dice = Dice(seed, "gc", rank)
            for step in range(program.steps):
                launches = [op for op in program.ranks[rank] if op.step == step and op.kind == KERNEL]
                if dice.chance(share):
                    op = launches[int(len(launches) * dice.uniform(0.1, 0.75))]
                    op.pause, op.pause_name = int(millis * 1e6 * dice.uniform(0.7, 1.4)), "GC"

    return apply


def slow_link(first, second, factor):
    """Transfers between two ranks take longer, and with them the collectives that need them."""

    def apply(program):
        pair = frozenset((first, second))
        for message in program.messages:
            if {message.src, message.dst} == pair:
                message.dur = int(message.dur * factor)
        for instance in program.instances:
            if pair <= set(instance.group.members):
                instance.dur = int(instance.dur * factor)
                instance.slow = {pair: factor}

    return apply
