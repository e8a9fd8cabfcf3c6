#!/usr/bin/env bash
# Operators matched over ranks on one clock: waits as the generator knows them, charged to who came late.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# analyse <synth options>...: generate and analyse; $db is the merged database, $json the result
analyse() {
	rm -rf "$work/c" "$work/out"
	run "$synth" -o "$work/c" --kernels-per-layer 4 --layers 4 "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	db=$work/out/cluster_analysis_output/cluster_analysis.db
	json=$work/stdout
}

# off_by <threshold ns>: share in % of operators whose wait is farther from the truth than that
off_by() {
	sqlite3 "$db" "
		CREATE TEMP TABLE truth AS SELECT m.value ->> 'rank' AS rank, i.value ->> 'group' AS grp,
			row_number() OVER (PARTITION BY m.value ->> 'rank', i.value ->> 'group' ORDER BY m.value ->> 'start_ns') AS n,
			m.value ->> 'wait_ns' AS wait
			FROM json_each(readfile('$work/c/truth.json'), '\$.instances') i, json_each(i.value, '\$.members') m;
		CREATE TEMP TABLE ours AS SELECT rank, group_name AS grp,
			row_number() OVER (PARTITION BY rank, group_name ORDER BY start_ns) AS n, wait_ns AS wait
			FROM np_wait w JOIN np_instance i ON i.id = w.instance;
		SELECT CAST(100.0 * sum(abs(t.wait - o.wait) > $1) / count(*) AS INTEGER), count(*) = (SELECT count(*) FROM truth)
			FROM truth t JOIN ours o USING (rank, grp, n)"
}

# sums: charges + not profiled + unattributed − all waiting, and wait + transit − elapsed, which are 0
sums() {
	sqlite3 "$db" "SELECT (SELECT coalesce(sum(value ->> 'cost_ns'), 0) FROM json_each(readfile('$json'), '\$.stragglers'))
		+ (readfile('$json') ->> '\$.unattributed_ns') - (SELECT sum(wait_ns) FROM np_wait),
		(SELECT sum(wait_ns + transit_ns - end_ns + start_ns) FROM np_wait)"
}

violations() {
	sqlite3 :memory: "SELECT readfile('$json') ->> '\$.trust.clock.violations',
		readfile('$json') ->> '\$.trust.clock.violation_max_ns'"
}

first_charged() {
	sqlite3 :memory: "SELECT readfile('$json') ->> '\$.stragglers[0].rank', readfile('$json') ->> '\$.stragglers[0].kind'"
}

behaviour 'a slow rank is charged first and chronically, with one host and with two that disagree by two minutes'
for clock in 0us 120s; do
	analyse --ranks 8 --steps 4 --seed 3 --slow-rank 5:1.3 --hosts 2 --clock-skew host1:$clock:20
	expect_equal "$(first_charged)" '5|chronic'
	expect_equal "$(sums)" '0|0'
	expect_equal "$(off_by 50000)" '0|1'
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$json') ->> '\$.trust.ops_matched' =
		readfile('$json') ->> '\$.trust.ops_total', readfile('$json') ->> '\$.trust.clock.method'")" '1|collectives'
	expect_equal "$(violations)" '0|0'
done

behaviour 'the manifest of the collector is believed'
analyse --ranks 8 --steps 2 --seed 4 --hosts 2 --clock-skew host1:5ms --manifest
expect_equal "$(sqlite3 :memory: "SELECT readfile('$json') ->> '\$.trust.clock.method'")" manifest
expect_equal "$(sums)" '0|0'

behaviour 'clocks that contradict what happened are said to, and the larger of both figures is shown'
sed -i 's/"offset_ns": *\(-\{0,1\}[0-9]*\)/"offset_ns": 1\1/' "$work/c/npuprof_manifest.json"
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_exit 0
json=$work/stdout
expect_equal "$(sqlite3 :memory: "SELECT readfile('$json') ->> '\$.trust.clock.violations' > 0,
	readfile('$json') ->> '\$.trust.clock.violation_max_ns' > 9000000")" '1|1'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says 'error ≤'

behaviour 'tensor parallel, pipeline and three dimensions: sums are exact, every operator has a place'
for schedule in '--schedule tp --tp 4 --ranks 4' '--schedule pp --pp 4 --ranks 4 --micro-batches 4' \
	'--schedule 3d --tp 2 --pp 2 --dp 2 --ranks 8 --micro-batches 4'; do
	# shellcheck disable=SC2086
	analyse $schedule --steps 2 --seed 5
	expect_equal "$(sums)" '0|0'
	expect_equal "$(sqlite3 "$db" 'SELECT (SELECT count(*) FROM np_wait) = (SELECT sum(ranks_matched) FROM np_instance)')" 1
done

behaviour 'shifted numbers in names change nothing, lost operators lose only their own instances'
analyse --ranks 4 --steps 2 --seed 6 --shift-ordinals 2:7
expect_equal "$(sqlite3 "$db" 'SELECT sum(ranks_matched <> 4) FROM np_instance')" 0
analyse --ranks 4 --steps 2 --seed 6 --drop-ops 1:2
expect_equal "$(sqlite3 "$db" 'SELECT sum(ranks_matched <> 4) FROM np_instance')" 2
expect_equal "$(sums)" '0|0'

behaviour 'what ranks that were not profiled owe is charged to them'
analyse --ranks 8 --steps 2 --seed 7 --slow-rank 5:1.5 --omit-ranks 5
expect_equal "$(sqlite3 :memory: "SELECT readfile('$json') -> '\$.stragglers[0].rank'")" null
expect_equal "$(sums)" '0|0'

behaviour 'a host that launches late is told from computing while gradients are reduced'
# Those who wait have computed ahead: between two reductions they did nothing, and what the late rank computed there is no excess.
for seed in 3 9001; do
	rm -rf "$work/ahead"
	"$synth" -q -o "$work/ahead" --ranks 8 --layers 2 --kernels-per-layer 6 --steps 4 --seed $seed --host-gap 3:400 || exit 1
	run "$npuprof" cluster -q -d "$work/ahead" --no-db
	expect_stdout_says 'rank 3 makes the others wait (chronic): its host launches late'
done
