#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Time npuprof on synthetic clusters: medians of interleaved repetitions, peak memory, and the ratio to
# a bare scan of the same tables. Inputs are made once below build/bench.
#
#	tools/bench/run.sh [repetitions]
set -euo pipefail

cd "$(dirname "$0")/../.."
repetitions=${1:-5}
inputs=build/bench
tools/build.sh release build/release/bench-build.log
ninja -C build/release npuprof-bench-scan npuprof-bench-align npuprof-bench-replay >/dev/null
PATH=$PWD/build/release:$PATH

# input <name> <synth options>...: make it unless it is there
input() {
	local name=$1

	shift
	[ -e "$inputs/$name/truth.json" ] && return
	echo "making $name ..." >&2
	mkdir -p "$inputs"
	npuprof-synth -q --force -o "$inputs/$name" --no-instances "$@"
}

# timed <command>...: seconds and kilobytes of one run
timed() {
	/usr/bin/time -f '%e %M' "$@" 2>&1 >/dev/null | tail -n 1
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# report <what> <megabytes> <command>...: the median of all repetitions
report() {
	local what=$1 megabytes=$2 i runs=''

	shift 2
	"$@" >/dev/null 2>&1 || true # warm the page cache
	for ((i = 0; i < repetitions; i++)); do runs+=$(timed "$@")$'\n'; done
	seconds=$(printf '%s' "$runs" | cut -d ' ' -f 1 | median)
	memory=$(printf '%s' "$runs" | cut -d ' ' -f 2 | median)
	awk -v w="$what" -v s="$seconds" -v m="$memory" -v b="$megabytes" 'BEGIN {
		printf "%-50s %8.3f s", w, s
		if (b > 0 && s > 0) printf "  %7.0f MB/s", b / s; else printf "              "
		printf "  %6.0f MB peak\n", m / 1024 }'
}

# report_short <what> <command>...: runs too short for the clock of time(1), 50 in a row
report_short() {
	local what=$1 begin end i

	shift
	begin=$(date +%s%N)
	for ((i = 0; i < 50; i++)); do "$@" >/dev/null; done
	end=$(date +%s%N)
	awk -v w="$what" -v n=$((end - begin)) 'BEGIN { printf "%-50s %8.1f ms (mean of 50)\n", w, n / 50e6 }'
}

megabytes() {
	du -cm "$@" | tail -n 1 | cut -f 1
}

input db64 --ranks 64 --steps 4 --size-mb 20
input text1 --ranks 1 --steps 4 --size-mb 400 --format text
input tiny --ranks 2 --steps 1

report_short 'start-up: npuprof -V' npuprof -V
report_short 'cluster, 2 ranks x 0.7 MB' npuprof cluster -d "$inputs/tiny" -o "$inputs/out"
dbs=("$inputs"/db64/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db)
report 'cluster, 64 ranks x 20 MB databases, -j 2' "$(megabytes "${dbs[@]}")" \
	npuprof cluster -d "$inputs/db64" -o "$inputs/out" -j 2
report 'cluster, the same, -j 1' "$(megabytes "${dbs[@]}")" \
	npuprof cluster -d "$inputs/db64" -o "$inputs/out" -j 1
trace=$(ls "$inputs"/text1/*/ASCEND_PROFILER_OUTPUT/trace_view.json)
report 'cluster, 1 rank of text with a large trace, -j 1' "$(megabytes "$trace")" \
	npuprof cluster -d "$inputs/text1" -o "$inputs/out" -j 1

echo
echo 'bare scans of the tables that npuprof reads, one rank'
npuprof-bench-scan -n 11 "${dbs[0]}" | grep -E 'median|all'

echo
echo 'matching, clocks and waits in memory'
npuprof-bench-align | tail -n 4

echo
echo 'the replay in memory'
npuprof-bench-replay
