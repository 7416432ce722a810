package hostedcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// publish writes the documents, and looks at them again every now and then.
func (r *Reconciler) publish(ctx context.Context, s *scope, site oidcdocs.Site) error {
	now := r.Clock.Now()
	if r.published.believed(s.hc.UID, site, now) {
		return nil
	}
	if err := r.record(ctx, s); err != nil {
		return err
	}
	changed, err := r.Documents.Publish(ctx, site)
	var foreign *oidcdocs.ForeignError
	switch {
	case oidcdocs.IsNoBucket(err):
		return reconcile.Wait(time.Minute, hyperv1.OIDCStorageMissingReason,
			"the bucket for OIDC documents does not exist: create it, or start the hypershift-operator with the name of another: %s", awsx.Message(err))
	case errors.As(err, &foreign):
		return reconcile.Wait(time.Minute, hyperv1.OIDCConfigurationInvalidReason, "%v", foreign)
	case err != nil:
		return err
	}
	r.published.remember(s.hc.UID, site, now.Add(wait.Jitter(r.DocumentsAge, 0.5)))
	if changed {
		r.Recorder.Eventf(s.hc, nil, corev1.EventTypeNormal, "OIDCDocumentsPublished", "Publish", "Published the OIDC documents of %s", s.hc.Spec.IssuerURL)
	}
	return nil
}

// record writes down where the documents will be, before they are there: who
// deletes the cluster may have been started with another bucket, or with none.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	if s.hc.Status.OIDCDocuments != nil {
		return nil
	}
	s.hc.Status.OIDCDocuments = r.documentsPlace()
	return s.save(ctx)
}

// documentsElsewhere says that what was recorded is in no bucket of ours.
func (r *Reconciler) documentsElsewhere(s *scope) bool {
	at := s.hc.Status.OIDCDocuments
	return at != nil && (r.Documents == nil || *at != *r.documentsPlace())
}

func (r *Reconciler) documentsPlace() *hyperv1.OIDCDocumentsStatus {
	return &hyperv1.OIDCDocumentsStatus{Bucket: r.Documents.Name(), Region: r.Documents.Region()}
}

// documentsOf names the recorded documents.
func documentsOf(s *scope) string {
	at := s.hc.Status.OIDCDocuments
	return fmt.Sprintf("s3://%s/%s in region %s", at.Bucket, s.hc.Spec.InfraID, at.Region)
}

// removeDocuments comes after everything that needs an AWS identity.
func (r *Reconciler) removeDocuments(ctx context.Context, s *scope) error {
	r.published.forget(s.hc.UID)
	if r.documentsElsewhere(s) {
		return r.leaveDocuments(ctx, s)
	}
	if r.Documents == nil || s.hc.Spec.InfraID == "" {
		return nil
	}
	if err := r.Documents.Remove(ctx, r.emptySite(s)); err != nil {
		return err
	}
	s.hc.Status.OIDCDocuments = nil
	return nil
}

// leaveDocuments waits for an operator that has the bucket, and gives up when
// none comes. The condition remembers since when there is none.
func (r *Reconciler) leaveDocuments(ctx context.Context, s *scope) error {
	was := meta.FindStatusCondition(s.hc.Status.Conditions, hyperv1.ValidOIDCConfiguration)
	seen := was != nil && was.Status == metav1.ConditionUnknown && was.Reason == hyperv1.OIDCStorageMissingReason
	if seen && r.longAgo(s, was.LastTransitionTime.Time) {
		if err := r.leave(ctx, s, nil, "the hypershift-operator was started without the bucket", "OIDC documents "+documentsOf(s)); err != nil {
			return err
		}
		s.hc.Status.OIDCDocuments = nil
		return nil
	}
	message := fmt.Sprintf("the OIDC documents %s cannot be removed: start the hypershift-operator with this bucket; after %s they are left behind", documentsOf(s), giveUpAfter(s))
	return reconcile.Unverified(hyperv1.OIDCStorageMissingReason, "%s", message).About(hyperv1.ValidOIDCConfiguration).
		With(reconcile.Wait(deletionPause, hyperv1.CloudResourcesRemainingReason, "%s", message))
}

// published remembers which documents have been seen in the bucket.
type published struct {
	mu   sync.Mutex
	seen map[types.UID]sighting
}

type sighting struct {
	documents map[string][]byte
	until     time.Time
}

func newPublished() *published { return &published{seen: map[types.UID]sighting{}} }

func (p *published) believed(uid types.UID, site oidcdocs.Site, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, ok := p.seen[uid]
	if !ok || !now.Before(was.until) {
		return false
	}
	for path, text := range site.Documents {
		if !bytes.Equal(was.documents[path], text) {
			return false
		}
	}
	return true
}

func (p *published) remember(uid types.UID, site oidcdocs.Site, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[uid] = sighting{documents: site.Documents, until: until}
}

func (p *published) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen, uid)
}
