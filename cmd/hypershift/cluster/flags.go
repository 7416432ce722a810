package cluster

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/nodepool"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// flags are the flags that describe a cluster and its resources in AWS.
type flags struct {
	cluster clustermanifests.Cluster
	network infra.Spec
	roles   clusteriam.Spec
	// vpcOwner is the account of the VPC, if that is another one.
	vpcOwner operation.VPCOwner
	pool     nodepool.Flags

	infraJSON, iamJSON                             string
	bucket, bucketRegion, issuerURL                string
	vpcCIDR                                        string
	additionalTags                                 []string
	pullSecret, sshKey, encryptionKey, trustBundle string
	imageContentSources                            string
	annotations, labels                            []string
	nodeSelector, podLabels                        map[string]string
	tolerations                                    []string
	endpointAccess, controlPlane, infrastructure   string
	networkType                                    string

	// changed returns whether the user has set a flag.
	changed func(flag string) bool
}

func (f *flags) add(cmd *cobra.Command) {
	s := cmd.Flags()
	f.changed = s.Changed
	c, n, r := &f.cluster, &f.network, &f.roles
	s.StringVar(&c.Name, "name", "", "name of the cluster, instead of the argument (required)")
	s.StringVar(&c.Release, "release-image", "", "release image of the control plane and the nodes (required)")
	s.StringVar(&f.pullSecret, "pull-secret", "", "file with the credentials of registries (default: none)")
	s.StringVar(&f.sshKey, "ssh-key", "", "file with a public key that may log in to the nodes (default: none)")
	s.StringVar(&f.encryptionKey, "etcd-encryption-key-file", "", "file with 32 bytes in base64 that encrypt Secrets in etcd (default: a random key)")
	s.StringVar(&f.trustBundle, "additional-trust-bundle", "", "file with certificate authorities that the cluster trusts")
	s.StringVar(&f.imageContentSources, "image-content-sources", "", "file with mirrors of image repositories, in the form of spec.imageContentSources")

	s.StringVar(&f.endpointAccess, "endpoint-access", string(hyperv1.Public), "who reaches the API server: Public, PublicAndPrivate or Private")
	s.StringVar(&c.ExternalDNSDomain, "external-dns-domain", "", "domain of the public host names of the control plane, which external-dns creates")
	s.StringVar(&c.KubeAPIServerDNSName, "kas-dns-name", "", "additional DNS name of the API server")
	s.StringVar(&f.controlPlane, "control-plane-availability-policy", string(hyperv1.HighlyAvailable), "HighlyAvailable or SingleReplica")
	s.StringVar(&f.infrastructure, "infra-availability-policy", string(hyperv1.SingleReplica), "HighlyAvailable or SingleReplica, for what the cluster runs on its nodes")
	s.StringVar(&c.EtcdStorageClass, "etcd-storage-class", "", "storage class of the volumes of etcd (default: that of the management cluster)")
	s.StringVar(&c.EtcdStorageSize, "etcd-storage-size", "8Gi", "size of each volume of etcd")
	s.StringVar(&f.networkType, "network-type", string(hyperv1.OVNKubernetes), "pod network: OVNKubernetes for that of the release, Calico or Other for one that you install")
	s.StringSliceVar(&c.ClusterCIDRs, "cluster-cidr", []string{"10.132.0.0/14"}, "addresses of pods")
	s.StringSliceVar(&c.ServiceCIDRs, "service-cidr", []string{"172.31.0.0/16"}, "addresses of Services")
	s.BoolVar(&c.FIPS, "fips", false, "use cryptography that was validated under FIPS 140")
	s.StringVar(&c.PausedUntil, "pausedUntil", "", "true, or a time such as 2030-01-31T12:00:00Z until which the operators do nothing")
	s.StringArrayVar(&f.annotations, "annotations", nil, "annotation of the HostedCluster, as key=value")
	s.StringArrayVar(&f.labels, "labels", nil, "label of the HostedCluster, as key=value")
	s.StringToStringVar(&f.nodeSelector, "node-selector", nil, "labels of the nodes on which the control plane runs")
	s.StringToStringVar(&f.podLabels, "pods-labels", nil, "labels of the pods of the control plane")
	s.StringArrayVar(&f.tolerations, "toleration", nil, "toleration of the pods of the control plane, as key=a,operator=Equal,value=b,effect=NoSchedule")

	s.Int32Var(&f.pool.Replicas, "node-pool-replicas", 1, "nodes in each zone; -1 for no node pools")
	f.pool.Add(cmd)

	s.StringVar(&n.InfraID, "infra-id", "", "infra ID of the cluster, the prefix of all names in AWS (default: the name and a random suffix)")
	s.StringVar(&n.BaseDomain, "base-domain", "", "domain of an existing public hosted zone (required without --infra-json, except with --endpoint-access Private)")
	s.StringVar(&n.BaseDomainPrefix, "base-domain-prefix", "", "prefix of the private zone in the base domain (default: the name of the cluster; none: no prefix)")
	s.StringSliceVar(&n.Zones, "zones", nil, "availability zones, as names or ids such as use1-az1, with a node pool in each (default: the first one that the management cluster serves)")
	s.StringVar(&f.vpcCIDR, "vpc-cidr", "10.0.0.0/16", "addresses of the VPC, a network with a mask of 16 bits")
	s.BoolVar(&n.SingleNATGateway, "single-nat-gateway", false, "one NAT gateway for all zones: it costs less, and all zones depend on one")
	s.BoolVar(&n.PublicOnly, "public-only", false, "only public subnets, without NAT gateways; nodes have public addresses")
	s.BoolVar(&n.Proxy, "enable-proxy", false, "a proxy in the first public subnet instead of NAT gateways; nodes use it")
	s.BoolVar(&n.SecureProxy, "enable-secure-proxy", false, "the same, and nodes connect to the proxy with TLS, with a certificate authority of its own")
	s.StringVar(&f.infraJSON, "infra-json", "", "file with the result of hypershift create infra: the network exists, and is not changed")
	s.StringVar(&f.iamJSON, "iam-json", "", "file with the result of hypershift create iam: the roles exist, and are not changed (needs --infra-json)")
	s.StringVar(&f.bucket, "oidc-storage-provider-s3-bucket-name", "", "bucket with the OIDC documents of clusters (default: that of the operator)")
	s.StringVar(&f.bucketRegion, "oidc-storage-provider-s3-region", "", "region of that bucket (default: that of the operator)")
	s.StringVar(&f.issuerURL, "oidc-issuer-url", "", "issuer with an existing OIDC provider, instead of the bucket")
	s.StringVar(&r.KMSKeyARN, "kms-key-arn", "", "key of KMS that encrypts Secrets in etcd, instead of a Secret; adds the role kms-provider")
	s.BoolVar(&r.AutoNode, "auto-node", false, "create nodes on demand with Karpenter; adds the role karpenter")
	s.BoolVar(&n.WorkerGroup, "worker-security-group", false, "a security group for nodes, in addition to that of the operator")
	s.StringSliceVar(&f.additionalTags, "additional-tags", nil, "tags of all resources in AWS, as key=value")
	f.vpcOwner.Flags(cmd)
}

// complete reads the files, and sets the fields that do not depend on AWS.
func (f *flags) complete() error {
	c := &f.cluster
	c.EndpointAccess = hyperv1.AWSEndpointAccessType(f.endpointAccess)
	c.ControlPlaneAvailability, c.InfrastructureAvailability = hyperv1.AvailabilityPolicy(f.controlPlane), hyperv1.AvailabilityPolicy(f.infrastructure)
	c.NetworkType = hyperv1.NetworkType(f.networkType)
	c.NodeSelector, c.PodLabels = f.nodeSelector, f.podLabels
	c.AutoNode = f.roles.AutoNode
	c.Pool, c.WithoutPools = f.pool.Complete(), f.pool.Replicas == -1
	f.network.Name = c.Name
	// An invalid network is reported with the other problems.
	f.network.VPCCIDR, _ = netip.ParsePrefix(f.vpcCIDR)

	var errs []error
	parse := func(err error) { errs = append(errs, err) }
	tags, err := operation.ParseTags(f.additionalTags)
	parse(err)
	f.network.Tags, f.roles.Tags, c.ResourceTags = tags, tags, tags
	c.Annotations, err = pairs("annotations", f.annotations)
	parse(err)
	c.Labels, err = pairs("labels", f.labels)
	parse(err)
	for _, text := range f.tolerations {
		t, err := toleration(text)
		parse(err)
		c.Tolerations = append(c.Tolerations, t)
	}
	c.PullSecret = []byte(clustermanifests.EmptyPullSecret)
	parse(read("pull-secret", f.pullSecret, &c.PullSecret))
	parse(read("ssh-key", f.sshKey, &c.SSHPublicKey))
	parse(read("additional-trust-bundle", f.trustBundle, &c.TrustBundle))
	parse(read("etcd-encryption-key-file", f.encryptionKey, &c.EncryptionKey))
	if len(c.EncryptionKey) > 0 {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(c.EncryptionKey)))
		if err != nil {
			err = errors.New("--etcd-encryption-key-file: the file is not base64")
		}
		parse(err)
		c.EncryptionKey = key
	}
	var mirrors []byte
	parse(read("image-content-sources", f.imageContentSources, &mirrors))
	if err := yaml.UnmarshalStrict(mirrors, &c.ImageContentSources); err != nil {
		parse(fmt.Errorf("--image-content-sources: %w", err))
	}
	if f.iamJSON != "" && f.infraJSON == "" {
		parse(errors.New("--iam-json needs --infra-json"))
	}
	if f.issuerURL != "" && f.bucket != "" {
		parse(errors.New("--oidc-issuer-url and --oidc-storage-provider-s3-bucket-name exclude each other"))
	}
	parse(f.unused("infra-json", f.infraJSON, "vpc-cidr", "single-nat-gateway", "public-only", "enable-proxy", "enable-secure-proxy", "worker-security-group"))
	parse(f.unused("iam-json", f.iamJSON, "oidc-issuer-url", "oidc-storage-provider-s3-bucket-name", "oidc-storage-provider-s3-region",
		"vpc-owner-role-arn", "vpc-owner-aws-creds"))
	parse(f.readInfra())
	parse(f.readIAM())
	if err := errors.Join(errs...); err != nil {
		return &operation.UsageError{Err: err}
	}
	return nil
}

// unused returns an error if the user has set one of the flags, whose values the file already contains. file is the flag that names it.
func (f *flags) unused(file, path string, flags ...string) error {
	if path == "" {
		return nil
	}
	var errs []error
	for _, flag := range flags {
		if f.changed(flag) {
			errs = append(errs, fmt.Errorf("--%s has no effect with --%s: remove it", flag, file))
		}
	}
	return errors.Join(errs...)
}

func (f *flags) readInfra() error {
	if f.infraJSON == "" {
		return nil
	}
	output, n := &f.cluster.Infra, &f.network
	if err := readJSON("infra-json", f.infraJSON, output); err != nil {
		return err
	}
	for name, pair := range map[string][2]string{"infra-id": {n.InfraID, output.InfraID}, "base-domain": {n.BaseDomain, output.BaseDomain}, "name": {n.Name, output.Name}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return fmt.Errorf("--%s is %s, and --infra-json is of %s", name, pair[0], pair[1])
		}
	}
	if output.VPCID == "" || len(output.Zones) == 0 {
		return errors.New("--infra-json has no VPC or no zones: pass the result of `hypershift create infra aws`")
	}
	if shared := output.VPCCreatorAccountID != ""; f.iamJSON == "" && shared != f.vpcOwner.Given() {
		if shared {
			return fmt.Errorf("the VPC of --infra-json belongs to account %s: pass --vpc-owner-role-arn or --vpc-owner-aws-creds for its roles there", output.VPCCreatorAccountID)
		}
		return errors.New("the VPC of --infra-json is not shared: remove --vpc-owner-role-arn and --vpc-owner-aws-creds")
	}
	if len(n.Zones) > 0 {
		// Fewer zones than the network has.
		all := output.Zones
		output.Zones = nil
		for _, zone := range n.Zones {
			i := slices.IndexFunc(all, func(z infra.OutputZone) bool { return z.Name == zone })
			if i < 0 {
				return fmt.Errorf("--zones has %s, and --infra-json has no subnet there; it has names of zones", zone)
			}
			output.Zones = append(output.Zones, all[i])
		}
	}
	n.InfraID, n.BaseDomain, n.Region, n.BaseDomainPrefix = output.InfraID, output.BaseDomain, output.Region, output.BaseDomainPrefix
	return nil
}

func (f *flags) readIAM() error {
	if f.iamJSON == "" {
		return nil
	}
	output := &f.cluster.IAM
	if err := readJSON("iam-json", f.iamJSON, output); err != nil {
		return err
	}
	if output.InfraID != f.network.InfraID {
		return fmt.Errorf("--iam-json is of infra ID %s, and --infra-json of %s", output.InfraID, f.network.InfraID)
	}
	if key := f.roles.KMSKeyARN; key != "" && key != output.KMSKeyARN {
		return fmt.Errorf("--kms-key-arn is %s, and the roles of --iam-json are for %q", key, output.KMSKeyARN)
	}
	return nil
}

func readJSON(flag, path string, to any) error {
	var text []byte
	if err := read(flag, path, &text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	return nil
}

// read reads the file of a flag, if there is one.
func read(flag, path string, to *[]byte) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--%s: %w", flag, err)
	}
	*to = text
	return nil
}

func pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--%s: %q is not key=value", flag, text)
		}
		m[key] = value
	}
	return m, nil
}

func toleration(text string) (corev1.Toleration, error) {
	var t corev1.Toleration
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch key {
		case "key":
			t.Key = value
		case "operator":
			t.Operator = corev1.TolerationOperator(value)
		case "value":
			t.Value = value
		case "effect":
			t.Effect = corev1.TaintEffect(value)
		case "tolerationSeconds":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return t, fmt.Errorf("--toleration: %q is not a number of seconds", value)
			}
			t.TolerationSeconds = &seconds
		default:
			return t, fmt.Errorf("--toleration: %q is not one of key, operator, value, effect, tolerationSeconds", key)
		}
	}
	return t, nil
}
