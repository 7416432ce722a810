package cluster

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	awsinfra "github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
	rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"
)

// existing is the management cluster, for the objects of one cluster.
type existing struct {
	*management.API
	infraID string
	// randomKey is the name of a Secret that each run generates with another key, of which the first one counts; or "".
	randomKey string
}

func (t Target) existing(m *management.API) existing {
	e := existing{API: m, infraID: t.Network.InfraID}
	if !t.GivenKey {
		e.randomKey = t.Cluster.EncryptionKeyName()
	}
	return e
}

// objects are the nodes of a cluster's objects. An object that an earlier run or the user has created is kept.
type objects struct {
	existing
	// draft is the cluster with examples of the ids of AWS. It has the same objects as the cluster.
	draft clustermanifests.Cluster
	// network returns the network with its ids.
	network func(rg.IDs) awsinfra.Output
	// after are the nodes of AWS, which exist before any object refers to them.
	after []string
}

func (o objects) nodes() []*rg.Node {
	var nodes []*rg.Node
	var namespace, hostedCluster string
	before := slices.Clone(o.after)
	for _, obj := range o.draft.Objects() {
		n := o.node(obj)
		switch obj.(type) {
		case *corev1.Namespace:
			namespace = n.ID
		case *hyperv1.HostedCluster:
			n.Parent, n.DependsOn, hostedCluster = namespace, before, n.ID
		case *hyperv1.NodePool:
			n.DependsOn = []string{hostedCluster}
		default:
			n.Parent, n.DependsOn = namespace, append(slices.Clone(o.after), namespace)
		}
		before = append(before, n.ID)
		nodes = append(nodes, n)
	}
	return nodes
}

// node returns the node of an object of the draft.
func (o objects) node(draft client.Object) *rg.Node {
	n := &rg.Node{
		ID: title(draft), Kind: draft.GetObjectKind().GroupVersionKind().Kind, Name: nameOf(draft), Repeatable: true, Classify: classify,
		// The name alone finds the object.
		ReadsAlone: true,
		// Nothing updates an object: `create` changes none. An object of a network that was deleted and created again has other ids.
		Desired: func(ids rg.IDs) rg.Attributes {
			obj, known := o.object(draft, ids)
			if !known {
				return nil
			}
			return ofAWS(draft, obj)
		},
	}
	n.Read = func(ctx context.Context, _ rg.Lookup) (rg.Observed, error) {
		found, err := o.read(ctx, draft)
		_, isNamespace := draft.(*corev1.Namespace)
		switch {
		case isNamespace && apierrors.IsForbidden(err):
			// The user may have a namespace and no right to read it. The next object shows whether it exists.
			return rg.Observed{ID: n.Name}, nil
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // the creation shows whether an object exists that the user may not read
			return rg.Observed{}, nil
		case err != nil:
			return rg.Observed{}, err
		}
		err = o.conflict(found, draft)
		var usage *operation.UsageError
		if errors.As(err, &usage) {
			err = usage.Err // it was correct before the calls to AWS: someone has changed the object meanwhile
		}
		return rg.Observed{ID: n.Name, Attributes: ofAWS(draft, found)}, err
	}
	n.Create = func(ctx context.Context, c rg.Creation) (rg.Observed, error) {
		obj, known := o.object(draft, c.IDs)
		if !known {
			return rg.Observed{}, errors.New("the network has no content for it")
		}
		return rg.Observed{ID: n.Name}, o.API.Create(ctx, obj)
	}
	return n
}

// object returns an object of the draft with the ids of AWS. It returns false if the network does not have the content of the object yet.
func (o objects) object(draft client.Object, ids rg.IDs) (client.Object, bool) {
	c := o.draft
	c.Infra = o.network(ids)
	for _, obj := range c.Objects() {
		if title(obj) == title(draft) {
			return obj, true
		}
	}
	return nil, false
}

// ofAWS returns the values of an object that AWS chooses. The objects are of the scheme, which converts each of them.
func ofAWS(draft, obj client.Object) rg.Attributes {
	chosen, err := clustermanifests.Chosen(draft, obj)
	utilruntime.Must(err)
	return chosen
}

// read returns the existing object of the name.
func (m existing) read(ctx context.Context, obj client.Object) (client.Object, error) {
	found := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(client.Object)
	return found, m.Get(ctx, client.ObjectKeyFromObject(obj), found)
}

// conflict returns an error if an existing object belongs to another cluster, or has other values than this command requests.
func (m existing) conflict(found, obj client.Object) error {
	if hc, ok := found.(*hyperv1.HostedCluster); ok && hc.Spec.InfraID != m.infraID {
		return fmt.Errorf("%s exists with infra ID %s, not %s: someone has created it meanwhile", title(obj), hc.Spec.InfraID, m.infraID)
	}
	if other := found.GetLabels()[clustermanifests.InfraIDLabel]; other != "" && other != m.infraID {
		return fmt.Errorf("%s exists and belongs to infra ID %s, not %s: delete it, and run the same command again", title(obj), other, m.infraID)
	}
	if m.randomKey != "" && obj.GetName() == m.randomKey {
		return nil
	}
	return management.RefuseDifferences(title(obj), found, obj)
}

// classify returns the class of an error of the API server.
func classify(err error) rg.Class {
	switch {
	case apierrors.IsAlreadyExists(err):
		return rg.Exists
	case apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err):
		return rg.Throttled
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), utilnet.IsTimeout(err), utilnet.IsConnectionRefused(err), utilnet.IsConnectionReset(err), utilnet.IsProbableEOF(err):
		return rg.Unknown
	}
	return rg.Fatal
}

func nameOf(obj client.Object) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}

func title(obj client.Object) string {
	return obj.GetObjectKind().GroupVersionKind().Kind + " " + nameOf(obj)
}
