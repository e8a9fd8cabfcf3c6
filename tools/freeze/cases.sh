#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# List the cases of tools/freeze.sh: a name that is a path, a tab, and a command for bash. It runs in an empty
# directory beside "in", the inputs, and "shared", the recorded profiles; see freeze/case.sh.
#
#	cases.sh INPUTS SHARED
# shellcheck disable=SC2016 # commands are written out, not run
set -eu

inputs=$1 shared=$2
modes=$(cat "$inputs/modes")
all_modes=all,$(echo "$modes" | tr '\n' ',' | sed 's/,$//')

# one <name> <command>
one() {
	printf '%s\t%s\n' "$1" "$2"
}

# runs: names of all inputs that are runs, sound or not
runs() {
	for dir in "$inputs"/*/; do
		dir=$(basename "$dir")
		case $dir in
		job* | gpu | rules | gates | elsewhere* | nothing | not-a-run) ;;
		*) echo "$dir" ;;
		esac
	done
}

# --- the front door: help, completion, wrong usage --------------------------------------------------

one help/none 'npuprof'
one help/version 'npuprof -V; npuprof --version; npuprof-synth -V; npuprof-collect -V'
one help/synth 'npuprof-synth --help'
one help/collect 'npuprof-collect --help; npuprof collect --help'
one help/msprof 'msprof --help'
for command in '' cluster whatif advisor compare info export rules ctl collect completion help; do
	one "help/long${command:+-$command}" "npuprof $command --help"
	one "help/short${command:+-$command}" "npuprof $command -h"
	one "help/help${command:+-$command}" "npuprof help $command"
	one "usage/unknown${command:+-$command}" "npuprof $command --no-such-option"
	one "usage/version${command:+-$command}" "npuprof $command -V"
done
for command in cluster whatif advisor info; do
	one "usage/$command-nowhere" "npuprof $command nowhere"
	one "usage/$command-file" "npuprof $command in/gpu/one.json"
	one "usage/$command-nothing" "npuprof $command in/nothing"
	one "usage/$command-not-a-run" "npuprof $command in/not-a-run"
	one "usage/$command-no-arguments" "npuprof $command"
	one "usage/$command-no-value" "npuprof $command in/db --ranks"
	one "usage/$command-ranks" "for ranks in 9 x 1-x 3-1 '' 1,,2 -1 0-99999999999; do npuprof $command in/db -o out --ranks \"\$ranks\"; echo \$?; done"
	one "usage/$command-steps" "for steps in 99 x 1-x 11-10 ''; do npuprof $command in/db -o out --steps \"\$steps\"; echo \$?; done"
	one "usage/$command-format" "for format in xml sarif tabel ''; do npuprof $command in/db -o out -f \"\$format\" >shown; echo \$?; head -n 3 shown; done; rm -f shown"
	one "usage/$command-jobs" "for jobs in 0 -1 x 9999999; do npuprof $command in/db -o out -j \"\$jobs\" -f json >shown; echo \$?; head -n 3 shown; done; rm -f shown"
	one "usage/$command-memory" "for size in 0 -1 many 5X 99999999999T ''; do npuprof $command in/db -o out --max-memory=\"\$size\" -f json >shown; echo \$?; head -n 3 shown; done; rm -f shown"
	one "usage/$command-output" "touch file; npuprof $command in/db -o file/below -f csv; echo \$?; npuprof $command in/db -o file -f csv"
	one "usage/$command-no-summaries" "npuprof $command --from-summaries in/nothing; npuprof $command --from-summaries in/db"
	one "usage/$command-pick" "npuprof $command in/db -o out --pick nowhere"
	one "usage/$command-twice" "npuprof $command in/db in/db -o out -f json"
done
one usage/command 'npuprof clutser; echo $?; npuprof cluster --rnaks 1; echo $?; npuprof whatif --fxi x; echo $?; npuprof help clutser'
one usage/mode 'for mode in "" slow_rnak all,x , slow_rank,,hccl_sum; do npuprof cluster in/db -o out -m "$mode"; echo $?; done'
one usage/rank-id 'for rank in 9 x -1; do npuprof cluster in/db -o out -m communication_bottleneck --rank-id $rank; echo $?; done'
one usage/top-num 'for n in 0 -1 x 99999999999; do npuprof cluster in/db -o out -m slow_rank,free_analysis --top-num $n >shown; echo $?; head -n 5 shown; done; rm -f shown'
one usage/table 'npuprof cluster in/db -o out -f csv --table nothing; echo $?; cp -a in/db c; npuprof cluster c --table nothing -f csv; echo $?; rm -rf c/*_ascend_pt; npuprof compare in/db in/db -f csv --table nothing; echo $?; npuprof info in/db -f csv --table nothing'
one usage/export-form 'npuprof cluster in/db -o out --export xml'
one usage/parallel-types 'npuprof cluster in/db -o out -m computational_op_masking --parallel-types +,x'
one usage/fix 'for fix in rnak:5 rank:99 rank:x host:nowhere stage:7 role:none optype:None group:none link:0-99 link:x link:0-0 link: experts hide-com "" rank; do npuprof whatif in/db --fix "$fix"; echo $?; done'
one usage/top 'for k in 0 -1 x 99; do npuprof whatif in/db --top $k; echo $?; done; npuprof whatif in/db --hosts'
one usage/fail-on 'for gate in x gain= gain=x gain=-1 hihg; do npuprof advisor in/db --fail-on "$gate"; echo $?; done; for gate in x "step>" "step>x%" "step<2%" "comm>5" "kernel:>3%"; do npuprof compare in/db in/db --fail-on "$gate"; echo $?; done'
one usage/compare 'npuprof compare; npuprof compare in/db; npuprof compare in/db in/db in/db; npuprof compare in/db nowhere; npuprof compare in/db in/nothing; npuprof compare in/db in/not-a-run; npuprof compare in/db in/not-a-run/readme.txt'
one usage/compare-options 'for option in --view=x --min-ms=x --min-pct=-1 --top=x --map-ranks=0:9 --map-ranks=0-9 --base-steps=99 --ranks=77 --xlsx=no/where.xlsx; do npuprof compare in/db in/db "$option" >shown; echo $?; head -n 3 shown; done; rm -f shown'
one usage/advisor-options 'for option in --rule=nobody --dimension=nobody --rules=nobody.json --set=x --set=comm.exposed.none=1 --set=nobody.x=1 --explain=cluster.stragler --base=nowhere --graph=nowhere --baseline=nowhere --suppress=nowhere --lang=de; do npuprof advisor in/db "$option"; echo $?; done'
one usage/rules 'npuprof rules; npuprof rules lits; npuprof rules show; npuprof rules show nobody; npuprof rules check nobody.json; npuprof rules list nobody; npuprof rules test nobody.json'
one usage/completion 'npuprof completion; npuprof completion tcsh; npuprof completion bash zsh'
one usage/ctl 'npuprof ctl; npuprof ctl restart; npuprof ctl status; npuprof ctl status -d nowhere; npuprof ctl start -d in/nothing; npuprof ctl stop -d in/job; npuprof ctl start --steps x; npuprof ctl start --level 7; npuprof ctl start --ranks x -d in/job; npuprof ctl status --steps 3 -d in/job'
one usage/export 'npuprof export; npuprof export nowhere; npuprof export in/nothing; npuprof export --type xml in/job; npuprof export --ranks 77 in/job; npuprof export --timeout 0 in/job; npuprof export in/db'
one usage/synth 'npuprof-synth; for option in "--format tex" "--formt text" "--format-of 9:text" "--slices 0" "--ranks 0" "--level 3" "--schema 2" "--slow-rank 9:2" "--slow-rank x" "--slow-link 1-1:2" "--clock-skew x" "--leak 1:5" "--tp 3 --ranks 4" "--ep 3" "--noise -1" "--omit-ranks 0-7"; do npuprof-synth -o c --steps 1 --layers 1 --kernels-per-layer 2 $option; echo $?; rm -rf c; done'
one collect/options 'for option in "" "--ranks x -- true" "--step-start -5 -- true" "--level 9 -- true" "--preset x -- true" "--config nowhere -- true" "--step-source x -- true" "--step-mstx ( -- true" "--backend x -- true" "--coord x -- true" "--rdzv x -- true" "--export x -- true" "--aic-metrics x -- true" "--max-size x -- true" "--grace x -- true" "--"; do npuprof-collect $option; echo $?; done'
one collect/no-npu 'npuprof-collect --dry-run -o prof --job j -- true'
one collect/plan 'LD_LIBRARY_PATH=$build/npusim npuprof-collect --dry-run -o prof --job j --step-start 4 --step-end 9 --export after -- true'
for shell in bash zsh fish; do
	one "completion/$shell" "npuprof completion $shell"
done
one synth/said 'npuprof-synth -o c --ranks 2 --steps 1 --layers 1 --kernels-per-layer 2 --seed 5 --slow-rank 1:2; npuprof-synth -o c --ranks 2'

# --- cluster, whatif, advisor, info over every run ----------------------------------------------------

runs | while read -r run; do
	one "cluster/$run/table" "npuprof cluster in/$run -o out; rm -rf out"
	one "cluster/$run/json" "npuprof cluster in/$run -o out -f json"
	one "cluster/$run/text" "npuprof cluster in/$run -o out -f csv --export text; rm -f out/*/*.db"
	one "cluster/$run/modes" "npuprof cluster in/$run -o out -m $all_modes -f json"
	one "cluster/$run/modes-table" "npuprof cluster in/$run -o out -m $all_modes; rm -rf out"
	one "advisor/$run/table" "npuprof advisor in/$run"
	one "advisor/$run/files" "npuprof advisor in/$run -o out -f json"
	for format in table json; do
		one "whatif/$run/$format" "npuprof whatif in/$run -f $format"
		one "info/$run/$format" "npuprof info in/$run -f $format"
	done
	case $run in
	db | slow | text | pipeline | experts | link | memory | missing | skew | level0 | mixed | bad-cut* | bad-names | bad-text-trace)
		for command in cluster whatif info advisor; do
			one "$command/$run/md" "npuprof $command in/$run -o out -f md; rm -rf out/*/*.db"
			one "$command/$run/csv" "npuprof $command in/$run -o out -f csv; rm -rf out/*/*.db"
		done
		one "cluster/$run/modes-md" "npuprof cluster in/$run -o out -m $all_modes -f md; rm -rf out"
		;;
	esac
done

# --- options, over some runs --------------------------------------------------------------------------

for run in both slow text msprof-db experts pipeline schema bad-cut; do
	for mode in $modes; do
		one "modes/$run/$mode" "npuprof cluster in/$run -o out -m $mode; rm -f out/*/*.db"
		case $run in
		both | slow) one "modes/$run/$mode-csv" "npuprof cluster in/$run -o out -m $mode -f csv; rm -f out/*/*.db" ;;
		esac
	done
	one "modes/$run/top-num" "npuprof cluster in/$run -o out -m $all_modes --top-num 2 --rank-id 1 --exclude-op-name --parallel-types dp,tp+pp -f json; rm -f out/*/*.db"
done
for run in slow both text pipeline missing bad-cut; do
	for command in cluster whatif advisor info; do
		one "options/$run/$command-ranks" "npuprof $command in/$run -o out --ranks 0-2 -f json"
		one "options/$run/$command-steps" "npuprof $command in/$run -o out --steps 11 -f json"
		one "options/$run/$command-ranks-steps" "npuprof $command in/$run -o out --ranks 1,2 --steps 10"
		one "options/$run/$command-j1" "npuprof $command in/$run -o out -j 1 -f json"
		one "options/$run/$command-j4" "npuprof $command in/$run -o out -j 4 -f json"
		one "options/$run/$command-memory" "npuprof $command in/$run -o out -j 4 --max-memory 1K -f json"
		one "options/$run/$command-verbose" "npuprof $command in/$run -o out -v -v; rm -rf out"
		one "options/$run/$command-quiet" "npuprof $command in/$run -o out -q; rm -rf out"
		one "options/$run/$command-here" "cp -a in/$run run; cd run; npuprof $command . -f csv; find . -path '*cluster_analysis_output*'; cd ..; rm -rf run"
	done
done
for table in ClusterStepTraceTime ClusterCommunicationTime np_comm_step np_wait np_blame np_link np_clock np_whatif np_critical_path np_skipped CommunicationGroupMapping; do
	one "options/table-$table" "npuprof cluster in/slow -o out -f csv --table $table; rm -rf out"
done
for table in ranks groups analyses; do
	one "options/info-$table" "npuprof info in/mixed -f csv --table $table"
done
one options/info-files 'npuprof info in/mixed -f csv -o out'
one options/several 'mkdir a b; cp -a in/slow/host0* a; cp -a in/slow/host1* b; npuprof cluster -d a -d b -o out -f json; npuprof info a b; npuprof whatif a b; npuprof advisor a b -f md; rm -rf a b'
one options/pick 'npuprof cluster in/bad-twice -o out --pick in/bad-twice/copy_of_1_ascend_pt -f json; npuprof info in/bad-twice --pick in/bad-twice/copy_of_1_ascend_pt'
one options/again 'cp -a in/db c; npuprof cluster c; npuprof cluster c -f json; npuprof cluster c --export text; npuprof info c; rm -rf c/*_ascend_pt'
one options/old-result 'cp -a in/db c; npuprof cluster c -q >/dev/null; truncate -s 50 c/*/ASCEND_PROFILER_OUTPUT/*.db; npuprof cluster c; rm -rf c/*_ascend_pt'
one options/narrow 'COLUMNS=60 npuprof cluster in/slow -o out; COLUMNS=60 npuprof advisor in/slow; COLUMNS=60 npuprof whatif in/slow; COLUMNS=60 npuprof compare in/sound in/slow; COLUMNS=60 npuprof info in/slow; rm -r out'
one options/no-color 'npuprof cluster in/slow -o out --no-color; rm -r out'
# A terminal has colours.
for command in 'cluster in/slow -q -o out' 'whatif in/slow -q' 'advisor in/slow -q' 'info in/slow -q' 'compare in/sound in/slow -q' 'rules list' 'help'; do
	one "terminal/${command%% *}" "TERM=xterm script -qec 'stty cols 120; npuprof $command' /dev/null; rm -rf out"
done
one terminal/advisor-sarif "TERM=xterm script -qec 'stty cols 120; npuprof advisor in/slow -q -f sarif' /dev/null"

for run in slow link sender pipeline experts gaps stage; do
	for fix in rank:1 rank:5 host:host1 stage:1 'optype:MatMul*' link:2-3 'link:3-*' 'link:*-3' host-gaps frequency experts hide-comm all; do
		name=$(echo "$fix" | tr -d '*' | tr : -)
		one "fix/$run/$name" "npuprof whatif in/$run --fix '$fix' -f json"
	done
	one "fix/$run/group" "npuprof whatif in/$run --fix group:none; npuprof whatif in/$run --fix \"group:\$(npuprof whatif in/$run --fix group:none 2>&1 | sed -n 's/.*, //p')\" -f json"
	one "fix/$run/several" "npuprof whatif in/$run --fix rank:1 --fix host-gaps --fix hide-comm"
	one "fix/$run/top" "npuprof whatif in/$run --top 3; npuprof whatif in/$run --top 2 --hosts; npuprof whatif in/$run --top 2 -f json --fix rank:1"
	one "fix/$run/csv" "npuprof whatif in/$run --fix rank:1 -f csv; npuprof whatif in/$run -f csv -o out"
	one "fix/$run/md" "npuprof whatif in/$run --fix rank:1 --fix all -f md"
done

# --- advisor and rules --------------------------------------------------------------------------------

for run in db slow text memory kernels level0 bad-cut bad-names; do
	one "advisor/$run/sarif" "npuprof advisor in/$run -f sarif; npuprof advisor in/$run -f json"
	one "advisor/$run/zh" "npuprof advisor in/$run --lang zh; npuprof advisor in/$run --lang zh -f md; npuprof advisor in/$run --lang zh -f json; npuprof advisor in/$run --lang zh -f csv; npuprof advisor in/$run --lang zh -f sarif"
	one "advisor/$run/own" "npuprof advisor in/$run --rules in/rules/own.json --rule 'own.*'; npuprof advisor in/$run --rules in/rules/own.json --rule 'own.*' -f md; npuprof advisor in/$run --rules in/rules/own.json --set own.busy.least=1 --rule 'own.*' -f json"
	one "advisor/$run/base" "npuprof advisor in/$run --base in/plain; npuprof advisor in/$run --base in/plain -f json"
	one "advisor/$run/gates" "for gate in high low gain=1 gain=50; do npuprof advisor in/$run --fail-on \$gate -f csv; echo \$?; done"
	one "advisor/$run/baseline" "npuprof advisor in/$run --baseline in/gates/baseline.json --fail-on low; npuprof advisor in/$run --baseline in/gates/baseline.json -f sarif"
	one "advisor/$run/suppress" "npuprof advisor in/$run --suppress in/gates/suppress.json; npuprof advisor in/$run --suppress in/gates/suppress.json -f json"
	one "advisor/$run/chosen" "npuprof advisor in/$run --rule 'comm.*,cluster.*' --dimension cluster; npuprof advisor in/$run --dimension memory,overall -f json; npuprof advisor in/$run --rule chip.parameters"
	one "advisor/$run/bad-rules" "npuprof advisor in/$run --rules in/rules -f json"
done
one rules/list 'npuprof rules list; npuprof rules list "comm.*"; npuprof rules list --lang zh'
one rules/json 'npuprof rules list -f json; npuprof rules list -f json --lang zh --rules in/rules/own.json'
one rules/show 'for id in $(npuprof rules list | awk "NR > 1 { print \$1 }"); do npuprof rules show $id; done; npuprof advisor --explain comm.exposed'
one rules/show-zh 'for id in $(npuprof rules list | awk "NR > 1 { print \$1 }"); do npuprof rules show --lang zh $id; done'
one rules/views 'npuprof rules views'
one rules/check 'npuprof rules check'
one rules/check-bad 'npuprof rules check in/rules/own.json in/rules/cut.json in/rules/newer.json in/rules/wrong.json in/gates/baseline.json in/rules'
one rules/test 'npuprof rules test'
one rules/test-own 'npuprof rules test in/rules/own.json; npuprof rules test in/rules/wrong.json'

# --- compare --------------------------------------------------------------------------------------------

views=kernel,kernel-type,communication,api,operator,module,memory
# compared <name> <base> <new>: in all forms
compared() {
	one "compare/$1/table" "npuprof compare $2 $3"
	one "compare/$1/json" "npuprof compare $2 $3 -f json --view $views"
	one "compare/$1/md" "npuprof compare $2 $3 -f md"
	one "compare/$1/csv" "npuprof compare $2 $3 -f csv --view $views -o out"
	one "compare/$1/views" "npuprof compare $2 $3 --view $views --top 5"
}
compared sound-slow in/sound in/slow
compared sound-sound in/sound in/sound
compared slow-sound in/slow in/sound
compared db-casts in/plain in/casts
compared casts-memory in/casts in/memory
compared db-kernels in/db in/kernels
compared db-text in/db in/text
compared db-level0 in/db in/level0
compared db-wide in/db in/wide
compared db-steps in/no-analysis in/no-steps
compared link in/sound in/link
compared sender in/sound in/sender
compared gaps in/plain in/gaps
compared experts in/sound in/experts
compared pipeline in/pipeline in/stage
compared missing in/sound in/missing
compared forms in/msprof-db in/mindspore-db
compared forms-text in/msprof-text in/msmonitor
compared gpu in/gpu/one.json in/gpu/two.json
compared gpu-runs in/gpu/base in/gpu/new
compared gpu-npu in/gpu/one.json in/single
compared gpu-cut in/gpu/one.json in/gpu/cut.json
compared gpu-empty in/gpu/one.json in/gpu/empty.json
for run in bad-cut bad-cut-alone bad-garbage bad-empty bad-some-dropped bad-types bad-all bad-text-trace bad-text-kernels bad-twice; do
	compared "$run" in/db "in/$run"
done
for table in waterfall operator_detail kernel ranks classes; do
	one "compare/table-$table" "npuprof compare in/plain in/casts -f csv --table $table"
done
one compare/ranks 'npuprof compare in/sound in/slow --ranks 0-3 -f json; npuprof compare in/sound in/slow --map-ranks 0:3,1:2 -f json; npuprof compare in/sound in/slow --ranks 5'
one compare/steps 'npuprof compare in/sound in/slow --base-steps 11-12 --new-steps 10; npuprof compare in/sound in/slow --base-steps 11-12 --new-steps 10 -f json'
one compare/limits 'npuprof compare in/sound in/slow --no-stats; npuprof compare in/sound in/slow --min-ms 5 --min-pct 20; npuprof compare in/sound in/slow --top 2'
one compare/gates 'for gate in "step>2%" "step>99%" "comm>5%" "kernel:MatMul*>3%" "mem>1%" "step>2%,comm>5%"; do npuprof compare in/sound in/slow --fail-on "$gate"; echo $?; done; npuprof compare in/sound in/slow --fail-on "step>2%" -f json'
one compare/jobs 'npuprof compare in/sound in/slow -j 1 -f json | cmp - <(npuprof compare in/sound in/slow -j 4 -f json)'
one compare/rank "npuprof compare in/sound/*_200000_* in/slow/*_200000_*; npuprof compare in/db/*_200017_*/*/ascend_pytorch_profiler_1.db in/db/*_200034_*/*/ascend_pytorch_profiler_2.db"
one compare/trace 'npuprof compare in/text/*_200000_*/*/trace_view.json in/text/*_200017_*/*/trace_view.json; npuprof compare in/gzip/*_200000_*/*/trace_view.json.gz in/text/*_200017_*/*/trace_view.json -f json'
one compare/xlsx "npuprof compare in/sound in/slow --xlsx x.xlsx --view $views -q"
one compare/xlsx-gpu "npuprof compare in/gpu/one.json in/gpu/two.json --xlsx x.xlsx -q"

# --- summaries --------------------------------------------------------------------------------------------

for run in slow text bad-cut msprof-db missing pipeline; do
	one "summaries/cluster-$run" "npuprof cluster in/$run -o a -f json --cache kept; npuprof cluster in/$run -o b -f json --cache kept; npuprof cluster --from-summaries kept -o c -f json; npuprof cluster --from-summaries kept -o d --ranks 1-2 --steps 11; rm -rf d"
	one "summaries/beside-$run" "npuprof cluster in/$run -o a --cache; npuprof cluster in/$run -o a --cache -m $all_modes; rm -f a/*/*.db"
	for command in whatif info advisor; do
		one "summaries/$command-$run" "npuprof $command in/$run -f json --cache kept; npuprof $command in/$run -f json --cache kept; npuprof $command --from-summaries kept; rm -rf kept"
	done
	one "summaries/compare-$run" "npuprof compare in/plain in/$run -f json --cache kept; npuprof compare in/plain in/$run -f json --cache kept; rm -rf kept"
done
one summaries/damaged 'npuprof cluster in/db -o a --cache kept -q >/dev/null; for file in kept/rank000002*; do printf x | dd of=$file bs=1 seek=200 conv=notrunc status=none; done; for file in kept/rank000001*; do truncate -s 99 $file; done; npuprof cluster --from-summaries kept -o a; npuprof cluster in/db -o a --cache kept; rm -rf kept a'
one summaries/merged 'npuprof cluster in/db -o a --cache kept -q >/dev/null; mkdir n1 n2; cp kept/rank00000[01]* n1; cp kept/rank00000[23]* n2; npuprof cluster --from-summaries n1 n2 -o b -f json; rm -rf kept a n1 n2'

# --- raw data ---------------------------------------------------------------------------------------------

# exported <name> <raw data> <command>: of a copy of the raw data, which is left out of what is recorded; settle() gives all
# files the same time, which goes into the fingerprint of a run
exported() {
	one "export/$1" "settle() { find . -exec touch -h -d @1763000000 {} +; }; cp -a in/$2 $2; $3; rm -rf $2/*/PROF_*"
}
for type in db text; do
	exported "$type" job "npuprof export --type $type job; npuprof export --type $type job; settle; npuprof info job; npuprof cluster job -o out -f json; npuprof advisor job -f csv"
	exported "$type-level0" job-level0 "npuprof export --type $type job-level0; settle; npuprof info job-level0; npuprof cluster job-level0 -o out -f json"
	exported "$type-cut" job-cut "npuprof export -v --type $type job-cut; settle; npuprof cluster job-cut -o out -f json"
	exported "$type-bad" job-bad "npuprof export -v -j 1 --type $type job-bad; settle; npuprof info job-bad"
	exported "$type-record" job-record "npuprof export --type $type job-record; settle; npuprof cluster job-record -o out -f json"
	exported "$type-manifest" job-manifest "npuprof export --type $type job-manifest; settle; npuprof info job-manifest"
	exported "$type-ranks" job "npuprof export --type $type --ranks 0,2 -j 1 job; npuprof export --type $type --force -q job; settle; npuprof info job"
	exported "$type-raw" job "npuprof export --type $type --ranks 1 --keep-raw job; find job -type f | sed 's/_[0-9]\{14\}/_TIME/' | sort"
done
exported no-msprof job 'npuprof export --msprof nowhere/msprof job; npuprof export --msprof /bin/false --ranks 0 job; npuprof export --msprof /bin/true --ranks 1 -v job'

# --- several processes --------------------------------------------------------------------------------------

if command -v mpirun >/dev/null; then
	for run in slow text bad-cut; do
		one "processes/cluster-$run" "mpirun -q -n 3 npuprof cluster in/$run -o out -f json -j 1"
		one "processes/modes-$run" "mpirun -q -n 2 npuprof cluster in/$run -o out -m $all_modes -j 2"
		one "processes/whatif-$run" "mpirun -q -n 3 npuprof whatif in/$run -f json"
		one "processes/advisor-$run" "mpirun -q -n 2 npuprof advisor in/$run -f json"
		one "processes/info-$run" "mpirun -q -n 2 npuprof info in/$run"
		one "processes/compare-$run" "mpirun -q -n 2 npuprof compare in/plain in/$run -f json --view kernel,operator"
	done
	one processes/usage 'mpirun -q -n 3 npuprof cluster in/db --ranks 99; mpirun -q -n 2 npuprof cluster nowhere; mpirun -q -n 2 npuprof cluster in/bad-all -o out'
	one processes/summaries 'mpirun -q -n 3 npuprof cluster in/db -f json -o out --cache kept; mpirun -q -n 2 npuprof cluster --from-summaries kept -f json -o out2'
fi

# --- recorded profiles --------------------------------------------------------------------------------------

if [ -n "$shared" ]; then
	data=$shared/data
	for run in resnet-2of8/db/level0 resnet-2of8/db/level1 resnet-2of8/text/level0 resnet-2of8/text/level1 llm-pp2dp2 helix/standalone; do
		[ -d "$data/$run" ] || continue
		name=recorded/$(echo "$run" | tr / -)
		for format in table json md csv; do
			one "$name/cluster-$format" "npuprof cluster shared/$run -o out -f $format$([ $format = json ] || echo '; rm -f out/*/*.db')"
			one "$name/whatif-$format" "npuprof whatif shared/$run -f $format"
			one "$name/info-$format" "npuprof info shared/$run -f $format"
			one "$name/advisor-$format" "npuprof advisor shared/$run -f $format"
		done
		one "$name/advisor-sarif" "npuprof advisor shared/$run -f sarif --lang zh"
		one "$name/text" "npuprof cluster shared/$run -o out --export text -q; rm -f out/*/*.db"
		one "$name/modes" "npuprof cluster shared/$run -o out -m $all_modes -f json"
		one "$name/modes-table" "npuprof cluster shared/$run -o out -m $all_modes; rm -rf out"
		one "$name/summaries" "npuprof cluster shared/$run -o out --cache kept -q >/dev/null; npuprof cluster --from-summaries kept -o out -f json"
	done
	for pair in resnet-2of8/db/level0:resnet-2of8/db/level1 resnet-2of8/db/level1:resnet-2of8/text/level1 llm-pp2dp2:llm-pp2dp2; do
		base=${pair%%:*} new=${pair#*:}
		if [ ! -d "$data/$base" ] || [ ! -d "$data/$new" ]; then
			continue
		fi
		name=recorded/$(echo "$pair" | tr /: -_)
		one "$name/compare" "npuprof compare shared/$base shared/$new"
		one "$name/compare-json" "npuprof compare shared/$base shared/$new -f json --view $views"
		one "$name/compare-csv" "npuprof compare shared/$base shared/$new -f csv --view $views -o out"
	done
	# Outputs of msprof that no PROF_* is above.
	for run in msprof msprof-tables; do
		[ -d "$data/helix/$run" ] || continue
		for command in cluster info advisor compare; do
			one "recorded/helix-$run/$command" "mkdir -p run/PROF_000001_20260511093035000_00000001ABCDEFGH; cp -a shared/helix/$run/* run/PROF_*; npuprof $command shared/helix/$run; npuprof $command run $([ $command != compare ] || echo run) -o out -f json; rm -rf run"
		done
	done
fi
