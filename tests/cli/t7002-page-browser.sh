#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The page in a real browser: what is drawn, what a click and a key do, both colour schemes, Chinese.
. "$(dirname "$0")/lib.sh"
need_program chromium chromedriver sqlite3
/usr/bin/python3 -c 'import selenium' 2>/dev/null || skip 'python3-selenium is not installed'

run "$synth" -q -o "$work/run" --ranks 4 --tp 2 --pp 2 --dp 1 --steps 3 --layers 2 --slow-rank 3:1.5
run "$npuprof" report -q -d "$work/run" -o "$work/page.html"
expect_exit 0
run "$npuprof" report -q -d "$work/run" -o "$work/zh.html" --lang zh
expect_exit 0
"$npuprof" cluster -q -d "$work/run" -o "$work/out" -f json >"$work/cluster.json"
run "$synth" -q -o "$work/base" --ranks 4 --tp 2 --pp 2 --dp 1 --steps 3 --layers 2
"$npuprof" compare -q "$work/base" "$work/run" --no-stats --fail-on 'step>1%' -f html >"$work/compare.html"
"$npuprof" advisor -q -d "$work/run" -f html >"$work/advisor.html"
run "$synth" -q -o "$work/phases" --ranks 2 --steps 2 --layers 2 --layout verl
run "$npuprof" report -q -d "$work/phases" -o "$work/phases.html"
expect_exit 0
run "$synth" -q -o "$work/memory" --ranks 4 --pp 2 --steps 4 --layers 2 --snapshot --leak 1:3000000 --fragment 0:41943040
run "$npuprof" report -q -d "$work/memory" -o "$work/memory.html"
expect_exit 0
while read -r db; do
	sqlite3 "$db" "UPDATE STRING_IDS SET value = '</script><img src=x onerror=alert(1)>' || char(1,10)
		|| replace(hex(zeroblob(5000)), '00', 'ab') WHERE value LIKE 'MatMul%'"
done < <(find "$work/run" -name 'ascend_pytorch_profiler_*.db')
run "$npuprof" report -q -d "$work/run" -o "$work/hostile.html"
expect_exit 0

behaviour 'charts have the marks and values of the analysis, and answer to pointer and keyboard'
run env HOME="$work" /usr/bin/python3 "$NPUPROF_SOURCE/tests/cli/page_browser.py" "$work/page.html" \
	"$work/cluster.json" "$work/zh.html" "$work/hostile.html" "$work" "$work/compare.html" "$work/advisor.html" \
	"$work/phases.html" "$work/memory.html"
expect_exit 0
expect_stdout_has 'seen 75'
expect_equal "$(wc -l <"$work/stdout")" 1

behaviour 'colours that stand beside each other differ for people who see fewer of them'
run python3 "$NPUPROF_SOURCE/tests/cli/page_palette.py" "$NPUPROF_SOURCE/report/page.css"
expect_equal "$(wc -l <"$work/stdout")" 1
expect_stdout_has 'checked 456, closest 1'
