#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the injection library costs while no window is open.
#
#	tests/inject/overhead.sh BUILD_DIRECTORY [runs]
#
# First instructions per call, counted by valgrind; then wall time, of single calls and of
# the demo job, in runs that alternate between the cases. The functions behind the hooks do
# nothing in the former, so that what is seen is the hook. Use a release build.
#
#	none      the library is not loaded
#	idle      it is loaded, but there is no launcher
#	explicit  a launcher is there, steps come from npuprof_step() only
#	auto      a launcher is there, and the collectives are watched for a period
set -eu
build=$(cd "${1:?is the build directory}" && pwd)
runs=${2:-30}
calls=1000000
library=$build/libnpuprof_inject.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# with <case> <command>...: run the command with the library as the case says. A launcher is
# there in all cases but one, so that the time it takes itself is in all of them.
with() {
	local case=$1

	shift
	case $case in
	none) "$build/inject_launch" '' rank=0 -- "$@" ;;
	idle) "$build/inject_launch" "$library" rank=0 -- env -u NPUPROF_SOCK "$@" ;;
	explicit) "$build/inject_launch" "$library" rank=0 source=1 -- "$@" ;;
	auto) "$build/inject_launch" "$library" rank=0 -- "$@" ;;
	esac
}

# instructions <case> <calls> <what>: of the whole program
instructions() {
	with "$1" valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" \
		"$build/inject_bench" "$2" "$3" >/dev/null 2>&1
	awk '/^summary:|^totals:/ { print $2; exit }' "$work/callgrind"
}

# per_call <case> <what>: instructions of one call, the start of the program left out
per_call() {
	local few many

	few=$(instructions "$1" 20000 "$2")
	many=$(instructions "$1" 120000 "$2")
	awk "BEGIN { printf \"%.1f\n\", ($many - $few) / 100000 }"
}

# loop_ns <case> <what>: nanoseconds of one call
loop_ns() {
	with "$1" "$build/inject_bench" "$calls" "$2" |
		awk -v calls="$calls" '/^[0-9]+$/ { print $1 / calls }'
}

# job_ms <case>: milliseconds of the demo job
job_ms() {
	local begin end

	begin=$(date +%s%N)
	with "$1" "$build/npu-train-demo" -q --ranks 1 --steps 40 >/dev/null
	end=$(date +%s%N)
	awk "BEGIN { print ($end - $begin) / 1e6 }"
}

# differences <file> <unit>: lines "round what case value" as differences to the case none
# of the same round, with the 95 % interval of their mean
differences() {
	awk -v unit="$2" '
		{ value[$1, $2, $3] = $4; rounds[$1]; names[$2 " " $3] }
		END {
			for (name in names) {
				split(name, part, " ")
				n = sum = square = level = 0
				for (round in rounds) {
					x = value[round, part[1], part[2]] - value[round, part[1], "none"]
					n++; sum += x; square += x * x
					level += value[round, part[1], part[2]]
				}
				mean = sum / n
				spread = 1.96 * sqrt((square - n * mean * mean) / (n - 1) / n)
				printf "%-12s %-9s %9.2f %s   over none: %+.2f +- %.2f %s\n", part[1], part[2],
					level / n, unit, mean, spread, unit
			}
		}' "$1" | sort
}

echo 'instructions per call, the loop and the empty function included'
for what in allreduce synchronize step; do
	for case in none idle explicit auto; do
		printf '%-12s %-9s %s\n' "$what" "$case" "$(per_call "$case" "$what")"
	done
done

for ((i = 0; i < runs; i++)); do
	for case in none idle explicit auto; do
		for what in allreduce synchronize; do
			echo "$i $what $case $(loop_ns "$case" "$what")"
		done
	done
done >"$work/loops"
echo "wall time per call, $runs rounds of $calls calls"
differences "$work/loops" ns

for ((i = 0; i < runs; i++)); do
	for case in none idle explicit auto; do
		echo "$i job $case $(job_ms "$case")"
	done
done >"$work/jobs"
echo "wall time of the demo job, $runs rounds"
differences "$work/jobs" ms
