# SPDX-License-Identifier: Apache-2.0
# A second model of torch_npu's caching allocator, after its documentation and slow on purpose: it records what it does as a
# snapshot, so that tests know what the replay of npuprof has to come to under any settings.
import pickle

MiB, GiB = 1 << 20, 1 << 30
up = lambda n, unit: -(-n // unit) * unit


class Block:
    def __init__(self, segment, at, size):
        self.segment, self.at, self.size, self.state, self.age, self.requested, self.frames = segment, at, size, "free", 0, 0, []


class Segment:
    """A driver allocation, or a virtual range of which blocks may be unmapped."""

    def __init__(self, key, at, size, expandable):
        self.key, self.at, self.expandable = key, at, expandable
        self.blocks = [Block(self, at, size)]
        if expandable: self.blocks[0].state = "unmapped"


class OutOfMemory(Exception):
    pass


class Allocator:
    def __init__(self, expandable=False, max_split=0, non_split=20, large=20, divisions=0, gc=0.0, cap=0, pad=32, align=16, page_1g=False,
                 page=0, device=0, base=0x120000000000):
        self.expandable, self.max_split, self.non_split, self.large = expandable, max_split * MiB or 1 << 62, non_split * MiB, large * MiB
        self.divisions, self.gc, self.cap, self.pad, self.align, self.page_1g = divisions, gc, cap, pad, align * 1024, page_1g
        self.page, self.device = page * MiB, device
        self.segments, self.events, self.next, self.live, self.pending, self.given_up = [], [], base, {}, [], set()
        self.curve = []
        self.reserved = self.allocated = self.peak_reserved = self.peak_allocated = self.grown = 0

    # --- what is recorded
    def note(self, action, at, size, key, frames=()):
        self.events.append({"action": action, "device_free" if action == "oom" else "addr": at, "size": size, "stream": key[1],
                            "frames": list(frames), "pool_id": key[2]})
        self.curve.append(self.allocated)
        self.peak_reserved, self.peak_allocated = max(self.peak_reserved, self.reserved), max(self.peak_allocated, self.allocated)

    def rounded(self, n):
        n += self.pad
        if n < 512: return 512
        if self.divisions > 1 and n > 512 * self.divisions:
            power = 1 << n.bit_length() - 1
            return n if n == power else up(n, power // self.divisions)
        return up(n, 512)

    def free_blocks(self, key):
        found = [b for s in self.segments if s.key == key and s.expandable == self.expandable for b in s.blocks if b.state == "free"]
        return sorted(found, key=lambda b: (b.size, b.at))

    def neighbour(self, block, step):
        i = block.segment.blocks.index(block) + step
        return block.segment.blocks[i] if 0 <= i < len(block.segment.blocks) else None

    def potential(self, block):
        after = self.neighbour(block, 1)
        return block.size + (after.size if after and after.state == "unmapped" else 0)

    def best_fit(self, n, key):
        if self.gc:
            for s in self.segments:
                for b in s.blocks:
                    if s.key[0] == key[0] and s.key[2] == key[2] and b.state == "free": b.age += 1
        fits = [b for b in self.free_blocks(key) if b.size >= n]
        if not fits: return None
        i = 0
        while self.expandable and i + 1 < len(fits) and self.potential(fits[i + 1]) < self.potential(fits[i]): i += 1
        b = fits[i]
        if n < self.max_split <= b.size or (n >= self.max_split and b.size >= n + self.non_split): return None
        return b

    def cut(self, block, size):
        rest = Block(block.segment, block.at + size, block.size - size)
        rest.state = block.state
        block.size = size
        block.segment.blocks.insert(block.segment.blocks.index(block) + 1, rest)
        return rest

    def merge(self, block):
        for step in (1, -1):
            other = self.neighbour(block, step)
            if other and other.state == block.state:
                first, second = (block, other) if step > 0 else (other, block)
                first.size += second.size
                first.segment.blocks.remove(second)
                first.age = block.age
                block = first
        return block

    # --- memory of the driver
    def page_of(self, key):
        if key[0]: return 2 * MiB
        return GiB if self.page_1g else self.page or self.large

    def allowed(self, size):
        return not self.cap or self.reserved + size <= self.cap

    def map_pages(self, block, n, key):
        size = min(up(n, self.page_of(key)), block.size)
        if not self.allowed(size): return None
        if size < block.size: self.cut(block, size)
        block.state = "free"
        self.reserved += size
        self.grown += 1
        self.note("segment_map", block.at, size, key)
        return self.merge(block)

    def grow(self, n, key):
        if not self.expandable:
            size = 2 * MiB if key[0] else up(n, GiB) if self.page_1g else self.large if n < 10 * MiB else up(n, 2 * MiB)
            if not self.allowed(size): return None
            s = Segment(key, self.next, size, False)
            self.next += up(size, 512 * MiB) + 512 * MiB
            self.segments.append(s)
            self.reserved += size
            self.grown += 1
            self.note("segment_alloc", s.at, size, key)
            return s.blocks[0]
        start = None
        for b in sorted((b for s in self.segments if s.key == key and s.expandable for b in s.blocks if b.state == "unmapped"), key=lambda b: b.at):
            before = self.neighbour(b, -1)
            start = before if before and before.state == "free" else b
            run, at = 0, start
            while at and at.state in ("free", "unmapped") and run < n:
                run += at.size
                at = self.neighbour(at, 1)
            if run >= n: break
            start = None
        if not start:
            s = Segment(key, self.next, 72 * GiB, True)
            self.next += 80 * GiB
            self.segments.append(s)
            start = s.blocks[0]
        if start.state == "unmapped":
            start = self.map_pages(start, n, key)
        while start and start.size < n:
            start = self.map_pages(self.neighbour(start, 1), n - start.size, key)
        return start

    def release_block(self, b, frames=()):
        """What of a free block the driver can get back."""
        if b.segment.expandable:
            page = self.page_of(b.segment.key)
            begin, end = up(b.at - b.segment.at, page) + b.segment.at, (b.at + b.size - b.segment.at) // page * page + b.segment.at
            if begin >= end: return
            if begin > b.at: b = self.cut(b, begin - b.at)
            if end < b.at + b.size: self.cut(b, end - b.at)
            b.state = "unmapped"
            self.reserved -= b.size
            self.note("segment_unmap", b.at, b.size, b.segment.key, frames)
            if len(self.merge(b).segment.blocks) == 1: self.segments.remove(b.segment)
        elif len(b.segment.blocks) == 1:
            self.segments.remove(b.segment)
            self.reserved -= b.size
            self.note("segment_free", b.at, b.size, b.segment.key, frames)

    def empty_cache(self, frames=({"name": "empty_cache", "filename": "/usr/lib/python3/site-packages/torch_npu/npu/memory.py", "line": 1},)):
        # Pools of graphs keep what they have until nobody uses them, and give the small blocks back first.
        cached = [b for s in self.segments for b in s.blocks if b.state == "free" and s.key[2] in {(0, 0)} | self.given_up]
        for b in sorted(cached, key=lambda b: (b.segment.key[2], b.segment.key[0] == (b.segment.key[2] == (0, 0)), b.segment.key[1], b.size, b.at)):
            self.release_block(b, frames)

    def collect(self):
        most = int(self.gc * self.cap)
        target = self.reserved - most
        if target <= 0: return
        old = [b for s in self.segments if not s.key[0] and s.key[2] == (0, 0) for b in s.blocks if b.state == "free" and len(s.blocks) == 1]
        old.sort(key=lambda b: (b.segment.key[1], b.size, b.at))
        gone = 0
        while old and gone < target:
            mean = sum(b.age for b in old) / len(old)
            taken = [b for b in old if b.age >= mean]
            if not taken: break
            for b in taken:
                gone += b.size
                old.remove(b)
                self.release_block(b)

    def release_some(self, n, key):
        """Blocks beyond max_split of this stream: the smallest that is enough, else the largest first."""
        if self.max_split >= 1 << 62: return False
        want = max(n, self.max_split)
        blocks = [b for b in self.free_blocks(key) if len(b.segment.blocks) == 1]
        enough = [b for b in blocks if b.size >= want]
        if enough:
            self.release_block(enough[0])
            return True
        gone = 0
        for b in reversed([b for b in blocks if b.size >= self.max_split]):
            if gone >= want: break
            gone += b.size
            self.release_block(b)
        return gone >= want

    # --- requests
    def alloc(self, requested, stream=5, frames=(), pool=(0, 0)):
        n = self.rounded(requested)
        key = (n <= MiB, stream, pool)
        b = self.best_fit(n, key)
        if not b:
            if self.gc and self.cap: self.collect()
            b = self.grow(n, key)
            if not b and self.release_some(n, key): b = self.grow(n, key)
            if not b:
                self.finish()
                self.empty_cache(frames)
                b = self.grow(n, key)
            if not b:
                self.note("oom", self.cap - self.reserved, n, key, frames)
                raise OutOfMemory(n)
        if self.expandable and n >= 2 * MiB and self.align and b.at % self.align:
            skip = self.align - b.at % self.align
            if b.size >= skip + n: b = self.cut(b, skip)
        rest = b.size - n
        if rest >= 512 if key[0] or self.expandable else n < self.max_split and rest > MiB: self.cut(b, n)
        b.state, b.requested, b.frames, b.age = "used", requested, list(frames), 0
        self.allocated += b.size
        self.live[b.at] = b
        self.note("alloc", b.at, requested, key, frames)
        return b.at

    def free(self, at, frames=(), later=False):
        b = self.live.pop(at)
        self.allocated -= b.size
        self.note("free_requested", at, b.requested, b.segment.key, frames)
        b.state = "pending"
        self.pending.append(b)
        if not later: self.finish()

    def finish(self):
        """Other streams have done with what was freed."""
        for b in self.pending:
            self.note("free_completed", b.at, b.requested, b.segment.key)
            b.state, b.age = "free", 0
            self.merge(b)
        self.pending = []

    # --- the file
    def snapshot_segments(self):
        result = []
        for s in sorted(self.segments, key=lambda s: s.at):
            run = []
            for b in s.blocks + [None]:
                if b and b.state != "unmapped":
                    run.append(b)
                    continue
                if run:
                    used = [x for x in run if x.state == "used"]
                    states = {"used": "active_allocated", "pending": "active_pending_free", "free": "inactive"}
                    result.append({"device": self.device, "address": run[0].at, "total_size": sum(x.size for x in run), "stream": s.key[1],
                                   "allocated_size": sum(x.size for x in used),
                                   "active_size": sum(x.size for x in run if x.state != "free"),
                                   "requested_size": sum(x.requested for x in used), "segment_type": "small" if s.key[0] else "large",
                                   "segment_pool_id": s.key[2], "is_expandable": s.expandable, "frames": [],
                                   "blocks": [{"address": x.at, "size": x.size, "requested_size": x.requested,
                                               "state": states[x.state], "frames": x.frames} for x in run]})
                run = []
        return result

    def write(self, path, drop=0, pools=True, **more):
        """`drop` events of the beginning are left out, as where recording began late, and without `pools` what older versions lack."""
        events = [{key: e[key] for key in e if pools or key != "pool_id"} for e in self.events[drop:]]
        with open(path, "wb") as f:
            pickle.dump({"segments": self.snapshot_segments(), "device_traces": [[]] * self.device + [events], **more}, f, 4)
