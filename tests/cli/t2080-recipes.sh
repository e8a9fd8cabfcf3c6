#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The recipes for notebooks run as they stand on their page.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
# Debian's packages are of its own python, which need not be the first.
for python in python3 /usr/bin/python3 ''; do
	[[ -z $python ]] || ! "$python" -c 'import pandas' 2>/dev/null || break
done
[[ -n $python ]] || skip 'python3-pandas is not installed'

PATH=$NPUPROF_BUILD:$PATH
cd "$work" || exit 1
"$synth" -q -o prof --no-instances --ranks 4 --layers 2 --kernels-per-layer 3 --steps 3 --slow-rank 2:1.4 || exit 1

behaviour 'every block of the page runs, in their order'
python3 - "$NPUPROF_SOURCE/doc/recipes.md" <<'EOF'
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
for number, (language, block) in enumerate(re.findall(r"```(sh|python)\n(.*?)```", text, re.S)):
    with open(f"block-{number:02}.{language}", "w", encoding="utf-8") as file:
        file.write(block)
EOF
expect_equal "$(printf '%s ' block-*)" 'block-00.sh block-01.python block-02.python block-03.sh block-04.python '
for block in block-*; do
	case $block in
	*.sh) run bash -e "$block" ;;
	*) run "$python" -W error "$block" ;;
	esac
	expect_exit 0
	cp stdout "$block.out"
done
expect 'the waits have columns' grep -q "'rank'" block-01.python.out
expect 'the database has its tables' grep -q "'np_step'" block-02.python.out
# The slow rank computes longest.
expect_equal "$(grep -E '^[0-3] ' block-02.python.out | sort -k2 -g | tail -n 1 | cut -c1)" 2
expect 'four ranks stand side by side' grep -qE '^rank +0 +1 +2 +3' block-04.python.out
