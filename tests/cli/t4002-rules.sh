#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npuprof rules: the rules that come with the program are sound, and a new rule is a new file.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
readme=$NPUPROF_SOURCE/rules/README.md

behaviour 'all rules of the program are right and pass their tests'
run "$npuprof" rules test
expect_exit 0
expect_no_stderr
expect_stdout_has ' 0 errors' ', 0 failed'

behaviour 'list and show describe them'
run "$npuprof" rules list 'comm.*'
expect_exit 0
expect_stdout_has comm.exposed
expect_stdout_lacks env.variables
run "$npuprof" rules list -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.schema'")" npuprof.rule-list/1
run "$npuprof" rules show --lang zh comm.exposed
expect_exit 0
expect_stdout_has '未被掩盖的通信' share_mean
run "$npuprof" rules show nobody
expect_exit 2
expect_stderr_has "there is no rule 'nobody'; see npuprof rules list"
for words in 'rules show' 'advisor --explain' 'advisor . --rule'; do
	read -ra arguments <<<"$words"
	run "$npuprof" "${arguments[@]}" cluster.stragler
	expect_exit 2
	expect_stderr_has "there is no rule 'cluster.stragler'; did you mean 'cluster.straggler'?"
done
run "$npuprof" rules lits
expect_exit 2

behaviour 'rules/README.md lists the views there are'
run "$npuprof" rules views
expect_exit 0
while IFS= read -r line; do
	expect "the README lacks: $line" grep -qxF -e "$line" "$readme"
done < <(grep '^| `v_' "$work/stdout")

# walk_through <what>: the block of the README that follows its mark
walk_through() {
	awk -v mark="<!-- walk-through: $1 -->" '$0 == mark { found = 1 } found && /^```/ { inside++; next }
		found && inside == 1 { print } inside == 2 { exit }' "$readme"
}

behaviour 'a new rule is a new JSON file and nothing else, as the README walks through it'
# shellcheck disable=SC2094 # the first is a mark, not a file
walk_through transpose.json >transpose.json
"$synth" -q -o prof_root --ranks 2 --steps 2 --layers 2 --kernels-per-layer 6 || exit 1
expect 'the walk-through has a file' test -s transpose.json
mapfile -t commands < <(walk_through commands)
expect_equal "${#commands[@]}" 3
PATH=$NPUPROF_BUILD:$PATH
for line in "${commands[@]}"; do
	# shellcheck disable=SC2086 # words of a command of the README
	run $line
	expect_exit 0
	expect_no_stderr
done
run npuprof rules test transpose.json
expect_stdout_has '1 rules in 1 files, 0 errors, 1 tests passed, 0 failed'

behaviour 'the rule finds what is there: with any transpose at all it fires'
run npuprof advisor -d prof_root --rules transpose.json --rule mine.transpose -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'id' FROM json_each(readfile('$work/stdout'), '\$.rules')")" mine.transpose

behaviour 'a rule can take over another and change a parameter'
cat >extends.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "mine.exposed", "extends": "comm.exposed", "params": {"share": 0.0}}
]}
END
run npuprof advisor -d prof_root --rules extends.json --rule 'mine.*' -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'rule', value ->> 'gain_bound' FROM json_each(readfile('$work/stdout'), '\$.findings')")" \
	'mine.exposed|upper'

behaviour 'a test that fails is told with its place'
sed 's/"gain_ns": 150/"gain_ns": 151/' transpose.json >wrong.json
run npuprof rules test wrong.json
expect_exit 1
expect_stderr_has 'wrong.json:23:9: mine.transpose: test 1 '"'a tenth of the step is high': gain_ns is 150, not 151"

behaviour 'a fixture may be a file of SQL'
cat >fixture.sql <<'END'
INSERT INTO v_step(step, dur_ns) VALUES ('1', 1000);
INSERT INTO v_kernel(step, op_type, start_ns, dur_ns) VALUES ('1', 'Transpose', 0, 200), ('1', 'Add', 300, 10);
END
sqlite3 :memory: "SELECT json_set(readfile('transpose.json'), '\$.rules[0].tests', json('[{\"sql\": \"fixture.sql\", \"expect\": {\"busy_ns\": 200}}]'))" >with-sql.json
run npuprof rules test with-sql.json
expect_exit 0
expect_stdout_has '1 tests passed'
echo "ATTACH 'evil.db' AS e;" >fixture.sql
run npuprof rules test with-sql.json
expect_exit 1
expect_stderr_has 'ATTACH evil.db is not allowed'
expect 'nothing was written' test ! -e evil.db
