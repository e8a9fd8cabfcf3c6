#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first screen of ten situations, word for word: who has ten minutes and knows nothing but the screen must find
# culprit, cost and next action in it. tests/cli/screens/ has the screens; NPUPROF_UPDATE=1 writes them anew, to be read.
# The same runs show that all commands say everything in Chinese, too, and screens/*.zh.txt two screens of it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_chinese.sh"

screens=$NPUPROF_SOURCE/tests/cli/screens
cd "$work" || exit 1

# make <name> <synth options>...
make() {
	local name=$1

	shift
	"$synth" -q -o "$name" --no-instances --layers 4 --kernels-per-layer 4 --steps 4 --seed 1 "$@" || exit 1
}

# shows <name> <status>: the screen is the one that is kept, within 40 lines and 100 columns
shows() {
	run "$npuprof" cluster -d "$1"
	expect_exit "$2"
	expect_no_stderr
	[[ -z ${NPUPROF_UPDATE:-} ]] || cp stdout "$screens/$1.txt"
	expect_stdout <"$screens/$1.txt"
	expect "$1 takes 40 lines at most" test "$(wc -l <stdout)" -le 40
	expect "$1 is 100 columns wide at most" test "$(wc -L <stdout)" -le 100
	expect 'the verdict comes first' test "$(sed -n 3p stdout)" = Verdict
	expect 'no waiting is counted in two rows' test "$(sed -n '/^Who made/,/^ *all waiting/p' stdout | grep -E ' (rank|stage|host|ranks|nobody)' |
		grep -oE '[0-9.]+ %' | awk '{ sum += $1 } END { print sum <= 101 }')" != 0
	expect 'no number is parted from its unit' test "$(grep -cE '^ *(ns|us|ms|s|%|MB|GB/s)([ ,;.)]|$)' stdout)" = 0
	speaks "$@"
}

# speaks <name> <status>: every command about the run, in Chinese
speaks() {
	local name=$1 screen=$screens/$1.zh.txt

	run "$npuprof" cluster --lang zh -d "$name"
	expect_exit "$2"
	expect_no_stderr
	expect_chinese "$name"
	expect "$name takes 40 lines at most" test "$(wc -l <stdout)" -le 40
	expect "$name is 100 columns wide at most" test "$(wc -L <stdout)" -le 100
	expect_equal "$(sed -n 3p stdout)" 结论
	if [[ -e $screen ]]; then
		[[ -z ${NPUPROF_UPDATE:-} ]] || cp stdout "$screen"
		expect_stdout <"$screen"
	fi
	for words in 'cluster -v' 'info' 'info -v' 'whatif' 'advisor' 'advisor -v' 'timeline' 'report'; do
		# shellcheck disable=SC2086
		run "$npuprof" $words --lang zh -d "$name"
		# Nobody waits on a single card: there is nothing to replay, and it says so.
		if [[ $words$name == whatifsingle-card ]]; then expect_exit 1; else expect_exit "$2"; fi
		expect_chinese "$name" html
		expect "$words is 100 columns wide at most" test "$(grep -v 'https://\|/ASCEND_PROFILER_OUTPUT/' stdout | wc -L)" -le 100
	done
}

behaviour 'a slow rank'
make slow-rank --ranks 8 --slow-rank 5:1.3
shows slow-rank 0

behaviour 'two slow ranks, each of which hides the other'
make two-slow-ranks --ranks 8 --slow-rank 2:1.3 --slow-rank 5:1.3
shows two-slow-ranks 0

behaviour 'a slow link'
make slow-link --ranks 8 --tp 8 --slow-link 2-3:6
shows slow-link 0

behaviour 'a slow host'
make slow-host --ranks 8 --hosts 2 --slow-rank 4:1.3 --slow-rank 5:1.3 --slow-rank 6:1.3 --slow-rank 7:1.3
shows slow-host 0

behaviour 'a pipeline with a stage that takes longer'
make pipeline --ranks 8 --pp 4 --slow-stage 2:1.4
shows pipeline 0

behaviour 'a data loader that is too slow'
make loader --ranks 8 --dataloader all:8000
shows loader 0

behaviour 'a healthy run'
make healthy --ranks 8
shows healthy 0

behaviour 'two of eight ranks were profiled'
make two-of-eight --ranks 8 --slow-rank 5:1.3 --omit-ranks 2-7
shows two-of-eight 0

behaviour 'a single card'
make single-card --ranks 1 --pmu
shows single-card 0

behaviour 'a damaged rank'
make damaged --ranks 8 --slow-rank 5:1.3
database=$(echo damaged/*/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_3.db)
truncate -s $(($(stat -c %s "$database") / 2)) "$database"
rm -f "${database%/*}/analysis.db"
shows damaged 3

behaviour 'every column of these screens is explained in the glossary'
titles=$(for each in slow-rank pipeline two-of-eight; do
	grep -A 1 -E '^(Who made|Communicators)' "$screens/$each.txt" | grep '^  ' | sed 's/^  *//; s/   */\n/g'
done | grep -vxE 'why|ranks|communicator|--' | sort -u)
expect 'there are columns' test "$(wc -l <<<"$titles")" -ge 10
while read -r title; do
	expect "'$title' is explained" grep -qF "$title" "$NPUPROF_SOURCE/doc/glossary.md"
done <<<"$titles"

behaviour 'a run of many ranks: 55 lines at most'
"$synth" -q -o many --no-instances --ranks 128 --tp 4 --pp 4 --layers 4 --kernels-per-layer 4 --micro-batches 4 --steps 2 --no-analysis \
	--slow-rank 77:3 || exit 1
run "$npuprof" cluster -q -d many
expect_exit 0
expect 'the screen takes 55 lines at most' test "$(wc -l <stdout)" -le 55
expect 'it is 100 columns wide at most' test "$(wc -L <stdout)" -le 100
expect_stdout_says 'rank 77 makes the others wait'
expect 'the rank has its row' grep -q '^  rank 77 ' stdout
