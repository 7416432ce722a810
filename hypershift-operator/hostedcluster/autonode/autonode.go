// Package autonode writes the Secret from which nodes on demand are made (spec.autoNode):
//
//	settings of the cluster, address of the API server, token ─► user data ┐
//	release ─► machine image                                               ├─► Secret auto-node ─► control-plane-operator
//	node pools, cloudProviderConfig ─► subnets                             ┘                       ─► EC2NodeClass
//
// All nodes on demand share the user data, because Karpenter has none of one machine. It contains a bootstrap token without an
// end: a new token would be other user data, and Karpenter would replace every node. The token is only an identity for requests.
// The control-plane-operator copies it into the hosted cluster only while a node is expected, and approves only the certificate of
// an instance that Karpenter has just launched (decision 0062).
//
// The user data is written again, with a new token, when its inputs change. Karpenter then replaces the nodes, as a
// node pool does. A new version of the operator alone does not change it.
package autonode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/bootstraptoken"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/clustersettings"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeserver"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Set is the set of the Secret.
const Set = "auto-node"

// A Cluster holds the inputs of one hosted cluster's Secret.
type Cluster struct {
	Plane        controlplane.Namespace
	ControlPlane *hyperv1.HostedControlPlane
	// Release is the release of the nodes.
	Release *release.Release
	Pools   []hyperv1.NodePool
}

// A Writer writes the Secrets.
type Writer struct {
	// Reader reads past the cache.
	Reader  client.Reader
	Applier *apply.Applier
	// Random is where tokens come from.
	Random io.Reader
	// Releases reads the programs of nodes.
	Releases release.Resolver
}

// Ensure writes the Secret.
func (w Writer) Ensure(ctx context.Context, c Cluster) error {
	existing := &corev1.Secret{}
	err := w.Reader.Get(ctx, c.Plane.Key(names.AutoNode), existing)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Secret %s: %w", names.AutoNode, err)
	}
	hcp := c.ControlPlane
	image, _ := c.Release.BootImage(hyperv1.ArchitectureAMD64, hcp.Spec.Platform.AWS.Region) // a missing image: the control-plane-operator reports it
	data, err := w.userData(ctx, c, image.UserDataFormat, existing.Data)
	if err != nil {
		return err
	}
	data[names.AutoNodeImage] = []byte(image.AMI)
	if image.RootDevice != "" {
		data[names.AutoNodeRootDevice] = []byte(image.RootDevice)
	}
	data[names.AutoNodeSubnets] = []byte(strings.Join(subnets(hcp, c.Pools), ","))
	_, err = w.Applier.Apply(ctx, c.Plane.Set(Set, &corev1.SecretList{}), c.Plane.Secret(names.AutoNode, corev1.SecretTypeOpaque, data))
	return err
}

// Remove deletes the Secret.
func (w Writer) Remove(ctx context.Context, plane controlplane.Namespace) error {
	_, err := w.Applier.Apply(ctx, plane.Set(Set, &corev1.SecretList{}))
	return err
}

// userData returns the user data and the token in it: the previous ones if their inputs are unchanged.
func (w Writer) userData(ctx context.Context, c Cluster, format hyperv1.UserDataFormat, existing map[string][]byte) (map[string][]byte, error) {
	settings, err := clustersettings.Gather(ctx, w.Reader, c.ControlPlane)
	if err != nil {
		return nil, err
	}
	in := nodeconfig.Inputs{Cluster: settings, Pool: nodeconfig.Config{Mirrors: mirrors(c.ControlPlane)}, Format: format, Version: "v" + c.Release.KubernetesVersion}
	if in.Programs, err = w.programs(ctx, c); err != nil {
		return nil, err
	}
	node := nodeconfig.Machine{OnDemand: true, Taints: []corev1.Taint{{Key: names.KarpenterTaint, Effect: corev1.TaintEffectNoExecute}}}
	if err := nodeserver.Resolve(ctx, w.Reader, c.ControlPlane, &node); err != nil {
		return nil, err
	}
	also := []string{c.Release.KubernetesVersion, node.Server, node.Advertised.String(), digest(node.CA), digest(node.ClientCA)}
	if in.Programs != nil {
		also = append(also, in.Programs.Digest)
	}
	if format == hyperv1.UserDataFormatCloudConfig {
		also = append(also, string(format))
	}
	hash, err := in.Hash(also...)
	if err != nil {
		return nil, err
	}
	kept := map[string][]byte{}
	for _, key := range []string{names.AutoNodeUserData, names.AutoNodeTokenID, names.AutoNodeTokenSecret, names.AutoNodeInputs} {
		kept[key] = existing[key]
	}
	if string(existing[names.AutoNodeInputs]) == hash && len(existing[names.AutoNodeUserData]) > 0 {
		return kept, nil
	}
	id, secret, err := bootstraptoken.New(w.Random)
	if err != nil {
		return nil, err
	}
	node.Token = id + "." + secret
	text, err := nodeconfig.Render(in, node)
	if err != nil {
		return nil, fmt.Errorf("writing the user data of nodes on demand: %w", err)
	}
	return map[string][]byte{
		names.AutoNodeUserData: text, names.AutoNodeTokenID: []byte(id), names.AutoNodeTokenSecret: []byte(secret), names.AutoNodeInputs: []byte(hash),
	}, nil
}

// programs returns the programs that nodes install, or nil if the release has none: then their image has them.
func (w Writer) programs(ctx context.Context, c Cluster) (*hyperv1.NodePrograms, error) {
	image := c.Release.Components[names.NodePrograms]
	if image == "" {
		return nil, nil //nolint:nilnil // a release without programs is valid
	}
	secret := &corev1.Secret{}
	if err := w.Reader.Get(ctx, c.Plane.Key(names.PullSecret), secret); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.PullSecret, err)
	}
	programs, err := release.From(c.ControlPlane.Spec.ImageContentSources, w.Releases).NodePrograms(ctx, image, hyperv1.ArchitectureAMD64, secret.Data[corev1.DockerConfigJsonKey])
	if err != nil {
		return nil, err
	}
	programs.SandboxImage = c.Release.Components[names.PauseImage]
	return programs, nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func mirrors(hcp *hyperv1.HostedControlPlane) []nodeconfig.Mirror {
	var out []nodeconfig.Mirror
	for _, source := range hcp.Spec.ImageContentSources {
		out = append(out, nodeconfig.Mirror{Source: source.Source, Mirrors: source.Mirrors})
	}
	return out
}

// subnets returns the subnets of the node pools and the one of the cluster: those from which the API server can be reached.
func subnets(hcp *hyperv1.HostedControlPlane, pools []hyperv1.NodePool) []string {
	var ids []string
	add := func(ref *hyperv1.AWSResourceReference) {
		if ref != nil && ref.ID != nil && *ref.ID != "" {
			ids = append(ids, *ref.ID)
		}
	}
	if config := hcp.Spec.Platform.AWS.CloudProviderConfig; config != nil {
		add(config.Subnet)
	}
	for i := range pools {
		if aws := pools[i].Spec.Platform.AWS; aws != nil && pools[i].DeletionTimestamp.IsZero() {
			add(&aws.Subnet)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
