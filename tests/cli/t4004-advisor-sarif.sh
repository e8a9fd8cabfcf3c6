#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SARIF 2.1.0: every property is one that the standard has, of its type and with its values, whatever the names
# in the profile and in rule files are; no name becomes markup, a link or a control character in any form.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

cd "$work" || exit 1
"$synth" -q -o 'c d#?' --ranks 2 --steps 1 --layers 2 --kernels-per-layer 4 || exit 1
for db in c*/*/ASCEND_PROFILER_OUTPUT/*profiler*.db; do
	sqlite3 "$db" "UPDATE STRING_IDS SET value = value || '</script><img src=x>|\`*_[a](http://e.x)' || char(10, 13, 27, 34, 39, 92, 8238)
		|| '{0}{{' || CAST(x'ff' AS TEXT) WHERE id IN (SELECT name FROM COMPUTE_TASK_INFO)"
done
cat >rules.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "t.names", "title": "Names", "dimension": "computation", "scope": "rank", "tags": ["a", "computation", "a"],
   "docs": ["https://example.org/a%20b"],
   "query": "SELECT rank, name, dur_ns, '  File /usr/lib/python3/x.py(3): f' || char(10) || '/home/u/my train.py(12): step' AS stack FROM v_kernel",
   "summary": {"n": "count(*)", "name": "max(name)"}, "fire": "n > 0", "severity": {"high": "n > 0", "else": "low"},
   "confidence": 0.5, "gain": {"ns": "step_ns", "per": "step", "basis": "x"}, "message": "{name}", "advice": ["do {name}"],
   "location": {"op": "name", "stack": "stack"}, "evidence": {"columns": ["name"]}},
  {"id": "t.plain", "title": "Plain", "dimension": "memory", "scope": "cluster", "docs": ["see the manual", "https://example.org"],
   "query": "SELECT 1 AS x", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "medium", "message": "plain"},
  {"id": "t.known", "title": "Known", "dimension": "memory", "scope": "cluster",
   "query": "SELECT 1 AS x", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "info", "message": "known"},
  {"id": "t.skipped", "title": "Skipped", "dimension": "memory", "scope": "rank", "requires": {"v_mem_op": []},
   "query": "SELECT rank FROM v_mem_op", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "message": "never"},
  {"id": "t.broken", "title": "Broken", "dimension": "memory", "scope": "rank",
   "query": "SELECT nobody FROM v_step", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "message": "never"},
  {"id": "t.field", "flter": "1", "title": "Field", "dimension": "memory", "scope": "rank",
   "query": "SELECT 1 AS x", "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "message": "never"}
]}
END
printf '{"schema": "npuprof.rules/1",\n "rules": [ {"id": "a" "b"} ]}' >'bad file.json'
echo '[{"rule": "t.known", "reason": "known {0}"}]' >suppress.json
export NPUPROF_RULES=$work/rules.json

# shape: each kind of place in a document with its type, once
shape() {
	sqlite3 -separator ' ' :memory: "SELECT fullkey, type FROM json_tree(readfile('$1'))" | sed 's/\[[0-9]*\]/[]/g; s/"//g' | LC_ALL=C sort -u
}
sarif() {
	sqlite3 :memory: "WITH d(doc) AS (SELECT readfile('sarif')), r AS (SELECT value AS v FROM d, json_each(doc, '\$.runs[0].results')),
		k AS (SELECT value AS v FROM d, json_each(doc, '\$.runs[0].tool.driver.rules')) $1"
}

behaviour 'SARIF has nothing but what the standard has, each of its type'
run "$npuprof" advisor 'c d#?' -f json --rule t.plain
cp stdout baseline.json
run "$npuprof" advisor 'c d#?' -f sarif --rules 'bad file.json' --suppress suppress.json --baseline baseline.json
expect_exit 3
cp stdout sarif
expect 'it is UTF-8' iconv -f UTF-8 -t UTF-8 -o /dev/null sarif
expect_equal "$(shape sarif)" "$(LC_ALL=C sort <<'END'
$ object
$.$schema text
$.version text
$.runs array
$.runs[] object
$.runs[].columnKind text
$.runs[].language text
$.runs[].tool object
$.runs[].tool.driver object
$.runs[].tool.driver.language text
$.runs[].tool.driver.name text
$.runs[].tool.driver.version text
$.runs[].tool.driver.rules array
$.runs[].tool.driver.rules[] object
$.runs[].tool.driver.rules[].id text
$.runs[].tool.driver.rules[].shortDescription object
$.runs[].tool.driver.rules[].shortDescription.text text
$.runs[].tool.driver.rules[].fullDescription object
$.runs[].tool.driver.rules[].fullDescription.text text
$.runs[].tool.driver.rules[].help object
$.runs[].tool.driver.rules[].help.text text
$.runs[].tool.driver.rules[].helpUri text
$.runs[].tool.driver.rules[].defaultConfiguration object
$.runs[].tool.driver.rules[].defaultConfiguration.level text
$.runs[].tool.driver.rules[].properties object
$.runs[].tool.driver.rules[].properties.tags array
$.runs[].tool.driver.rules[].properties.tags[] text
$.runs[].invocations array
$.runs[].invocations[] object
$.runs[].invocations[].executionSuccessful false
$.runs[].invocations[].toolConfigurationNotifications array
$.runs[].invocations[].toolConfigurationNotifications[] object
$.runs[].invocations[].toolConfigurationNotifications[].associatedRule object
$.runs[].invocations[].toolConfigurationNotifications[].associatedRule.id text
$.runs[].invocations[].toolConfigurationNotifications[].level text
$.runs[].invocations[].toolConfigurationNotifications[].locations array
$.runs[].invocations[].toolConfigurationNotifications[].locations[] object
$.runs[].invocations[].toolConfigurationNotifications[].locations[].physicalLocation object
$.runs[].invocations[].toolConfigurationNotifications[].locations[].physicalLocation.artifactLocation object
$.runs[].invocations[].toolConfigurationNotifications[].locations[].physicalLocation.artifactLocation.uri text
$.runs[].invocations[].toolConfigurationNotifications[].locations[].physicalLocation.region object
$.runs[].invocations[].toolConfigurationNotifications[].locations[].physicalLocation.region.startColumn integer
$.runs[].invocations[].toolConfigurationNotifications[].locations[].physicalLocation.region.startLine integer
$.runs[].invocations[].toolConfigurationNotifications[].message object
$.runs[].invocations[].toolConfigurationNotifications[].message.text text
$.runs[].invocations[].toolExecutionNotifications array
$.runs[].invocations[].toolExecutionNotifications[] object
$.runs[].invocations[].toolExecutionNotifications[].associatedRule object
$.runs[].invocations[].toolExecutionNotifications[].associatedRule.id text
$.runs[].invocations[].toolExecutionNotifications[].level text
$.runs[].invocations[].toolExecutionNotifications[].message object
$.runs[].invocations[].toolExecutionNotifications[].message.text text
$.runs[].results array
$.runs[].results[] object
$.runs[].results[].ruleId text
$.runs[].results[].ruleIndex integer
$.runs[].results[].level text
$.runs[].results[].message object
$.runs[].results[].message.text text
$.runs[].results[].locations array
$.runs[].results[].locations[] object
$.runs[].results[].locations[].physicalLocation object
$.runs[].results[].locations[].physicalLocation.artifactLocation object
$.runs[].results[].locations[].physicalLocation.artifactLocation.uri text
$.runs[].results[].locations[].physicalLocation.region object
$.runs[].results[].locations[].physicalLocation.region.startLine integer
$.runs[].results[].locations[].logicalLocations array
$.runs[].results[].locations[].logicalLocations[] object
$.runs[].results[].locations[].logicalLocations[].kind text
$.runs[].results[].locations[].logicalLocations[].name text
$.runs[].results[].partialFingerprints object
$.runs[].results[].partialFingerprints.npuprof/v1 text
$.runs[].results[].partialFingerprints.primaryLocationLineHash text
$.runs[].results[].rank real
$.runs[].results[].baselineState text
$.runs[].results[].suppressions array
$.runs[].results[].suppressions[] object
$.runs[].results[].suppressions[].justification text
$.runs[].results[].suppressions[].kind text
$.runs[].results[].properties object
$.runs[].results[].properties.confidence null
$.runs[].results[].properties.confidence real
$.runs[].results[].properties.gain_bound text
$.runs[].results[].properties.gain_ns integer
$.runs[].results[].properties.gain_ns null
$.runs[].results[].properties.gain_pct real
$.runs[].results[].properties.gain_pct null
$.runs[].results[].properties.severity text
END
)"

behaviour 'required properties are there, and values are those that the standard allows'
expect_equal "$(sarif "SELECT doc ->> '\$.version', count(*) FROM d, r")" '2.1.0|3'
expect_equal "$(sarif "SELECT count(*) FROM r WHERE v ->> '\$.message.text' = '' OR v ->> '\$.message.text' IS NULL OR v ->> '\$.level' NOT IN ('none', 'note', 'warning', 'error')
	OR v ->> '\$.baselineState' NOT IN ('new', 'unchanged', 'updated', 'absent') OR NOT coalesce(v ->> '\$.rank', 0) BETWEEN 0 AND 100
	OR v ->> '\$.suppressions[0].kind' NOT IN ('inSource', 'external') OR v ->> '\$.locations[0].physicalLocation.region.startLine' < 1
	OR v ->> '\$.locations[0].physicalLocation.artifactLocation.uri' IS NULL")" 0
expect_equal "$(sarif "SELECT count(*) FROM r, d WHERE doc ->> ('\$.runs[0].tool.driver.rules[' || (v ->> 'ruleIndex') || '].id') IS NOT v ->> 'ruleId'")" 0
expect_equal "$(sarif "SELECT count(*), count(DISTINCT v ->> 'id'), count(v ->> '\$.shortDescription.text') FROM k")" '5|5|5'
expect_equal "$(sarif "SELECT group_concat(v ->> '\$.properties.tags') FROM k WHERE v ->> 'id' = 't.names'")" '["computation","a"]'
expect_equal "$(sarif "SELECT group_concat(v ->> 'helpUri') FROM k")" 'https://example.org/a%20b'
expect_equal "$(sarif "SELECT v ->> 'ruleId', v ->> 'level', v ->> 'baselineState', v ->> '\$.suppressions[0].justification' FROM r ORDER BY 1")" \
	't.known|note|new|known {0}
t.names|error|new|
t.plain|warning|unchanged|'

behaviour 'what code hosts require beyond the standard is there'
expect_equal "$(sarif "SELECT count(*) FROM r WHERE coalesce(v ->> '\$.locations[0].physicalLocation.region.startLine', 0) < 1
	OR length(v ->> '\$.partialFingerprints.primaryLocationLineHash') IS NOT 16")" 0
expect_equal "$(sarif "SELECT count(*) FROM k WHERE coalesce(v ->> '\$.help.text', '') = '' OR length(v ->> '\$.fullDescription.text') > 1024")" 0

behaviour 'all results tell whether they are suppressed, and how they stand to the baseline, or none does'
expect_equal "$(sarif "SELECT group_concat(json_array_length(v, '\$.suppressions')), count(v ->> 'baselineState') FROM (SELECT v FROM r ORDER BY v ->> 'ruleId')")" '1,0,0|3'

behaviour 'places are valid references'
expect_equal "$(sarif "SELECT v ->> '\$.locations[0].physicalLocation.artifactLocation.uri', v ->> '\$.locations[0].physicalLocation.region.startLine' FROM r ORDER BY v ->> 'ruleId'")" \
	'c%20d%23%3F|1
file:///home/u/my%20train.py|12
c%20d%23%3F|1'
expect_equal "$(sqlite3 :memory: "SELECT value ->> '\$.locations[0].physicalLocation.artifactLocation.uri', value ->> '\$.locations[0].physicalLocation.region.startLine',
	value ->> '\$.locations[0].physicalLocation.region.startColumn', value ->> 'level' FROM json_each(readfile('sarif'), '\$.runs[0].invocations[0].toolConfigurationNotifications')
	WHERE value ->> '\$.associatedRule.id' IS NULL")" 'bad%20file.json|2|26|error'

behaviour 'braces are written twice, and no name is a link'
expect_equal "$(sarif "SELECT v ->> '\$.message.text' LIKE '%[a] (http://e.x)%{{0}}{{{{%' FROM r WHERE v ->> 'ruleId' = 't.names'")" 1

behaviour 'no form has control characters, bytes that are no UTF-8 or markup of names'
for form in table json sarif csv md; do
	run "$npuprof" advisor 'c d#?' -f "$form" --rule t.names
	expect_exit 3
	expect "$form is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null stdout
	expect_stdout_has 'script'
	expect_equal "$(LC_ALL=C tr -d '\n\r -~\200-\377' <stdout | wc -c)" 0
done
run "$npuprof" advisor 'c d#?' -f md --rule t.names
expect_stdout_has '\</script>\<img src=x>\|\`\*_\[a](http'
run "$npuprof" advisor 'c d#?' -f csv --rule t.names
expect_equal "$(sqlite3 -cmd '.mode csv' -cmd '.import stdout t' :memory: 'SELECT count(*), max(rule) FROM t')" '1,t.names'

# --- a run in which no rule is wrong

cat >sound.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "t.sound", "title": {"en": "Sound", "zh": "正常"}, "dimension": "memory", "scope": "cluster", "query": "SELECT 1 AS x",
   "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "message": {"en": "sound", "zh": "没有问题"}}
]}
END
export NPUPROF_RULES=$work/sound.json

# told <path>...: what stands in the run of the document, one after the other
told() {
	local path

	for path; do sarif "SELECT doc ->> '\$.runs[0].$path' FROM d"; done | paste -sd '|'
}
# sarif_of <argument>...: the document for `sarif` and `told`
sarif_of() {
	run "$npuprof" advisor -f sarif "$@"
	cp stdout sarif
}

behaviour 'the language is that of the texts, and a run without a notification of an error has succeeded'
sarif_of 'c d#?'
expect_exit 0
expect_equal "$(told language tool.driver.language 'results[0].message.text' 'invocations[0].executionSuccessful' columnKind)" 'en|en|sound|1|unicodeCodePoints'
sarif_of 'c d#?' --lang zh
expect_equal "$(told language tool.driver.language 'results[0].message.text' 'tool.driver.rules[0].shortDescription.text')" 'zh|zh|没有问题|正常'

behaviour 'places have no empty names and no "." in them, and absolute ones no ".."'
mkdir -p far/away
ln -s "$work/far/away" near
for path in './/c d#?/.' "$work//./c d#?/" "$work/near/../../c d#?"; do
	sarif_of "$path"
	told 'results[0].locations[0].physicalLocation.artifactLocation.uri'
done >places
sarif_of "$work"
home=$(told 'results[0].locations[0].physicalLocation.artifactLocation.uri')
expect_equal "$(cat places)" "c%20d%23%3F
$home/c%20d%23%3F
$home/c%20d%23%3F"

behaviour 'what could not be used is a notification, and the rest succeeded'
rm c*/*1_ascend_pt/ASCEND_PROFILER_OUTPUT/analysis.db
truncate -s 0 c*/*1_ascend_pt/ASCEND_PROFILER_OUTPUT/*profiler*.db
sarif_of 'c d#?'
expect_exit 3
expect_equal "$(told 'invocations[0].executionSuccessful' 'invocations[0].toolExecutionNotifications[0].level')" '1|warning'
expect_equal "$(sqlite3 :memory: "SELECT n ->> '\$.message.text' LIKE 'rank 1: ''c d#?/% is empty (0 bytes)', n ->> '\$.locations[0].physicalLocation.artifactLocation.uri' LIKE 'c\%20d\%23\%3F/%1_ascend_pt' ESCAPE '\'
	FROM (SELECT readfile('sarif') -> '\$.runs[0].invocations[0].toolExecutionNotifications[0]' AS n)")" '1|1'
