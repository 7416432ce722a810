package bed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startControlPlane starts etcd and kube-apiserver with RBAC, and gives us an administrator.
func (b *Bed) startControlPlane(ctx context.Context, audited bool) error {
	dir, err := assets(ctx, b.progress)
	if err != nil {
		return err
	}
	etcdLog, err := b.openLog("etcd")
	if err != nil {
		return err
	}
	apiserverLog, err := b.openLog("kube-apiserver")
	if err != nil {
		return err
	}

	plane := &envtest.ControlPlane{
		Etcd: &envtest.Etcd{
			Path:         filepath.Join(dir, "etcd"),
			DataDir:      b.path("etcd"),
			StartTimeout: time.Minute,
			Out:          etcdLog,
			Err:          etcdLog,
		},
	}
	api := plane.GetAPIServer()
	api.Path = filepath.Join(dir, "kube-apiserver")
	api.CertDir = b.path("kube-apiserver")
	api.StartTimeout, api.StopTimeout = time.Minute, time.Minute
	api.Out, api.Err = apiserverLog, apiserverLog
	api.Configure().
		// Nothing here reaches the API server through the "kubernetes" Service, and a machine without any network but
		// loopback has no address to advertise. This one is reserved for documentation.
		Set("advertise-address", "192.0.2.1").
		Set("endpoint-reconciler-type", "none").
		// As on an OpenShift: who gives an object an owner must be allowed to delete the object.
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		Set("service-cluster-ip-range", "10.96.0.0/16") // a thousand clusters have thousands of Services
	if audited {
		if err := b.audit(api.Configure()); err != nil {
			return err
		}
	}
	for _, dir := range []string{plane.Etcd.DataDir, api.CertDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the state directory: %w", err)
		}
	}

	if err := plane.Start(); err != nil {
		return fmt.Errorf("starting etcd and kube-apiserver: %w\n%s", err, b.tails("etcd", "kube-apiserver"))
	}
	b.plane = plane
	b.onStop("kube-apiserver and etcd", plane.Stop)

	b.Config, b.Kubeconfig, err = b.user("admin", "system:masters")
	return err
}

// user makes a user with a client certificate and writes a kubeconfig for it.
func (b *Bed) user(name string, groups ...string) (*rest.Config, string, error) {
	// The rate limits of client-go protect a shared API server; this one is ours. What it warns of is for whoever writes a
	// manifest, not for whoever runs a test.
	u, err := b.plane.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: -1, WarningHandler: rest.NoWarnings{}})
	if err != nil {
		return nil, "", fmt.Errorf("making user %s: %w", name, err)
	}
	kubeconfig, err := u.KubeConfig()
	if err != nil {
		return nil, "", fmt.Errorf("making user %s: %w", name, err)
	}
	path := b.path(name + ".kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		return nil, "", fmt.Errorf("making user %s: %w", name, err)
	}
	return u.Config(), path, nil
}
