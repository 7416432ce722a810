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

// authorities asks with what the node has; a new authority takes its place only if the server is believed by it, so that no
// mistake can cost the node its server. The kubelet sees by itself whom its clients have to be known by, and reads whom to
// believe only when it starts; that this is to come is written down before the file changes.
const authorities = `#!/bin/sh
set -eu
umask 022
ca=` + caFile + `
clients=` + clientCAFile + `
restart=/run/hypershift/restart-kubelet
[ -e ` + certificateFile + ` ] || exit 0 # it has not joined
api() {
	trust=$1 path=$2
	shift 2
	curl -gsSf --max-time 30 --cacert "$trust" --cert ` + certificateFile + ` "$@" "$SERVER$path"
}
source='/api/v1/namespaces/kube-public/configmaps/` + names.NodeAuthorities + `?pretty=false'
said=$(api $ca "$source")
value() { printf '%s' "$said" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
fetch() {
	new=$(printf '%b' "$(value "$1")")
	case $new in
	'-----BEGIN CERTIFICATE-----'*'-----END CERTIFICATE-----') ;;
	*) echo "$1 is no bundle of certificates" >&2; exit 1 ;;
	esac
	[ "$new" != "$(cat "$2")" ] || return 1
	printf '%s\n' "$new" >"$2.new"
}
if fetch ` + names.KubeletClientAuthorities + ` $clients; then
	mv -f $clients.new $clients
fi
if fetch ` + names.ServerAuthorities + ` $ca; then
	api $ca.new "$source" -o /dev/null
	touch $restart
	mv -f $ca.new $ca
fi
if [ -e $restart ]; then
	systemctl try-restart ` + kubeletUnit + `
	rm $restart
fi
api $ca "/api/v1/nodes/$NODE_NAME" -o /dev/null -X PATCH -H 'Content-Type: application/merge-patch+json' \
	--data '{"metadata":{"annotations":{"` + names.AuthoritiesAnnotation + `":"'"$(value ` + names.AuthoritiesRevision + `)"'"}}}'
`
