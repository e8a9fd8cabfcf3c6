#!/usr/bin/env bash
# What the rule packs find in recorded profiles, and what they must not.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3
need_shared data/resnet-2of8
need_shared data/llm-pp2dp2

# ask <SQL>: of the rows f (findings, in order) and r (rules)
ask() {
	sqlite3 -separator ' ' :memory: "CREATE TABLE f AS SELECT key AS n, value ->> 'rule' AS rule, value ->> 'severity' AS severity,
			value ->> 'gain_ns' AS gain_ns, value ->> 'gain_least_ns' AS least_ns, value ->> 'gain_withheld_ns' AS withheld_ns, value ->> 'shown_rank' AS shown_rank, value ->> 'gain_pct' AS gain_pct, value ->> 'gain_bound' AS gain_bound, value ->> 'repair' AS repair, value -> 'ranks' AS ranks,
			value ->> 'cause' AS cause, value ->> 'symptom_of' AS symptom_of, value ->> 'fingerprint' AS fingerprint, value ->> 'message' AS message, value -> 'evidence' AS evidence FROM json_each(readfile('$work/json'), '\$.findings');
		CREATE TABLE r AS SELECT value ->> 'id' AS id, value ->> 'status' AS status, value ->> 'reason' AS reason
			FROM json_each(readfile('$work/json'), '\$.rules'); $1"
}

# recorded <directory>: the findings on a recorded profile, in $work/json
recorded() {
	run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/$1" -f json
	expect_exit 0
	cp "$work/stdout" "$work/json"
}

# names <rule>: variables in the evidence of env.variables
names() {
	ask "SELECT DISTINCT e.value ->> 1 FROM f, json_each(f.evidence, '\$.rows') AS e WHERE rule = 'env.variables' ORDER BY 1" | paste -sd' '
}

behaviour 'recorded resnet profiles: what is right, at each level and in both forms'
for run in text/level0 text/level1 db/level0 db/level1; do
	recorded "resnet-2of8/$run"
	expect_equal "$(names)" 'ACLNN_CACHE_LIMIT HOST_CACHE_CAPACITY PYTORCH_NPU_ALLOC_CONF'
	expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'env.variables'")" '[0,1]'
	expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'host.affinity-optimizer' AND message LIKE '%NpuFusedSGD%'")" '[0,1]'
	expect_equal "$(ask "SELECT severity FROM f WHERE rule = 'comm.exposed'")" medium
	expect_equal "$(ask "SELECT severity FROM f WHERE rule = 'comm.wait' AND message LIKE '%for ranks that were not profiled%'")" high
	expect_equal "$(ask "SELECT count(*) FROM r WHERE status = 'error'")" 0
	# Waiting for ranks that were not profiled is no gain, and what follows from it a symptom.
	expect_equal "$(ask "SELECT coalesce(gain_ns, 'none'), cause FROM f WHERE rule = 'comm.wait'")" 'none not-profiled'
	expect_equal "$(ask "SELECT s.rule FROM f AS s JOIN f AS h ON h.fingerprint = s.symptom_of WHERE h.rule = 'comm.wait' AND s.rule = 'comm.exposed'")" comm.exposed
	run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/resnet-2of8/$run"
	expect_stdout_has 'host.affinity-optimizer' 'torch_npu.optim.NpuFusedSGD in /' 'export ACLNN_CACHE_LIMIT=100000' 'Profile all ranks of'
	expect_equal "$(ask "SELECT count(*) FROM f WHERE rule IN ('cluster.straggler', 'cluster.slow-link', 'cluster.rank-bandwidth', 'comm.small-packets')")" 0
done

behaviour 'recorded resnet profiles: what needs Level1, calls or the state of operators'
recorded resnet-2of8/text/level1
expect_equal "$(ask "SELECT ranks, message LIKE '2 operators%' FROM f WHERE rule = 'comm.byte-alignment'")" '[0,1] 1'
expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'compute.vector'")" '[0,1]'
expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'compute.dynamic-shape'")" '[0,1]'
expect_equal "$(ask "SELECT e.value ->> 2, round((e.value ->> 3) / 1e6, 1) FROM f, json_each(f.evidence, '\$.rows') AS e WHERE rule = 'host.compile'")" '19 14.0
19 14.6'
recorded resnet-2of8/db/level1
# Most waiting is for the six ranks that were not profiled: who is earlier waits longer for them.
expect_equal "$(ask "SELECT DISTINCT gain_bound, coalesce(gain_ns, 'none'), round(withheld_ns / 1e6, 1), severity FROM f WHERE rule IN ('host.bound', 'host.compile') ORDER BY rule")" \
	'upper none 20.5 medium
upper none 5.8 medium'
# As the profiler says in StepTraceTime: first kernel to the end of the last. With the copies before it, it is 137.919 ms.
expect_equal "$(ask "SELECT group_concat(round((e.value ->> 3) / 1e6, 3), ' ') FROM f, json_each(f.evidence, '\$.rows') AS e WHERE rule = 'overall.breakdown' AND e.value ->> 0 = 0 AND e.value ->> 1 NOT LIKE '  %'")" \
	'8.903 98.072 25.258 132.234'
expect_equal "$(ask "SELECT ranks, message LIKE '2 operators%' FROM f WHERE rule = 'comm.byte-alignment'")" '[0,1] 1'
expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'compute.vector'")" '[0,1]'
expect_equal "$(ask "SELECT status FROM r WHERE id = 'compute.dynamic-shape'")" skipped
expect_equal "$(ask "SELECT severity, e.value ->> 2, round((e.value ->> 3) / 1e6, 1) FROM f, json_each(f.evidence, '\$.rows') AS e WHERE rule = 'host.compile'")" 'medium 19 27.6
medium 19 14.2'
recorded resnet-2of8/db/level0
expect_equal "$(ask "SELECT round((e.value ->> 3) / 1e6, 1) FROM f, json_each(f.evidence, '\$.rows') AS e WHERE rule = 'host.compile'")" '9.5
9.3'
expect_equal "$(ask "SELECT status FROM r WHERE id = 'compute.dynamic-shape'")" skipped
recorded resnet-2of8/text/level0
expect_equal "$(ask "SELECT id, status FROM r WHERE id IN ('compute.dynamic-shape', 'host.compile') ORDER BY 1")" 'compute.dynamic-shape skipped
host.compile skipped'

behaviour 'recorded language model: small packets without totals, kernels, stages that wait; no false alarm on dimensions'
recorded llm-pp2dp2
expect_equal "$(names)" 'ACLNN_CACHE_LIMIT HOST_CACHE_CAPACITY'
expect_equal "$(ask "SELECT ranks FROM f WHERE rule = 'comm.small-packets'")" '[0,1,2,3]'
for rank in '0 3 of 8' '1 6 of 11' '2 9 of 14' '3 11 of 16'; do
	run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/llm-pp2dp2" --ranks "${rank%% *}" --rule comm.small-packets -f json
	expect_stdout_has "${rank#* } operators over SDMA are small"
done
expect_equal "$(ask "SELECT group_concat(rule, ' ') FROM (SELECT DISTINCT rule FROM f WHERE rule IN
	('compute.cube', 'compute.vector', 'compute.dynamic-shape', 'cluster.pipeline-bubble') ORDER BY 1)")" \
	'cluster.pipeline-bubble compute.cube compute.dynamic-shape compute.vector'
expect_equal "$(ask "SELECT count(*) FROM f WHERE rule = 'compute.flash-attention' AND message LIKE '%dimensions%'")" 0
expect_equal "$(ask "SELECT count(*) FROM f WHERE rule IN ('cluster.uneven-ranks', 'cluster.slow-link', 'cluster.rank-bandwidth')")" 0
expect_equal "$(ask "SELECT group_concat(rule, ' ') FROM (SELECT DISTINCT rule FROM f WHERE rule IN
	('compute.top-kernels', 'host.fusible-operators', 'compute.flash-attention', 'cluster.pipeline-imbalance', 'comm.wait') ORDER BY 1)")" \
	'cluster.pipeline-imbalance comm.wait compute.flash-attention compute.top-kernels host.fusible-operators'
# A stage waits for the other: that is the pipeline, with the bubble at its head.
expect_equal "$(ask "SELECT DISTINCT cause FROM f WHERE rule IN ('cluster.pipeline-bubble', 'cluster.pipeline-imbalance') OR (rule = 'comm.wait' AND message LIKE '% in pp %')")" pipeline
expect_equal "$(ask "SELECT count(*) FROM f WHERE gain_pct > 100 OR gain_ns < 0")" 0
expect_equal "$(ask "SELECT severity FROM f WHERE rule = 'compute.dynamic-shape'")" info
# Of two ranks the one that loses most: its vocabulary is no multiple of 256. Figures worked out from kernel_details.csv.
expect_equal "$(ask "SELECT rule, shown_rank, round(least_ns / 1e6, 1), round(gain_ns / 1e6, 1) FROM f WHERE rule IN ('compute.cube', 'compute.vector', 'compute.no-bound') ORDER BY 1")" \
	'compute.cube 2 1.3 21.0
compute.no-bound 2 15.6 34.3
compute.vector 2 0.9 1.0'
# Stages wait (312.1 + 71.0) / 2 ms, balanced ones would 130.3: no more than the difference can be had. What begins where the
# last message ends is not the pipeline's.
expect_equal "$(ask "SELECT round(gain_ns / 1e6, 1) FROM f WHERE rule = 'cluster.pipeline-bubble'")" 61.3
expect_equal "$(ask "SELECT message LIKE '%for rank 1 (kept waiting in pp).' FROM f WHERE rule = 'comm.wait' AND message LIKE '% in embd %'")" 1
run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/llm-pp2dp2"
expect_stdout_has 'RmsNorm → MatMulV3' 'TFLOP/s' '151936 → 152064' 'of: rank 2, which loses most (21.0 ms); least: rank 0, 1.29 ms' \
	'is one fused operator already'

behaviour 'one rank against another: two runs of one rank each are compared, whatever their numbers'
text=$NPUPROF_SHARED/data/resnet-2of8/text/level1
run "$npuprof" advisor -q -d "$text/rank0_ascend_pt" -bp "$text/rank1_ascend_pt" -o bp -f json
cp "$work/stdout" "$work/json"
expect_equal "$(ask "SELECT id, status FROM r WHERE id IN ('compare.apis', 'compare.kernels') ORDER BY 1")" 'compare.apis fired
compare.kernels clear'
expect_equal "$(ask "SELECT e.value ->> 1, round((e.value ->> 7) / 1e6, 2) FROM f, json_each(f.evidence, '\$.rows') AS e WHERE rule = 'compare.apis'")" 'aten::item 5.89'

behaviour 'severity is that of the gain on every recorded profile, and every finding has an address to read'
for run in resnet-2of8/text/level0 resnet-2of8/text/level1 resnet-2of8/db/level0 resnet-2of8/db/level1 llm-pp2dp2; do
	recorded "$run"
	expect_equal "$(ask "SELECT rule, severity, gain_pct FROM f WHERE gain_pct IS NOT NULL AND severity <> CASE WHEN gain_pct >= 5 THEN 'high' WHEN gain_pct >= 1 THEN 'medium' ELSE 'low' END")" ''
	expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/json'), '\$.findings') WHERE coalesce(value ->> '\$.docs[0]', '') NOT LIKE 'https://%'")" 0
done

behaviour 'a table that covers a hundredth of another heads the report'
if [[ -d $NPUPROF_SHARED/data/helix ]]; then
	run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/helix/msprof-tables" -f json
	cp "$work/stdout" "$work/json"
	expect_equal "$(ask 'SELECT rule, severity FROM f WHERE n = 0')" 'profile.contradiction high'
	# Nine kernels in 172 ms without steps: that is starting up.
	run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/helix/msprof" -f json
	cp "$work/stdout" "$work/json"
	expect_equal "$(ask "SELECT severity, coalesce(gain_ns, 'none') FROM f WHERE rule = 'host.bound'")" 'low none'
	expect_stdout_has 'No steps are marked'
	run "$npuprof" advisor -q -d "$NPUPROF_SHARED/data/helix/standalone" -f json
	cp "$work/stdout" "$work/json"
	expect_equal "$(ask "SELECT message LIKE '%matmul_kernel 23 \%%' ESCAPE '\' FROM f WHERE rule = 'compute.top-kernels'")" 1
	expect_equal "$(sqlite3 :memory: "SELECT count(*) FROM json_each(readfile('$work/json'), '\$.findings') AS f, json_each(f.value, '\$.advice') AS a WHERE a.value LIKE 'Communication costs 0%'")" 0
fi
