#!/usr/bin/env bash
# The rule packs: their own tests, what they find in simulated clusters with planted faults, and that text
# and databases tell them the same. tools/sweep/advisor.sh counts over many seeds how often they are right.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3
rules=$NPUPROF_SOURCE/rules

# make <directory> <synth options>...: a small simulated cluster
make() {
	local where=$work/$1

	shift
	rm -rf "$where"
	run "$synth" -q -o "$where" --ranks 8 --seed 7 --layers 4 --kernels-per-layer 6 --no-instances "$@"
	expect_exit 0
}

# advise <directory> [option]...: the findings, in $work/json
advise() {
	local where=$work/$1

	shift
	run "$npuprof" advisor -q -d "$where" -f json "$@"
	expect_exit 0
	cp "$work/stdout" "$work/json"
}

# ask <SQL>: of the rows f (findings, in order) and r (rules)
ask() {
	sqlite3 -separator ' ' :memory: "CREATE TABLE f AS SELECT key AS n, value ->> 'rule' AS rule, value ->> 'severity' AS severity,
			value ->> 'gain_ns' AS gain_ns, value ->> 'gain_pct' AS gain_pct, value ->> 'repair' AS repair, value -> 'ranks' AS ranks,
			value ->> 'message' AS message, value -> 'evidence' AS evidence FROM json_each(readfile('$work/json'), '\$.findings');
		CREATE TABLE r AS SELECT value ->> 'id' AS id, value ->> 'status' AS status, value ->> 'reason' AS reason
			FROM json_each(readfile('$work/json'), '\$.rules'); $1"
}

# step <directory>: the mean span of its steps
step() {
	rm -rf "$work/out"
	"$npuprof" cluster -q -d "$work/$1" -o "$work/out" >"$work/stdout" 2>&1
	sqlite3 "$work/out/cluster_analysis_output/cluster_analysis.db" \
		'SELECT avg(span) FROM (SELECT sum(ns) AS span FROM np_partition GROUP BY rank, step)'
}

behaviour 'all packs are sound and pass the tests that they carry'
run "$npuprof" rules check "$rules"/[!s]*.json "$rules"/schedule.json
expect_exit 0
expect_stdout_has ' 0 errors'
run "$npuprof" rules test "$rules"/[!s]*.json "$rules"/schedule.json
expect_exit 0
expect_stdout_has ' 0 failed'

behaviour 'every rule speaks English and Chinese, names an address to read, and carries at least a test that fires and one that does not'
for pack in "$rules"/*.json; do
	[[ $pack == */schema.json || $pack == */chips.json ]] && continue
	expect_equal "$(sqlite3 :memory: "SELECT r.value ->> 'id' FROM json_each(readfile('$pack'), '\$.rules') AS r
		LEFT JOIN json_each(r.value, '\$.tests') AS t GROUP BY r.key HAVING r.value ->> '\$.title.zh' IS NULL OR r.value ->> '\$.message.zh' IS NULL
		OR EXISTS (SELECT 1 FROM json_each(r.value, '\$.advice') AS a WHERE a.value ->> 'zh' IS NULL)
		OR coalesce(r.value ->> '\$.docs[0]', '') NOT LIKE 'https://%'
		OR coalesce(max(t.value ->> '\$.expect.fired'), 0) = 0 OR coalesce(max(t.value ->> '\$.expect.status' = 'clear'), 0) = 0")" ''
done

behaviour 'a planted fault is the first finding, and its gain is the time that disappears with it'
make healthy
sound=$(step healthy)
advise healthy
expect_equal "$(ask "SELECT count(*) FROM f WHERE rule LIKE 'cluster.%'")" 0
while read -r rule repair plant; do
	# shellcheck disable=SC2086
	make planted $plant
	slow=$(step planted)
	advise planted
	expect_equal "$(ask 'SELECT rule, repair FROM f WHERE n = 0')" "$rule $repair"
	expect_equal "$(ask "SELECT abs(gain_ns - ($slow - $sound)) < 0.2 * ($slow - $sound) FROM f WHERE n = 0")" 1
	expect_equal "$(sqlite3 :memory: "SELECT readfile('$work/json') ->> '\$.total.gain_pct' <= 100")" 1
done <<'PLANTS'
cluster.straggler rank:5 --slow-rank 5:1.3
cluster.straggler rank:2 --host-gap 2:300
cluster.slow-link link:1-6 --slow-link 1-6:4
PLANTS

behaviour 'uneven experts, unequal stages and a leak are found'
make moe --schedule ep --expert-skew 1
advise moe --rule 'cluster.*'
expect_equal "$(ask "SELECT repair FROM f WHERE rule = 'cluster.expert-imbalance'")" experts
make stages --schedule pp --pp 4 --micro-batches 8 --slow-stage 2:1.6
advise stages --rule 'cluster.pipeline*'
expect_equal "$(ask "SELECT repair FROM f WHERE rule = 'cluster.pipeline-imbalance'")" stage:2
make leak --steps 5 --memory --leak 4:2000000
advise leak --rule 'memory.*'
expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'memory.growth'")" '[4]'

# findings <directory>: those of rules that the input fed in both forms
findings() {
	advise "$1"
	ask "SELECT rule, severity, ranks, message FROM f WHERE rule NOT IN
		(SELECT value FROM json_each('$(cat "$work/unfed")')) ORDER BY 1, 2, 3, 4"
}

behaviour 'text and databases of one run give the same findings'
for options in '--pmu --slow-rank 2:1.4' '--schedule 3d --host-gap 3:500' '--slow-link 1-2:4'; do
	for form in db text; do
		# shellcheck disable=SC2086
		make "$form" --steps 2 --format "$form" $options
		advise "$form"
		ask "SELECT id FROM r WHERE status = 'skipped'" >"$work/unfed-$form"
	done
	sort -u "$work/unfed-db" "$work/unfed-text" | sed 's/.*/"&"/' | paste -sd, | sed 's/.*/[&]/' >"$work/unfed"
	expect_equal "$(findings db)" "$(findings text)"
done

behaviour 'two runs are compared by kernel'
make before
make after --slow-rank 5:1.3
advise after --base "$work/before" --rule 'compare.kernels'
expect_equal "$(ask "SELECT ranks FROM f")" '[5]'
