package oidc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	k8svalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/cache"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// A Publisher keeps the documents of hosted clusters in the bucket of the
// installation. Its methods may be called concurrently.
type Publisher struct {
	bucket *oidcdocs.Bucket
	// maxAge is how long published documents are assumed to exist.
	maxAge time.Duration

	// observed are the documents that the bucket had, by the UID of the cluster. They
	// are dropped when the documents are removed.
	observed *cache.Keyed[types.UID, map[string][]byte]
}

// maxObserved is how many clusters are cached. The documents of others are read again
// in each reconcile.
const maxObserved = 10000

// NewPublisher returns a Publisher. bucket is nil for an installation without one.
func NewPublisher(bucket *oidcdocs.Bucket, clock clock.PassiveClock, maxAge time.Duration) *Publisher {
	return &Publisher{bucket: bucket, maxAge: maxAge, observed: cache.NewKeyed[types.UID, map[string][]byte](clock, maxObserved)}
}

// An Issuer holds the facts about a hosted cluster that the Publisher needs.
type Issuer struct {
	UID          types.UID
	URL, InfraID string
	// Recorded is where the documents are, nil before they are published.
	Recorded *hyperv1.OIDCDocumentsStatus
	// KeySecret names the Secret with the signing key, for messages.
	KeySecret string
}

// IssuerOf returns the issuer of a HostedCluster.
func IssuerOf(hc *hyperv1.HostedCluster) Issuer {
	return Issuer{
		UID: hc.UID, URL: hc.Spec.IssuerURL, InfraID: hc.Spec.InfraID, Recorded: hc.Status.OIDCDocuments,
		KeySecret: names.ControlPlaneNamespace(hc.Namespace, hc.Name) + "/" + names.ServiceAccountSigningKey,
	}
}

// String describes where the recorded documents are.
func (i Issuer) String() string {
	return fmt.Sprintf("s3://%s/%s in region %s", i.Recorded.Bucket, i.InfraID, i.Recorded.Region)
}

// Location is where the Publisher writes documents, nil without a bucket.
func (p *Publisher) Location() *hyperv1.OIDCDocumentsStatus {
	if p.bucket == nil {
		return nil
	}
	return &hyperv1.OIDCDocumentsStatus{Bucket: p.bucket.Name(), Region: p.bucket.Region()}
}

// IsElsewhere reports whether documents were recorded in another bucket.
func (p *Publisher) IsElsewhere(i Issuer) bool {
	return i.Recorded != nil && (p.bucket == nil || *i.Recorded != *p.Location())
}

// InfraIDFor returns the infraID that a URL of this bucket contains, "" for any
// other URL. Documents are at <issuer>/<infraID>, and neither of the two can be
// changed afterwards.
func (p *Publisher) InfraIDFor(issuerURL string) string {
	at := ParseIssuer(issuerURL)
	if p.bucket == nil || !at.IsIn(p.bucket.Name(), p.bucket.Region()) || len(k8svalidation.IsDNS1123Subdomain(at.Prefix)) > 0 {
		return ""
	}
	return at.Prefix
}

// URLFor returns the issuer URL under which S3 serves documents with the prefix,
// "" without a bucket.
func (p *Publisher) URLFor(prefix string) string {
	if p.bucket == nil {
		return ""
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(p.bucket.Region(), "cn-") {
		domain = "amazonaws.com.cn"
	}
	return fmt.Sprintf("https://%s.s3.%s.%s/%s", p.bucket.Name(), p.bucket.Region(), domain, prefix)
}

// Site returns the documents that have to be published.
func (p *Publisher) Site(i Issuer, publicKeys []byte) (oidcdocs.Site, error) {
	var none oidcdocs.Site
	if p.bucket == nil {
		return none, reconcile.Block(hyperv1.OIDCStorageMissingReason,
			"this installation has no bucket for OIDC documents: start the hypershift-operator with --oidc-storage-provider-s3-bucket-name, or set spec.serviceAccountSigningKey and publish the documents yourself")
	}
	if p.IsElsewhere(i) {
		return none, reconcile.Block(hyperv1.OIDCStorageMissingReason, "the OIDC documents are %s, and the hypershift-operator was started with bucket %s in region %s: start it with the former",
			i, p.bucket.Name(), p.bucket.Region())
	}
	at := ParseIssuer(i.URL)
	managed := at.Bucket == "" || at.IsIn(p.bucket.Name(), p.bucket.Region())
	if !managed || !strings.HasSuffix("/"+at.Prefix, "/"+i.InfraID) || at.Bucket != "" && at.Prefix != i.InfraID {
		return none, reconcile.Block(hyperv1.OIDCConfigurationInvalidReason,
			"spec.issuerURL %s is not where this installation publishes the OIDC documents of infraID %s: create the cluster with spec.issuerURL %s, or with spec.serviceAccountSigningKey and publish them yourself",
			i.URL, i.InfraID, p.URLFor(i.InfraID))
	}
	jwks, err := webidentity.JWKS(publicKeys)
	if err != nil {
		return none, reconcile.Block(hyperv1.InvalidSecretReason, "Secret %s does not hold the cluster's key any more: %v", i.KeySecret, err)
	}
	discovery, err := webidentity.Discovery(i.URL, publicKeys)
	if err != nil {
		return none, err
	}
	site := emptySite(i)
	site.Documents[webidentity.DiscoveryPath] = discovery
	site.Documents[webidentity.JWKSPath] = jwks
	return site, nil
}

// ProofOf returns the proof that documents of another owner belong to the cluster that signs with this key: they have it, and no other cluster
// has its private part. The cluster has moved from another management cluster.
func ProofOf(keyID string) func(map[string][]byte) bool {
	return func(existing map[string][]byte) bool {
		return webidentity.HasKey(existing[webidentity.JWKSPath], keyID)
	}
}

// Publish writes the documents and reads them again from time to time. record is
// called before the first write: the operator that deletes the cluster may have
// another bucket, or none.
func (p *Publisher) Publish(ctx context.Context, i Issuer, site oidcdocs.Site, record func(context.Context) error) (changed bool, err error) {
	if p.isCurrent(i.UID, site) {
		return false, nil
	}
	if err := record(ctx); err != nil {
		return false, err
	}
	changed, err = p.bucket.Publish(ctx, site)
	var foreign *oidcdocs.ForeignError
	switch {
	case oidcdocs.IsNoBucket(err):
		return false, reconcile.Wait(time.Minute, hyperv1.OIDCStorageMissingReason,
			"the bucket for OIDC documents does not exist: create it, or start the hypershift-operator with the name of another: %s", awsx.Message(err))
	case errors.As(err, &foreign):
		return false, reconcile.Wait(time.Minute, hyperv1.OIDCConfigurationInvalidReason, "%v", foreign)
	case err != nil:
		return false, err
	}
	p.observed.Put(i.UID, site.Documents, wait.Jitter(p.maxAge, 0.5))
	return changed, nil
}

// Remove deletes the documents of a cluster, if they are in this bucket.
func (p *Publisher) Remove(ctx context.Context, i Issuer) error {
	p.Forget(i.UID)
	if p.bucket == nil || i.InfraID == "" {
		return nil
	}
	return p.bucket.Remove(ctx, emptySite(i))
}

// Forget drops the observations about a cluster.
func (p *Publisher) Forget(uid types.UID) { p.observed.Forget(uid) }

// emptySite names the documents of a cluster without their contents.
func emptySite(i Issuer) oidcdocs.Site {
	return oidcdocs.Site{
		Prefix:    i.InfraID,
		Owner:     string(i.UID),
		Documents: map[string][]byte{webidentity.DiscoveryPath: nil, webidentity.JWKSPath: nil},
	}
}

func (p *Publisher) isCurrent(uid types.UID, site oidcdocs.Site) bool {
	observed, fresh := p.observed.Fresh(uid)
	if !fresh {
		return false
	}
	for path, text := range site.Documents {
		if !bytes.Equal(observed[path], text) {
			return false
		}
	}
	return true
}
