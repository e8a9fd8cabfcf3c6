#!/usr/bin/env bash
# One run in several forms gives the same result: the reader is the only part that knows the form.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# facts <json>: what a form must agree on, one line each. Text names no host and no device.
facts() {
	sqlite3 :memory: "
		SELECT 'step', s.value ->> 'step', r.value ->> 'rank', r.value ->> 'computing_ns',
			r.value ->> 'communication_ns', r.value ->> 'communication_not_overlapped_ns',
			r.value ->> 'overlapped_ns', r.value ->> 'free_ns', r.value ->> 'bubble_ns',
			r.value ->> 'stage_ns', r.value ->> 'span_ns', r.value ->> 'iteration_ns', r.value ->> 'between_ns', r.value ->> 'dp', r.value ->> 'pp', r.value ->> 'tp'
			FROM json_each(readfile('$1'), '\$.steps') s, json_each(s.value, '\$.ranks') r;
		SELECT 'comm', c.value ->> 'group', c.value ->> 'pg_name', c.value ->> 'type', c.value -> 'ranks',
			s.value ->> 'step', s.value ->> 'ops', s.value ->> 'bytes', s.value ->> 'moved_bytes',
			round(s.value ->> 'gb_per_s', 6), s.value ->> 'elapsed_ns',
			s.value ->> 'exposed_ns', s.value ->> 'overlapped_ns', s.value ->> 'estimator'
			FROM json_each(readfile('$1'), '\$.communicators') c, json_each(c.value, '\$.steps') s"
}

# step_times <name>: the steps without places in the parallel dimensions, which msprof does not know
step_times() {
	grep '^step' "$work/$1.facts" | cut -d '|' -f 1-13
}

# waits_differ <json> <json>: ns by which the waits of a communicator differ at most, per operator. Text names
# no hosts, so clocks that the database form ties together are fitted one by one.
waits_differ() {
	sqlite3 :memory: "
		CREATE TABLE waits AS SELECT f.column1 AS form, c.value ->> 'group' || (s.value ->> 'step') AS place,
			(s.value ->> 'wait_ns') * 1.0 / (s.value ->> 'ops') AS wait
			FROM (VALUES ('$1'), ('$2')) f, json_each(readfile(f.column1), '\$.communicators') c,
			json_each(c.value, '\$.steps') s;
		SELECT CAST(max(abs(a.wait - b.wait)) AS INTEGER) FROM waits a JOIN waits b USING (place)
			WHERE a.form = '$1' AND b.form = '$2'"
}

# in_form <name> <form> <synth options>...: generate, analyse, keep the facts in $work/<name>.facts
in_form() {
	local name=$1 form=$2

	shift 2
	rm -rf "$work/c"
	run "$synth" -o "$work/c" --format "$form" --kernels-per-layer 6 --layers 4 "$@"
	expect_exit 0
	run "$npuprof" cluster -d "$work/c" -o "$work/out-$name" -f json
	expect_exit 0
	cp "$work/stdout" "$work/$name.json"
	facts "$work/$name.json" >"$work/$name.facts"
	expect 'there are facts' test -s "$work/$name.facts"
}

# same <synth options>...: text and db agree in JSON and in every table of the merged database
same() {
	behaviour "text equals db: $*"
	in_form db db "$@"
	in_form text text "$@"
	expect 'the JSON agrees' diff "$work/db.facts" "$work/text.facts"
	expect 'the waits agree' test "$(waits_differ "$work/db.json" "$work/text.json")" -lt 2000
	for table in ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix \
		CommunicationGroupMapping ClusterBaseInfo np_kernel_type; do
		for name in db text; do
			sqlite3 "$work/out-$name/cluster_analysis_output/cluster_analysis.db" \
				"SELECT * FROM $table" 2>&1 | sort >"$work/$name.table"
		done
		expect "$table agrees" diff "$work/db.table" "$work/text.table"
	done
}

same --schedule dp --ranks 4 --steps 2 --seed 1 --slow-rank 2:1.3
same --schedule dp --ranks 4 --steps 2 --seed 2 --schema 1.2 --hosts 2
same --schedule 3d --ranks 8 --tp 2 --pp 2 --dp 2 --micro-batches 4 --steps 2 --seed 3
same --schedule pp --ranks 4 --pp 4 --micro-batches 4 --p2p batch --steps 2 --seed 4 --schema 1.2
same --schedule ep --ranks 4 --ep 4 --steps 2 --seed 5

behaviour 'both forms in one directory: the database wins, nothing disagrees'
in_form db db --ranks 4 --steps 2 --seed 6
in_form both both --ranks 4 --steps 2 --seed 6
expect 'the JSON agrees' diff "$work/db.facts" "$work/both.facts"
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/both.json') -> '\$.input.warnings'")" '[]'

behaviour 'peaks of memory and calls of CANN are those of the database'
in_form db db --ranks 2 --steps 2 --seed 11 --memory
in_form text text --ranks 2 --steps 2 --seed 11 --memory
for table in 'np_memory ORDER BY 1, 2' 'np_call ORDER BY 1, 2, 3'; do
	for name in db text; do
		sqlite3 "$work/out-$name/cluster_analysis_output/cluster_analysis.db" "SELECT * FROM $table" >"$work/$name.table"
	done
	expect "there are rows in $table" test -s "$work/db.table"
	expect "$table agrees" diff "$work/db.table" "$work/text.table"
done
expect_equal "$(sqlite3 "$work/out-db/cluster_analysis_output/cluster_analysis.db" \
	"SELECT group_concat(DISTINCT component) FROM np_memory WHERE component LIKE 'module/%'")" module/APP,module/HCCL,module/RUNTIME

behaviour 'Level0 text has the steps and the waits of Level0 databases'
in_form db db --ranks 4 --steps 2 --seed 7 --level 0
in_form text text --ranks 4 --steps 2 --seed 7 --level 0
expect 'step times agree' diff <(grep ^step "$work/db.facts") <(grep ^step "$work/text.facts")

behaviour 'a compressed trace and one without its end are read'
in_form text text --ranks 2 --steps 2 --seed 8
in_form gz text --ranks 2 --steps 2 --seed 8 --gzip
expect 'the JSON agrees' diff "$work/text.facts" "$work/gz.facts"
in_form cut text --ranks 2 --steps 2 --seed 8 --unclosed-trace
expect 'the JSON agrees' diff "$work/text.facts" "$work/cut.facts"
expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/cut.json'), '\$.input.warnings')
	WHERE value ->> 'reason' LIKE '%cut short%'")" 2

behaviour 'msprof: text equals db'
in_form db msprof-db --ranks 4 --steps 2 --seed 9
in_form text msprof-text --ranks 4 --steps 2 --seed 9
expect 'the JSON agrees' diff "$work/db.facts" "$work/text.facts"

behaviour 'MindSpore: text equals that of torch_npu, the database has no steps and equals that of msprof'
in_form ms mindspore-db --ranks 4 --steps 2 --seed 9
expect 'step times agree' diff <(step_times db) <(step_times ms)
in_form pt text --ranks 4 --steps 2 --seed 9
in_form ms mindspore-text --ranks 4 --steps 2 --seed 9
expect 'the JSON agrees' diff "$work/pt.facts" "$work/ms.facts"

behaviour 'msMonitor databases are ranks, and have no steps'
in_form monitor msmonitor --ranks 4 --steps 2 --seed 9
expect 'step times agree' diff <(step_times db) <(step_times monitor)

behaviour 'several kinds side by side are one run'
in_form db db --ranks 4 --steps 2 --seed 10
in_form mixed db --ranks 4 --steps 2 --seed 10 --format-of 1:text --format-of 2:both --format-of 3:mindspore-text
expect 'step times agree' diff <(grep ^step "$work/db.facts") <(grep ^step "$work/mixed.facts")
