#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Other users of the host: what they put where a job, a request or a result will be is not used, and what they own is
# not changed. They are played by setpriv, which takes root.
# shellcheck source-path=SCRIPTDIR disable=SC2154,SC2016
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_collect.sh"
need_program setpriv
[[ $(id -u) -eq 0 ]] || skip 'only root can act as another user'

other() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
chmod 1777 "$work"
other test -w "$work" || skip "others do not get to $work"
mkdir -m 1777 "$work/open"
echo precious >"$work/precious"
chmod 644 "$work/precious"

behaviour 'a job directory that is there already, whoever made it, is not used'
other mkdir -m 0777 "$work/open/planted"
run timeout -k 10 60 "$collector" -o "$work/open" --job planted --backend acl -- "$train" -q --steps 2 --layers 1
expect_exit 1
expect_stderr_has 'is there already'
expect 'nothing was written there' test -z "$(ls -A "$work/open/planted")"

behaviour 'results of a job have the permissions of the umask, what steers it is for its user alone'
umask 002
run timeout -k 10 90 "$collector" -o "$work/open" --job mine --backend acl --step-start 1 --step-end 2 -- \
	"$train" -q --steps 4 --layers 1
expect_exit 0
expect_equal "$(stat -c %a "$work/open/mine")" 755
expect_equal "$(stat -c %a "$work/open/mine/npuprof_manifest.json")" 664
expect_equal "$(stat -c %a "$work"/open/mine/*_ascend_pt/npuprof_rank.json)" 664
umask 022

behaviour 'a request to a job of another user is refused, whatever its control file says'
other mkdir -m 0755 "$work/open/theirs"
other sh -c 'echo "{\"socket\": \"npuprof-1-x-0\", \"host\": \"h\"}" >"$1"' sh "$work/open/theirs/npuprof_control.json"
run "$npuprof" ctl status -d "$work/open/theirs"
expect_exit 1
expect_stderr_has 'belongs to another user'

behaviour 'results are not written into a directory, or through a link, that another user has put there'
"$synth" -o "$work/run" --ranks 2 --steps 2 --layers 1 --kernels-per-layer 2 -q
chmod 0777 "$work/run"
mkdir "$work/aim"
other mkdir -m 0777 "$work/run/cluster_analysis_output"
other ln -s "$work/aim" "$work/open/link"
run "$npuprof" cluster "$work/run"
expect_exit 3
expect_stderr_has 'belongs to another user'
run "$npuprof" cluster "$work/run" -o "$work/open/link"
expect_exit 3
expect_stderr_has 'belongs to another user'
expect 'nothing was written there' test -z "$(ls -A "$work/run/cluster_analysis_output")"
expect 'nor through the link' test -z "$(ls -A "$work/aim")"
rmdir "$work/run/cluster_analysis_output"
other ln -s "$work/aim" "$work/run/cluster_analysis_output"
run "$npuprof" cluster "$work/run"
expect_exit 3
expect 'nor through a link of the last part' test -z "$(ls -A "$work/aim")"

behaviour 'a file of another user that has the name of a lock or of a result is not written to'
mkdir -m 1777 "$work/shared"
other ln -s "$work/precious" "$work/shared/.npuprof.lock"
other ln -s "$work/precious" "$work/shared/page.html"
run "$npuprof" report "$work/run" -o "$work/shared/page.html"
expect_equal "$(cat "$work/precious")" precious
run "$npuprof" history add "$work/run" --store "$work/shared/store.db"
expect_equal "$(cat "$work/precious")" precious

behaviour 'a secret that others may have written is no secret'
other sh -c 'umask 0; echo 00112233445566778899aabbccddeeff >"$1"' sh "$work/open/.npuprof-secret-tcp"
run timeout -k 10 60 "$collector" -o "$work/open" --job tcp --rdzv 127.0.0.1:1 --node-rank 1 --nnodes 2 --rdzv-timeout 5 -- true
expect_exit 1
expect_stderr_has "is not a file that only this user can read"
