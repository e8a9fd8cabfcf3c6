#!/usr/bin/env bash
# npuprof compare: what it prints in each form, its gate, its inputs, and what it does with bad ones.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program sqlite3

# make <name> <synth options>...: a small run below $work
make() {
	local name=$1

	shift
	"$synth" -q -o "$work/$name" --ranks 4 --steps 8 --layers 2 --no-instances "$@" || exit 1
}

# value <path>: a value of the JSON in $work/stdout
value() {
	sqlite3 :memory: "SELECT json_extract(readfile('$work/stdout'), '$1')"
}

# sum <array> <field>
sum() {
	sqlite3 :memory: "SELECT sum(value ->> '$2') FROM json_each(readfile('$work/stdout'), '\$.$1')"
}

make base --seed 1 --memory
make same --seed 2 --memory
make slow --seed 2 --memory --slow-type MatMulV3:1.2
make text --seed 1 --memory --format text

behaviour 'the screen begins with the verdict and names what explains it'
run "$npuprof" compare "$work/base" "$work/slow"
expect_exit 0
expect_stdout_says 'regression: the step takes' 'First: MatMulV3 (Matmul)' 'each kernel takes longer'
expect_stdout_has 'compute/matmul/MatMulV3' 'rest' 'step'
expect 'one screen' test "$(wc -l <"$work/stdout")" -le 45

behaviour 'without a difference that noise does not explain it says so'
run "$npuprof" compare "$work/base" "$work/same"
expect_exit 0
expect_stdout_says 'no significant difference' 'would not show'

behaviour 'JSON has the schema, and its differences sum up'
run "$npuprof" compare -f json "$work/base" "$work/slow"
expect_exit 0
expect_equal "$(value '$.schema')" npuprof.compare/1
expect_equal "$(sum waterfall delta_ns)" "$(value '$.step.delta_ns')"
expect_equal "$(sum waterfall base_ns)" "$(value '$.step.base_ns')"
expect_equal "$(value '$.step.verdict')" regression
expect_equal "$(value '$.step_basis')" iteration
expect_equal "$(value '$.step.steps_base')" 7
expect_equal "$(value '$.gate.result')" pass
expect_equal "$(value '$.causes[0].what')" MatMulV3

behaviour 'a gate trips on a significant regression only'
run "$npuprof" compare -q --fail-on 'step>2%' "$work/base" "$work/slow"
expect_exit 4
expect_stdout_has 'step>2%: fail'
run "$npuprof" compare -q --fail-on 'step>2%,kernel:Add>5%' "$work/base" "$work/same"
expect_exit 0
expect_stdout_has 'step>2%: pass'
run "$npuprof" compare -q --fail-on 'kernel:MatMulV3>10%' "$work/base" "$work/slow"
expect_exit 4
run "$npuprof" compare -q --fail-on 'step>2%' "$work/slow" "$work/base"
expect_exit 0

behaviour 'figures are per step: one step of a run is like seven of it (deviation 7.1-3)'
run "$npuprof" compare -q -f json --base-steps 12 "$work/base" "$work/base"
expect_exit 0
expect_equal "$(value '$.step.steps_base') $(value '$.step.steps_new')" '1 7'
expect 'they differ by noise' test "$(($(value '$.step.new_ns') * 20))" -lt "$(($(value '$.step.base_ns') * 21))"
expect 'either way' test "$(($(value '$.step.new_ns') * 20))" -gt "$(($(value '$.step.base_ns') * 19))"

behaviour 'exceeded with too few steps is inconclusive, exits 0 and says so; without statistics it fails'
run "$npuprof" compare -q --base-steps 10-11 --new-steps 10-11 --fail-on 'step>2%' "$work/base" "$work/slow"
expect_exit 0
expect_stdout_says 'step>2%: inconclusive' 'too few steps to tell'
expect_stdout_has 'untested'
run "$npuprof" compare -q --base-steps 10-11 --new-steps 10-11 --no-stats --fail-on 'step>2%' "$work/base" "$work/slow"
expect_exit 4

behaviour 'a gate on something that is not there is inconclusive'
run "$npuprof" compare -q --fail-on 'kernel:NoSuch*>1%' "$work/base" "$work/slow"
expect_exit 0
expect_stdout_says 'neither run has anything of that name'

behaviour 'a mistyped gate is refused before anything is read'
run "$npuprof" compare --fail-on 'stpe>2%' "$work/none" "$work/slow"
expect_exit 2
expect_stderr_has "did you mean 'step'?"

behaviour 'Markdown has tables, CSV the table asked for'
run "$npuprof" compare -f md "$work/base" "$work/slow"
expect_exit 0
expect_stdout_has '## Verdict' '| leaf' 'compute/matmul/MatMulV3'
run "$npuprof" compare -f csv --table kernels "$work/base" "$work/slow"
expect_exit 0
expect_equal "$(head -1 "$work/stdout" | cut -d, -f1-3)" 'leaf,type,shapes'
run "$npuprof" compare -f csv --table kernel "$work/base" "$work/slow"
expect_stdout_has 'Order Id,Kernel,Input Shape,Base Total Duration(us)'
run "$npuprof" compare -f csv --table kernls "$work/base" "$work/slow"
expect_exit 2
expect_stderr_has "did you mean 'kernels'?"
run "$npuprof" compare -f csv -o "$work/csv" --view api "$work/base" "$work/slow"
expect_exit 0
expect_file "$work/csv/waterfall.csv"
expect_file "$work/csv/api.csv"

behaviour 'a program without the library of workbooks says what it needs and what does the same'
mkdir "$work/alone"
cp "$npuprof" "$work/alone/npuprof"
run "$work/alone/npuprof" compare -q --xlsx "$work/alone/out.xlsx" "$work/base" "$work/slow"
expect_exit 3
expect_stderr_has "cannot write '$work/alone/out.xlsx'" "built with libxlsxwriter, and '-f csv -o DIR' writes the same tables"
expect 'nothing is left of it' test "$(ls "$work/alone")" = npuprof

if [[ -e $NPUPROF_BUILD/libnpuprof_xlsx.so ]]; then
	behaviour 'a workbook has a sheet for each table'
	run "$npuprof" compare -q --xlsx "$work/out.xlsx" "$work/base" "$work/slow"
	expect_exit 0
	expect 'it is a ZIP file' test "$(head -c 2 "$work/out.xlsx")" = PK
	# part <name>: a part of the workbook
	part() {
		sqlite3 :memory: "SELECT data FROM zipfile('$work/out.xlsx') WHERE name = '$1'"
	}
	run "$npuprof" compare -q -f json "$work/base" "$work/slow"
	# Three rows above the leaves, the second of them empty and not written; D is the column of differences.
	expect_equal "$(part xl/worksheets/sheet1.xml | grep -o '<row ' | wc -l)" "$((2 + $(sqlite3 :memory: \
		"SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.waterfall')")))"
	expect_equal "$(part xl/worksheets/sheet1.xml | grep -o '<c r="D[0-9]*"[^>]*><v>-\?[0-9]*' | sed '1d; s/.*>//' | xargs)" \
		"$(sqlite3 :memory: "SELECT value ->> 'delta_ns' FROM json_each(readfile('$work/stdout'), '\$.waterfall')" | xargs)"
	expect_equal "$(part xl/workbook.xml | grep -o '<sheet name="[a-z0-9_]*' | sed 's/.*"//' | xargs)" \
		'waterfall classes mc2 kernels communicators ranks structure memory_peaks links overall'
	if command -v unzip xmllint >/dev/null; then
		unzip -q -o "$work/out.xlsx" -d "$work/xlsx"
		expect 'its parts are XML' xmllint --noout "$work"/xlsx/xl/*.xml "$work"/xlsx/xl/worksheets/*.xml
		expect 'the first sheet is the waterfall' grep -q '<sheet name="waterfall" sheetId="1"' "$work/xlsx/xl/workbook.xml"
	fi
fi
run "$npuprof" compare -q --xlsx "$work/none/out.xlsx" "$work/base" "$work/slow"
expect_exit 3
expect_stdout_has regression

behaviour 'text and databases, directories of ranks, databases and compressed traces may be mixed'
run "$npuprof" compare -f json "$work/base" "$work/text"
expect_exit 0
expect_equal "$(value '$.step.delta_ns')" 0
db=$(find "$work/base" -name 'ascend_pytorch_profiler_1.db')
trace=$(find "$work/text" -path '*_1*' -name trace_view.json | head -n 1)
rank=$(dirname "$(dirname "$db")")
run "$npuprof" compare -f json "$db" "$rank"
expect_exit 0
expect_equal "$(value '$.step.delta_ns')" 0
[[ -n $trace ]] || trace=$(find "$work/text" -name trace_view.json | head -n 1)
gzip -c "$trace" >"$work/trace_1.json.gz"
run "$npuprof" compare -f json "$trace" "$work/trace_1.json.gz"
expect_exit 0
expect_equal "$(value '$.step.delta_ns')" 0
expect 'there is a step' test "$(value '$.step.base_ns')" -gt 0

behaviour 'ranks are paired as told'
run "$npuprof" compare -f json --map-ranks 0:3,1:2 "$work/base" "$work/slow"
expect_exit 0
expect_equal "$(value '$.paired_by')" map
expect_equal "$(value '$.ranks[0].new_rank') $(value '$.ranks[1].new_rank')" '3 2'
run "$npuprof" compare --map-ranks 0:9 "$work/base" "$work/slow"
expect_exit 2
expect_stderr_has 'the new run has no usable rank 9'
run "$npuprof" compare --map-ranks 0-9 "$work/base" "$work/slow"
expect_exit 2

behaviour 'what differs between the runs is told'
make level0 --seed 2 --level 0
make wide --seed 2 --ranks 8
run "$npuprof" compare "$work/base" "$work/level0"
expect_exit 0
expect_stdout_says 'profiler level: differs: Level1 in the base, Level0 in the new run' 'only one run recorded them'
run "$npuprof" compare "$work/base" "$work/wide"
expect_exit 0
expect_stdout_says 'world size: differs: 4 in the base, 8 in the new run' 'no usable counterpart of ranks 4-7'

behaviour 'all views are there, per step'
run "$npuprof" compare -f json --view kernel,kernel-type,communication,api,operator,memory "$work/base" "$work/slow"
expect_exit 0
for view in kernel kernel-type communication api operator memory; do
	expect "view $view has rows" test "$(sqlite3 :memory: \
		"SELECT count(*) FROM json_each(readfile('$work/stdout'), '\$.views.$view')")" -gt 0
done

behaviour 'operators of one step stand side by side: those that came are told, the others are the same'
make casts --seed 1 --memory --extra-casts 2
run "$npuprof" compare -f csv --table operator_detail "$work/base" "$work/casts"
expect_exit 0
expect_stdout_has 'Order Id,Thread,Module Name,Change,Base Operator Name,Base Input Shape'
expect_equal "$(grep -c ',new,' "$work/stdout") $(grep -c ',removed,' "$work/stdout")" '4 0'
run "$npuprof" compare --view operator "$work/base" "$work/casts"
expect_exit 0
expect_stdout_says 'operators of one step side by side, by thread' 'are the same on both sides'
# A command to paste is as long as its paths.
expect 'it fits' test "$(grep -v 'npuprof advisor' "$work/stdout" | wc -L)" -le 100

behaviour 'a view that was not recorded is said to be missing, and the rest is there'
run "$npuprof" compare --view module "$work/base" "$work/slow"
expect_exit 3
expect_stdout_says 'not used: view module' 'not everything it needs was recorded' 'regression'
run "$npuprof" compare --view module -f json "$work/base" "$work/slow"
expect_exit 3
expect_stdout_has '"what": "view module", "reason": "not everything it needs was recorded"'

behaviour 'the number of threads changes nothing, and the inputs stay as they are'
before=$(snapshot "$work/base")
for jobs in 1 4; do
	run "$npuprof" compare -j $jobs -f json --view api,operator "$work/base" "$work/slow"
	cp "$work/stdout" "$work/jobs.$jobs"
done
expect 'equal output' cmp "$work/jobs.1" "$work/jobs.4"
expect_equal "$(snapshot "$work/base")" "$before"

behaviour 'inputs that are none are refused in one line'
run "$npuprof" compare "$work/base" "$work/none"
expect_exit 2
expect_stderr_has "cannot read '$work/none'"
: >"$work/file.txt"
run "$npuprof" compare "$work/base" "$work/file.txt"
expect_exit 2
expect_stderr_has 'is no profile'
mkdir "$work/empty"
run "$npuprof" compare "$work/base" "$work/empty"
expect_exit 1
expect_stderr_has 'no profiles below'
run "$npuprof" compare "$work/base"
expect_exit 2

behaviour 'a run without marks of steps against one with them: the verdict says what that is worth'
"$synth" -q -o "$work/marked" --ranks 2 --steps 3 --layers 2 --kernels-per-layer 4 || exit 1
"$synth" -q -o "$work/unmarked" --ranks 2 --steps 3 --layers 2 --kernels-per-layer 4 --no-steps || exit 1
run "$npuprof" compare "$work/marked" "$work/unmarked" --steps-from marks
expect_stdout_says 'this says little: no step is marked in the new run' 'none is marked'
run "$npuprof" compare "$work/unmarked" "$work/unmarked" --steps-from none
expect_stdout_lacks 'no step is marked'
behaviour 'found iterations are compared, with one another and with marked steps'
run "$npuprof" compare "$work/unmarked" "$work/unmarked" -f json
expect_stdout_says '"steps_base": 2' '"steps_new": 2' '"how": "period"'
run "$npuprof" compare "$work/marked" "$work/unmarked"
expect_stdout_says '2 iterations (found)' 'differ in kind: steps in the base, iterations (found) in the new run'

behaviour 'a bad sender is the cause, and not one of its links'
"$synth" -q -o "$work/mesh" --ranks 8 --steps 3 --layers 4 --seed 4 || exit 1
"$synth" -q -o "$work/sender" --ranks 8 --steps 3 --layers 4 --seed 4 --slow-sender 3:4 || exit 1
run "$npuprof" compare "$work/mesh" "$work/sender"
expect_stdout_says 'First: sender 3 is slow and was not'
