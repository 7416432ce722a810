package etcdbackup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

const (
	// podTimeout is how long a pod may run, and urlsExpire how long it may use its URLs. Credentials of a role last an hour.
	podTimeout, urlsExpire = 50 * time.Minute, time.Hour
	// maxParts bounds the parts of a snapshot, so that all URLs fit into a Secret, and minPartBytes their size from below: S3 requires 5 MiB
	// of each part but the last.
	maxParts, minPartBytes = 100, 8 << 20
	// maxSnapshot is the largest snapshot: that of the largest database that etcd's documentation recommends.
	maxSnapshot = 9 << 30
	programs    = 256 << 20
)

// objectKey returns the key of a backup: each cluster has a prefix of its own, to which the policy of its role is restricted.
func objectKey(b *hyperv1.HCPEtcdBackup, hcp *hyperv1.HostedControlPlane) string {
	name := b.CreationTimestamp.UTC().Format("20060102T150405Z") + "-" + b.Name
	if b.Annotations[hyperv1.EtcdBackupOfMoveAnnotation] == "true" { // an EtcdRestore waits for it
		name = b.Name
	}
	return etcdbackup.ObjectKey(b.Spec.Storage.S3.KeyPrefix, hcp.Spec.InfraID, name)
}

// attemptName is the name of the Secret and of the pod of the present attempt.
func attemptName(b *hyperv1.HCPEtcdBackup) string { return nameOf(b, b.Status.FailedAttempts+1) }

func nameOf(b *hyperv1.HCPEtcdBackup, attempt int32) string {
	name := b.Name
	if len(name) > 200 {
		name = fmt.Sprintf("%s-%x", strings.TrimRight(name[:180], ".-"), sha256.Sum256([]byte(name)))[:200]
	}
	return fmt.Sprintf("%s-%s-%d", etcdbackup.App, name, attempt)
}

// takeSnapshot runs the pod, and waits for the facts of the snapshot.
func (r *Reconciler) takeSnapshot(ctx context.Context, s *scope) error {
	if s.backup.Status.Snapshot != nil {
		return nil
	}
	pod := &corev1.Pod{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.backup.Namespace, Name: attemptName(s.backup)}, pod)
	switch {
	case apierrors.IsNotFound(err):
		return r.startPod(ctx, s)
	case err != nil:
		return fmt.Errorf("reading the pod of the backup: %w", err)
	case !metav1.IsControlledBy(pod, s.backup):
		return reconcile.Wait(6*pollInterval, hyperv1.BackupFailedReason, "pod %s exists and belongs to another owner: delete it", pod.Name)
	}
	started := s.backup.Status.AttemptTime
	if started == nil { // the process that has created the pod did not write it
		started = &metav1.Time{Time: r.Clock.Now()}
		s.backup.Status.AttemptTime = started
	}
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		s.facts, err = etcdbackup.Decode([]byte(message(pod.Status.ContainerStatuses, etcdbackup.UploadContainer)))
		if err != nil || !s.facts.Verified {
			return r.fail(ctx, s, "the pod has left no facts of the snapshot")
		}
		return nil
	case corev1.PodFailed:
		return r.fail(ctx, s, whyFailed(pod))
	}
	if r.Clock.Since(started.Time) > podTimeout+10*time.Minute {
		return r.fail(ctx, s, "the pod did not end in time: "+progress(pod))
	}
	return reconcile.Wait(pollInterval, hyperv1.BackupInProgressReason, "pod %s: %s", pod.Name, progress(pod))
}

// startPod creates the Secret with the URLs, and the pod.
func (r *Reconciler) startPod(ctx context.Context, s *scope) error {
	operator := &appsv1.Deployment{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.backup.Namespace, Name: names.ControlPlaneOperator}, operator); err != nil {
		return fmt.Errorf("reading the Deployment of the control-plane-operator: %w", err)
	}
	largest := largestSnapshot(s.etcd)
	if err := r.ensureUploads(ctx, s, largest); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: r.objectMeta(s), Spec: r.podSpec(s, operator.Spec.Template.Spec, largest)}
	pod.Labels = maps.Clone(operator.Spec.Template.Labels)
	delete(pod.Labels, names.ManagementAccessLabel)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, "app", etcdbackup.App)
	if err := r.create(ctx, s, pod); err != nil {
		return err
	}
	s.backup.Status.AttemptTime = &metav1.Time{Time: r.Clock.Now()}
	return reconcile.Wait(pollInterval, hyperv1.BackupInProgressReason, "pod %s takes the snapshot", pod.Name)
}

// ensureUploads begins an upload and creates the Secret with the URLs of its parts, which is its record. A Secret of a process that died is
// used: the pod fails if its URLs have expired.
func (r *Reconciler) ensureUploads(ctx context.Context, s *scope, largest int64) error {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.backup.Namespace, Name: attemptName(s.backup)}, secret)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := r.openBucket(ctx, s); err != nil {
		return err
	}
	upload, err := r.beginUpload(ctx, s)
	if err != nil {
		return err
	}
	part := max((largest+maxParts-1)/maxParts, minPartBytes)
	urls, err := s.bucket.PartURLs(ctx, s.backup.Status.ObjectKey, upload, int((largest+part-1)/part), urlsExpire)
	if err != nil {
		return err
	}
	text, err := json.Marshal(etcdbackup.Uploads{PartBytes: part, URLs: urls})
	if err != nil {
		return err
	}
	return r.create(ctx, s, &corev1.Secret{ObjectMeta: r.objectMeta(s), Data: map[string][]byte{etcdbackup.UploadsKey: text}})
}

// create creates an object that is deleted with the backup.
func (r *Reconciler) create(ctx context.Context, s *scope, obj client.Object) error {
	if err := controllerutil.SetControllerReference(s.backup, obj, r.Scheme); err != nil {
		return err
	}
	if err := r.Client.Create(ctx, obj); err != nil {
		return fmt.Errorf("creating %T %s: %w", obj, obj.GetName(), err)
	}
	return nil
}

func (r *Reconciler) objectMeta(s *scope) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.backup.Namespace, Name: attemptName(s.backup)}
}

// largestSnapshot is the largest snapshot that the volume of a member permits.
func largestSnapshot(etcd *appsv1.StatefulSet) int64 {
	for i := range etcd.Spec.VolumeClaimTemplates {
		if size := etcd.Spec.VolumeClaimTemplates[i].Spec.Resources.Requests.Storage(); !size.IsZero() {
			return min(size.Value(), maxSnapshot)
		}
	}
	return maxSnapshot
}

// podSpec runs in the place of the control-plane-operator, with its image and the image of the running etcd.
func (r *Reconciler) podSpec(s *scope, operator corev1.PodSpec, largest int64) corev1.PodSpec {
	image, etcdImage := operator.Containers[0].Image, etcdImage(s.etcd)
	work := corev1.VolumeMount{Name: "work", MountPath: etcdbackup.WorkDir}
	container := func(name, image string, memory, limit resource.Quantity, command ...string) corev1.Container {
		return corev1.Container{
			Name: name, Image: image, Command: command, Env: r.Egress, VolumeMounts: []corev1.VolumeMount{work},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: memory},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: limit},
			},
		}
	}
	small, smallLimit := resource.MustParse("32Mi"), resource.MustParse("256Mi")
	// The scratch etcd has an index of all keys in memory.
	scratchLimit := *resource.NewQuantity(512<<20+largest/2, resource.BinarySI)
	take := container(etcdbackup.TakeContainer, image, small, smallLimit, names.ControlPlaneOperator, "etcd-backup-take", "--endpoints="+strings.Join(endpoints(s.etcd), ","))
	take.VolumeMounts = append(take.VolumeMounts, corev1.VolumeMount{Name: "client-tls", MountPath: etcdbackup.ClientCertificateDir, ReadOnly: true})
	verify := container(etcdbackup.VerifyContainer, etcdImage, resource.MustParse("64Mi"), scratchLimit, etcdbackup.Sidecar, "etcd-backup-verify")
	upload := container(etcdbackup.UploadContainer, image, small, smallLimit, "sidecar", "etcd-backup-upload")
	upload.VolumeMounts = append(upload.VolumeMounts, corev1.VolumeMount{Name: "uploads", MountPath: etcdbackup.UploadsDir, ReadOnly: true})
	spec := corev1.PodSpec{
		InitContainers: []corev1.Container{take, verify}, Containers: []corev1.Container{upload},
		RestartPolicy: corev1.RestartPolicyNever, ActiveDeadlineSeconds: ptr.To(int64(podTimeout.Seconds())),
		AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
		ImagePullSecrets: operator.ImagePullSecrets, NodeSelector: operator.NodeSelector, Tolerations: operator.Tolerations,
		PriorityClassName: operator.PriorityClassName, TerminationGracePeriodSeconds: ptr.To[int64](10),
		Volumes: []corev1.Volume{
			{Name: work.Name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(2*largest+programs, resource.BinarySI)}}},
			{Name: "client-tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: names.EtcdClientCertificate}}},
			{Name: "uploads", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: attemptName(s.backup)}}},
		},
	}
	if s.hcp.Spec.AdditionalTrustBundle != nil {
		component.MountTrust(&spec)
	}
	component.Restrict(&spec)
	spec.SecurityContext.RunAsUser, spec.SecurityContext.RunAsGroup, spec.SecurityContext.FSGroup = ptr.To(user), ptr.To(user), ptr.To(user)
	return spec
}

// user owns the files that the containers share.
const user = int64(65532)

func etcdImage(etcd *appsv1.StatefulSet) string {
	for _, c := range etcd.Spec.Template.Spec.Containers {
		if c.Name == names.Etcd {
			return c.Image
		}
	}
	return ""
}

// endpoints returns the client URLs of the members.
func endpoints(etcd *appsv1.StatefulSet) (urls []string) {
	for i := range ptr.Deref(etcd.Spec.Replicas, 1) {
		urls = append(urls, fmt.Sprintf("https://%s-%d.%s.%s.svc:2379", etcd.Name, i, etcd.Spec.ServiceName, etcd.Namespace))
	}
	return urls
}

// removeObjects removes the pod and the Secret of an attempt.
func (r *Reconciler) removeObjects(ctx context.Context, s *scope, attempt int32) error {
	at := metav1.ObjectMeta{Namespace: s.backup.Namespace, Name: nameOf(s.backup, attempt)}
	for _, obj := range []client.Object{&corev1.Pod{ObjectMeta: at}, &corev1.Secret{ObjectMeta: at}} {
		err := r.Reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if err == nil && metav1.IsControlledBy(obj, s.backup) {
			err = reconcile.Delete(ctx, r.Client, obj)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("removing %T %s: %w", obj, obj.GetName(), err)
		}
	}
	return nil
}

// message returns the termination message of a container.
func message(statuses []corev1.ContainerStatus, name string) string {
	for _, c := range statuses {
		if c.Name == name && c.State.Terminated != nil {
			return c.State.Terminated.Message
		}
	}
	return ""
}

// whyFailed returns the last line of the container that failed, or the message of the pod's status.
func whyFailed(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		t := c.State.Terminated
		if t == nil || t.ExitCode == 0 {
			continue
		}
		lines := strings.Split(strings.TrimSpace(t.Message), "\n")
		text := cmp.Or(lines[len(lines)-1], t.Reason, "no message")
		return events.Shorten(c.Name + ": " + text)
	}
	return cmp.Or(pod.Status.Message, pod.Status.Reason, "the pod has failed")
}

// progress returns what a pod that has not ended does or waits for.
func progress(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch w := c.State.Waiting; {
		case c.State.Running != nil:
			return "the container " + c.Name + " runs"
		case w != nil && w.Message != "":
			return fmt.Sprintf("the container %s waits: %s", c.Name, w.Message)
		}
	}
	return "it starts"
}
