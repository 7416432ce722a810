package nodeconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	kubeletapis "k8s.io/kubelet/pkg/apis"
)

// Files and units that Render writes.
const (
	bootstrapKubeconfigFile = "/etc/kubernetes/bootstrap.kubeconfig"
	kubeconfigFile          = "/var/lib/kubelet/kubeconfig"
	certificatesDirectory   = "/var/lib/kubelet/pki"
	certificateFile         = certificatesDirectory + "/kubelet-client-current.pem"
	servingCertificateFile  = certificatesDirectory + "/kubelet-server-current.pem"
	caFile                  = "/etc/kubernetes/pki/ca.crt"
	clientCAFile            = "/etc/kubernetes/pki/kubelet-clients.crt"
	kubeletFile             = "/etc/kubernetes/kubelet.yaml"
	identityFile            = "/etc/kubernetes/identity.sh"
	authoritiesSerialFile   = "/etc/kubernetes/pki/authorities.serial"
	authoritiesFile         = "/etc/kubernetes/authorities.sh"
	joiningFile             = "/etc/kubernetes/joining.sh"
	resolverFile            = "/etc/kubernetes/resolver.sh"
	serverFile              = "/etc/kubernetes/apiserver"
	environmentFile         = "/etc/kubernetes/environment"
	trustDirectory          = "/etc/kubernetes/trust"
	trustFile               = trustDirectory + "/additional.crt"
	registriesDirectory     = "/etc/containerd/certs.d"
	hostsFile               = "hosts.toml"

	kubeletUnit    = "kubelet.service"
	containerdUnit = "containerd.service"
	joinedUnit     = "hypershift-joined.service"
	joinedPathUnit = "hypershift-joined.path"
	// dropin sorts after the drop-ins of machine images.
	dropin = "90-hypershift.conf"

	kubeletPath = installed + ":/opt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// knownIdentity is where identity.sh writes its result.
	knownIdentity = "/run/hypershift/identity"
)

// identity reads from the metadata of the instance the name of the node, by which the cloud controller finds it, and its
// provider ID, by which Cluster API finds it. Only the host reads metadata: a hop limit of one and required tokens are
// sufficient.
const identity = `#!/bin/sh
set -eu
imds=http://169.254.169.254/latest
token=$(curl -sSf --noproxy '*' --retry 10 --retry-connrefused -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $imds/api/token)
get() { curl -sSf --noproxy '*' --retry 5 -H "X-aws-ec2-metadata-token: $token" $imds/meta-data/$1; }
name=$(get local-hostname)
zone=$(get placement/availability-zone)
id=$(get instance-id)
mkdir -p /run/hypershift
# A VPC with several domains gives several names.
printf 'NODE_NAME=%s\nPROVIDER_ID=aws:///%s/%s\n' "${name%% *}" "$zone" "$id" >` + knownIdentity + `
` + findResolvConf + findCredentialProvider

// kubeletDropin starts the kubelet with the settings that exist as flags only. A drop-in of the machine image may set
// KUBELET_EXTRA_ARGS.
func kubeletDropin(m Machine) string {
	args := []string{
		"--config=" + kubeletFile,
		"--bootstrap-kubeconfig=" + bootstrapKubeconfigFile,
		"--kubeconfig=" + kubeconfigFile,
		"--cert-dir=" + certificatesDirectory,
		"--cloud-provider=external",
		"--hostname-override=${NODE_NAME}",
		"--provider-id=${PROVIDER_ID}",
		"--register-with-taints=" + taints(m),
	}
	if labels := labels(m.Labels); labels != "" {
		args = append(args, "--node-labels="+labels)
	}
	args = append(args, "$RESOLV_CONF", "$CREDENTIAL_PROVIDERS") // several words, or none
	return `[Unit]
Wants=network-online.target ` + resolverUnit + `
After=network-online.target ` + resolverUnit + ` containerd.service ` + apiServerUnit + `.socket
[Service]
Environment=PATH=` + kubeletPath + `
EnvironmentFile=-` + environmentFile + `
EnvironmentFile=-` + knownIdentity + `
ExecStartPre=/bin/sh ` + identityFile + `
ExecStart=
ExecStart=/usr/bin/env kubelet ` + strings.Join(args, " ") + ` $KUBELET_EXTRA_ARGS
Restart=always
RestartSec=5
`
}

const containerdDropin = `[Service]
EnvironmentFile=-` + environmentFile + `
`

// joinedPath waits for the certificate that the kubelet gets for its token. The kubelet writes the kubeconfig that names the
// certificate before the certificate itself. If the token were removed then, a kubelet that stops in between would have
// neither.
const joinedPath = `[Path]
PathExists=` + certificateFile + `
[Install]
WantedBy=multi-user.target
`

// userDataCopies are the files in which cloud-init and Ignition keep user data, and with it the token: as it was read, decoded,
// merged, and as a part of a Python object. Without that object, cloud-init reads the metadata again at the next boot, and
// writes no file again, because the instance is the same.
const userDataCopies = "/run/ignition.json" +
	" /run/cloud-init/instance-data-sensitive.json /run/cloud-init/combined-cloud-config.json" +
	" /var/lib/cloud/instances/*/user-data.txt /var/lib/cloud/instances/*/user-data.txt.i" +
	" /var/lib/cloud/instances/*/cloud-config.txt /var/lib/cloud/instances/*/obj.pkl"

// joined creates the sentinel file of Cluster API, and removes the token, which is no longer needed, with all copies of the user
// data. It also runs at each later boot, after cloud-init.
const joined = `[Unit]
After=cloud-final.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/mkdir -p /run/cluster-api
ExecStart=/bin/touch /run/cluster-api/bootstrap-success.complete
ExecStart=/bin/rm -f ` + bootstrapKubeconfigFile + `
ExecStart=/bin/sh -c 'rm -f ` + userDataCopies + `'
`

// uninitialized keeps pods off the node until Cluster API has set the labels that a kubelet may not set. Cluster API removes
// the taint.
const uninitialized = "node.cluster.x-k8s.io/uninitialized:NoSchedule"

func taints(m Machine) string {
	var all []string
	if !m.OnDemand {
		all = append(all, uninitialized)
	}
	for _, t := range m.Taints {
		all = append(all, fmt.Sprintf("%s=%s:%s", t.Key, t.Value, t.Effect))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// labels leaves out labels with which the kubelet would not start. Cluster API sets them.
func labels(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if mayBeSetByKubelet(key) {
			all = append(all, key+"="+labels[key])
		}
	}
	return strings.Join(all, ",")
}

func mayBeSetByKubelet(key string) bool {
	domain, _, found := strings.Cut(key, "/")
	if !found {
		return true
	}
	for _, kubernetes := range []string{"kubernetes.io", "k8s.io"} {
		if domain == kubernetes || strings.HasSuffix(domain, "."+kubernetes) {
			return kubeletapis.IsKubeletLabel(key)
		}
	}
	return true
}

// environment returns the environment of kubelet and containerd, or "" without settings.
func environment(c ClusterSettings) string {
	var out strings.Builder
	set := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&out, "%s=\"%s\"\n", name, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value))
		}
	}
	if c.Proxy.enabled() {
		set("HTTP_PROXY", c.Proxy.HTTP)
		set("HTTPS_PROXY", c.Proxy.HTTPS)
		set("NO_PROXY", c.noProxy())
	}
	if len(c.trustBundle()) > 0 {
		// Go reads the bundle of the system and every file in these directories, on every distribution.
		set("SSL_CERT_DIR", trustDirectory+":/etc/ssl/certs:/etc/pki/tls/certs")
	}
	return out.String()
}
