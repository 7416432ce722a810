package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// recordAnnotation is on the Namespace of a control plane that has, or had,
// endpoint services. All that is in the namespace the tenant's operator may
// write or ask to have written; the Namespace itself it may not.
const recordAnnotation = "hypershift.openshift.io/endpoint-services"

// A record holds the facts that deletion needs after the HostedControlPlane is deleted.
type record struct {
	// Owners are the UIDs of the HostedControlPlanes that the namespace had.
	Owners []string `json:"owners"`
	awsx.Location
}

// recordOn returns the record on ns, without owners if the record does not exist.
func recordOn(ns *corev1.Namespace) (record, error) {
	var rec record
	text, ok := ns.Annotations[recordAnnotation]
	if !ok {
		return rec, nil
	}
	if err := json.Unmarshal([]byte(text), &rec); err != nil {
		return rec, reconcile.Block(hyperv1.UnreadableReason, "annotation %s of namespace %s cannot be read, and without it the owners of endpoint services are not known: %v", recordAnnotation, ns.Name, err)
	}
	return rec, nil
}

// newLedger returns the ledger of the endpoint services. Finalizer and tag keys are recorded by ensureClaim, the owner
// and the location on the Namespace.
func (r *Reconciler) newLedger() *ledger.Ledger[*scope] {
	return ledger.New(ledger.Options[*scope]{
		Recorder: r.Recorder, Clock: r.Clock,
		Object:    func(s *scope) client.Object { return s.es },
		Finalizer: hyperv1.HypershiftOperatorFinalizer,
		Store:     func(s *scope) ledger.Store { return namespaceRecord{r, s} },
		HasRecord: func(s *scope) bool { return len(s.record.Owners) > 0 },
		Awaiting:  reconcile.Waiting{Reason: hyperv1.DeletingReason, Message: "making sure that no endpoint service was just made"},
		Resources: []ledger.Resource[*scope]{r.service},
	})
}

// namespaceRecord stores the record of an object on its Namespace.
type namespaceRecord struct {
	r *Reconciler
	s *scope
}

// AddFinalizer is empty: the claim contains the finalizer.
func (namespaceRecord) AddFinalizer(context.Context, string) error { return nil }

// RemoveFinalizer removes it from the object.
func (n namespaceRecord) RemoveFinalizer(ctx context.Context, finalizer string) error {
	return n.s.status.RemoveFinalizer(ctx, finalizer)
}

// Write records the owner and the location of endpoint services before the first one is
// created.
func (n namespaceRecord) Write(ctx context.Context) error {
	ns := n.s.namespace
	rec, err := recordOn(ns)
	if err != nil {
		return err
	}
	here, err := awsx.LocationOf(n.s.balancer.ARN)
	if err != nil {
		return err
	}
	owner := string(n.s.hcp.UID)
	if len(rec.Owners) > 0 && rec.Location != here {
		return elsewhere(rec.Location, here)
	}
	if slices.Contains(rec.Owners, owner) {
		return nil
	}
	text, err := json.Marshal(record{Owners: append(rec.Owners, owner), Location: here})
	if err != nil {
		return err
	}
	// No lock by resource version: all objects of the cluster write the same value. The UID keeps it off a later namespace.
	patch := mergepatch.Metadata(map[string]any{"uid": ns.UID, "annotations": map[string]string{recordAnnotation: string(text)}})
	if err := n.r.Client.Patch(ctx, ns, patch, client.FieldOwner(names.HypershiftOperator)); err != nil {
		return fmt.Errorf("recording the owner of endpoint services on namespace %s: %w", ns.Name, err)
	}
	return nil
}

// An entry is in the status. The record on the Namespace is the intent, and it stays:
// at deletion a service may have been created just before.
type entry struct{ *scope }

func (e entry) ID() string { return e.es.Status.EndpointServiceName }

// SetID keeps the name of a service that is gone, until the object is.
func (e entry) SetID(name string) {
	if name != "" {
		e.es.Status.EndpointServiceName = name
	}
}

func (entry) Creating() bool   { return true }
func (entry) SetCreating(bool) {}

// recorded returns the record for an object that is being deleted. It is read past the cache if the cache has no record, because the cache
// may lag.
func (r *Reconciler) recorded(ctx context.Context, s *scope) (record, error) {
	if s.namespace != nil {
		if rec, err := recordOn(s.namespace); err != nil || len(rec.Owners) > 0 {
			return rec, err
		}
	}
	ns := &corev1.Namespace{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: s.es.Namespace}, ns); err != nil {
		return record{}, fmt.Errorf("getting namespace %s: %w", s.es.Namespace, err)
	}
	return recordOn(ns)
}

// checkLocation fails unless the services were created in our own location: they
// are not found in any other, and would be taken for deleted.
func (r *Reconciler) checkLocation(ctx context.Context, recorded awsx.Location) error {
	here, err := r.Caller.Location(ctx)
	if err != nil {
		return err
	}
	if recorded != here {
		return elsewhere(recorded, here)
	}
	return nil
}

func elsewhere(recorded, here awsx.Location) error {
	return reconcile.Wait(0, hyperv1.EndpointServicesElsewhereReason,
		"the endpoint services of this cluster are in %s, and the hypershift-operator works in %s: start it with the region and credentials of the former", recorded, here)
}
