# SPDX-License-Identifier: Apache-2.0
"""The cases: named recipes that a seed turns into a run, and what the right answer is.

A recipe returns a Case. `accept` lists verdicts that are right as (kind, what) pairs, what None for any; `cause` the
right causes of the named rank; `also` further demands by name (see judge); `gain` whether the foretold
gain is judged.
"""

from dataclasses import dataclass, field

from . import edits, faults
from .layout import Layout
from .noise import Dice
from .program import Shape


@dataclass
class Case:
    """A run to make."""

    layout: Layout
    shape: Shape
    faults: list = field(default_factory=list)
    accept: list = field(default_factory=list)
    cause: tuple = ()
    gain: bool = True
    also: dict = field(default_factory=dict)
    ideal_shape: Shape = None  # of the run without the fault, where it differs
    background: list = field(default_factory=list)  # faults of both runs
    omit: tuple = ()
    skew: bool = False
    straddle: bool = False
    early: int = 700  # ns by which a kernel that waited is seen too early, at most
    cut: tuple = None  # (rank, share, file)
    gc_recorded: bool = True
    edit: object = None  # changes the captures before they are written (edits)
    form: str = None  # of the files, whatever was asked for
    drop: tuple = ()  # names of files that nobody kept


def _dp(dice, **more):
    return Layout(dp=8), Shape(
        layers=[dice.choice([3, 4])], grads=dice.choice(["allreduce", "scatter"]), sync_end=dice.chance(0.7), **more,
    )


def _two(dice, **more):
    """Two ranks, with nobody else to compare with."""
    return dice.choice([Layout(dp=2), Layout(tp=2)]), Shape(layers=[4], **more)


def _tpdp(dice, **more):
    layout = Layout(tp=4, dp=2) if dice.chance(0.5) else Layout(tp=2, dp=4)
    return layout, Shape(layers=[3], grads=dice.choice(["allreduce", "scatter"]), sync_end=dice.chance(0.7), **more)


def _pp(dice, p2p=None, schedule="1f1b", layers=1, batches=8, **more):
    p2p = p2p or dice.choice(["eager", "rendezvous"])
    return Layout(pp=4, dp=2), Shape(
        layers=[layers] * 4, batches=batches, schedule=schedule, p2p=p2p, sync_end=dice.chance(0.7), **more,
    )


def _any(dice, **more):
    return dice.choice([_dp, _tpdp, _pp])(dice, **more)


def _factor(dice):
    return round(dice.uniform(1.15, 1.45), 3)


def _slow_rank(dice, made, **more):
    layout, shape = made
    rank = dice.integer(0, layout.world - 1)
    return Case(
        layout, shape, [faults.slow_kernels([rank], _factor(dice))], [("rank", str(rank))], ("compute",), **more,
    )


def healthy_dp(dice):
    return Case(*_dp(dice), accept=[("none", None)])


def healthy_tp_dp(dice):
    return Case(*_tpdp(dice), accept=[("none", None)])


def healthy_pp(dice):
    return Case(*_pp(dice), accept=[("none", None)])


def healthy_interleaved(dice):
    return Case(*_pp(dice, "eager", "interleaved", layers=2, batches=4), accept=[("none", None)])


def healthy_zero_bubble(dice):
    return Case(*_pp(dice, schedule="zero-bubble"), accept=[("none", None)])


def healthy_ep(dice):
    return Case(Layout(dp=8, ep=dice.choice([4, 8])), Shape(layers=[3], moe=True), accept=[("none", None)])


def slow_rank_dp(dice):
    return _slow_rank(dice, _dp(dice))


def slow_rank_tp_dp(dice):
    return _slow_rank(dice, _tpdp(dice))


def slow_rank_pp(dice):
    return _slow_rank(dice, _pp(dice))


def slow_rank_3d(dice):
    layout = Layout(tp=2, dp=2, pp=4, per_host=8)
    return _slow_rank(dice, (layout, Shape(layers=[1] * 4, batches=6, steps=4, p2p=dice.choice(["eager", "batch"]))))


def slow_rank_ep(dice):
    return _slow_rank(dice, (Layout(dp=8, ep=dice.choice([4, 8])), Shape(layers=[3], moe=True)))


def slow_rank_interleaved(dice):
    return _slow_rank(dice, _pp(dice, "eager", "interleaved", layers=2, batches=4))


def slow_rank_zero_bubble(dice):
    return _slow_rank(dice, _pp(dice, schedule="zero-bubble"))


def _slow_stage(dice, made):
    layout, shape = made
    stage = dice.integer(0, layout.pp - 1)
    ranks = [rank for rank in range(layout.world) if layout.place(rank)[2] == stage]
    return Case(layout, shape, [faults.slow_kernels(ranks, _factor(dice))], [("stage", str(stage))])


def slow_stage(dice):
    return _slow_stage(dice, _pp(dice))


def slow_stage_interleaved(dice):
    return _slow_stage(dice, _pp(dice, "eager", "interleaved", layers=2, batches=4))


def slow_stage_zero_bubble(dice):
    return _slow_stage(dice, _pp(dice, schedule="zero-bubble"))


def uneven_stage(dice):
    """One stage has a layer of another one: evening out conserves the work."""
    layout, even = _pp(dice, layers=2, batches=6, steps=4)
    stage = dice.integer(0, 3)
    layers = [2, 2, 2, 2]
    layers[stage] += 1
    layers[(stage + dice.integer(1, 3)) % 4] -= 1
    shape = Shape(**{**even.__dict__, "layers": layers})
    return Case(layout, shape, accept=[("stage", str(stage))], ideal_shape=even, also={"text": ("unevenly",)})


def slow_host(dice):
    layout, shape = _any(dice)
    rank = dice.integer(0, layout.world - 1)
    return Case(layout, shape, [faults.slow_host([rank], dice.uniform(9, 13))], [("rank", str(rank))], ("host",))


def slow_hosts_all(dice):
    """All ranks are bound by launches."""
    layout, shape = _dp(dice)
    return Case(layout, shape, [faults.slow_host(range(8), dice.uniform(9, 12))], [("host-gaps", None)])


def slow_link_pp(dice):
    layout, shape = _pp(dice, "rendezvous")
    stage = dice.integer(0, 2)
    dp = dice.integer(0, 1)
    pair = layout.rank(0, dp, stage), layout.rank(0, dp, stage + 1)
    return Case(layout, shape, [faults.slow_link(*pair, dice.uniform(5, 8))], _link(pair))


def slow_link_tp(dice):
    layout, shape = Layout(tp=4, dp=2), Shape(layers=[3])
    first = 4 * dice.integer(0, 1)
    pair = tuple(sorted(first + place for place in dice.random.sample(range(4), 2)))
    return Case(layout, shape, [faults.slow_link(*pair, dice.uniform(2, 3))], _link(pair) + [("group", None)])


def _link(pair):
    return [("link", f"{pair[0]}-{pair[1]}"), ("link", f"{pair[1]}-{pair[0]}")]


def loader_all(dice):
    layout, shape = _dp(dice, steps=6)
    shape.sync_end = True
    every = dice.choice([1, 2])
    fault = faults.loader(range(8), dice.uniform(5, 12), range(dice.integer(0, every - 1), 6, every))
    return Case(layout, shape, [fault], [("between", None)], also={"between": "between/dataloader"})


def idle_all(dice):
    layout, shape = _tpdp(dice)
    shape.sync_end = True
    return Case(layout, shape, [faults.idle(range(8), dice.uniform(3, 8))], [("between", None)])


def loader_one(dice):
    layout, shape = _any(dice)
    shape.sync_end = True
    rank = dice.integer(0, layout.world - 1)
    return Case(layout, shape, [faults.loader([rank], dice.uniform(5, 10))], [("rank", str(rank))], ("host",))


def gc_unaligned(dice):
    layout, shape = _dp(dice, steps=6)
    seed = dice.integer(0, 1 << 30)
    return Case(
        layout, shape, [faults.collections(seed, range(8), dice.uniform(8, 14), 0.4)], [("host-gaps", None)],
        also={"anywhere": ("garbage",)}, gc_recorded=dice.chance(0.5),
    )


def heat(dice):
    layout, shape = _any(dice, steps=6)
    rank = dice.integer(0, layout.world - 1)
    top = dice.uniform(0.3, 0.5)
    fault = faults.slow_kernels([rank], lambda step: 1 + top * (step + 1) / 6)
    return Case(layout, shape, [fault], [("rank", str(rank))], ("compute",), also={"course": "growing"})


def periodic(dice):
    layout, shape = _dp(dice, steps=9, batches=1)
    rank, phase = dice.integer(0, 7), dice.integer(0, 2)
    fault = faults.slow_kernels([rank], dice.uniform(1.4, 1.7), range(phase, 9, 3))
    return Case(layout, shape, [fault], [("rank", str(rank))], ("compute",), also={"course": "periodic"})


def two_of_tp(dice):
    layout, shape = Layout(tp=4, dp=2, per_host=dice.choice([4, 8])), Shape(layers=[3])
    first = 4 * dice.integer(0, 1)
    pair = [first + place for place in dice.random.sample(range(4), 2)]
    factor = _factor(dice)
    return Case(
        layout, shape, [faults.slow_kernels(pair, factor)], [("rank", str(rank)) for rank in pair], ("compute",),
        also={"with": [f"rank:{rank}" for rank in pair]},
    )


def two_kinds(dice):
    layout, shape = _dp(dice)
    computes, launches = dice.random.sample(range(8), 2)
    both = [faults.slow_kernels([computes], _factor(dice) + 0.1), faults.slow_host([launches], dice.uniform(9, 12))]
    return Case(
        layout, shape, both, [("rank", str(computes)), ("rank", str(launches))], ("compute", "host"),
        also={"with": [f"rank:{computes}", f"rank:{launches}"]},
    )


def side_straddle(dice):
    return _slow_rank(dice, _pp(dice, "rendezvous"), straddle=True)


def event_resolution(dice):
    """Kernels that waited for an event are seen to start up to 5 us too early."""
    return _slow_rank(dice, _pp(dice), early=5000)


def biased_ends(dice):
    """Members of a collective end up to a third of its transfer apart, the same way each time."""
    return _slow_rank(dice, _tpdp(dice, end_bias=0.33))


def biased_ends_healthy(dice):
    return Case(*_tpdp(dice, end_bias=0.33), accept=[("none", None)], skew=dice.chance(0.5))


def batch_one_operator(dice):
    return _slow_rank(dice, _pp(dice, "batch"))


def batch_pairs(dice):
    return _slow_rank(dice, _pp(dice, "pairs"))


def missing_profiled(dice):
    case = _slow_rank(dice, _tpdp(dice))
    culprit = int(case.accept[0][1])
    case.omit = tuple(dice.random.sample([rank for rank in range(8) if rank != culprit], 3))
    return case


def missing_culprit(dice):
    case = _slow_rank(dice, _tpdp(dice))
    culprit = int(case.accept[0][1])
    others = [rank for rank in range(8) if rank != culprit]
    case.omit = (culprit,) + tuple(dice.random.sample(others, 2))
    case.accept, case.cause, case.gain = [("not-profiled", None)], (), False
    case.also = {"text": ("not profiled",)}
    return case


def late_first_step(dice):
    """A stall of the loader of one rank in the first step that was profiled."""
    layout, shape = _any(dice, steps=4)
    rank = dice.integer(0, layout.world - 1)
    return Case(layout, shape, [faults.loader([rank], dice.uniform(12, 30), [0])], [("rank", str(rank))], ("host",))


def clock_skew(dice):
    return _slow_rank(dice, _tpdp(dice), skew=True)


def clock_skew_pp(dice):
    return _slow_rank(dice, _pp(dice), skew=True)


def clock_skew_healthy(dice):
    return Case(*_any(dice), accept=[("none", None)], skew=True)


def warm_up(dice):
    """The first step takes twice as long everywhere: nobody's fault."""
    return Case(*_dp(dice, warm_up=2.0), accept=[("none", None)], also={"anywhere": ("warm-up",)})


def unrecorded(dice):
    """A barrier that no profile shows, before which another rank is late in each step."""
    layout, shape = _dp(dice, barrier=True)
    late = [
        faults.slow_kernels([dice.integer(0, 7)], dice.uniform(1.3, 1.6), [step], "before")
        for step in range(shape.steps)
    ]
    return Case(layout, shape, background=late, accept=[("none", None)], gain=False, also={"finding": "recorded"})


def eval_step(dice):
    """One step of all ranks takes three times as long: an evaluation."""
    layout, shape = _any(dice, steps=6)
    longer = faults.slow_kernels(range(layout.world), 3.0, [dice.integer(1, 4)])
    return Case(layout, shape, background=[longer], accept=[("none", None)])


def eval_step_slow_rank(dice):
    case = _slow_rank(dice, _any(dice, steps=6))
    case.background = [faults.slow_kernels(range(8), 3.0, [dice.integer(1, 4)])]
    return case


def checkpoint_all(dice):
    """All ranks save a checkpoint after every third step."""
    layout, shape = _any(dice, steps=9)
    shape.sync_end = True
    fault = faults.idle(range(layout.world), dice.uniform(25, 60), range(dice.integer(1, 2), 9, 3))
    return Case(layout, shape, [fault], [("between", None)])


def checkpoint_one(dice):
    """Rank 0 alone does."""
    layout, shape = _dp(dice, steps=9)
    shape.sync_end = True
    fault = faults.idle([0], dice.uniform(25, 60), range(dice.integer(1, 2), 9, 3))
    return Case(layout, shape, [fault], [("rank", "0")], ("host",))


def lengths(dice):
    """Sequences of different lengths: in each step other ranks compute longer. Nobody is slow."""
    layout, shape = _dp(dice, steps=8)
    uneven = [
        faults.slow_kernels([rank], dice.lognormal(0.12), [step]) for rank in range(8) for step in range(shape.steps)
    ]
    return Case(layout, shape, background=uneven, accept=[("none", None)])


def lengths_slow_rank(dice):
    case = lengths(dice)
    rank = dice.integer(0, 7)
    case.faults, case.accept, case.cause = [faults.slow_kernels([rank], 1.5)], [("rank", str(rank))], ("compute",)
    case.gain = False  # who is the last without it is chance
    return case


def accumulation(dice):
    layout, shape = _dp(dice)
    shape.batches = 6
    return _slow_rank(dice, (layout, shape))


def _nobody(case, *more):
    case.accept, case.gain = [("none", None), ("withheld", None)] + list(more), False
    return case


def mid_step_begin(dice):
    """The capture of one rank begins within the first step."""
    case = _nobody(Case(*_any(dice)))
    rank = dice.integer(0, 7)
    case.edit, case.also = edits.begin_later(rank, dice.uniform(0.2, 0.7)), {"not": rank}
    return case


def fewer_steps(dice):
    """One rank has fewer steps than the others, and nobody is slow."""
    case = Case(*_any(dice, steps=6), accept=[("none", None)])
    case.edit = edits.leave_steps(dice.integer(0, 7), dice.choice([[0], [0, 1], [4, 5], [5]]))
    return case


def fewer_steps_slow_rank(dice):
    case = _slow_rank(dice, _any(dice, steps=6))
    slow = int(case.accept[0][1])
    other = dice.choice([rank for rank in range(8) if rank != slow])
    case.edit = edits.leave_steps(other, dice.choice([[0], [0, 1], [4, 5], [5]]))
    return case


def other_windows(dice):
    """Half of the ranks were captured one step later than the others."""
    case = _slow_rank(dice, _any(dice, steps=6))
    case.edit = edits.together(*(edits.leave_steps(rank, [0] if rank % 2 else [5]) for rank in range(8)))
    return case


def clock_jump(dice):
    """The clock of one host is set during the capture: nobody is to blame."""
    case = _nobody(Case(*_any(dice)))
    host, by = dice.integer(0, 1), dice.choice([-1, 1]) * dice.uniform(1e6, 2e7)
    case.edit = edits.set_clock(host, dice.uniform(0.3, 0.7), int(by))
    return case


def clock_jump_slow_rank(dice):
    case = _slow_rank(dice, _any(dice))
    case.accept, case.gain, case.cause = case.accept + [("withheld", None)], False, ()
    case.edit = edits.set_clock(dice.integer(0, 1), dice.uniform(0.3, 0.7), int(dice.uniform(1e6, 2e7)))
    return case


def clock_seconds(dice):
    case = _slow_rank(dice, _any(dice))
    case.edit = edits.set_clock(1, -1, int(dice.choice([-1, 1]) * dice.uniform(1e9, 9e10)))
    return case


def level0(dice):
    """No tasks below operators were recorded."""
    case = _slow_rank(dice, _any(dice))
    case.edit = edits.leave_tasks
    return case


def level0_healthy(dice):
    case = Case(*_any(dice), accept=[("none", None)])
    case.edit = edits.leave_tasks
    return case


def no_trace(dice):
    """Somebody threw the traces away: tables of kernels and files of communication are left."""
    case = _slow_rank(dice, dice.choice([_dp, _tpdp])(dice))
    case.form, case.drop = "text", ("trace_view.json",)
    return case


def no_trace_pp(dice):
    case = _slow_rank(dice, _pp(dice))
    case.form, case.drop, case.cause, case.gain = "text", ("trace_view.json",), (), False
    case.accept = case.accept + [("withheld", None)]  # messages do not say where they went
    return case


def sums_only(dice):
    """Only step_trace_time.csv and the files of communication are left."""
    case = _slow_rank(dice, _any(dice))
    case.form, case.drop = "text", ("trace_view.json", "kernel_details.csv", "op_statistic.csv", "api_statistic.csv")
    case.accept, case.cause, case.gain = case.accept + [("withheld", None)], (), False
    return case


def sums_only_healthy(dice):
    case = _nobody(Case(*_any(dice)))
    case.form, case.drop = "text", ("trace_view.json", "kernel_details.csv", "op_statistic.csv", "api_statistic.csv")
    return case


def one_of_many(dice):
    """One rank alone was profiled, and another is slow."""
    case = _nobody(_slow_rank(dice, _any(dice)), ("not-profiled", None))
    keep = dice.integer(0, 7)
    case.cause = ()
    case.omit = tuple(rank for rank in range(8) if rank != keep)
    case.also = {"not": keep}
    return case


def one_of_a_host(dice):
    """One rank of each host was profiled; who is slow was not."""
    layout, shape = _any(dice)
    slow = dice.choice([1, 2, 3, 5, 6, 7])
    fault = faults.slow_kernels([slow], _factor(dice))
    case = _nobody(Case(layout, shape, [fault]), ("not-profiled", None))
    case.omit = (1, 2, 3, 5, 6, 7)
    return case


def _sharded(dice, **more):
    return Layout(dp=8), Shape(
        layers=[4], batches=2, job="sharded", grads=dice.choice(["one-stream", "two"]), sync_end=dice.chance(0.7), **more,
    )


def sharded(dice):
    """Weights are gathered layer by layer while others compute (ZeRO-3, FSDP); nobody is slow."""
    return Case(*_sharded(dice), accept=[("none", None)])


def sharded_slow_rank(dice):
    return _slow_rank(dice, _sharded(dice))


def sharded_slow_host(dice):
    layout, shape = _sharded(dice)
    rank = dice.integer(0, 7)
    return Case(layout, shape, [faults.slow_host([rank], dice.uniform(9, 13))], [("rank", str(rank))], ("host",))


def recompute(dice):
    """Forward passes are computed again before the backward ones."""
    return _slow_rank(dice, _any(dice, recompute=True))


def _one_node(dice, slow):
    """Sixteen ranks on two hosts, of which one was profiled."""
    layout = dice.choice([Layout(dp=16, per_host=8), Layout(tp=4, dp=4, per_host=8), Layout(tp=8, dp=2, per_host=8)])
    fault = [faults.slow_kernels([slow], _factor(dice))] if slow is not None else []
    return Case(layout, Shape(layers=[3], steps=4, sync_end=dice.chance(0.7)), fault, omit=tuple(range(8, 16)))


def one_node(dice):
    case = _one_node(dice, None)
    case.accept = [("none", None)]
    return case


def one_node_slow_rank(dice):
    rank = dice.integer(0, 7)
    case = _one_node(dice, rank)
    case.accept, case.cause = [("rank", str(rank))], ("compute",)
    return case


def one_node_slow_elsewhere(dice):
    """Who is slow is on the host that was not profiled: nobody of the other is named."""
    case = _one_node(dice, dice.integer(8, 15))
    case.accept, case.gain = [("not-profiled", None)], False
    return case


def _no_sync(dice):
    layout, shape = Layout(dp=8), Shape(layers=[4], batches=1, steps=8, every=dice.choice([2, 4]))
    shape.sync_end = dice.chance(0.5)
    return layout, shape


def no_sync(dice):
    """Only every second or fourth step reduces gradients: the others have no communication at all."""
    return Case(*_no_sync(dice), accept=[("none", None)])


def no_sync_slow_rank(dice):
    return _slow_rank(dice, _no_sync(dice))


def no_sync_slow_host(dice):
    layout, shape = _no_sync(dice)
    rank = dice.integer(0, 7)
    return Case(layout, shape, [faults.slow_host([rank], dice.uniform(9, 13))], [("rank", str(rank))], ("host",))


def both_ways(dice):
    """Neighbouring stages have a communicator of their own, whose messages of both directions share a stream."""
    case = _slow_rank(dice, _pp(dice, "eager"))
    case.layout = Layout(pp=4, dp=2, pairs=True)
    return case


def both_ways_healthy(dice):
    layout, shape = _pp(dice, "eager")
    return Case(Layout(pp=layout.pp, dp=layout.dp, pairs=True), shape, accept=[("none", None)])


def _ring(dice):
    return Layout(dp=8, cp=dice.choice([4, 8])), Shape(layers=[3], p2p="rendezvous", sync_end=dice.chance(0.7))


def ring_attention(dice):
    """Ranks share a sequence: parts of it travel around a ring while others are computed."""
    return Case(*_ring(dice), accept=[("none", None)])


def ring_attention_slow_rank(dice):
    return _slow_rank(dice, _ring(dice))


def _serving(dice):
    """A prompt takes many times as long as the tokens that follow it; graphs are launched at once."""
    prompt, tokens = dice.uniform(4, 8), dice.uniform(0.2, 0.35)
    scales = tuple(prompt if step in (0, dice.integer(4, 6)) else tokens for step in range(10))
    return dice.choice([Layout(tp=8), Layout(tp=4)]), Shape(
        layers=[4], steps=10, job="serving", scales=scales, launch_us=0.8,
    )


def serving(dice):
    """Hosts wait for each token before they go on, so that devices are idle between steps, and that may be said."""
    return Case(*_serving(dice), accept=[("none", None), ("between", None)])


def serving_slow_rank(dice):
    return _slow_rank(dice, _serving(dice))


def slow_vector(dice):
    """Only the vector kernels of one rank are slow."""
    layout, shape = _any(dice)
    rank = dice.integer(0, 7)
    fault = faults.slow_cores([rank], "AI_VECTOR_CORE", dice.uniform(2.5, 4))
    return Case(layout, shape, [fault], [("rank", str(rank))], ("compute",))


def slow_copies(dice):
    """Activations go to the host and back in each layer, and the copies of one rank are slow."""
    layout, shape = _any(dice, offload_us=60)
    rank = dice.integer(0, 7)
    return Case(layout, shape, [faults.slow_copies([rank], dice.uniform(5, 9))], [("rank", str(rank))])


def _buckets(dice):
    """Sequences are put together by length: steps of all ranks take 0.4 to 2.5 times as long as others."""
    layout, shape = _any(dice, steps=8)
    shape.scales = tuple(round(dice.uniform(0.4, 2.5), 2) for _ in range(8))
    return layout, shape


def buckets(dice):
    return Case(*_buckets(dice), accept=[("none", None)])


def buckets_slow_rank(dice):
    return _slow_rank(dice, _buckets(dice))


def two(dice):
    """Two ranks, nobody is slow."""
    return Case(*_two(dice), accept=[("none", None)])


def two_slow_rank(dice):
    return _slow_rank(dice, _two(dice))


def two_slow_host(dice):
    layout, shape = _two(dice)
    rank = dice.integer(0, 1)
    return Case(layout, shape, [faults.slow_host([rank], dice.uniform(9, 13))], [("rank", str(rank))], ("host",))


def eager(dice):
    """No host gets ahead of its device, and one is slower than the others."""
    layout, shape = dice.choice([_dp, _tpdp])(dice, launch_us=dice.uniform(70, 110))
    rank = dice.integer(0, layout.world - 1)
    fault = faults.slow_host([rank], dice.uniform(1.4, 1.8))
    return Case(layout, shape, [fault], [("rank", str(rank)), ("host-gaps", None)], ("host", "-"), gain=False)


def slow_node(dice):
    """All ranks of a host compute longer, as when its cooling fails."""
    layout, shape = dice.choice([_dp, _tpdp])(dice)
    host = dice.integer(0, 1)
    ranks = [rank for rank in range(8) if layout.host(rank) == host]
    return Case(layout, shape, [faults.slow_kernels(ranks, _factor(dice))], [("host", f"node-{host + 11}")])


def _cut(share, file):
    def recipe(dice):
        layout, shape = dice.choice([_dp, _two, _tpdp])(dice)
        rank = dice.integer(0, layout.world - 1)
        return Case(
            layout, shape, accept=[("withheld", None), ("none", None)], gain=False, cut=(rank, share, file),
            also={"withheld": rank, "exit": 3, "text": ("withheld",)},
        )

    recipe.__doc__ = f"The {file} of one rank holds {share:.0%} of what it should."
    return recipe


def _cut_beside(share, file):
    """Another rank is slow: it must be named all the same."""

    def recipe(dice):
        layout, shape = dice.choice([_dp, _tpdp, _pp])(dice)
        slow = dice.integer(0, layout.world - 1)
        rank = dice.choice([each for each in range(layout.world) if each != slow])
        fault = faults.slow_kernels([slow], round(dice.uniform(1.25, 1.5), 3))
        # what goes through a rank that is not there, nobody can tell
        accept = [("rank", str(slow))] + ([("withheld", None)] if layout.pp > 1 else [])
        return Case(
            layout, shape, [fault], accept, (), gain=False, cut=(rank, share, file),
            also={"withheld": rank, "exit": 3, "text": ("withheld",)},
        )

    recipe.__doc__ = f"The {file} of one rank holds {share:.0%} of what it should, and another rank is slow."
    return recipe


RECIPES = (
    healthy_dp, healthy_tp_dp, healthy_pp, healthy_interleaved, healthy_zero_bubble, healthy_ep,
    slow_rank_dp, slow_rank_tp_dp, slow_rank_pp, slow_rank_3d, slow_rank_ep,
    slow_rank_interleaved, slow_rank_zero_bubble,
    slow_stage, slow_stage_interleaved, slow_stage_zero_bubble, uneven_stage,
    slow_host, slow_hosts_all, slow_link_pp, slow_link_tp,
    loader_all, idle_all, loader_one, late_first_step, gc_unaligned, heat, periodic, two_of_tp, two_kinds,
    side_straddle, event_resolution, biased_ends, biased_ends_healthy, batch_one_operator, batch_pairs,
    missing_profiled, missing_culprit, clock_skew, clock_skew_pp, clock_skew_healthy, warm_up, unrecorded,
    eval_step, eval_step_slow_rank, checkpoint_all, checkpoint_one, lengths, lengths_slow_rank, accumulation,
    mid_step_begin, fewer_steps, fewer_steps_slow_rank, other_windows, clock_jump, clock_jump_slow_rank, clock_seconds,
    level0, level0_healthy, no_trace, no_trace_pp, sums_only, sums_only_healthy, one_of_many, one_of_a_host,
    sharded, sharded_slow_rank, sharded_slow_host, recompute, one_node, one_node_slow_rank, one_node_slow_elsewhere,
    no_sync, no_sync_slow_rank, no_sync_slow_host, both_ways, both_ways_healthy, ring_attention,
    ring_attention_slow_rank, serving, serving_slow_rank, slow_vector, slow_copies, buckets, buckets_slow_rank,
    two, two_slow_rank, two_slow_host, eager, slow_node,
)
CASES = {recipe.__name__.replace("_", "-"): recipe for recipe in RECIPES}
for _file in ("csv", "trace", "db"):
    for _percent in (5, 25, 75, 95):
        CASES[f"cut-{_file}-{_percent}"] = _cut(_percent / 100, _file)
for _file in ("csv", "trace", "db"):
    for _percent in (5, 25, 75, 95):
        CASES[f"cut-beside-{_file}-{_percent}"] = _cut_beside(_percent / 100, _file)


def tiny(_):
    """For tests."""
    return Case(
        Layout(pp=2, dp=2, per_host=2), Shape(steps=3, layers=[1, 1], batches=2), [faults.slow_kernels([3], 1.5)],
        [("rank", "3")], ("compute",),
    )


ALL = {**CASES, "tiny": tiny}


def make(name, seed):
    """The case of this name and seed."""
    return ALL[name](Dice(seed, "case", name))
