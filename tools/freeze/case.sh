#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Run one case of tools/freeze.sh and keep what it prints and writes.
#
#	case.sh WORK OUT SHARED 'NAME<tab>COMMAND'
#
# The command runs in an empty directory, where "in" is the inputs and "shared" the recorded profiles, and finds the
# programs on its path. Below, what differs from run to run is replaced.
set -eu

work=$1 out=$2 shared=$3
tab=$(printf '\t')
name=${4%%"$tab"*}
command=${4#*"$tab"}
case=$out/$name
# A directory of fixed depth and a name of fixed length: lines are broken where paths end.
room=$work/cases/$(printf %s "$name" | sha256sum | head -c 12)

# Nothing of the user's may change what is printed.
unset NO_COLOR COLUMNS NPUPROF_RULES RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT RANK_ID || :
PATH=$work/bin:$work/bin/sim/bin:$PATH
# Containers run as root, machines have fewer processors than cases have processes; no network is looked for.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
OMPI_MCA_odls_base_sigkill_timeout=0 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader OMPI_MCA_hwloc_base_binding_policy=none
LC_ALL=C.UTF-8 TZ=UTC HOME=$room TMPDIR=$work/tmp build=$work/bin
export PATH LC_ALL TZ HOME TMPDIR build OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM \
	OMPI_MCA_rmaps_base_oversubscribe OMPI_MCA_odls_base_sigkill_timeout OMPI_MCA_pml OMPI_MCA_btl \
	OMPI_MCA_hwloc_base_binding_policy

mkdir -p "$case/files" "$room" "$TMPDIR"
cd "$room"
ln -s "$work/in" in
[ ! -e "$work/shared" ] || ln -s "$work/shared" shared
printf '%s\n' "$command" >"$case/command"
status=0
timeout -k 5 300 bash -c "$command" >"$case/stdout" 2>"$case/stderr" </dev/null || status=$?
echo "$status" >"$case/status"

# What was written, as text: a database that is cut or garbage is its own description.
rm -f in shared
find . -type f \( -name '*.db' -o -name '*.npsum' -o -name '*.xlsx' \) -print | while read -r file; do
	case $file in
	*.db) sqlite3 -readonly "$file" 'PRAGMA user_version; PRAGMA application_id; PRAGMA encoding' .dump >"$file.sql" 2>&1 || : ;;
	*.npsum) sha256sum <"$file" >"$file.sha256" ;;
	*.xlsx)
		if command -v unzip >/dev/null; then
			unzip -q "$file" -d "$file.parts"
			find "$file.parts" -name '*.xml' -exec sed -i 's|><|>\n<|g' {} +
		fi
		;;
	esac
	rm "$file"
done
cp -rP . "$case/files"

# Where it ran, where recorded profiles are.
script="s|$room|ROOM|g;s|$work|WORK|g"
[ -z "$shared" ] || script="$script;s|$shared|SHARED|g"
case $name in
# How long a rule took.
advisor/* | processes/advisor* | summaries/advisor* | recorded/*advisor*) script="$script;s|\"elapsed_ns\": *[0-9][0-9]*|\"elapsed_ns\": TIME|g" ;;
collect/*) script="$script;s|\\b$(hostname)\\b|HOST|g" ;;
esac
# When a workbook was made; names that have the number of a process in them.
script="$script;/<dcterms:/s|[0-9-]*T[0-9:]*Z|TIME|g;s|\\.tmp[0-9][0-9]*|.tmpPID|g"
find "$case" -type f ! -name command -exec sed -i "$script" {} +
find "$case" -type d -empty -delete
cd "$work"
chmod -R u+w "$room"
rm -rf "$room"
