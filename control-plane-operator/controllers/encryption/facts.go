package encryption

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// gather reads the inputs of the next stage.
func (r *Reconciler) gather(ctx context.Context, s *scope) error {
	if err := r.gatherKeys(ctx, s); err != nil {
		return err
	}
	if !s.moving() {
		return nil // no change for the API servers
	}
	return r.gatherServers(ctx, s)
}

// gatherKeys reads the keys in the spec and in the configuration.
func (r *Reconciler) gatherKeys(ctx context.Context, s *scope) error {
	list := &corev1.SecretList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Secrets: %w", err)
	}
	s.secrets = map[string]*corev1.Secret{}
	for i := range list.Items {
		s.secrets[list.Items[i].Name] = &list.Items[i]
	}
	s.facts = secretencryption.Facts{Now: r.Clock.Now()}
	s.facts.Goal, s.facts.Backup, s.fault = kubeapiserver.SpecKeys(s.hcp, s.secrets)
	return nil
}

// gatherServers reads the configuration and the API servers that run it. It uses live reads, because the result decides
// which keys encrypt data and which are dropped.
func (r *Reconciler) gatherServers(ctx context.Context, s *scope) error {
	config, servers := &corev1.Secret{}, &appsv1.Deployment{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: kubeapiserver.EncryptionSecret}, config)
	if apierrors.IsNotFound(err) {
		config = nil
		delete(s.secrets, kubeapiserver.EncryptionSecret)
	} else if err != nil {
		return fmt.Errorf("getting Secret %s: %w", kubeapiserver.EncryptionSecret, err)
	} else {
		s.secrets[kubeapiserver.EncryptionSecret] = config
	}
	if s.facts.Present, err = kubeapiserver.ConfiguredKeys(config); err != nil {
		s.fault = err
		return nil
	}
	err = r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KubeAPIServer}, servers)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting Deployment %s: %w", names.KubeAPIServer, err)
	}
	s.facts.Running, s.facts.Encrypting = true, encrypting(servers)
	s.servers, s.revision = servers.UID, servers.Generation
	if config == nil {
		return nil
	}
	pods := &corev1.PodList{}
	if err := r.Reader.List(ctx, pods, client.InNamespace(s.hcp.Namespace), client.MatchingLabels{"app": names.KubeAPIServer}); err != nil {
		return fmt.Errorf("listing the pods of %s: %w", names.KubeAPIServer, err)
	}
	fingerprint := kubeapiserver.EncryptionFingerprint(config)
	s.behind = behind(pods.Items, fingerprint)
	s.facts.RolledOut = s.behind == 0 && complete(servers) && servers.Spec.Template.Annotations[kubeapiserver.EncryptionAnnotation] == fingerprint
	return nil
}

// encrypting returns whether the API servers run with an encryption configuration, even if an older operator did not add
// the annotation.
func encrypting(servers *appsv1.Deployment) bool {
	return slices.ContainsFunc(servers.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--encryption-provider-config=") })
	})
}

// complete returns whether the roll-out is complete: all replicas are available, and no pod of an older template is
// left. Without replicas, no API server has the configuration.
func complete(servers *appsv1.Deployment) bool {
	wanted, status := ptr.Deref(servers.Spec.Replicas, 1), servers.Status
	return wanted > 0 && status.ObservedGeneration >= servers.Generation && status.UpdatedReplicas == status.Replicas && status.AvailableReplicas >= wanted
}

// behind counts the API servers that run with another configuration. It includes terminating pods, which serve for some
// seconds.
func behind(pods []corev1.Pod, fingerprint string) int {
	count := 0
	for _, pod := range pods {
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !over && pod.Annotations[kubeapiserver.EncryptionAnnotation] != fingerprint {
			count++
		}
	}
	return count
}
