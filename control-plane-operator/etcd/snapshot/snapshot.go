// Package snapshot writes a snapshot of the etcd of a hosted cluster, of the
// kind that another can begin with. It is for people, in the pod of the
// control-plane-operator:
//
//	kubectl exec deployment/control-plane-operator -- control-plane-operator etcd-snapshot > demo.db
//
// What it has to say it says on standard error, the checksum at last: without
// that the snapshot is not whole.
package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

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
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	namespace := fs.String("namespace", os.Getenv("POD_NAMESPACE"), "namespace of the control plane")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *namespace == "" {
		return errors.New("--namespace is missing")
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
	if err := c.Get(ctx, client.ObjectKey{Namespace: *namespace, Name: names.EtcdClientCertificate}, secret); err != nil {
		return fmt.Errorf("reading who we are to etcd: %w", err)
	}
	identity, err := etcd.Identity(secret.Data)
	if err != nil {
		return err
	}
	members, err := etcd.Connect([]string{etcd.Cluster{Namespace: *namespace}.ServiceURL()}, identity)
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
