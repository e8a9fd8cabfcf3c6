#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first screens in Chinese: the words of the field, nothing untranslated, aligned by display width; files and JSON
# are the same in every language.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

cd "$work" || exit 1

# make <name> <synth options>...
make() {
	local name=$1

	shift
	"$synth" -q -o "$name" --no-instances --layers 4 --kernels-per-layer 4 --steps 4 --seed 1 "$@" || exit 1
}

# English words that Chinese engineers write as well: names, units, what is pasted, what the files call things.
allowed='rank|step|shape|token|plane|tp|dp|pp|ep|cp|default_group|HCCS|RDMA|PCIE|GB|s|ms|us|ns|MB|p90|MindStudio|Insight'
allowed+='|AI|Core|link|host[0-9]*|stage|between|w|m|c|f|json|csv|table|np_comm_step|np_skipped'
allowed+='|cube|vector|scalar|mte[123]|fixpipe|ranks'

# untranslated: words of stdout that are neither allowed nor part of a command line, a path or an operator's name
untranslated() {
	sed -E -e '/： +(npuprof|mpirun) /d' -e '/MindStudio Insight:/d' -e '/^ +\[/d' -e '1d' \
		-e "s/'?[^ ]*\/[^ ]*\.db'?//g" -e 's/\((two-of-eight|damaged)\)//g' stdout |
		grep -oE '[A-Za-z_][A-Za-z_0-9]*' | grep -vxE "$allowed" |
		grep -vE '^(Flash|MatMul|SwiGlu|ApplyAdam|CrossEntropy|RmsNorm|Add|Mul|Cast|Score|ScoreGrad)|^[A-Z][a-z]+[A-Z]' | sort -u
}

# speaks <name> <status>
speaks() {
	run "$npuprof" cluster --lang zh -d "$1"
	expect_exit "$2"
	expect_no_stderr
	expect_equal "$(untranslated)" ''
	expect "$1 takes 40 lines at most" test "$(wc -l <stdout)" -le 40
	expect "$1 is 100 columns wide at most" test "$(wc -L <stdout)" -le 100
	expect_equal "$(sed -n 3p stdout)" 结论
	expect 'no number is parted from its unit' test "$(grep -cE '^ *(ns|us|ms|s|%|MB|GB/s|个)([ ,;.)，；）]|$)' stdout)" = 0
	expect 'no line begins with what ends a sentence' test "$(grep -cE '^ *(，|；|。|）|、|：)' stdout)" = 0
}

behaviour 'a slow rank'
make slow-rank --ranks 8 --slow-rank 5:1.3
speaks slow-rank 0
expect_stdout_says 'rank 5 拖慢了其他 rank（持续）：计算更久'
cp stdout by-option

behaviour 'columns are aligned by display width: a Chinese character takes two'
expect_stdout_has '  根因    原因  每步可省  他人等待合计   占比  最后到达'
expect_stdout_has '  rank 5  计算   1.73 ms        104 ms   98 %     19/20  持续'

behaviour 'cn means zh; the locale says what is spoken, and the option goes before it'
run "$npuprof" cluster --lang=cn -d slow-rank
expect_stdout <by-option
LC_ALL=zh_CN.UTF-8 run "$npuprof" cluster -d slow-rank
expect_stdout <by-option
LC_ALL='' LC_MESSAGES='' LANG=zh_CN run "$npuprof" cluster -d slow-rank
expect_stdout <by-option
LC_ALL=zh_CN.UTF-8 run "$npuprof" cluster --lang en -d slow-rank
expect_stdout <"$NPUPROF_SOURCE/tests/cli/screens/slow-rank.txt"

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
expect_stdout_says 'rank 5 拖慢了其他 rank（持续）：计算更久'

behaviour 'whatif: sections, titles and sentences'
run "$npuprof" whatif --lang zh -q -d slow-rank
expect_exit 0
expect_stdout_says 'rank 5 拖慢了其他 rank（持续）：计算更久'
expect_stdout_says '逐项修复'
expect_stdout_says '关键路径'
expect_stdout_says '各 rank、流水级和链路均衡时'
"$npuprof" whatif -q -d slow-rank -f json --lang en >en.json
"$npuprof" whatif -q -d slow-rank -f json --lang zh >zh.json
run cmp en.json zh.json
expect_exit 0

behaviour 'another language is refused'
run "$npuprof" cluster --lang fr -d slow-rank
expect_exit 2
expect_stderr_has "'fr' for '--lang' is not en, zh or cn"

behaviour 'two slow ranks'
make two-slow-ranks --ranks 8 --slow-rank 2:1.3 --slow-rank 5:1.3
speaks two-slow-ranks 0

behaviour 'a slow link'
make slow-link --ranks 8 --tp 8 --slow-link 2-3:6
speaks slow-link 0

behaviour 'a slow host'
make slow-host --ranks 8 --hosts 2 --slow-rank 4:1.3 --slow-rank 5:1.3 --slow-rank 6:1.3 --slow-rank 7:1.3
speaks slow-host 0

behaviour 'a pipeline'
make pipeline --ranks 8 --pp 4 --slow-stage 2:1.4
speaks pipeline 0

behaviour 'a data loader'
make loader --ranks 8 --dataloader all:8000
speaks loader 0

behaviour 'a healthy run'
make healthy --ranks 8
speaks healthy 0

behaviour 'two of eight ranks'
make two-of-eight --ranks 8 --slow-rank 5:1.3 --omit-ranks 2-7
speaks two-of-eight 0

behaviour 'a single card'
make single-card --ranks 1 --pmu
speaks single-card 0

behaviour 'a damaged rank'
make damaged --ranks 8 --slow-rank 5:1.3
database=$(echo damaged/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db)
truncate -s $(($(stat -c %s "$database") / 2)) "$database"
rm -f "${database%/*}/analysis.db"
speaks damaged 3

behaviour 'findings for programs are in another language only if somebody asks for it'
run "$npuprof" advisor -q -d damaged -f json
cp stdout english.json
LC_ALL=zh_CN.UTF-8 run "$npuprof" advisor -q -d damaged -f json
expect 'the locale changes nothing' cmp stdout english.json
run "$npuprof" advisor -q -d damaged -f json --lang zh
expect 'the option does' test "$(sha256sum <stdout)" != "$(sha256sum <english.json)"
