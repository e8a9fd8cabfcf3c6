#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How often the slice of a timeline holds what one has to see of a planted fault, over many simulated clusters: the
# table "Slices" of doc/accuracy.md.
#
#	tools/sweep/slices.sh [-s SEEDS] [-f FIRST] [-r "RANKS..."] [-c "CASES..."]
#
# A release build is expected in build/release (or in $NPUPROF_BUILD). One line per case and size.
. "$(dirname "$0")/lib.sh"
ranks='160 1024'
cases='slow-rank slow-rank-little host-gap'
sweep_options "$@"

# look <culprit>: "what<TAB>1 or 0" for each thing that the slice has to hold
look() {
	python3 - "$work/run/truth.json" "$work/slice.json" "$1" <<'EOF'
import json, os, re, sys
truth, events, culprit = json.load(open(sys.argv[1])), json.load(open(sys.argv[2])), int(sys.argv[3])
process = {e["pid"]: int(re.match(r"rank (\d+)", e["args"]["name"]).group(1)) for e in events
           if e["name"] == "process_name" and e["args"]["name"].startswith("rank ")}
drawn = set(process.values())
place = {r["rank"]: r for r in truth["ranks"]}
# Who does the same work, and who waits for the rank: who shares a communicator with it other than that of all.
peers = {r for r in place if r != culprit and place[r]["pp"] == place[culprit]["pp"]}
victims = {r for g in truth["groups"] if culprit in g["ranks"] and len(g["ranks"]) < len(place) for r in g["ranks"]} - {culprit}
begins = {e["id"] for e in events if e["ph"] == "s" and process.get(e["pid"]) == culprit}
led = {process[e["pid"]] for e in events if e["ph"] == "f" and e["id"] in begins}
steps = {e["args"]["step"] for e in events if e.get("cat") == "step"}
for what, right in (("culprit", culprit in drawn), ("peer", bool(drawn & peers)),
                    ("victims", len(drawn & victims) >= 2),
                    ("arrows to them", bool(led & victims)), ("one step", len(steps) == 1),
                    ("10 MB at most", os.path.getsize(sys.argv[2]) <= 10_000_000)):
    print(what, int(right), sep="\t")
EOF
}

run_case() {
	bad=$(($3 * 37 % $2))
	case $1 in
	slow-rank) plant="--slow-rank $bad:1.5" ;;
	slow-rank-little) plant="--slow-rank $bad:1.2" ;;
	host-gap) plant="--host-gap $bad:1000" ;;
	esac
	rm -rf "$work/run"
	# shellcheck disable=SC2086
	"$build/npuprof-synth" -q -o "$work/run" --ranks "$2" --hosts "$((($2 + 7) / 8))" --schedule 3d --tp 4 --pp 2 --steps 2 \
		--seed "$3" --layers 8 --kernels-per-layer 8 --no-instances $plant || exit 2
	"$build/npuprof" timeline -q -d "$work/run" -o "$work/slice.json" >"$work/name" || [ $? = 3 ] || exit 2
	look "$bad" >"$work/looks"
	while IFS="$(printf '\t')" read -r what right; do
		score "$what" "$right"
		[ "$right" = 1 ] || echo "$1, $2 ranks, seed $3: no $what" >&2
	done <"$work/looks"
}

sweep
