// Package snapshot writes a snapshot of a hosted cluster's etcd, from which another cluster can be restored. It is a
// command for people, in the pod of the control-plane-operator:
//
//	kubectl exec deployment/control-plane-operator -- control-plane-operator etcd-snapshot > demo.db
//
// The snapshot is taken from a ready member. No member is ready without a majority. With --member=etcd-0 it is taken
// from this member, ready or not, such as the last one of a cluster that has lost the others.
//
// Messages are written to standard error. The checksum is the last one: without it the snapshot is incomplete.
package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Command is the name of the subcommand.
const Command = "etcd-snapshot"

// Source is a client that returns snapshots.
type Source interface {
	Snapshot(context.Context) (io.ReadCloser, error)
}

// Run reads the arguments after the name of the subcommand and writes a
// snapshot to standard output.
func Run(ctx context.Context, args []string) error {
	o, err := parse(args, serviceAccount)
	if err != nil {
		return err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the management cluster: %w", err)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("making a client of the management cluster: %w", err)
	}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: names.EtcdClientCertificate}, secret); err != nil {
		return fmt.Errorf("reading the client certificate for etcd: %w", err)
	}
	identity, err := etcd.Identity(secret.Data)
	if err != nil {
		return err
	}
	members, err := etcd.Connect([]string{o.endpoint()}, identity)
	if err != nil {
		return err
	}
	defer func() { _ = members.Close() }() // no request is pending on the connection
	checksum, err := Save(ctx, members, os.Stdout)
	if err != nil {
		return err
	}
	log := logr.FromContextOrDiscard(ctx)
	if err := record(ctx, c, o.namespace, clock.RealClock{}.Now()); err != nil {
		// The snapshot is good. Only the metric of its age is not.
		log.Info("The time of the snapshot is not recorded", "because", err.Error())
	}
	log.Info("The snapshot is complete", "sha256", checksum)
	return nil
}

// record annotates the control plane with the time of the snapshot, from which the operator derives a metric.
func record(ctx context.Context, c client.Client, namespace string, now time.Time) error {
	planes := &metav1.PartialObjectMetadataList{}
	planes.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedControlPlaneList"))
	if err := c.List(ctx, planes, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing HostedControlPlanes: %w", err)
	}
	for i := range planes.Items {
		hcp := &planes.Items[i]
		hcp.SetGroupVersionKind(hyperv1.GroupVersion.WithKind("HostedControlPlane"))
		before := hcp.DeepCopy()
		metav1.SetMetaDataAnnotation(&hcp.ObjectMeta, names.EtcdSnapshotTimeAnnotation, now.UTC().Format(time.RFC3339))
		if err := c.Patch(ctx, hcp, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("annotating HostedControlPlane %s: %w", hcp.Name, err)
		}
	}
	return nil
}

// serviceAccount is the directory of a pod's service account, which contains the pod's namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// options are the flags of the command.
type options struct{ namespace, member string }

// parse reads the arguments. The default namespace is the one in the directory of the pod's service account.
func parse(args []string, serviceAccount string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&o.namespace, "namespace", "", "namespace of the control plane; in a pod, that of the pod")
	fs.StringVar(&o.member, "member", "", "member to take the snapshot from, such as etcd-0, ready or not; by default any ready member")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.namespace != "" {
		return o, nil
	}
	text, err := os.ReadFile(filepath.Join(serviceAccount, corev1.ServiceAccountNamespaceKey))
	if err != nil {
		return nil, fmt.Errorf("--namespace is missing, and the namespace of the pod cannot be read: %w", err)
	}
	o.namespace = strings.TrimSpace(string(text))
	return o, nil
}

// endpoint returns the URL of the member, or of any ready one.
func (o *options) endpoint() string {
	cluster := etcd.Cluster{Namespace: o.namespace}
	if o.member == "" {
		return cluster.ServiceURL()
	}
	return cluster.ClientURL(o.member)
}

// Save writes a snapshot and returns its checksum.
func Save(ctx context.Context, from Source, to io.Writer) (checksum string, err error) {
	r, err := from.Snapshot(ctx)
	if err != nil {
		return "", fmt.Errorf("taking a snapshot of etcd: %w", err)
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), r); err != nil {
		return "", fmt.Errorf("taking a snapshot of etcd: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
