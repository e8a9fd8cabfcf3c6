#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The gate of a pipeline around a profiled run: a comment, findings as SARIF, the page, and a status.
#
#   NPUPROF_RUN       the run that is judged (required)
#   NPUPROF_BASE      a run that is good enough; or history, the earlier runs in the store NPUPROF_HISTORY
#   NPUPROF_FAIL_ON   what may not get slower, as npuprof compare --fail-on takes it (step>2%)
#   NPUPROF_SEVERITY  findings that the base does not have fail from this severity on: high, medium, low or none (high)
#   NPUPROF_OUT       where comment.md, npuprof.sarif and report.html go (npuprof-results)
#
# Ends with 0, or with 4 if something got worse, or with 1 if the run could not be judged.
set -u

: "${NPUPROF_RUN:?the directory of the profiled run}" "${NPUPROF_BASE:=}" "${NPUPROF_FAIL_ON:=step>2%}"
: "${NPUPROF_SEVERITY:=high}" "${NPUPROF_OUT:=npuprof-results}"
comment=$NPUPROF_OUT/comment.md
worse=0 failed=0
mkdir -p "$NPUPROF_OUT" || exit 1

# took <status> <what>: 3 means that a part could not be used, which the result itself says
took() {
	case $1 in
	0 | 3) ;;
	4) worse=1 ;;
	*)
		echo "$2 ended with status $1" >&2
		failed=1
		;;
	esac
}

if [ "$NPUPROF_BASE" = history ]; then
	{
		echo '## Against earlier runs'
		echo '```'
		npuprof compare --baseline history "$NPUPROF_RUN" --fail-on "$NPUPROF_FAIL_ON" -q
		status=$?
		echo '```'
	} >"$comment"
	took "$status" 'npuprof compare'
elif [ -n "$NPUPROF_BASE" ]; then
	npuprof compare "$NPUPROF_BASE" "$NPUPROF_RUN" --fail-on "$NPUPROF_FAIL_ON" -q -f md >"$comment"
	took $? 'npuprof compare'
else
	npuprof cluster -d "$NPUPROF_RUN" -q --no-db -f md >"$comment"
	took $? 'npuprof cluster'
fi

# Findings that the base has already are not those of this change.
set -- -d "$NPUPROF_RUN" -q
page=
if [ -n "$NPUPROF_BASE" ] && [ "$NPUPROF_BASE" != history ]; then
	npuprof advisor -d "$NPUPROF_BASE" -q -f json >"$NPUPROF_OUT/baseline.json"
	took $? 'npuprof advisor on the base'
	set -- "$@" --baseline "$NPUPROF_OUT/baseline.json"
	page=$NPUPROF_BASE
fi
npuprof advisor "$@" -f sarif >"$NPUPROF_OUT/npuprof.sarif"
took $? 'npuprof advisor'
if [ "$NPUPROF_SEVERITY" != none ]; then
	npuprof advisor "$@" --fail-on "$NPUPROF_SEVERITY" -f md >"$NPUPROF_OUT/findings.md"
	took $? 'npuprof advisor'
	cat "$NPUPROF_OUT/findings.md" >>"$comment"
fi
npuprof report -d "$NPUPROF_RUN" ${page:+--base "$page"} -q -o "$NPUPROF_OUT/report.html"
took $? 'npuprof report'

[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$comment" >>"$GITHUB_STEP_SUMMARY"
[ "$failed" = 0 ] || exit 1
[ "$worse" = 0 ] || exit 4
