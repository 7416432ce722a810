package autonode

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Secret returns the Secret in which the hypershift-operator describes nodes on demand, or nil.
func Secret(ctx context.Context, management client.Reader, hcp *hyperv1.HostedControlPlane) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := management.Get(ctx, client.ObjectKey{Namespace: hcp.Namespace, Name: names.AutoNode}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s: %w", names.AutoNode, err)
	}
	return secret, nil
}

// ExpectedUntil returns until when a node on demand may join, or the zero time if none is expected.
func ExpectedUntil(claims []Claim, now time.Time) time.Time {
	var last time.Time
	for i := range claims {
		if c := &claims[i]; c.isExpected(now) && c.created.After(last) {
			last = c.created.Time
		}
	}
	if last.IsZero() {
		return last
	}
	return last.Add(nodeExpected)
}

// Token returns the bootstrap token of the nodes on demand for the hosted cluster, or nil if its Secret is not valid. All nodes have it
// in their user data, because Karpenter has no user data of one machine, and a new token would replace all nodes. It exists in the
// hosted cluster only while a node is expected, and yields only the certificate of an expected node (package certificaterequests).
func Token(secret *corev1.Secret, until, now time.Time) *corev1.Secret {
	return objects.BootstrapToken(tokenOnDemand(secret, until), now)
}

// tokenOnDemand returns the token in the Secret of the nodes on demand, as a token that is valid until then.
func tokenOnDemand(secret *corev1.Secret, ends time.Time) *corev1.Secret {
	return &corev1.Secret{
		Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               secret.Data[names.AutoNodeTokenID],
			bootstrapapi.BootstrapTokenSecretKey:           secret.Data[names.AutoNodeTokenSecret],
			bootstrapapi.BootstrapTokenExpirationKey:       []byte(ends.UTC().Format(time.RFC3339)),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(bootstrapapi.BootstrapDefaultGroup + ":" + names.AutoNode),
			bootstrapapi.BootstrapTokenDescriptionKey:      []byte("nodes on demand"),
		},
	}
}
