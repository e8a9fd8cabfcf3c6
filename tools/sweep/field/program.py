# SPDX-License-Identifier: Apache-2.0
"""The program of a training job: what the host of each rank does and launches, with all draws made."""

from dataclasses import dataclass, field

from . import schedule
from .engine import COLLECTIVE, HOST, KERNEL, MEMCPY, MESSAGE, SYNC, Instance, Message, Op, Program
from .noise import Dice

MAIN, SIDE = 2, 3
STREAMS = {"default_group": 4, "tp": 5, "dp": 6, "exp": 7, "pp": 8, "cp": 9, "barrier": 20}
P2P_STREAMS = {("F", "receive"): 11, ("B", "receive"): 12, ("F", "send"): 13, ("B", "send"): 14}
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

# (type, core, microseconds, framework operator); None stands for what the parallel groups exchange there.
FORWARD = (
    ("RmsNorm", "AI_VECTOR_CORE", 26, "npu_rms_norm"), ("MatMulV3", "AI_CORE", 168, "aten::mm"),
    ("RotaryPositionEmbedding", "AI_VECTOR_CORE", 19, "npu_rotary_mul"),
    ("FlashAttentionScore", "MIX_AIC", 290, "npu_fusion_attention"),
    ("MatMulV3", "AI_CORE", 118, "aten::mm"), None, ("Add", "AI_VECTOR_CORE", 13, "aten::add"),
    ("RmsNorm", "AI_VECTOR_CORE", 26, "npu_rms_norm"), "dispatch", ("MatMulV3", "AI_CORE", 236, "aten::mm"),
    ("SwiGlu", "AI_VECTOR_CORE", 62, "npu_swiglu"), ("MatMulV2", "AI_CORE", 178, "aten::mm"), "combine", None,
    ("Add", "AI_VECTOR_CORE", 13, "aten::add"),
)
BACKWARD_INPUT = (
    ("MatMulV2", "AI_CORE", 176, "aten::mm"), ("SwiGluGrad", "AI_VECTOR_CORE", 104, "SwigluBackward"), "combine",
    ("MatMulV3", "AI_CORE", 240, "aten::mm"), None, ("RmsNormGrad", "MIX_AIV", 56, "RmsNormBackward"),
    ("Add", "AI_VECTOR_CORE", 13, "aten::add"),
    ("MatMulV3", "AI_CORE", 116, "aten::mm"), "dispatch",
    ("FlashAttentionScoreGrad", "MIX_AIC", 620, "FusionAttentionBackward"),
    ("RotaryPositionEmbeddingGrad", "AI_VECTOR_CORE", 24, "RotaryBackward"), ("MatMulV3", "AI_CORE", 166, "aten::mm"),
    None,
    ("RmsNormGrad", "MIX_AIV", 56, "RmsNormBackward"),
)
BACKWARD_WEIGHT = (
    ("MatMulV3", "AI_CORE", 182, "aten::mm"), ("MatMulV3", "AI_CORE", 238, "aten::mm"),
    ("MatMulV3", "AI_CORE", 114, "aten::mm"),
    ("MatMulV3", "AI_CORE", 164, "aten::mm"), ("Cast", "AI_VECTOR_CORE", 21, "aten::to"),
    ("Add", "AI_VECTOR_CORE", 15, "aten::add_"),
)


@dataclass
class Shape:
    """What the job computes."""

    steps: int = 5
    batches: int = 2
    layers: list = field(default_factory=lambda: [4])  # of each stage
    schedule: str = "1f1b"
    p2p: str = "rendezvous"  # eager, rendezvous, batch (one operator), pairs (two of one interval)
    grads: str = "allreduce"  # or scatter
    sync_end: bool = True
    moe: bool = False
    warm_up: float = 1.0  # factor of the first step on all ranks
    launch_us: float = 12.0
    end_bias: float = 0.04  # of a transfer: how far ends of members are apart at most, the same way each time
    recompute: bool = False  # forward passes again before the backward ones
    every: int = 1  # gradients are reduced and applied in every n-th step only
    scales: tuple = ()  # of each step: how long its kernels and transfers take
    job: str = "train"  # or another kind (jobs)
    offload_us: float = 0  # copies to the host and back in each layer
    barrier: bool = False  # a wait that nobody records, in each step between the first two micro-batches


class Builder:
    """Appends the items of one rank."""

    def __init__(self, program, shared, shape, seed, rank):
        self.program, self.shared, self.shape, self.rank = program, shared, shape, rank
        self.layout = program.layout
        self.ops = program.ranks[rank]
        self.dice = Dice(seed, "rank", rank)
        self.seed = seed
        self.chip = self.dice.lognormal(0.003)
        self.step = 0
        self.main = None
        self.part = ""
        self.joins = []
        self.groups = {role: self.layout.group(role, rank) for role in ("default_group", "tp", "dp", "exp")}
        self.layer = 0

    def _add(self, kind, **more):
        op = Op(self.rank, self.step, kind, tag=self.part, **more)
        self.ops.append(op)
        return op

    def scale(self):
        """How long this step's work takes."""
        scale = self.shape.scales[self.step % len(self.shape.scales)] if self.shape.scales else 1.0
        return scale * (self.shape.warm_up if self.step == 0 else 1.0)

    def launch(self, kind, stream, **more):
        return self._add(
            kind, stream=stream, base_pre=self.dice.host(self.shape.launch_us * 1000), api=self.dice.host(5500),
            latency=2500 + self.dice.short(1800), gap=900 + self.dice.short(500), jitter=self.dice.short(2500), **more,
        )

    def host(self, name, micros):
        return self._add(HOST, host_name=name, base_dur=self.dice.host(micros * 1000))

    def sync(self, *deps):
        return self._add(
            SYNC, host_name="aclrtSynchronizeStreamWithTimeout", base_pre=self.dice.host(9000),
            deps=tuple(d for d in deps if d),
        )

    def kernel(self, kind, core, micros, host_name, stream=MAIN, deps=()):
        micros *= self.scale()
        nominal = int(micros * 1000)
        deps = list(deps)
        if stream == MAIN:
            deps += self.joins
            self.joins = []
        op = self.launch(
            KERNEL, stream, name=f"aclnn{host_name.split('::')[-1].title().replace('_', '')}_{kind}AiCore_{kind}",
            type=kind, core=core,
            host_name=host_name, nominal=nominal, base_dur=int(nominal * self.chip * self.dice.kernel(nominal)),
            deps=tuple(dict.fromkeys(deps)),
        )
        if stream == MAIN:
            self.main = op
        return op

    def copy(self, micros):
        """A copy between device and host, in the main stream."""
        self.launch(
            MEMCPY, MAIN, name="MEMCPY_ASYNC", type="MEMCPY_ASYNC", host_name="aten::copy_",
            base_dur=int(micros * 1000 * self.dice.lognormal(0.1)),
        )

    def collective(self, role, kind, micros, megabytes, blocking=True, stream=None, recorded=True, free=False):
        """An operator on the stream of its communicator, after what the main stream has done so far unless `free`."""
        if self.shape.scales:
            micros, megabytes = micros * self.scale(), megabytes * self.scale()
        group = self.groups[role]
        if group is None:
            return None
        ordinal = self.shared["ordinal"].get((self.rank, group.name, recorded), 0)
        self.shared["ordinal"][self.rank, group.name, recorded] = ordinal + 1
        key = (group.name, ordinal, recorded)
        instance = self.shared["instances"].get(key)
        if instance is None:
            dice = Dice(self.seed, "collective", *key)
            dur = int(micros * 1000 * dice.transfer())
            place = Dice(self.seed, "bias", group.name)
            bias = [
                int(place.uniform(0, self.shape.end_bias) * micros * 1000 + place.uniform(0, 6000))
                for _ in group.members
            ]
            instance = Instance(group, ordinal, dur, bias, int(megabytes * 1_000_000) & ~511)
            self.shared["instances"][key] = instance
            self.program.instances.append(instance)
        op = self.launch(
            COLLECTIVE, stream or STREAMS[role], name=f"hcom_{kind}_", type=f"hcom_{kind}_",
            host_name=f"Hccl{kind[0].upper()}{kind[1:].lower()}",
            instance=instance, deps=(self.main,) if self.main and not free else (), recorded=recorded,
        )
        if blocking:
            self.joins.append(op)
        return op

    def message(self, kind, sends, receives, blocking=True):
        """Messages by one operator: tags (pass, batch, position, peer)."""
        messages = [self._message(tag, self.rank, peer) for tag, peer in sends] + [
            self._message(tag, peer, self.rank) for tag, peer in receives
        ]
        if not messages:
            return
        batched = self.shape.p2p in ("batch", "pairs")
        stream = STREAMS["pp"] if batched else P2P_STREAMS[
            messages and (sends or receives)[0][0][0], "send" if sends else "receive",
        ]
        name = "hcom_batchSendRecv_" if self.shape.p2p == "batch" else f"hcom_{kind}_"
        group = self.layout.group("pp", self.rank, (sends or receives)[0][1])
        if self.layout.pairs:
            stream = 30 + self.layout.place(group.members[0])[2]  # one for both directions
        op = self.launch(
            MESSAGE, stream, name=name, type=name,
            host_name="HcclBatchSendRecv" if self.shape.p2p == "batch" else f"Hccl{kind.title()}",
            messages=tuple(messages), group=group, deps=(self.main,) if self.main else (),
        )
        if blocking:
            self.joins.append(op)

    def exchange(self, role, tag):
        """Around the ring of a communicator by one operator, which nobody waits for yet."""
        group = self.layout.group(role, self.rank)
        mine, count = group.local(self.rank), len(group.members)
        follower, leader = group.members[(mine + 1) % count], group.members[(mine - 1) % count]
        return self.launch(
            MESSAGE, STREAMS[role], name="hcom_batchSendRecv_", type="hcom_batchSendRecv_",
            host_name="HcclBatchSendRecv", group=group,
            messages=(self._message(tag, self.rank, follower), self._message(tag, leader, self.rank)),
            deps=(self.main,) if self.main else (),
        )

    def _attention(self, kind, core, micros, host_name):
        """Attention over a sequence that several ranks share: a part is computed while the next one travels."""
        count = len(self.layout.group("cp", self.rank).members)
        arrived = None
        for part in range(count):
            leaving = self.exchange("cp", (kind, self.layer, part)) if part + 1 < count else None
            self.kernel(kind, core, micros / count, host_name, deps=[arrived] if arrived else [])
            arrived = leaving

    def _message(self, tag, src, dst):
        key = (self.step, tag, src, dst)
        message = self.shared["messages"].get(key)
        if message is None:
            dice = Dice(self.seed, "message", *key)
            message = Message(
                src, dst, int(210_000 * dice.transfer()), 8_388_608, self.shape.p2p == "eager",
                24_000 + dice.short(3000),
            )
            self.shared["messages"][key] = message
            self.program.messages.append(message)
        return message

    def layers(self, templates, count, side=False):
        for _ in range(count):
            self.layer += 1
            aside = None
            if self.shape.offload_us:
                self.copy(self.shape.offload_us)
            for each in templates:
                if each is None:
                    self.collective("tp", "allReduce", 130, 16.8)
                elif each in ("dispatch", "combine"):
                    if self.shape.moe:
                        self.collective("exp", "alltoallv", 160, 12.6)
                elif self.layout.cp > 1 and each[0].startswith("FlashAttention"):
                    self._attention(*each)
                else:
                    self.kernel(*each)
                    if side and aside is None and self.dice.chance(0.3):
                        aside = self.kernel(
                            "DSARandomUniform", "DSA_SQE", 31, "npu_dropout_gen_mask", SIDE, (self.main,),
                        )
            if aside is not None:
                self.joins.append(aside)


class Pipeline:
    """The passes of one rank in one step."""

    def __init__(self, builder):
        self.b = builder
        self.shape, layout = builder.shape, builder.layout
        self.tp, self.dp, self.stage = layout.place(builder.rank)
        self.stages = layout.pp
        self.chunks = 2 if self.shape.schedule == "interleaved" and self.stages > 1 else 1
        self.last = self.stages * self.chunks - 1
        self.count = max(self.shape.layers[self.stage] // self.chunks, 1)

    def peer(self, position):
        return self.b.layout.rank(self.tp, self.dp, position % self.stages)

    def run(self):
        if self.stages == 1:
            order = [each for i in range(self.shape.batches) for each in (("F", i, 0), ("B", i, 0))]
            self._separate(order)
        elif self.shape.p2p in ("batch", "pairs"):
            self._batched()
        else:
            self._separate(schedule.order(self.shape.schedule, self.stages, self.shape.batches)[self.stage])

    def compute(self, kind, position, reduce_after=False):
        b = self.b
        if kind == "F":
            if position == 0:
                b.kernel("GatherV2", "AI_VECTOR_CORE", 48, "aten::embedding")
            b.layers(FORWARD, self.count, side=True)
            return
        split = self.shape.schedule == "zero-bubble" and self.stages > 1
        for _ in range(self.count):
            if kind == "B":
                if self.shape.recompute:
                    b.layers(FORWARD, 1)
                b.layers(BACKWARD_INPUT, 1)
            if kind == "W" or not split:
                b.layers(BACKWARD_WEIGHT, 1)
            if reduce_after and b.applies:
                b.grads.append(
                    b.collective(
                        "dp", "reduceScatter" if self.shape.grads == "scatter" else "allReduce", 900, 96,
                        blocking=False,
                    )
                )

    def _separate(self, order):
        split = self.shape.schedule == "zero-bubble" and self.stages > 1
        ends = {each[2]: each for each in order if each[0] == ("W" if split else "B")}
        for each in order:
            kind, batch, chunk = each
            if self.shape.barrier and each == ("F", 1, 0):
                self._barrier()
            position = chunk * self.stages + self.stage
            if kind == "F" and position > 0:
                self.b.message("receive", [], [(("F", batch, position), self.peer(position - 1))])
            elif kind == "B" and position < self.last:
                self.b.message("receive", [], [(("B", batch, position), self.peer(position + 1))])
            self.compute(kind, position, reduce_after=ends[chunk] == each)
            if kind == "F" and position < self.last:
                self.b.message("send", [(("F", batch, position + 1), self.peer(position + 1))], [], blocking=False)
            elif kind == "B" and position > 0:
                self.b.message("send", [(("B", batch, position - 1), self.peer(position - 1))], [], blocking=False)

    def _barrier(self):
        """All ranks meet, by other means than a recorded operator; what comes before is the part 'before'."""
        gate = self.b.collective(
            "default_group", "barrier", 40, 0, blocking=False, stream=STREAMS["barrier"], recorded=False,
        )
        self.b.sync(gate)
        self.b.part = ""

    def _batched(self):
        """One forward and one backward pass in turn, with send and receive in one operator, as Megatron does."""
        stage, last, batches = self.stage, self.stages - 1, self.shape.batches
        warm = min(last - stage, batches)

        def exchange(forward_sent=None, backward_sent=None, forward_wanted=None, backward_wanted=None):
            sends, receives = [], []
            if forward_sent is not None and stage < last:
                sends.append((("F", forward_sent, stage + 1), self.peer(stage + 1)))
            if backward_sent is not None and stage > 0:
                sends.append((("B", backward_sent, stage - 1), self.peer(stage - 1)))
            if forward_wanted is not None and stage > 0:
                receives.append((("F", forward_wanted, stage), self.peer(stage - 1)))
            if backward_wanted is not None and stage < last:
                receives.append((("B", backward_wanted, stage), self.peer(stage + 1)))
            self.b.message("send" if sends else "receive", sends, receives)

        for i in range(warm):
            exchange(forward_wanted=i)
            self.compute("F", stage)
            exchange(forward_sent=i)
        if warm < batches:
            exchange(forward_wanted=warm)
        for i in range(batches - warm):
            self.compute("F", stage)
            exchange(forward_sent=warm + i, backward_wanted=i)
            self.compute("B", stage, reduce_after=i == batches - 1)
            exchange(backward_sent=i, forward_wanted=warm + i + 1 if i < batches - warm - 1 else None)
        for i in range(batches - warm, batches):
            exchange(backward_wanted=i)
            self.compute("B", stage, reduce_after=i == batches - 1)
            exchange(backward_sent=i)


def begin_step(b):
    """What every step of training begins with."""
    b.host("step-begin", 18)
    b.host(LOADER, 140)
    b.copy(18)
    b.kernel("ZerosLike", "AI_VECTOR_CORE", 90, "aten::zero_")
    b.grads = []


def apply_gradients(b):
    """The norm over all ranks, and the optimizer."""
    b.joins += [each for each in b.grads if each]
    b.kernel("L2Loss", "AI_VECTOR_CORE", 34, "npu_l2loss")
    b.kernel("Add", "AI_VECTOR_CORE", 8, "aten::add")
    b.collective("default_group", "allReduce", 28, 0.004)
    b.sync(b.kernel("Sqrt", "AI_VECTOR_CORE", 5, "aten::sqrt"))
    for _ in range(3):
        b.kernel("ApplyAdamWV2", "AI_VECTOR_CORE", 560, "npu_apply_adam_w")


def _step(b, shape):
    begin_step(b)
    b.applies = (b.step + 1) % shape.every == 0
    b.part = "before" if shape.barrier else ""
    Pipeline(b).run()
    if b.applies:
        apply_gradients(b)
        if shape.grads == "scatter" and b.groups["dp"]:
            b.collective("dp", "allGather", 700, 96)
            b.kernel("Cast", "AI_VECTOR_CORE", 60, "aten::copy_")
    if shape.sync_end:
        b.sync(b.main)
    b.host("step-end", 25)


def _sharded_step(b, shape):
    """Every rank holds a share of the weights; those of the next layer are gathered while one computes."""
    begin_step(b)
    layers = shape.layers[0]
    scatters = "dp" if shape.grads == "one-stream" else "default_group"

    def gather():
        return b.collective("dp", "allGather", 420, 64, blocking=False, free=True)

    for _ in range(shape.batches):
        for forward in (True, False):
            ready = gather()
            for layer in range(layers):
                following = gather() if layer + 1 < layers else None
                b.joins.append(ready)
                for template in (FORWARD,) if forward else (BACKWARD_INPUT, BACKWARD_WEIGHT):
                    b.layers(template, 1, side=forward)
                if not forward:
                    b.grads.append(b.collective(scatters, "reduceScatter", 450, 64, blocking=False))
                ready = following
    apply_gradients(b)
    if shape.sync_end:
        b.sync(b.main)
    b.host("step-end", 25)


def _serving_step(b, shape):
    """One forward pass over all layers: of a prompt, or of one token for each request."""
    b.host("step-begin", 18)
    b.copy(12)
    b.kernel("GatherV2", "AI_VECTOR_CORE", 48, "aten::embedding")
    b.layers(FORWARD, shape.layers[0])
    b.collective("tp", "allGather", 60, 2)
    b.sync(b.kernel("ArgMaxV2", "AI_VECTOR_CORE", 30, "aten::argmax"))
    b.host("step-end", 60)


JOBS = {"train": _step, "sharded": _sharded_step, "serving": _serving_step}


def build(layout, shape, seed):
    """The program of all ranks."""
    program = Program(layout, shape.steps)
    shared = {"instances": {}, "messages": {}, "ordinal": {}}
    for rank in range(layout.world):
        builder = Builder(program, shared, shape, seed, rank)
        builder.host("startup", Dice(seed, "startup", rank).uniform(50, 900))
        for step in range(shape.steps):
            builder.step = step
            JOBS[shape.job](builder, shape)
    return program
