#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How often the first finding of the advisor is what was planted, and how near its gain is to the time that
# disappears when the same run (same seed) is simulated without the plant: the table "Advisor" of doc/accuracy.md.
#
#	tools/sweep/advisor.sh [-s SEEDS] [-r "RANKS..."] [-c "CASES..."]
#
# A release build is expected in build/release (or in $NPUPROF_BUILD). One line per case and size.
. "$(dirname "$0")/lib.sh"
ranks='8'
cases='slow-rank slow-rank-tp slow-rank-pp slow-rank-3d host-gap host-gap-3d slow-link slow-link-3d healthy healthy-3d'
sweep_options "$@"

# step: the mean span of a step over ranks and steps
step() {
	query 'SELECT avg(span) FROM (SELECT sum(ns) AS span FROM np_partition GROUP BY rank, step)'
}

# plant <ranks> <seed> <rule> <repair> <synth options>... -- <plant>...: simulate with and without, and compare
plant() {
	size=$1 seed=$2 rule=$3 repair=$4
	shift 4
	options=''
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	simulate --ranks "$size" --hosts "$(((size + 7) / 8))" --seed "$seed" --layers 4 --no-instances $options
	healthy=$(step)
	# shellcheck disable=SC2086
	simulate --ranks "$size" --hosts "$(((size + 7) / 8))" --seed "$seed" --layers 4 --no-instances $options "$@"
	planted=$(step)
	advise
	score 'named first' "$(first "f ->> 'rule' = '$rule' AND f ->> 'repair' = '$repair'")"
	score 'gain within 20 %' "$(first "abs(f ->> 'gain_ns' - ($planted - $healthy)) <= 0.2 * ($planted - $healthy)")"
	score 'total at most the step' "$(sqlite3 :memory: "SELECT readfile('$work/advice') ->> '\$.total.gain_pct' <= 100")"
}

# advise: the findings on $work/run, in $work/advice
advise() {
	"$build/npuprof" advisor -q -d "$work/run" -f json >"$work/advice" || exit 2
}

# first <condition>: does it hold of the first finding, f?
first() {
	sqlite3 :memory: "SELECT $1 FROM (SELECT readfile('$work/advice') -> '\$.findings[0]' AS f)"
}

# No rank and no link is named.
healthy() {
	size=$1 seed=$2
	shift 2
	simulate --ranks "$size" --hosts "$(((size + 7) / 8))" --seed "$seed" --layers 4 --no-instances "$@"
	advise
	score 'none named' "$(sqlite3 :memory: "SELECT count(*) = 0 FROM json_each(readfile('$work/advice'), '\$.findings')
		WHERE value ->> 'rule' IN ('cluster.straggler', 'cluster.slow-link', 'cluster.slow-end')")"
}

run_case() {
	bad=$(($3 * 3 % $2))
	pair=$(($3 * 2 % $2))
	case $1 in
	slow-rank) plant "$2" "$3" cluster.straggler "rank:$bad" -- --slow-rank "$bad:1.3" ;;
	slow-rank-tp) plant "$2" "$3" cluster.straggler "rank:$bad" --schedule tp -- --slow-rank "$bad:1.5" ;;
	slow-rank-pp) plant "$2" "$3" cluster.straggler "rank:$bad" --schedule pp --pp 2 -- --slow-rank "$bad:1.5" ;;
	slow-rank-3d) plant "$2" "$3" cluster.straggler "rank:$bad" --schedule 3d -- --slow-rank "$bad:1.5" ;;
	host-gap) plant "$2" "$3" cluster.straggler "rank:$bad" -- --host-gap "$bad:200" ;;
	host-gap-3d) plant "$2" "$3" cluster.straggler "rank:$bad" --schedule 3d -- --host-gap "$bad:1000" ;;
	slow-link) plant "$2" "$3" cluster.slow-link "link:$pair-$((pair + 1))" -- --slow-link "$pair-$((pair + 1)):4" ;;
	slow-link-3d) plant "$2" "$3" cluster.slow-link "link:$pair-$((pair + 1))" --schedule 3d -- --slow-link "$pair-$((pair + 1)):4" ;;
	healthy) healthy "$2" "$3" ;;
	healthy-3d) healthy "$2" "$3" --schedule 3d ;;
	*) echo "unknown case '$1'" >&2 && exit 2 ;;
	esac
}

sweep
