#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The stand-in msprof converts raw data of the simulator, as much of them as there is.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/raw.sh"
need_program sqlite3

msprof=$NPUPROF_BUILD/sim/bin/msprof
[[ -x $msprof ]] || skip 'the stand-in msprof was not built'

# ask <database> <sql>: the answer, in the names of strings
ask() {
	sqlite3 "$1" "$2"
}

write_raw "$work/r1" 1 4
prof=$(echo "$work"/r1/PROF_*)
before=$(snapshot "$prof/host")$(snapshot "$prof/device_1")

behaviour 'it says what it is'
run "$msprof" --help
expect_exit 0
expect_stdout_has '--export=on' '--type=TYPE' 'simulated'
run "$msprof" --version
expect_exit 0
expect_stdout_has 'stand-in'

behaviour 'an export is a database of schema 1.2'
run "$msprof" --export=on --type=db "--output=$prof"
expect_exit 0
expect_no_stderr
db=$(echo "$prof"/msprof_*.db)
expect_file "$db"
expect_equal "$(ask "$db" "SELECT value FROM META_DATA WHERE name = 'SCHEMA_VERSION'")" 1.2.0
expect_equal "$(ask "$db" 'SELECT * FROM RANK_DEVICE_MAP')" '1|1'
expect_equal "$(ask "$db" 'SELECT * FROM HOST_INFO')" '70000|node0'
expect_equal "$(ask "$db" 'SELECT * FROM NPU_INFO')" '1|Ascend910B4'
expect_equal "$(ask "$db" 'SELECT * FROM SESSION_TIME_INFO')" '1763000000001000000|1763000000003100000'

behaviour 'kernels keep their times, names, shapes and counters'
# First kernel of step 10: 50 µs after 1763000000001000 µs, 100 µs long; 97 µs of it on the cores.
expect_equal "$(ask "$db" 'SELECT t.startNs, t.endNs, t.streamId, n.value, y.value, k.blockNum, s.value
	FROM TASK t JOIN COMPUTE_TASK_INFO k USING (globalTaskId) JOIN STRING_IDS n ON n.id = k.name
	JOIN STRING_IDS y ON y.id = k.opType JOIN STRING_IDS s ON s.id = k.inputShapes ORDER BY t.startNs LIMIT 1')" \
	'1763000000001050000|1763000000001150000|2|MatMul_1|MatMulV2|20|"4096,1024;1024,1024"'
expect_equal "$(ask "$db" 'SELECT count(*), min(value), max(value) FROM TASK_PMU_INFO')" '6|97000|97000'

behaviour 'operators have their small tasks, on their streams'
expect_equal "$(ask "$db" 'SELECT n.value, g.value, count, dataType, rankSize, startNs FROM COMMUNICATION_OP o
	JOIN STRING_IDS n ON n.id = o.opName JOIN STRING_IDS g ON g.id = o.groupName LIMIT 1')" \
	'hcom_allReduce__662_0_1|group_world|1048576|4|4|1763000000001410000'
expect_equal "$(ask "$db" "SELECT n.value, planeId, srcRank, dstRank, size, linkType, streamId, endNs - startNs
	FROM COMMUNICATION_TASK_INFO c JOIN TASK t USING (globalTaskId) JOIN STRING_IDS n ON n.id = c.taskType
	WHERE opId = 1 AND size = 4000000")" 'Memcpy|1|1|2|4000000|1|11|80000'

behaviour 'marks of mstx are there'
expect_equal "$(ask "$db" 'SELECT s.value, startNs FROM MSTX_EVENTS m JOIN STRING_IDS s ON s.id = m.message')" \
	'step 10|1763000000001000000'

behaviour 'text and analysis are written where msprof writes them'
for action in export analyze; do
	run "$msprof" "--$action=on" --type=text "--output=$prof"
	expect_exit 0
done
run "$msprof" --analyze=on --type=db "--output=$work/r1"
expect_exit 0
for file in "$prof"/mindstudio_profiler_output/{msprof,op_summary,op_statistic,api_statistic}_*.{json,csv} \
	"$prof"/analyze/communication{,_matrix}.json "$prof"/analyze/communication_analyzer.db; do
	[[ $file == *'*'* ]] || expect_file "$file"
done
expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$(echo "$prof"/mindstudio_profiler_output/msprof_*.json)'))
	WHERE value ->> 'ph' = 'X' AND value ->> 'name' LIKE 'MatMul%'")" 4
expect_equal "$(ask "$prof/analyze/communication_analyzer.db" 'SELECT count(*) FROM CommAnalyzerTime')" 2

behaviour 'raw data are not changed'
expect_equal "$(snapshot "$prof/host")$(snapshot "$prof/device_1")" "$before"

behaviour 'at level 0 the small tasks are bare, as in real databases'
write_raw "$work/l0" 0 2 2049
run "$msprof" --export=on --type=db "--output=$(echo "$work"/l0/PROF_*)"
expect_exit 0
db=$(echo "$work"/l0/PROF_*/msprof_*.db)
expect_equal "$(ask "$db" "SELECT DISTINCT s.value, planeId, srcRank, dstRank, size, transportType, linkType
	FROM COMMUNICATION_TASK_INFO c JOIN STRING_IDS s ON s.id = c.taskType")" 'N/A|4294967295|4294967295|4294967295|-1|65534|65534'
expect_equal "$(ask "$db" "SELECT DISTINCT s.value FROM COMPUTE_TASK_INFO c JOIN STRING_IDS s ON s.id IN (c.opType, c.inputShapes)")" 'N/A'
expect_equal "$(ask "$db" "SELECT group_concat(value) FROM (SELECT DISTINCT s.value FROM TASK t JOIN STRING_IDS s ON s.id = t.taskType ORDER BY 1)")" \
	'KERNEL_AICORE,Notify Wait,SDMA'

behaviour 'NPUSIM_SCHEMA=old gives schema 1.0'
rm -f "$work"/l0/PROF_*/msprof_*.db
NPUSIM_SCHEMA=old run "$msprof" --export=on --type=db "--output=$(echo "$work"/l0/PROF_*)"
expect_exit 0
db=$(echo "$work"/l0/PROF_*/msprof_*.db)
expect_equal "$(ask "$db" "SELECT value FROM META_DATA WHERE name = 'SCHEMA_VERSION'")" 1.0.0
expect_equal "$(ask "$db" "SELECT count(*) FROM pragma_table_info('COMMUNICATION_OP') WHERE name = 'deviceId'")" 0

behaviour 'a recording that was cut is read as far as it goes'
write_raw "$work/cut" 0 2
slice=$(echo "$work"/cut/PROF_*/device_0/data/npusim.data.0.slice_0)
# In the middle of a line, so that the second step has no operator.
truncate -s $(($(stat -c %s "$slice") * 3 / 4)) "$slice"
run "$msprof" --export=on --type=db "--output=$(echo "$work"/cut/PROF_*)"
expect_exit 0
expect_stdout_has '[WARNING]' 'did not end'
expect_equal "$(ask "$(echo "$work"/cut/PROF_*/msprof_*.db)" 'SELECT count(*) FROM COMMUNICATION_OP')" 1

behaviour 'damage is told with file and line'
write_raw "$work/bad" 0 2
slice=$(echo "$work"/bad/PROF_*/device_0/data/npusim.data.0.slice_0)
sed -i '5s/\t[0-9]*\t/\tabc\t/' "$slice"
run "$msprof" --export=on --type=db "--output=$(echo "$work"/bad/PROF_*)"
expect_exit 1
expect_stderr_has 'npusim.data.0.slice_0:5: a field is out of range'

behaviour 'an empty slice, a foreign one and none are refused'
: >"$slice"
run "$msprof" --export=on --type=db "--output=$(echo "$work"/bad/PROF_*)"
expect_exit 1
expect_stderr_has 'is empty'
echo 'something else' >"$slice"
run "$msprof" --export=on --type=db "--output=$(echo "$work"/bad/PROF_*)"
expect_exit 1
expect_stderr_has 'is not raw data of the simulator'
rm "$slice"
run "$msprof" --export=on --type=db "--output=$(echo "$work"/bad/PROF_*)"
expect_exit 1
expect_stderr_has 'cannot read'

behaviour 'wrong options are refused'
run "$msprof" --export=on
expect_exit 1
expect_stderr_has '--output=DIR is needed'
run "$msprof" "--output=$prof"
expect_exit 1
expect_stderr_has 'one of --export=on and --analyze=on'
run "$msprof" --export=on --type=xml "--output=$prof"
expect_exit 1
expect_stderr_has "no type 'xml'"
run "$msprof" --exprot=on "--output=$prof"
expect_exit 1
expect_stderr_has "unknown option '--exprot=on'"
run "$msprof" --export=on "--output=$work"
expect_exit 1
expect_stderr_has 'no PROF_*'
run "$msprof" --dynamic=on "--output=$work"
expect_exit 1
expect_stderr_has '--dynamic=on needs --pid=PID or an application'

behaviour 'an application that was started with PROFILING_MODE=dynamic is profiled while it is told to'
home=$(getent passwd "$(id -u)" | cut -d: -f6)
if [[ -w $home && -x $NPUPROF_BUILD/npu-train-demo ]]; then
	export LD_LIBRARY_PATH=$NPUPROF_BUILD/npusim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	mkdir "$work/dynamic" "$work/launched"
	RANK=0 PROFILING_MODE=dynamic "$NPUPROF_BUILD/npu-train-demo" -q --steps 100000 --layers 1 &
	app=$!
	# appears <command>...: wait until it succeeds
	appears() {
		local try

		for ((try = 0; try < 600; try++)); do
			"$@" && return
			sleep 0.05
		done
		return 1
	}
	expect 'it never listens' appears test -S "$home/dynamic_profiling_socket_$app"
	# talk <word>...: what msprof answers to these, one after another
	talk() {
		local word

		for word; do
			echo "$word"
			[[ $word == quit ]] || sleep 0.2
		done | "$msprof" --dynamic=on "--output=$work/dynamic" --task-time=l0 "--pid=$app" >"$work/stdout" 2>"$work/stderr"
	}
	talk stop start start stop begin quit
	sed -i "s/ of process $app//; s/^> //" "$work/stdout"
	expect_stdout <<-'END'
		[ERROR] stop: not started
		[INFO] start: done
		[ERROR] start: started already
		[INFO] stop: done
		[ERROR] there are start, stop and quit
		[INFO] quit: done
	END
	talk start quit
	expect_equal "$(find "$work/dynamic" -path '*/host/end_info' | wc -l)" 2
	kill "$app"
	wait "$app" 2>/dev/null
	run "$msprof" --dynamic=on "--output=$work/dynamic" "--pid=$app"
	expect_exit 1
	expect_stderr_has "cannot reach process $app: was it started with PROFILING_MODE=dynamic"
	rm -f "$home/dynamic_profiling_socket_$app" # it was killed, and CANN leaves it as well
	# An application that msprof has started goes on after its quit.
	printf '%s\n' start stop quit |
		"$msprof" --dynamic=on "--output=$work/launched" "$NPUPROF_BUILD/npu-train-demo" -q --steps 100000 --layers 1 >"$work/stdout" &
	launcher=$!
	# said <words>: has msprof?
	said() {
		grep -qsF "$1" "$work/stdout"
	}
	expect 'it does not quit' appears said "quit of process $launcher: done"
	expect 'the application has ended too' pkill -TERM -P "$launcher"
	wait "$launcher" 2>/dev/null
	rm -f "$home/dynamic_profiling_socket_$launcher"
	expect_equal "$(find "$work/launched" -path '*/host/end_info' | wc -l)" 1
else
	echo "$home cannot be written to: dynamic profiling is not tried"
fi
