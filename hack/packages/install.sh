#!/usr/bin/env bash
# Installs the system packages that `make test` (argument test), the lab (argument lab) or the tests of the console (argument browser) need and
# this machine lacks.
# Without root or apt-get it lists them and fails, so that nothing is built in vain.
set -euo pipefail

case ${1-} in
test | lab | browser) scope=$1 ;;
*)
	echo "usage: $0 test|lab|browser" >&2
	exit 2
	;;
esac

# need SCOPE PACKAGES COMMAND...: the packages are missing if the command fails. The lab also needs the packages for test; the browser is one package.
missing=()
need() {
	local for=$1 packages=$2
	shift 2
	if [ "$for" = lab ] && [ "$scope" = test ] || [ "$for" = browser ] && [ "$scope" != browser ]; then
		return
	fi
	# Word splitting separates the packages.
	# shellcheck disable=SC2206
	"$@" >/dev/null 2>&1 || missing+=($packages)
}
has() { command -v "$1"; }
# Tests set ROOT.
authorities() { [ -e "${ROOT-}/etc/ssl/certs/ca-certificates.crt" ] || [ -e "${ROOT-}/etc/pki/tls/certs/ca-bundle.crt" ]; }
keys() { [ -e "${ROOT-}/usr/share/keyrings/debian-archive-keyring.gpg" ]; }

need test make has make
need test git has git
need test ca-certificates authorities
# Ubuntu has no keys of Debian, whose packages the test environments unpack.
need test debian-archive-keyring keys
need test "python3 python3-venv" python3 -c 'import venv, ensurepip'
need lab nftables has nft
need lab iptables has iptables
need lab curl has curl
need lab iproute2 has ip
need lab mmdebstrap has mmdebstrap
need lab "gcc libc6-dev" has gcc
need lab "pkg-config libseccomp-dev" pkg-config --exists libseccomp
need lab "pkg-config libblkid-dev" pkg-config --exists blkid
# Ubuntu's package of this name needs snapd.
need browser chromium has chromium

if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
if [ "$(id -u)" -ne 0 ] || ! has apt-get >/dev/null; then
	echo "These packages are missing; their names are those of Debian and Ubuntu:" >&2
	echo "    ${missing[*]}" >&2
	echo "Install them, or run this again as root on Debian or Ubuntu, where they are installed for you." >&2
	exit 1
fi
echo "Installing the missing packages ${missing[*]}" >&2
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
