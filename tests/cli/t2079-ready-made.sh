#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is ready for pipelines and agents: the gate of ci/ lets pass and stops what it should, and every command in
# skills/ runs as it stands there.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3

PATH=$NPUPROF_BUILD:$PATH
cd "$work" || exit 1
unset NPUPROF_HISTORY GITHUB_STEP_SUMMARY NPUPROF_BASE NPUPROF_RUN NPUPROF_OUT NPUPROF_SEVERITY NPUPROF_FAIL_ON
small=(-q --no-instances --ranks 4 --layers 4 --kernels-per-layer 4 --steps 8)
"$synth" -o reference "${small[@]}" --seed 1 || exit 1
"$synth" -o prof "${small[@]}" --seed 2 --memory || exit 1
"$synth" -o slower "${small[@]}" --seed 2 --slow-rank 2:1.5 || exit 1

# gate <run> [NAME=VALUE]...
gate() {
	rm -rf npuprof-results
	run env NPUPROF_RUN="$1" "${@:2}" "$NPUPROF_SOURCE/ci/gate.sh"
}

behaviour 'the gate lets a run pass that is as fast, with all results'
gate prof NPUPROF_BASE=reference GITHUB_STEP_SUMMARY="$work/summary"
expect_exit 0
for each in comment.md npuprof.sarif report.html; do
	expect "there is $each" test -s "npuprof-results/$each"
done
expect 'the summary has the comment' cmp summary npuprof-results/comment.md

behaviour 'it stops one that is slower, and says why'
gate slower NPUPROF_BASE=reference
expect_exit 4
expect 'the comment says why' grep -q regression npuprof-results/comment.md
expect 'the finding is there' grep -q 'cluster.straggler' npuprof-results/npuprof.sarif
gate slower NPUPROF_BASE=reference NPUPROF_FAIL_ON='step>90%' NPUPROF_SEVERITY=none
expect_exit 0

behaviour 'the log says in a line what it is'
gate slower NPUPROF_BASE=reference NPUPROF_SEVERITY=none
expect_stdout_has 'npuprof: regression: the step takes'
expect_equal "$(wc -l <stdout)" 1
gate slower NPUPROF_BASE=reference GITHUB_ACTIONS=true
expect 'it is an annotation' grep -qE '^::error title=npuprof::regression: the step takes .*[0-9] %25' stdout
expect 'so are findings' grep -qx '::error title=npuprof::findings of severity high and above: see npuprof-results/comment.md' stdout
gate prof NPUPROF_BASE=reference GITHUB_ACTIONS=true NPUPROF_SEVERITY=none
expect 'what passes is a notice' grep -q '^::notice title=npuprof::' stdout

behaviour 'without a base findings alone count'
gate slower
expect_exit 4
gate slower NPUPROF_SEVERITY=none
expect_exit 0

behaviour 'against the history'
for i in 11 12 13 14 15 16; do
	"$synth" -o "past-$i" "${small[@]}" --seed $i || exit 1
	"$npuprof" history add -q "past-$i" --store runs.db >/dev/null || exit 1
done
gate prof NPUPROF_BASE=history NPUPROF_HISTORY=runs.db NPUPROF_SEVERITY=none
expect_exit 0
gate slower NPUPROF_BASE=history NPUPROF_HISTORY=runs.db NPUPROF_SEVERITY=none
expect_exit 4
expect_stdout_has 'npuprof: fails: step is'
expect 'the comment says what fails' grep -q 'fails: step is' npuprof-results/comment.md

behaviour 'what is no run is no success'
mkdir nothing
gate nothing NPUPROF_BASE=reference
expect_exit 1
run "$NPUPROF_SOURCE/ci/gate.sh"
expect 'a run must be named' test "$status" != 0

behaviour 'the files of the services name inputs that the gate reads'
for each in NPUPROF_RUN NPUPROF_BASE NPUPROF_FAIL_ON NPUPROF_SEVERITY NPUPROF_OUT; do
	expect "$each is set by the action" grep -q "^        $each: " "$NPUPROF_SOURCE/ci/action.yml"
	expect "$each is read" grep -q "$each" "$NPUPROF_SOURCE/ci/gate.sh"
done
if python3 -c 'import yaml' 2>/dev/null; then
	for each in action gitlab; do
		expect "$each.yml is YAML" python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$NPUPROF_SOURCE/ci/$each.yml"
	done
fi

behaviour 'every tool call of skills/npuprof/SKILL.md is answered'
cat >calls.py <<'EOF'
import json
import re
import subprocess
import sys

calls = re.findall(r"^\|[^|]*\| `(\w+) (\{.*?\})` \|", open(sys.argv[2], encoding="utf-8").read(), re.M)
lines = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
         {"id": 1, "method": "tools/list"}]
lines += [{"id": i, "method": "tools/call", "params": {"name": tool, "arguments": json.loads(words)}} for i, (tool, words) in enumerate(calls, 2)]
said = subprocess.run([sys.argv[1], "mcp", "-d", ".", "--store", "runs.db"], input="".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines),
                      stdout=subprocess.PIPE, text=True, check=True).stdout
answers = {answer["id"]: answer for answer in map(json.loads, said.splitlines())}
for i, (tool, words) in enumerate(calls, 2):
    if answers[i]["result"]["isError"]:
        print(tool, words, answers[i]["result"]["content"][0]["text"])
print("all tools", {tool for tool, _ in calls} == {tool["name"] for tool in answers[1]["result"]["tools"]})
EOF
run python3 calls.py "$npuprof" "$NPUPROF_SOURCE/skills/npuprof/SKILL.md"
expect_exit 0
expect_stdout <<<'all tools True'

# Commands between ```sh and ```, and those of tables.
cat >commands.py <<'EOF'
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
for block in re.findall(r"```sh\n(.*?)```", text, re.S):
    print(*[line.strip() for line in block.splitlines() if line.strip()], sep="\n")
for line in re.findall(r"^\|.*\| `(npuprof [^`]*)` \|$", text, re.M):
    print(line)
EOF
for page in npuprof/SKILL.md AGENTS.md; do
	behaviour "every command of skills/$page runs"
	rm -f runs.db
	"$npuprof" history add -q reference --store runs.db >/dev/null
	python3 commands.py "$NPUPROF_SOURCE/skills/$page" >list
	expect 'there are commands' test "$(wc -l <list)" -ge 5
	while read -r words; do
		# A run that is a little slower may trip the gate, as the page says.
		bash -c "$words" >out 2>err </dev/null
		code=$?
		expect "$words ends with $code" test "$code" = 0 -o "$code" = 3 -o "$code" = 4
		expect "$words says something" test -s out -o -s report.html -o -s trace.json
	done <list
done
