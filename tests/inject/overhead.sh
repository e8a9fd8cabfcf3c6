#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the injection library costs while no window is open.
#
#	tests/inject/overhead.sh BUILD_DIRECTORY [runs]
#
# Instructions per call, counted by valgrind, and the wall time per call of interleaved
# runs with its 95 % interval. The functions behind the hooks do nothing, so that what is
# seen is the hook. Use a release build.
set -eu
build=$(cd "${1:?is the build directory}" && pwd)
runs=${2:-40}
library=$build/libnpuprof_inject.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# with <case> <command>...: run the command with the library as the case says
with() {
	local case=$1

	shift
	case $case in
	none) "$@" ;;
	idle) LD_PRELOAD=$library "$@" ;;
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
	echo "scale=1; ($many - $few) / 100000" | bc
}

# nanoseconds <case> <calls> <what>: of the loop
nanoseconds() {
	with "$1" "$build/inject_bench" "$2" "$3" | grep -xE '[0-9]+'
}

echo 'instructions per call (valgrind), the empty function and the loop included'
for what in allreduce synchronize step; do
	for case in none idle explicit auto; do
		printf '%-12s %-9s %s\n' "$what" "$case" "$(per_call "$case" "$what")"
	done
done

echo "wall time per call in ns, $runs interleaved runs of 2000000 calls, mean and 95 % interval"
for ((i = 0; i < runs; i++)); do
	for what in allreduce synchronize mixed; do
		for case in none idle explicit auto; do
			echo "$what $case $(nanoseconds "$case" 2000000 "$what")"
		done
	done
done >"$work/times"
awk '{ key = $1 " " $2; x = $3 / 2000000; n[key]++; sum[key] += x; square[key] += x * x }
	END {
		for (key in n) {
			mean = sum[key] / n[key]
			deviation = sqrt((square[key] - n[key] * mean * mean) / (n[key] - 1))
			printf "%-12s %-9s %6.2f +- %.2f\n", substr(key, 1, index(key, " ") - 1),
				substr(key, index(key, " ") + 1), mean, 1.96 * deviation / sqrt(n[key])
		}
	}' "$work/times" | sort
