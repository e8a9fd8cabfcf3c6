#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How well the replay foretells what a repair would gain, and how often the planted cause is the verdict:
# the table "What-if" of doc/accuracy.md. Each fault is planted into a cluster that is also made without
# it, from the same seed; the step of that one is what the repair should leave.
#
#	tools/sweep/whatif.sh [-s SEEDS] [-f FIRST] [-r "RANKS..."] [-c "CASES..."]
#
# A release build is expected in build/release (or in $NPUPROF_BUILD). One line per case and size; with
# SWEEP_TRACE set, also what was foretold and found for every seed, on standard error.
. "$(dirname "$0")/lib.sh"
ranks='8 16 64'
cases='healthy healthy-dp slow-rank slow-rank-dp slow-stage slow-link slow-link-ring host-gap host-gap-dp two-causes uneven-steps experts'
sweep_options "$@"

# layout <3d|dp|ring|ep> <ranks>: synth options of a pipeline with tp and dp, of plain data parallelism, of that over
# two hosts at least, whose collectives go around a ring, and of experts on four ranks
layout() {
	if [ "$1" = dp ]; then
		echo "--schedule dp"
	elif [ "$1" = ep ]; then
		echo "--schedule ep --ep 4 --dp $2"
	elif [ "$1" = ring ]; then
		echo "--schedule dp --hosts $(($2 / 8 < 2 ? 2 : $2 / 8))"
	else
		echo "--schedule 3d --tp 2 --pp $(($2 < 64 ? 2 : 4)) --micro-batches 8"
	fi
}

# whatif <3d|dp> <ranks> <seed> [synth option]... -- [whatif option]...: JSON in $work/json
whatif() {
	# shellcheck disable=SC2046 # options are words
	set -- $(layout "$1" "$2") --ranks "$2" --seed "$3" --end "$@"
	made=''
	while [ "$1" != --end ]; do made="$made $1" && shift; done
	shift 4
	while [ $# -gt 0 ] && [ "$1" != -- ]; do made="$made $1" && shift; done
	[ $# -eq 0 ] || shift
	rm -rf "$work/run"
	# shellcheck disable=SC2086
	"$build/npuprof-synth" -q -o "$work/run" --steps 4 --layers 16 --kernels-per-layer 5 --no-instances $made || exit 2
	"$build/npuprof" whatif -q -f json "$work/run" "$@" >"$work/json" || exit 2
	rm -rf "$work/run"
	fidelity=$(of replay.fidelity)
}

# of <path>...: fields of the result, separated by |
of() {
	fields=''
	for path; do fields="$fields${fields:+, }readfile('$work/json') ->> '\$.$path'"; done
	sqlite3 :memory: "SELECT $fields"
}

# sound_step <3d|dp> <ranks> <seed>: the step without a fault
sound_step() {
	kept=$work/sound-$1-$2-$3
	if [ ! -e "$kept" ]; then
		whatif "$1" "$2" "$3"
		of replay.observed_ns >"$kept"
	fi
	cat "$kept"
}

trace() {
	[ -z "${SWEEP_TRACE:-}" ] || echo "$*" >&2
}

# foretold <3d|dp> <ranks> <seed> <step with the repair>: 1 if it is within 3 % of the step without the fault
foretold() {
	awk -v step="$4" -v sound="$(sound_step "$1" "$2" "$3")" 'BEGIN { d = step / sound - 1; print (step && d < 0.03 && d > -0.03) ? 1 : 0 }'
}

# score_fidelity: the replay untouched, against what was recorded
score_fidelity() {
	score 'replayed within 1 %' "$(awk -v off="$1" 'BEGIN { print (off <= 0.01) ? 1 : 0 }')"
}

# planted <case> <3d|dp> <ranks> <seed> <repair> <kind and what> <synth option>...
planted() {
	name=$1 form=$2 size=$3 seed=$4 repair=$5 cause=$6
	shift 6
	whatif "$form" "$size" "$seed" "$@" -- --fix "$repair"
	score_fidelity "$fidelity"
	found=$(of verdict.kind verdict.what)
	steps=$(of replay.observed_ns replay.step_ns together.step_ns)
	right=$(foretold "$form" "$size" "$seed" "${steps##*|}")
	trace "$name $size $seed $*: $found, observed, replayed and repaired $steps, sound $(sound_step "$form" "$size" "$seed")"
	score 'step within 3 %' "$right"
	score 'cause named' "$([ "$found" = "$cause" ] && echo 1)"
}

healthy() {
	whatif "$1" "$2" "$3"
	score_fidelity "$fidelity"
	found=$(of verdict.kind verdict.what)
	trace "healthy $1 $2 $3: $found"
	score 'nothing named' "$(case $found in none*) echo 1 ;; esac)"
}

# The slowest replica is another one in every step: no rank is to blame, and repairing all makes it even.
uneven_steps() {
	whatif 3d "$1" "$2" --seq-imbalance 0.15
	score_fidelity "$fidelity"
	found=$(of verdict.kind verdict.what)
	steps=$(of replay.observed_ns replay.step_ns replay.ideal_ns)
	right=$(foretold 3d "$1" "$2" "${steps##*|}")
	trace "uneven $1 $2: $found, observed, replayed and ideal $steps, sound $(sound_step 3d "$1" "$2")"
	score 'step within 3 %' "$right"
	score 'nothing named' "$(case $found in none*) echo 1 ;; esac)"
}

# Two slow workers of different stages: the better repair is named, both are found one after the other.
two_causes() {
	first=$(($2 * 5 % ($1 / 2)))
	second=$(($1 / 2 + $2 * 3 % ($1 / 2)))
	whatif 3d "$1" "$2" --slow-rank "$first:1.3" --slow-rank "$second:1.2" -- --fix "rank:$first" --fix "rank:$second" --top 2
	score_fidelity "$fidelity"
	steps=$(of replay.observed_ns replay.step_ns together.step_ns)
	found=$(of verdict.kind verdict.what)
	curve=$(of 'curve[0].fix' 'curve[1].fix')
	right=$(foretold 3d "$1" "$2" "${steps##*|}")
	trace "two causes $1 $2 rank:$first rank:$second: $found, $curve, observed, replayed and repaired $steps, sound $(sound_step 3d "$1" "$2")"
	score 'step within 3 %' "$right"
	score 'one of them named' "$(case $found in "rank|$first" | "rank|$second") echo 1 ;; esac)"
	score 'both lead the curve' "$(case $curve in "rank:$first|rank:$second" | "rank:$second|rank:$first") echo 1 ;; esac)"
}

# A link that both its ends need: of a tensor parallel pair.
slow_link() {
	a=$(($2 * 3 % ($1 / 2) * 2))
	planted slow-link 3d "$1" "$2" "link:$a-$((a + 1))" "link|$a-$((a + 1))" --slow-link "$a-$((a + 1)):1.5"
}

# A link of a ring over hosts, between two ranks of one host.
slow_link_ring() {
	host=$(($1 / 8 < 2 ? $1 / 2 : 8))
	a=$(($2 * 3 % ($1 / host) * host + $2 * 5 % (host - 1)))
	planted slow-link-ring ring "$1" "$2" "link:$a-$((a + 1))" "link|$a-$((a + 1))" --slow-link "$a-$((a + 1)):3"
}

run_case() {
	bad=$(($3 * 7 % $2))
	case $1 in
	healthy) healthy 3d "$2" "$3" ;;
	healthy-dp) healthy dp "$2" "$3" ;;
	slow-rank) planted "$1" 3d "$2" "$3" "rank:$bad" "rank|$bad" --slow-rank "$bad:1.2" ;;
	slow-rank-dp) planted "$1" dp "$2" "$3" "rank:$bad" "rank|$bad" --slow-rank "$bad:1.1" ;;
	slow-stage) planted "$1" 3d "$2" "$3" "stage:$(($3 % ($2 < 64 ? 2 : 4)))" "stage|$(($3 % ($2 < 64 ? 2 : 4)))" \
		--slow-stage "$(($3 % ($2 < 64 ? 2 : 4))):1.4" ;;
	slow-link) slow_link "$2" "$3" ;;
	slow-link-ring) slow_link_ring "$2" "$3" ;;
	host-gap) planted "$1" 3d "$2" "$3" "rank:$bad" "rank|$bad" --host-gap "$bad:3000" ;;
	host-gap-dp) planted "$1" dp "$2" "$3" "rank:$bad" "rank|$bad" --host-gap "$bad:400" ;;
	experts) planted "$1" ep "$2" "$3" experts 'experts|' --expert-skew 0.3 ;;
	two-causes) two_causes "$2" "$3" ;;
	uneven-steps) uneven_steps "$2" "$3" ;;
	*) echo "unknown case '$1'" >&2 && exit 2 ;;
	esac
}

sweep
