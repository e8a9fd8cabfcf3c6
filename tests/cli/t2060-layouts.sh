#!/usr/bin/env bash
# Whatever is pointed at: single files, flat directories, outputs without their parents, archives.
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
small=(--ranks 4 --steps 2 --layers 2 --kernels-per-layer 3)
"$synth" -q -o db "${small[@]}" || exit 1
"$synth" -q -o text "${small[@]}" --format text --gzip || exit 1
"$synth" -q -o msprof "${small[@]}" --format msprof-text || exit 1

# figures <argument>...: step times of all ranks, without the paths
figures() {
	"$npuprof" cluster -q -o out "$@" >/dev/null 2>&1
	sqlite3 out/cluster_analysis_output/cluster_analysis.db \
		"SELECT step, type, \"index\", computing, communication_not_overlapped, overlapped, communication, free, stage, bubble, preparing
		FROM ClusterStepTraceTime WHERE type = 'rank' ORDER BY step, \"index\""
}

# db_of <rank>
db_of() {
	ls db/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_"$1".db
}

figures db >db.csv
figures text >text.csv
figures msprof >msprof.csv
expect 'there are figures' test -s db.csv -a -s text.csv -a -s msprof.csv

behaviour 'a database is a run of one rank'
run "$npuprof" cluster -o out "$(db_of 2)"
expect_exit 0
expect_stdout_says '1 rank of 4'
expect 'figures are those of the whole run' diff <(grep '|rank|2|' db.csv) <(figures "$(db_of 2)")

behaviour 'several files are one run'
figures -d "$(db_of 0)" -d "$(db_of 1)" "$(db_of 2)" "$(db_of 3)" >some.csv
expect 'figures are those of the whole run' diff db.csv some.csv

behaviour 'what is made of a file goes beside it'
mkdir alone && cp "$(db_of 1)" alone/
run "$npuprof" cluster alone/ascend_pytorch_profiler_1.db
expect_exit 0
expect 'the merged database is there' test -s alone/cluster_analysis_output/cluster_analysis.db
run "$npuprof" advisor -q alone/ascend_pytorch_profiler_1.db
expect_exit 0

behaviour 'databases side by side are a rank each'
mkdir flat && cp db/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_*.db flat/
figures flat >flat.csv
expect 'figures are those of the whole run' diff db.csv flat.csv
run "$npuprof" info flat
expect_exit 0
expect_stdout_says '4 ranks of 4'

behaviour 'databases with names of the user are known by their tables'
mkdir named
for rank in 0 1 2 3; do cp "$(db_of $rank)" "named/node$((7 - rank)).db"; done
figures named >named.csv
expect 'figures are those of the whole run' diff db.csv named.csv

behaviour 'capitals in the name of a database do not hide it'
mkdir capitals
for rank in 0 1 2 3; do cp "$(db_of $rank)" "capitals/ASCEND_PYTORCH_PROFILER_$rank.DB"; done
figures capitals >capitals.csv
expect 'figures are those of the whole run' diff db.csv capitals.csv

behaviour 'an output directory may be given, alone and under another name'
one=$(find text -name '*_ascend_pt' | sort | head -1)
run "$npuprof" info -f json "$one/ASCEND_PROFILER_OUTPUT"
expect_exit 0
expect_stdout_has '"ranks_used": 1,'
for rank in 0 1 2 3; do
	mkdir -p "moved/rank_$rank" &&
		cp "$(dirname "$(ls text/*/profiler_info_$rank.json)")"/ASCEND_PROFILER_OUTPUT/* "moved/rank_$rank/"
done
figures moved >moved.csv
expect 'figures are those of the whole run' diff text.csv moved.csv
run "$npuprof" info moved
expect_exit 0
expect_stdout_says '0-3 (from the name)' 'no file says the rank of 4 captures'

behaviour 'files that somebody has gathered and renamed are a rank each, by words, numbers and contents'
mkdir gathered counted called numbered devices
for rank in 0 1 2 3; do
	from=$(dirname "$(ls text/*/profiler_info_$rank.json)")/ASCEND_PROFILER_OUTPUT
	mkdir -p numbered/$rank "devices/node0/device_$rank"
	for file in trace_view.json.gz kernel_details.csv communication.json step_trace_time.csv; do
		cp "$from/$file" "gathered/rank${rank}_$file"
		cp "$from/$file" "counted/${file%%.*}_$rank.${file#*.}"
		cp "$from/$file" numbered/$rank/
		cp "$from/$file" devices/node0/device_$rank/
	done
	cp "$from/trace_view.json.gz" "called/first_try_of_the_${rank}th.json.gz"
done
for way in gathered counted numbered devices; do
	figures $way >$way.csv
	expect "$way: figures are those of the whole run" diff text.csv $way.csv
	run "$npuprof" info $way
	expect_exit 0
	expect_stdout_says '0-3 (from the name)'
done
run "$npuprof" info called
expect_exit 3
expect_stdout_says '4 ranks' '0-3 (provisional)'
figures called >called.csv
expect 'computing is that of the whole run' diff <(cut -d'|' -f3-4 text.csv) <(cut -d'|' -f3-4 called.csv)
run "$npuprof" info gathered/rank1_trace_view.json.gz gathered/rank2_kernel_details.csv
expect_exit 0
expect_stdout_says '2 ranks' '1 (from the name)' '2 (from the name)'
mkdir -p run0 run1 && cp numbered/0/* run0/ && cp numbered/1/* run1/
run "$npuprof" info -d run0 -d run1
expect_exit 3

behaviour 'a part of a profile without times is named'
mkdir parts && cp "$(dirname "$(ls text/*/profiler_info_0.json)")/ASCEND_PROFILER_OUTPUT/op_statistic.csv" parts/
run "$npuprof" info parts
expect_exit 1
expect_stderr_has "'op_statistic.csv' is only a part of a profile"

behaviour 'a compressed trace is read, by itself too'
trace=$(find text -name trace_view.json.gz | sort | head -1)
run "$npuprof" info "$trace"
expect_exit 0
expect_stdout_says '1 rank'
gzip -k "$(dirname "$trace")/communication.json"
mkdir packed
cp "$(dirname "$trace")/communication.json.gz" packed/
run "$npuprof" info packed
expect_exit 0
expect_stdout_says 'step_trace_time.csv and commu'

behaviour 'mindstudio_profiler_output needs no PROF_* above it'
prof=$(find msprof -name 'PROF_*' | sort | head -1)
mkdir kept && cp -r "$prof/mindstudio_profiler_output" kept/
run "$npuprof" info kept
expect_exit 0
expect_stdout_says '1 rank' '0 (assumed)' 'msprof text' 'nothing names its rank: 0 is assumed'
run "$npuprof" info kept/mindstudio_profiler_output
expect_exit 0
expect_stdout_says '1 rank'
mkdir bare && cp kept/mindstudio_profiler_output/* bare/
run "$npuprof" info bare
expect_exit 0

behaviour 'raw data that were exported count where the output directory has nothing'
for rank in 0 1 2 3; do
	to=halfway/host0_$((300 + rank))_2025010908161600${rank}_ascend_pt
	mkdir -p "$to/ASCEND_PROFILER_OUTPUT" && cp -r "$(dirname "$(dirname "$(ls msprof/PROF_*/device_$rank/info.json.$rank)")")" "$to/"
	echo "{\"rank_id\": $rank}" >"$to/profiler_info_$rank.json"
done
run "$npuprof" info halfway
expect_exit 0
figures halfway >halfway.csv
expect 'figures are those of the whole run' diff msprof.csv halfway.csv

behaviour 'captures that nothing tells apart get provisional numbers, and are listed'
mkdir -p twice/a twice/b
cp kept/mindstudio_profiler_output/* twice/a/
cp kept/mindstudio_profiler_output/* twice/b/
run "$npuprof" info twice
expect_exit 3
expect_stdout_says '2 ranks' '0-1 (provisional)' '0 is a provisional number' '1 is a provisional number'
run "$npuprof" cluster -o out twice
expect_exit 3
checks=$((checks + 1))
grep -q 'rank -1' "$work/stdout" && wrong 'rank -1 on the screen'

behaviour 'an archive is refused with the line that unpacks it'
tar -czf run.tar.gz db
run "$npuprof" cluster run.tar.gz
expect_exit 2
expect_stderr_has "tar -xzf 'run.tar.gz' -C '.'"
run "$npuprof" info -d run.tar.gz
expect_exit 2
mkdir shelf && cp run.tar.gz shelf/prof.tar.gz
run "$npuprof" cluster shelf
expect_exit 1
expect_stderr_has "tar -xzf 'shelf/prof.tar.gz' -C 'shelf'"
cp -r db/. shelf/
run "$npuprof" cluster -o out shelf
expect_exit 3
expect_stdout_says 'archive' 'tar -xzf'

behaviour 'the layout of msprof before 2024 is named and refused in one line'
mkdir -p old/PROF_000001_20230801062800000_ABC/device_0/{timeline,summary}
echo '[]' >old/PROF_000001_20230801062800000_ABC/device_0/timeline/msprof_0_1_1.json
run "$npuprof" cluster old
expect_exit 1
expect_stderr_has 'before 2024'
expect_equal "$(wc -l <stderr)" 1
run "$npuprof" cluster old/PROF_000001_20230801062800000_ABC/device_0
expect_exit 1
expect_stderr_has 'before 2024'

behaviour 'what is no profile is refused, saying what is one'
echo x >notes.txt
run "$npuprof" cluster notes.txt
expect_exit 2
expect_stderr_has 'is no profile: give a directory, a database (.db'
run "$npuprof" cluster "$(dirname "$trace")/op_statistic.csv"
expect_exit 2
expect_stderr_has 'only a part of a profile: give the directory that it stands in'
run "$npuprof" cluster "$(ls db/*/profiler_info_0.json)"
expect_exit 2
expect_stderr_has 'give the directory that it stands in'

behaviour 'the result of an earlier analysis is read where there are no profiles'
"$npuprof" cluster -q -o earlier --export text db >/dev/null || exit 1
snapshot=$(cd earlier/cluster_analysis_output && sha256sum cluster_analysis.db)
# rows <table>: of the result of $work/$1, in an order of their own
rows() {
	sqlite3 "$1/cluster_analysis_output/cluster_analysis.db" "SELECT * FROM $2" | sort
}
for input in earlier earlier/cluster_analysis_output earlier/cluster_analysis_output/cluster_analysis.db; do
	rm -rf later
	run "$npuprof" cluster -o later "$input"
	expect_exit 0
	expect_stdout_says '4 ranks of 4' 'the result of an earlier analysis' 'are only in the profiles'
	for table in ClusterStepTraceTime ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix \
		CommunicationGroupMapping; do
		expect "$table is as it was" diff <(rows earlier $table) <(rows later $table)
	done
done
expect_equal "$(cd earlier/cluster_analysis_output && sha256sum cluster_analysis.db)" "$snapshot"
run "$npuprof" info earlier
expect_exit 0
expect_stdout_says 'cluster analysis db'

behaviour 'its text form says the same, also under another name, and a file of it stands for all of it'
"$npuprof" cluster -q -o sized db >/dev/null
mkdir kept_text && mv earlier/cluster_analysis_output/cluster_analysis.db . &&
	cp -r earlier/cluster_analysis_output kept_text/result_of_march
for input in earlier kept_text kept_text/result_of_march/cluster_communication.json; do
	rm -rf later
	run "$npuprof" cluster -o later "$input"
	expect_exit 0
	expect_stdout_says '4 ranks' 'it has step times, communication and links'
	for table in ClusterCommunicationTime ClusterCommunicationBandwidth ClusterCommunicationMatrix CommunicationGroupMapping; do
		expect "$table is as it was" diff <(rows sized $table) <(rows later $table)
	done
	expect 'step times are as they were' diff <(cut -d'|' -f1-10 db.csv) \
		<(rows later ClusterStepTraceTime | grep '|rank|' | cut -d'|' -f1-10)
done
for command in info advisor whatif; do
	run "$npuprof" $command -q kept_text
	expect_exit 0
done

behaviour 'what is left of it is read'
rm kept_text/*/cluster_step_trace_time.csv kept_text/*/communication_group.json
rm -rf later
run "$npuprof" cluster -o later kept_text
expect_exit 0
expect_stdout_says '4 ranks' 'it has communication and links;'
expect 'operators are as they were' diff <(rows sized ClusterCommunicationTime) <(rows later ClusterCommunicationTime)
expect 'links are as they were' diff <(rows sized ClusterCommunicationMatrix) <(rows later ClusterCommunicationMatrix)
head -c 2000 kept_text/result_of_march/cluster_communication.json >cut.json
mv cut.json kept_text/result_of_march/cluster_communication.json
run "$npuprof" cluster -o later kept_text
expect_exit 1
expect_stderr_has 'cluster_communication.json'

behaviour 'of a result it is said what it has'
mkdir -p some/cluster_analysis_output other/cluster_analysis_output
cp sized/cluster_analysis_output/cluster_analysis.db some/cluster_analysis_output/
sqlite3 some/cluster_analysis_output/cluster_analysis.db 'DELETE FROM ClusterCommunicationTime; DROP TABLE ClusterCommunicationMatrix'
run "$npuprof" cluster -o later some
expect_exit 0
expect_stdout_says '4 ranks' 'it has step times; kernels'
sqlite3 other/cluster_analysis_output/cluster_analysis.db 'CREATE TABLE CannApiSum(name TEXT, a INT); CREATE TABLE HcclTopOpStats(name TEXT, b INT)'
run "$npuprof" cluster -o later other
expect_exit 1
expect_stderr_has 'results of other modes, which nothing can be made of: CannApiSum, HcclTopOpStats'

behaviour 'a damaged result is refused'
mkdir -p damaged/cluster_analysis_output
head -c 3000 later/cluster_analysis_output/cluster_analysis.db >damaged/cluster_analysis_output/cluster_analysis.db
run "$npuprof" cluster damaged
expect_exit 1

# Names as vLLM gives them: two replicas of data parallelism, two tensor-parallel ranks each.
behaviour 'names of vLLM say ranks and coordinates'
mkdir vllm
for rank in 0 1 2 3; do
	dp=$((rank / 2)) tp=$((rank % 2))
	to=vllm/dp${dp}_pp0_tp${tp}_dcp0_ep${rank}_rank${tp}_$((100 + rank))_20260402160352123_ascend_pt
	mkdir -p "$to/ASCEND_PROFILER_OUTPUT"
	cp "$(db_of $rank)" "$to/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db"
	sqlite3 "$to/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db" \
		"UPDATE RANK_DEVICE_MAP SET rankId = -1; DELETE FROM META_DATA WHERE name IN ('distributed_args', 'parallel_group_info')"
done
run "$npuprof" cluster -o out -f json vllm
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT group_concat((value ->> 'rank') || (value ->> 'dp') || (value ->> 'tp') || (value ->> 'ep'), ' ')
	FROM json_each(readfile('stdout'), '\$.steps[0].ranks')")" '0000 1011 2102 3113'
expect_stdout_has 'numbered as dp × 2 + rank'
run "$npuprof" info vllm
expect_stdout_says '0-3 (from the name)'
