package cel

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// crdDirectory has the CRDs that a user installs.
const crdDirectory = "../../config/crd"

// startServer starts an API server with an empty etcd, and the CRDs of the given directories.
func startServer(t *testing.T, crds ...string) *rest.Config {
	t.Helper()
	env := &envtest.Environment{
		BinaryAssetsDirectory:    fixture.Assets(t),
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		// Never an existing cluster: some of these CRDs have no validation.
		UseExistingCluster: ptr.To(false),
	}
	// The data is temporary: etcd need not wait for the disk.
	env.ControlPlane.Etcd = &envtest.Etcd{}
	env.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	// A machine whose only network is loopback has no address to advertise, and none is needed here.
	env.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "192.0.2.1").Set("endpoint-reconciler-type", "none")
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	cfg, err := env.Start()
	if err != nil {
		t.Fatalf("starting the API server: %v", err)
	}
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg
}

// strictClient returns a client that rejects misspelt fields: a case with a misspelt field would test nothing.
func strictClient(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}
