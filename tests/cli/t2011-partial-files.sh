#!/usr/bin/env bash
# A file of a rank that holds less than others say it should: it is named with what it covers,
# nothing is said against the rank, and the exit status says so.
. "$(dirname "$0")/lib.sh"

need_program python3 sqlite3

# The rank that is cut.
rank=1
echo "rank $rank is cut"
"$synth" -q -o "$work/text" --ranks 4 --steps 4 --format text --seed 21
"$synth" -q -o "$work/db" --ranks 4 --steps 4 --format db --seed 21

# fresh text|db: $output is the directory of the rank's files in a copy of the run
fresh() {
	rm -rf "$work/run"
	cp -r "$work/$1" "$work/run"
	output=$(find "$work/run" -name "profiler_info_$rank.json" -printf '%h')/ASCEND_PROFILER_OUTPUT
}

# keep <file> <percent>: the header and the first rows
keep() {
	local rows

	rows=$(($(wc -l <"$1") - 1))
	head -n $((1 + rows * $2 / 100)) "$1" >"$1.kept" && mv "$1.kept" "$1"
}

# keep_events <percent>: a valid trace with the first of its events on the device
keep_events() {
	python3 - "$output/trace_view.json" "$1" <<-'SCRIPT'
		import json, sys
		path, percent = sys.argv[1], int(sys.argv[2])
		with open(path, encoding="utf-8") as file:
		    events = json.load(file)
		device = {
		    each["pid"] for each in events
		    if each["name"] == "process_name" and each["args"]["name"] in ("Ascend Hardware", "HCCL", "Communication")
		}
		ran = sorted((each for each in events if each["ph"] == "X" and each["pid"] in device), key=lambda each: float(each["ts"]))
		kernels = [each for each in ran if "Task Type" in each.get("args", {})]
		last = float(kernels[len(kernels) * percent // 100]["ts"])
		gone = {id(each) for each in ran if float(each["ts"]) >= last}
		with open(path, "w", encoding="utf-8") as file:
		    json.dump([each for each in events if id(each) not in gone], file)
	SCRIPT
}

# keep_rows <percent>: the first rows of the tables of what ran
keep_rows() {
	local table

	for table in TASK COMMUNICATION_OP; do
		sqlite3 "$output/ascend_pytorch_profiler_$rank.db" "DELETE FROM $table WHERE rowid NOT IN
			(SELECT rowid FROM $table ORDER BY startNs
			 LIMIT (SELECT count(*) * $1 / 100 FROM $table))"
	done
}

# expect_withheld <file> <against>: by the last command, which printed a page
expect_withheld() {
	expect_exit 3
	expect_stdout_says "withheld for rank $rank: $1 covers"
	expect_stdout_says "of $2"
	expect_stdout_lacks "rank $rank makes the others wait"
}

# expect_json <file>: cluster names the file, and the verdict is none
expect_json() {
	run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json
	expect_exit 3
	checks=$((checks + 1))
	python3 - "$work/stdout" "$rank" "$1" <<-'SCRIPT' || wrong 'the JSON does not say so'
		import json, sys
		with open(sys.argv[1], encoding="utf-8") as file:
		    run = json.load(file)
		rank, name = int(sys.argv[2]), sys.argv[3]
		covered = [each for each in run["trust"]["coverage"] if each["rank"] == rank]
		assert [each["rank"] for each in run["trust"]["coverage"]] == [rank] * len(covered), run["trust"]["coverage"]
		assert covered[0]["file"] == name and covered[0]["share"] < 1 and covered[0]["against"], covered
		assert run["verdict"]["kind"] in ("withheld", "none"), run["verdict"]
		assert run["verdict"]["text"].startswith(f"withheld for rank {rank}: {name} covers"), run["verdict"]
		assert any(each["what"] == f"verdict on rank {rank}" for each in run["trust"]["withheld"])
		assert any(each["rank"] == rank for each in run["input"]["skipped"])
	SCRIPT
}

# names <rank>: the verdict is on this rank, or on none, and the rank that is cut is named as such
names() {
	run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json
	expect_exit 3
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.verdict.what',
		readfile('$work/stdout') ->> '\$.trust.coverage[0].rank',
		substr(readfile('$work/stdout') ->> '\$.verdict.text', 1, 19)")" "$1|$rank|withheld for rank $rank"
}

behaviour 'another rank that is slow is named all the same, unless nobody is left to compare it with'
"$synth" -q -o "$work/slow" --ranks 4 --steps 4 --format text --seed 22 --slow-rank 3:1.5
fresh slow
rm "$work"/run/*/ASCEND_PROFILER_OUTPUT/trace_view.json
keep "$output/kernel_details.csv" 25
names 3
fresh slow
keep_events 25
names 3
"$synth" -q -o "$work/two" --ranks 2 --steps 4 --format text --seed 22 --host-gap 0:2000
fresh two
keep_events 25
names ''

behaviour 'whole files are not doubted'
for form in text db; do
	fresh $form
	run "$npuprof" cluster -d "$work/run" -o "$work/out"
	expect_exit 0
	expect_stdout_lacks covers withheld
done

for percent in 5 25 75 95; do
	behaviour "a kernel table of $percent %"
	fresh text
	rm "$work"/run/*/ASCEND_PROFILER_OUTPUT/trace_view.json
	keep "$output/kernel_details.csv" $percent
	expect_json kernel_details.csv

	behaviour "a kernel table of $percent % beside a whole trace"
	fresh text
	keep "$output/kernel_details.csv" $percent
	expect_json kernel_details.csv

	behaviour "a trace with $percent % of what ran"
	fresh text
	keep_events $percent
	expect_json trace_view.json

	behaviour "a trace that was cut off after $percent % of its bytes"
	fresh text
	truncate -s $(($(stat -c %s "$output/trace_view.json") * percent / 100)) "$output/trace_view.json"
	expect_json trace_view.json

	behaviour "a database with $percent % of its rows"
	fresh db
	keep_rows $percent
	expect_json "ascend_pytorch_profiler_$rank.db"

	behaviour "a database with $percent % of its rows, and nothing beside it"
	rm "$work"/run/*/ASCEND_PROFILER_OUTPUT/analysis.db
	expect_json "ascend_pytorch_profiler_$rank.db"

	behaviour "a database that was cut off after $percent % of its bytes"
	fresh db
	truncate -s $(($(stat -c %s "$output/ascend_pytorch_profiler_$rank.db") * percent / 100)) \
		"$output/ascend_pytorch_profiler_$rank.db"
	expect_json "ascend_pytorch_profiler_$rank.db"
done

behaviour 'every command says so'
fresh text
rm "$work"/run/*/ASCEND_PROFILER_OUTPUT/trace_view.json
keep "$output/kernel_details.csv" 25
before=$(snapshot "$work/run")
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_withheld kernel_details.csv step_trace_time.csv
expect_equal "$(awk 'found { print; exit } $0 == "Verdict" { found = 1 }' "$work/stdout" |
	sed 's/covers [0-9]* %/covers N %/')" \
	"  withheld for rank $rank: kernel_details.csv covers N % of step_trace_time.csv"
run "$npuprof" whatif -d "$work/run"
expect_withheld kernel_details.csv step_trace_time.csv
run "$npuprof" advisor -d "$work/run"
expect_withheld kernel_details.csv step_trace_time.csv
run "$npuprof" compare "$work/text" "$work/run"
expect_withheld kernel_details.csv step_trace_time.csv
run "$npuprof" compare "$work/run" "$work/text"
expect_withheld kernel_details.csv step_trace_time.csv
run "$npuprof" info "$work/run"
expect_exit 3
expect_stdout_says "of step_trace_time.csv"
expect_equal "$(snapshot "$work/run")" "$before"

behaviour 'totals come from what is whole'
run "$npuprof" cluster -d "$work/run" -o "$work/cut" -f csv --table ClusterStepTraceTime
cp "$work/stdout" "$work/cut.csv"
run "$npuprof" cluster -d "$work/text" -o "$work/whole" -f csv --table ClusterStepTraceTime
# The vendor's own form differs in Free and Stage, and in digits.
expect 'computing is that of the step file' python3 - "$work/cut.csv" "$work/stdout" <<-'SCRIPT'
	import csv, sys
	cut, whole = ([float(row["computing"]) for row in csv.DictReader(open(path, encoding="utf-8"))] for path in sys.argv[1:])
	assert len(cut) == len(whole) and all(abs(a - b) < 1 for a, b in zip(cut, whole)), (cut, whole)
SCRIPT

behaviour 'the result does not depend on threads, processes or summaries'
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json -j 1
cp "$work/stdout" "$work/one.json"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json -j 4
expect_stdout <"$work/one.json"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json --cache="$work/cache"
run "$npuprof" cluster -d "$work/run" -o "$work/out" -f json --cache="$work/cache"
expect_exit 3
expect_stdout <"$work/one.json"

behaviour 'a culprit whose files are whole is named all the same'
slow=$(((rank + 1) % 4))
rm -rf "$work/text"
"$synth" -q -o "$work/text" --ranks 4 --steps 4 --format text --seed 21 --slow-rank $slow:1.4
fresh text
keep "$output/kernel_details.csv" 25
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "withheld for rank $rank: kernel_details.csv covers" "rank $slow makes the others wait"

behaviour 'step times with rows missing are what is partial, where others agree without them'
fresh text
keep "$output/step_trace_time.csv" 50
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "step_trace_time.csv): covers " "rank $slow makes the others wait"
expect_stdout_lacks 'withheld for'

behaviour 'step times that say too much are what is wrong, where others agree without them'
fresh text
python3 - "$output/step_trace_time.csv" <<-'SCRIPT'
	import csv, sys
	with open(sys.argv[1], encoding="utf-8", newline="") as file:
	    rows = list(csv.reader(file))
	at = rows[0].index("Computing")
	for row in rows[1:]:
	    row[at] = str(2 * float(row[at]))
	with open(sys.argv[1], "w", encoding="utf-8", newline="") as file:
	    csv.writer(file).writerows(rows)
SCRIPT
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "covers 200 % of" "rank $slow makes the others wait"
expect_stdout_lacks 'withheld for'

behaviour 'a database that is cut costs nothing but itself where whole text stands beside it'
fresh db
for each in "$work"/text/*/ASCEND_PROFILER_OUTPUT; do
	cp "$each"/*.json "$each"/*.csv "$work/run/$(basename "$(dirname "$each")")/ASCEND_PROFILER_OUTPUT/"
done
truncate -s 5000 "$output/ascend_pytorch_profiler_$rank.db"
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "not used: rank $rank rank database" 'is damaged or cut short'
expect_stdout_lacks 'withheld for'
rm "$output/trace_view.json" "$output/kernel_details.csv"
run "$npuprof" cluster -d "$work/run" -o "$work/out"
expect_exit 3
expect_stdout_says "withheld for rank $rank"

behaviour 'without intervals of kernels nothing is said of the share of transfers, and no factors of efficiency'
fresh text
rm "$work"/run/*/ASCEND_PROFILER_OUTPUT/trace_view.json "$work"/run/*/ASCEND_PROFILER_OUTPUT/kernel_details.csv
run "$npuprof" whatif -d "$work/run"
expect_stdout_says 'withheld: no intervals of kernels' 'how much of the step computes is not known here'
expect_stdout_lacks 'transfers take' 'nan'
run "$npuprof" whatif -f json -d "$work/run"
expect_stdout_has '"efficiency": null'
