#!/usr/bin/env bash
# What real text exports and directories look like when they do not look as documented: every
# number is a row of the table of quirks (1-36); those of databases are in t9001-quirks-db.sh.
# shellcheck source-path=SCRIPTDIR disable=SC2016
. "$(dirname "$0")/lib.sh"
need_program sqlite3 iconv

small=(--steps 2 --layers 2 --kernels-per-layer 4)
"$synth" -q -o "$work/good" --ranks 2 "${small[@]}" --format text --memory || exit 1

# fresh [directory]: a copy to damage, of the sound run or of another
fresh() {
	rm -rf "$work/c"
	cp -a "${1:-$work/good}" "$work/c"
}

# rank <n>: its directory; file <n> <name>: one of its files; files <name>: that of every rank, in "${found[@]}"
rank() {
	dirname "$(ls "$work"/c/*/profiler_info_"$1".json)"
}
file() {
	echo "$(rank "$1")/ASCEND_PROFILER_OUTPUT/$2"
}
files() {
	mapfile -d '' found < <(find "$work/c" -path '*/ASCEND_PROFILER_OUTPUT/*' -name "$1" -print0)
}

# edit <name> <sed argument>...: change that file of every rank; it must make a difference
edit() {
	local path

	files "$1"
	shift
	expect 'there are files to change' test "${#found[@]}" -gt 0
	for path in "${found[@]}"; do
		cp "$path" "$work/unedited"
		sed -i "$@" "$path"
		checks=$((checks + 1))
		! cmp -s "$path" "$work/unedited" || wrong "sed $* changed nothing in $path"
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
			r.value ->> 'stage_ns', r.value ->> 'span_ns'
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
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
	expect_exit "$1"
	expect_equal "$(snapshot "$work/c")" "$before"
	expect_equal "$(json 'json_valid(j)')" 1
	expect 'no number is infinite' test "$(grep -ciE ': *-?(nan|inf)' "$work/stdout")" = 0
	steps >"$work/steps"
	communicators >"$work/communicators"
}

# same_figures: what was changed in $work/c changes no figure
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

# skipped <expected>: rank and the file named of everything that was not used, one line each
skipped() {
	expect_equal "$(sqlite3 :memory: "SELECT value ->> 'rank', value ->> 'what' FROM json_each(readfile('$work/stdout'), '\$.input.skipped')")" "$1"
}

# warned <like>: something of that sort is among the warnings
warned() {
	expect_equal "$1: $(sqlite3 :memory: "SELECT count(*) > 0 FROM json_each(readfile('$work/stdout'), '\$.input.warnings')
		WHERE value ->> 'reason' LIKE '$1'")" "$1: 1"
}

# lost <pattern>: it stands among what could not be used
lost() {
	expect_equal "$1: $(sqlite3 :memory: "SELECT count(*) > 0 FROM json_each(readfile('$work/stdout'), '\$.input.skipped')
		WHERE value ->> 'reason' LIKE '$1'")" "$1: 1"
}

merged=$work/out/cluster_analysis_output/cluster_analysis.db

behaviour 'the sound run'
fresh
analyse 0
remember

# 22: zero bytes
behaviour 'empty files are skipped and said; what remains tells'
fresh
: >"$(file 0 step_trace_time.csv)"
: >"$(file 0 communication.json)"
: >"$(file 0 memory_record.csv)"
: >"$(file 1 communication_matrix.json)"
analyse 3
expect 'step times are those of the sound run' diff "$work/good.steps" "$work/steps"
skipped '0|step_trace_time.csv
0|communication.json
0|memory_record.csv
1|communication.json'
behaviour 'an empty trace is replaced by the other files'
fresh
: >"$(file 1 trace_view.json)"
analyse 3
skipped '1|trace_view.json'
expect 'step times are those of the sound run' diff <(cut -d '|' -f 1-8 "$work/good.steps") <(cut -d '|' -f 1-8 "$work/steps")
behaviour 'a rank with nothing but empty files is lost, and alone so'
fresh
for name in "$(rank 1)"/ASCEND_PROFILER_OUTPUT/*; do : >"$name"; done
analyse 3
skipped '1|rank'
expect 'the other one is there' diff <(grep -E '^step\|[0-9]+\|0\|' "$work/good.steps") "$work/steps"

# 23: the trace has no end
behaviour 'a trace without its last bracket is whole, and it is said'
fresh
files trace_view.json
for name in "${found[@]}"; do truncate -s -1 "$name"; done
same_figures
warned '%cut short%'
behaviour 'a trace that ends within an event loses that event'
truncate -s -30 "$(file 1 trace_view.json)"
analyse 3
warned '%cut short%'
expect_equal "$(wc -l <"$work/steps")" 4
expect 'the other rank is as before' diff <(grep -E '^step\|[0-9]+\|0\|' "$work/good.steps") <(grep -E '^step\|[0-9]+\|0\|' "$work/steps")

# 24: forms of numbers
behaviour 'times of events are texts or numbers, with or without decimals'
fresh
edit trace_view.json -E 's/"ts": "([0-9.]+)"/"ts": \1/g'
same_figures
fresh
edit trace_view.json -E 's/"dur": ([0-9.]+)/"dur": "\1"/g; s/"pid": ([0-9]+)/"pid": "\1"/g'
same_figures
fresh
# Whole microseconds, as in 2023: less exact, and all of it read.
edit trace_view.json -E 's/"ts": "([0-9]+)\.[0-9]+"/"ts": \1/g; s/"dur": ([0-9]+)\.[0-9]+/"dur": \1/g'
analyse 0
expect_equal "$(wc -l <"$work/steps")" 4
expect_equal "$(cut -d '|' -f 1-7 "$work/communicators")" "$(cut -d '|' -f 1-7 "$work/good.communicators")"
behaviour 'events in an object are events'
fresh
edit trace_view.json -e '1s/^/{"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": /' -e '$s/$/, "traceName": "x"}/'
same_figures

# 25: forms of CSV. Without the trace the table of kernels is what is read.
behaviour 'the table of kernels alone'
fresh
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/trace_view.json
rm -rf "$work/tables"
cp -a "$work/c" "$work/tables"
cp "$work/good.steps" "$work/trace.steps"
analyse 0
remember
expect 'computing is that of the trace' diff <(cut -d '|' -f 1-5 "$work/trace.steps") <(cut -d '|' -f 1-5 "$work/steps")
behaviour 'line ends of any kind'
expect 'there are CR LF' grep -q $'\r$' "$(file 0 kernel_details.csv)"
fresh "$work/tables"
edit kernel_details.csv 's/\r*$//'
edit step_trace_time.csv 's/\r*$//'
same_figures
fresh "$work/tables"
edit '*.csv' 's/\r*$//; 2~2s/$/\r/'
same_figures
fresh "$work/tables"
edit kernel_details.csv '$s/\r*$//'
files '*.csv'
for name in "${found[@]}"; do truncate -s -1 "$name"; done
same_figures
behaviour 'a byte order mark, as spreadsheets write it'
fresh "$work/tables"
edit '*.csv' '1s/^/\xef\xbb\xbf/'
edit communication.json '1s/^/\xef\xbb\xbf/'
same_figures
behaviour 'quoted cells with commas, quotes and lines, tabs, missing values'
fresh "$work/tables"
expect 'shapes are in three quotes' grep -q '"""' "$(file 0 kernel_details.csv)"
edit kernel_details.csv -E '1s/^Step Id,/Call Stack,Step Id,/; 2,$s/^/"one, line;\r\nan ""other"" line;\r\n",/; s/,N\/A(\r?)$/,\1/; 2,$s/AI_VECTOR_CORE/N\/A/'
same_figures
fresh "$work/tables"
edit kernel_details.csv 's/\t//g; s/Duration(us)/ Duration(us) /'
same_figures
behaviour 'columns in another order and of a newer version'
fresh "$work/tables"
edit kernel_details.csv -E 's/^([^,]*),([^,]*),([^,]*),([^,]*),([^,]*),/\5,\4,\1,\3,\2,/; s/Block Dim/Block Num/'
same_figures
behaviour 'times that a spreadsheet has rounded are refused, not used'
fresh "$work/tables"
edit kernel_details.csv -E 's/17364[0-9]+\.[0-9]+\t?/1.73641E+15/g'
analyse 3
skipped '0|kernel_details.csv
1|kernel_details.csv'
expect_equal "$(json "j ->> '\$.input.skipped[0].reason' LIKE '%saved by a spreadsheet%'" "j ->> '\$.input.skipped[0].reason' LIKE '%step_trace_time%'
	OR j ->> '\$.input.skipped[0].reason' LIKE '%used instead: text%'")" '1|1'
run "$npuprof" advisor -d "$work/c" -f json
expect_exit 3
expect_equal "$(grep -c 'saved by a spreadsheet' "$work/stderr")" 2
expect_equal "$(grep -c '"reason": .*saved by a spreadsheet' "$work/stdout")" 2
behaviour 'a header without rows is a file that was cut'
fresh "$work/tables"
edit kernel_details.csv '2,$d'
analyse 3
skipped '0|kernel_details.csv
1|kernel_details.csv'
expect_equal "$(json "j ->> '\$.input.skipped[0].reason' LIKE '%has no rows%'")" 1

# 10: no steps
behaviour 'without marks of steps the iterations are found'
fresh "$work/tables"
edit step_trace_time.csv -e '3d' -e '2s/^10,/,/'
edit kernel_details.csv -E 's/^(Step Id|10|11),//'
edit communication.json 's/"step10"/"step"/; s/"step11"/"other"/'
edit communication_matrix.json 's/"step10"/"step"/; s/"step11"/"other"/'
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/communication*.json
analyse 3
expect_equal "$(json "j -> '\$.input.steps'" "j ->> '\$.steps_from.how'")" '["1","2"]|period'
behaviour 'the label "step" is that of no step'
fresh "$work/good"
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view.json,kernel_details.csv}
edit step_trace_time.csv -e '3d' -e '2s/^10,/,/'
edit communication.json 's/, "step11": .*$/}/; s/"step10"/"step"/'
edit communication_matrix.json 's/, "step11": .*$/}/; s/"step10"/"step"/'
analyse 0
expect_equal "$(json "j -> '\$.input.steps'" "json_array_length(j, '\$.communicators')")" '[null]|2'
expect_equal "$(sqlite3 "$merged" 'SELECT DISTINCT step FROM ClusterCommunicationTime')" step
expect_equal "$(cut -d '|' -f 4-8 "$work/steps")" "$(grep '^step|10|' "$work/trace.steps" | cut -d '|' -f 4-8)"

# 26: nothing communicated, nothing waited for
behaviour 'an empty communication.json is no failure'
fresh
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view.json,kernel_details.csv,communication_matrix.json}
files communication.json
for name in "${found[@]}"; do printf '{"step": {"p2p": {}, "collective": {}}}' >"$name"; done
analyse 0
expect_equal "$(json "j -> '\$.communicators'")" '[]'
expect_equal "$(cut -d '|' -f 1-8 "$work/steps")" "$(cut -d '|' -f 1-8 "$work/trace.steps")"
behaviour 'where transit and wait are 0 nothing is divided by them, and the bandwidth tells what was moved'
fresh
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view.json,kernel_details.csv}
analyse 0
remember
edit communication.json -E 's/("Elapse Time\(ms\)": ([0-9.]+), "Transit Time\(ms\)": )[0-9.e-]+(, "Wait Time\(ms\)": )[0-9.e-]+(, "Synchronization Time\(ms\)": )[0-9.e-]+(, "Idle Time\(ms\)": )[0-9.e-]+/\10\30\40\5\2/g'
analyse 0
expect 'step times are the same' diff "$work/good.steps" "$work/steps"
expect_equal "$(cut -d '|' -f 1-9 "$work/communicators")" "$(cut -d '|' -f 1-9 "$work/good.communicators")"
expect_equal "$(json "sum(s.value ->> 'gb_per_s' > 0) = count(*) FROM (SELECT readfile('$work/stdout') AS j) f,
	json_each(f.j, '\$.communicators') c, json_each(c.value, '\$.steps') s; --")" 1
expect_equal "$(sqlite3 "$merged" 'SELECT count(*) > 0, max(wait_time_ratio), max(synchronization_time_ratio) FROM ClusterCommunicationTime')" '1|0.0|0.0'
# Bandwidth with a size and no time.
edit communication.json -E 's/("Transit Size\(MB\)": [0-9.e-]+, "Transit Time\(ms\)": )[0-9.e-]+/\10/g'
analyse 0
expect_equal "$(json "count(s.value ->> 'gb_per_s') FROM (SELECT readfile('$work/stdout') AS j) f,
	json_each(f.j, '\$.communicators') c, json_each(c.value, '\$.steps') s; --")" 0

# 27: SDMA is the sum of HCCS, PCIE and SIO
behaviour 'what was moved is counted once'
fresh
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/{trace_view.json,kernel_details.csv}
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json --ranks 0
expected=$(sqlite3 :memory: "SELECT CAST(round(sum(o.value ->> '\$.\"Communication Bandwidth Info\".SDMA.\"Transit Size(MB)\"') * 1000000) AS INTEGER)
	FROM json_each(readfile('$(file 0 communication.json)')) s, json_each(s.value, '\$.collective') o WHERE o.key NOT LIKE 'Total%'")
expect_equal "$(json "sum(s.value ->> 'moved_bytes') FROM (SELECT readfile('$work/stdout') AS j) f,
	json_each(f.j, '\$.communicators') c, json_each(c.value, '\$.steps') s; --")" "$expected"

# 28: the analyser's starts differ from those of the trace
behaviour 'starts that differ by the conversion of clocks are no disagreement, and change nothing'
fresh
analyse 0
remember
edit communication.json -E 's/("Start Timestamp\(us\)": 17364[0-9]{8})[0-9]{3}/\1001/g'
same_figures
expect_equal "$(json "j -> '\$.input.warnings'")" '[]'

# 29: durations of zero, impossible ones
behaviour 'events of no length count, impossible ones are left out and said'
fresh
edit trace_view.json -E '1s/^\[/[{"ph": "X", "name": "Notify_Wait", "pid": 1, "tid": 1, "ts": "1736410576000042.233", "dur": 0}, /'
same_figures
fresh
lane=$(grep -oE '\{[^{}]*"process_name"[^{}]*\{"name": "Ascend Hardware"\}' "$(file 1 trace_view.json)" | grep -oE '"pid": [0-9]+')
expect 'there is a lane of the device' test -n "$lane"
sed -i "1s/^\[/[{\"ph\": \"X\", \"name\": \"backwards\", $lane, \"tid\": 2, \"ts\": \"1736410576001042.233\", \"dur\": -5, \"args\": {\"Task Type\": \"AI_CORE\"}}, /" \
	"$(file 1 trace_view.json)"
same_figures 3
lost '1 tasks or operators with impossible times%'
fresh "$work/tables"
analyse 0
remember
expect 'a row is there' grep -q 'RmsNorm' "$(file 1 kernel_details.csv)"
row=$(sed -n 3p "$(file 1 kernel_details.csv)")
sed -E 's/\t,[0-9.]+,/\t,0,/' <<<"$row" >>"$(file 0 kernel_details.csv)"
sed -E 's/\t,[0-9.]+,/\t,-7.5,/' <<<"$row" >>"$(file 1 kernel_details.csv)"
same_figures 3
lost '1 of % rows have no usable time%'
behaviour 'negative sizes of memory are unknown, and said'
fresh
edit operator_memory.csv 's/98304\.0/-98304.0/'
edit memory_record.csv 's/,12384\.0/,-12384.0/'
analyse 3
lost '% values of its % rows are impossible: they count as unknown'

# 30: bytes that are no UTF-8
behaviour 'names in another encoding are escaped, and JSON stays JSON'
"$synth" -q -o "$work/both" --ranks 2 "${small[@]}" || exit 1
fresh "$work/both"
for n in 0 1; do
	# 计算 in GBK
	sqlite3 "$(file $n "ascend_pytorch_profiler_$n.db")" "UPDATE STRING_IDS SET value = CAST(X'BCC6CBE3' || value AS TEXT) WHERE value LIKE 'hcom_%';
		UPDATE HOST_INFO SET hostName = CAST(X'D6F7BBFA' AS TEXT)"
done
for format in table json csv md; do
	run "$npuprof" cluster -d "$work/c" -o "$work/out" -f $format
	expect "$format is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null "$work/stdout"
done
run "$npuprof" cluster -d "$work/c" -o "$work/out" -f json
expect_equal "$(json 'json_valid(j)' "j ->> '\$.steps[0].ranks[0].host'" "j ->> '\$.input.ranks_used'")" $'1|\ufffd\ufffd\ufffd\ufffd|2'
run "$npuprof" cluster -d "$work/c" -f csv --table ClusterCommunicationTime
expect_stdout_has '\xbc\xc6\xcb\xe3hcom_allReduce'
behaviour 'a path in another encoding'
mv "$work/c" "$work/"$'\xd6\xf7'
run "$npuprof" cluster -d "$work/"$'\xd6\xf7' -o "$work/out" -f json
expect_exit 0
expect_equal "$(json 'json_valid(j)' "substr(j ->> '\$.input.path', -2) = char(65533, 65533)")" '1|1'
rm -rf "$work/"$'\xd6\xf7'

# 31: links, loops, odd names
behaviour 'links are followed, each directory once'
fresh "$work/both"
analyse 0
remember
mkdir "$work/elsewhere" "$work/c/node 1"
mv "$(rank 1)" "$work/elsewhere/50%_of 列 \"1\"'s_ascend_pt"
ln -s "$work/elsewhere/50%_of 列 \"1\"'s_ascend_pt" "$work/c/node 1/link_ascend_pt"
ln -s "$work/c" "$work/c/node 1/up"
ln -s . "$work/c/self"
ln -s missing "$work/c/nowhere"
ln -s loop2 "$work/c/loop1"
ln -s loop1 "$work/c/loop2"
same_figures
expect_equal "$(json "j -> '\$.input.warnings'" "j -> '\$.input.skipped'")" '[]|[]'
rm -r "$work/elsewhere"

# 32: characters that mean something in a URI
behaviour 'paths with ?, # and % are paths'
for odd in 'what?mode=memory' 'a#b' '100%25' '%41' 'file:x?immutable=0&vfs=none'; do
	fresh "$work/both"
	mkdir -p "$work/u"
	rm -rf "$work/u/$odd"
	mv "$work/c" "$work/u/$odd"
	before=$(snapshot "$work/u/$odd")
	cd "$work/u" || exit 1
	run "$npuprof" cluster -d "$odd" -o "$work/out" -f json
	expect_exit 0
	cd "$work" || exit 1
	expect_equal "$(snapshot "$work/u/$odd")" "$before"
	expect "$odd: step times are those of the sound run" diff "$work/good.steps" <(steps)
	# And the result goes where it was told to.
	run "$npuprof" cluster -d "$work/u/$odd" -q
	expect_exit 0
	expect_file "$work/u/$odd/cluster_analysis_output/cluster_analysis.db"
	expect_equal "$(find "$work/u" -mindepth 1 -maxdepth 1 | wc -l)" 1
	rm -r "$work/u"
done

# 33: the device is not the rank
behaviour 'rank and device are both kept'
"$synth" -q -o "$work/new" --ranks 2 "${small[@]}" --format text --schema 1.2 || exit 1
fresh "$work/new"
rm "$work"/c/*/ASCEND_PROFILER_OUTPUT/trace_view.json
sed -i '2,$s/^\([0-9]*\),1,/\1,5,/' "$(file 1 kernel_details.csv)"
sed -i '2,$s/^1,/5,/' "$(file 1 step_trace_time.csv)"
analyse 0
expect_equal "$(json "j ->> '\$.steps[0].ranks[1].rank'" "j ->> '\$.steps[0].ranks[1].device'")" '1|5'
expect_equal "$(sqlite3 "$merged" 'SELECT deviceId FROM RankDeviceMap WHERE rankId = 1')" 5

# 15, 16: numbers of ranks, ranks that are missing
behaviour 'the rank may be said inside of profiler_info.json only, as a text'
fresh
dir=$(rank 1)
sed 's/"rank_id": 1/"rank_id": "1"/' "$dir/profiler_info_1.json" >"$dir/profiler_info.json"
rm "$dir/profiler_info_1.json"
analyse 0
expect_equal "$(json "j ->> '\$.input.ranks_used'" "j ->> '\$.steps[0].ranks[1].rank'")" '2|1'
behaviour 'a rank that was not profiled is counted'
rm -r "$dir"
analyse 0
expect_equal "$(json "j ->> '\$.input.world_size'" "j ->> '\$.input.ranks_used'" "j -> '\$.communicators[0].ranks'" \
	"j -> '\$.communicators[0].observed'")" '2|1|[0,1]|[0]'

# 2, 14: a trace and tables of another capture do not agree
behaviour 'files that disagree are said to'
fresh
edit step_trace_time.csv -E '2s/^10,[0-9.]+,/10,1.0,/'
analyse 3
warned '%value disagrees%'

# 36: other things in the tree
behaviour 'what is no profile is passed over'
fresh
analyse 0
remember
dir=$(rank 1)
mkdir -p "$dir/logs" "$dir/FRAMEWORK" "$dir/PROF_000001_20250109081616000_ABCDEF/mindstudio_profiler_output" "$work/c/77_op_arg"
: >"$dir/analyse.done"
echo '[' >"$dir/FRAMEWORK/trace_view.json"
cp "$(file 0 trace_view.json)" "$(file 1 trace_view.json.bak)"
cp "$(file 0 kernel_details.csv)" "$(file 1 'kernel_details (copy).csv')"
cp "$(file 0 kernel_details.csv)" "$work/c/77_op_arg/"
same_figures
expect_equal "$(json "j -> '\$.input.warnings'" "j -> '\$.input.skipped'")" '[]|[]'

# msprof without op_summary: task_time has all tasks, of which those with a name are kernels
behaviour 'the table of tasks stands in where kernels have no table'
cd "$work" || exit 1
tasks=tasks/PROF_000001_20250109081616000_ABCDEF/mindstudio_profiler_output
mkdir -p "$tasks"
{
	echo 'Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)'
	printf '0,N/A,PROFILING_ENABLE,9,4,0.020,1736410577000000.000\t,1736410577000000.020\t\n'
	printf '0,N/A,TASK_TIMEOUT_SET,9,5,93.980,1736410577000100.000\t,1736410577000193.980\t\n'
	printf '0,main_kernel,MIX_AIC,2,0,80.500,1736410577000500.000\t,1736410577000580.500\t\n'
	printf '0,N/A,MEMCPY_ASYNC,2,1,10.000,1736410577000585.000\t,1736410577000595.000\t\n'
	printf '0,main_kernel,MIX_AIC,2,2,70.000,1736410577000600.000\t,1736410577000670.000\t\n'
} >"$tasks/task_time_20250109081700.csv"
run "$npuprof" cluster tasks -o out -f json -q
expect_exit 0
# 170 us from the first kernel to the last, of these 80.5 + 70 computing, 10 copying and 9.5 idle
expect_equal "$(sqlite3 :memory: "SELECT r.value ->> 'computing_ns', r.value ->> 'span_ns', r.value ->> 'partition'
	FROM json_each(readfile('stdout'), '\$.steps[0].ranks') AS r")" \
	'150500|170000|[{"leaf":"compute/unknown","ns":150500},{"leaf":"memcpy","ns":10000},{"leaf":"free/unknown","ns":9500}]'
