# SPDX-License-Identifier: Apache-2.0
"""Orders of forward and backward passes in a pipeline.

An order is a list of (pass, micro-batch, chunk) per stage; passes are F, B (the whole backward pass, or with a
split backward the part the previous stage waits for) and W (the rest of it).
"""


def one_f_one_b(stages, batches):
    """Warm up, then one forward and one backward pass in turn, then drain."""
    orders = []
    for stage in range(stages):
        warm = min(stages - stage - 1, batches)
        order = [("F", i, 0) for i in range(warm)]
        for i in range(batches - warm):
            order += [("F", warm + i, 0), ("B", i, 0)]
        order += [("B", i, 0) for i in range(batches - warm, batches)]
        orders.append(order)
    return orders


def _listed(stages, batches, chunks, split):
    """List scheduling with unit times: what a stage can do at a time, backward first, decides its order."""
    last = stages * chunks - 1
    done = {}  # (pass, batch, position) -> end
    todo = [
        {
            (kind, batch, position)
            for kind in ("FBW" if split else "FB")
            for batch in range(batches)
            for position in range(stage, last + 1, stages)
        }
        for stage in range(stages)
    ]
    orders = [[] for _ in range(stages)]
    flight = [0] * stages
    limit = [(stages - stage) + (chunks - 1) * stages for stage in range(stages)]
    now = 0

    def ready(kind, batch, position):
        if kind == "W":
            return done.get(("B", batch, position), now + 1) <= now
        if kind == "F":
            return position == 0 or done.get(("F", batch, position - 1), now + 1) <= now
        before = ("F", batch, last) if position == last else ("B", batch, position + 1)
        return done.get(before, now + 1) <= now and done.get(("F", batch, position), now + 1) <= now

    busy = [0] * stages
    while any(todo):
        for stage in range(stages):
            if busy[stage] > now:
                continue
            can = [
                each for each in todo[stage] if ready(*each) and not (each[0] == "F" and flight[stage] >= limit[stage])
            ]
            if not can:
                continue
            # backward first; of forward passes the deepest chunk of a round of micro-batches first
            each = min(
                can,
                key=lambda e: (
                    "BFW".index(e[0]), e[1] // stages if chunks > 1 else e[1], e[2] if e[0] == "F" else -e[2], e[1],
                ),
            )
            todo[stage].remove(each)
            flight[stage] += {"F": 1, "B": -1, "W": 0}[each[0]]
            busy[stage] = now + (1 if split or each[0] == "F" else 2)
            done[each] = busy[stage]
            orders[stage].append((each[0], each[1], each[2] // stages))
        now += 1
        if now > 40 * batches * chunks * stages:
            raise ValueError("the schedule does not end")
    return orders


def interleaved(stages, batches, chunks=2):
    """Every stage holds several chunks of layers."""
    return _listed(stages, batches, chunks, split=False)


def zero_bubble(stages, batches):
    """The backward pass is split; its second half fills the gaps."""
    return _listed(stages, batches, 1, split=True)


def order(kind, stages, batches):
    if kind == "interleaved":
        return interleaved(stages, batches)
    if kind == "zero-bubble":
        return zero_bubble(stages, batches)
    return one_f_one_b(stages, batches)
