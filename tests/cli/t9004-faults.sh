#!/usr/bin/env bash
# No silent loss: a part of the faults of tests/faults/, chosen by their names, on all forms of a profile. tools/faults.sh
# tries all of them with more commands.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program python3
faults=$NPUPROF_SOURCE/tests/faults/faults.py

# Sanitizers map more than a small run may.
part=(--every 4)
if grep -q '^NP_SANITIZE:STRING=.' "$NPUPROF_BUILD/CMakeCache.txt"; then
	export NP_FAULTS_UNBOUND=1
	part=(--every 24)
fi

behaviour 'there are far more than 400 faults, and each has a name of its own'
run python3 "$faults" "$NPUPROF_BUILD" --list
expect_exit 0
expect 'they are many' test "$(wc -l <"$work/stdout")" -gt 2000
expect_equal "$(sort "$work/stdout" | uniq -d)" ''

behaviour 'each fault gives the true answer, or is said, and never a figure of a part with status 0'
run env TMPDIR="$work" python3 "$faults" "$NPUPROF_BUILD" -j2 "${part[@]}"
expect_exit 0
expect_stdout_has '; 0 wrong'

behaviour 'a file that is there and cannot be used is named in every format, and the status says so'
"$synth" -o "$work/text" --format text --ranks 2 --steps 2 --layers 1 --kernels-per-layer 2 -q
# harmed <file> <command over it>: a copy of the run in which the file of one rank is changed
harmed() {
	rm -rf "$work/harmed"
	cp -r "$work/text" "$work/harmed"
	file=$(find "$work/harmed" -name "$1" | sort | head -n 1)
	bash -c "$2" bash "$file"
}
for harm in array steps manifest; do
	# shellcheck disable=SC2016
	case $harm in
	array)
		word=communication.json
		harmed communication.json 'echo "[1, 2]" >"$1"'
		;;
	steps)
		word=step_trace_time
		harmed step_trace_time.csv 'rm "${1%/*}/trace_view.json" "${1%/*}/kernel_details.csv"; sed -i "2s/,[0-9.]*,/,N\/A,/" "$1"'
		;;
	*)
		word=manifest
		harmed truth.json 'echo "{\"schema\": " >"${1%/*}/npuprof_manifest.json"'
		;;
	esac
	for form in 'cluster json' 'cluster csv' 'cluster md' 'cluster table' 'info json' 'info table' 'advisor json' 'advisor csv' 'advisor md'; do
		run "$npuprof" "${form% *}" -d "$work/harmed" -f "${form#* }"
		expect_exit 3
		expect "$harm is named by $form" grep -q "$word" "$work/stdout" "$work/stderr"
	done
done

behaviour 'what attacks came up with is in no pattern: all of it'
run env TMPDIR="$work" python3 "$faults" "$NPUPROF_BUILD" -j2 --only '^odd/'
expect_exit 0
expect_stdout_has '; 0 wrong'
expect 'an event that is there twice counts once' sh -c "python3 '$faults' '$NPUPROF_BUILD' --only '^odd/text/trace-twice' -v | grep -q 'count once'"

behaviour 'a rank that cannot be loaded has no clock in the manifest: nothing of it is looked at'
run env TMPDIR="$work" python3 "$faults" "$NPUPROF_BUILD" --only '^bytes/(msmonitor/.*one-byte|msmonitor-jsonl/.*cut-10|msprof-text/msprof_w.json/cut-50)'
expect_exit 0
expect_stdout_has '3 faults: ' '; 0 wrong'

behaviour 'the other commands say what cluster says'
run env TMPDIR="$work" python3 "$faults" "$NPUPROF_BUILD" -j2 --commands --every 120
expect_exit 0
expect_stdout_has '; 0 wrong'

behaviour 'what only they read is not silent either: memory, clocks, calls of the framework'
those=
[[ -z ${NP_FAULTS_UNBOUND:-} ]] || those='.*(years|released-before|zeros)'
run env TMPDIR="$work" python3 "$faults" "$NPUPROF_BUILD" -j2 --commands --only "^detail/$those"
expect_exit 0
expect_stdout_has '; 0 wrong'

behaviour 'the test would see a loss that nobody says'
mkdir "$work/lying"
cat >"$work/lying/npuprof" <<'END'
#!/usr/bin/env python3
import json, os, subprocess, sys
done = subprocess.run([os.environ['NP_TRUE_NPUPROF']] + sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
doc = json.loads(done.stdout)
doc['input'].update(skipped=[], warnings=[])
doc['trust'].update(withheld=[], coverage=[])
print(json.dumps(doc))
END
chmod +x "$work/lying/npuprof"
ln -s "$synth" "$work/lying/npuprof-synth"
run env TMPDIR="$work" NP_FAULTS_UNBOUND=1 NP_TRUE_NPUPROF="$npuprof" \
	python3 "$faults" "$work/lying" --only '^bytes/db/ascend.*(cut-50|zeros)|^time/db/TASK/backwards'
expect_exit 1
expect_stdout_has 'nothing is said' '; 4 wrong'
