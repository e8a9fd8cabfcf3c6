#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# doc/tour.md shows what the commands in it print: they are run again, and every line is compared. NPUPROF_UPDATE=1
# writes what they print into the page, to be read.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
need_program python3

page=$NPUPROF_SOURCE/doc/tour.md
tour=$NPUPROF_SOURCE/tests/cli/tour.py
PATH=$NPUPROF_BUILD:$PATH
mkdir "$work/here"
cd "$work/here" || exit 1

behaviour 'the tour shows what is printed'
if [[ -n ${NPUPROF_UPDATE:-} ]]; then
	python3 "$tour" --update "$page" || exit 1
	rm -rf demo
fi
run python3 "$tour" "$page"
expect_exit 0
expect_no_stdout
expect_no_stderr

behaviour 'a line that is printed otherwise is found'
rm -rf demo
sed 's/^  rank 5 makes the others wait/  rank 6 makes the others wait/' "$page" >other.md
run python3 "$tour" other.md
expect_exit 1
expect_stdout_has '-  rank 6 makes the others wait' '+  rank 5 makes the others wait'
