#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# All ranks on one clock in one file: what is in it sums to what the analysis says.
. "$(dirname "$0")/lib.sh"
need_program python3

run "$synth" -q -o "$work/run" --ranks 4 --tp 2 --pp 2 --dp 1 --hosts 2 --steps 3 --layers 2 --slow-rank 3:1.5 \
	--clock-skew host1:3ms:20 --memory
"$npuprof" cluster -q -d "$work/run" -o "$work/out" -f json >"$work/cluster.json"

behaviour 'it goes where -o says, and its size is foretold'
before=$(snapshot "$work/run")
run "$npuprof" timeline -d "$work/run" -o "$work/t.json"
expect_exit 0
expect_equal "$(cat "$work/stdout")" "$work/t.json"
expect_stderr_has '4 of 4 ranks, about '
expect_equal "$(snapshot "$work/run")" "$before"

behaviour 'slices of a track follow each other; their sums are those of the analysis, to the nanosecond'
cat >"$work/sums.py" <<'EOF'
import collections, json, sys
events = json.load(open(sys.argv[1]))
cluster = json.load(open(sys.argv[2]))
slices = [e for e in events if e["ph"] == "X"]
tracks = collections.defaultdict(list)
for e in slices:
    tracks[e["pid"], e["tid"]].append((round(e["ts"] * 1000), e["args"]["dur_ns"]))
overlaps = 0
for track in tracks.values():
    end = None
    for begin, length in sorted(track):
        overlaps += end is not None and begin < end
        end = begin + length
print("overlaps", overlaps)
def total(category):
    return sum(e["args"]["dur_ns"] for e in slices if e["cat"] == category)
steps = [rank for step in cluster["steps"] for rank in step["ranks"]]
sums = [s for c in cluster["communicators"] for s in c["steps"]]
print("span", total("step") - sum(r["span_ns"] for r in steps))
print("wait", total("wait") - sum(s["wait_ns"] for s in sums))
print("transfer", total("transfer") - sum(s["transit_ns"] for s in sums))
print("idle", total("idle") - sum(r["free_ns"] + (r["between_ns"] or 0) for r in steps))
leaves = collections.Counter()
for r in steps:
    for part in r["partition"]:
        if part["leaf"].split("/")[0] in ("free", "between", "memcpy"):
            leaves[part["leaf"]] += part["ns"]
drawn = collections.Counter()
for e in slices:
    if e["cat"] == "idle":
        drawn[e["name"]] += e["args"]["dur_ns"]
print("causes", drawn == leaves)
# Arrows join slices that are there.
begins = {(e["pid"], e["tid"], e["ts"]) for e in slices}
ends = [e for e in events if e["ph"] in "sf"]
print("arrows", len(ends) > 0, all((e["pid"], e["tid"], e["ts"]) in begins for e in ends),
      sorted(e["id"] for e in ends if e["ph"] == "s") == sorted(e["id"] for e in ends if e["ph"] == "f"))
names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
print("names", sum("rank 3" in n and "host1" in n and "pp1" in n for n in names), any("critical path" in n for n in names))
about = next(e for e in slices if e["cat"] == "about")["args"]
print("about", about["base_ns"] > 0, about["clock"])
EOF
run python3 "$work/sums.py" "$work/t.json" "$work/cluster.json"
expect_stdout <<'EOF'
overlaps 0
span 0
wait 0
transfer 0
idle 0
causes True
arrows True True True
names 1 True
about True collectives
EOF

behaviour 'compressed it is the same, and the same for any number of threads'
run "$npuprof" timeline -q -j 3 -d "$work/run" -o "$work/t.json.gz"
expect_exit 0
expect_equal "$(gzip -dc "$work/t.json.gz" | sha256sum)" "$(sha256sum <"$work/t.json")"
run "$npuprof" timeline -q -j 1 -d "$work/run" -o -
expect_equal "$(sha256sum <"$work/stdout")" "$(sha256sum <"$work/t.json")"

behaviour 'the protobuf has the same slices at the same times, in less than a fifth of the bytes'
run "$npuprof" timeline -q -d "$work/run" -o "$work/t.pftrace"
expect_exit 0
expect_equal "$(($(stat -c %s "$work/t.pftrace") * 5 < $(stat -c %s "$work/t.json")))" 1
run "$npuprof" timeline -q -d "$work/run" -o "$work/t.pftrace.gz"
expect_exit 0
gzip -dc "$work/t.pftrace.gz" >"$work/plain.pftrace"
# The file is bundles of compressed packets, each below what the format allows; together they are the plain ones.
cat >"$work/unpack.py" <<'EOF'
import sys, zlib
def number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
data, at, bundles, largest = open(sys.argv[1], "rb").read(), 0, [], 0
while at < len(data):
    begin = at
    for field in (1, 50):
        tag, at = number(data, at)
        assert tag == field << 3 | 2, tag
        length, at = number(data, at)
    bundles.append(zlib.decompress(data[at:at + length]))
    at += length
    largest = max(largest, at - begin)
open(sys.argv[2], "wb").write(b"".join(bundles))
print(len(bundles) > 1, largest < 512 * 1000)
EOF
run python3 "$work/unpack.py" "$work/t.pftrace" "$work/unpacked.pftrace"
expect_equal "$(cat "$work/stdout")" 'True True'
expect_equal "$(sha256sum <"$work/unpacked.pftrace")" "$(sha256sum <"$work/plain.pftrace")"
cat >"$work/proto.py" <<'EOF'
import json, re, sys
text = open(sys.argv[1]).read()
events = json.load(open(sys.argv[2]))
number = lambda packet, name: int(re.search(rf"^ *{name}: (\d+)", packet, re.M).group(1))
clock, names, track, open_slices, slices, begins, ends, parents, named = {}, {}, {}, {}, [], [], [], set(), set()
described = True
for packet in re.split(r"^packet \{$", text, flags=re.M)[1:]:
    sequence = number(packet, "trusted_packet_sequence_id")
    if "track_descriptor" in packet:
        uuid = number(packet, "uuid")
        named.add(uuid)
        if "parent_uuid" in packet:
            parents.add(number(packet, "parent_uuid"))
        continue
    if "clock_snapshot" in packet:
        # A sequence begins with its state cleared, its own incremental clock and its track.
        described &= sequence not in clock and number(packet, "sequence_flags") == 1 and "is_incremental: true" in packet
        described &= number(packet, "timestamp_clock_id") == 64
        clock[sequence], names[sequence], track[sequence] = 0, {}, number(packet, "track_uuid")
        continue
    for iid, name in re.findall(r"event_names \{\s*iid: (\d+)\s*name: \"(.*?)\"", packet):
        names[sequence][iid] = name
    described &= number(packet, "sequence_flags") == 2 and track[sequence] in named
    clock[sequence] += number(packet, "timestamp")
    if "TYPE_SLICE_BEGIN" in packet:
        open_slices[sequence] = (names[sequence][re.search(r"^    name_iid: (\d+)", packet, re.M).group(1)], clock[sequence])
        begins += re.findall(r"  flow_ids: (\d+)", packet)
        ends += re.findall(r"terminating_flow_ids: (\d+)", packet)
    elif "TYPE_SLICE_END" in packet:
        name, begin = open_slices.pop(sequence)
        slices.append((track[sequence] >> 20, track[sequence] & 0xfffff, begin, clock[sequence] - begin, name))
expected = [(e["pid"], e["tid"], max(0, round(e["ts"] * 1000)), e["args"]["dur_ns"]) for e in events if e["ph"] == "X"]
print("slices", sorted(s[:4] for s in slices) == sorted(expected), len(slices) > 100)
print("names", {s[4] for s in slices if s[4].isascii()} >= {e["name"] for e in events if e["ph"] == "X" and e["cat"] == "compute"})
print("state", described, not open_slices, parents <= named)
print("flows", sorted(begins) == sorted(ends) and len(ends) > 0)
EOF
if command -v protoc >/dev/null; then
	protoc --decode perfetto.protos.Trace -I "$NPUPROF_SOURCE/tests/cli" perfetto.proto <"$work/t.pftrace" >"$work/bundles.txt"
	expect_equal "$(grep -c '^  compressed_packets: ' "$work/bundles.txt")" "$(grep -c '^packet {' "$work/bundles.txt")"
	protoc --decode perfetto.protos.Trace -I "$NPUPROF_SOURCE/tests/cli" perfetto.proto <"$work/unpacked.pftrace" >"$work/t.txt"
	# Fields that the schema does not know would be decoded as numbers.
	expect_equal "$(grep -cE '^ *[0-9]+[:{ ]' "$work/t.txt")" 0
	run python3 "$work/proto.py" "$work/t.txt" "$work/t.json"
	expect_stdout <<'EOF'
slices True True
names True
state True True True
flows True
EOF
fi

behaviour 'a slice has the culprit, a peer of it and who waited, in one step'
run "$npuprof" timeline -d "$work/run" --slice -o "$work/slice.json"
expect_exit 0
expect_stderr_has '(a slice; --whole writes all)'
cat >"$work/slice.py" <<'EOF'
import json, sys
events = json.load(open(sys.argv[1]))
print(any("rank 3" in e["args"]["name"] for e in events if e["name"] == "process_name"),
      len({e["args"]["step"] for e in events if e.get("cat") == "step"}))
EOF
run python3 "$work/slice.py" "$work/slice.json"
expect_equal "$(cat "$work/stdout")" 'True 1'

behaviour 'launches of the host are there when asked for, and hosts have no names when not'
run "$npuprof" timeline -q -d "$work/run" --host -o "$work/host.json"
expect_equal "$(($(grep -c '"cat":"host"' "$work/host.json") > 0))" 1
run "$npuprof" timeline -q -d "$work/run" --anonymize -o "$work/anonymous.json"
expect_equal "$(grep -c 'host[01]' "$work/anonymous.json")" 0
run "$npuprof" timeline -q -d "$work/run" --anonymize -o "$work/anonymous.pftrace.gz"
expect_equal "$(gzip -dc "$work/anonymous.pftrace.gz" | grep -acE "host[01]|$work")" 0

behaviour 'what a summary cannot show is said, and idle time is not put where it was not'
run "$npuprof" cluster -q -d "$work/run" -o "$work/out" --cache "$work/summaries"
mv "$work/run" "$work/elsewhere"
run "$npuprof" timeline -d "$work/summaries" --from-summaries -o "$work/summary.json"
expect_exit 3
expect_stderr_has 'the profiles of 4 ranks are not here, only their summaries: they have steps and communication, but no kernels'
expect_equal "$(grep -c '"cat":"compute"' "$work/summary.json")" 0
expect_equal "$(grep -c '"name":"free/' "$work/summary.json")" "$(grep '"name":"free/' "$work/summary.json" | grep -c '"cat":"path"')"
expect_equal "$(($(grep -c '"cat":"wait"' "$work/summary.json") > 0))" 1
run "$npuprof" report -q -d "$work/summaries" --from-summaries -o "$work/summary.html"
expect_exit 3
expect_equal "$(grep -c 'findings about single kernels, calls and links, and the frequency, are missing' "$work/summary.html")" 1
mv "$work/elsewhere" "$work/run"

behaviour 'a rank whose clock cannot be related to the others is left out and listed'
run "$synth" -q -o "$work/alone" --ranks 4 --steps 2 --layers 1 --drop-ops 3:100000
run "$npuprof" timeline -d "$work/alone" -o "$work/alone.json"
expect_exit 3
expect_stderr_has '_ascend_pt: timeline: its clock is not known: it shares no operator with the others'
expect_equal "$(grep -c '"name":"rank [0-2]' "$work/alone.json") $(grep -c '"name":"rank 3' "$work/alone.json")" '3 0'

behaviour 'what cannot be written, or meant, is one line'
run "$npuprof" timeline -d "$work/run" -o "$work/t.xml"
expect_exit 2
expect_stderr_has 'a timeline is a .json or a .pftrace'
run "$npuprof" timeline -d "$work/run" --slice --whole
expect_exit 2
run "$npuprof" timeline -d "$work/run" -o /no/such/place/t.json
expect_exit 1
