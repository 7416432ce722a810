package cluster

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestExistingClusterReplacesTheLab(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"gitVersion": "v1.36.3"}`))
	}))
	t.Cleanup(server.Close)
	kubeconfig, dir := filepath.Join(t.TempDir(), "kubeconfig"), t.TempDir()
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c"}}, CurrentContext: "x",
	}, kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("USE_EXISTING_CLUSTER", "true")
	t.Setenv("KUBECONFIG", kubeconfig)
	var said strings.Builder
	lab, err := Up(t.Context(), Options{Dir: dir, Progress: &said})
	if err != nil {
		t.Fatal(err)
	}
	if !lab.Existing() || lab.Kubeconfig != kubeconfig || !strings.Contains(said.String(), "v1.36.3") {
		t.Errorf("the lab is %+v, the output %q", lab, said.String())
	}
	if err := lab.KillMachine(t.Context(), "m1"); err == nil || !strings.Contains(err.Error(), "existing cluster") {
		t.Errorf("killing a machine of an existing cluster: %v", err)
	}
	if err := lab.Down(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the directory of the lab contains %v, %v", left, err)
	}

	t.Setenv("KUBECONFIG", "")
	if _, err := Up(t.Context(), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "KUBECONFIG") {
		t.Errorf("a missing KUBECONFIG is accepted: %v", err)
	}
}
