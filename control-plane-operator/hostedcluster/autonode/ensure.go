package autonode

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A Template holds the inputs of the default EC2NodeClass.
type Template struct {
	userData, image, rootDevice string
	subnets                     []string
	securityGroup               string
}

// defaultRootDevice is the root device of the images of Amazon Linux, Debian and Flatcar. EC2 would make an additional volume for the
// mapping of another device, and the root volume would keep the size of the image.
const defaultRootDevice = "/dev/xvda"

func (t *Template) isComplete() bool {
	return t != nil && t.image != "" && t.subnets != nil && t.securityGroup != ""
}

// Facts are the facts about nodes on demand. Each is known only if the previous fact holds.
type Facts struct {
	// Release is the version of the release, and HasImage is true if it contains Karpenter's image.
	Release  string
	HasImage bool
	// Template is nil while the hypershift-operator has not written its Secret.
	Template *Template
	// Served is true if the API server serves the kinds of Karpenter.
	Served bool
	// Available is true if Karpenter runs in the control plane.
	Available bool
	// ClassReady is true if the default EC2NodeClass is ready, and ClassMessage is the message of its condition otherwise.
	ClassReady   bool
	ClassMessage string
}

// Ensure applies the objects that Karpenter needs in the hosted cluster. A missing input delays only these nodes: it is no error of
// other objects.
func Ensure(ctx context.Context, b *objects.Builder) (f Facts, err error) {
	payload, err := b.Release(ctx)
	if err != nil {
		return f, err
	}
	f.Release, f.HasImage = payload.Version, payload.Components[names.Karpenter] != ""
	if !f.HasImage {
		return f, nil
	}
	if err := b.Ensure(ctx, crds); err != nil {
		return f, err
	}
	if f.Template, err = template(ctx, b.Client, b.HCP); err != nil || !f.Template.isComplete() {
		return f, err
	}
	err = b.Ensure(ctx, defaults(f.Template))
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.Served = true
	component := &hyperv1.ControlPlaneComponent{}
	if err := b.Client.Get(ctx, client.ObjectKey{Namespace: b.HCP.Namespace, Name: names.Karpenter}, component); client.IgnoreNotFound(err) != nil {
		return f, fmt.Errorf("getting ControlPlaneComponent %s: %w", names.Karpenter, err)
	}
	f.Available = meta.IsStatusConditionTrue(component.Status.Conditions, hyperv1.ControlPlaneComponentAvailable)
	if !f.Available {
		return f, nil
	}
	class := &unstructured.Unstructured{}
	class.SetGroupVersionKind(EC2NodeClass)
	if err := b.Cluster.Client.Get(ctx, client.ObjectKey{Name: defaultName}, class); err != nil {
		return f, fmt.Errorf("getting EC2NodeClass %s: %w", defaultName, err)
	}
	f.ClassReady, f.ClassMessage = readReady(class)
	return f, nil
}

// template reads the Template; it is nil while the hypershift-operator has not written it.
func template(ctx context.Context, management client.Reader, hcp *hyperv1.HostedControlPlane) (*Template, error) {
	secret, err := Secret(ctx, management, hcp)
	if secret == nil || err != nil {
		return nil, err
	}
	t := &Template{
		userData: string(secret.Data[names.AutoNodeUserData]), image: string(secret.Data[names.AutoNodeImage]),
		rootDevice: cmp.Or(string(secret.Data[names.AutoNodeRootDevice]), defaultRootDevice),
	}
	if text := string(secret.Data[names.AutoNodeSubnets]); text != "" {
		t.subnets = strings.Split(text, ",")
	}
	if p := hcp.Status.Platform; p != nil && p.AWS != nil {
		t.securityGroup = p.AWS.DefaultWorkerSecurityGroupID
	}
	return t, nil
}

// readReady reads the condition Ready of an object of Karpenter.
func readReady(obj *unstructured.Unstructured) (ready bool, message string) {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" {
			return c["status"] == "True", fmt.Sprint(c["message"])
		}
	}
	return false, "Karpenter has not reconciled it yet"
}
