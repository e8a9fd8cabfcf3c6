#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How often the cause of waiting is found, over many simulated clusters: the table "Waiting and its
# origin" of doc/accuracy.md.
#
#	tools/sweep/charge.sh [-s SEEDS] [-r "RANKS..."] [-c "CASES..."]
#
# A release build is expected in build/release (or in $NPUPROF_BUILD). One line per case and size.
. "$(dirname "$0")/lib.sh"
cases='slow-rank healthy host-gap two-away clock-hosts clock-rank shifted dropped'
sweep_options "$@"

# charges: what each rank owes by the arrivals in truth.json: the gap between the m-th and the next
# arrival makes m ranks wait and is owed in equal parts by those behind it
charges="
	CREATE TEMP TABLE arrival AS SELECT i.key AS instance, m.value ->> 'rank' AS rank, m.value ->> 'start_ns' AS start
		FROM json_each(readfile('$work/run/truth.json'), '\$.instances') i, json_each(i.value, '\$.members') m;
	CREATE TEMP TABLE placed AS SELECT *, row_number() OVER w AS place, lag(start) OVER w AS earlier,
		count(*) OVER (PARTITION BY instance) AS members FROM arrival WINDOW w AS (PARTITION BY instance ORDER BY start);
	CREATE TEMP TABLE owed AS SELECT rank, sum((place - 1.0) * (start - earlier) / (members - place + 1))
		OVER (PARTITION BY instance ORDER BY place) AS cost FROM placed;"

# first: rank, cause, kind of verdict, named rank
first="SELECT readfile('$work/json') ->> '\$.stragglers[0].rank', readfile('$work/json') ->> '\$.stragglers[0].cause',
	readfile('$work/json') ->> '\$.verdict.kind'"

# charge_is_right <rank>: 1 if the rank's direct charge is within 5 % of what it owes by truth.json
charge_is_right() {
	query "$charges SELECT abs((SELECT sum(value ->> 'direct_ns') FROM json_each(readfile('$work/json'), '\$.stragglers')
		WHERE value ->> 'rank' = $1) * 1.0 / (SELECT sum(cost) FROM owed WHERE rank = $1) - 1) < 0.05"
}

# clock_error: p90 over ranks of the difference between found and true offset, both against their median, in ns
clock_error() {
	query "CREATE TEMP TABLE begin AS SELECT rank, min(start_ns) AS begin_ns FROM np_wait GROUP BY rank;
		CREATE TEMP TABLE truth AS SELECT t.value ->> 'rank' AS rank, t.value ->> 'clock_offset_ns' AS offset_ns, t.value ->> 'clock_drift_ppm' AS ppm
			FROM json_each(readfile('$work/run/truth.json'), '\$.ranks') t;
		CREATE TEMP TABLE epoch AS SELECT readfile('$work/run/truth.json') ->> '\$.epoch_ns' AS ns;
		CREATE TEMP TABLE off AS SELECT rank, c.offset_ns - t.offset_ns
			- CAST(t.ppm * 1e-6 * (b.begin_ns - e.ns - t.offset_ns) AS INTEGER) AS error
			FROM np_clock c JOIN begin b USING (rank) JOIN truth t USING (rank) JOIN epoch e;
		CREATE TEMP TABLE sorted AS SELECT abs(error - (SELECT error FROM off ORDER BY error LIMIT 1 OFFSET (SELECT count(*) / 2 FROM off))) AS e
			FROM off ORDER BY 1;
		SELECT e FROM sorted LIMIT 1 OFFSET (SELECT (count(*) - 1) * 9 / 10 FROM sorted)"
}

# one_slow_rank <ranks> <seed>: small profiles, four steps, a tenth slower
one_slow_rank() {
	bad=$(($2 * 7 % $1))
	simulate --ranks "$1" --steps 4 --seed "$2" --layers 4 --kernels-per-layer 4 --slow-rank "$bad:1.1"
	found=$(query "$first")
	score first "$([ "${found%%|*}" = "$bad" ] && echo 1)"
	score cause "$(case $found in "$bad|compute|"*) echo 1 ;; esac)"
	score charge "$(charge_is_right "$bad")"
}

healthy() {
	simulate --ranks "$1" --steps 4 --seed "$2" --layers 4 --kernels-per-layer 4
	score nobody "$(case $(query "$first") in *'|none') echo 1 ;; esac)"
}

host_gap() {
	bad=$(($2 * 5 % $1))
	simulate --ranks "$1" --steps 4 --seed "$2" --layers 4 --kernels-per-layer 4 --host-gap "$bad:200"
	found=$(query "$first")
	score first "$([ "${found%%|*}" = "$bad" ] && echo 1)"
	score cause "$(case $found in "$bad|host|"*) echo 1 ;; esac)"
}

# The slow rank keeps its tensor parallel group waiting, whose members keep their data parallel groups
# waiting: in most of those the slow rank is not a member.
two_away() {
	bad=$(($2 * 3 % $1))
	simulate --schedule 3d --tp 4 --pp 1 --ranks "$1" --steps 4 --seed "$2" --layers 4 --kernels-per-layer 4 \
		--slow-rank "$bad:1.3"
	found=$(query "$first")
	score origin "$([ "${found%%|*}" = "$bad" ] && echo 1)"
}

clock_hosts() {
	simulate --ranks "$1" --steps 100 --seed "$2" --layers 1 --kernels-per-layer 2 --buckets 10 --no-instances --hosts "$(($1 / 8 < 4 ? 4 : $1 / 8))" \
		--clock-skew host1:120s:20 --clock-skew host2:-120s:-20
	error=$(clock_error)
	score 'p90 < 10 us' "$([ "${error:-99999}" -lt 10000 ] && echo 1)"
}

clock_rank() {
	simulate --ranks "$1" --steps 100 --seed "$2" --layers 1 --kernels-per-layer 2 --buckets 10 --no-instances \
		--clock-skew "$(($2 % $1)):250us"
	error=$(clock_error)
	score 'p90 < 10 us' "$([ "${error:-99999}" -lt 10000 ] && echo 1)"
}

shifted() {
	simulate --ranks "$1" --steps 4 --seed "$2" --layers 4 --kernels-per-layer 4 --shift-ordinals "$(($2 % $1)):7"
	score 'all matched' "$(query "SELECT sum(ranks_matched <> ranks_expected) = 0 FROM np_instance")"
}

dropped() {
	simulate --ranks "$1" --steps 4 --seed "$2" --layers 4 --kernels-per-layer 4 --drop-ops "$(($2 % $1)):3"
	score 'only those lost' "$(query "SELECT sum(ranks_matched <> ranks_expected) = 3 FROM np_instance")"
}

run_case() {
	case $1 in
	slow-rank) one_slow_rank "$2" "$3" ;;
	healthy) healthy "$2" "$3" ;;
	host-gap) host_gap "$2" "$3" ;;
	two-away) two_away "$2" "$3" ;;
	clock-hosts) clock_hosts "$2" "$3" ;;
	clock-rank) clock_rank "$2" "$3" ;;
	shifted) shifted "$2" "$3" ;;
	dropped) dropped "$2" "$3" ;;
	*) echo "unknown case '$1'" >&2 && exit 2 ;;
	esac
}

sweep
