#!/usr/bin/env bash
# The lines of msMonitor: as databases of the same run where they hold the same, and what of them is damaged costs itself.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
small=(--ranks 4 --steps 3 --layers 2 --kernels-per-layer 3 --schedule 3d)
"$synth" -q -o db "${small[@]}" --no-analysis || exit 1
"$synth" -q -o lines "${small[@]}" --format msmonitor-jsonl || exit 1
before=$(snapshot lines)

# table <run> <columns> <table>
table() {
	"$npuprof" cluster -q -o "$1.out" "$1" >/dev/null
	sqlite3 "$1.out/cluster_analysis_output/cluster_analysis.db" "SELECT $2 FROM $3"
}
times='step, type, "index", computing, communication_not_overlapped, overlapped, communication, free, stage, bubble, preparing'

behaviour 'step times, operators and communicators are those of databases'
run "$npuprof" cluster -o out lines
expect_exit 0
expect_stdout_says '4 ranks, steps 10-12' '300 of 300 communication operators matched'
for each in "$times FROM ClusterStepTraceTime WHERE type = 'rank'" '* FROM np_instance' '* FROM CommunicationGroupMapping' \
	'instance, rank, start_ns, end_ns FROM np_wait' 'step, group_name, ops, bytes, elapsed_ns, exposed_ns FROM np_comm_step'; do
	expect "the same: $each" diff <(table db "${each%% FROM *}" "${each#* FROM }") <(table lines "${each%% FROM *}" "${each#* FROM }")
done

behaviour 'what it does not have is said'
expect_stdout_says 'bandwidth and links: no sizes and no links'
run "$npuprof" info -f json lines
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'rank' || ' ' || (value ->> 'kind'), ', ') FROM json_each(readfile('stdout'), '\$.ranks')")" \
	'0 msMonitor, 1 msMonitor, 2 msMonitor, 3 msMonitor'
for command in advisor whatif; do
	run "$npuprof" $command -q lines
	expect_exit 0
done
run "$npuprof" compare -q -f json lines lines
expect_exit 0

behaviour 'a process writes several files, and the last says the rank'
mkdir split
for rank in 0 1 2 3; do
	from=$(ls lines/msmonitor_*_$rank.jsonl)
	pid=$(basename "$from" | cut -d_ -f2)
	lines=$(wc -l <"$from")
	head -n $((lines / 2)) "$from" >"split/msmonitor_${pid}_20250109081616000_-1.jsonl"
	tail -n +$((lines / 2 + 1)) "$from" | gzip >"split/msmonitor_${pid}_20250109081617000_-1.jsonl.gz"
	gunzip "split/msmonitor_${pid}_20250109081617000_-1.jsonl.gz"
done
expect 'step times are the same' diff <(table lines "$times" ClusterStepTraceTime) <(table split "$times" ClusterStepTraceTime)

behaviour 'one file is a rank'
run "$npuprof" info "$(ls lines/msmonitor_*_2.jsonl)"
expect_exit 0
expect_stdout_says '1 rank'
cp "$(ls lines/msmonitor_*_2.jsonl)" mine.jsonl
run "$npuprof" info mine.jsonl
expect_exit 0

behaviour 'a monitor that was killed leaves no communicators and a line that is cut: the times stay'
cp -r lines killed
for each in killed/*.jsonl; do
	grep -v parallel_group_info "$each" | head -c -30 >short.part && mv short.part "$each"
done
run "$npuprof" cluster -o out killed
expect_exit 3
expect_stdout_says 'the last line is cut off'
expect 'step times are the same' diff <(table lines "$times" "ClusterStepTraceTime WHERE type = 'rank'") <(table killed "$times" "ClusterStepTraceTime WHERE type = 'rank'")

behaviour 'lines that cannot be read are counted, and many of them change the status'
cp -r lines bad
for each in bad/*.jsonl; do
	sed -i '5s/.*/{"kind": "Kernel", "startNs": /; 8s/.*/[1, 2]/; 9s/"kind": "[A-Za-z]*"/"kind": "Telepathy"/' "$each"
done
run "$npuprof" cluster -o out bad
expect_exit 3
expect_stdout_says 'lines cannot be read and are left out' '1 lines are of kinds that are not known'

behaviour 'damage is refused in one line'
mkdir empty nothing
touch empty/msmonitor_1_20250109081616000_0.jsonl
run "$npuprof" cluster -o out empty
expect_exit 1
expect_equal "$(wc -l <stderr)" 1
printf '\0\1\2garbage\n' >nothing/msmonitor_1_20250109081616000_0.jsonl
run "$npuprof" cluster -o out nothing
expect_exit 1
expect_stderr_has 'neither kernels nor communication'
printf '{"kind": "Kernel", "startNs": 99999999999999999999999, "endNs": -5, "deviceId": "x"}\n' >nothing/msmonitor_1_20250109081616000_0.jsonl
run "$npuprof" cluster -o out nothing
expect_exit 1

behaviour 'steps may be asked for otherwise'
run "$npuprof" cluster -o out -f json --steps-from none lines
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT json_array_length(readfile('stdout'), '\$.steps')")" 1

behaviour 'inputs are untouched'
expect_equal "$(snapshot lines)" "$before"
