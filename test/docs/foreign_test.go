package docs

import (
	"slices"
	"strings"
)

// tools are the programs in commands of documents, with the flags that documents use. Programs of this repository have nil: their flags are
// read from the sources.
var tools = map[string]*string{
	"kubectl": list(`all-namespaces all filename namespace output watch wait for timeout replicas overwrite type from-file from-literal raw from
		selector previous tail follow container context kubeconfig show-labels dry-run image field-selector ignore-not-found server-side
		force-conflicts subresource server tls-server-name
		validate clusterrole group hard containers client-certificate client-key embed-certs current user`),
	"helm": list(`namespace create-namespace values set set-string set-file version no-hooks take-ownership wait timeout install reset-values reuse-values destination repo`),
	"aws": list(`region profile name query output bucket create-bucket-configuration policy role-name assume-role-policy-document policy-name policy-document vpc-id vpc-region cluster-name addon-name configuration-values stack-name template-file parameter-overrides capabilities client-id client-id-list open-id-connect-provider-arn instance-id instance-ids image-ids logical-resource-id type value latest service-code quota-code desired-value filters
		repository-name force account-id recursive lifecycle-configuration service-code quota-code desired-value filters`),
	"eksctl": list(`cluster approve config-file name region namespace service-account role-name attach-policy-arn role-only disable-nodegroup-eviction`),
	"docker": list(`push tag platform build-arg file username password-stdin`),
	"kind":   list(``),
	"cosign": list(`key type bundle insecure-ignore-tlog certificate-oidc-issuer certificate-identity-regexp`),
	"make":   list(``), "go": list(``), "curl": list(``), "journalctl": list(``), "envsubst": list(``), "dig": list(``), "git": list(`verify`),
	"bin/lab": nil, "hypershift-operator": nil, "control-plane-operator": nil,
}

// withValue are flags of kubectl with a value in the next word.
var withValue = set(`--raw --server --tls-server-name -n -l -o -c -p -f -L --type --kubeconfig --namespace --selector --context --timeout`)

// ofTools reports whether one of the tools, or a program that documents run in a pod, supports the flag.
func ofTools(flag string) bool {
	for _, flags := range tools {
		if flags != nil && slices.Contains(strings.Fields(*flags), flag) {
			return true
		}
	}
	return flag == "endpoints" // of etcdctl
}

// installed are types of objects that the operators and the chart create: a name must exist.
var installed = set(`deployment deploy daemonset ds statefulset sts configmap cm`)

// ofUsers are names that documents invent for their examples.
var ofUsers = set(`my-values.yaml release.yaml management.yaml user-data.txt cloud-config.txt obj.pkl view edit admin hypershift-view
	example.env infra.json iam.json images.txt release-notes.md hypershift-0.1.0-linux-amd64.spdx.json SHA256SUMS.sigstore.json
	hypershift-cli-0.1.0-linux-amd64.tar.gz hypershift-cli-0.1.0-windows-amd64.zip hypershift-cli-0.1.0-linux-amd64.spdx.json`)

// foreignResources are types of Kubernetes.
var foreignResources = set(`pod pods po node nodes no namespace ns secret secrets service svc services deployment deploy daemonset ds statefulset sts configmap cm
	job jobs event events crd pvc pv storageclass sc lease leases serviceaccount sa networkpolicy netpol clusterrole clusterrolebinding role rolebinding all
	validatingadmissionpolicy csr nodeclaims apiservice endpointslice ingress priorityclass mutatingwebhookconfiguration validatingwebhookconfiguration`)

// foreignNames are kinds, values and identifiers of Kubernetes and AWS, and fields of files that commands write.
var foreignNames = set(`
	Resource CreateAction Vpc PassedToService AWSServiceName ViaService GrantIsForAWSResource TagKeys AmazonEC2ContainerRegistryPullOnly
	CreateListener CreateLoadBalancer CreateTargetGroup CreateFleet CreateLaunchTemplate InsufficientInstanceCapacity InstanceLimitExceeded
	OpenIDIdpCommunicationError DependencyViolation BlockPublicPolicy RestrictPublicBuckets NoSuchPublicAccessBlockConfiguration
	AllAlpha AllBeta api/alpha=true api/beta=true HypershiftClustersNotAvailable
	karpenter.sh Ignore Environment ServerSideApply Prune Imperative
	TestUnreachableAPIServerIsReportedAsUnknown desiredX
	containerLogMaxSize containerLogMaxFiles
	publicAccessCidrs withOIDC enableNetworkPolicy kubeVersion
	resolvConf loadBalancerClass externalIPs imagePullSecrets failurePolicy
	ProxyImage vpcID zones[].subnetID zones[0].subnetID zones[0].name profileName proxyAddr secureProxyAddr proxyCA
`)

// foreignPaths are fields of Kubernetes and other projects.
var foreignPaths = set(`spec.loadBalancerSourceRanges ipam.mode tls.crt tls.key ca.crt etcd.managed.shards etcd.unmanaged.shards fake.NewSimpleClientset fake.NewClientset field.ErrorList errors.As`)

func list(names string) *string { return &names }

func set(names string) map[string]bool {
	s := map[string]bool{}
	for _, name := range strings.Fields(names) {
		s[name] = true
	}
	return s
}
