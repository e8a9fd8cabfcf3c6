#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npuprof advisor: the screen has the answer first, evidence beside each finding and one finding for each cause;
# severity follows the gain, and a gain that cannot be had is none. Programs get everything.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
"$synth" -q -o c --ranks 4 --steps 2 --layers 2 --kernels-per-layer 4 --no-instances || exit 1

# rule <id> <severity> <gain> <more fields>: one that fires over the cluster, with two rows of ranks
rule() {
	echo "{\"id\": \"$1\", \"title\": \"$1\", \"dimension\": \"overall\", \"scope\": \"cluster\", \"severity\": \"$2\",
		\"query\": \"SELECT rank, count(*) AS n, 'because' AS why, '因为' AS why_zh FROM v_step GROUP BY rank\",
		\"summary\": {\"n\": \"count(*)\"}, \"fire\": \"n > 0\", \"gain\": {\"ns\": \"$3\", \"per\": \"step\", \"basis\": \"b\"},
		\"message\": \"message of $1\", \"advice\": [\"advice of $1\", \"second of $1\"] ${4-}}"
}

# pack <rule>...: a file of rules
pack() {
	local IFS=,

	echo "{\"schema\": \"npuprof.rules/1\", \"rules\": [$*]}" >rules.json
}
export NPUPROF_RULES=$work/rules.json

# finding <rule> <field>: of the JSON in $work/stdout
finding() {
	sqlite3 :memory: "SELECT value ->> '$2' FROM json_each(readfile('$work/stdout'), '\$.findings') WHERE value ->> 'rule' = '$1'"
}

behaviour 'severity follows the gain, and is the rule'"'"'s own where the gain is not known'
pack "$(rule s.high low 'step_ns * 0.05')" "$(rule s.medium low 'step_ns * 0.0499')" "$(rule s.least low 'step_ns * 0.0101')" \
	"$(rule s.low high 'step_ns * 0.0099')" "$(rule s.petty high 'step_ns * 0.0009')" "$(rule s.unknown medium NULL)"
run "$npuprof" advisor -q c -f json
expect_exit 0
for each in 'high high' 'medium medium' 'least medium' 'low low' 'petty low' 'unknown medium'; do
	expect_equal "$(finding "s.${each% *}" severity)" "${each#* }"
done
expect_equal "$(sqlite3 :memory: "SELECT group_concat(value ->> 'rule', ' ') FROM json_each(readfile('$work/stdout'), '\$.findings')")" \
	's.high s.medium s.least s.unknown s.low s.petty'

behaviour 'what gains under 0.1 % of the step is on the screen with -v, and trips the gate'
run "$npuprof" advisor -q c
expect_stdout_lacks s.petty
expect_stdout_has '1 more, each under 0.1 % of the step: -v' 's.low'
run "$npuprof" advisor -q c -v
expect_stdout_has s.petty
run "$npuprof" advisor -q c --rule s.petty --fail-on low
expect_exit 4
run "$npuprof" advisor -q c -f sarif --rule s.petty
expect_stdout_has '"ruleId": "s.petty"'

behaviour 'more than the step is no gain; a little more is rounding'
pack "$(rule g.more low 'step_ns * 1.02')" "$(rule g.all low 'step_ns * 1.005')"
run "$npuprof" advisor -q c -f json
expect_equal "$(finding g.more gain_ns) $(finding g.more severity)" ' low'
expect_equal "$(finding g.all gain_pct | cut -c1-4) $(finding g.all severity)" '99.9 high'

behaviour 'of several ranks the one that loses most is shown, with its words, and how little the least loses'
pack "$(rule m.ranks low 'step_ns * (4 - rank) / 100' | sed 's/"scope": "cluster"/"scope": "rank"/; s/message of m.ranks/rank {rank} loses/')"
run "$npuprof" advisor -q c -f json
expect_equal "$(finding m.ranks ranks) $(finding m.ranks shown_rank) $(finding m.ranks message) $(finding m.ranks severity)" '[0,1,2,3] 0 rank 0 loses medium'
expect_equal "$(sqlite3 :memory: "SELECT round(1.0 * $(finding m.ranks gain_ns) / $(finding m.ranks gain_least_ns))")" 4.0
run "$npuprof" advisor -q c
expect_equal "$(grep -cE '^ +of: rank 0, which loses most \(.*\); least: rank 3, ' "$work/stdout")" 1
pack "$(rule m.ranks low NULL | sed 's/"scope": "cluster"/"scope": "rank"/; s/message of m.ranks/rank {rank} loses/')" "$(rule m.alike low NULL | sed 's/"scope": "cluster"/"scope": "rank"/')"
run "$npuprof" advisor -q c
expect_equal "$(grep -E '^ +of:' "$work/stdout" | tr -d ' ')" of:rank0

behaviour 'what ranks save that wait for others is no gain where those were not profiled'
"$synth" -q -o all --ranks 8 --steps 2 --layers 2 --kernels-per-layer 4 --no-instances --slow-rank 5:1.6 || exit 1
mkdir some
cp -r all/*00[01]_ascend_pt some
rules=()
for each in computation schedule memory comparison overall communication; do
	rules+=("$(rule "u.$each" high 'step_ns / 90' | sed "s/\"dimension\": \"overall\"/\"dimension\": \"$each\"/")")
done
pack "${rules[@]}"
run "$npuprof" advisor -q some -f json
for each in computation schedule memory comparison; do
	expect_equal "$(finding "u.$each" gain_ns) $(finding "u.$each" severity)" ' medium'
	expect 'what is withheld' test "$(finding "u.$each" gain_withheld_ns)" -gt 0
done
for each in overall communication; do
	expect 'a gain' test "$(finding "u.$each" gain_ns)" -gt 0
	expect_equal "$(finding "u.$each" gain_withheld_ns)" ''
done
run "$npuprof" advisor -q some
expect_equal "$(tr -s ' \n' '  ' <"$work/stdout" | grep -oE 'gain: not known: up to [0-9.]+ [mu]s less on these ranks, which would then wait longer for ranks that were not profiled' | wc -l)" 4
run "$npuprof" advisor -q all -f json
expect_equal "$(finding u.schedule gain_withheld_ns)" ''

behaviour 'the answer comes first, then what to do, then findings with their evidence, then trust'
columns=', "evidence": {"columns": ["rank", "n", {"col": "why", "title": "reason", "lang": "en"}, {"col": "why_zh", "title": {"en": "x", "zh": "缘由"}, "lang": "zh"}], "order": "rank"}'
pack "$(rule a.first low NULL ', "first": true')" "$(rule a.large low 'step_ns / 2' "$columns")" "$(rule a.small low 'step_ns / 50')"
run "$npuprof" advisor -q c
expect_equal "$(grep -oE '^(Verdict|Do next|Findings|Trust)$|  a\.[a-z]+$|\(a\.[a-z]+' "$work/stdout" | tr -d ' ' | paste -sd' ')" \
	'Verdict Donext (a.first (a.large (a.small Findings a.first a.large a.small Trust'
expect_stdout_has 'why: message of a.large' 'do: advice of a.large' 'reason' because '1 more hint: -v'
expect_stdout_lacks 'second of a.large' 因为
run "$npuprof" advisor -q c -v
expect_stdout_has 'second of a.large'
run "$npuprof" advisor -q c --lang zh
expect_stdout_has 缘由 因为 结论 下一步 可信度
expect_stdout_lacks because Verdict 'Do next' Findings Trust
run "$npuprof" advisor -q c -f json
expect_equal "$(finding a.large '$.evidence.columns')" '["rank","n","why","why_zh"]'

behaviour 'five rows of evidence, and how many more there are'
many='"query": "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 8) SELECT x FROM c"'
pack "$(rule e.rows low NULL ', "evidence": {"columns": ["x"], "order": "x"}' | sed "s/\"query\": \"[^\"]*\"/$many/")"
run "$npuprof" advisor -q c
expect_stdout_has '3 more rows, 1 more hint: -v'
expect_equal "$(grep -cE '^ +[1-8]$' "$work/stdout")" 5
run "$npuprof" advisor -q c -v
expect_equal "$(grep -cE '^ +[1-8]$' "$work/stdout")" 8
expect_stdout_lacks 'more rows'

behaviour 'findings of one cause are one, with the others as symptoms; so is one on its ranks only'
there=', "evidence": {"columns": ["rank"]}'
two='s/FROM v_step GROUP/FROM v_step WHERE rank = 2 GROUP/'
pack "$(rule c.exposed low 'step_ns / 3' ', "cause": "rank:2", "symptom": true')" "$(rule c.straggler low 'step_ns / 4' ', "cause": "rank:{n}"' | sed 's/"count(\*)"/"2"/')" \
	"$(rule c.there low 'step_ns / 5' "$there" | sed "$two")" "$(rule c.other low 'step_ns / 6' "$there")" "$(rule c.none low 'step_ns / 7' ', "cause": "{nobody}", "summary": {"n": "count(*)", "nobody": "NULL"}' | sed 's/"summary": {"n": "count(\*)"}, "fire"/"fire"/')"
run "$npuprof" advisor -q c
expect_stdout_has 'symptom: c.exposed, ' 'symptom: c.there, '
expect_equal "$(grep -oE '  c\.[a-z]+$' "$work/stdout" | tr -d ' ' | paste -sd' ')" 'c.straggler c.other c.none'
run "$npuprof" advisor -q c -f json
head=$(finding c.straggler fingerprint)
expect_equal "$(finding c.exposed symptom_of) $(finding c.there symptom_of)" "$head $head"
expect_equal "$(finding c.straggler symptom_of)$(finding c.other symptom_of)$(finding c.none symptom_of)$(finding c.none cause)" ''
expect_equal "$(finding c.straggler cause)" rank:2
expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.findings')")" 5

behaviour 'a suppressed finding has no symptoms: the next one heads them'
echo '[{"rule": "c.straggler", "reason": "known"}]' >s.json
run "$npuprof" advisor -q c --suppress s.json -f json
expect_equal "$(finding c.exposed symptom_of)" ''
expect_equal "$(finding c.there symptom_of)" "$(finding c.exposed fingerprint)"

behaviour 'a rule yields to one that explains the same ranks better'
pack "$(rule y.link low 'step_ns / 3' "$there" | sed "$two")" "$(rule y.contention low 'step_ns / 4' ', "yields": ["y.link"]' | sed 's/"scope": "cluster"/"scope": "rank"/')" \
	"$(rule y.gone low 'step_ns / 4' ", \"yields\": [\"y.link\"] $there" | sed "$two")"
run "$npuprof" advisor -q c -f json
expect_equal "$(finding y.contention ranks)" '[0,1,3]'
expect_equal "$(finding y.gone rule)" ''
expect_equal "$(sqlite3 :memory: "SELECT value ->> 'status', value ->> 'reason' FROM json_each(readfile('$work/stdout'), '\$.rules') WHERE value ->> 'id' = 'y.gone'")" \
	'clear|explained by y.link'
run "$npuprof" advisor -q c
expect_stdout_lacks 'not checked, and what it takes'
expect_stdout_has '0 not checked'

behaviour 'wrong values of the new fields are told where they stand'
pack "$(rule w.lang low NULL ', "evidence": {"columns": [{"col": "n", "lang": "fr"}]}')" "$(rule w.first low NULL ', "first": 1')" \
	"$(rule w.symptom low NULL ', "symptom": "yes"')" "$(rule w.yields low NULL ', "yields": [3]')"
run "$npuprof" rules check rules.json
expect_exit 1
expect_stderr_has 'w.lang: lang is en or zh' 'w.first: first must be true or false' 'w.symptom: symptom must be true or false' 'w.yields: yields must be texts'
pack "$(rule w.cause low NULL ', "cause": "rank:{nobody}"')"
run "$npuprof" rules check rules.json
expect_exit 1
expect_stderr_has "in cause 'rank:{nobody}': there is no value 'nobody'"

behaviour 'a column of which nothing is known is left out on the screen, not in JSON'
pack "$(rule n.null low NULL ', "evidence": {"columns": ["rank", {"col": "gone", "title": "missing"}]}' | sed "s/'because' AS why/NULL AS gone, 'because' AS why/")"
run "$npuprof" advisor -q c
expect_stdout_lacks missing
run "$npuprof" advisor -q c -f json
expect_equal "$(finding n.null '$.evidence.columns')" '["rank","gone"]'

behaviour 'files of a rank that contradict each other by a factor head the report'
for each in c/*/ASCEND_PROFILER_OUTPUT/analysis.db; do
	sqlite3 "$each" 'UPDATE StepTraceTime SET computing = computing * 3'
	break
done
NPUPROF_RULES=$NPUPROF_SOURCE/rules run "$npuprof" advisor -q c -f json
expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/stdout') ->> '\$.findings[0].rule', readfile('$work/stdout') ->> '\$.findings[0].severity',
	readfile('$work/stdout') ->> '\$.findings[0].message' LIKE '%by up to a factor of 3.0: analysis.db%'")" 'profile.contradiction|high|1'
