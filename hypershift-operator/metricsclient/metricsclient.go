// Package metricsclient makes the certificate by which a collector reads the
// metrics of all control-plane-operators. A control-plane-operator runs in a
// tenant's namespace: it may not review tokens of the management cluster, and must
// not be shown one that opens anything else. A client certificate gives away
// nothing to the server that it is shown to.
//
//	hypershift-metrics-signer   the authority; only the hypershift-operator reads it
//	hypershift-metrics-client   the certificate, for the PodMonitor of the chart
//
// Control planes get the authority's certificate alone.
package metricsclient

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// The Secrets, in the namespace of the operator.
const (
	signerName = "hypershift-metrics-signer"
	clientName = "hypershift-metrics-client"
)

// interval is how often the certificate is checked: it is renewed months before
// it ends.
const interval = 12 * time.Hour

var wanted = pki.Request{User: "hypershift-metrics-reader", Usage: pki.Client}

// Issuer issues the certificate. It is a Runnable, which renews it.
type Issuer struct {
	// Client writes, and Reader reads from the API server.
	Client    client.Client
	Reader    client.Reader
	Clock     clock.WithTicker
	Namespace string
}

// Start renews the certificate until ctx ends.
func (i *Issuer) Start(ctx context.Context) error {
	for {
		if _, err := i.Ensure(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Renewing the certificate of those who collect metrics")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-i.Clock.After(interval):
		}
	}
}

// Ensure makes what is missing or due, and returns the authority's certificate,
// PEM. Replicas of the operator may do it at the same time.
func (i *Issuer) Ensure(ctx context.Context) (trust []byte, err error) {
	again := func(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) }
	err = retry.OnError(retry.DefaultRetry, again, func() error {
		signer, err := i.signer(ctx)
		if err != nil {
			return err
		}
		trust = signer.Trust()
		return i.client(ctx, signer)
	})
	return trust, err
}

func (i *Issuer) signer(ctx context.Context) (*pki.Signer, error) {
	secret, err := i.get(ctx, signerName)
	if err != nil {
		return nil, err
	}
	if len(secret.Data) > 0 {
		signer, err := pki.DecodeSigner(secret.Data)
		if err != nil {
			return nil, fmt.Errorf("reading Secret %s/%s: %w; delete it, and another one is made", i.Namespace, signerName, err)
		}
		if !signer.Expired(i.Clock.Now()) {
			return signer, nil
		}
	}
	signer, err := pki.NewSigner(signerName, "", i.Clock.Now())
	if err != nil {
		return nil, err
	}
	data, err := signer.Data()
	if err != nil {
		return nil, err
	}
	return signer, i.write(ctx, secret, data)
}

func (i *Issuer) client(ctx context.Context, signer *pki.Signer) error {
	secret, err := i.get(ctx, clientName)
	if err != nil {
		return err
	}
	if _, reason := pki.Evaluate(secret.Data, wanted, signer.Current, pki.DefaultTerms, i.Clock.Now()); reason == "" {
		return nil
	}
	leaf, err := signer.Current.Issue(wanted, pki.DefaultTerms, i.Clock.Now())
	if err != nil {
		return err
	}
	return i.write(ctx, secret, leaf.Data(signer.Trust()))
}

// get returns an empty Secret if there is none.
func (i *Issuer) get(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: i.Namespace, Name: name}}
	if err := i.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting Secret %s/%s: %w", i.Namespace, name, err)
	}
	return secret, nil
}

// write fails if another replica has written in the meantime.
func (i *Issuer) write(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	was := secret.DeepCopy()
	secret.Data = data
	var err error
	if was.ResourceVersion == "" {
		err = i.Client.Create(ctx, secret)
	} else {
		err = i.Client.Patch(ctx, secret, client.MergeFromWithOptions(was, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", i.Namespace, secret.Name, err)
	}
	return nil
}
