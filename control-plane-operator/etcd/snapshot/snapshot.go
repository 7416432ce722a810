// Package snapshot writes a snapshot of the etcd of a hosted cluster, of the
// kind that another can begin with. It is for people, in the pod of the
// control-plane-operator:
//
//	kubectl exec deployment/control-plane-operator -- control-plane-operator etcd-snapshot > demo.db
//
// It comes from a member that is ready, which none is without a majority. With
// --member=etcd-0 it comes from that one, ready or not: the last that is left of
// a cluster that has lost the others.
//
// What it has to say it says on standard error, the checksum at last: without
// that the snapshot is not whole.
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

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Command is the name of the subcommand.
const Command = "etcd-snapshot"

// Source is what snapshots come from.
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
		return fmt.Errorf("reading who we are to etcd: %w", err)
	}
	identity, err := etcd.Identity(secret.Data)
	if err != nil {
		return err
	}
	members, err := etcd.Connect([]string{o.endpoint()}, identity)
	if err != nil {
		return err
	}
	defer func() { _ = members.Close() }() // there is nothing more to say to it
	checksum, err := Save(ctx, members, os.Stdout)
	if err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("The snapshot is whole", "sha256", checksum)
	return nil
}

// serviceAccount is where a pod finds who it is, and in which namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// options say what a snapshot is of.
type options struct{ namespace, member string }

// parse reads the arguments. Unless they say otherwise the namespace is that of
// the pod, whose service account is in a directory.
func parse(args []string, serviceAccount string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&o.namespace, "namespace", "", "namespace of the control plane; in a pod, that of the pod")
	fs.StringVar(&o.member, "member", "", "the member to ask, such as etcd-0, ready or not; any that is ready if there is none")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.namespace != "" {
		return o, nil
	}
	text, err := os.ReadFile(filepath.Join(serviceAccount, corev1.ServiceAccountNamespaceKey))
	if err != nil {
		return nil, fmt.Errorf("--namespace is missing, and this is no pod that knows its own: %w", err)
	}
	o.namespace = strings.TrimSpace(string(text))
	return o, nil
}

// endpoint is whom to ask.
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
