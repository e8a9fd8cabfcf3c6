#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The workflows of doc/ci.md: their commands run as they stand there, let a run pass that is as fast as the reference
# and stop one that is slower.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3

page=$NPUPROF_SOURCE/doc/ci.md
PATH=$NPUPROF_BUILD:$PATH
cd "$work" || exit 1
small=(-q --no-instances --ranks 4 --layers 4 --kernels-per-layer 4 --steps 8)
"$synth" -o reference "${small[@]}" --seed 1 || exit 1
"$synth" -o same "${small[@]}" --seed 2 || exit 1
"$synth" -o slower "${small[@]}" --seed 2 --slow-rank 2:1.5 || exit 1

# The lines of each workflow that call npuprof, with the reference where it is here.
cat >commands.py <<'EOF'
import re
import sys

blocks = re.findall(r"```yaml\n(.*?)```", open(sys.argv[1], encoding="utf-8").read(), re.S)
for number, block in enumerate(blocks):
    lines = [re.sub(r"^\s*(- )?(run: )?(?=npuprof )", "", line) for line in block.splitlines()]
    with open(f"workflow-{number}", "w", encoding="utf-8") as file:
        file.write("".join(line.replace("/data/reference", "reference") + "\n" for line in lines if line.startswith("npuprof ")))
EOF
run python3 commands.py "$page"
expect_exit 0
expect_equal "$(wc -l <workflow-0) $(wc -l <workflow-1)" '5 5'
export GITHUB_STEP_SUMMARY=$work/summary

# stopped <workflow> <run>: the numbers of its lines that end with another status than 0
stopped() {
	local number=0 text

	rm -rf prof
	cp -r "$2" prof
	while read -r text; do
		number=$((number + 1))
		bash -o pipefail -c "$text" >"out-$1-$2-$number" 2>"err-$1-$2-$number" </dev/null || printf '%s:%s ' $number $?
	done <"workflow-$1"
}

for workflow in 0 1; do
	behaviour "workflow $workflow lets a run pass that is as fast"
	expect_equal "$(stopped $workflow same)" ''
	expect 'there is a page' test -s report.html
	expect 'there are findings as SARIF' grep -q '"2.1.0"' npuprof.sarif

	behaviour "workflow $workflow stops a run that is slower, by the gate and by its findings"
	found=$(stopped $workflow slower)
	expect_equal "$(wc -w <<<"$found") $(tr ' ' '\n' <<<"$found" | grep -c ':4$')" '2 2'
done
expect 'the summary says why' grep -q 'regression' summary
