# SPDX-License-Identifier: Apache-2.0
# Shared by the sweeps: many seeds, one case and size after the other, and how often it came out right.
#
# A sweep sets `cases`, calls sweep_options "$@", defines run_case CASE RANKS SEED, which calls simulate,
# query and score, and ends with `sweep`.
# shellcheck shell=sh
seeds=20
first_seed=1
ranks='8 64 256'
work=$(mktemp -d "${TMPDIR:-/tmp}/npuprof-sweep.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
build=${NPUPROF_BUILD:-$(dirname "$0")/../../build/release}

sweep_options() {
	while getopts s:f:r:c: option; do
		case $option in
		s) seeds=$OPTARG ;;
		f) first_seed=$OPTARG ;;
		r) ranks=$OPTARG ;;
		c) cases=$OPTARG ;;
		*) echo "usage: $0 [-s SEEDS] [-f FIRST] [-r RANKS] [-c CASES]" >&2 && exit 2 ;;
		esac
	done
	for program in "$build/npuprof" "$build/npuprof-synth"; do
		[ -x "$program" ] || { echo "$program is missing: tools/build.sh release" >&2 && exit 2; }
	done
}

# simulate <synth options>...: make a cluster in $work/run and analyse it into $work/json and $work/out
simulate() {
	rm -rf "$work/run" "$work/out"
	"$build/npuprof-synth" -q -o "$work/run" "$@" || exit 2
	"$build/npuprof" cluster -q -d "$work/run" -o "$work/out" -f json >"$work/json" || [ $? = 3 ] || exit 2
}

# query <SQL>: ask the merged database; readfile('$work/json') is the result as JSON
query() {
	sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" "$1"
}

# score <what> <1 or something else>
score() {
	printf '%s\t%s\n' "$1" "$([ "${2:-0}" = 1 ] && echo 1 || echo 0)" >>"$work/scores"
}

sweep() {
	printf '| case | ranks | seeds | %s |\n|---|---|---|---|\n' 'right in'
	for case in $cases; do
		for size in $ranks; do
			: >"$work/scores"
			seed=$first_seed
			while [ "$seed" -lt $((first_seed + seeds)) ]; do
				run_case "$case" "$size" "$seed"
				seed=$((seed + 1))
			done
			awk -F '\t' -v case="$case" -v size="$size" -v seeds="$seeds" '
				!($1 in all) { order[++n] = $1 }
				{ all[$1]++; right[$1] += $2 }
				END { for (i = 1; i <= n; i++) text = text (i > 1 ? ", " : "") sprintf("%s %.4g %%", order[i], 100 * right[order[i]] / all[order[i]])
					printf "| %s | %d | %d | %s |\n", case, size, seeds, text }' "$work/scores"
		done
	done
}
