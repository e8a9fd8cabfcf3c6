#!/usr/bin/env bash
# What real databases look like when they do not look as documented: every number is a
# row of the table of quirks (1-36); those of text files are in t9002-quirks-text.sh.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

small=(--steps 2 --layers 2 --kernels-per-layer 4)
"$synth" -q -o "$work/good" --ranks 4 "${small[@]}" --memory --schema 1.2 || exit 1

# fresh [directory]: a copy to damage, of the sound run or of another
fresh() {
	rm -rf "$work/c"
	cp -a "${1:-$work/good}" "$work/c"
}

# rank <n>: its directory; db <n>, analysis <n>: its databases; all: the databases of all ranks
rank() {
	dirname "$(ls "$work"/c/*/profiler_info_"$1".json)"
}
db() {
	echo "$(rank "$1")/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_$1.db"
}
analysis() {
	echo "$(rank "$1")/ASCEND_PROFILER_OUTPUT/analysis.db"
}

# in_all <sql>: run it on the database of every rank
in_all() {
	local file

	for file in "$work"/c/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db; do
		sqlite3 "$file" "$1" || exit 1
	done
}

# json <sql expression>...: of the JSON that was printed, which is called j
json() {
	local IFS=,

	sqlite3 :memory: "WITH f(j) AS (SELECT readfile('$work/stdout')) SELECT $* FROM f"
}

# steps, communicators: what was printed about them, one line each
steps() {
	sqlite3 :memory: "
		SELECT 'step', s.value ->> 'step', r.value ->> 'rank', r.value ->> 'computing_ns',
			r.value ->> 'communication_ns', r.value ->> 'communication_not_overlapped_ns',
			r.value ->> 'overlapped_ns', r.value ->> 'free_ns', r.value ->> 'bubble_ns',
			r.value ->> 'stage_ns', r.value ->> 'span_ns', r.value ->> 'preparing_ns'
			FROM json_each(readfile('$work/stdout'), '\$.steps') s, json_each(s.value, '\$.ranks') r"
}
communicators() {
	sqlite3 :memory: "
		SELECT 'comm', c.value ->> 'group', c.value -> 'ranks', c.value -> 'observed',
			s.value ->> 'step', s.value ->> 'ops', s.value ->> 'bytes', s.value ->> 'moved_bytes',
			s.value ->> 'elapsed_ns', s.value ->> 'exposed_ns'
			FROM json_each(readfile('$work/stdout'), '\$.communicators') c, json_each(c.value, '\$.steps') s"
}

# analyse <exit status>: JSON of $work/c, which stays as it is
analyse() {
	local before

	before=$(snapshot "$work/c")
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json "${@:2}"
	expect_exit "$1"
	expect_equal "$(snapshot "$work/c")" "$before"
	expect_equal "$(json 'json_valid(j)')" 1
	steps >"$work/steps"
	communicators >"$work/communicators"
}

# same_figures [exit status]: what was changed in $work/c changes no figure
same_figures() {
	analyse "${1:-0}"
	expect 'step times are those of the sound run' diff "$work/good.steps" "$work/steps"
	expect 'communicators are those of the sound run' diff "$work/good.communicators" "$work/communicators"
}

# remember: what was analysed last is what same_figures compares with
remember() {
	cp "$work/steps" "$work/good.steps"
	cp "$work/communicators" "$work/good.communicators"
	expect 'there are steps' test -s "$work/good.steps"
	expect 'there are communicators' test -s "$work/good.communicators"
}

merged=$work/out/cluster_analysis_output/cluster_analysis.db

behaviour 'the sound run'
fresh
analyse 0
remember

# 1: optional tables are missing
behaviour 'without optional tables the figures are the same, and what lacks them says so'
fresh
sqlite3 "$(db 0)" "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_master WHERE type = 'table' AND (name LIKE 'ENUM_%'
	OR name IN ('OVERLAP_ANALYSIS', 'MEMCPY_INFO', 'MEMORY_RECORD', 'OP_MEMORY', 'NPU_MEM', 'NPU_MODULE_MEM', 'AICORE_FREQ', 'SESSION_TIME_INFO',
		'CONNECTION_IDS', 'NPU_INFO', 'RANK_DEVICE_MAP', 'PYTORCH_API', 'HOST_INFO'))" >"$work/drop.sql"
expect 'tables are dropped' test "$(wc -l <"$work/drop.sql")" -gt 15
in_all "$(cat "$work/drop.sql")"
for n in 0 1 2 3; do
	sqlite3 "$(analysis $n)" 'DROP TABLE CommAnalyzerTime; DROP TABLE CommAnalyzerBandwidth; DROP TABLE CommAnalyzerMatrix'
done
same_figures
run "$npuprof" info "$work/c"
expect_exit 0
expect_stdout_says 'no: memory: no memory records' '4 ranks of 4'
run "$npuprof" info "$work/good"
expect_stdout_lacks 'no: memory'

# 1: no small tasks at all
behaviour 'without small tasks they tell no wait, and what was moved is unknown, not zero'
in_all 'DROP TABLE COMMUNICATION_TASK_INFO'
analyse 0
expect 'step times are those of the sound run' diff "$work/good.steps" "$work/steps"
expect_equal "$(json "j ->> '\$.communicators[0].steps[0].moved_bytes' IS NULL" "j ->> '\$.communicators[0].steps[0].estimator' = 'tasks'" \
	"(j ->> '\$.communicators[0].steps[0].wait_ns' IS NULL) = (j ->> '\$.communicators[0].steps[0].estimator' = 'none')" \
	"json_array_length(j, '\$.trust.withheld') > 0")" '1|0|1|1'

# 2: columns are missing, renamed, added, in another order
behaviour 'columns are found by name'
fresh
# rank 0 was opened by Insight, rank 1 is of an older version, rank 2 has its columns in another order
sqlite3 "$(db 0)" 'ALTER TABLE TASK ADD COLUMN depth INTEGER; ALTER TABLE TASK ADD COLUMN waitNs INTEGER;
	ALTER TABLE CANN_API ADD COLUMN depth INTEGER; ALTER TABLE PYTORCH_API ADD COLUMN depth INTEGER;
	ALTER TABLE COMMUNICATION_OP ADD COLUMN opConnectionId TEXT; CREATE TABLE status_info (status TEXT);
	PRAGMA user_version = 7'
sqlite3 "$(db 1)" 'ALTER TABLE COMMUNICATION_OP DROP COLUMN deviceId; ALTER TABLE COMMUNICATION_OP DROP COLUMN opType;
	ALTER TABLE COMMUNICATION_OP DROP COLUMN relay; ALTER TABLE COMMUNICATION_TASK_INFO DROP COLUMN isMaster;
	ALTER TABLE COMMUNICATION_TASK_INFO DROP COLUMN bandwidth; ALTER TABLE COMPUTE_TASK_INFO DROP COLUMN blockDim;
	ALTER TABLE COMPUTE_TASK_INFO RENAME COLUMN blockNum TO blockDim; ALTER TABLE TASK DROP COLUMN modelId'
sqlite3 "$(analysis 1)" 'ALTER TABLE StepTraceTime DROP COLUMN deviceId; ALTER TABLE CommAnalyzerMatrix DROP COLUMN op_name;
	ALTER TABLE CommAnalyzerTime RENAME COLUMN elapse_time TO elapsed_time;
	ALTER TABLE CommAnalyzerBandwidth RENAME COLUMN transport_type TO band_type; DELETE FROM CommAnalyzerTime'
sqlite3 "$(db 2)" 'CREATE TABLE other AS SELECT globalTaskId, taskType, streamId, endNs, connectionId, startNs, deviceId FROM TASK;
	DROP TABLE TASK; ALTER TABLE other RENAME TO TASK;
	CREATE TABLE other AS SELECT endNs, startNs, id FROM STEP_TIME; DROP TABLE STEP_TIME; ALTER TABLE other RENAME TO STEP_TIME'
same_figures

# 2: a column that cannot be missing
behaviour 'a table without a column that is needed costs the rank, and is named'
fresh
rm "$(analysis 3)"
sqlite3 "$(db 3)" 'DROP INDEX TaskIndex; ALTER TABLE TASK RENAME COLUMN endNs TO finishNs'
analyse 3
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].reason' LIKE '%table TASK has no column endNs%'")" '3|1'

# 3: tables are there and empty
behaviour 'empty tables are like missing ones'
fresh
in_all "$(sed 's/DROP TABLE/DELETE FROM/' "$work/drop.sql")"
same_figures
fresh
sqlite3 "$(db 2)" 'DELETE FROM COMMUNICATION_OP; DELETE FROM COMMUNICATION_TASK_INFO'
rm "$(analysis 2)"
analyse 3
expect_equal "$(json "j ->> '\$.input.skipped[0].what'" "j ->> '\$.input.skipped[0].reason'")" 'COMMUNICATION_OP|it has no rows, though it has on other ranks'
expect 'computing is that of the sound run' diff <(cut -d '|' -f 1-4 "$work/good.steps") <(cut -d '|' -f 1-4 "$work/steps")
expect_equal "$(grep '^step|10|2|' "$work/steps" | cut -d '|' -f 5-7)" '0|0|0'
fresh
sqlite3 "$(db 2)" 'DELETE FROM TASK; DELETE FROM COMMUNICATION_OP'
rm "$(analysis 2)"
analyse 3
expect_equal "$(json "sum(s.value ->> 'rank' = 2 AND s.value ->> 'reason' LIKE 'covers under 1 % of COMPUTE_TASK_INFO%')
	FROM (SELECT readfile('$work/stdout') AS j) f, json_each(f.j, '\$.input.skipped') s; --")" 1
# What it does not hold is not 0.
expect_equal "$(grep -c '^step|10|2|' "$work/steps")" 0

# 4: every table was dropped, only sqlite_sequence remains
behaviour 'a database whose tables were dropped holds no profiler tables'
fresh
rm "$(analysis 1)"
sqlite3 "$(db 1)" 'CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO counted VALUES (NULL)'
sqlite3 "$(db 1)" "SELECT 'DROP TABLE ' || name || ';' FROM sqlite_master WHERE type = 'table' AND name <> 'sqlite_sequence'" |
	sqlite3 "$(db 1)"
expect_equal "$(sqlite3 "$(db 1)" 'SELECT name FROM sqlite_master')" sqlite_sequence
analyse 3
expect_equal "$(json "j ->> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].reason' LIKE '%no profiler tables%'")" '1|1'
cp "$(db 1)" "$(analysis 1)"
analyse 3
expect_equal "$(json "j ->> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].reason' LIKE '%no profiler tables%'")" '1|1'

# 5: times of the framework's calls are text, and may differ in length
behaviour 'times stored as text are compared as numbers'
"$synth" -q -o "$work/plain" --ranks 2 "${small[@]}" --schema 1.2 --no-steps --no-analysis || exit 1
fresh "$work/plain"
analyse 0 --steps-from none
before=$(grep '^step||1|' "$work/steps" | cut -d '|' -f 12)
first=$(sqlite3 "$(db 1)" 'SELECT min(CAST(startNs AS INTEGER)) FROM PYTORCH_API')
expect_equal "$(sqlite3 "$(db 1)" 'SELECT DISTINCT typeof(startNs) FROM PYTORCH_API')" text
# As a text this is the greatest of all.
sqlite3 "$(db 1)" "UPDATE PYTORCH_API SET startNs = '999999999999999999' WHERE CAST(startNs AS INTEGER) = $first"
analyse 3 --steps-from none
expect_equal "$(grep '^step||1|' "$work/steps" | cut -d '|' -f 12)" $((before + first - 999999999999999999))

# 6: NULL where a value could be
behaviour 'NULLs are tolerated'
fresh
in_all 'UPDATE PYTORCH_API SET connectionId = NULL, callchainId = NULL, inputShapes = NULL, inputDtypes = NULL, sequenceNumber = NULL;
	UPDATE OP_MEMORY SET releaseTime = NULL, activeReleaseTime = NULL, duration = NULL;
	UPDATE COMPUTE_TASK_INFO SET inputShapes = NULL, blockNum = NULL, name = NULL;
	INSERT INTO PYTORCH_API (startNs) VALUES (NULL); INSERT INTO STRING_IDS VALUES (999999999, NULL);
	INSERT INTO META_DATA VALUES (NULL, NULL)'
same_figures

# 7: values of STRING_IDS are not unique, ids are sparse
behaviour 'strings are compared by their text, not by their ids'
fresh
in_all 'INSERT INTO STRING_IDS SELECT id + 1610612736, value FROM STRING_IDS;
	UPDATE COMMUNICATION_OP SET groupName = groupName + 1610612736, opType = opType + 1610612736 WHERE opId % 2;
	UPDATE COMMUNICATION_TASK_INFO SET taskType = taskType + 1610612736 WHERE globalTaskId % 2;
	UPDATE TASK SET taskType = taskType + 1610612736 WHERE globalTaskId % 3 = 0'
same_figures

# 8: tasks without a call, many tasks of one call
behaviour 'tasks are counted once, whatever their connections'
fresh
in_all "INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, taskType)
		SELECT startNs, endNs, deviceId, 99999999, globalTaskId + 1000000, taskType FROM TASK ORDER BY startNs LIMIT 20 OFFSET 40;
	DROP TABLE CONNECTION_IDS"
before=$(sqlite3 "$(db 1)" 'SELECT count(DISTINCT connectionId) FROM TASK')
# All kernels of a step but its first and last one were launched by one call.
in_all "CREATE TEMP TABLE inner_kernel AS SELECT t.rowid AS id, s.id AS step,
		row_number() OVER (PARTITION BY s.id ORDER BY t.startNs) AS n, count(*) OVER (PARTITION BY s.id) AS last,
		t.connectionId AS call
		FROM TASK t JOIN COMPUTE_TASK_INFO k USING (globalTaskId) JOIN CANN_API a USING (connectionId)
		JOIN STEP_TIME s ON a.startNs BETWEEN s.startNs AND s.endNs;
	UPDATE TASK SET connectionId = (SELECT b.call FROM inner_kernel i JOIN inner_kernel b ON b.step = i.step AND b.n = 2
		WHERE i.id = TASK.rowid)
		WHERE rowid IN (SELECT id FROM inner_kernel WHERE n > 1 AND n < last)"
expect 'calls have many tasks' test "$(sqlite3 "$(db 1)" 'SELECT count(DISTINCT connectionId) FROM TASK')" -lt $((before - 40))
same_figures

# 9: sentinels
behaviour 'numbers that mean "none" are none'
fresh
in_all "UPDATE COMMUNICATION_TASK_INFO SET notifyId = 9223372036854775807;
	UPDATE COMMUNICATION_TASK_INFO SET srcRank = 4294967295, dstRank = 4294967295, linkType = 65534, transportType = 65535,
		dataType = 65534, rdmaType = 65535 WHERE taskType IN (SELECT id FROM STRING_IDS WHERE value LIKE 'Notify%');
	UPDATE TASK SET contextId = 4294967295, modelId = 4294967295, taskId = -1"
same_figures
behaviour 'Level0 knows no sizes: they are unknown, not 0'
"$synth" -q -o "$work/level0" --ranks 2 "${small[@]}" --level 0 --no-analysis || exit 1
fresh "$work/level0"
analyse 0
expect_equal "$(sqlite3 "$(db 0)" 'SELECT DISTINCT srcRank, size, linkType FROM COMMUNICATION_TASK_INFO')" '4294967295|-1|65534'
expect_equal "$(json "sum(s.value ->> 'moved_bytes' IS NULL), sum(s.value ->> 'gb_per_s' IS NULL), sum(s.value ->> 'wait_ns' > 0) > 0, count(*)
	FROM (SELECT readfile('$work/stdout') AS j) f, json_each(f.j, '\$.communicators') c, json_each(c.value, '\$.steps') s; --")" '4|4|1|4'
expect_equal "$(sqlite3 "$merged" 'SELECT count(*) FROM ClusterCommunicationMatrix')" 0

# 10: no steps
behaviour 'a run without steps has one, without a name'
fresh "$work/plain"
analyse 0 --steps-from none
cp "$work/steps" "$work/plain.steps"
expect_equal "$(json "j -> '\$.input.steps'" "j -> '\$.steps[0].step'")" '[null]|null'
expect_equal "$(sqlite3 "$merged" 'SELECT DISTINCT step IS NULL FROM ClusterStepTraceTime; SELECT DISTINCT step FROM ClusterCommunicationTime')" '1
step'
run "$npuprof" cluster -d "$work/c" -o "$work/out" --steps-from none
expect_stdout_has 'no steps marked'
"$synth" -q -o "$work/marked" --ranks 2 "${small[@]}" --schema 1.2 --no-analysis || exit 1
fresh "$work/marked"
sqlite3 "$(db 0)" 'DROP TABLE STEP_TIME'
sqlite3 "$(db 1)" 'DELETE FROM STEP_TIME'
analyse 0 --steps-from none
expect 'a missing and an empty STEP_TIME are the same' diff "$work/plain.steps" "$work/steps"
behaviour 'rows of StepTraceTime without a step, one for each device'
"$synth" -q -o "$work/single" --ranks 1 "${small[@]}" --schema 1.2 --no-steps || exit 1
fresh "$work/single"
rm "$(db 0)"
sqlite3 "$(analysis 0)" 'INSERT INTO StepTraceTime SELECT deviceId + 3, step, computing + 1, communication_not_overlapped, overlapped,
	communication, free, stage, bubble, communication_not_overlapped_and_exclude_receive, preparing FROM StepTraceTime'
expect_equal "$(sqlite3 "$(analysis 0)" 'SELECT deviceId, step FROM StepTraceTime')" '0|
3|'
analyse 0
expect_equal "$(json "j -> '\$.input.steps'" "j ->> '\$.steps[0].ranks[0].device'" "j ->> '\$.steps[0].ranks[1].device'" \
	"j ->> '\$.steps[0].ranks[1].computing_ns' - j ->> '\$.steps[0].ranks[0].computing_ns'")" '[null]|0|3|1000'

# 11: StepTraceTime is missing
behaviour 'step times that the exporter failed to write are computed'
fresh
sqlite3 "$(analysis 0)" 'DROP TABLE StepTraceTime'
sqlite3 "$(analysis 1)" 'DELETE FROM StepTraceTime'
sqlite3 "$(analysis 2)" 'ALTER TABLE StepTraceTime DROP COLUMN deviceId'
rm "$(analysis 3)"
same_figures

# 12: several devices in one database
behaviour 'several devices of one process are accounted each for itself'
fresh "$work/plain"
sqlite3 "$(db 0)" "ATTACH '$(db 1)' AS other;
	UPDATE TASK SET deviceId = 0;
	INSERT INTO STRING_IDS SELECT id + 1000000, value FROM other.STRING_IDS;
	INSERT INTO NPU_INFO SELECT 1, name FROM other.NPU_INFO;
	INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, taskType)
		SELECT startNs, endNs, 1, connectionId + 1000000, globalTaskId + 1000000, taskType + 1000000 FROM other.TASK;
	INSERT INTO CANN_API (startNs, endNs, type, connectionId) SELECT startNs, endNs, type, connectionId + 1000000 FROM other.CANN_API;
	INSERT INTO COMPUTE_TASK_INFO (globalTaskId) SELECT globalTaskId + 1000000 FROM other.COMPUTE_TASK_INFO;
	INSERT INTO COMMUNICATION_OP (opName, startNs, endNs, connectionId, groupName, opId)
		SELECT opName + 1000000, startNs, endNs, connectionId + 1000000, groupName + 1000000, opId + 1000000 FROM other.COMMUNICATION_OP;
	UPDATE COMMUNICATION_OP SET deviceId = NULL"
rm -r "$(rank 1)"
analyse 0 --steps-from none
cut -d '|' -f 4-11 "$work/steps" >"$work/devices"
expect 'each device has the figures it has alone' diff <(cut -d '|' -f 4-11 "$work/plain.steps") "$work/devices"
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.steps[0].ranks[0].device'" "j ->> '\$.steps[0].ranks[1].device'" \
	"j ->> '\$.steps[0].ranks[1].rank'")" '1|0|1|0'

# 13: the communicator is a string in one file and a hash in the other
behaviour 'a communicator is one, by its name or by its hash'
fresh
rm "$(db 1)" "$(analysis 2)"
analyse 0
expect_equal "$(json "json_array_length(j, '\$.communicators')" "j -> '\$.communicators[0].observed'" \
	"j -> '\$.communicators[1].observed'")" '2|[0,1,2,3]|[0,1,2,3]'
expect_equal "$(sqlite3 "$merged" 'SELECT count(DISTINCT group_name), count(DISTINCT rank_id) FROM ClusterCommunicationTime')" '2|4'
behaviour 'without metadata the hash is still the same'
fresh
rm "$(rank 1)/profiler_metadata.json" "$(rank 2)/profiler_metadata.json"
in_all "DELETE FROM META_DATA WHERE name = 'parallel_group_info'"
rm "$(db 1)"
analyse 0
expect_equal "$(json "json_array_length(j, '\$.communicators')" "j -> '\$.communicators[0].observed'")" '2|[0,1,2,3]'

# 14: one rank twice
behaviour 'of two captures of a rank the newest is used, and it is said; --pick overrides'
fresh
cp -a "$(rank 2)" "$work/c/old_20200101000000000_ascend_pt"
sqlite3 "$work/c/old_20200101000000000_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_2.db" \
	'DELETE FROM COMPUTE_TASK_INFO WHERE globalTaskId > (SELECT min(globalTaskId) FROM COMPUTE_TASK_INFO)'
rm "$work/c/old_20200101000000000_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db"
same_figures 3
expect_equal "$(json "j ->> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].reason' LIKE '%is newer%'" \
	"j ->> '\$.input.skipped[0].path' LIKE '%/old_20200101000000000_ascend_pt'")" '2|1|1'
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json --pick "$work/c/old_20200101000000000_ascend_pt"
expect_equal "$(json "j ->> '\$.trust.coverage[0].rank'")" 2

# 15: the rank's number in several forms
behaviour 'the number of a rank is read as text and as a number, and from any of its places'
fresh
sed -i 's/"rank_id": 1/"rank_id": "1"/' "$(rank 1)/profiler_info_1.json"
expect 'the rank is a text' grep -q '"rank_id": "1"' "$(rank 1)/profiler_info_1.json"
dir=$(rank 2)
mv "$dir/profiler_info_2.json" "$dir/profiler_info.json"
mv "$(db 1)" "$(rank 1)/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db"
dir=$(rank 1)
mv "$dir/profiler_info_1.json" "$dir/profiler_info.json"
same_figures
behaviour 'a profile without a rank is one alone, and none beside others'
fresh "$work/single"
dir=$(rank 0)
mv "$(db 0)" "$dir/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db"
mv "$dir/profiler_info_0.json" "$dir/profiler_info.json"
sed -i '/"rank_id"/d; s/^    },$/    }/' "$dir/profiler_info.json"
sqlite3 "$dir/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db" 'UPDATE RANK_DEVICE_MAP SET rankId = -1'
sed -i 's/"rank": 0, //' "$dir/profiler_metadata.json"
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.steps[0].ranks[0].rank'")" '1|0'
expect_equal "$(json "j ->> '\$.input.warnings[0].reason' LIKE '%0 is assumed%'")" 1
cp -a "$dir" "$work/unnumbered_ascend_pt"
fresh
cp -a "$work/unnumbered_ascend_pt" "$work/c/"
same_figures 3
expect_equal "$(json "j -> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].path' LIKE '%/unnumbered_ascend_pt'")" 'null|1'

# 16: not every rank was profiled
behaviour 'ranks that were not profiled are counted'
"$synth" -q -o "$work/subset" --ranks 4 "${small[@]}" --memory --schema 1.2 --omit-ranks 1,3 || exit 1
fresh "$work/subset"
analyse 0
expect 'those profiled are as in the whole run' diff <(grep -E '^step\|[0-9]+\|[02]\|' "$work/good.steps") "$work/steps"
expect_equal "$(json "j ->> '\$.input.world_size'" "j ->> '\$.input.ranks_used'" "j -> '\$.communicators[0].ranks'" \
	"j -> '\$.communicators[0].observed'")" '4|2|[0,1,2,3]|[0,2]'
run "$npuprof" cluster -d "$work/c" -o "$work/out"
expect_stdout_says '2 ranks of 4' '0,2 (2 of 4)'

# 17: a database that says WAL and has no -wal file
behaviour 'a database in WAL mode is read without leaving files beside it'
fresh
in_all 'PRAGMA journal_mode = WAL' >/dev/null
expect_equal "$(od -An -tu1 -j18 -N2 "$(db 1)" | tr -d ' ')" 22
expect 'there is no -wal file' test ! -e "$(db 1)-wal"
same_figures

# 18: rows in the -wal file only
behaviour 'rows of a -wal file count, and it is said'
fresh
rm "$(analysis 1)"
sqlite3 "$(db 1)" 'CREATE TABLE kept AS SELECT * FROM TASK; DELETE FROM TASK; PRAGMA journal_mode = WAL' >/dev/null
cp "$(db 1)" "$work/wal.db"
printf '%s\n' 'INSERT INTO TASK SELECT * FROM kept;' ".shell cp '$work/wal.db-wal' '$(db 1)-wal'; cp '$work/wal.db' '$(db 1)'" |
	sqlite3 "$work/wal.db"
expect 'the -wal file has rows' test -s "$(db 1)-wal"
same_figures
expect_equal "$(json "j ->> '\$.input.warnings[0].rank'" "j ->> '\$.input.warnings[0].reason' LIKE '%-wal%temporary copy%'")" '1|1'
expect_equal "$(find "$(rank 1)" -name '*-shm')" ''

# 19: locked by a writer
behaviour 'a database that somebody writes costs its rank, and the writer is named as the reason'
fresh
rm "$(analysis 2)"
mkfifo "$work/sql"
sqlite3 "$(db 2)" <"$work/sql" >"$work/locked" &
exec 9>"$work/sql"
printf "BEGIN EXCLUSIVE; SELECT 'locked';\n" >&9
for ((i = 0; i < 200; i++)); do
	[[ -s $work/locked ]] && break
	sleep 0.05
done
analyse 3
exec 9>&-
wait
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].rank'" \
	"j ->> '\$.input.skipped[0].reason' LIKE '%ascend_pytorch_profiler_2.db%is being written by another program%'")" '3|2|1'
expect 'the other ranks are as in the sound run' diff <(grep -vE '^step\|[0-9]+\|2\|' "$work/good.steps") "$work/steps"
behaviour 'when it is done the rank is read'
same_figures

# 20: damaged files
for size in 20000 40961 50 0-16; do
	behaviour "a database that is cut, or overwritten, costs one rank: $size"
	fresh
	rm "$(analysis 1)"
	if [[ $size == 0-16 ]]; then
		dd status=none if=/dev/zero of="$(db 1)" bs=16 count=1 conv=notrunc
	else
		truncate -s "$size" "$(db 1)"
	fi
	analyse 3
	expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.input.skipped[0].rank'" \
		"j ->> '\$.input.skipped[0].reason' LIKE '%ascend_pytorch_profiler_1.db%'")" '3|1|1'
	expect 'the other ranks are as in the sound run' diff <(grep -vE '^step\|[0-9]+\|1\|' "$work/good.steps") "$work/steps"
done

# 21: zero bytes
behaviour 'an empty file is as good as none'
fresh
: >"$(db 1)"
: >"$(analysis 2)"
analyse 3
expect 'the others tell the same' diff <(cut -d '|' -f 1-10 "$work/good.steps") <(cut -d '|' -f 1-10 "$work/steps")
expect_equal "$(json "j ->> '\$.input.ranks_used'" "json_array_length(j, '\$.input.skipped')" "j ->> '\$.input.skipped[0].reason' LIKE '%empty (0 bytes)%'" \
	"j ->> '\$.input.skipped[1].reason' LIKE '%empty (0 bytes)%'")" '4|2|1|1'

# 27: the SDMA row is the sum of the others
behaviour 'what was moved is counted once'
fresh
expected=$(sqlite3 "$(analysis 0)" "SELECT CAST(round(sum(transit_size) * 1000000) AS INTEGER) FROM CommAnalyzerBandwidth
	WHERE transport_type = 'SDMA' AND hccl_op_name NOT LIKE 'total%'")
doubled=$(sqlite3 "$(analysis 0)" "SELECT CAST(round(sum(transit_size) * 1000000) AS INTEGER) FROM
	(SELECT DISTINCT hccl_op_name, step, transport_type, transit_size FROM CommAnalyzerBandwidth WHERE hccl_op_name NOT LIKE 'total%')")
expect 'adding all rows gives more' test "$doubled" -gt "$expected"
for form in database analysis.db; do
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json --ranks 0
	expect_equal "$form $(json "sum(s.value ->> 'moved_bytes') FROM (SELECT readfile('$work/stdout') AS j) f,
		json_each(f.j, '\$.communicators') c, json_each(c.value, '\$.steps') s; --")" "$form $expected"
	rm -f "$(db 0)"
done

# 28: operators start elsewhere in the analyser's table
behaviour 'starts that differ by the conversion of clocks are no disagreement, and change nothing'
fresh
sqlite3 "$(analysis 0)" 'UPDATE CommAnalyzerTime SET start_timestamp = start_timestamp - 13.5'
sqlite3 "$(analysis 1)" 'UPDATE CommAnalyzerTime SET start_timestamp = start_timestamp + 21.5'
same_figures
expect_equal "$(json "j -> '\$.input.warnings'")" '[]'

# 29: durations of zero, impossible ones, negative sizes of memory
behaviour 'durations of zero count, impossible ones are left out and said'
fresh
in_all "INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, taskType)
		SELECT startNs, startNs, deviceId, connectionId, globalTaskId + 1000000, taskType FROM TASK ORDER BY startNs LIMIT 10 OFFSET 40;
	UPDATE OP_MEMORY SET size = -size, duration = -1"
same_figures
expect_equal "$(json "j -> '\$.input.warnings'")" '[]'
sqlite3 "$(db 1)" 'INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, taskType)
		SELECT endNs, startNs, deviceId, connectionId, globalTaskId + 2000000, taskType FROM TASK WHERE endNs > startNs LIMIT 10;
	INSERT INTO COMPUTE_TASK_INFO (globalTaskId) SELECT globalTaskId FROM TASK WHERE globalTaskId > 2000000'
same_figures 3
expect_equal "$(json "j ->> '\$.input.skipped[0].rank'" "j ->> '\$.input.skipped[0].reason' LIKE '10 tasks or operators with impossible times%'")" '1|1'

behaviour 'memory that is less than nothing is unknown, and how often is said'
fresh
sqlite3 "$(db 1)" 'UPDATE MEMORY_RECORD SET totalAllocated = -1'
same_figures 3
expect_equal "$(json "j ->> '\$.input.skipped[0].what'" "j ->> '\$.input.skipped[0].reason' LIKE '% values of its % rows are impossible: they count as unknown'")" 'MEMORY_RECORD|1'
expect_equal "$(json "min(m.value ->> 'peak_bytes') FROM (SELECT readfile('$work/stdout') AS j) f, json_each(f.j, '\$.memory') m WHERE m.value ->> 'rank' = 1; --")" ''

behaviour 'what others have and a rank has not is said'
fresh
sqlite3 "$(db 2)" 'DELETE FROM AICORE_FREQ'
same_figures
expect_equal "$(json "j ->> '\$.input.warnings[0].rank'" "j ->> '\$.input.warnings[0].what'" "j ->> '\$.input.warnings[0].reason'")" \
	'2|AICORE_FREQ|it has no rows, though it has on other ranks'

behaviour 'tasks that ran a day after the session ended are none'
fresh
sqlite3 "$(db 1)" 'INSERT INTO TASK (startNs, endNs, deviceId, connectionId, globalTaskId, taskType)
	SELECT startNs + 86400000000000, endNs + 86400000000000, deviceId, connectionId, globalTaskId + 2000000, taskType FROM TASK LIMIT 3'
same_figures 3
expect_equal "$(json "j ->> '\$.input.skipped[0].reason' LIKE '3 tasks or operators with impossible times%'")" 1

# 33: the device is not the rank
behaviour 'rank and device are both kept'
fresh
sqlite3 "$(db 2)" 'UPDATE TASK SET deviceId = 4; UPDATE COMMUNICATION_OP SET deviceId = 4; UPDATE NPU_INFO SET id = 4; UPDATE RANK_DEVICE_MAP SET deviceId = 4'
sqlite3 "$(analysis 2)" 'UPDATE StepTraceTime SET deviceId = 4'
same_figures
expect_equal "$(json "j ->> '\$.steps[0].ranks[2].rank'" "j ->> '\$.steps[0].ranks[2].device'")" '2|4'
expect_equal "$(sqlite3 "$merged" 'SELECT deviceId FROM RankDeviceMap WHERE rankId = 2')" 4
expect_equal "$(json "j -> '\$.input.warnings'")" '[]'

# 34: the vendor's bubble does not count batched messages. The measure of ours beside it is not
# there yet.
behaviour 'the bubble of batched messages is the 0 of the vendor'
for p2p in sendrecv batch; do
	rm -rf "$work/c"
	"$synth" -q -o "$work/c" --schedule pp --pp 2 --ranks 2 "${small[@]}" --p2p $p2p || exit 1
	analyse 0
	expect_equal "$p2p $(json "sum(r.value ->> 'bubble_ns') > 0, sum(r.value ->> 'communication_ns') > 0 FROM
		(SELECT readfile('$work/stdout') AS j) f, json_each(f.j, '\$.steps') s, json_each(s.value, '\$.ranks') r; --")" \
		"$p2p $([[ $p2p == batch ]] && echo 0 || echo 1)|1"
	expect_equal "$(sqlite3 "$(analysis 1)" 'SELECT CAST(round(sum(bubble) * 1000) AS INTEGER) FROM StepTraceTime')" \
		"$(awk -F '|' '$3 == 1 { sum += $9 } END { print sum + 0 }' "$work/steps")"
done

# 35: clocks of hosts are not aligned. What is of one rank must not depend on them; waits, which
# may be found by comparing ranks, are not compared here.
behaviour 'clocks that differ by minutes change no figure of a rank'
"$synth" -q -o "$work/hosts" --ranks 4 --hosts 2 "${small[@]}" --schema 1.2 || exit 1
"$synth" -q -o "$work/skewed" --ranks 4 --hosts 2 "${small[@]}" --schema 1.2 --clock-skew host1:120s --clock-skew 1:-3us || exit 1
fresh "$work/hosts"
analyse 0
remember
fresh "$work/skewed"
analyse 0
expect 'step times are those of true clocks' diff "$work/good.steps" "$work/steps"
expect 'communicators are those of true clocks' diff <(cut -d '|' -f 1-9,11 "$work/good.communicators") <(cut -d '|' -f 1-9,11 "$work/communicators")

# 36: other things in the tree
behaviour 'what is no profile is passed over'
fresh "$work/hosts"
dir=$(rank 1)
mkdir -p "$dir/logs" "$dir/FRAMEWORK" "$dir/PROF_000001_20250109081616000_ABCDEF/device_1/data" "$work/c/1234_op_arg" "$work/c/empty" "$work/c/.hidden"
: >"$dir/analyse.done"
echo 'not a profile' >"$dir/logs/ProfilerState.log"
head -c 5000 /dev/urandom >"$dir/FRAMEWORK/torch.op_range"
cp -a "$(rank 0)" "$work/c/.hidden/copy_ascend_pt"
cp "$(db 2)" "$dir/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.dat"
cp "$(analysis 2)" "$dir/ASCEND_PROFILER_OUTPUT/analysis.dat"
cp "$(db 2)" "$work/c/1234_op_arg/dump.db"
same_figures
expect_equal "$(json "j -> '\$.input.warnings'" "j -> '\$.input.skipped'")" '[]|[]'
