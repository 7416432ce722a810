package nodeconfig

// joiningUnit reports on the console of the machine why it does not join. The operators read the console of an instance that
// runs for minutes and is not a node: a machine without a network cannot reach them in another way.
const joiningUnit = "hypershift-joining.service"

// joining is started with the machine and ends when it has joined.
const joining = `[Unit]
Wants=network-online.target
After=network-online.target
ConditionPathExists=!` + certificateFile + `
[Service]
Environment=PATH=` + kubeletPath + `
EnvironmentFile=-` + environmentFile + `
EnvironmentFile=` + serverFile + `
ExecStart=/bin/sh ` + joiningFile + `
[Install]
WantedBy=multi-user.target
`

// joiningScript sends a request to the API server with the bootstrap token, as the kubelet does, and writes a line when the
// result has changed:
//
//	hypershift-node: reason=<CamelCase> message=<text>
//
// It begins when the kubelet runs: before, the cause is elsewhere. The token is not in the arguments of curl, which all users
// of the machine can list.
const joiningScript = `#!/bin/sh
set -u
console=/dev/console interval=30 last=
report() {
	[ "$1" = "$last" ] || printf '\nhypershift-node: reason=%s message=%s\n' "$1" "$2" >$console
	last=$1
}
token() { sed -n 's/^ *token: *//p' ` + bootstrapKubeconfigFile + `; }
while sleep $interval; do
	[ ! -e ` + certificateFile + ` ] || exit 0
	[ -e ` + bootstrapKubeconfigFile + ` ] || exit 0
	systemctl is-active --quiet ` + kubeletUnit + ` || continue
	status=$(printf 'header = "Authorization: Bearer %s"\n' "$(token)" |
		curl -gs -K - --max-time 20 --cacert ` + caFile + ` -o /dev/null -w '%{http_code}' "$SERVER/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=1")
	case $?/$status in
	0/401) report BootstrapTokenRefused "the API server rejects the bootstrap token" ;;
	0/5*) report APIServerUnreachable "the API server answers with status $status" ;;
	0/*) report APIServerReachable "the API server answers, and the kubelet has no certificate yet" ;;
	5/* | 6/*) report APIServerNameUnknown "the name of the API server cannot be resolved: $SERVER" ;;
	35/* | 51/* | 58/* | 60/* | 77/*) report APIServerNotTrusted "the certificate of the API server cannot be verified: $SERVER" ;;
	*) report APIServerUnreachable "there is no connection to the API server: $SERVER" ;;
	esac
done
`
