#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --export text: the files of text profiles, with the figures of the database; on recorded
# profiles also against what the vendor's tool writes. Where that is wrong, it is said.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

header='Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing'
places='DP Index,PP Index,TP Index'
times=(computing communication_not_overlapped overlapped communication free stage bubble
	communication_not_overlapped_and_exclude_receive preparing)

# tables_of <name> <directory>: SQL that reads text files as tables <name>_time, <name>_link …
tables_of() {
	local at=$2/cluster_analysis_output

	cat <<-SQL
		CREATE TEMP TABLE $1_op AS SELECT k.key AS ranks, s.key AS step,
			substr(o.key, 1, instr(o.key, '@') - 1) AS name, substr(o.key, instr(o.key, '@') + 1) AS grp,
			r.key + 0 AS rank, r.value AS info
			FROM json_each(coalesce(readfile('$at/cluster_communication.json'), '{}')) k, json_each(k.value) s,
			json_each(s.value) o, json_each(o.value) r;
		CREATE TEMP TABLE $1_time AS SELECT ranks, step, name, grp, rank, t ->> '\$."Start Timestamp(us)"' AS start,
			t ->> '\$."Elapse Time(ms)"' AS elapsed, t ->> '\$."Transit Time(ms)"' AS transit,
			t ->> '\$."Wait Time(ms)"' AS wait, t ->> '\$."Synchronization Time(ms)"' AS sync,
			t ->> '\$."Idle Time(ms)"' AS idle, t ->> '\$."Wait Time Ratio"' AS wait_ratio,
			t ->> '\$."Synchronization Time Ratio"' AS sync_ratio
			FROM (SELECT *, info -> '\$."Communication Time Info"' AS t FROM $1_op);
		CREATE TEMP TABLE $1_band AS SELECT step, name, grp, rank, b.key AS band,
			b.value ->> '\$."Transit Size(MB)"' AS size, b.value ->> '\$."Transit Time(ms)"' AS time,
			b.value ->> '\$."Bandwidth(GB/s)"' AS bandwidth, b.value ->> '\$."Large Packet Ratio"' AS large,
			b.value -> '\$."Size Distribution"' AS packages
			FROM $1_op, json_each(info, '\$."Communication Bandwidth Info"') b;
		CREATE TEMP TABLE $1_package AS SELECT step, name, grp, rank, band, p.key + 0.0 AS size,
			p.value ->> 0 AS count, p.value ->> 1 AS time FROM $1_band, json_each(packages) p;
		CREATE TEMP TABLE $1_link AS SELECT k.key AS ranks, s.key AS step,
			substr(o.key, 1, instr(o.key, '@') - 1) AS name, substr(o.key, instr(o.key, '@') + 1) AS grp,
			l.key AS link, l.value ->> '\$."Transit Size(MB)"' AS size, l.value ->> '\$."Transit Time(ms)"' AS time,
			l.value ->> '\$."Bandwidth(GB/s)"' AS bandwidth, l.value ->> '\$."Transport Type"' AS transport,
			l.value ->> '\$."Op Name"' AS op
			FROM json_each(coalesce(readfile('$at/cluster_communication_matrix.json'), '{}')) k, json_each(k.value) s,
			json_each(s.value) o, json_each(o.value) l;
		CREATE TEMP TABLE $1_group AS SELECT g.value ->> 'type' AS type,
			replace(replace(g.value ->> 'rank_set', '[', '('), ']', ')') AS ranks, g.value ->> 'group_name' AS grp,
			g.value ->> 'group_id' AS id, g.value ->> 'pg_name' AS pg_name
			FROM json_each(readfile('$at/communication_group.json'), '\$.comm_group_parallel_info') g;
		CREATE TABLE temp.$1_steps(step, type, place, $(printf '%s, ' "${times[@]:0:8}")${times[8]}
			$(grep -q "$places" "$at/cluster_step_trace_time.csv" && echo ', dp, pp, tp'));
		.import --csv --skip 1 "$at/cluster_step_trace_time.csv" $1_steps
	SQL
}

# export_text <directory> <out> [option]...: run it, and have the text as tables o_* beside the database
export_text() {
	run "$npuprof" cluster -d "$1" -o "$2" --export text "${@:3}"
	expect_exit 0
	out=$2/cluster_analysis_output
	db=$out/cluster_analysis.db
	tables_of o "$2" >"$work/tables"
}

# query <sql>: the answer over the database and the text
query() {
	{ cat "$work/tables" && printf '%s;\n' "$1"; } | sqlite3 "$db"
}

# six <column>...: columns in six decimals, which are whole nanoseconds and bytes
six() {
	local column list=''

	for column; do list="$list, printf('%.6f', $column)"; done
	echo "${list#, }"
}

# same <columns> <text> <columns> <database>: both have the same rows, and there are some
same() {
	expect_equal "$(query "SELECT (SELECT count(*) > 0 FROM $2),
		(SELECT count(*) FROM (SELECT $1 FROM $2 EXCEPT SELECT $3 FROM $4)),
		(SELECT count(*) FROM (SELECT $3 FROM $4 EXCEPT SELECT $1 FROM $2)),
		(SELECT count(*) FROM $2) - (SELECT count(*) FROM $4)")" '1|0|0|0'
}

# text_equals_database: steps, operators, links and communicators, row by row
text_equals_database() {
	same "step, type, place, $(six "${times[@]}")" o_steps \
		"coalesce(step, ''), type, replace(\"index\", ',', ', '), $(six "${times[@]}")" ClusterStepTraceTime
	same "step, rank, name, grp, $(six elapsed transit wait sync idle wait_ratio sync_ratio)" o_time \
		"step, rank_id, hccl_op_name, group_name, $(six elapsed_time transit_time wait_time \
			synchronization_time idle_time wait_time_ratio synchronization_time_ratio)" ClusterCommunicationTime
	expect_equal "$(query 'SELECT max(abs(coalesce(start, 0) - start_timestamp)) <= 0.25 FROM o_time t
		JOIN ClusterCommunicationTime d ON (t.step, rank, name, grp) = (d.step, rank_id, hccl_op_name, group_name)')" 1
	same_bandwidth
	same "step, name, grp, link, transport, op, $(six size time bandwidth)" o_link \
		"step, hccl_op_name, group_name, printf('%d-%d', src_rank, dst_rank), transport_type, op_name, $(six \
			transit_size transit_time bandwidth)" ClusterCommunicationMatrix
	same 'type, ranks, grp, id, pg_name' o_group 'type, rank_set, group_name, group_id, pg_name' \
		CommunicationGroupMapping
}

# The database has a row for each packet size, and one without for the sum of transports.
same_bandwidth() {
	same "step, rank, name, grp, band, count, $(six size time)" o_package \
		"step, rank_id, hccl_op_name, group_name, band_type, count, $(six package_size total_duration)" \
		'(SELECT * FROM ClusterCommunicationBandwidth WHERE count > 0)'
	same "step, rank, name, grp, band, $(six size time bandwidth 'coalesce(large, 0)')" \
		'(SELECT * FROM o_band WHERE time > 0)' \
		"step, rank_id, hccl_op_name, group_name, band_type, $(six transit_size transit_time bandwidth \
			large_packet_ratio)" \
		'(SELECT DISTINCT step, rank_id, hccl_op_name, group_name, band_type, transit_size, transit_time, bandwidth,
			large_packet_ratio FROM ClusterCommunicationBandwidth)'
}

# observed: groups with their profiled ranks, as a key has them, from the JSON on stdout
observed() {
	sqlite3 :memory: "SELECT DISTINCT '(' || (SELECT group_concat(value, ', ') FROM json_each(c.value, '\$.observed'))
		|| CASE json_array_length(c.value, '\$.observed') WHEN 1 THEN ',)' ELSE ')' END, c.value ->> 'group'
		FROM json_each(readfile('$work/stdout'), '\$.communicators') c ORDER BY 2"
}

behaviour 'a run with pipeline, steps and all: the text has the rows of the database'
"$synth" -q -o "$work/c" --schedule 3d --ranks 8 --tp 2 --pp 2 --dp 2 --micro-batches 2 --steps 2 --layers 4 \
	--kernels-per-layer 4 || exit 1
before=$(snapshot "$work/c")
export_text "$work/c" "$work/3d" -f json
text_equals_database
expect_equal "$(ls "$out")" 'cluster_analysis.db
cluster_communication.json
cluster_communication_matrix.json
cluster_step_trace_time.csv
communication_group.json'
expect_equal "$(snapshot "$work/c")" "$before"

behaviour 'step times have places, and stages a quoted tuple and none'
expect_equal "$(head -n 1 "$out/cluster_step_trace_time.csv")" "$header,$places"
expect_equal "$(grep -c '^1[01],stage,"([0-9, ]*)",.*,NA,NA,NA$' "$out/cluster_step_trace_time.csv")" 4
same 'step, place, dp, pp, tp' "(SELECT * FROM o_steps WHERE type = 'rank')" \
	"step, \"index\", dp_index || '', pp_index || '', tp_index || ''" \
	"(SELECT * FROM ClusterStepTraceTime WHERE type = 'rank')"

behaviour 'communicators stand under the ascending tuple of their profiled ranks, also those of messages'
expect_equal "$(query 'SELECT DISTINCT ranks, grp FROM o_time ORDER BY 2')" "$(observed)"
expect_equal "$(query 'SELECT DISTINCT ranks, grp FROM o_link ORDER BY 2')" "$(observed)"
expect_equal "$(query "SELECT group_concat(key) FROM json_each(readfile('$out/communication_group.json'))")" \
	'collective,p2p,comm_group_parallel_info'
expect_equal "$(query "SELECT count(*) FROM json_each(readfile('$out/communication_group.json'), '\$.p2p')")" \
	"$(query "SELECT count(*) FROM o_group WHERE type = 'p2p'")"

behaviour 'totals have neither a start nor a ratio of large packets; operators have all transports'
expect_equal "$(query "SELECT count(*) > 0, count(start) FROM o_time WHERE name = 'Total Op Info'")" '1|0'
expect_equal "$(query "SELECT count(*) > 0, count(large) FROM o_band WHERE name = 'Total Op Info'")" '1|0'
expect_equal "$(query "SELECT DISTINCT group_concat(key) FROM o_op, json_each(info, '\$.\"Communication Bandwidth Info\"')
	GROUP BY o_op.rowid")" 'RDMA,HCCS,PCIE,SDMA,SIO'

behaviour 'the files do not depend on the number of threads'
export_text "$work/c" "$work/j4" -j 4
for file in "$work/3d/cluster_analysis_output"/*; do
	expect "$(basename "$file") is the same" cmp "$file" "$out/$(basename "$file")"
done

behaviour 'what was not asked for is not there, and not from an earlier run either; other files are kept'
touch "$out/mine.json"
export_text "$work/c" "$work/j4" -m communication_matrix
expect_equal "$(cd "$out" && echo *)" \
	'cluster_analysis.db cluster_communication_matrix.json cluster_step_trace_time.csv communication_group.json mine.json'
export_text "$work/c" "$work/j4" -m communication_time
expect_equal "$(cd "$out" && echo *)" \
	'cluster_analysis.db cluster_communication.json cluster_step_trace_time.csv communication_group.json mine.json'

behaviour 'without --export there is the database alone'
run "$npuprof" cluster -d "$work/c" -o "$work/plain"
expect_equal "$(ls "$work/plain/cluster_analysis_output")" cluster_analysis.db
run "$npuprof" cluster -d "$work/c" -o "$work/plain" --export db
expect_equal "$(ls "$work/plain/cluster_analysis_output")" cluster_analysis.db
run "$npuprof" cluster -d "$work/c" --export txt
expect_exit 2

behaviour 'text that cannot be written is said, and leaves no part of a file'
mkdir -p "$work/full/cluster_analysis_output/cluster_communication.json"
run "$npuprof" cluster -d "$work/c" -o "$work/full" --export text
expect_exit 3
expect_stderr_has cluster_communication.json
expect_equal "$(find "$work/full" -name '*.tmp*')" ''

behaviour 'a run without steps: the step is empty in one file and "step" in the others'
"$synth" -q -o "$work/n" --ranks 4 --no-steps --layers 2 --kernels-per-layer 4 || exit 1
export_text "$work/n" "$work/nosteps"
text_equals_database
expect_equal "$(cut -d, -f 1-3 "$out/cluster_step_trace_time.csv" | tail -n +2 | tr '\n' ' ')" ',rank,0 ,rank,1 ,rank,2 ,rank,3 '
expect_equal "$(query 'SELECT DISTINCT step FROM o_time UNION ALL SELECT DISTINCT step FROM o_link')" 'step
step'

behaviour 'communicators of the same ranks share a key'
expect_equal "$(query 'SELECT ranks, count(DISTINCT grp) FROM o_time GROUP BY 1')" '(0, 1, 2, 3)|2'
expect_equal "$(query "SELECT count(*) FROM json_each(readfile('$out/cluster_communication_matrix.json'))")" 1

behaviour 'ranks are in numeric order in keys; theirs follow a hash table, such as (8, 1)'
"$synth" -q -o "$work/m" --schedule tp --ranks 16 --hosts 2 --omit-ranks 2-7,9,11 --steps 1 --layers 1 \
	--kernels-per-layer 2 || exit 1
export_text "$work/m" "$work/many"
text_equals_database
expect_equal "$(query 'SELECT DISTINCT ranks FROM o_time')" '(0, 1, 8, 10, 12, 13, 14, 15)'

behaviour 'links whose ends have no known rank are in neither'
for metadata in "$work"/m/*/profiler_metadata.json; do echo '{}' >"$metadata"; done
for rank in "$work"/m/*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db; do
	sqlite3 "$rank" "DELETE FROM META_DATA"
done
export_text "$work/m" "$work/unmapped"
text_equals_database
expect_equal "$(head -n 1 "$out/cluster_step_trace_time.csv")" "$header"
expect_equal "$(query "SELECT count(*) FROM o_link WHERE link LIKE '%--%' OR link LIKE '%null%'")" 0

behaviour 'two operators of one name are both there; theirs keeps the first'
"$synth" -q -o "$work/t" --ranks 2 --steps 1 --layers 2 --kernels-per-layer 2 --no-analysis || exit 1
sqlite3 "$work"/t/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db "UPDATE COMMUNICATION_OP SET opName =
	(SELECT opName FROM COMMUNICATION_OP a WHERE a.groupName = COMMUNICATION_OP.groupName ORDER BY startNs LIMIT 1)"
export_text "$work/t" "$work/twice"
same "step, CASE instr(name, '#') WHEN 0 THEN name ELSE substr(name, 1, instr(name, '#') - 1) END, grp, rank,
	$(six elapsed)" o_time "step, hccl_op_name, group_name, rank_id, $(six elapsed_time)" ClusterCommunicationTime
expect_equal "$(query "SELECT count(*) > 0, count(DISTINCT rank) FROM o_time WHERE name LIKE '%#2'")" '1|1'

behaviour 'at Level0 sizes are not known: no transports, and no matrix; not zeros'
"$synth" -q -o "$work/l" --ranks 2 --steps 1 --layers 2 --kernels-per-layer 2 --level 0 || exit 1
mkdir -p "$work/level0/cluster_analysis_output"
touch "$work/level0/cluster_analysis_output/cluster_communication_matrix.json"
export_text "$work/l" "$work/level0"
expect_equal "$(query 'SELECT count(*) > 0, (SELECT count(*) FROM o_band), (SELECT count(*) FROM o_link) FROM o_time')" '1|0|0'
expect 'no matrix' test ! -e "$out/cluster_communication_matrix.json"

# --- recorded profiles; the rest stands without them --------------------------------------------
[[ -n ${NPUPROF_SHARED:-} && -e $NPUPROF_SHARED/golden/cluster/st4text_all ]] || exit 0
data=$NPUPROF_SHARED/data
before=$(snapshot "$data")

# beside_golden <directory> <golden>: export it, and have theirs as tables g_* as well
beside_golden() {
	export_text "$data/$1" "$work/$2"
	tables_of g "$NPUPROF_SHARED/golden/cluster/$2" >>"$work/tables"
}

# off <column> <tolerance>...: SQL that is true where one of the columns of theirs and ours differs by more
off() {
	local list=0

	while (($# > 1)); do
		list="$list OR (o.$1 IS NOT g.$1 AND coalesce(abs(o.$1 - g.$1) > $2, 1))"
		shift 2
	done
	echo "$list"
}

# as_golden <table> <keys> <column> <tolerance>...: no row of theirs is missing or other, and there are some
as_golden() {
	expect_equal "$(query "SELECT count(*) > 0, sum(o.rowid IS NULL OR $(off "${@:3}"))
		FROM g_$1 g LEFT JOIN o_$1 o USING ($2)")" '1|0'
}

# Theirs are sums of doubles of fractions of a nanosecond, ours of whole ones.
ns_in_ms=1e-5
ns_in_us=0.0005
# Start, Stage and Preparing of theirs went through a double of the time since 1970, in steps of 0.25 us.
double_in_us=0.25

steps_as_golden() {
	as_golden steps 'step, type, place' computing $ns_in_us communication_not_overlapped $ns_in_us \
		overlapped $ns_in_us communication $ns_in_us free $ns_in_us stage $double_in_us bubble $ns_in_us \
		communication_not_overlapped_and_exclude_receive $ns_in_us preparing $double_in_us
	expect_equal "$(query 'SELECT (SELECT count(*) FROM o_steps) - (SELECT count(*) FROM g_steps)')" 0
	# Their lines end in CR LF, ours in LF as all we write.
	expect_equal "$(head -n 1 "$out/cluster_step_trace_time.csv")" \
		"$(head -n 1 "$NPUPROF_SHARED/golden/cluster/$1/cluster_analysis_output/cluster_step_trace_time.csv" | tr -d '\r')"
}

ops_as_golden() {
	as_golden time 'ranks, step, name, grp, rank' start 0.5 elapsed $ns_in_ms transit $ns_in_ms wait $ns_in_ms \
		sync $ns_in_ms idle $ns_in_ms wait_ratio 2e-4 sync_ratio 2e-4
	as_golden band 'step, name, grp, rank, band' size 1e-9 time $ns_in_ms bandwidth 2e-4 large 1e-9
	as_golden package 'step, name, grp, rank, band, size' count 0 time $ns_in_ms
	for table in time band package; do
		expect_equal "$(query "SELECT (SELECT count(*) FROM o_$table) - (SELECT count(*) FROM g_$table)")" 0
	done
}

# Bandwidth is compared as size over time: in times of a microsecond the rounding to whole ns shows.
links_as_golden() {
	as_golden link 'ranks, step, name, grp, link, transport, op' size 1e-9 time $ns_in_ms
	expect_equal "$(query 'SELECT max(abs(bandwidth - size / time)) < 1e-9 FROM o_link WHERE time > 0')" 1
}

beside_golden resnet-2of8/text/level0 text_level0_all
behaviour 'step times of Level0 are those of the vendor'
steps_as_golden text_level0_all

behaviour 'Level0: operators and their communicator are in the trace, so they are listed; theirs has no such file'
expect_equal "$(query 'SELECT (SELECT count(*) FROM g_time), (SELECT count(*) FROM o_time), (SELECT count(*) FROM o_band)')" '0|10|0'
expect_equal "$(query 'SELECT (SELECT count(*) FROM g_group), type, ranks FROM o_group')" '0|collective|(0,1)'
expect_equal "$(ls "$out")" 'cluster_analysis.db
cluster_communication.json
cluster_step_trace_time.csv
communication_group.json'

beside_golden resnet-2of8/text/level1 text_level1_all
behaviour 'Level1: steps, operators, links and communicators are those of the vendor'
steps_as_golden text_level1_all
ops_as_golden
links_as_golden
expect_equal "$(query 'SELECT count(*) FROM (SELECT * FROM g_group EXCEPT SELECT * FROM o_group)')" 0
text_equals_database

behaviour 'links to ranks that were not profiled are kept, with their ranks: the communicator is taken for that of all'
expect_equal "$(query "SELECT (SELECT count(*) FROM g_link), (SELECT count(*) FROM o_link WHERE link NOT LIKE '%--%'),
	(SELECT count(*) FROM o_link)")" '28|112|112'

beside_golden llm-pp2dp2 st4text_all
behaviour 'a pipeline: steps with stages and places, operators and communicators are those of the vendor'
steps_as_golden st4text_all
as_golden steps 'step, type, place, dp, pp, tp' computing $ns_in_us
ops_as_golden
expect_equal "$(query 'SELECT (SELECT count(*) FROM o_group) - (SELECT count(*) FROM g_group),
	(SELECT count(*) FROM (SELECT * FROM g_group EXCEPT SELECT * FROM o_group))')" '0|0'
text_equals_database

behaviour 'links are those of the vendor, but that reduceScatter is not filed under reduce'
expect_equal "$(query "SELECT count(*) > 0 FROM g_link WHERE name LIKE 'reduce-%'")" 1
echo "UPDATE g_link SET name = 'reducescatter' || substr(name, 7) WHERE name LIKE 'reduce-%';" >>"$work/tables"
links_as_golden
expect_equal "$(query 'SELECT (SELECT count(*) FROM o_link) - (SELECT count(*) FROM g_link)')" 0

behaviour 'the recorded profiles are as they were'
expect_equal "$(snapshot "$data")" "$before"
