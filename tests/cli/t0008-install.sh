#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What an installation has, where programs, shells and compilers look for it, and that it goes away again; a program that is
# alone; the wheel.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
need_program cmake python3
cd "$work" || exit 1

behaviour 'an installation has all of it in its place'
run cmake --install "$NPUPROF_BUILD" --prefix "$work/prefix"
expect_exit 0
cp "$NPUPROF_BUILD/install_manifest.txt" manifest
pages=$(find "$NPUPROF_SOURCE/doc" -name '*.1' | wc -l)
expect_equal "$(find prefix/share/man/man1 -name '*.1' | wc -l)" "$pages"
for file in bin/npuprof bin/npuprof-synth include/npuprof_step.h share/pkgconfig/npuprof.pc share/doc/npuprof/LICENSE \
	share/doc/npuprof/install.md share/bash-completion/completions/npuprof share/zsh/site-functions/_npuprof \
	share/fish/vendor_completions.d/npuprof.fish share/npuprof/rules/schedule.json share/npuprof/ci/gate.sh share/npuprof/skills/SKILL.md; do
	expect "there is $file" test -s "prefix/$file"
done
expect_equal "$(find prefix -name 'libnpuprof_inject.so' | wc -l)" 1
expect 'completion is that of the program' cmp prefix/share/bash-completion/completions/npuprof <("$npuprof" completion bash)

behaviour 'it works wherever it is'
cp -r prefix moved
run moved/bin/npuprof rules list
expect_exit 0
expect_stdout_has 'comm.exposed'
if command -v pkg-config >/dev/null; then
	expect_equal "$(realpath "$(PKG_CONFIG_PATH=$work/moved/share/pkgconfig pkg-config --variable=includedir npuprof)")" \
		"$(realpath moved/include)"
fi

behaviour 'what was installed goes away, and nothing else'
touch prefix/share/mine
run cmake -DMANIFEST="$work/manifest" -P "$NPUPROF_SOURCE/cmake/NpUninstall.cmake"
expect_exit 0
expect_equal "$(find prefix -type f -o -type l)" prefix/share/mine
expect_equal "$(find prefix -path '*npuprof*')" ''
run cmake -DMANIFEST="$work/manifest" -P "$NPUPROF_SOURCE/cmake/NpUninstall.cmake"
expect 'a second time there is nothing' test "$status" -ne 0

behaviour 'a program that is alone has its rules inside'
mkdir alone
cp "$npuprof" alone/npuprof
run "$npuprof" rules list
cp stdout beside.txt
run alone/npuprof rules list
expect_exit 0
expect 'the same rules' cmp stdout beside.txt
run alone/npuprof rules check
expect_exit 0

behaviour 'packages are named for both kinds of systems; the analysis alone needs few, and what CMake builds with by itself'
for packager in apt dnf; do
	NPUPROF_PACKAGER=$packager run "$NPUPROF_SOURCE/tools/deps.sh" --minimal --list
	expect_exit 0
	expect 'cmake and make' test "$(grep -cxE 'cmake|make' stdout)" = 2
	expect 'no MPI, no tests' test "$(grep -cE 'mpi|cmocka|sodium' stdout)" = 0
	cp stdout few.txt
	NPUPROF_PACKAGER=$packager run "$NPUPROF_SOURCE/tools/deps.sh" --list
	expect_exit 0
	expect 'all of these, and more' test "$(sort few.txt stdout | uniq -d | wc -l)" = "$(wc -l <few.txt)"
	expect 'both MPIs and the tests' test "$(grep -cE '^(libopenmpi-dev|libmpich-dev|openmpi-devel|mpich-devel|libcmocka-dev|libcmocka-devel)$' stdout)" = 3
done
run "$NPUPROF_SOURCE/tools/deps.sh" --nonsense
expect_exit 2

behaviour 'packages ask for the C library whose symbols their programs name'
if command -v objdump >/dev/null; then
	cat >needs.cmake <<-'CMAKE'
		include(${CONFIG})
		include(${CPACK_PROJECT_CONFIG_FILE})
		message("${CPACK_DEBIAN_PACKAGE_DEPENDS};${CPACK_RPM_PACKAGE_REQUIRES}")
	CMAKE
	run cmake -DCONFIG="$NPUPROF_BUILD/CPackConfig.cmake" -P needs.cmake
	expect_exit 0
	for file in "$npuprof" "$NPUPROF_BUILD"/npuprof-collect "$NPUPROF_BUILD"/libnpuprof_inject.so; do
		[[ ! -e $file ]] || objdump -T "$file"
	done | grep -oE 'GLIBC_2\.[0-9]+' | sort -Vu >names
	newest=$({ echo GLIBC_2.28 && cat names; } | sort -V | tail -n 1)
	expect_stderr_has "libc6 (>= ${newest#GLIBC_}" "glibc >= ${newest#GLIBC_}"
fi

behaviour 'the wheel is the same each time, and has what pip wants'
run "$NPUPROF_SOURCE/tools/wheel.py" "$NPUPROF_BUILD" -o two
run "$NPUPROF_SOURCE/tools/wheel.py" "$NPUPROF_BUILD" -o one
expect_exit 0
wheel=$(cat stdout)
expect 'the same bytes' cmp "$wheel" "two/${wheel##*/}"
case $(uname -m) in
x86_64 | aarch64)
	expect 'its name has the machine and a C library' grep -qE "^manylinux_2_(2[89]|[3-9][0-9])_$(uname -m)\\.whl$" <<<"${wheel##*-}"
	run "$NPUPROF_SOURCE/tools/wheel.py" "$NPUPROF_BUILD" -o three --platform "manylinux_2_1_$(uname -m)"
	expect_exit 1
	expect_stderr_has "which is more than manylinux_2_1_$(uname -m) promises"
	expect 'none is written' test ! -e three
	;;
esac
cat >check.py <<'PY'
import base64, hashlib, sys, zipfile

wheel = zipfile.ZipFile(sys.argv[1])
info = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")][0]
rows = [line.rsplit(",", 2) for line in wheel.read(info).decode().split()]
assert sorted(row[0] for row in rows) == sorted(wheel.namelist())
for name, digest, size in rows:
    content = wheel.read(name)
    if name != info:
        assert len(content) == int(size), name
        assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), name
print(oct(wheel.getinfo([name for name in wheel.namelist() if name.endswith("/scripts/npuprof")][0]).external_attr >> 16))
PY
run python3 check.py "$wheel"
expect_exit 0
expect_equal "$(cat stdout)" 0o100755
if python3 -m pip --version >/dev/null 2>&1; then
	# As a variable: pip before 22.1 knows no such option.
	PIP_ROOT_USER_ACTION=ignore run python3 -m pip install --quiet --no-index --no-deps --disable-pip-version-check --target site "$wheel"
	expect_exit 0
	run site/bin/npuprof --version
	expect_exit 0
	if [[ -e site/bin/npuprof-collect ]]; then
		# What it loads into the application is found: nobody but "true", which uses no NPU, is to blame.
		LD_LIBRARY_PATH=$NPUPROF_BUILD/npusim run timeout 60 site/bin/npuprof-collect -o prof --job pip -- true
		expect_exit 3
		expect_stderr_has 'the application never used an NPU'
	fi
fi
