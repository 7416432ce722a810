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

// crdDirectory holds the CRDs that a user installs.
const crdDirectory = "../../config/crd"

// startServer starts an API server with an empty etcd, and the CRDs of the given directories.
func startServer(t *testing.T, crds ...string) *rest.Config {
	t.Helper()
	env := &envtest.Environment{
		BinaryAssetsDirectory:    fixture.Assets(t),
		CRDDirectoryPaths:        crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute,
		// Never a cluster that somebody uses: some of these CRDs let everything in.
		UseExistingCluster: ptr.To(false),
	}
	// Nothing here must survive the machine: do not wait for its disk.
	env.ControlPlane.Etcd = &envtest.Etcd{}
	env.ControlPlane.Etcd.Configure().Set("unsafe-no-fsync", "true")
	// A machine without any network but loopback has no address to advertise, and nothing here would use it.
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
	return cfg
}

// strictClient returns a client whose misspelt fields are refused: a case with a misspelt field would test nothing.
func strictClient(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}
