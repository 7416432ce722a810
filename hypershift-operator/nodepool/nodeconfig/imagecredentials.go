package nodeconfig

import "github.com/hosted-control-planes/hypershift/internal/names"

// Credentials of the kubelet for images, in addition to the credentials of pods.
const (
	// credentialProvidersFile configures the program that reads credentials of ECR. The kubelet gets it only if the program is
	// installed: it would not start without.
	credentialProvidersFile = "/etc/kubernetes/credential-providers.yaml"
	ecrCredentialProvider   = "ecr-credential-provider"
	// imageCredentialsFile is where a kubelet reads credentials for all images. It reads the file again after five minutes.
	imageCredentialsFile = "/var/lib/kubelet/config.json"
	// pullSecretFile contains the cluster's pull secret, to which imageCredentialsFile is a link.
	pullSecretFile = "/var/lib/kubelet/hypershift-pull-secret.json"
)

// credentialProviders lists the registries of ECR. The program authenticates with the role of the instance. The public registry is
// not listed, because it serves images without credentials, and roles of instances rarely allow them.
const credentialProviders = `apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: ` + ecrCredentialProvider + `
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  defaultCacheDuration: 6h
  matchImages:
  - "*.dkr.ecr.*.amazonaws.com"
  - "*.dkr.ecr-fips.*.amazonaws.com"
  - "*.dkr.ecr.*.amazonaws.com.cn"
`

// findCredentialProvider sets the kubelet's flags if the program is installed.
const findCredentialProvider = `if provider=$(PATH=` + kubeletPath + ` command -v ` + ecrCredentialProvider + `); then
	printf 'CREDENTIAL_PROVIDERS=--image-credential-provider-config=` + credentialProvidersFile + ` --image-credential-provider-bin-dir=%s\n' "${provider%/*}" >>` + knownIdentity + `
fi
`

// followPullSecret is a part of the script that follows the authorities. It keeps the pull secret of the cluster on the node, so
// that it is in no user data and changes without a new machine. The API server lets a node read it when a pod of the node names it,
// as the pods of kube-proxy and of the tunnels do. A file that the user has written is kept.
const followPullSecret = `pull=` + pullSecretFile + ` credentials=` + imageCredentialsFile + `
got=$(api $ca '/api/v1/namespaces/kube-system/secrets/` + names.HostedPullSecret + `?pretty=false' -w '\n%{http_code}' 2>/dev/null) || :
case $got in
*200)
	(umask 077 && printf '%s' "$got" | sed -n 's/.*"\.dockerconfigjson":"\([^"]*\)".*/\1/p' | openssl base64 -d -A >$pull.new)
	[ ! -s $pull.new ] || mv -f $pull.new $pull
	[ -e $credentials ] || ln -sf $pull $credentials
	;;
*404) rm -f $pull ;;
esac
`
