#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What is known before a job starts is said before it starts.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"

simulated=$LD_LIBRARY_PATH
bare=/usr/bin:/bin

# collect <option or application>...: one rank, with nothing of CANN in PATH
collect() {
	run env PATH=$bare timeout -k 10 60 "$collector" -o "$work/prof" "$@"
}

behaviour '--export after without msprof is said before the job starts, in a dry run too'
if [[ -x /usr/bin/msprof || -x /bin/msprof ]]; then
	skip 'there is an msprof in /usr/bin'
fi
collect --export after --dry-run -- true
expect_exit 0
expect_stderr_has '--export after: there is no msprof in PATH'
collect --export after -- sh -c 'echo started >&2'
expect_stderr_has '--export after: there is no msprof in PATH'
expect 'the job begins behind it' test "$(grep -n 'no msprof in PATH' "$work/stderr" | head -n 1 | cut -d: -f1)" -lt \
	"$(grep -n '^started' "$work/stderr" | cut -d: -f1)"
collect --export none --dry-run -- true
expect 'nothing is exported, so that nothing is missing' sh -c "! grep -q 'no msprof' '$work/stderr'"

behaviour 'an application that finds AscendCL by itself is not refused'
export LD_LIBRARY_PATH=
if readelf -d "$train" 2>/dev/null | grep -qE 'R(UN)?PATH.*npusim'; then
	collect --backend acl --dry-run -- "$train"
	expect_exit 0
	expect_stdout_has 'NPU      simulated'
fi
collect --backend acl --dry-run -- true
expect_exit 1
expect_stderr_has 'AscendCL cannot be used'
export LD_LIBRARY_PATH=$simulated

behaviour 'enable: false prints no plan'
echo '{"enable": false, "level": "level0", "with_stack": true}' >"$work/off.json"
collect --config "$work/off.json" --dry-run -- true
expect_exit 0
expect_no_stdout
expect_stderr_has 'enable is false'
expect 'nothing else is said of what is not recorded' test "$(wc -l <"$work/stderr")" -le 2
collect --config "$work/off.json" -- echo ran
expect_exit 0
expect_stdout <<<ran
collect --profile false --dry-run -- true
expect_exit 0
expect_no_stdout
collect --config "$work/off.json" --profile --dry-run -- true
expect_stdout_has 'the plan'
collect --profile maybe -- true
expect_exit 2
expect_stderr_has "'--profile' is true or false"

behaviour 'settings of MindSpeed-LLM, on the command line and in its YAML'
cat >"$work/train.yaml" <<'YAML'
model:
  layers: 5
training:
  profile: true # as there
  profile_step_start: 3
  profile_step_end: 5
  profile_ranks: [0]
  profile_level: 'level0'
  lr: 1.0e-4
YAML
collect --config "$work/train.yaml" --dry-run -- true
expect_exit 0
expect_stdout_has 'steps    3-4' 'level    level0'
echo '{"profile_step_start": 2, "profile-step-end": 4, "level": "level0"}' >"$work/flat.json"
collect --config "$work/flat.json" --dry-run -- true
expect_exit 0
expect_stdout_has 'steps    2-3' 'level    level0'
collect --profile_ranks '[0,' '1]' --dry-run -- true
expect_exit 2
collect --profile-ranks '[0]' --profile_level level1 --dry-run -- true
expect_exit 0
collect --profile-level level_none -- true
expect_exit 2
expect_stderr_has 'level_none records nothing but mstx marks'
