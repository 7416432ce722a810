package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// The exit code of a usage error means that no call was made. At this point, the network and the roles exist.
func TestObjectThatHasChangedMeanwhileIsNoUsageError(t *testing.T) {
	secret := func(value string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-pull-secret"}, Data: map[string][]byte{"key": []byte(value)}}
	}
	m := &management.API{Client: fake.NewClientBuilder().WithObjects(secret("other")).Build()}
	err := existing{API: m}.create(t.Context(), operation.Environment{Err: &bytes.Buffer{}}, secret("wanted"))
	var usage *operation.UsageError
	if err == nil || errors.As(err, &usage) || !strings.Contains(err.Error(), "data.key has another value") {
		t.Errorf("got %T %v", err, err)
	}
}
