package nodeconfig

import (
	"fmt"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// authoritiesUnit keeps whom the node believes as the cluster says. What the user data has is of the day when the machine was
// made: when an authority is replaced, a node that is not told of the next one in time loses the API server.
const authoritiesUnit = "hypershift-authorities"

// authoritiesTimer asks soon after the machine has started, because a replacement waits for nodes to say what they have, and
// not all at once.
const authoritiesTimer = `[Timer]
OnActiveSec=1min
OnUnitActiveSec=5min
RandomizedDelaySec=1min
[Install]
WantedBy=timers.target
`

func authoritiesService(server string) string {
	return fmt.Sprintf(`[Unit]
Wants=network-online.target
After=network-online.target
[Service]
Type=oneshot
Environment=PATH=%s SERVER=%s
EnvironmentFile=-%s
EnvironmentFile=-%s
ExecStart=/bin/sh %s
`, kubeletPath, server, environmentFile, knownIdentity, authoritiesFile)
}

// authorities asks with what the node has, and takes over what an authority has signed that the node trusts for servers: a role
// that writes ConfigMaps in kube-public is not root on every node. What is older than what the node has taken over is refused,
// because it was signed, too. New authorities of servers take their place only if the server is believed by them, so that no
// mistake can cost the node its server. The kubelet sees by itself whom its clients have to be known by, and reads whom to
// believe only when it starts; that this is to come is written down before the file changes.
const authorities = `#!/bin/sh
set -eu
umask 022
ca=` + caFile + `
clients=` + clientCAFile + `
serials=` + authoritiesSerialFile + `
run=/run/hypershift
restart=$run/restart-kubelet
[ -e ` + certificateFile + ` ] || exit 0 # it has not joined
api() {
	trust=$1 path=$2
	shift 2
	curl -gsSf --max-time 30 --cacert "$trust" --cert ` + certificateFile + ` "$@" "$SERVER$path"
}
fail() { echo "$@" >&2; exit 1; }
source='/api/v1/namespaces/kube-public/configmaps/` + names.NodeAuthorities + `?pretty=false'
said=$(api $ca "$source")
value() { printf '%s' "$said" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
bundle() {
	new=$(printf '%b' "$(value "$1")")
	case $new in
	'-----BEGIN CERTIFICATE-----'*'-----END CERTIFICATE-----') printf '%s\n' "$new" >"$2.new" ;;
	*) fail "$1 is no bundle of certificates" ;;
	esac
}
same() { [ "$(cat "$1.new")" = "$(cat "$1")" ]; }
signed() { # by one of those in $ca, of which openssl reads one at a time
	{
		printf '%s\n' '` + names.AuthoritiesHeader + `' "$serial" "$revision"
		cat $ca.new
		echo '` + names.AuthoritiesSeparator + `'
		cat $clients.new
	} >$run/text
	value ` + names.AuthoritiesSignature + ` | openssl base64 -d -A >$run/signature
	while read -r line; do
		case $line in *BEGIN*) : >$run/one ;; esac
		echo "$line" >>$run/one
		case $line in *END*)
			openssl x509 -in $run/one -noout -pubkey >$run/key
			! openssl dgst -sha256 -verify $run/key -signature $run/signature $run/text >/dev/null 2>&1 || return 0 ;;
		esac
	done <$ca
	return 1
}
bundle ` + names.ServerAuthorities + ` $ca
bundle ` + names.KubeletClientAuthorities + ` $clients
serial=$(value ` + names.AuthoritiesSerial + `) revision=$(value ` + names.AuthoritiesRevision + `)
if [ -n "$serial" ] && command -v openssl >/dev/null && signed; then
	[ "$serial" -ge "$(cat $serials 2>/dev/null || echo 0)" ] || fail 'the authorities are older than those of the node'
	echo "$serial" >$serials
elif ! same $ca || ! same $clients; then
	fail 'the authorities are not signed by one that the node trusts, or there is no openssl'
fi
if ! same $clients; then
	mv -f $clients.new $clients
fi
if ! same $ca; then
	api $ca.new "$source" -o /dev/null
	touch $restart
	mv -f $ca.new $ca
fi
if [ -e $restart ]; then
	systemctl try-restart ` + kubeletUnit + `
	rm $restart
fi
serves=null
[ ! -e ` + servingCertificateFile + ` ] || serves='"signed"'
api $ca "/api/v1/nodes/$NODE_NAME" -o /dev/null -X PATCH -H 'Content-Type: application/merge-patch+json' \
	--data '{"metadata":{"annotations":{"` + names.AuthoritiesAnnotation + `":"'"$revision"'","` + names.ServingCertificateAnnotation + `":'"$serves"'}}}'
`
