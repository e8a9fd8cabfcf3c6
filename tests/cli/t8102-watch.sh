#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The watch: every window that arrives is analysed and told once, whatever ends the watch in between.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3 python3

cd "$work" || exit 1
unset NPUPROF_HISTORY

# make <name> <synth options>...
make() {
	local name=$1

	shift
	"$synth" -q -o "$name" --no-instances --layers 2 --kernels-per-layer 2 --steps 3 "$@" || exit 1
}

# lines <expression over d>: its values of all lines of the file, in order
lines() {
	python3 -c 'import json, sys
print(" ".join(str(eval(sys.argv[2])) for d in map(json.loads, open(sys.argv[1]))))' watch.jsonl "$1"
}

watch=("$npuprof" watch in --store runs.db --settle 0 --lines watch.jsonl)

behaviour 'a line for each window, and what becomes and ceases'
make in/one --ranks 2 --seed 1
sleep 0.01 # windows are taken in the order of their times
make in/job/window-1 --ranks 4 --seed 2 --slow-rank 1:1.5
sleep 0.01
make in/job/window-2 --ranks 4 --seed 3
mkdir in/.hidden in/cluster_analysis_output in/empty
run "${watch[@]}" --once --metrics metrics --on-verdict 'cat >>told'
expect_exit 0
expect_equal "$(grep -v '^  ' stdout | cut -d' ' -f4 | tr '\n' ' ')" 'one: job/window-1: job/window-2: '
expect_stdout_has 'rank 1 makes the others wait' '  from here on: rank:1' '  no longer: rank:1'
expect_equal "$(lines 'd["window"]')" 'one job/window-1 job/window-2'
expect_equal "$(lines 'd["news"]')" 'None became ceased'
expect_equal "$(wc -l <told)" 2
expect_equal "$(lines '(d["verdict_host"], d["verdict_device"])')" "(None, None) ('host0', 1) (None, None)"
expect 'so does the command' grep -q '"verdict_host": "host0", "verdict_device": 1' told
run python3 "$NPUPROF_SOURCE/tests/cli/json_schema.py" "$NPUPROF_SOURCE/doc/schema" <(head -n 1 watch.jsonl) <(tail -n 1 watch.jsonl)
expect_exit 0

run "$npuprof" watch in --store zh.db --settle 0 --once --lang zh
expect_stdout_has 'rank 1 拖慢了其他 rank' '修复该问题，每个 step 可省' '  从此开始：rank:1'
expect_stdout_lacks 'which explains' 'would save'
rm zh.db

behaviour 'figures for Prometheus by its conventions'
expect 'it has the step in seconds' grep -qE '^npuprof_step_seconds\{job="in"\} 0\.00[0-9]+$' metrics
expect 'it counts' grep -qx 'npuprof_watch_windows_total{job="in"} 3' metrics
# Every line is a comment or a sample, and every name has its help and its type before it.
run python3 - metrics <<'PY'
import re, sys
typed = set()
for line in open(sys.argv[1]):
    if line.startswith("# TYPE "):
        typed.add(line.split()[2])
    elif not line.startswith("# HELP "):
        name = re.fullmatch(r'([a-z_]+)\{([a-z_]+="(?:[^"\\]|\\.)*",?)*\} -?[0-9.]+\n', line).group(1)
        assert name in typed, name
PY
expect_exit 0

run "$npuprof" watch in/job --store named.db --settle 0 --once --metrics named -q
expect 'nobody is named' grep -qx 'npuprof_verdict_info{job="job",kind="none",what="",host="",device=""} 1' named
mv in/job/window-2 .
rm named.db
run "$npuprof" watch in/job --store named.db --settle 0 --once --metrics named -q
expect 'a rank is named with its machine' grep -qx 'npuprof_verdict_info{job="job",kind="rank",what="rank:1",host="host0",device="1"} 1' named
mv window-2 in/job

behaviour 'nothing is told twice, and a line that was lost comes back'
run "${watch[@]}" --once
expect_exit 0
expect_no_stdout
expect_equal "$(wc -l <watch.jsonl)" 3
truncate -s -30 watch.jsonl # as if it was killed while it wrote
run "${watch[@]}" --once
expect_equal "$(lines 'd["window"]')" 'one job/window-1 job/window-2'
expect_equal "$(lines 'd["news"]')" 'None became ceased'

behaviour 'a window that is still written is left for later, one that is broken is said once'
make in/late --ranks 2 --seed 4
run "$npuprof" watch in --store runs.db --settle 3600 --once
expect_exit 0
expect_no_stdout
run "${watch[@]}" --once
expect_stdout_has 'late: 2 ranks'
make in/broken --ranks 1 --seed 5
find in/broken -type f \( -name '*.db' -o -name '*.csv' \) -exec truncate -s 100 {} +
run "${watch[@]}" --once
expect_exit 3
expect_stderr_has 'broken: '
rm -rf in/broken
make in/part --ranks 4 --seed 7
truncate -s 100 in/part/*2_ascend_pt/ASCEND_PROFILER_OUTPUT/*.db
run "${watch[@]}" --once
expect_exit 3
expect_stdout_has 'part: 3 ranks'
expect_stdout_lacks 'from here on' # of the rank that is missing nobody is guilty
expect_stderr_has 'profiler_2.db' 'is damaged or cut short'

behaviour 'a window that is copied while it is watched is taken as a whole, whatever times its files have'
rm -rf in watch.jsonl runs.db
mkdir -p in/w1
make whole --ranks 4 --seed 9 --slow-rank 2:1.5
find whole -exec touch -d '2025-01-09' {} +
cp -a whole/host0_200000_* in/w1/
run "$npuprof" watch in --store runs.db --settle 5 --once
expect_exit 0
expect_no_stdout
expect_stderr_has '1 windows have changed within the last 5 s, and are left for later'
# Taken all the same, it is taken again when the other ranks have come, and nothing of the first is left.
run "${watch[@]}" --once
expect_stdout_has 'w1: 1 ranks'
cp -a whole/* in/w1/
run "${watch[@]}" --once
expect_exit 0
expect_stdout_has 'w1: 4 ranks' 'in place of run 1: more of this window arrived after that' 'from here on: rank:2, device 2 of host0; its repair saves'
expect_equal "$(lines '(d["run"], d["replaces_run"], d["ranks_used"])')" '(1, None, 1) (2, 1, 4)'
expect_equal "$(sqlite3 runs.db 'SELECT group_concat(id) FROM RUN')" 2
run "${watch[@]}" --once
expect_no_stdout
run "$npuprof" watch in --store runs.db --settle 0 --once --lang zh --job other
expect_no_stdout # a run is in the store once

behaviour 'times of the future do not keep a window waiting'
rm -rf in watch.jsonl runs.db
mkdir in
cp -r whole in/w1
find in -exec touch -d '2100-01-01' {} +
timeout -s TERM 60 "$npuprof" watch in --store runs.db --settle 1 --interval 1 --lines watch.jsonl >/dev/null 2>&1 &
pid=$!
for ((i = 0; i < 300; i++)); do
	[[ -s watch.jsonl ]] && break
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid" 2>/dev/null
expect 'it was told' grep -q '"window": "w1"' watch.jsonl
rm -rf in watch.jsonl runs.db

behaviour 'the ring: old windows go, and are not analysed again'
mkdir in
for i in 1 2 3 4; do
	make "in/w$i" --ranks 1 --seed "2$i"
	touch -d "@$((1700000000 + i))" "in/w$i"
done
run "${watch[@]}" --once --keep 2
expect_equal "$(wc -l <stdout)" 4
expect_equal "$(sqlite3 runs.db 'SELECT count(*) FROM RUN')" 2
run "${watch[@]}" --once --keep 2
expect_no_stdout
run "$npuprof" history prune --store runs.db --keep 1
run "${watch[@]}" --once
expect_no_stdout
expect_equal "$(wc -l <watch.jsonl)" 4

behaviour 'a store that is gone is made again, and nothing is told twice'
rm runs.db
run "${watch[@]}" --once
expect_no_stdout
expect_equal "$(sqlite3 runs.db 'SELECT count(*) FROM RUN')" 4
expect_equal "$(wc -l <watch.jsonl)" 4
"${watch[@]}" --interval 1 >out 2>err &
pid=$!
rm runs.db
for ((i = 0; i < 300; i++)); do
	[[ -e runs.db && $(sqlite3 runs.db 'SELECT count(*) FROM RUN' 2>/dev/null) == 4 ]] && break
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
expect_equal "$(wc -l <watch.jsonl) $(wc -l <out)" '4 0'
# Lines that were rotated away are not written again, but for the last, of which nobody knows.
mv watch.jsonl old.jsonl
run "${watch[@]}" --once
expect_equal "$(lines 'd["window"]')" w4
mv old.jsonl watch.jsonl

behaviour 'a disk that is full is borne, and what could not be written comes later'
mkdir store other
cp -a in/w1 other/
"$npuprof" watch other --store store/runs.db --settle 0 --interval 1 >out 2>err &
pid=$!
for ((i = 0; i < 300; i++)); do
	[[ -s out ]] && break
	sleep 0.1
done
rm -r store
touch store # nothing can be written below it
make in/w5 --ranks 1 --seed 25
cp -a in/w[2-5] other/
for ((i = 0; i < 300; i++)); do
	grep -q 'it is tried again' err && break
	sleep 0.1
done
rm store
for ((i = 0; i < 300; i++)); do
	[[ $(wc -l <out) -eq 5 ]] && break
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
expect_equal "$(wc -l <out) $(grep -c 'it is tried again' err)" '5 1'
ln -s /dev/full full.jsonl
run "$npuprof" watch in --store full.db --settle 0 --once --lines full.jsonl
expect_exit 1
expect_stderr_has "cannot write 'full.jsonl'"

behaviour 'several watches of one directory tell each window once'
rm -rf watch.jsonl runs.db
for i in 1 2 3; do
	"${watch[@]}" --once >"out$i" 2>/dev/null &
done
wait
run "${watch[@]}" --once
expect_equal "$(lines 'd["window"]' | tr ' ' '\n' | sort | tr '\n' ' ')" 'w1 w2 w3 w4 w5 '
expect_equal "$(cat out1 out2 out3 stdout | grep -c ' ranks, step')" 5

behaviour 'a command that hangs or fails does not stop the watch'
rm -rf in watch.jsonl runs.db
mkdir in
cp -a whole in/w1
"${watch[@]}" --interval 1 --on-verdict 'echo begun >begun; sleep 1000 & wait' >out 2>err &
pid=$!
for ((i = 0; i < 300; i++)); do
	[[ -e begun ]] && break
	sleep 0.1
done
kill -TERM "$pid"
wait "$pid"
expect_equal "$?" 0
expect_equal "$(wc -l <watch.jsonl)" 1
expect 'the command was given up' grep -q "on-verdict 'echo begun >begun; sleep 1000 & wait' failed" err
rm -rf watch.jsonl runs.db
run "${watch[@]}" --once --on-verdict 'exec <&-; exit 5'
expect_exit 0
expect_stderr_has "--on-verdict 'exec <&-; exit 5' failed"

behaviour 'a job that gets slower as a whole is called for, and when it is as before'
rm -rf course course.db course.jsonl told
for i in {1..10}; do
	layers=2
	((i == 7 || i == 8)) && layers=4
	"$synth" -q -o "course/w$i" --no-instances --kernels-per-layer 2 --steps 3 --ranks 2 --seed "$i" --layers "$layers"
	run "$npuprof" watch course --store course.db --settle 0 --lines course.jsonl --metrics course.prom --once --on-verdict 'cat >>told'
	[[ $i != 8 ]] || cp stdout slower
	[[ $i != 8 ]] || cp course.prom slower.prom
done
expect 'it is said once' grep -q 'the step is longer than usual: ' slower
expect_stdout_has 'the step is as usual again: '
expect_equal "$(python3 -c 'import json
print([(d["window"], d["step_news"]) for d in map(json.loads, open("course.jsonl")) if d["step_news"]], [d["step_is"] for d in map(json.loads, open("course.jsonl"))][4:])')" \
	"[('w8', 'became'), ('w10', 'ceased')] [None, 'usual', 'longer', 'longer', 'usual', 'usual']"
expect 'the command is told' grep -q '"step_news": "became"' told
expect 'so is Prometheus' grep -qx 'npuprof_step_longer_than_usual{job="course"} 1' slower.prom
expect 'until it is over' grep -qx 'npuprof_step_longer_than_usual{job="course"} 0' course.prom
expect 'and whether the watch lives' grep -q '^npuprof_watch_last_look_timestamp_seconds{job="course"} 1' course.prom
# A watch that begins again knows what is usual, and has the figures of the newest window.
cp course.prom before.prom
run "$npuprof" watch course --store course.db --settle 0 --lines course.jsonl --metrics course.prom --once
expect_equal "$(grep -vE 'watch_(last_look|windows)' course.prom)" "$(grep -vE 'watch_(last_look|windows)' before.prom)"
run "$npuprof" watch course --store zh.db --settle 0 --once --lang zh
expect_stdout_has 'step 比平常长：' 'step 恢复平常：'
rm zh.db

behaviour 'names that Prometheus would choke on are written so that it does not'
rm -rf runs.db
run "$npuprof" watch in --store runs.db --settle 0 --once --metrics m.prom --job $'a"b\\c\nd\xff'
expect 'the label is escaped' grep -qF 'npuprof_watch_windows_total{job="a\"b\\c\nd'$'\xef\xbf\xbd''"} 1' m.prom
expect 'it has what the repair saves' grep -qE '^npuprof_verdict_saved_seconds\{.*\} 0\.0[0-9]+$' m.prom
expect_equal "$(stat -c %a m.prom)" "$(printf '%o' $((0666 & ~0$(umask))))"

behaviour 'files of several ranks that arrive side by side are windows by the times in their names'
rm -rf in watch.jsonl runs.db
# arrive <seed> <time> <slow>: the files of four ranks in "in", whose names say this time of a day
arrive() {
	local file

	rm -rf made
	make made --ranks 4 --seed "$1" --format msmonitor ${3:+--slow-rank "$3"}
	for file in made/msmonitor_*; do
		file=${file#made/}
		mv "made/$file" "in/${file/2025010908161600/20250109$2}"
	done
}
mkdir in
arrive 1 08160000
arrive 2 08161000 1:1.5
run "${watch[@]}" --once
expect_exit 0
expect_stdout_has '20250109081600000-20250109081600003: 4 ranks' 'from here on: rank:1'
expect_equal "$(lines 'd["window"]')" '20250109081600000-20250109081600003 20250109081610000-20250109081610003'
arrive 3 09161000 # an hour later
run "${watch[@]}" --once
expect_equal "$(wc -l <stdout)" 2
expect_stdout_has '20250109091610000-20250109091610003: 4 ranks' 'no longer: rank:1'
run "${watch[@]}" --once
expect_no_stdout
# A rank that is late belongs to the window of its time, and is no window of its own.
mkdir late
mv in/*20250109091610003* late/
rm -rf watch.jsonl runs.db
run "${watch[@]}" --once
expect_stdout_has '20250109091610000-20250109091610002: 3 ranks'
mv late/* in/
run "${watch[@]}" --once
expect_exit 0
expect_stdout_has '20250109091610000-20250109091610002: 4 ranks' 'in place of run 3'
expect_equal "$(sqlite3 runs.db 'SELECT count(*) FROM RUN')" 3
# A process that writes lines goes on in another file until it says that it was stopped.
rm -rf made in watch.jsonl runs.db
make made --ranks 2 --seed 4 --format msmonitor-jsonl
mkdir in
for file in made/msmonitor_*; do
	file=${file#made/}
	split -n l/2 "made/$file" half
	mv halfaa "in/$file"
	mv halfab "in/${file/2025010908161600/2025010908162600}"
	cp "made/$file" "in/${file/2025010908161600/2025010908163600}"
done
run "${watch[@]}" --once
expect_exit 0
expect_equal "$(lines 'd["window"]')" '20250109081616000-20250109081626001 20250109081636000-20250109081636001'
expect_equal "$(lines 'd["ranks_used"]')" '2 2'
# Directories of torch_npu with process and time in their names are the same.
rm -rf in watch.jsonl runs.db
make in --ranks 2 --seed 5
run "${watch[@]}" --once
expect_equal "$(lines 'd["ranks_used"]')" 2

behaviour 'killed at random moments, it loses nothing and tells nothing twice'
rm -rf in watch.jsonl runs.db
make model --ranks 1 --seed 6
info=$(cd model && find . -name 'profiler_info_*.json')
for i in {1..24}; do
	# Copies that share all files but one, which makes each another run.
	mkdir -p in
	cp -rl model "in/w$i"
	rm "in/w$i/$info"
	cp "model/$info" "in/w$i/$info"
	touch -d "@$((1700000000 + i))" "in/w$i/$info" "in/w$i"
done
for try in {1..40}; do
	"${watch[@]}" --interval 1 >/dev/null 2>&1 &
	pid=$!
	# Moments that differ from machine to machine: what must hold holds at any.
	sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	[[ ! -e watch.jsonl || $(wc -l <watch.jsonl) -lt 24 ]] || break
done
run "${watch[@]}" --once
expect_exit 0
expect_equal "$(lines 'd["window"]' | tr ' ' '\n' | sort -V | tr '\n' ' ')" "$(printf 'w%s ' {1..24})"
expect_equal "$(sqlite3 runs.db 'SELECT count(*), count(DISTINCT fingerprint) FROM RUN')" '24|24'

behaviour 'memory does not grow with the windows'
# most <windows>: kilobytes that a watch of so many windows had at most
most() {
	rm -rf few other.db
	mkdir few
	for ((i = 1; i <= $1; i++)); do
		cp -rl "in/w$i" few/
	done
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$npuprof" watch few --store other.db --settle 0 --once
}
one=$(most 1)
all=$(most 24)
# What SQLite keeps of a store is bounded, and a name for each window is kept.
grep -q '^NP_SANITIZE:STRING=.' "$NPUPROF_BUILD/CMakeCache.txt" || expect "$one kB became $all kB" test "$all" -lt $((one + 2048))

behaviour 'a signal ends it when the window in hand is done'
cp -r model in/w25
"${watch[@]}" --interval 1000 >/dev/null 2>err &
pid=$!
until [[ $(wc -l <watch.jsonl) -eq 25 ]] || ! kill -0 "$pid"; do
	sleep 0.05
done
kill -TERM "$pid"
wait "$pid"
expect_equal "$?" 0

behaviour 'what cannot be is said in a line'
run "$npuprof" watch nowhere --store runs.db --once
expect_exit 2
expect_stderr_has "'nowhere' is no directory"
run "$npuprof" watch in --once
expect_exit 2
expect_stderr_has 'which store? give --store FILE, or set NPUPROF_HISTORY'
echo something >other.jsonl
run "$npuprof" watch in --store runs.db --once --lines other.jsonl
expect_exit 1
expect_stderr_has "'other.jsonl' has other lines than those of the watch"
expect_equal "$(cat other.jsonl)" something
