#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install the packages that building, running and testing need, if any is missing: with apt-get on Debian and Ubuntu, with
# dnf or yum on openEuler, Fedora and the like. Does nothing, and asks nobody, when all are there.
#
#	tools/deps.sh                      install what is missing
#	tools/deps.sh --minimal            only what building and running the analysis needs: no MPI, no tests
#	tools/deps.sh [--minimal] --list   print the names for this system
#
# NPUPROF_NO_DEPS=1 skips it: for systems where they come from elsewhere. NPUPROF_PACKAGER=apt or dnf: names of that system.
set -eu

minimal='' list=''
for word; do
	case $word in
	--minimal) minimal=1 ;;
	--list) list=1 ;;
	*)
		sed -n 's/^#\t//p' "$0" >&2
		exit 2
		;;
	esac
done

if [ -n "${NPUPROF_PACKAGER:-}" ]; then
	packager=$NPUPROF_PACKAGER
elif command -v dpkg-query >/dev/null; then
	packager=apt
elif command -v dnf >/dev/null || command -v yum >/dev/null; then
	packager=dnf
else
	packager=none
fi

# Without one that is optional, the tests of what it is for are skipped: not every system has all of them. The names of rpm
# are openEuler's.
case $packager in
dnf)
	packages="
	gcc glibc-devel cmake make pkgconf
	sqlite-devel jansson-devel pcre2-devel zlib-devel"
	tests="
	libsodium-devel libcmocka-devel sqlite python3"
	optional="
	ninja-build openmpi-devel mpich-devel clang-tools-extra ShellCheck zsh fish"
	;;
*)
	packages="
	gcc libc6-dev cmake make pkg-config
	libsqlite3-dev libjansson-dev libpcre2-dev zlib1g-dev"
	tests="
	ninja-build libsodium-dev libcmocka-dev sqlite3 python3"
	optional="
	libopenmpi-dev openmpi-bin libmpich-dev mpich libxlsxwriter-dev clang-format shellcheck zsh fish
	chromium chromium-driver python3-selenium python3-pandas protobuf-compiler"
	;;
esac
if [ -n "$minimal" ]; then
	optional=''
else
	packages="$packages $tests"
fi

if [ -n "$list" ]; then
	# shellcheck disable=SC2086
	printf '%s\n' $packages $optional
	exit
fi
[ "${NPUPROF_NO_DEPS:-}" != 1 ] || exit 0

if [ "$packager" = none ]; then
	echo "deps.sh: neither apt-get nor dnf nor yum is here; install the equivalents of:" >&2
	# shellcheck disable=SC2086
	echo "  "$packages >&2
	echo "then set NPUPROF_NO_DEPS=1" >&2
	exit 1
fi

# is_there <package>
is_there() {
	if [ "$packager" = dnf ]; then
		rpm -q --whatprovides "$1" >/dev/null 2>&1
		return
	fi
	# shellcheck disable=SC2016
	case $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) in
	ii*) ;;
	*) return 1 ;;
	esac
}

# missing_of <package>...: those that are not installed
missing_of() {
	for package; do
		is_there "$package" || printf ' %s' "$package"
	done
}

# get <package>...
get() {
	if [ "$packager" = apt ]; then
		$as_root apt-get -q -y install --no-install-recommends "$@"
	elif command -v dnf >/dev/null; then
		$as_root dnf -q -y install "$@"
	else
		$as_root yum -q -y install "$@"
	fi
}

# shellcheck disable=SC2086
missing=$(missing_of $packages)
# shellcheck disable=SC2086
missing_optional=$(missing_of $optional)
[ -n "$missing$missing_optional" ] || exit 0

if [ "$(id -u)" = 0 ]; then
	as_root=
elif sudo -n true 2>/dev/null; then
	as_root='sudo -n'
elif [ -z "$missing" ]; then
	echo "deps.sh: tests will be skipped that need$missing_optional" >&2
	exit 0
else
	echo "deps.sh: packages are missing; please run:" >&2
	case $packager in
	dnf) echo "  sudo dnf install$missing" >&2 ;;
	*) echo "  sudo apt-get install$missing" >&2 ;;
	esac
	exit 1
fi

echo "installing$missing$missing_optional"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# An update may fail for one source and still bring what is needed.
[ "$packager" = dnf ] || $as_root apt-get -q update >"$log" 2>&1 || :
# shellcheck disable=SC2086
if [ -n "$missing" ] && ! get $missing >>"$log" 2>&1; then
	cat "$log" >&2
	rm -f "$log"
	echo "deps.sh: cannot install$missing" >&2
	exit 1
fi
# All at once, or each that can be had.
# shellcheck disable=SC2086
if [ -n "$missing_optional" ] && ! get $missing_optional >>"$log" 2>&1; then
	for package in $missing_optional; do
		get "$package" >>"$log" 2>&1 || echo "deps.sh: cannot install $package: tests that need it will be skipped" >&2
	done
fi
rm -f "$log"
