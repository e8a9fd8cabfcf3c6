#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How processor time and memory of `npuprof cluster` grow with ranks that stay as large as they are.
#
#	tools/bench/weak.sh BUILD WORK [RANKS...]
#
# Ranks of about 0.5 MB and 4 steps, made once in WORK (2.5 GB for the default, 256 1024 4096): from
# their databases, from their summaries, and from parts of up to 10,240 ranks that copies of 128
# ranks make. Prints time of all processors and memory for each, per rank, and the fitted exponents.
set -euo pipefail

build=$(cd "$1" && pwd)
mkdir -p "$2"
cd "$2"
shift 2
(($#)) || set -- 256 1024 4096

# timed <kind> <ranks> <argument>...: the least of three runs, as "kind ranks seconds kB"
timed() {
	local kind=$1 ranks=$2

	shift 2
	for _ in 1 2 3; do
		/usr/bin/time -f '%U %S %M' "$build/npuprof" cluster -q -j 2 --no-db "$@" 2>&1 >/dev/null |
			tail -n 1
	done | sort -n | awk -v kind="$kind" -v ranks="$ranks" \
		'NR == 1 || $1 + $2 < t { t = $1 + $2; m = $3 } END { print kind, ranks, t, m }'
}

for ranks; do
	[[ -d w$ranks ]] ||
		"$build/npuprof-synth" -q -o "w$ranks" --schedule 3d --ranks "$ranks" --tp 8 --pp 4 --steps 4 \
			--layers 4 --micro-batches 2 --kernels-per-layer 6 --buckets 2 --no-instances --no-analysis
	[[ -d s$ranks ]] || "$build/npuprof" cluster -q --no-db --cache="s$ranks" -d "w$ranks" >/dev/null
	timed databases "$ranks" -d "w$ranks"
	timed summaries "$ranks" --from-summaries -d "s$ranks"
done | tee weak.txt

[[ -d b128 ]] ||
	"$build/npuprof-synth" -q -o b128 --schedule 3d --ranks 128 --tp 8 --pp 4 --steps 2 --layers 8 \
		--micro-batches 4 --kernels-per-layer 3 --buckets 4 --no-instances --no-analysis
[[ -d b128.sum ]] || "$build/npuprof" cluster -q --no-db --cache=b128.sum -d b128 >/dev/null
for ranks in 1024 4096 10240; do
	if [[ ! -d parts$ranks ]]; then
		"$build/npuprof-bench-parts" b128.sum "r$ranks" 8 4 "$ranks" 1024 >/dev/null
		mkdir "parts$ranks"
		for part in "r$ranks"/p*; do
			"$build/npuprof" merge -q "$part" -o "parts$ranks/${part##*/}.nppart"
		done
		rm -r "r$ranks"
	fi
	timed parts "$ranks" --from-summaries "parts$ranks"
done | tee -a weak.txt

# The slope of the line through the logarithms.
awk '{
	printf "%-10s %6d ranks: %8.2f s, %7.3f ms a rank; %7.1f MB, %6.1f kB a rank\n", $1, $2, $3,
	       1000 * $3 / $2, $4 / 1024, $4 / $2
	x = log($2); t = log($3); m = log($4)
	n[$1]++; sx[$1] += x; sxx[$1] += x * x
	st[$1] += t; sxt[$1] += x * t; sm[$1] += m; sxm[$1] += x * m
} END {
	for (kind in n) {
		below = n[kind] * sxx[kind] - sx[kind] ^ 2
		if (n[kind] > 1)
			printf "%-10s exponent of time %.3f, of memory %.3f\n", kind,
			       (n[kind] * sxt[kind] - sx[kind] * st[kind]) / below,
			       (n[kind] * sxm[kind] - sx[kind] * sm[kind]) / below
	}
}' weak.txt
