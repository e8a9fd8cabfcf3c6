#!/usr/bin/env bash
# The partition of each rank's step: every nanosecond once, in every form of input.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# cells <json>: rank, step, whether the leaves sum to the totals, and how many there are
cells() {
	sqlite3 :memory: "
		CREATE TABLE part AS SELECT s.value ->> 'step' AS step, r.value ->> 'rank' AS rank, r.value ->> 'device' AS device,
			r.value ->> 'span_ns' AS span, r.value ->> 'iteration_ns' AS iteration,
			r.value ->> 'between_ns' AS gap, r.value ->> 'computing_ns' AS computing,
			r.value ->> 'communication_not_overlapped_ns' AS exposed, r.value ->> 'free_ns' AS free,
			p.value ->> 'leaf' AS leaf, p.value ->> 'ns' AS ns
			FROM json_each(readfile('$1'), '\$.steps') s, json_each(s.value, '\$.ranks') r,
			json_each(r.value, '\$.partition') p WHERE p.type = 'object';
		SELECT rank, step, CASE WHEN sum(ns) = coalesce(iteration, span) AND (iteration IS NULL) = (gap IS NULL)
			AND coalesce(sum(ns) FILTER (WHERE leaf LIKE 'between/%'), 0) = coalesce(gap, 0)
			AND coalesce(span + gap, span) = sum(ns)
			AND sum(ns) FILTER (WHERE leaf LIKE 'compute/%') = computing
			AND coalesce(sum(ns) FILTER (WHERE leaf LIKE 'comm/%'), 0) = exposed
			AND coalesce(sum(ns) FILTER (WHERE leaf = 'memcpy' OR leaf LIKE 'free/%'), 0) = free
			AND count(DISTINCT leaf) = count(*) AND min(ns) > 0 THEN 'exact' ELSE 'wrong' END
			FROM part GROUP BY rank, step, device ORDER BY rank, step, device"
}

# leaves <json>: the leaves of all ranks and steps, without the division into wait and transfer
leaves() {
	sqlite3 :memory: "
		SELECT s.value ->> 'step', r.value ->> 'rank',
			replace(replace(p.value ->> 'leaf', '/wait', ''), '/transfer', '') AS leaf, sum(p.value ->> 'ns')
			FROM json_each(readfile('$1'), '\$.steps') s, json_each(s.value, '\$.ranks') r,
			json_each(r.value, '\$.partition') p WHERE p.type = 'object'
			GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
}

more=()

# analyse <name> <directory>: its JSON in $work/<name>.json
analyse() {
	run "$npuprof" cluster -d "$2" -o "$work/out-$1" -f json -q "${more[@]}"
	cp "$work/stdout" "$work/$1.json"
}

# form <name> <form> <cells> <synth options>...: make a run; all its cells must be exact
form() {
	local name=$1 form=$2 count=$3

	shift 3
	rm -rf "${work:?}/$name"
	run "$synth" -q -o "$work/$name" --format "$form" --kernels-per-layer 6 --layers 4 "$@"
	expect_exit 0
	analyse "$name" "$work/$name"
	expect_equal "$(cells "$work/$name.json" | cut -d '|' -f 3 | sort | uniq -c | tr -s ' ')" " $count exact"
	leaves "$work/$name.json" >"$work/$name.leaves"
}

behaviour 'leaves sum to the iteration, or the span of the last step, to computing, to exposed communication and to free'
form dp db 8 --schedule dp --ranks 4 --steps 2 --seed 1 --slow-rank 2:1.3
form tp db 16 --schedule 3d --ranks 8 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2 --seed 3
form pp db 8 --schedule pp --ranks 4 --pp 4 --micro-batches 4 --p2p batch --steps 2 --seed 4
form ep db 8 --schedule ep --ranks 4 --ep 4 --steps 2 --seed 5
form level0 db 8 --ranks 4 --steps 2 --seed 6 --level 0
form clocks db 8 --ranks 4 --steps 2 --seed 7 --hosts 2

behaviour 'computing is by operator type, communication by group and what it did, what is free by its cause'
expect_equal "$(cut -d '|' -f 3 "$work/dp.leaves" | sort -u | grep -c '^compute/[A-Z]')" \
	"$(cut -d '|' -f 3 "$work/dp.leaves" | sort -u | grep -c '^compute/')"
for leaf in comm/%/wait comm/%/transfer free/host free/other; do
	expect "$leaf is among them" test "$(sqlite3 "$work/out-dp/cluster_analysis_output/cluster_analysis.db" \
		"SELECT count(*) FROM np_partition WHERE leaf LIKE '$leaf'")" -gt 0
done
expect_equal "$(grep -c '|compute/' "$work/level0.leaves")" "$(grep -c '|compute/unknown|' "$work/level0.leaves")"

behaviour 'without marks the iterations found are divided like steps'
form marks db 8 --ranks 4 --steps 2 --seed 1 --no-steps
form text text 8 --ranks 4 --steps 2 --seed 1 --no-steps
expect 'text agrees' diff "$work/marks.leaves" "$work/text.leaves"

behaviour 'without steps the whole capture is one, with the copies between the steps'
more=(--steps-from none)
form marks db 4 --ranks 4 --steps 2 --seed 1 --no-steps
form text text 4 --ranks 4 --steps 2 --seed 1 --no-steps
expect_equal "$(grep -c '|memcpy|' "$work/marks.leaves")" 4
expect 'text agrees' diff "$work/marks.leaves" "$work/text.leaves"
more=()

behaviour 'a host that stops is what the device was free for'
form gap db 8 --ranks 4 --steps 2 --seed 1 --host-gap 2:500
expect_equal "$(awk -F '|' '$1 == 10 && $3 == "free/host" { print $4, $2 }' "$work/gap.leaves" | sort -n | tail -n 1 | cut -d ' ' -f 2)" 2

behaviour 'the table is the JSON'
expect_equal "$(sqlite3 "$work/out-dp/cluster_analysis_output/cluster_analysis.db" \
	'SELECT step, rank, leaf, ns FROM np_partition ORDER BY 1, 2, 3' | sha256sum)" \
	"$(sqlite3 :memory: "SELECT s.value ->> 'step', r.value ->> 'rank', p.value ->> 'leaf', p.value ->> 'ns'
		FROM json_each(readfile('$work/dp.json'), '\$.steps') s, json_each(s.value, '\$.ranks') r,
		json_each(r.value, '\$.partition') p ORDER BY 1, 2, 3" | sha256sum)"

behaviour 'text equals db'
form text text 8 --schedule dp --ranks 4 --steps 2 --seed 1 --slow-rank 2:1.3
expect 'dp' diff "$work/dp.leaves" "$work/text.leaves"
form text text 16 --schedule 3d --ranks 8 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2 --seed 3
expect '3d' diff "$work/tp.leaves" "$work/text.leaves"
form text text 8 --schedule ep --ranks 4 --ep 4 --steps 2 --seed 5
expect 'ep' diff "$work/ep.leaves" "$work/text.leaves"
form db msprof-db 8 --ranks 4 --steps 2 --seed 9
form text msprof-text 8 --ranks 4 --steps 2 --seed 9
expect 'msprof' diff "$work/db.leaves" "$work/text.leaves"
form monitor msmonitor 8 --ranks 4 --steps 2 --seed 9
form mindspore mindspore-text 8 --ranks 4 --steps 2 --seed 9

behaviour 'a table of kernels alone tells no causes, and tells the rest'
form kernels text 8 --schedule dp --ranks 4 --steps 2 --seed 1 --slow-rank 2:1.3
find "$work/kernels" -name trace_view.json -delete
analyse kernels "$work/kernels"
leaves "$work/kernels.json" >"$work/kernels.leaves"
expect_equal "$(cells "$work/kernels.json" | cut -d '|' -f 3 | sort | uniq -c | tr -s ' ')" ' 8 exact'
expect_equal "$(grep '|free/' "$work/kernels.leaves" | cut -d '|' -f 3 | sort -u)" free/unknown
expect_equal "$(grep '|between/' "$work/kernels.leaves" | cut -d '|' -f 3 | sort -u)" between/unknown
expect 'computing is the same' diff <(grep '|compute/' "$work/dp.leaves") <(grep '|compute/' "$work/kernels.leaves")

behaviour 'without any intervals there are totals and no partition, and that is said'
find "$work/kernels" -name kernel_details.csv -delete
analyse none "$work/kernels"
expect_equal "$(sqlite3 :memory: "SELECT DISTINCT json_type(r.value, '\$.partition')
	FROM json_each(readfile('$work/none.json'), '\$.steps') s, json_each(s.value, '\$.ranks') r")" null
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'reason' FROM json_each(readfile('$work/none.json'), '\$.trust.withheld')
	WHERE value ->> 'what' = 'partition of the step'")" 'no intervals of kernels: totals alone'

behaviour 'steps that are asked for keep their partition'
run "$npuprof" cluster -d "$work/dp" -o "$work/out-one" -f json -q --steps 11
expect_exit 0
cp "$work/stdout" "$work/one.json"
expect 'step 11 is as among all' diff <(grep '^11|' "$work/dp.leaves") <(leaves "$work/one.json")
expect_equal "$(cells "$work/one.json" | cut -d '|' -f 3 | sort | uniq -c | tr -s ' ')" ' 4 exact'

behaviour 'recorded profiles are divided exactly'
if [[ -z ${NPUPROF_SHARED:-} || ! -d $NPUPROF_SHARED/data ]]; then
	echo 'left out: no recorded profiles (NPUPROF_SHARED)'
else
	for data in resnet-2of8/db/level0 resnet-2of8/db/level1 resnet-2of8/text/level0 resnet-2of8/text/level1 \
		llm-pp2dp2; do
		analyse recorded "$NPUPROF_SHARED/data/$data"
		expect "$data" test "$(cells "$work/recorded.json" | cut -d '|' -f 3 | sort | uniq -c | tr -s ' ')" = ' 2 exact'
	done
	# Ranks 1 and 3 of the last have step and communication files alone.
	expect_equal "$(cells "$work/recorded.json" | cut -d '|' -f 1 | tr '\n' ' ')" '0 2 '
fi
