#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npuprof advisor: findings in every form, what counts, and that nothing is changed.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
"$synth" -q -o c --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --format both || exit 1

# Two rules whose outcome is known: every rank has kernels, of names that are markup everywhere.
cat >rules.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "t.busy", "title": {"en": "Busy <b>|`", "zh": "忙"}, "dimension": "computation", "scope": "rank",
   "requires": {"v_step": ["compute_ns"]}, "params": {"least": {"value": 0, "min": 0, "max": 1}},
   "query": "SELECT rank, step, compute_ns, dur_ns, '<i>|`*x' || char(27) || '[31m\"' AS what FROM v_step",
   "summary": {"n": "count(*)", "busy_ns": "sum(compute_ns)", "what": "max(what)"},
   "fire": "busy_ns > :least * steps * step_ns", "severity": {"high": "busy_ns > 0", "else": "low"},
   "confidence": 0.5, "gain": {"ns": "busy_ns / 10", "basis": "a tenth of computing"}, "group": "g",
   "message": {"en": "{n} steps compute {what}", "zh": "{n} 步 {what}"}, "advice": ["do {what}"],
   "evidence": {"columns": ["step", {"col": "compute_ns", "fmt": "dur"}, "what"], "order": "step"}},
  {"id": "t.half", "title": "Half", "dimension": "computation", "scope": "rank",
   "query": "SELECT rank, dur_ns FROM v_step WHERE rank < 2", "summary": {"ns": "sum(dur_ns)"},
   "fire": "ns > 0", "severity": "low", "gain": {"ns": "ns", "bound": "upper", "basis": "all"}, "group": "g",
   "message": "two ranks only"},
  {"id": "t.clear", "title": "Clear", "dimension": "memory", "scope": "cluster",
   "query": "SELECT 1 AS x FROM v_step WHERE 0", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low",
   "message": "never"},
  {"id": "t.skipped", "title": "Skipped", "dimension": "memory", "scope": "rank", "requires": {"v_mem_op": []},
   "query": "SELECT rank FROM v_mem_op", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low",
   "message": "never"},
  {"id": "t.off", "enabled": false, "title": "Off", "dimension": "memory", "scope": "cluster",
   "query": "SELECT 1 AS x", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "message": "on"}
]}
END
export NPUPROF_RULES=$work/rules.json
json() {
	sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '$1'"
}
touch -d '@0' c/*/ASCEND_PROFILER_OUTPUT c/*/ASCEND_PROFILER_OUTPUT/* c/*/* c/* c
before=$(snapshot "$work/c")

behaviour 'the terminal lists findings by gain, where they are, and what was not checked'
run "$npuprof" advisor c
expect_exit 0
expect_no_stderr
expect_stdout_has 'ranks 0-1 (2/4)  t.half' 'ranks 0-3 (4/4)  t.busy' 'why: 2 steps compute' \
	't.skipped: profile_memory=True' '4 rules: 2 found something, 1 found nothing, 1 not checked'
expect_stdout_lacks $'\x1b' t.off
expect_equal "$(grep -nE '^(Verdict|Do next|Findings|Trust)$' "$work/stdout" | cut -d: -f2 | paste -sd' ')" 'Verdict Do next Findings Trust'
expect 'it fits 100 columns' test "$(wc -L <"$work/stdout")" -le 100

behaviour '-v says what is missing of a rule that was not checked'
run "$npuprof" advisor c -v
expect_stdout_has 't.skipped: no v_mem_op; profile_memory=True'

behaviour 'without a directory it looks here'
(cd c && run "$npuprof" advisor && cp "$work/stdout" "$work/here")
expect 'the same findings' grep -q 't.busy' "$work/here"

behaviour 'JSON has the fields of the contract, and groups count once'
run "$npuprof" advisor c -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/stdout'))")" \
	'schema input verdict step_ns step_basis steps_from total findings suppressed rules rule_errors'
expect_equal "$(json '$.schema')" npuprof.advisor/1
expect_equal "$(sqlite3 :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$work/stdout'), '\$.findings[1]')")" \
	'rule severity confidence title message advice gain_ns gain_pct gain_basis gain_bound gain_least_ns gain_withheld_ns shown_rank repair group cause symptom_of ranks steps evidence docs fingerprint baseline'
expect_equal "$(json '$.findings[0].rule') $(json '$.findings[0].gain_bound') $(json '$.findings[1].ranks') $(json '$.findings[1].steps')" \
	't.half upper [0,1,2,3] ["10","11"]'
expect_equal "$(json '$.total.gain_ns')" "$(json '$.findings[0].gain_ns')"
expect 'the gain is at most the step' test "$(json '$.total.gain_ns')" -le "$(json '$.step_ns')"
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'id' || ':' || (value ->> 'status'), ' ') FROM json_each(readfile('$work/stdout'), '\$.rules')")" \
	't.busy:fired t.clear:clear t.half:fired t.skipped:skipped'
expect_equal "$(json '$.findings[1].evidence.rows_total') $(json '$.findings[1].evidence.columns')" '8 ["rank","step","compute_ns","what"]'
expect_equal "$(json '$.rules[0].elapsed_ns')" ''
cp stdout first.json

behaviour 'the result does not depend on the number of jobs, nor on the form of the input'
for jobs in 1 3; do
	run "$npuprof" advisor c -f json -j "$jobs"
	expect_equal "$(sha256sum <"$work/stdout")" "$(sha256sum <first.json)"
done
"$synth" -q -o only-text --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --format text || exit 1
"$synth" -q -o only-db --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --format db || exit 1
findings() {
	"$npuprof" advisor "$1" -f json >form.json
	sqlite3 :memory: "SELECT group_concat(value ->> 'rule' || (value ->> 'gain_ns') || (value ->> 'ranks') || (value ->> 'fingerprint') || (value ->> 'message')) FROM json_each(readfile('form.json'), '\$.findings')"
}
expect 'there are findings' test -n "$(findings only-db)"
expect_equal "$(findings only-text)" "$(findings only-db)"

behaviour 'SARIF has the parts that 2.1.0 requires'
run "$npuprof" advisor c -f sarif
expect_exit 0
expect_equal "$(json '$.version') $(json '$.runs[0].tool.driver.name') $(json '$.runs[0].results[1].ruleId') $(json '$.runs[0].results[1].level')" \
	'2.1.0 npuprof t.busy error'
expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.runs[0].results') r
	WHERE r.value ->> '\$.message.text' <> '' AND r.value ->> '\$.locations[0].physicalLocation.artifactLocation.uri' = 'c'
	AND readfile('$work/stdout') ->> ('\$.runs[0].tool.driver.rules[' || (r.value ->> 'ruleIndex') || '].id') = r.value ->> 'ruleId'")" 2
expect_equal "$(json '$.runs[0].invocations[0].toolExecutionNotifications[0].associatedRule.id')" t.skipped

behaviour 'values are harmless in every form'
for form in table json sarif csv md; do
	run "$npuprof" advisor c -f "$form"
	expect_stdout_lacks $'\x1b'
done
run "$npuprof" advisor c -f md
expect_stdout_has '\<i>\|\`\*x'
run "$npuprof" advisor c -f csv
expect_stdout_has '2 steps compute <i>|`*x\x1b[31m""'
expect_equal "$(wc -l <"$work/stdout")" 3

behaviour 'what is no number is unknown in every form, and what is nothing is not told'
cat >odd.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "odd.numbers", "title": "Odd", "dimension": "overall", "scope": "cluster",
   "query": "SELECT 9e999 AS large, -9e999 AS small, 9e999 - 9e999 AS none, 0 AS zero FROM v_step",
   "summary": {"n": "count(*)", "large": "max(large)", "none": "max(none)", "zero": "max(zero)", "mean": "avg(large)"},
   "fire": "n > 0", "severity": "low", "confidence": "9e999", "gain": {"ns": "9e999", "basis": "x"},
   "message": "{large} {large|dur} {large|int} {mean|pct} {none|bytes}{zero?, {zero|pct} of it}",
   "evidence": {"columns": ["large", "small", "none"]}},
  {"id": "odd.gain", "title": "Odd", "dimension": "overall", "scope": "cluster", "query": "SELECT 1 AS x",
   "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "gain": {"ns": "0", "bound": "upper", "basis": "x"},
   "message": "{n|count(thing,things)}"}
]}
END
for form in table json sarif csv md; do
	run "$npuprof" advisor c --rules odd.json --rule 'odd.*' -f "$form" -v
	expect_exit 0
	expect_stdout_has '? ? ? ? ?' '1 thing'
	expect_equal "$(grep -ciE '(^|[^a-z])-?(nan|inf|infinity)([^a-z]|$)' "$work/stdout")" 0
	expect_stdout_lacks 'of it' 'up to 0'
done

behaviour '-o writes all machine forms, wherever that is'
run "$npuprof" advisor c -o deep/er/out
expect_exit 0
expect 'directories above it are made' mv deep/er/out out
for name in json sarif csv md; do expect_file "out/advisor.$name"; done
expect_equal "$(sha256sum <out/advisor.json)" "$(sha256sum <first.json)"

behaviour 'other languages'
run "$npuprof" advisor c --lang zh
expect_stdout_has '2 步'

behaviour 'rules are chosen by id and dimension; one that is off runs when it is named'
run "$npuprof" advisor c -f csv --rule 't.b*,t.o*'
expect_equal "$(cut -d , -f 1 <"$work/stdout" | tail -n +2)" t.busy
run "$npuprof" advisor c -f csv --rule t.off
expect_equal "$(cut -d , -f 1 <"$work/stdout" | tail -n +2)" t.off
run "$npuprof" advisor c --dimension memory
expect_stdout_has '2 rules:'
run "$npuprof" advisor c --rule nobody
expect_exit 2
run "$npuprof" advisor c --explain t.busy
expect_exit 0
expect_stdout_has 'busy_ns > :least * steps * step_ns'
run "$npuprof" advisor c --explain t.bussy
expect_exit 2

behaviour 'parameters can be set within their range'
run "$npuprof" advisor c --set t.busy.least=1 -f csv
expect_equal "$(cut -d , -f 1 <"$work/stdout" | tail -n +2)" t.half
for wrong in t.busy.least=2 t.busy.nobody=1 t.bussy.least=1 least=1 t.busy.least=x; do
	run "$npuprof" advisor c --set "$wrong"
	expect_exit 2
done

behaviour 'a gate trips by severity and by gain'
run "$npuprof" advisor c --fail-on high
expect_exit 4
expect_stderr_has '2 findings are of severity high or higher'
run "$npuprof" advisor c --fail-on low --rule t.clear
expect_exit 0
run "$npuprof" advisor c --fail-on gain=50
expect_exit 4
run "$npuprof" advisor c --fail-on gain=50 --rule t.busy
expect_exit 0
run "$npuprof" advisor c --fail-on purple
expect_exit 2

behaviour 'known findings do not trip it, new and worse ones do'
run "$npuprof" advisor c --fail-on low --baseline first.json -f json
expect_exit 0
expect_equal "$(json '$.findings[1].baseline')" known
sqlite3 :memory: "SELECT json_set(readfile('first.json'), '\$.findings[1].severity', 'low')" >milder.json
run "$npuprof" advisor c --fail-on low --baseline milder.json -f json
expect_exit 4
expect_equal "$(json '$.findings[0].baseline') $(json '$.findings[1].baseline')" 'known worse'
gain=$(json '$.findings[1].gain_pct')
for change in '0.85 worse' '0.95 known'; do
	sqlite3 :memory: "SELECT json_set(readfile('first.json'), '\$.findings[1].gain_pct', $gain * ${change% *} - 0.5)" >smaller.json
	run "$npuprof" advisor c --baseline smaller.json -f json
	expect_equal "$(json '$.findings[1].baseline')" "${change#* }"
done
sqlite3 :memory: "SELECT json_remove(readfile('first.json'), '\$.findings[0]')" >fewer.json
run "$npuprof" advisor c --fail-on low --baseline fewer.json -f json
expect_exit 4
expect_equal "$(json '$.findings[0].baseline')" new
run "$npuprof" advisor c --baseline rules.json
expect_exit 1

behaviour 'suppressions need a reason, expire, and look at the evidence'
cat >s.json <<'END'
[{"rule": "t.h*", "reason": "known", "until": "2999-12-31"}, {"rule": "t.busy", "reason": "old", "until": "2020-01-01"},
 {"rule": "t.busy", "where": {"step": "^99$"}, "reason": "other steps"}]
END
run "$npuprof" advisor c --suppress s.json
expect_exit 0
expect_stdout_has 't.busy' "of 't.busy' expired on 2020-01-01: old" '1 suppressed'
expect_stdout_lacks '(2/4)  t.half'
run "$npuprof" advisor c --suppress s.json -f json
expect_equal "$(json '$.suppressed[0].rule') $(json '$.suppressed[0].reason') $(json '$.rules[2].status')" 't.half known suppressed'
run "$npuprof" advisor c --suppress s.json -f sarif
expect_equal "$(json '$.runs[0].results[0].suppressions[0].justification')" known
echo '[{"rule": "t.busy", "where": {"step": "^1[01]$"}, "reason": "all steps"}]' >npuprof-suppress.json
run "$npuprof" advisor c
expect_stdout_has '1 suppressed'
rm npuprof-suppress.json
echo '[{"rule": "t.busy"}]' >s.json
run "$npuprof" advisor c --suppress s.json
expect_exit 1
expect_stderr_has "s.json: suppression 1: it has no 'reason'"
while read -r wrong what; do
	echo "[{\"reason\": \"x\", $wrong}]" >s.json
	run "$npuprof" advisor c --suppress s.json
	expect_exit 1
	expect_stderr_has "s.json: suppression 1: $what"
done <<'END'
"rule":"t.busy","until":"soon" 'until' is not a date like 2026-12-31
"rule":"t.busy","until":"2999-02-30" 'until' is not a date like 2026-12-31
"rule":"t.busy","until":"2999-13-01" 'until' is not a date like 2026-12-31
"rule":"t.busy","untl":"2999-01-01" unknown field 'untl'
"rule":"t.busy","where":{"step":"("} bad pattern at character 2
"until":"2999-01-01" it names no 'rule'
END

behaviour 'files and directories that options name are looked at before ranks are read'
echo '{}' >no-list.json
for wrong in '--graph=nobody.txt' '--suppress=no-list.json' '--baseline=no-list.json' '--base=nobody.txt'; do
	run "$npuprof" advisor nowhere "$wrong"
	expect 'it fails' test "$status" -ne 0
	expect_stderr_has "${wrong#*=}"
	expect 'nothing was looked for' test "$(grep -c nowhere "$work/stderr")" -eq 0
done

behaviour 'suppressions that suppress nothing are reported, where their rule was checked'
cat >s.json <<'END'
[{"rule": "t.busy", "where": {"step": "^99$"}, "reason": "other steps"}, {"rule": "t.h*", "reason": "known"},
 {"rule": "t.half", "reason": "known twice"}, {"rule": "t.clear", "reason": "repaired"}, {"rule": "t.bsy", "reason": "mistyped"},
 {"rule": "t.skipped", "reason": "not checked"}, {"rule": "t.off", "reason": "disabled"}]
END
cat >wanted <<'END'
note: suppression (s.json): of 't.busy' covers no finding: other steps
note: suppression (s.json): of 't.clear' covers no finding: repaired
note: suppression (s.json): of 't.bsy' covers no finding, no rule has this name: mistyped
END
run "$npuprof" advisor c --suppress s.json
expect_exit 0
expect_no_stderr
expect_equal "$(sed -n 's/^  note: supp/note: supp/p' "$work/stdout")" "$(cat wanted)"
run "$npuprof" advisor c --suppress s.json -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT 'note: ' || (value ->> 'what') || ' (' || (value ->> 'path') || '): ' || (value ->> 'reason') FROM json_each(readfile('$work/stdout'), '\$.input.warnings')")" \
	"$(cat wanted)"
run "$npuprof" advisor c --suppress s.json --rule t.half
expect_exit 0
expect_equal "$(grep -c 'covers no finding' "$work/stdout")" 1

behaviour 'a second run is there for rules that compare'
cat >compare.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "x.slower", "title": "Slower", "dimension": "comparison", "scope": "rank", "requires": {"v_base_step": []},
   "query": "SELECT n.rank, n.step, n.dur_ns - b.dur_ns AS more_ns FROM v_step n JOIN v_base_step b ON b.step = n.step",
   "summary": {"n": "count(*)", "more_ns": "sum(more_ns)"}, "fire": "n = 2", "severity": "low", "message": "{more_ns|int} ns"}
]}
END
run "$npuprof" advisor c --rules compare.json --rule x.slower -f json
expect_equal "$(json '$.rules[0].status') $(json '$.rules[0].reason')" 'not-applicable no v_base_step; give the other run with --base DIR'
run "$npuprof" advisor c --rules compare.json --rule x.slower --base only-db
expect_exit 0
expect_stdout_has 'why: 0 ns'

behaviour 'kernels that are alike are one row of v_kernel_group'
"$synth" -q -o pmu --ranks 2 --steps 2 --layers 2 --kernels-per-layer 6 --pmu || exit 1
cat >groups.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "x.groups", "title": "Groups", "dimension": "computation", "scope": "rank",
   "with": [{"name": "plain", "sql": "SELECT op_type, in_shapes, in_dtypes, in_formats, out_shapes, out_dtypes, out_formats, core, state, block_dim, mix_block_dim, for_comm, step IS NOT NULL AS in_step, count(*) AS n, sum(dur_ns) AS dur_ns, min(dur_ns) AS min_ns, max(dur_ns) AS max_ns, round(avg(aic_mac_ratio), 9) AS mac FROM v_kernel GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"}],
   "query": "SELECT op_type, in_shapes, out_shapes, n, dur_ns, min_ns, max_ns, mac FROM plain EXCEPT SELECT op_type, in_shapes, out_shapes, n, dur_ns, min_ns, max_ns, round(aic_mac_ratio, 9) FROM v_kernel_group",
   "summary": {"differing": "count(*)", "grouped": "(SELECT sum(n) FROM v_kernel_group)", "kernels": "(SELECT count(*) FROM v_kernel)", "macs": "(SELECT count(mac) FROM plain)"},
   "fire": "kernels > 0 AND macs > 0", "severity": "low", "message": "{differing} differ"}
]}
END
run "$npuprof" advisor pmu --rules groups.json --rule x.groups
expect_exit 0
expect_stdout_has 'why: 0 differ'

behaviour 'a fresh merged database is used, with the same findings; a stale one never'
run "$npuprof" advisor only-db -f json
cp stdout without.json
"$npuprof" cluster -q only-db >/dev/null
run "$npuprof" advisor only-db -f json -v
expect_stderr_has "the merged tables of 'only-db/cluster_analysis_output/cluster_analysis.db' are fresh"
run "$npuprof" advisor only-db -f json
expect_equal "$(sha256sum <"$work/stdout")" "$(sha256sum <without.json)"
run "$npuprof" advisor only-db -v --steps 10
expect_stderr_lacks 'are fresh'
"$npuprof" cluster -q only-db --steps 10 >/dev/null
run "$npuprof" advisor only-db -v
expect_stderr_lacks 'are fresh'
"$npuprof" cluster -q only-db >/dev/null
touch only-db/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_1.db
run "$npuprof" advisor only-db -v
expect_stderr_lacks 'are fresh'
expect_exit 0

behaviour 'a damaged rank costs that rank, and the status says so'
cp -r c broken
truncate -s 100 broken/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_2.db
rm -f broken/*2*/ASCEND_PROFILER_OUTPUT/*.csv broken/*2*/ASCEND_PROFILER_OUTPUT/*.json broken/*2*/ASCEND_PROFILER_OUTPUT/analysis.db
run "$npuprof" advisor broken
expect_exit 3
expect_stdout_has 'ranks 0-1,3 (3/3)  t.busy'

behaviour 'all gains together are no less than the largest of them, also of a repair that evens nothing out'
gaps=()
for rank in 0 1 2 3; do gaps+=(--host-gap "$rank:400"); done
"$synth" -q -o gaps --ranks 4 --steps 2 --layers 4 "${gaps[@]}" || exit 1
NPUPROF_RULES=$NPUPROF_SOURCE/rules run "$npuprof" advisor -q gaps --rule host.bound -f json
expect_exit 0
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.findings[0].repair',
	readfile('$work/stdout') ->> '\$.total.gain_ns' = readfile('$work/stdout') ->> '\$.findings[0].gain_ns'")" 'host-gaps|1'

behaviour 'a finding without a gain comes before one that gains less than anybody would notice'
"$synth" -q -o leak --ranks 2 --steps 4 --layers 2 --memory --leak 1:50000000 || exit 1
NPUPROF_RULES=$NPUPROF_SOURCE/rules run "$npuprof" advisor -q leak --rule memory.growth,host.affinity-api -f csv
expect_equal "$(cut -d, -f1 "$work/stdout")" 'rule
memory.growth
host.affinity-api'
NPUPROF_RULES=$NPUPROF_SOURCE/rules run "$npuprof" advisor -q leak --rule memory.growth,host.affinity-api
expect_stdout_says '0.1 % of the step)'

behaviour 'nothing was written into the input, and no input is a failure'
expect_equal "$(snapshot "$work/c")" "$before"
mkdir empty
run "$npuprof" advisor empty
expect_exit 1
NPUPROF_RULES=$work/nobody run "$npuprof" advisor c
expect_exit 1
