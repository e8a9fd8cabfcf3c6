#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a wheel that carries the portable programs, so that pip puts them on the PATH.

	tools/wheel.py BUILD [-o DIR] [--platform manylinux_2_28_x86_64]

BUILD is a build directory of the preset portable. The wheel has no Python code: programs are scripts of its data
directory, which pip copies into bin/, and the library of npuprof-collect lies in libexec/npuprof/ beside it. The tag says which C library
they need, 2.28 at least. The same input gives the same bytes.
"""
import argparse
import base64
import hashlib
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
# pip marks programs as executable by these bits.
PROGRAM = 0o100755 << 16
FILE = 0o100644 << 16
MACHINES = {62: "x86_64", 183: "aarch64"}
# ELF: libraries, and programs that load some.
SHARED = 3
OLDEST = 28


def version():
    """That of the project in CMakeLists.txt."""
    with open(os.path.join(HERE, "..", "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(npuprof VERSION ([0-9.]+)", file.read()).group(1)


def machine(path):
    """The machine of an ELF program."""
    with open(path, "rb") as file:
        head = file.read(20)
    if head[:4] != b"\177ELF":
        sys.exit(f"wheel.py: '{path}' is no program")
    number = int.from_bytes(head[18:20], "little")
    return MACHINES.get(number) or sys.exit(f"wheel.py: '{path}' is for an unknown machine {number}")


def needed(content):
    """The minor number of the newest GNU C library 2.x whose symbols a program or library names; 0 of one without shared libraries."""
    if int.from_bytes(content[16:18], "little") != SHARED:
        return 0
    return max((int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", content)), default=0)


def check_platform(platform, members):
    """A wheel must not promise an older C library than its programs need; pip would install what cannot start."""
    promised = re.match(r"manylinux_2_(\d+)_", platform)
    for member, content, _ in members:
        if promised and needed(content) > int(promised.group(1)):
            sys.exit(f"wheel.py: {os.path.basename(member)} needs the GNU C library 2.{needed(content)}, which is more than {platform} "
                     "promises: build where the C library is older")


def digest(content):
    """As RECORD writes it."""
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main():
    """Collect the files and write them with their checksums."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("build")
    parser.add_argument("-o", "--output", default=".")
    parser.add_argument("--platform", help="the tag of the wheel [default: manylinux_2_28 of the programs' machine, or what they need of the C library]")
    options = parser.parse_args()
    programs = ["npuprof", "npuprof-collect"]
    first = os.path.join(options.build, "npuprof")
    if not os.path.exists(first):
        sys.exit(f"wheel.py: there is no '{first}'; build the preset portable")
    name = f"npuprof-{version()}"
    with open(os.path.join(HERE, "..", "README.md"), encoding="utf-8") as file:
        about = file.read()
    with open(os.path.join(HERE, "..", "LICENSE"), "rb") as file:
        licence = file.read()

    members = []
    for program in programs:
        path = os.path.join(options.build, program)
        if os.path.exists(path):
            with open(path, "rb") as file:
                members.append((f"{name}.data/scripts/{program}", file.read(), PROGRAM))
    path = os.path.join(options.build, "libnpuprof_inject.so")
    if os.path.exists(path):
        # Beside bin/, where the program looks; not in lib/, which `pip install --target` leaves out.
        with open(path, "rb") as file:
            members.append((f"{name}.data/data/libexec/npuprof/libnpuprof_inject.so", file.read(), PROGRAM))
    newest = max([OLDEST] + [needed(content) for _, content, _ in members])
    platform = options.platform or f"manylinux_2_{newest}_{machine(first)}"
    check_platform(platform, members)
    tag = "py3-none-" + platform
    info = f"{name}.dist-info"
    members += [
        (f"{info}/LICENSE", licence, FILE),
        (f"{info}/METADATA",
         (f"Metadata-Version: 2.1\nName: npuprof\nVersion: {version()}\n"
          "Summary: Where the step time of an Ascend NPU cluster goes, and who made whom wait\n"
          "License: Apache-2.0\nRequires-Python: >=3.6\nDescription-Content-Type: text/markdown\n\n" + about).encode(), FILE),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: npuprof tools/wheel.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
         FILE),
    ]
    record = "".join(f"{member},{digest(content)},{len(content)}\n" for member, content, _ in members)
    members.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), FILE))

    os.makedirs(options.output, exist_ok=True)
    target = os.path.join(options.output, f"{name}-{tag}.whl")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, content, mode in members:
            entry = zipfile.ZipInfo(member, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = mode
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(target)


if __name__ == "__main__":
    main()
