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

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// Request is what the flags and the files that they name ask for. It does not depend on AWS or on the management cluster.
type Request struct {
	// Cluster has Infra and IAM only if they are given.
	Cluster clustermanifests.Cluster
	Network infra.Spec
	Roles   clusteriam.Spec
	// VPCOwner is the account of the VPC, if that is another one.
	VPCOwner operation.VPCOwner
	// GivenNetwork and GivenRoles: the network and the roles exist, and are not changed.
	GivenNetwork, GivenRoles bool
	// GivenKey: the user has the key that encrypts Secrets in etcd. Otherwise it is random.
	GivenKey bool
	Issuer   IssuerRequest
}

// IssuerRequest selects the issuer of the cluster's tokens: an existing one by its URL, or the bucket with the OIDC documents. Without
// both, it is the operator's bucket.
type IssuerRequest struct{ URL, Bucket, BucketRegion string }

// request reads the files, and returns all problems of the flags at once.
func (f *flags) request() (Request, error) {
	r := Request{
		Cluster: f.cluster, Network: f.network, Roles: f.roles, VPCOwner: f.vpcOwner,
		GivenNetwork: f.infraJSON != "", GivenRoles: f.iamJSON != "", GivenKey: f.encryptionKey != "",
		Issuer: IssuerRequest{URL: f.issuerURL, Bucket: f.bucket, BucketRegion: f.bucketRegion},
	}
	c := &r.Cluster
	c.EndpointAccess = hyperv1.AWSEndpointAccessType(f.endpointAccess)
	c.ControlPlaneAvailability, c.InfrastructureAvailability = hyperv1.AvailabilityPolicy(f.controlPlane), hyperv1.AvailabilityPolicy(f.infrastructure)
	c.NetworkType = hyperv1.NetworkType(f.networkType)
	c.NodeSelector, c.PodLabels = f.nodeSelector, f.podLabels
	c.AutoNode = r.Roles.AutoNode
	for _, part := range f.capabilities {
		c.Capabilities = append(c.Capabilities, hyperv1.OptionalCapability(part))
	}
	c.Pool, c.WithoutPools = f.pool.Complete(), f.pool.Replicas == -1
	r.Network.Name = c.Name
	// An invalid network is reported with the other problems.
	r.Network.VPCCIDR, _ = netip.ParsePrefix(f.vpcCIDR)
	errs := errors.Join(f.lists(&r), f.files(&r), f.exclusions(), r.readNetwork(f.infraJSON), r.readRoles(f.iamJSON))
	if errs != nil {
		return Request{}, &operation.UsageError{Err: errs}
	}
	return r, nil
}

// lists parses the flags that may be repeated.
func (f *flags) lists(r *Request) error {
	tags, tagErr := operation.ParseTags(f.additionalTags)
	r.Network.Tags, r.Roles.Tags, r.Cluster.ResourceTags = tags, tags, tags
	var annotationErr, labelErr error
	r.Cluster.Annotations, annotationErr = pairs("annotations", f.annotations)
	r.Cluster.Labels, labelErr = pairs("labels", f.labels)
	errs := []error{tagErr, annotationErr, labelErr}
	for _, text := range f.tolerations {
		t, err := toleration(text)
		errs = append(errs, err)
		r.Cluster.Tolerations = append(r.Cluster.Tolerations, t)
	}
	return errors.Join(errs...)
}

// files reads the files of Secrets and ConfigMaps.
func (f *flags) files(r *Request) error {
	c := &r.Cluster
	c.PullSecret = []byte(clustermanifests.EmptyPullSecret)
	var key []byte
	keyErr := read("etcd-encryption-key-file", f.encryptionKey, &key)
	errs := []error{
		read("pull-secret", f.pullSecret, &c.PullSecret),
		read("ssh-key", f.sshKey, &c.SSHPublicKey),
		read("additional-trust-bundle", f.trustBundle, &c.TrustBundle),
		keyErr,
	}
	if f.encryptionKey != "" && keyErr == nil {
		var err error
		c.EncryptionKey, err = base64.StdEncoding.DecodeString(strings.TrimSpace(string(key)))
		switch {
		case err != nil:
			errs = append(errs, errors.New("--etcd-encryption-key-file: the file is not base64"))
		case len(c.EncryptionKey) == 0:
			errs = append(errs, errors.New("--etcd-encryption-key-file: the file has no key: write 32 bytes in base64 into it"))
		}
	}
	var mirrors []byte
	errs = append(errs, read("image-content-sources", f.imageContentSources, &mirrors))
	if err := yaml.UnmarshalStrict(mirrors, &c.ImageContentSources); err != nil {
		errs = append(errs, fmt.Errorf("--image-content-sources: %w", err))
	}
	return errors.Join(errs...)
}

// exclusions returns errors about flags that need or exclude each other.
func (f *flags) exclusions() error {
	var errs []error
	if f.iamJSON != "" && f.infraJSON == "" {
		errs = append(errs, errors.New("--iam-json needs --infra-json"))
	}
	if f.issuerURL != "" && f.bucket != "" {
		errs = append(errs, errors.New("--oidc-issuer-url and --oidc-storage-provider-s3-bucket-name exclude each other"))
	}
	return errors.Join(append(errs,
		f.unused("infra-json", f.infraJSON, "vpc-cidr", "single-nat-gateway", "public-only", "enable-proxy", "enable-secure-proxy", "worker-security-group"),
		f.unused("iam-json", f.iamJSON, "oidc-issuer-url", "oidc-storage-provider-s3-bucket-name", "oidc-storage-provider-s3-region",
			"vpc-owner-role-arn", "vpc-owner-aws-creds"))...)
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

// readNetwork takes the network from the result of create infra.
func (r *Request) readNetwork(path string) error {
	if path == "" {
		return nil
	}
	output, n := &r.Cluster.Infra, &r.Network
	if err := readJSON("infra-json", path, output); err != nil {
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
	if shared := output.VPCCreatorAccountID != ""; !r.GivenRoles && shared != r.VPCOwner.Given() {
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

// readRoles takes the roles from the result of create iam.
func (r *Request) readRoles(path string) error {
	if path == "" {
		return nil
	}
	output := &r.Cluster.IAM
	if err := readJSON("iam-json", path, output); err != nil {
		return err
	}
	if output.InfraID != r.Network.InfraID {
		return fmt.Errorf("--iam-json is of infra ID %s, and --infra-json of %s", output.InfraID, r.Network.InfraID)
	}
	if key := r.Roles.KMSKeyARN; key != "" && key != output.KMSKeyARN {
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
