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
# Ends with 0, or with 4 if something got worse, or with 1 if the run could not be judged; the log, and on GitHub an
# annotation, says in a line what it is.
set -u

: "${NPUPROF_RUN:?the directory of the profiled run}" "${NPUPROF_BASE:=}" "${NPUPROF_FAIL_ON:=step>2%}"
: "${NPUPROF_SEVERITY:=high}" "${NPUPROF_OUT:=npuprof-results}"
comment=$NPUPROF_OUT/comment.md
slower=0 findings=0 failed=0
mkdir -p "$NPUPROF_OUT" || exit 1

# say <error|notice> <text>: a line of the log, on GitHub an annotation
say() {
	if [ "${GITHUB_ACTIONS:-}" = true ]; then
		printf '::%s title=npuprof::%s\n' "$1" "$(printf '%s' "$2" | sed 's/%/%25/g')"
	else
		printf 'npuprof: %s\n' "$2"
	fi
}

# verdict: the sentence of the comment that says it all
verdict() {
	awk '/^## Verdict$/ { on = 1; next } on && NF { print; exit }
		/^  (fails: )?step is |^  .* cannot be judged/ { sub(/^ */, ""); print; exit }' "$comment"
}

# took <status> <what>: 3 means that a part could not be used, which the result itself says; returns 4 for a gate that tripped
took() {
	case $1 in
	0 | 3) ;;
	4) return 4 ;;
	*)
		echo "$2 ended with status $1" >&2
		failed=1
		;;
	esac
	return 0
}

if [ "$NPUPROF_BASE" = history ]; then
	{
		echo '## Against earlier runs'
		echo '```'
		npuprof compare --baseline history "$NPUPROF_RUN" --fail-on "$NPUPROF_FAIL_ON" -q
		status=$?
		echo '```'
	} >"$comment"
	took "$status" 'npuprof compare' || slower=1
elif [ -n "$NPUPROF_BASE" ]; then
	npuprof compare "$NPUPROF_BASE" "$NPUPROF_RUN" --fail-on "$NPUPROF_FAIL_ON" -q -f md >"$comment"
	took $? 'npuprof compare' || slower=1
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
	took $? 'npuprof advisor' || findings=1
	echo >>"$comment"
	cat "$NPUPROF_OUT/findings.md" >>"$comment"
fi
npuprof report -d "$NPUPROF_RUN" ${page:+--base "$page"} -q -o "$NPUPROF_OUT/report.html"
took $? 'npuprof report'

[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$comment" >>"$GITHUB_STEP_SUMMARY"
text=$(verdict)
if [ "$slower" = 1 ]; then
	say error "${text:-slower than $NPUPROF_FAIL_ON allows}"
elif [ -n "$text" ]; then
	say notice "$text"
fi
[ "$findings" = 0 ] || say error "findings of severity $NPUPROF_SEVERITY and above: see $comment"
[ "$failed" = 0 ] || exit 1
[ "$slower$findings" = 00 ] || exit 4
