# SPDX-License-Identifier: Apache-2.0
"""Measures how far apart the colours of the page are for people who see fewer of them.

    page_palette.py <page.css>

Colours that stand beside each other in a chart are seen through full protanopia, deuteranopia and
tritanopia (Machado, Oliveira, Fernandes 2009), in both schemes. Prints each pair that is closer
than a difference of 10 in CIE L*a*b*, and "checked N, closest X".
"""
import itertools
import re
import sys

NORMAL = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
SIGHT = {
    "normal": NORMAL,
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# What one chart shows side by side.
CHARTS = {
    "bars": ["compute-2", "wait", "transfer", "memcpy", "host", "other", "between"],
    "pipeline": ["compute-2", "comm", "other", "wait", "transfer", "host", "between"],
    "difference": ["other", "wait", "compute-2"],
    "repairs": ["other", "unknown", "compute-2"],
    "changes": ["down4", "up4", "panel"],
    "heat and outliers": ["h0", "h4", "h8", "bad"],
}
NAMES = {"down4": "h6"}
LEAST = 10


def linear(channel):
    channel /= 255
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def lab(colour, matrix):
    rgb = [linear(int(colour[i:i + 2], 16)) for i in (1, 3, 5)]
    r, g, b = (min(1, max(0, sum(m * c for m, c in zip(row, rgb)))) for row in matrix)
    xyz = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    f = [v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r":root \{(.*?)\}", text, re.S)
light = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[0]))
schemes = {"light": light, "dark": {**light, **dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[1]))}}
closest, checked = 1e9, 0
for (scheme, colours), (chart, names), (sight, matrix) in itertools.product(schemes.items(), CHARTS.items(), SIGHT.items()):
    for one, other in itertools.combinations(names, 2):
        distance = sum((p - q) ** 2 for p, q in zip(lab(colours[NAMES.get(one, one)], matrix), lab(colours[NAMES.get(other, other)], matrix))) ** 0.5
        checked += 1
        closest = min(closest, distance)
        if distance < LEAST:
            print(f"{scheme}, {chart}, {sight}: {one} and {other} differ by {distance:.1f}")
print(f"checked {checked}, closest {closest:.1f}")
