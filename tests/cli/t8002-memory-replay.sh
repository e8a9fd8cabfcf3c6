#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Memory under other settings of the allocator: the recording is reproduced, then others are foretold.
. "$(dirname "$0")/lib.sh"
need_program python3

# of <expression over r>: of the first rank in the JSON on stdout
of() {
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))["ranks"][0]
p = r["replay"]
print(eval(sys.argv[2]))' "$work/stdout" "$1"
}

# what: settings, peak reserved, end reserved, driver calls of each that was foretold
what() {
	python3 -c 'import json, sys
for w in json.load(open(sys.argv[1]))["ranks"][0]["replay"]["what_if"]:
    print(w["settings"], w["peak_reserved_bytes"], w["end_reserved_bytes"], w["driver_calls"])' "$work/stdout"
}

# make <file> <python>: a snapshot of what `alloc`, `free` and `segment` were told
make() {
	python3 - "$1" "$2" <<'PYTHON'
import pickle, sys
MiB, base, events, segments = 1 << 20, 0x120000000000, [], {}
event = lambda action, addr, size: events.append({"action": action, "addr": addr, "size": size, "stream": 5, "frames": []})
def segment(address, size):
    event("segment_alloc", base + address, size)
    segments[base + address] = size
def alloc(address, size): event("alloc", base + address, size - 32)
def free(address, size):
    event("free_requested", base + address, size - 32)
    event("free_completed", base + address, size - 32)
exec(sys.argv[2])
d = {"segments": [{"device": 0, "address": a, "total_size": s, "stream": 5, "segment_type": "large", "segment_pool_id": (0, 0),
                   "is_expandable": any(e["action"] == "segment_map" for e in events), "frames": [],
                   "blocks": [{"address": a, "size": s, "requested_size": 0, "state": "inactive", "frames": []}]}
                  for a, s in segments.items()], "device_traces": [events]}
pickle.dump(d, open(sys.argv[1], "wb"), 4)
PYTHON
}

# Four segments that are free and yet too small for what follows.
make "$work/pieces_rank0.pickle" '
for i in range(4):
    segment(i * 64 * MiB, 12 * MiB); alloc(i * 64 * MiB, 12 * MiB)
for i in range(4): free(i * 64 * MiB, 12 * MiB)
segment(512 * MiB, 40 * MiB); alloc(512 * MiB, 40 * MiB); free(512 * MiB, 40 * MiB)'

behaviour 'pieces that do not fit together do so in expandable segments'
run "$npuprof" memory -f json --with expandable_segments:True "$work/pieces_rank0.pickle"
expect_exit 0
expect_equal "$(of '[p[k] for k in ("settings", "exact", "segment_events", "segment_events_equal", "blocks_equal")]')" \
	"['default', True, 5, 5, 5]"
expect_equal "$(of '[p["what_if"][0][k] for k in ("peak_reserved_bytes", "gain_bytes", "error_bytes", "approximate")]')" \
	'[62914560, 29360128, 0, False]'
run "$npuprof" memory --with expandable_segments:True "$work/pieces_rank0.pickle"
expect_stdout_says '5 of 5 segment events' 'lowest peak reserved: 62.9 MB with expandable_segments:True, saves 29.4 MB'

behaviour 'settings that are not the usual ones are found'
make "$work/wide_rank0.pickle" '
segment(0, 64 * MiB)
for i in range(6): alloc(i * 8 * MiB, 8 * MiB)
for i in range(6): free(i * 8 * MiB, 8 * MiB)'
run "$npuprof" memory -f json --with large_segment_size_mb:20 "$work/wide_rank0.pickle"
expect_equal "$(of '[p["settings"], p["exact"]]')" "['large_segment_size_mb:64', True]"
expect_equal "$(what)" 'default 62914560 62914560 3'

behaviour 'pages are mapped and given back as recorded, counted from where their segment begins'
make "$work/pages_rank0.pickle" '
page = 20 * MiB
take = lambda action, address, size: event(action, base + address, size)
take("segment_map", 0, page); alloc(0, 12 * MiB)
take("segment_map", page, page); alloc(12 * MiB, 12 * MiB); alloc(24 * MiB, 12 * MiB)
take("segment_map", 2 * page, page); alloc(36 * MiB, 12 * MiB)
for i in (1, 2, 3): free(i * 12 * MiB, 12 * MiB)
take("segment_unmap", page, 2 * page)
take("segment_map", page, page); alloc(12 * MiB, 20 * MiB); free(12 * MiB, 20 * MiB); free(0, 12 * MiB)
segments[base] = 2 * page'
run "$npuprof" memory -f json --at 12 --with expandable_segments:False "$work/pages_rank0.pickle"
expect_equal "$(of '[r["inconsistent_events"], r["at"]["free_bytes"], r["at"]["stuck_bytes"]]')" '[0, 50331648, 8388608]'
expect_equal "$(of '[p[k] for k in ("settings", "exact", "segment_events", "segment_events_equal", "blocks", "blocks_equal")]')" \
	"['expandable_segments:True', True, 5, 5, 5, 5]"
expect_equal "$(what)" 'default 50331648 33554432 5'

behaviour 'pages from before the record stay where they were; without pages the beginning is made anew'
make "$work/late_rank0.pickle" '
page = 20 * MiB
take = lambda action, address, size: event(action, base + address, size)
for i in (1, 2, 3): free(i * 12 * MiB, 12 * MiB)
take("segment_unmap", page, 2 * page)
take("segment_map", page, page); alloc(12 * MiB, 20 * MiB); free(12 * MiB, 20 * MiB); free(0, 12 * MiB)
segments[base] = 2 * page'
run "$npuprof" memory -f json --with expandable_segments:False --with expandable_segments:True "$work/late_rank0.pickle"
expect_equal "$(of '[p[k] for k in ("exact", "segment_events", "segment_events_equal", "blocks", "blocks_equal")]')" \
	'[True, 2, 2, 1, 1]'
expect_equal "$(of '[(w["peak_reserved_bytes"], w["approximate"]) for w in p["what_if"]]')" '[(50331648, True), (62914560, False)]'

behaviour 'a record that no settings explain says so, and gains within its error are withheld'
make "$work/odd_rank0.pickle" '
segment(0, 46 * MiB); alloc(0, 12 * MiB)
segment(128 * MiB, 12 * MiB); alloc(128 * MiB, 12 * MiB)
free(0, 12 * MiB); free(128 * MiB, 12 * MiB)'
run "$npuprof" memory -f json --with expandable_segments:True "$work/odd_rank0.pickle"
expect_exit 0
expect_equal "$(of '[p["exact"], p["segment_events_equal"], p["reserved_deviation_bytes"]]')" '[False, 1, 35651584]'
expect_equal "$(of '[p["what_if"][0][k] for k in ("peak_reserved_bytes", "gain_bytes", "error_bytes")]')" \
	'[41943040, None, 35651584]'
run "$npuprof" memory --with expandable_segments:True "$work/odd_rank0.pickle"
expect_stdout_says 'none of the other settings would lower the peak for sure' 'within the error'

behaviour 'a gate judges what was recorded, or what is foretold'
run "$npuprof" memory --fail-on 'reserved>80MB' "$work/pieces_rank0.pickle"
expect_exit 4
expect_stderr_has 'reserved>80MB in 1 of 1'
run "$npuprof" memory --fail-on 'reserved>88MiB' "$work/pieces_rank0.pickle"
expect_exit 0
run "$npuprof" memory -f json --fail-on 'reserved>80MB' --with expandable_segments:True "$work/pieces_rank0.pickle"
expect_exit 0
expect_equal "$(of 'r["gate_tripped"]')" False
run "$npuprof" memory --fail-on 'reserved>60MB' --with expandable_segments:True "$work/pieces_rank0.pickle"
expect_exit 4

behaviour 'a record that contradicts itself, or has no history, is not replayed'
make "$work/state_rank0.pickle" 'segment(0, 20 * MiB); events.clear()'
run "$npuprof" memory -f json --sweep "$work/state_rank0.pickle"
expect_exit 0
expect_equal "$(of 'p')" "{'withheld': 'no history was recorded'}"
run "$npuprof" memory --with expandable_segments:True --fail-on 'reserved>1GB' "$work/state_rank0.pickle"
expect_exit 1
expect_stderr_has 'cannot be judged' 'no history was recorded'
make "$work/torn_rank0.pickle" 'segment(0, 20 * MiB); alloc(0, MiB * 2); alloc(0, MiB * 2); free(0, 2 * MiB)'
run "$npuprof" memory -f json --sweep "$work/torn_rank0.pickle"
expect_equal "$(of 'p')" "{'withheld': 'too many events contradict others'}"

behaviour 'settings and conditions that cannot be are refused before anything is read'
while IFS='|' read -r option value says; do
	run "$npuprof" memory "$option" "$value" "$work/nowhere.pickle"
	expect_exit 2
	expect_stderr_has "$says"
done <<'END'
--with|expandable|a setting is key:value
--with|expandable_segment:True|did you mean expandable_segments?
--with|expandable_segments:maybe|neither True nor False
--with|pinned_num_register_threads:8|no setting that can be replayed
--with|max_split_size_mb:10|at least 20
--with|large_segment_size_mb:21|an even number
--with|roundup_power2_divisions:3|a power of two
--with|expandable_segments:True,max_split_size_mb:64|refuses expandable_segments together
--fail-on|reserved>60|takes a condition such as
--fail-on|reserved>-1GB|takes a condition such as
--fail-on|time>60GB|takes a condition such as
END
run "$npuprof" memory --fail-on 'reserved>1GB' --with expandable_segments:True --with max_split_size_mb:64 "$work/nowhere.pickle"
expect_exit 2
expect_stderr_has 'judges one --with'

if [[ -z ${NPUPROF_SHARED:-} || ! -d $NPUPROF_SHARED/data/snapshots ]]; then
	echo 'left out: no recorded snapshots (NPUPROF_SHARED/data/snapshots)'
	exit 0
fi

others=(--with expandable_segments:True --with max_split_size_mb:20 --with max_split_size_mb:64 --with large_segment_size_mb:64
	--with roundup_power2_divisions:4)
fidelity='[p[k] for k in ("settings", "exact", "segment_events", "segment_events_equal", "segment_events_added", "blocks", "blocks_equal", "reserved_deviation_bytes")]'

behaviour 'a recorded snapshot: every segment event and address again, and other settings to the byte'
run "$npuprof" memory -f json "${others[@]}" "$NPUPROF_SHARED/data/snapshots/snapshot_1768383987920985470.pkl"
expect_equal "$(of "$fidelity")" "['default', True, 52, 52, 0, 3216, 3216, 0]"
expect_equal "$(what)" 'expandable_segments:True 517996544 517996544 49
max_split_size_mb:20 715128832 715128832 60
max_split_size_mb:64 551550976 551550976 52
large_segment_size_mb:64 517996544 517996544 37
roundup_power2_divisions:4 591396864 591396864 64'
expect_equal "$(of '[w["gain_bytes"] for w in p["what_if"]]')" '[33554432, -163577856, 0, 33554432, -39845888]'

behaviour 'one that began late'
run "$npuprof" memory -f json "${others[@]}" "$NPUPROF_SHARED/data/snapshots/snapshot_with_empty_cache.pkl"
expect_equal "$(of "$fidelity")" "['default', True, 133, 133, 0, 2899, 2899, 0]"
expect_equal "$(what)" 'expandable_segments:True 643825664 490733568 75
max_split_size_mb:20 662700032 530579456 77
max_split_size_mb:64 662700032 509607936 79
large_segment_size_mb:64 706740224 543162368 62
roundup_power2_divisions:4 729808896 530579456 100'
expect_equal "$(of '[w["approximate"] for w in p["what_if"]]')" '[True, False, False, False, False]'
