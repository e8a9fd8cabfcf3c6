#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How often compare names a planted change first, raises a false alarm, and sees a small change: section
# "Compare" of doc/accuracy.md.
#
#	tools/sweep/compare.sh [-s SEEDS] [-r "RANKS..."] [-c "CASES..."]
#
# A release build is expected in build/release (or in $NPUPROF_BUILD). One line per case and size.
. "$(dirname "$0")/lib.sh"
ranks='8'
cases='type type-text link rank host-gap casts shape between between-text loader loader-one none two-percent'
sweep_options "$@"

# base_and_new <ranks> <seed> [options of the new run]...
base_and_new() {
	size=$1 seed=$2
	shift 2
	rm -rf "$work/base" "$work/new"
	common="-q --ranks $size --steps 10 --layers 4 --kernels-per-layer 12 --no-instances $form"
	# shellcheck disable=SC2086
	"$build/npuprof-synth" -o "$work/base" $common --seed $((seed * 2)) || exit 2
	# shellcheck disable=SC2086
	"$build/npuprof-synth" -o "$work/new" $common --seed $((seed * 2 + 1)) "$@" || exit 2
	gated=0
	"$build/npuprof" compare -q -f json --fail-on 'step>2%' "$work/base" "$work/new" >"$work/json" || gated=$?
}

# value <path>
value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/json'), '$1')"
}

# named <what>: it is the first cause, and the step is told to have regressed
named() {
	score 'named first' "$([ "$(value '$.causes[0].what')" = "$1" ] && echo 1)"
	score 'regression' "$([ "$(value '$.step.verdict')" = regression ] && echo 1)"
}

run_case() {
	form=
	case $1 in
	type)
		base_and_new "$2" "$3" --slow-type MatMulV3:1.1
		named MatMulV3
		;;
	type-text)
		form='--format text'
		base_and_new "$2" "$3" --slow-type FlashAttentionScoreGrad:1.1
		named FlashAttentionScoreGrad
		;;
	link)
		a=$(($3 % 7))
		b=$((a + 1 + $3 % (7 - a)))
		base_and_new "$2" "$3" --slow-link "$a-$b:2"
		named "link $a-$b"
		;;
	rank)
		base_and_new "$2" "$3" --slow-rank "$(($3 * 3 % $2)):1.1"
		named "rank $(($3 * 3 % $2))"
		;;
	host-gap)
		base_and_new "$2" "$3" --host-gap "$(($3 * 3 % $2)):300"
		named "rank $(($3 * 3 % $2))"
		score 'its host blamed' "$(value '$.causes[0].text' | grep -c 'most of it in free/host')"
		;;
	casts)
		base_and_new "$2" "$3" --extra-casts 3
		named Cast
		;;
	shape)
		base_and_new "$2" "$3" --reshape 2
		named MatMulV3
		score 'shape blamed' "$(value '$.causes[0].text' | grep -c 'other shapes')"
		;;
	between | between-text)
		[ "$1" = between ] || form='--format text'
		base_and_new "$2" "$3" --between 1500
		named between/host
		score 'gate trips' "$([ "$gated" -eq 4 ] && echo 1)"
		;;
	loader)
		base_and_new "$2" "$3" --dataloader all:4000
		named between/dataloader
		score 'gate trips' "$([ "$gated" -eq 4 ] && echo 1)"
		;;
	loader-one)
		base_and_new "$2" "$3" --dataloader "$(($3 * 3 % $2)):4000"
		named "rank $(($3 * 3 % $2))"
		score 'its loader blamed' "$(value '$.causes[0].text' | grep -c 'most of it in between/dataloader')"
		;;
	none)
		base_and_new "$2" "$3"
		score 'gate quiet' "$([ "$gated" -eq 0 ] && echo 1)"
		score 'no regression' "$([ "$(value '$.step.verdict')" = noise ] && echo 1)"
		;;
	two-percent)
		# The step grows by 2.0 %: kernels are nearly all of it.
		base_and_new "$2" "$3" --slow-stage 0:1.021
		score 'regression' "$([ "$(value '$.step.verdict')" = regression ] && echo 1)"
		;;
	*) echo "unknown case '$1'" >&2 && exit 2 ;;
	esac
}

sweep
