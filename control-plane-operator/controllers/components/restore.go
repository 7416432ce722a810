package components

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	components "github.com/hosted-control-planes/hypershift/control-plane-operator/components/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// recordRestore records which EtcdRestore etcd begins with. From then on the members replace data from before it, so it waits until no program
// of the control plane runs with that data. A cluster that has never been up has none: its members wait for the first snapshot.
func (r *Reconciler) recordRestore(ctx context.Context, s *scope) error {
	wanted := s.hcp.Annotations[hyperv1.EtcdRestoreAnnotation]
	if s.paused || wanted == "" || wanted == s.hcp.Status.EtcdRestore {
		return nil
	}
	first := !s.hcp.Status.Initialized && (s.hcp.Status.EtcdRestore != "" || s.configMaps[components.ConfigMap] == nil)
	stopped := s.hcp.Sleeps() && !s.serving && len(s.pods) == 0
	switch {
	case stopped:
		if err := r.replaceVolumes(ctx, s, wanted); err != nil {
			return err
		}
	case !first:
		return nil
	}
	s.hcp.Status.EtcdRestore = wanted
	// The status has it before a member does: without it the members would keep their data.
	return s.status.Write(ctx)
}

// replaceVolumes deletes the volumes of the members if the restore requests it. The StatefulSet creates others with its pods.
func (r *Reconciler) replaceVolumes(ctx context.Context, s *scope, wanted string) error {
	secret := s.secrets[etcdbackup.RestoreSecret]
	if secret == nil {
		return reconcile.Wait(time.Second, hyperv1.WaitingForReason, "waiting for Secret %s", etcdbackup.RestoreSecret)
	}
	request, err := etcdbackup.DecodeRestore(secret.Data[etcdbackup.RestoreKey])
	if err != nil || request.ID != wanted {
		return reconcile.Wait(time.Second, hyperv1.WaitingForReason, "waiting for the request of the restore in Secret %s", etcdbackup.RestoreSecret)
	}
	if !request.ReplaceVolumes {
		return nil
	}
	left := false
	for _, member := range etcd.Of(s.hcp).Members() {
		if member == request.Member {
			continue
		}
		claim := &metav1.PartialObjectMetadata{}
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
		err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: etcd.Claim(member)}, claim)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("getting the volume claim of %s: %w", member, err)
		}
		if err != nil {
			continue
		}
		left = true
		if err := reconcile.Delete(ctx, r.Client, claim); err != nil {
			return err
		}
	}
	if left {
		return reconcile.Wait(time.Second, hyperv1.WaitingForReason, "waiting until the volumes of etcd are deleted")
	}
	return nil
}
