#!/usr/bin/env bash
# Slow links, bad senders and bad receivers, found in simulated clusters; none where there are none.
# tools/sweep/links.sh counts over many seeds how often.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# analyse <synth options>...: generate and analyse; $db is the merged database, $work/json the result
analyse() {
	rm -rf "$work/c" "$work/out"
	run "$synth" -q -o "$work/c" --steps 2 --kernels-per-layer 4 --layers 4 --no-instances "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit 0
	cp "$work/stdout" "$work/json"
	db=$work/out/cluster_analysis_output/cluster_analysis.db
}

# slow: the slow links
slow() {
	sqlite3 "$db" "SELECT DISTINCT src, dst, kind FROM np_link WHERE verdict = 'slow' ORDER BY src, dst"
}

behaviour 'a link at half speed is named with both ends, in a mesh, among pairs and in a ring over hosts'
analyse --schedule dp --ranks 8 --seed 1 --slow-link 2-5:2
expect_equal "$(slow)" '2|5|link
5|2|link'
expect_equal "$(sqlite3 "$db" "SELECT min(gb_per_s BETWEEN 9 AND 11), min(peers_gb_per_s BETWEEN 18 AND 21), min(transport)
	FROM np_link WHERE verdict = 'slow'")" '1|1|HCCS'
analyse --schedule 3d --ranks 8 --seed 2 --slow-link 4-5:2
expect_equal "$(slow)" '4|5|link
5|4|link'
analyse --schedule dp --ranks 16 --hosts 4 --seed 3 --slow-link 7-8:2
expect_equal "$(slow)" '7|8|link'
expect_equal "$(sqlite3 "$db" "SELECT transport FROM np_link WHERE verdict = 'slow'")" RDMA

behaviour 'the screen says so in one line, with both ends and the speed of other links'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says 'slow link from rank 7 to rank 8: RDMA' 'GB/s, comparable links'

behaviour 'a link that is slower yet is named too: it outlives everything that ran beside it'
analyse --schedule dp --ranks 8 --seed 3 --slow-link 3-7:8
expect_equal "$(slow)" '3|7|link
7|3|link'

behaviour 'JSON and table tell the same'
expect_equal "$(sqlite3 "$db" "SELECT count(*) FROM np_link l JOIN json_each(readfile('$work/json'), '\$.links') j
	ON j.value ->> 'src' = l.src AND j.value ->> 'dst' = l.dst AND j.value ->> 'transport' = l.transport
	AND j.value ->> 'plane' = l.plane AND j.value ->> 'bytes' = l.bytes AND j.value ->> 'time_ns' = l.time_ns
	AND j.value ->> 'verdict' = l.verdict AND j.value ->> 'kind' IS l.kind")" \
	"$(sqlite3 "$db" 'SELECT count(*) FROM np_link')"

behaviour 'a bad sender and a bad receiver are told apart'
analyse --schedule dp --ranks 8 --seed 4 --slow-sender 3:2
expect_equal "$(sqlite3 "$db" "SELECT DISTINCT src, kind FROM np_link WHERE verdict = 'slow'")" '3|sender'
expect_equal "$(slow | wc -l)" 7
analyse --schedule dp --ranks 8 --seed 4 --slow-receiver 3:2
expect_equal "$(sqlite3 "$db" "SELECT DISTINCT dst, kind FROM np_link WHERE verdict = 'slow'")" '3|receiver'
expect_equal "$(slow | wc -l)" 7

behaviour 'also over the only link that it has of another transport'
analyse --ranks 16 --pp 2 --seed 5 --slow-sender 2:2.5
expect_equal "$(sqlite3 "$db" "SELECT DISTINCT src, kind, transport FROM np_link WHERE verdict = 'slow' ORDER BY 3")" '2|sender|HCCS
2|sender|RDMA'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says 'rank 2 is slow in all that it transfers to others'
analyse --ranks 16 --pp 2 --seed 5 --slow-receiver 2:2.5
expect_equal "$(sqlite3 "$db" "SELECT DISTINCT dst, kind, transport FROM np_link WHERE verdict = 'slow' ORDER BY 3")" '2|receiver|HCCS
2|receiver|RDMA'

behaviour 'sound clusters, uneven experts and slow ranks show no slow link'
for options in '--schedule dp --ranks 8' '--schedule 3d --ranks 16 --hosts 2' '--schedule ep --ranks 8 --expert-skew 0.8' \
	'--schedule dp --ranks 8 --slow-rank 3:1.5'; do
	# shellcheck disable=SC2086
	analyse $options --seed 5
	expect_equal "$(slow)" ''
	expect "there are links ($options)" test "$(sqlite3 "$db" "SELECT count(*) FROM np_link WHERE verdict = 'ok'")" -gt 20
done

behaviour 'text files tell the same as databases'
for form in db text; do
	analyse --schedule 3d --ranks 8 --seed 6 --slow-link 0-2:2 --format $form
	sqlite3 "$db" 'SELECT * FROM np_link' >"$work/links.$form"
done
expect 'equal rows' cmp "$work/links.db" "$work/links.text"
expect_equal "$(slow)" '0|2|link
2|0|link'

behaviour 'at Level0 communicators are compared, and the pair that only slow ones have is named'
analyse --schedule 3d --ranks 8 --seed 7 --level 0 --slow-link 2-3:2
expect_equal "$(slow)" '2|3|link'
expect_equal "$(sqlite3 "$db" 'SELECT bytes IS NULL, time_ns IS NULL, transport IS NULL FROM np_link')" '1|1|1'
analyse --schedule 3d --ranks 8 --seed 7 --level 0
expect_equal "$(slow)" ''

behaviour 'operators that were sent again are counted on their links'
analyse --schedule dp --ranks 4 --seed 9
sqlite3 "$(find "$work/c" -name 'ascend_pytorch_profiler_2.db')" 'UPDATE COMMUNICATION_OP SET retry = 1
	WHERE opId IN (SELECT min(opId) FROM COMMUNICATION_OP)'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_equal "$(sqlite3 "$db" 'SELECT DISTINCT src FROM np_link WHERE retries > 0')" 2
expect_equal "$(slow)" ''

behaviour 'two ranks alone: both ways as slow as each other say nothing, one way alone does'
analyse --schedule dp --ranks 2 --seed 9 --slow-link 0-1:2
expect_equal "$(sqlite3 "$db" 'SELECT src, dst, verdict FROM np_link ORDER BY src')" '0|1|unknown
1|0|unknown'
analyse --schedule dp --ranks 2 --seed 9 --slow-sender 0:3
expect_equal "$(slow)" '0|1|link'

behaviour 'a link that two communicators use at once is not slow'
analyse --schedule dp --ranks 8 --seed 10
for rank in 3 4; do
	# Everything to the other one twice, at the same time, each taking twice as long.
	sqlite3 "$(find "$work/c" -name "ascend_pytorch_profiler_$rank.db")" "
		CREATE TEMP TABLE shared AS SELECT globalTaskId FROM COMMUNICATION_TASK_INFO WHERE size > 0 AND dstRank = $((7 - rank));
		UPDATE TASK SET endNs = 2 * endNs - startNs WHERE globalTaskId IN (SELECT globalTaskId FROM shared);
		CREATE TEMP TABLE tasks AS SELECT * FROM TASK WHERE globalTaskId IN (SELECT globalTaskId FROM shared);
		CREATE TEMP TABLE infos AS SELECT * FROM COMMUNICATION_TASK_INFO WHERE globalTaskId IN (SELECT globalTaskId FROM shared);
		UPDATE tasks SET globalTaskId = globalTaskId + 1000000;
		UPDATE infos SET globalTaskId = globalTaskId + 1000000;
		INSERT INTO TASK SELECT * FROM tasks;
		INSERT INTO COMMUNICATION_TASK_INFO SELECT * FROM infos"
done
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_exit 0
expect_equal "$(slow)" ''
expect_equal "$(sqlite3 "$db" "SELECT src, dst FROM np_link WHERE verdict = 'unknown' ORDER BY src")" '3|4
4|3'

behaviour 'two links of one ring that hide each other are named together'
rm -rf "$work/c"
run "$synth" -q -o "$work/c" --schedule dp --ranks 16 --hosts 4 --steps 3 --kernels-per-layer 4 --layers 4 --seed 3 --no-instances \
	--slow-link 3-4:4 --slow-link 11-12:4
expect_exit 0
run "$npuprof" cluster --no-db -d "$work/c" -f json
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.kind',
	(readfile('$work/stdout') ->> '\$.verdict.recovered_ns') > (readfile('$work/stdout') ->> '\$.verdict.lost_ns') * 0.6,
	json_array_length(readfile('$work/stdout') -> '\$.verdict.with')")" 'link|1|1'

behaviour 'without lists of members, those who were all profiled are in order'
for path in "$work"/c/*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db; do
	sqlite3 "$path" "DELETE FROM META_DATA WHERE name = 'parallel_group_info';
		DELETE FROM COMMUNICATION_TASK_INFO WHERE srcRank = dstRank"
done
rm -f "$work"/c/*_ascend_pt/profiler_metadata.json "$work"/c/*_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db
run "$npuprof" cluster --no-db -d "$work/c"
expect_stdout_says 'slow link from rank 11 to rank 12'
expect_stdout_lacks 'local rank'

behaviour 'the number of threads changes nothing'
analyse --schedule 3d --ranks 8 --seed 8 --slow-link 0-1:2
for jobs in 1 4; do
	run "$npuprof" cluster -j $jobs -d "$work/c" -f csv --table np_link
	cp "$work/stdout" "$work/jobs.$jobs"
done
expect 'equal output' cmp "$work/jobs.1" "$work/jobs.4"
