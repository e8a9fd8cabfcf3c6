#!/usr/bin/env bash
# Inputs made to do harm: names that would be taken for something else, files that would never
# end. Nothing of them reaches a terminal, and every run ends soon, in bounded memory, with a
# status that says what happened.
# shellcheck source-path=SCRIPTDIR disable=SC2016
. "$(dirname "$0")/lib.sh"
need_program sqlite3 timeout gzip

small=(--steps 2 --layers 2 --kernels-per-layer 4)
"$synth" -q -o "$work/good" --ranks 2 "${small[@]}" || exit 1
"$synth" -q -o "$work/text" --ranks 2 "${small[@]}" --format text || exit 1

# fresh [directory]: a copy to damage; rank, file, db: places in it
fresh() {
	rm -rf "$work/c"
	cp -a "${1:-$work/good}" "$work/c"
}
rank() {
	dirname "$(ls "$work"/c/*/profiler_info_"$1".json)"
}
file() {
	echo "$(rank "$1")/ASCEND_PROFILER_OUTPUT/$2"
}
db() {
	file "$1" "ascend_pytorch_profiler_$1.db"
}
json() {
	local IFS=,

	sqlite3 :memory: "WITH f(j) AS (SELECT readfile('$work/stdout')) SELECT $* FROM f"
}

# Address space in KiB; none for programs built with a sanitizer, which reserve terabytes.
memory=400000
bash -c 'ulimit -v "$0" && "$1" -V; exit' "$memory" "$npuprof" >/dev/null 2>&1 || memory=unlimited

# bounded <argument>...: npuprof within 40 seconds of the processors, however busy they are, and with little memory
bounded() {
	run bash -c 'ulimit -v "$0" && ulimit -t 40 && exec timeout 120 "$@"' "$memory" "$npuprof" "$@"
}

# figures: the tables of $work/out that hold what was measured, and nothing about where it came from
figures() {
	local name

	for name in ClusterStepTraceTime ClusterCommunicationTime np_comm_step np_partition np_wait; do
		cat "$work/out/cluster_analysis_output/$name.csv" || return
	done
}

# same_figures: those of $work/c are those in $work/sound
same_figures() {
	rm -rf "$work/out"
	bounded cluster -d "$work/c" -o "$work/out" -f csv
	expect_exit 0
	figures >"$work/figures"
	expect 'the figures are the same' cmp "$work/figures" "$work/sound"
}

# sound <directory>: what same_figures() compares with
sound() {
	"$npuprof" cluster -d "$1" -o "$work/out" -f csv || exit 1
	figures >"$work/sound" || exit 1
	expect 'there are figures' test "$(wc -l <"$work/sound")" -gt 20
}

# harmless [also allowed, as for tr]: no control characters in what was printed, also none that
# UTF-8 writes in several bytes, and no marks that reorder the text around them
harmless() {
	local stream

	for stream in stdout stderr; do
		expect_equal "$stream: $(LC_ALL=C tr -d "\\n${1-}" <"$work/$stream" | LC_ALL=C tr -cd '\000-\037\177' | od -c | head -n 3)" "$stream: 0000000"
		checks=$((checks + 1))
		! LC_ALL=C grep -aqP '\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]' "$work/$stream" ||
			wrong "$stream has controls in several bytes"
		expect "$stream is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$work/$stream"
	done
}

# analyse <exit status>: JSON of $work/c, in bounds
analyse() {
	bounded cluster -d "$work/c" -o "$work/out" -f json
	expect_exit "$1"
	harmless
	expect_equal "$(json 'json_valid(j)')" 1
}

# lost <like>: rank 1 is lost, for a reason like that
lost() {
	analyse 3
	expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].reason' LIKE '$1'")" '1|1|1'
}

# replaced <like>: another file of rank 1 told what this one does not, for a reason like that
replaced() {
	analyse 3
	expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].reason' LIKE '$1'" \
		"j ->> '\$.input.skipped[0].reason' LIKE '%used instead: %'")" '2|1|1|1'
}

# --- names ------------------------------------------------------------------------------------

# Escape sequences, a bell, line ends, quotes, what Markdown, HTML and CSV give a meaning, bytes
# that are no UTF-8, a C1 control, a mark that reverses text, a formula.
evil="char(27) || '[31m' || char(27) || ']0;title' || char(7) || char(10) || 'a|b\"c''d, <img src=x onerror=alert(1)>&amp;' ||
	'[l](u)\`code\`*b*\\' || char(13) || char(8) || CAST(X'ff80c0' AS TEXT) || char(155) || char(8238) || '=1+1'"
# JSON has no bytes that are no UTF-8: the metadata would be refused.
mild="replace($evil, CAST(X'ff80c0' AS TEXT), '')"
fresh
for n in 0 1; do
	sqlite3 "$(db $n)" "UPDATE STRING_IDS SET value = $evil || value WHERE value LIKE 'hcom_%' OR value LIKE 'aclnn%';
		UPDATE STRING_IDS SET value = $mild || value WHERE value LIKE '10.0.0.1%';
		UPDATE HOST_INFO SET hostName = $evil, hostUid = $evil;
		UPDATE META_DATA SET value = json_object(
			(SELECT value FROM STRING_IDS WHERE id = (SELECT groupName FROM COMMUNICATION_OP LIMIT 1)),
			json_object('group_name', $mild, 'group_rank', 0, 'global_ranks', json('[0, 1]')))
			WHERE name = 'parallel_group_info'" || exit 1
done
rm "$work"/c/*/profiler_metadata.json "$work"/c/*/ASCEND_PROFILER_OUTPUT/analysis.db
odd="$work/run"$'\e[31m\n## forged <img src=x onerror=alert(1)>|`a`\r\a\xff[l](u)\u202e'
mv "$(rank 1)" "$work/c/"$'dir\e[2J\nnot used: rank 7: forged\t_ascend_pt'
mv "$work/c" "$odd"

behaviour 'names from inputs do nothing to a terminal'
bounded cluster -d "$odd" -o "$work/out"
expect_exit 0
harmless
expect_stdout_has '\x1b[31m\x0a## forged <img src=x' '2 ranks of'
expect_equal "$(grep -c '^ *##' "$work/stdout")" 0
bounded info "$odd"
expect_exit 0
harmless
expect_stdout_has '\x1b[31m\x1b]0;title\x07\x0aa|b"c'

behaviour 'Markdown has no markup of theirs'
bounded cluster -d "$odd" -o "$work/out" -f md
expect_exit 0
harmless
# Lines of four spaces are shown as they are.
grep -v '^    ' "$work/stdout" >"$work/md"
expect 'names are there' grep -qF 'img src=x' "$work/md"
expect_equal "$(grep -P '(?<!\\)(<|`|\[|&)' "$work/md")" ''
expect_equal "$(grep '^|' "$work/md" | sed 's/\\|//g' | tr -cd '|\n' | sort | uniq -c | wc -l)" 3
expect_equal "$(grep -c '^#' "$work/stdout")" 8

behaviour 'JSON is JSON'
bounded cluster -d "$odd" -o "$work/out" -f json --export text
expect_exit 0
harmless
expect_equal "$(json 'json_valid(j)' "j ->> '\$.input.ranks_used'" "instr(j ->> '\$.steps[0].ranks[0].host', char(27) || '[31m')" \
	"instr(j ->> '\$.communicators[0].name', '<img') > 0" "instr(j, '\\u202e') > 0")" '1|2|1|1|1'
for name in "$work"/out/cluster_analysis_output/*.json; do
	expect_equal "$name $(sqlite3 :memory: "SELECT json_valid(readfile('$name'))")" "$name 1"
	expect "$name has no escape sequences" test "$(LC_ALL=C tr -cd '\033' <"$name" | wc -c)" = 0
done
bounded info "$odd" -f json
expect_exit 0
harmless
expect_equal "$(json 'json_valid(j)')" 1

behaviour 'CSV is CSV: line ends stay in their quotes'
for table in ClusterStepTraceTime ClusterCommunicationTime ClusterCommunicationMatrix CommunicationGroupMapping HostInfo RankDeviceMap np_comm_step np_run_info; do
	bounded cluster -d "$odd" -f csv --table $table
	expect_exit 0
	harmless '\r'
	cp "$work/stdout" "$work/table.csv"
	expect_equal "$table $(sqlite3 :memory: ".import --csv '$work/table.csv' t" 'SELECT count(*) FROM t' 2>&1)" \
		"$table $(sqlite3 "$odd/cluster_analysis_output/cluster_analysis.db" "SELECT count(*) FROM $table")"
done
expect_equal "$(sqlite3 "$odd/cluster_analysis_output/cluster_analysis.db" 'PRAGMA integrity_check')" ok

behaviour 'messages are harmless too'
bounded cluster -d "$odd/"$'no\e[0m\nsuch'
expect_exit 2
harmless
expect_stderr_has 'no\x1b[0m\x0asuch'
bounded cluster -d "$odd" -f csv --table $'\e[0m'
expect_exit 2
harmless
for name in "$odd"/*_ascend_pt; do
	truncate -s 5000 "$name"/ASCEND_PROFILER_OUTPUT/*.db
	break
done
rm -r "$odd/cluster_analysis_output"
for format in table md csv json; do
	bounded cluster -d "$odd" -o "$work/out" -f $format
	expect_exit 3
	harmless
	expect_equal "$format: $(cat "$work/stdout" "$work/stderr" | grep -cE '^ *not used: rank 7')" "$format: 0"
done
truncate -s 100 "$odd"/*/ASCEND_PROFILER_OUTPUT/*.db
bounded cluster -d "$odd" -o "$work/out"
expect_exit 1
harmless
bounded info "$odd"
expect_exit 1
harmless
rm -rf "$odd"

behaviour 'names in text exports'
fresh "$work/text"
sed -i 's/"hcom_allReduce_/"\\u001b[31m\\n<b>|\\"\\u202e\\ud800hcom_allReduce_/g' "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view,communication}.json
for format in table md csv json; do
	bounded cluster -d "$work/c" -o "$work/out" -f $format
	expect 'done, or in part' test "$status" = 0 -o "$status" = 3
	harmless
done
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view,communication}.json
sed -i 's/,hcom_allReduce_/,\x1b[31m<b>|\xff\xfe\x9bhcom_allReduce_/; s/^10,/\x1b[2J10,/' "$work"/c/*/ASCEND_PROFILER_OUTPUT/{kernel_details,step_trace_time}.csv
for format in table md csv json; do
	bounded cluster -d "$work/c" -o "$work/out" -f $format
	expect_exit 0
	harmless
done
bounded info "$work/c"
expect_exit 0
harmless

# --- files that are none ----------------------------------------------------------------------

behaviour 'a pipe, a device or a directory in place of a database is no file, and nobody waits'
for what in pipe device directory; do
	fresh
	rm "$(db 1)" "$(file 1 analysis.db)"
	case $what in
	pipe) mkfifo "$(db 1)" ;;
	device) ln -s /dev/zero "$(db 1)" ;;
	directory) mkdir "$(db 1)" ;;
	esac
	lost '%is not a file%'
done
mkfifo "$work/c/msmonitor_1_20250109081616001_7.db"
analyse 3
rm "$work/c/msmonitor_1_20250109081616001_7.db"

behaviour 'and in place of the other files'
fresh
mkfifo "$(db 0)-wal" "$(db 0)-journal" "$work/c/pipe"
for name in "$(rank 1)"/profiler_metadata.json "$(rank 1)/profiler_info_1.json"; do
	rm "$name"
	mkfifo "$name"
done
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].reason' LIKE '%is not a regular file%'")" '2|1'
for what in pipe device; do
	fresh "$work/text"
	for name in "$(rank 1)"/ASCEND_PROFILER_OUTPUT/*; do
		rm "$name"
		if [[ $what == pipe ]]; then mkfifo "$name"; else ln -s /dev/zero "$name"; fi
	done
	lost '%is not a regular file%'
	bounded info "$work/c"
	expect_exit 3
done

behaviour 'links in a circle, and a directory within itself'
fresh
ln -s b "$work/c/a"
ln -s a "$work/c/b"
ln -s .. "$(rank 1)/up"
ln -s "$work/c" "$work/c/deeper"
rm "$(file 1 analysis.db)" "$(db 1)"
ln -s ascend_pytorch_profiler_1.db "$(db 1)"
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "json_array_length(j, '\$.input.skipped')")" '1|1'

behaviour 'a tree without end is searched to a certain depth, and it is said'
fresh
deep=$work/c
for ((i = 0; i < 60; i++)); do deep=$deep/d; done
mkdir -p "$deep"
analyse 0
expect_equal "$(json "j ->> '\$.input.warnings[0].reason' LIKE 'not searched%'")" 1

behaviour 'something else stands where the result should be'
fresh
mkdir -p "$work/c/cluster_analysis_output/cluster_analysis.db/x"
bounded cluster -d "$work/c"
expect_exit 3
expect_stdout_has '2 ranks of 2'
rm -r "$work/c/cluster_analysis_output"
mkfifo "$work/c/cluster_analysis_output"
bounded cluster -d "$work/c"
expect_exit 3
expect_stdout_has '2 ranks of 2'

# --- sizes ------------------------------------------------------------------------------------

behaviour 'nesting without end'
fresh "$work/text"
head -c 2000000 /dev/zero | tr '\0' '[' >"$(file 1 communication.json)"
replaced '%depth%'
fresh "$work/text"
head -c 300000 /dev/zero | sed 's/\x0/{"a":/g' >"$(rank 1)/profiler_metadata.json"
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].what'")" '2|profiler_metadata'
for opening in '[' '{"args":'; do
	fresh "$work/text"
	{
		printf '['
		head -c 500000 /dev/zero | sed "s/\\x0/$opening/g"
	} >"$(file 1 trace_view.json)"
	replaced '%levels deep%'
done

behaviour 'texts and lines without end'
fresh "$work/text"
{
	printf '[{"ph": "X", "name": "'
	head -c 20000000 /dev/zero | tr '\0' a
} >"$(file 1 trace_view.json)"
replaced '%more than 16 MiB%'
fresh "$work/text"
rm "$(file 1 trace_view.json)"
{
	head -n 2 "$(file 0 kernel_details.csv)"
	printf '10,"'
	head -c 20000000 /dev/zero | tr '\0' a
} >"$(file 1 kernel_details.csv)"
replaced '%a cell of more than%'
fresh "$work/text"
rm "$(file 1 trace_view.json)"
{
	head -c 20000000 /dev/zero | tr '\0' ,
	echo
} >>"$(file 1 kernel_details.csv)"
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].reason' LIKE '%rows have no usable time%'")" '2|1'
behaviour 'names of some megabytes are names, and messages stay short'
fresh
sqlite3 "$(db 1)" "UPDATE STRING_IDS SET value = value || hex(zeroblob(2000000)) WHERE value LIKE 'hcom_%'; UPDATE HOST_INFO SET hostName = hex(zeroblob(3000000))"
analyse 0
# The user's own paths are shown whole, however long they are: here they are short.
cd "$work" || exit 1
bounded cluster -d c -o out
expect_exit 0
expect 'lines fit' test "$(wc -L <"$work/stdout")" -le 100
bounded info c
expect_exit 0
expect 'a screen is a screen' test "$(wc -c <"$work/stdout")" -le 10000

behaviour 'a few bytes that unpack to hundreds of megabytes'
fresh "$work/text"
sound "$work/c"
{
	printf '['
	head -c 200000000 /dev/zero | tr '\0' ' '
	tail -c +2 "$(file 1 trace_view.json)"
} | gzip -1 >"$(file 1 trace_view.json.gz)"
rm "$(file 1 trace_view.json)"
expect 'it is small' test "$(wc -c <"$(file 1 trace_view.json.gz)")" -lt 4000000
same_figures
{
	printf '[{"name": "'
	head -c 200000000 /dev/zero
} | gzip -1 >"$(file 1 trace_view.json.gz)"
replaced '%trace_view.json.gz%'

# --- numbers ----------------------------------------------------------------------------------

behaviour 'numbers at the edge of what a file can say'
fresh
sqlite3 "$(db 1)" "UPDATE TASK SET startNs = -9223372036854775807, endNs = 9223372036854775807 WHERE rowid % 7 = 0;
	UPDATE TASK SET startNs = 4611686018427387903, endNs = 4611686018427387903 WHERE rowid % 11 = 0;
	UPDATE TASK SET startNs = -4611686018427387903, endNs = -4611686018427387903 WHERE rowid % 13 = 0;
	UPDATE COMMUNICATION_OP SET count = 9223372036854775807, dataType = 9223372036854775807 WHERE opId % 2;
	UPDATE COMMUNICATION_TASK_INFO SET size = 9223372036854775807, planeId = 9223372036854775807, srcRank = 2147483648,
		dstRank = -9223372036854775808 WHERE rowid % 3 = 0;
	UPDATE PYTORCH_API SET startNs = '-9223372036854775807' WHERE rowid = 3; DELETE FROM STEP_TIME"
sqlite3 "$(file 1 analysis.db)" 'UPDATE CommAnalyzerTime SET start_timestamp = 9e15, elapse_time = 1e308, wait_time = -1e308'
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "json_array_length(j, '\$.input.skipped') > 0")" '2|1'
fresh
rm "$(db 1)"
sqlite3 "$(file 1 analysis.db)" "UPDATE CommAnalyzerBandwidth SET count = 9223372036854775807, total_duration = 1e300, package_size = 1e300, transit_size = 1e300;
	UPDATE CommAnalyzerMatrix SET src_rank = '99999999999999999999', transit_time = 1e300;
	UPDATE StepTraceTime SET computing = 1e300, free = -1e300, stage = '9223372036854775807', bubble = 'Infinity', preparing = X'00ff'"
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j -> '\$.steps[0].ranks[1].computing_ns'")" '2|null'
fresh "$work/text"
rm "$(file 1 trace_view.json)"
sed -i '3,20s/17364[0-9.]*/9223372036854775.807/; 21,30s/17364[0-9.]*\t,[0-9.]*/4611686018427387.903\t,9223372036854775.807/' "$(file 1 kernel_details.csv)"
sed -i '2,3s/,[0-9.]*/,9223372036854775.8/g' "$(file 1 step_trace_time.csv)"
sed -i 's/\[[0-9]*, /[9223372036854775807, /g; s/"Transit Size(MB)": [0-9.e-]*/"Transit Size(MB)": 1e300/g' "$(file 1 communication.json)"
analyse 3
rm "$(file 1 kernel_details.csv)"
analyse 3
fresh "$work/text"
sed -i 's/"size(Byte)": [0-9]*/"size(Byte)": 9223372036854775807/g; s/"count": [0-9]*/"count": 18446744073709551615/g
	s/"ts": "17364105760[0-9.]*", "dur": [0-9.]*/"ts": "9223372036854775.807", "dur": 9223372036854775.807/2
	s/"ts": "17364105760[0-9.]*", "dur": [0-9.]*/"ts": "-1e400", "dur": -9223372036854775808/3' "$(file 1 trace_view.json)"
analyse 3

behaviour 'members and sizes of communicators that cannot be'
fresh
for n in 0 1; do
	printf '{"distributed_args": {"world_size": 99999999999, "tensor_model_parallel_size": -1, "data_parallel_size": 2147483647,
		"pipeline_model_parallel_size": 2147483647, "rank": "x"},
		"parallel_group_info": {"a": {"group_name": 7, "group_rank": -9, "global_ranks": [0, 0, -1, 1e3, "x", null, 2147483647]}, "b": [], "c": null}}' \
		>"$(rank $n)/profiler_metadata.json"
	sqlite3 "$(db $n)" "DELETE FROM META_DATA WHERE name IN ('parallel_group_info', 'distributed_args')"
done
analyse 0

behaviour 'more devices, steps and communicators than there can be'
fresh
rm "$(file 1 analysis.db)"
sqlite3 "$(db 1)" 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
		INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, taskType)
		SELECT 1736410576000400000 + x, 1736410576000400010 + x, x, x, x + 1000000, 1 FROM c;
	WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
		INSERT INTO STEP_TIME SELECT x + 100, 1736410577000400000 + x * 10, 1736410577000400010 + x * 10 FROM c'
lost '%more than possible%'
fresh
sqlite3 "$(db 1)" "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 4000)
		INSERT INTO STRING_IDS SELECT x + 1000000, 'group' || x FROM c;
	INSERT INTO COMMUNICATION_OP (opName, startNs, endNs, groupName, opId, connectionId)
		SELECT 0, 1736410576000400000 + id, 1736410576000400010 + id, id, id, id FROM STRING_IDS WHERE id > 1000000 AND id < 1005000"
rm "$(file 1 analysis.db)"
analyse 0
expect_equal "$(json "json_array_length(j, '\$.communicators')")" 4002
bounded cluster -d c -o out
expect 'it fits one screen' test "$(wc -l <"$work/stdout")" -le 40

# --- schemas ----------------------------------------------------------------------------------

sound "$work/good"

behaviour 'a table may be a view, without rowids, virtual or generated'
fresh
sqlite3 "$(db 1)" 'ALTER TABLE TASK RENAME TO T; CREATE VIEW TASK AS SELECT * FROM T'
same_figures
fresh
sqlite3 "$(db 1)" 'ALTER TABLE TASK RENAME TO T;
	CREATE TABLE TASK (taskType INTEGER, startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER PRIMARY KEY) WITHOUT ROWID;
	INSERT INTO TASK SELECT taskType, startNs, endNs, deviceId, connectionId, globalTaskId FROM T'
same_figures
fresh
if sqlite3 "$(db 1)" 'ALTER TABLE STRING_IDS RENAME TO S; CREATE VIRTUAL TABLE STRING_IDS USING fts5(id, value); INSERT INTO STRING_IDS SELECT id, value FROM S' 2>/dev/null; then
	same_figures
fi
fresh
sqlite3 "$(db 1)" "ALTER TABLE STEP_TIME RENAME TO S; CREATE TABLE STEP_TIME (id INTEGER, startNs INTEGER, lasts INTEGER, endNs INTEGER AS (startNs + lasts));
	INSERT INTO STEP_TIME (id, startNs, lasts) SELECT id, startNs, endNs - startNs FROM S"
bounded cluster -d "$work/c" -o "$work/out" -f csv
expect 'used, or said to be unusable' test "$status" = 0 -o "$status" = 3

behaviour 'a view without an end ends'
fresh
rm "$(file 1 analysis.db)"
sqlite3 "$(db 1)" 'ALTER TABLE TASK RENAME TO T; CREATE VIEW TASK AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
	SELECT x AS startNs, x AS endNs, x AS globalTaskId, 0 AS deviceId FROM c'
lost '%more than the file can hold%'
fresh
rm "$(file 1 analysis.db)"
sqlite3 "$(db 1)" 'ALTER TABLE TASK RENAME TO T; CREATE VIEW TASK AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
	SELECT x AS startNs, x AS endNs, x AS globalTaskId FROM c WHERE x < 0'
lost '%may have no end%'
behaviour 'a view that makes much of little'
fresh
rm "$(file 1 analysis.db)"
sqlite3 "$(db 1)" 'ALTER TABLE STRING_IDS RENAME TO S; CREATE VIEW STRING_IDS AS SELECT id, hex(zeroblob(400000000)) AS value FROM S'
lost '%too big%'
sqlite3 "$(db 1)" 'DROP VIEW STRING_IDS; CREATE VIEW STRING_IDS AS SELECT id, hex(zeroblob(400000)) AS value FROM S'
lost '%more than the file can hold%'
sqlite3 "$(db 1)" "DROP VIEW STRING_IDS; CREATE VIEW STRING_IDS AS SELECT id, load_extension('x') AS value FROM S"
lost '%ascend_pytorch_profiler_1.db%'

behaviour 'a schema that lies'
for lie in 'rootpage = 999999' 'rootpage = 1' "sql = 'CREATE TABLE x('" "sql = 'CREATE VIRTUAL TABLE TASK USING nothing(x)', rootpage = 0" \
	"sql = 'CREATE TABLE TASK (startNs INTEGER)'" "rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'STRING_IDS')"; do
	fresh
	sqlite3 "$(db 1)" "PRAGMA writable_schema = ON; UPDATE sqlite_master SET $lie WHERE name = 'TASK' AND type = 'table'"
	analyse 3
	expect_equal "$lie: $(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].rank'")" "$lie: 2|1"
done

behaviour 'a path that is no text is shown as codes, in the title of a page too'
odd=$work/$'odd \e[31m<b>\xff'
cp -a "$work/good" "$odd"
run "$npuprof" report "$odd" -o "$work/page.html"
expect_exit 0
expect_equal "$(LC_ALL=C tr -cd '\033\377' <"$work/page.html" | wc -c)" 0
expect 'the title shows codes' grep -q '<title>.*odd \\x1b\[31m&lt;b&gt;\\xff</title>' "$work/page.html"

behaviour 'clocks that cannot be are said by who reads them for a page'
fresh
sqlite3 "$(db 1)" 'UPDATE AICORE_FREQ SET freq = -5'
run "$npuprof" report "$work/c" -o "$work/page.html"
expect_exit 3
expect_stderr_has 'AICORE_FREQ' 'values of its'
