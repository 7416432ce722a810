package nodeconfig

import (
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// authoritiesUnit updates the certificate authorities that the node trusts, and the address of the API server. Those in the
// user data are as old as the machine. When an authority is replaced, a node that does not get the next one in time loses its
// connection to the API server.
const authoritiesUnit = "hypershift-authorities"

// authoritiesTimer runs soon after the start of the machine, because a CA rollout waits for all nodes to report their
// authorities. The delay is random, so that nodes do not send their requests at once.
const authoritiesTimer = `[Timer]
OnActiveSec=1min
OnUnitActiveSec=5min
RandomizedDelaySec=1min
[Install]
WantedBy=timers.target
`

const authoritiesService = `[Unit]
Wants=network-online.target
After=network-online.target
[Service]
Type=oneshot
Environment=PATH=` + kubeletPath + `
EnvironmentFile=-` + environmentFile + `
EnvironmentFile=-` + knownIdentity + `
EnvironmentFile=` + serverFile + `
ExecStartPre=-/bin/sh ` + resolverFile + `
ExecStart=/bin/sh ` + authoritiesFile + `
`

// authorities reads the bundles of the cluster with the certificate of the node, and accepts only bundles that are signed by
// a server CA that the node trusts: otherwise every user with permission to write ConfigMaps in kube-public would be root on every node.
// It refuses a bundle that is older than the accepted one, because that was signed, too. It replaces the server CA only if
// the API server can be verified with the new one, so that a mistake does not disconnect the node. The kubelet reloads the CA
// of its clients by itself, but reads the server CA only at start: the restart is recorded in a file before the CA changes.
//
// It takes over another address of the API server if the address is signed and the API server answers there. Otherwise the
// node keeps the address that it has, and reports it, until the next run.
const authorities = `#!/bin/sh
set -eu
umask 022
ca=` + caFile + `
clients=` + clientCAFile + `
serials=` + authoritiesSerialFile + `
run=/run/hypershift
restart=$run/restart-kubelet
reconnect=$run/restart-apiserver
[ -e ` + certificateFile + ` ] || exit 0 # it has not joined
api() {
	trust=$1 path=$2
	shift 2
	curl -gsSf --max-time 30 --cacert "$trust" --cert ` + certificateFile + ` "$@" "$SERVER$path"
}
fail() { echo "$@" >&2; exit 1; }
kubeconfig=` + kubeconfigFile + `
address=` + serverFile + `
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
signed() { # $run/text, by one of those in $ca, of which openssl reads one at a time
	value "$1" | openssl base64 -d -A >$run/signature
	while read -r line; do
		case $line in -----BEGIN*) : >$run/one ;; esac
		echo "$line" >>$run/one
		case $line in -----END*)
			openssl x509 -in $run/one -noout -pubkey >$run/key
			! openssl dgst -sha256 -verify $run/key -signature $run/signature $run/text >/dev/null 2>&1 || return 0 ;;
		esac
	done <$ca
	return 1
}
bundle ` + names.ServerAuthorities + ` $ca
bundle ` + names.KubeletClientAuthorities + ` $clients
serial=$(value ` + names.AuthoritiesSerial + `) revision=$(value ` + names.AuthoritiesRevision + `)
{
	printf '%s\n' '` + names.AuthoritiesHeader + `' "$serial" "$revision"
	cat $ca.new
	echo '` + names.AuthoritiesSeparator + `'
	cat $clients.new
} >$run/text
if [ -n "$serial" ] && command -v openssl >/dev/null && signed ` + names.AuthoritiesSignature + `; then
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
problem=
follow() { # the API server to its new address, or set what prevents it
	case ${server#https://} in
	"$server" | *[!][A-Za-z0-9.:-]*) problem="$server is no address"; return ;;
	esac
	printf '%s\n' '` + names.ServerHeader + `' "$server" >$run/text
	signed ` + names.ServerURLSignature + ` || { problem="the address $server is not signed by an authority that the node trusts"; return; }
	answer=$(SERVER=$server api $ca "$source" -o /dev/null 2>&1) || { problem="the API server does not answer at $server: $answer"; return; }
	if grep -qF "server: $SERVER" $kubeconfig; then # else the kubelet uses the forwarder
		touch $restart
		(umask 077 && sed "s|^\( *server: \).*|\1$server|" $kubeconfig >$kubeconfig.new)
		mv -f $kubeconfig.new $kubeconfig
	fi
	touch $reconnect
	printf 'SERVER=%s\nADDRESS=%s\n' "$server" "${server#https://}" >$address.new
	mv -f $address.new $address
	SERVER=$server
}
server=$(value ` + names.ServerURL + `)
[ -z "$server" ] || [ "$server" = "$SERVER" ] || follow
if [ -e $restart ]; then
	systemctl try-restart ` + kubeletUnit + `
	rm $restart
fi
if [ -e $reconnect ]; then
	systemctl try-restart ` + apiServerUnit + `.service
	rm $reconnect
fi
` + followPullSecret + `serves=null
[ ! -e ` + servingCertificateFile + ` ] || serves='"signed"'
api $ca "/api/v1/nodes/$NODE_NAME" -o /dev/null -X PATCH -H 'Content-Type: application/merge-patch+json' \
	--data '{"metadata":{"annotations":{"` + names.AuthoritiesAnnotation + `":"'"$revision"'","` + names.ServingCertificateAnnotation + `":'"$serves"',"` + names.ServerAnnotation + `":"'"$SERVER"'"}}}'
[ -z "$problem" ] || fail "$problem"
`
