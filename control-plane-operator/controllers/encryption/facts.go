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

// gather reads what the next stage depends on.
func (r *Reconciler) gather(ctx context.Context, s *scope) error {
	if err := r.gatherKeys(ctx, s); err != nil {
		return err
	}
	if !s.moving() {
		return nil // the API servers have nothing to take over
	}
	return r.gatherServers(ctx, s)
}

// gatherKeys reads which keys the user wants, and which the configuration has.
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

// gatherServers reads which configuration there is, and which API servers run
// it: past the cache, as the answer decides what may be encrypted and dropped.
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

// encrypting reports whether the API servers are started with a configuration,
// be it by an operator that did not put the annotation on their pods.
func encrypting(servers *appsv1.Deployment) bool {
	return slices.ContainsFunc(servers.Spec.Template.Spec.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--encryption-provider-config=") })
	})
}

// complete reports whether no pod of an older template is left, nor is to be made.
func complete(servers *appsv1.Deployment) bool {
	wanted, is := ptr.Deref(servers.Spec.Replicas, 1), servers.Status
	return is.ObservedGeneration >= servers.Generation && is.UpdatedReplicas == is.Replicas && is.AvailableReplicas >= wanted
}

// behind counts the API servers that were started with something else. One that
// is being terminated serves for some seconds, and counts.
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
