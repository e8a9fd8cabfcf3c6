#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page of a run: one file that needs nothing else, with the figures of the other commands.
. "$(dirname "$0")/lib.sh"
need_program python3 sqlite3

run "$synth" -q -o "$work/run" --ranks 4 --tp 2 --dp 2 --hosts 2 --steps 3 --layers 2 --slow-rank 3:1.5

# data <page> <expression over d>: of the JSON in a page
data() {
	python3 - "$1" "$2" <<'EOF'
import json, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
d = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
print(eval("(" + sys.argv[2] + ")"))
EOF
}

behaviour 'the page goes beside the input, and its name is printed'
before=$(snapshot "$work/run")
run "$npuprof" report -d "$work/run" -o "$work/page.html"
expect_exit 0
expect_equal "$(cat "$work/stdout")" "$work/page.html"
expect_equal "$(snapshot "$work/run")" "$before"
cp -r "$work/run" "$work/copy"
run "$npuprof" report "$work/copy"
expect_exit 0
expect_file "$work/copy/cluster_analysis_output/report.html"

behaviour 'the same input gives the same bytes, for any number of threads'
run "$npuprof" report -q -j 1 -d "$work/run" -o "$work/one.html"
run "$npuprof" report -q -j 4 -d "$work/run" -o -
expect_equal "$(sha256sum <"$work/stdout")" "$(sha256sum <"$work/one.html")"

behaviour 'it has the verdict and the cells of cluster, to the nanosecond'
"$npuprof" cluster -q -d "$work/run" -o "$work/out" -f json >"$work/cluster.json"
expect_equal "$(data "$work/page.html" 'd["verdict"]')" \
	"$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["verdict"])' "$work/cluster.json")"
expect_equal "$(data "$work/page.html" 'sorted(d["cells"]["computing_ns"])')" \
	"$(python3 - "$work/cluster.json" <<'EOF'
import json, sys
c = json.load(open(sys.argv[1]))
print(sorted([[r["computing_ns"] for s in c["steps"] for r in s["ranks"] if r["rank"] == rank] for rank in range(4)]))
EOF
)"

behaviour 'parts of a lane sum to its steps, causes of a communicator to what was waited in it'
expect_equal "$(data "$work/page.html" 'all(sum(p) == sum(x for x in s if x is not None)
	for p, s in zip(d["parts"], d["cells"]["step_ns"]))')" True
expect_equal "$(data "$work/page.html" 'all(sum(f[2] for f in d["flows"]["causes"] if f[0] == c) ==
	sum(f[2] for f in d["flows"]["waits"] if f[0] == c) for c in range(len(d["communicators"])))')" True

behaviour 'every subset of the best repairs was replayed; all together save no less than the best'
expect_equal "$(data "$work/page.html" 'len(d["repairs"]["subsets"]) == 2 ** len(d["repairs"]["combine"])
	and min(d["repairs"]["subsets"][1:]) >= d["repairs"]["ideal_ns"] * 0.9
	and d["repairs"]["subsets"][-1] <= min(d["repairs"]["subsets"][1 << i] for i in range(len(d["repairs"]["combine"])))')" True

behaviour 'a history is drawn on it, without labels on an anonymous page'
"$npuprof" history add -q "$work/run" --store "$work/runs.db" --job secret --label commit=secret1 >/dev/null
for i in {2..20}; do
	sqlite3 "$work/runs.db" "INSERT INTO RUN SELECT $i, 'f$i', job, dir, captured + $i * 86400000000000, added, program, device, world, ranks,
		steps, step_ns * (1.0 + ($i % 3) / 1000.0 + ($i > 11) * 0.1), basis, verdict, what, sentence FROM RUN WHERE id = 1;
		INSERT INTO FIGURE SELECT $i, 'step', step_ns FROM RUN WHERE id = $i;"
done
run "$npuprof" report -q -d "$work/run" -o "$work/course.html" --history "$work/runs.db"
expect_exit 0
expect_equal "$(data "$work/course.html" 'len(d["history"]["series"]), [c["run"] for c in d["history"]["changes"]],
	d["history"]["series"][0]["labels"]')" "(20, [12], {'commit': 'secret1'})"
run "$npuprof" report -q -d "$work/run" -o "$work/course.html" --history "$work/runs.db" --anonymize
expect_equal "$(grep -c secret "$work/course.html")" 0
run "$npuprof" report -q -d "$work/run" -o "$work/course.html" --history "$work/none.db"
expect_exit 2
expect_stderr_has "'$work/none.db', which --history names, cannot be read"

behaviour 'nothing is fetched, and the policy names the script and the style by their digests'
expect_equal "$(grep -cE 'src=|href="http|@import|url\(' "$work/page.html")" 0
for tag in script style; do
	digest=$(python3 - "$work/page.html" "$tag" <<'EOF'
import base64, hashlib, re, sys
page = open(sys.argv[1], encoding="utf-8").read()
text = re.search(rf"<{sys.argv[2]}>(.*?)</{sys.argv[2]}>", page, re.S).group(1)
print(base64.b64encode(hashlib.sha256(text.encode()).digest()).decode())
EOF
)
	expect_equal "$(grep -c "$tag-src 'sha256-$digest'" "$work/page.html")" 1
done
expect_equal "$(grep -cE 'innerHTML|outerHTML|document\.write|insertAdjacentHTML|eval\(' "$NPUPROF_SOURCE/report/page.js")" 0

behaviour 'hostile names stay text: they cannot end the element that holds them'
cp -r "$work/run" "$work/hostile"
while read -r db; do
	sqlite3 "$db" "UPDATE STRING_IDS SET value = '</script><img src=x onerror=alert(1)>' || char(1,10) WHERE value LIKE 'MatMul%'"
done < <(find "$work/hostile" -name 'ascend_pytorch_profiler_*.db')
run "$npuprof" report -q -d "$work/hostile" -o "$work/hostile.html"
expect_exit 0
expect_equal "$(grep -c '<img' "$work/hostile.html")" 0
expect_equal "$(grep -o '</script>' "$work/hostile.html" | wc -l)" 2
expect_equal "$(data "$work/hostile.html" 'any("<img src=x" in t for t in d["kernels"]["types"])')" True

behaviour 'an anonymous page names no host and no path'
expect_equal "$(data "$work/page.html" 'd["input"]["path"]')" "$work/run"
hosts=$(data "$work/page.html" '" ".join(sorted(set(d["lanes"]["host"])))')
run "$npuprof" report -q -d "$work/run" --anonymize -o "$work/anonymous.html"
expect_exit 0
expect_equal "$(grep -c "$work" "$work/anonymous.html")" 0
for host in $hosts; do
	expect_equal "$(grep -cw "$host" "$work/anonymous.html")" 0
done
expect_equal "$(data "$work/anonymous.html" 'len(set(d["lanes"]["host"]))')" 2

behaviour 'nor does it name a job, a path of the code or a base; the trace beside it neither'
mkdir "$work/secretjob"
run "$synth" -q -o "$work/secretjob/run" --ranks 2 --steps 2 --layers 2 --slow-rank 1:1.5 --manifest
python3 - "$work/secretjob/run/npuprof_manifest.json" <<'EOF'
import json, sys
manifest = json.load(open(sys.argv[1]))
manifest["job"] = "moonshot"
json.dump(manifest, open(sys.argv[1], "w"))
EOF
while read -r db; do
	sqlite3 "$db" "UPDATE STRING_IDS SET value = '/home/ada/moonshot/train.py(33): forward' WHERE value LIKE 'MatMul%'"
done < <(find "$work/secretjob" -name 'ascend_pytorch_profiler_*.db')
run "$npuprof" report -q -d "$work/secretjob/run" --base "$work/run" --anonymize --timeline -o "$work/secret.html"
expect_exit 0
gzip -dc "$work/secret.timeline.json.gz" >"$work/secret.json"
for name in secretjob moonshot /home/ada "$work" host0; do
	expect_equal "$name $(grep -c -- "$name" "$work/secret.html")" "$name 0"
	expect_equal "$name $(grep -c -- "$name" "$work/secret.json")" "$name 0"
done
expect_equal "$(($(grep -c 'train.py(33)' "$work/secret.html") > 0))" 1

behaviour 'a rank that cannot be read is on the page, and the status is 3'
cp -r "$work/run" "$work/damaged"
db=$(find "$work/damaged" -name 'ascend_pytorch_profiler_2.db')
head -c 100 "$db" >"$db.cut" && mv "$db.cut" "$db"
run "$npuprof" report -q -d "$work/damaged" -o "$work/damaged.html"
expect_exit 3
expect_equal "$(data "$work/damaged.html" 'len(d["input"]["skipped"]) > 0')" True

behaviour 'what cannot be read at all, or written, is one line'
run "$npuprof" report -d "$work/nowhere"
expect_exit 2
expect_stderr_has "nowhere"
run "$npuprof" report -d "$work/run" -o "$work/no/such/page.html"
expect_exit 1
expect_stderr_has "no/such"
run "$npuprof" report -d "$work/run" --lang fr
expect_exit 2

behaviour 'with a base the page has the difference that compare finds'
run "$synth" -q -o "$work/base" --ranks 4 --tp 2 --dp 2 --hosts 2 --steps 3 --layers 2
run "$npuprof" report -q -d "$work/run" --base "$work/base" -o "$work/difference.html"
expect_exit 0
"$npuprof" compare -q "$work/base" "$work/run" -f json >"$work/compare.json"
for member in verdict causes step waterfall ranks; do
	expect_equal "$(data "$work/difference.html" "d['difference']['$member']")" \
		"$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$work/compare.json" "$member")"
done
run "$npuprof" report -q -d "$work/run" --base "$work/nowhere"
expect_exit 2
expect_stderr_has 'nowhere'

behaviour 'a page in another language says its sentences in it; what programs read beside them stays'
run "$npuprof" report -q -d "$work/run" --base "$work/base" --lang zh -o "$work/zh.html"
expect_exit 0
expect_equal "$(data "$work/zh.html" "d['verdict']['text'], d['difference']['verdict']")" \
	"$(data "$work/difference.html" "d['verdict']['text'], d['difference']['verdict']")"
expect_equal "$(data "$work/zh.html" "all(not t.isascii() for t in (d['said'][d['verdict']['text']], d['difference']['said'][d['difference']['verdict']]))")" True
expect_equal "$(data "$work/difference.html" "d['said'], d['difference']['said']")" '({}, {})'

behaviour 'each of the two runs is read once'
run "$npuprof" report -v -d "$work/run" --base "$work/base" -o "$work/difference.html"
expect_exit 0
expect_equal "$(grep -c 'read 4 ranks' "$work/stderr")" 2

behaviour 'the gate is that of compare: the same result on the page, the same status'
run "$synth" -q -o "$work/gate-base" --ranks 2 --steps 9 --layers 2
run "$synth" -q -o "$work/gate-new" --ranks 2 --steps 9 --layers 2 --slow-rank 1:1.5 --seed 2
gates=
for gate in 'step>2%' 'step>500%,comm>2000%' 'mem>1%'; do
	"$npuprof" compare -q "$work/gate-base" "$work/gate-new" --no-color -f json --fail-on "$gate" >"$work/compare.json"
	expected=$?
	run "$npuprof" report -q -d "$work/gate-new" --base "$work/gate-base" --fail-on "$gate" -o "$work/gate.html"
	expect_exit "$expected"
	expect_equal "$(data "$work/gate.html" "d['difference']['gate']")" \
		"$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["gate"])' "$work/compare.json")"
	gates="$gates $expected"
done
expect_equal "$gates" ' 4 0 0'
rm "$work/gate.html"
run "$npuprof" report -q -d "$work/run" --base "$work/base" --fail-on 'step>' -o "$work/gate.html"
expect_exit 2
expect_equal "$(ls "$work/gate.html" 2>/dev/null)" ''
run "$npuprof" report -q -d "$work/run" --fail-on 'step>2%' -o "$work/gate.html"
expect_exit 2
expect_stderr_has '--fail-on judges a comparison: name the base with --base'

behaviour 'the phases of a job are on one page, with what each found and when it was at work'
run "$synth" -q -o "$work/phases" --ranks 2 --steps 2 --layers 2 --layout verl
run "$npuprof" report -d "$work/phases" -o "$work/p.html"
expect_exit 0
expect_equal "$(cat "$work/stdout")" "$work/p.html"
"$npuprof" cluster -q -d "$work/phases" -o "$work/out" -f json >"$work/phases.json"
expect_equal "$(data "$work/p.html" '[[p["phase"], p["verdict"]["text"]] for p in d["phases"]], d["phase_ranks"]')" \
	"$(python3 - "$work/phases.json" <<'EOF'
import json, sys
c = json.load(open(sys.argv[1]))
print(([[p["phase"], p["verdict"]["text"]] for p in c["phases"]], c["phase_ranks"]))
EOF
)"
run "$npuprof" report -q -d "$work/phases" --phase rollout -o -
expect_exit 0
cp "$work/stdout" "$work/rollout.html"
expect_equal "$(data "$work/rollout.html" '"phases" in d, d["phase"]')" "(False, 'rollout')"
expect_equal "$(find "$work" -maxdepth 1 -name '*.p.html' | wc -l)" 0

behaviour 'a trace of what shows the verdict goes beside the page, which links to it'
run "$npuprof" report -d "$work/run" --timeline -o "$work/linked.html"
expect_exit 0
expect_equal "$(cat "$work/stdout")" "$work/linked.timeline.json.gz
$work/linked.html"
expect_equal "$(data "$work/linked.html" 'd["timeline"]')" linked.timeline.json.gz
expect_equal "$(gzip -dc "$work/linked.timeline.json.gz" | grep -c '"process_name".*rank 3')" 1
run "$npuprof" report -d "$work/run" --timeline -o -
expect_exit 2
expect_stderr_has '--timeline writes a file beside the page'

behaviour 'advisor and compare write the same page, their section first'
for page in advisor compare; do
	if [ $page = advisor ]; then
		run "$npuprof" advisor -q -d "$work/run" -f html
		expect_exit 0
	else
		run "$npuprof" compare -q "$work/base" "$work/run" -f html --no-stats --fail-on 'step>1%'
		expect_exit 4
	fi
	cp "$work/stdout" "$work/$page.html"
	for member in verdict cells parts flows repairs communicators; do
		expect_equal "$(data "$work/$page.html" "d['$member']" | sha256sum)" "$(data "$work/page.html" "d['$member']" | sha256sum)"
	done
done
expect_equal "$(data "$work/advisor.html" 'd["first"]')" findings
"$npuprof" advisor -q -d "$work/run" -f json >"$work/advisor.json"
expect_equal "$(data "$work/advisor.html" '[[f["rule"], f["gain_ns"]] for f in d["findings"]]')" \
	"$(python3 -c 'import json,sys; print([[f["rule"], f["gain_ns"]] for f in json.load(open(sys.argv[1]))["findings"]])' "$work/advisor.json")"
expect_equal "$(data "$work/compare.html" 'd["first"], d["difference"]["gate"]["result"], len(d["findings"]) > 0')" "('difference', 'fail', True)"
run "$npuprof" advisor all -d "$work/run" -o "$work/vendor"
cp "$work"/vendor/mstt_advisor_*.html "$work/vendor.html"
expect_equal "$(data "$work/vendor.html" 'd["first"], d["verdict"]["text"]')" "$(data "$work/advisor.html" 'd["first"], d["verdict"]["text"]')"
# Beside a merged database, too, whose tables are not all that is on the page.
"$npuprof" cluster -q -d "$work/run" -o "$work/merged" >"$work/ignored"
run "$npuprof" advisor -q -d "$work/run" -f html -o "$work/merged"
expect_exit 0
expect_equal "$(sha256sum <"$work/stdout")" "$(sha256sum <"$work/advisor.html")"
run "$npuprof" advisor -q -d "$work/phases" -f html
expect_exit 0
cp "$work/stdout" "$work/advisor.html"
expect_equal "$(data "$work/advisor.html" 'len(d["phases"]), all(p["findings"] for p in d["phases"])')" "(3, True)"

behaviour 'clocks of the AI cores are on it where they were sampled'
expect_equal "$(data "$work/page.html" 'all(900 < c < 2500 for row in d["cells"]["frequency_mhz"] for c in row)')" True
