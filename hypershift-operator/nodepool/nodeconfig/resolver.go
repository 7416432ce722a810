package nodeconfig

// resolverUnit makes systemd-resolved resolve the names of private zones. The stub of systemd-resolved resolves names that end
// with .local by multicast only, unless a domain is routed to DNS servers
// (https://www.freedesktop.org/software/systemd/man/latest/systemd-resolved.service.html). The zone of a cluster is below
// hypershift.local.
const resolverUnit = "hypershift-resolver.service"

// resolver runs at each boot, because the network determines the DNS servers at this boot.
const resolver = `[Unit]
Wants=network-online.target
After=network-online.target systemd-resolved.service
[Service]
Type=oneshot
RemainAfterExit=yes
Environment=PATH=` + kubeletPath + `
ExecStart=/bin/sh ` + resolverFile + `
[Install]
WantedBy=multi-user.target
`

// podResolvConf is the file with the DNS servers of pods with dnsPolicy Default, if the stub of systemd-resolved has them.
const podResolvConf = "/run/hypershift/resolv.conf"

// resolverScript routes the domain to the DNS servers of the network cards. A domain of resolved.conf needs servers of
// resolved.conf. They are the same as before, and not the resolver of the VPC: DHCP options may name other servers, and all names would
// then be queried at both. systemd-resolved then lists each server twice, and the kubelet accepts three: podResolvConf has each once.
// authoritiesService runs the script again, because DHCP may change the servers.
//
// Without systemd-resolved it exits at once.
const resolverScript = `#!/bin/sh
set -eu
umask 022
file=/run/systemd/resolved.conf.d/50-hypershift.conf attempts=30 pods=` + podResolvConf + `
export COLUMNS=1000 # one line for each network card
servers() { echo $(resolvectl dns | sed -n "s/^$1[^:]*: *//p"); }
systemctl is-active --quiet systemd-resolved.service || exit 0
until [ -n "$(servers '[GL]')" ] || [ $attempts = 0 ]; do # DHCP is slow, or the servers are those of resolved.conf
	attempts=$((attempts - 1))
	sleep 1
done
mkdir -p ${file%/*} ${pods%/*}
seen=
while read -r line; do
	case $seen in *"<$line>"*) continue ;; esac
	seen="$seen<$line>"
	echo "$line"
done </run/systemd/resolve/resolv.conf >$pods.new
mv -f $pods.new $pods
servers=$(servers Link) lines='[Resolve]
Domains=~hypershift.local'
# An empty list would remove the servers of other files.
[ -z "$servers" ] || lines="$lines
DNS=$servers"
[ "$lines" != "$(cat $file 2>/dev/null)" ] || exit 0
echo "$lines" >$file
systemctl try-restart systemd-resolved.service
`

// findResolvConf is the part of identity.sh that sets the DNS servers of pods with dnsPolicy Default. The stub of systemd-resolved
// is on the loopback of the node: in a pod, CoreDNS would forward to itself. The file of users takes precedence over this one.
const findResolvConf = `if [ -e ` + podResolvConf + ` ] && grep -q '^nameserver[[:space:]]*127\.0\.0\.5[34]' /etc/resolv.conf && ! grep -q '^resolvConf:' ` + kubeletFile + `; then
	echo RESOLV_CONF=--resolv-conf=` + podResolvConf + ` >>` + knownIdentity + `
fi
`
