# SPDX-License-Identifier: Apache-2.0
"""Random draws, with the shapes seen in recorded profiles.

Large kernels repeat within 1 % (coefficient of variation 0.004-0.02), small ones spread by 5 % with a tail of
1.3-2.8 times; hosts launch every few ten microseconds with a tail of milliseconds.
"""

import math
import random


class Dice:
    """Draws of one place in the program: the same key gives the same draws, whatever happened elsewhere."""

    def __init__(self, *key):
        self.random = random.Random("/".join(map(str, key)))

    def uniform(self, low, high):
        return self.random.uniform(low, high)

    def choice(self, items):
        return self.random.choice(items)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def chance(self, share):
        return self.random.random() < share

    def lognormal(self, sigma):
        return math.exp(self.random.gauss(0, sigma))

    def kernel(self, nominal_ns):
        """Factor of a kernel's duration."""
        if nominal_ns >= 80_000:
            factor = self.lognormal(0.008)
            return factor * self.uniform(1.02, 1.08) if self.chance(0.01) else factor
        factor = self.lognormal(0.05)
        if self.chance(0.01):
            factor *= 1.2 + self.random.paretovariate(3.0) * 0.15
        return min(factor, 3.0)

    def host(self, median_ns):
        """Time of the host before a launch: log-normal, one in a hundred many times as long."""
        value = median_ns * self.lognormal(0.45)
        if self.chance(0.008):
            value += min(median_ns * 4 * self.random.paretovariate(1.6), 400_000)
        return int(value)

    def transfer(self):
        """Factor of a transfer, the same for all members."""
        factor = self.lognormal(0.02)
        return factor * self.uniform(1.05, 1.3) if self.chance(0.02) else factor

    def short(self, mean_ns):
        return int(min(self.random.expovariate(1 / mean_ns), 8 * mean_ns))
