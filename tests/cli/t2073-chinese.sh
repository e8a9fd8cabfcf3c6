#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Chinese: how it is chosen; help, complaints, comparisons, memory, rules, modes and the collector in it; files and JSON
# are the same in every language. The screens of ten situations in both languages are in t2071.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_chinese.sh"

cd "$work" || exit 1

# make <name> <synth options>...
make() {
	local name=$1

	shift
	"$synth" -q -o "$name" --no-instances --layers 4 --kernels-per-layer 4 --steps 4 --seed 1 "$@" || exit 1
}

behaviour 'a slow rank'
make slow-rank --ranks 8 --slow-rank 5:1.3
run "$npuprof" cluster --lang zh -d slow-rank
expect_exit 0
expect_stdout_says 'rank 5 拖慢了其他 rank（持续）：计算耗时更长'
cp stdout by-option

behaviour 'columns are aligned by display width: a Chinese character takes two'
expect_stdout_has '  源头    原因  每步可省  其他 rank 等待合计  占比  最后到达'
expect_stdout_has '  rank 5  计算   1.73 ms              104 ms  98 %     19/20  持续'

behaviour 'cn means zh; the locale says what is spoken, and the option goes before it'
run "$npuprof" cluster --lang=cn -d slow-rank
expect_stdout <by-option
LC_ALL=zh_CN.UTF-8 run "$npuprof" cluster -d slow-rank
expect_stdout <by-option
LC_ALL='' LC_MESSAGES='' LANG=zh_CN run "$npuprof" cluster -d slow-rank
expect_stdout <by-option
LC_ALL=zh_CN.UTF-8 run "$npuprof" cluster --lang en -d slow-rank
expect_stdout <"$NPUPROF_SOURCE/tests/cli/screens/slow-rank.txt"

behaviour 'it may stand before the command, and goes for everything'
run "$npuprof" --lang zh cluster -d slow-rank
expect_stdout <by-option
run "$npuprof" --lang=zh -d slow-rank
expect_stdout <by-option
run "$npuprof" --lang zh
expect_stdout_says '用法：npuprof'
run "$npuprof" --lang fr cluster -d slow-rank
expect_exit 2

behaviour 'the C locale speaks it as well: nothing of the system is asked'
LC_ALL=C run "$npuprof" cluster --lang zh -d slow-rank
expect_stdout <by-option

behaviour 'what programs read is the same in every language'
"$npuprof" cluster -q -d slow-rank -f json --lang en >en.json
"$npuprof" cluster -q -d slow-rank -f json --lang zh >zh.json
run cmp en.json zh.json
expect_exit 0
"$npuprof" cluster -q -d slow-rank -f csv --table np_wait --lang en >en.csv
"$npuprof" cluster -q -d slow-rank -f csv --table np_wait --lang zh >zh.csv
run cmp en.csv zh.csv
expect_exit 0

behaviour 'the advisor has the same verdict'
run "$npuprof" advisor -q -d slow-rank --lang zh
expect_stdout_says 'rank 5 拖慢了其他 rank（持续）：计算耗时更长'

behaviour 'whatif: sections, titles and sentences'
run "$npuprof" whatif --lang zh -q -d slow-rank
expect_exit 0
expect_stdout_says 'rank 5 拖慢了其他 rank（持续）：计算耗时更长'
expect_stdout_says '逐项修复'
expect_stdout_says '关键路径'
expect_stdout_says '各 rank、stage 和链路均衡时'
"$npuprof" whatif -q -d slow-rank -f json --lang en >en.json
"$npuprof" whatif -q -d slow-rank -f json --lang zh >zh.json
run cmp en.json zh.json
expect_exit 0

behaviour 'another language is refused'
run "$npuprof" cluster --lang fr -d slow-rank
expect_exit 2
expect_stderr_has "'fr' for '--lang' is not en, zh or cn"

behaviour 'findings for programs are in another language only if somebody asks for it'
run "$npuprof" advisor -q -d slow-rank -f json
cp stdout english.json
LC_ALL=zh_CN.UTF-8 run "$npuprof" advisor -q -d slow-rank -f json
expect 'the locale changes nothing' cmp stdout english.json
run "$npuprof" advisor -q -d slow-rank -f json --lang zh
expect 'the option does' test "$(sha256sum <stdout)" != "$(sha256sum <english.json)"

behaviour 'help of every command, and of all'
for name in '' $("$npuprof" -h | sed -nE 's/^  ([a-z]+)  .*/\1/p'); do
	# shellcheck disable=SC2086
	choices=$("$npuprof" help $name | tr -s '\n ' ' ' | grep -oE ': [a-z_0-9-]+(, [a-z_0-9-]+)* or [a-z_0-9-]+')
	# shellcheck disable=SC2086
	run "$npuprof" help $name --lang zh
	expect_exit 0
	# shellcheck disable=SC2086
	expect_chinese options ${choices//[:,]/} html
	expect 'it begins with how it is used' grep -q '^用法：npuprof' stdout
	expect "help $name is 100 columns wide at most" test "$(wc -L <stdout)" -le 100
	expect 'no line begins with what ends a bracket' test "$(grep -cE '^ *[])]' stdout)" = 0
	[[ -z $name ]] && continue
	mv stdout by-help
	run "$npuprof" "$name" -h --lang zh
	expect_stdout <by-help
done
run "$npuprof" help --lang zh
expect_stdout_says '采集：'
expect_stdout_says '退出状态：'

behaviour 'comparisons: a regression, no difference, a gate that trips, a damaged rank'
make healthy --ranks 8
make slow-link --ranks 8 --tp 8 --slow-link 2-3:6
cp -r slow-rank damaged
rm -rf damaged/cluster_analysis_output
database=$(echo damaged/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db)
truncate -s $(($(stat -c %s "$database") / 2)) "$database"
rm -f "${database%/*}/analysis.db"
run "$npuprof" compare --lang zh -q healthy slow-rank
expect_exit 0
expect_chinese healthy slow-rank
expect_stdout_says '劣化：step 由 6.99 ms 变为 8.70 ms，+1.71 ms（+24.5 %）'
expect_stdout_says '1. 只有 rank 5 变慢'
run "$npuprof" compare --lang zh -q healthy healthy
expect_exit 0
expect_chinese healthy
expect_stdout_says '无差异：两次运行的 step 均为 6.99 ms'
run "$npuprof" compare --lang zh -q healthy slow-link --fail-on 'step>2%,kernel:MatMul*>3%'
expect_exit 4
expect_chinese healthy slow-link
expect_stdout_has '  step>2%：未通过, +81.65 %, p = 3e-07'
expect_stdout_says '链路 2-3 变慢，原先不慢：3.2 GB/s，同类链路 19.2 GB/s'
run "$npuprof" compare --lang zh -q slow-link healthy --view kernel,communication,operator
expect_exit 0
expect_chinese healthy slow-link
run "$npuprof" compare --lang zh -q healthy damaged
expect_exit 3
expect_chinese healthy damaged
expect_stdout_says '已损坏或被截断；请重新导出该 rank'
"$npuprof" compare -q healthy slow-rank -f json --lang en >en.json
"$npuprof" compare -q healthy slow-rank -f json --lang zh >zh.json
expect 'the JSON of a comparison is the same' cmp en.json zh.json

behaviour 'what programs read of other commands is the same, too'
for words in 'info -f json' 'info -f csv --table ranks' 'whatif -f csv' 'cluster -f csv --table np_skipped'; do
	# shellcheck disable=SC2086
	"$npuprof" $words -q -d damaged --lang en >en.out
	# shellcheck disable=SC2086
	"$npuprof" $words -q -d damaged --lang zh >zh.out
	expect "the output of $words is the same" cmp en.out zh.out
done

behaviour 'modes and tables'
run "$npuprof" cluster --lang zh -q -d slow-rank -m slow_rank,slow_link,hccl_sum,ep_load_balance,compute_op_sum,freq_analysis
expect_chinese slow-rank
expect_stdout_says '未发现：没有异常的传输'
run "$npuprof" timeline --lang zh -d slow-rank
expect 'stderr says so' grep -qF '8 个 rank 中的 8 个' stderr

behaviour 'rules'
run "$npuprof" rules list --lang zh
expect_chinese
run "$npuprof" rules check --lang zh
expect_stdout_says '条规则，0 处错误'
run "$npuprof" rules show cluster.straggler --lang zh
expect_stdout_says '触发条件'

behaviour 'what is wrong with a command line'
wrong_lines=("clustr" "cluster --rank 3" "cluster -f xml -d ." "cluster -j 0 -d ." "cluster" "cluster -d nosuch" "cluster -d empty"
	"cluster --ranks 9-3 -d slow-rank" "cluster --steps 99 -d slow-rank" "whatif --fix rank:99 -d slow-rank"
	"whatif --fix rnk:3 -d slow-rank" "compare healthy" "compare a b" "compare healthy slow-rank --fail-on stp>2%"
	"rules show x.y" "rules foo" "advisor --rule zz -d slow-rank" "memory" "memory healthy" "memory --with x healthy"
	"timeline --slice --whole -d healthy" "timeline -o x.txt -d healthy" "report -d healthy -o /nosuch/x.html"
	"export --msprof nosuch healthy" "export" "ctl start" "ctl foo" "collect" "cluster --table nope -d healthy"
	"cluster -m nope -d healthy" "cluster --max-memory x -d healthy" "cluster --phase x -d healthy" "info --table foo healthy"
	"help nope" "completion tcsh" "advisor --fail-on x -d healthy" "info --skip-steps 9 healthy" "compare --map-ranks x healthy slow-rank")
mkdir empty
for words in "${wrong_lines[@]}"; do
	# shellcheck disable=SC2086
	run "$npuprof" $words --lang zh
	expect "npuprof $words is refused" test "$status" -ge 1 -a "$status" -le 2
	expect_chinese
	expect "it says why: $words" grep -qP '[\x{4e00}-\x{9fff}]' stderr
done

behaviour 'memory: peaks, what fills and what grows, other settings'
if command -v python3 >/dev/null; then
	python3 - <<'PYTHON'
import pickle
MiB, base, events, blocks = 1 << 20, 0x100000000000, [], []
frames = [{"name": "step", "filename": "/home/u/train.py", "line": 7}]
for i in range(4):
    kept, brief = base + 64 * i * MiB, base + (64 * i + 32) * MiB
    for address, size in ((kept, 10 * MiB), (brief, 12 * MiB)):
        for action, length in (("segment_alloc", 20 * MiB), ("alloc", size)):
            events.append({"action": action, "addr": address, "size": length, "stream": 5, "frames": frames})
    for action in ("free_requested", "free_completed"):
        events.append({"action": action, "addr": brief, "size": 12 * MiB, "stream": 5, "frames": frames})
    used = {"address": kept, "size": 10 * MiB, "requested_size": 10 * MiB, "state": "active_allocated", "frames": frames}
    rest = {"address": kept + 10 * MiB, "size": 10 * MiB, "requested_size": 0, "state": "inactive", "frames": []}
    whole = {"address": brief, "size": 20 * MiB, "requested_size": 0, "state": "inactive", "frames": []}
    for address, parts in ((kept, [used, rest]), (brief, [whole])):
        blocks.append({"device": 0, "address": address, "total_size": 20 * MiB, "stream": 5, "segment_type": "large",
                       "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": parts})
for rank in (0, 1):
    with open("snapshot_%d.pickle" % rank, "wb") as stream:
        pickle.dump({"segments": blocks, "device_traces": [events]}, stream, 4)
PYTHON
	run "$npuprof" memory --lang zh snapshot_0.pickle
	expect_exit 0
	expect_chinese
	expect_stdout_says '已分配峰值'
	run "$npuprof" memory --lang zh --sweep snapshot_0.pickle snapshot_1.pickle
	expect_exit 0
	expect_chinese
	head -c 200 snapshot_0.pickle >cut.pickle
	run "$npuprof" memory --lang zh cut.pickle
	expect_exit 1
	expect_chinese
	expect 'stderr says so' grep -qF '被截断' stderr
fi
