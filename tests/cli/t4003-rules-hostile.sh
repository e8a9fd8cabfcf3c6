#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Broken and hostile rule files: one clear error each, with its place; the other rules run.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1
"$synth" -q -o c --ranks 2 --steps 1 --layers 2 --kernels-per-layer 4 || exit 1
mkdir bad

# rule <name> <json of fields to add or replace> [<time limit>]: bad/<name>.json with one rule bad.<name>
rule() {
	cat >"bad/$1.json" <<END
{
  "schema": "npuprof.rules/1",
  "rules": [
    {
      "id": "bad.$1", "title": "t", "dimension": "overall", "scope": "rank",
      "summary": {"n": "count(*)"}, "severity": "low", "timeout_ms": ${3:-500},
      $2
    }
  ]
}
END
}
rest='"fire": "n > 0", "message": "{n}"'
rule sql "\"query\": \"SELECT rank, nme FROM v_kernel\", $rest"
rule lines "\"query\": [\"SELECT rank,\",
        \"  nme\",
        \"FROM v_kernel\"], $rest"
rule pattern "\"query\": \"SELECT rank FROM v_kernel WHERE name REGEXP '(abc'\", $rest"
rule field "\"query\": \"SELECT rank FROM v_kernel\", \"flter\": \"1\", $rest"
rule twice "\"query\": \"SELECT 1 AS rank\", \"query\": \"SELECT 2 AS rank\", $rest"
rule write "\"query\": \"DELETE FROM v_kernel\", $rest"
rule create "\"query\": \"CREATE TABLE evil(x)\", $rest"
rule two "\"query\": \"SELECT 1 AS rank; DROP TABLE q\", $rest"
rule attach "\"query\": \"ATTACH 'evil.db' AS e\", $rest"
rule pragma "\"query\": \"PRAGMA temp_store = 1\", $rest"
rule endless "\"query\": \"WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) AS rank FROM r\", $rest"
rule catastrophe "\"query\": \"SELECT 1 AS rank WHERE 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab' REGEXP '^(a+)+\$'\", $rest"
rule text '"query": "SELECT rank FROM v_kernel", "fire": "n > 0", "message": "{m}"'
rule chinese '"query": "SELECT rank FROM v_kernel", "fire": "n > 0", "message": {"en": "{n}",
        "zh": "{m}"}'
rule repair "\"query\": \"SELECT rank FROM v_kernel\",
      \"repair\": \"rank:{who}\", $rest"
rule advice "\"query\": \"SELECT rank FROM v_kernel\", $rest,
      \"advice\": [\"fine\",
        {\"if\": \"n > 0\", \"en\": \"{n|purple}\"}]"
rule scalar '"query": "SELECT rank FROM v_kernel", "fire": "m > 0", "message": "{n}"'
rule view "\"requires\": {\"v_nobody\": []}, \"query\": \"SELECT 1 AS rank\", $rest"
rule vacuum "\"query\": \"VACUUM INTO 'evil.db'\", $rest"
rule returning "\"query\": \"INSERT INTO v_step DEFAULT VALUES RETURNING rank\", $rest"
rule databases "\"query\": \"SELECT * FROM pragma_database_list\", $rest"
rule reindex "\"query\": \"REINDEX\", $rest"
rule explain "\"query\": \"EXPLAIN SELECT 1 AS rank\", $rest"
rule file "\"query\": \"SELECT readfile('/etc/passwd') AS rank\", $rest"
rule blob "\"query\": \"SELECT zeroblob(2000000000) AS rank\", $rest"
rule grow "\"query\": \"SELECT regex_replace(printf('%.200000c', 'a'), 'a', printf('%.10000c', 'b')) AS rank\", $rest"
rule rows "\"query\": \"WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS rank FROM r\", $rest" 60000
rule hoard "\"query\": \"WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x || printf('%.200000c', 'a') AS rank FROM r\", $rest" 60000
rule random "\"query\": \"SELECT random() AS rank\", $rest"
rule extends "\"extends\": \"bad.nobody\", \"query\": \"SELECT 1 AS rank\", $rest"
cp bad/sql.json bad/sql2.json
printf '{"schema": "npuprof.rules/1",\n "rules": [ {"id": "a" "b"} ]}' >bad/syntax.json
printf '{"schema": "npuprof.rules/1",\n "rules": [ {"id": "A b"} ]}' >bad/id.json
printf '{"schema": "npuprof.rules/9", "rules": []}' >bad/schema9.json
: >bad/empty.json
head -c 100000 /dev/zero | tr '\0' '[' >bad/deep.json
cat >good.json <<'END'
{"schema": "npuprof.rules/1", "rules": [
  {"id": "good.one", "title": "t", "dimension": "overall", "scope": "rank", "query": "SELECT rank FROM v_step",
   "summary": {"n": "count(*)"}, "fire": "n > 0", "severity": "low", "message": "{n} good"}
]}
END

behaviour 'check tells each error with file, line and column'
run "$npuprof" rules check bad
expect_exit 1
# SQLite before 3.38 does not say where.
if sqlite_since 3.38; then
	expect_stderr_has "bad/sql.json:7:30: bad.sql: no such column: nme" "bad/lines.json:8:12: bad.lines: no such column: nme"
fi
expect_stderr_has \
	"bad.sql: no such column: nme" \
	"bad.pattern: bad pattern at character 5: missing closing parenthesis" \
	"bad/field.json:7:54: bad.field: unknown field 'flter'; did you mean 'filter'?" \
	"bad/twice.json:4:5: bad.twice: a field is written twice" \
	"bad/write.json:7:16: bad.write: table v_kernel may not be modified" \
	"bad.create: rules may only read: " \
	"bad.two: there is more than one statement" \
	"bad.attach: rules may only read: ATTACH evil.db is not allowed" \
	"bad.pragma: rules may only read: PRAGMA temp_store is not allowed" \
	"bad.endless: it took longer than 0.5 s" \
	"bad.catastrophe: the pattern backtracks too much" \
	"bad/text.json:7:73: bad.text: in message '{m}': there is no value 'm'" \
	"bad/chinese.json:8:15: bad.chinese: in message '{m}': there is no value 'm'" \
	"bad/repair.json:8:17: bad.repair: in repair 'rank:{who}': there is no value 'who'" \
	"bad/advice.json:9:31: bad.advice: in advice/1 '{n|purple}': there is no format 'purple'" \
	"bad.scalar: no such column: m" \
	"bad/view.json:7:32: bad.view: there is no view 'v_nobody'" \
	"bad.vacuum: rules may only read" \
	"bad.reindex: it is no SELECT" \
	"bad.explain: it is no SELECT" \
	"bad.file: no such function: readfile" \
	"bad.blob: string or blob too big" \
	"bad.grow: the text becomes longer than 262144 bytes" \
	"bad.rows: it gives more than 2000000 rows; aggregate or filter in SQL" \
	"bad.hoard: it gives too many rows; aggregate in SQL" \
	"bad/empty.json:1:1: unexpected token near end of file" \
	"bad.random: not authorized to use function: random" \
	"bad.extends: it extends 'bad.nobody', which is no rule" \
	"bad/sql2.json:4:5: bad.sql: the id is taken by a rule in 'bad/sql.json'" \
	"bad/syntax.json:2:26: '}' expected" \
	"bad/id.json:2:13: a rule needs an 'id'" \
	"bad/schema9.json:1:12: 'schema' must be" \
	"bad/deep.json:1:"
# SQLite before 3.35 has no RETURNING, and an older one says of a table that it may not open that there is none.
expect 'RETURNING is refused' grep -qE 'bad\.returning: (rules may only read: INSERT v_step is not allowed|near "RETURNING": syntax error)' stderr
expect 'names of databases are refused' grep -qE 'bad\.databases: (not authorized|no such table: pragma_database_list)' stderr

behaviour 'a field of another kind than the schema says is told, not passed over'
sound='"id": "kind.x", "title": "t", "dimension": "overall", "scope": "rank", "query": "SELECT 1 AS rank", "summary": {"n": "count(*)"},
"fire": "n > 0", "severity": "low", "message": "m"'
while IFS='|' read -r field said; do
	printf '{"schema": "npuprof.rules/1", "rules": [{%s,\n%s}]}' "$(sed -E "s/${field%%:*}: (\"[a-z]+\"), //" <<<"$sound")" "$field" >kind.json
	run "$npuprof" rules check kind.json
	expect_exit 1
	expect_stderr_has "kind.x: $said"
done <<'END'
"title": null|the rule has no 'title'
"title": {"en": "t", "zh": 7}|'zh' must be a text
"scope": null|the rule has no 'scope'
"advice": [{"en": "a", "zh": []}]|'zh' must be a text
"params": {"p": {"value": 1, "what": 7}}|what must be a text
"evidence": {"columns": ["rank"], "top": 7}|top must be an object
"evidence": {"columns": ["rank"], "top": {"text": 1.5}}|text must be a whole number from 0
"evidence": {"columns": ["rank"], "top": {"html": -1}}|html must be a whole number from 0
"location": "rank"|location must be an object
"tests": "none"|tests must be an array
"tests": [7]|a test must be an object
"tests": [{"name": "n", "rows": {}}]|the test expects nothing
"tests": [{"expect": {}}]|the test expects nothing
END

behaviour 'the other rules still run, in time; the status says that something could not be used'
begin=$SECONDS
run "$npuprof" advisor c --rules bad --rules good.json --rule 'bad.*,good.*'
expect_exit 3
expect_stdout_has 'good.one' '1 good' 'bad.endless: ' 'bad.attach: '
expect 'it ends soon' test $((SECONDS - begin)) -lt 60
expect 'nothing was written' test ! -e evil.db
expect_equal "$(find . -name '*.db' -newer good.json)" ''

behaviour 'a file that is not there is an error'
run "$npuprof" advisor c --rules nobody.json
expect_exit 1
expect_stderr_has "cannot open 'nobody.json'"

behaviour 'all rules together have a limit: what is left over is listed, and the status says so'
mkdir slow
for n in 1 2 3; do
	rule slow$n "\"query\": \"WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) AS rank FROM r\", $rest" 700
	mv bad/slow$n.json slow
done
# Two of them take 0.7 s of the processor each, which is more than 1 s.
run "$npuprof" advisor -d c -f json -j1 --ranks 0 --rules slow --rule 'bad.slow*' --rules-timeout 1
expect_exit 3
expect_equal "$(grep -c 'it took longer than 0.7 s' "$work/stdout")" 2
expect_stdout_has 'not run: the rules before it took the 1 s that all may take together (--rules-timeout)'
run "$npuprof" advisor -d c --rules-timeout 0
expect_exit 2
