#!/usr/bin/env bash
# All fuzz targets in turn, each for its share of HOURS of processor time: at least ten minutes and until five bring no new
# coverage, where the share has room for it. What was found lies in build/fuzz/found, the grown corpora in build/fuzz/corpus.
#
#	tools/fuzz.sh HOURS [TARGET]...      "load", "mcp" ...: the names in tests/fuzz
#	tools/fuzz.sh --keep [TARGET]...     put the inputs that cover more, as few and small as they are, into tests/fuzz/corpus
#
# Prints a line for each target: seconds of processor time, runs, places covered at the begin and at the end, findings.
set -eu
cd "$(dirname "$0")/.."
hours=${1:?hours, or --keep}
shift
build=build/fuzz
least=${NPUPROF_FUZZ_LEAST:-600}
quiet=${NPUPROF_FUZZ_QUIET:-300}
slice=60

if [[ $# -eq 0 ]]; then
	for source in tests/fuzz/fuzz_*.c; do
		name=${source##*/fuzz_}
		[[ $name == main.c ]] || set -- "$@" "${name%.c}"
	done
fi
[[ -f $build/build.ninja ]] || cmake --preset fuzz >/dev/null
cmake --build $build --target "${@/#/fuzz_}" >$build/fuzz.log 2>&1 || {
	cat $build/fuzz.log >&2
	exit 1
}

# The last number behind a word in what libFuzzer prints.
last() {
	sed -n "s/.* $1: \([0-9]*\).*/\1/p" "$2" | tail -n 1
}

# Inputs that are as large as a table are no help for who reads them, and there is no room for many.
keep() {
	local target=$1 small
	small=$(mktemp -d)
	find "$build/corpus/$target" -type f -size -3k -exec cp -t "$small" {} +
	# Cover what the repository covers already first, then what is new.
	"$build/fuzz_$target" -merge=1 "tests/fuzz/corpus/$target" "$small" >"$build/merge.log" 2>&1
	rm -rf "$small"
	find "tests/fuzz/corpus/$target" -type f -printf '%s\n' |
		awk -v t="$target" '{ n++; s += $1 } END { printf "%-12s %4d inputs, %d bytes\n", t, n, s }'
}

if [[ $hours == --keep ]]; then
	for target; do
		keep "$target"
	done
	exit 0
fi

share=$(awk -v h="$hours" -v n="$#" 'BEGIN { printf "%d", h * 3600 / n }')
found=0
printf '%-12s %8s %12s %8s %8s %8s\n' target s runs before after findings
for target; do
	corpus=$build/corpus/$target
	crashes=$build/found/$target
	log=$build/fuzz_$target.log
	mkdir -p "$corpus" "$crashes"
	since=0
	runs=0
	covered=
	first=
	cpu=0
	while [[ $cpu -lt $share ]]; do
		left=$((share - cpu))
		TIMEFORMAT='%U %S'
		used=$({ time "$build/fuzz_$target" -max_total_time=$((left < slice ? left : slice)) -timeout=25 -rss_limit_mb=4096 \
			-print_final_stats=1 -artifact_prefix="$crashes/" "$corpus" "tests/fuzz/corpus/$target" >"$log" 2>&1 || true; } 2>&1)
		cpu=$(awk -v c="$cpu" -v u="$used" 'BEGIN { split(u, p, " "); printf "%.0f", c + p[1] + p[2] }')
		now=$(last cov "$log")
		first=${first:-$(sed -n 's/.*INITED cov: \([0-9]*\).*/\1/p' "$log" | tail -n 1)}
		runs=$((runs + $(sed -n 's/stat::number_of_executed_units: //p' "$log" | tail -n 1 || true) + 0))
		if [[ ${now:-0} -gt ${covered:-0} ]]; then
			covered=$now
			since=$cpu
		fi
		# Who begins with an input that fails would do nothing else.
		[[ -z $(find "$crashes" -type f) ]] || break
		[[ $cpu -lt $least || $((cpu - since)) -lt $quiet ]] || break
	done
	count=$(find "$crashes" -type f | wc -l)
	found=$((found + count))
	printf '%-12s %8s %12s %8s %8s %8s\n' "$target" "$cpu" "$runs" "${first:-?}" "${covered:-?}" "$count"
done
[[ $found -eq 0 ]]
