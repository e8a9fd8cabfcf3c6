# SPDX-License-Identifier: Apache-2.0
"""The ranks of a job, where they run, and their communicators."""

from dataclasses import dataclass, field
from functools import cached_property


@dataclass
class Group:
    """A communicator."""

    name: str
    role: str
    members: tuple

    def local(self, rank):
        return self.members.index(rank)

    @cached_property
    def hash(self):
        """The decimal hash by which other files know it."""
        low = high = 0
        for char in self.name.encode():
            high = (high * 29 + char) & 0xFFFFFFFF
            low = (low * 131 + char) & 0xFFFFFFFF
        return high << 32 | low


@dataclass
class Layout:
    """Sizes of the job; rank = tp + TP * (dp + DP * pp), the order of Megatron."""

    tp: int = 1
    dp: int = 1
    pp: int = 1
    ep: int = 1
    cp: int = 1  # neighbours among data parallel ranks share a sequence
    pairs: bool = False  # neighbouring stages have a communicator of their own
    per_host: int = 4
    groups: dict = field(default_factory=dict)

    def __post_init__(self):
        self.world = self.tp * self.dp * self.pp
        everyone = tuple(range(self.world))
        self._add("default_group", everyone)
        for rank in everyone:
            tp, dp, pp = self.place(rank)
            self._add("tp", tuple(self.rank(i, dp, pp) for i in range(self.tp)))
            self._add("dp", tuple(self.rank(tp, i, pp) for i in range(self.dp)))
            if self.pairs:
                for i in range(self.pp - 1):
                    self._add("pp", (self.rank(tp, dp, i), self.rank(tp, dp, i + 1)))
            else:
                self._add("pp", tuple(self.rank(tp, dp, i) for i in range(self.pp)))
            for role, size in (("exp", self.ep), ("cp", self.cp)):
                if size > 1:
                    first = dp // size * size
                    self._add(role, tuple(self.rank(tp, first + i, pp) for i in range(size)))

    def _add(self, role, members):
        if len(members) > 1 and (role, members) not in self.groups:
            number = len(self.groups)
            address = f"172.16.0.{11 + members[0] // self.per_host}"
            name = f"{address}%enp67s0f5_60000_{number}_{1764240011402113 + 7919 * number}"
            self.groups[role, members] = Group(name, role, members)

    def rank(self, tp, dp, pp):
        return tp + self.tp * (dp + self.dp * pp)

    def place(self, rank):
        return rank % self.tp, rank // self.tp % self.dp, rank // (self.tp * self.dp)

    def host(self, rank):
        return rank // self.per_host

    def group(self, role, *ranks):
        """The communicator of this role that these ranks are in, or None."""
        for (kind, members), group in self.groups.items():
            if kind == role and all(rank in members for rank in ranks):
                return group
        return None
