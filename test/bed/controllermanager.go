package bed

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// controllers are those of kube-controller-manager whose work our operators rely on. The Deployment controller is not among
// them: nothing here could run its pods (see podrunner).
var controllers = []string{
	"namespace-controller",
	"garbage-collector-controller",
	"serviceaccount-controller",
	"root-ca-certificate-publisher-controller",
	"resourcequota-controller",
}

func (b *Bed) startControllerManager(ctx context.Context) error {
	paths, err := pinned.Ensure(ctx, b.progress, "kube-controller-manager")
	if err != nil {
		return err
	}
	_, kubeconfig, err := b.user("system:kube-controller-manager")
	if err != nil {
		return err
	}
	ca := b.path("ca.crt")
	if err := os.WriteFile(ca, b.Config.CAData, 0o644); err != nil {
		return fmt.Errorf("writing the CA: %w", err)
	}
	port, err := process.FreePort()
	if err != nil {
		return err
	}
	return b.run(ctx, process.Spec{
		Name: "kube-controller-manager",
		Path: paths["kube-controller-manager"],
		Args: []string{
			"--kubeconfig=" + kubeconfig,
			// Each controller as its own service account, with the roles that RBAC gives it, as in a real cluster.
			"--use-service-account-credentials=true",
			"--controllers=" + strings.Join(controllers, ","),
			"--root-ca-file=" + ca,
			"--leader-elect=false",
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(port),
		},
	}, fmt.Sprintf("https://127.0.0.1:%d/healthz", port))
}

// run starts one more server and waits until its health endpoint says yes.
func (b *Bed) run(ctx context.Context, spec process.Spec, health string) error {
	spec.Log = b.Log(spec.Name)
	p, err := process.Start(spec)
	if err != nil {
		return err
	}
	b.onStop(spec.Name, func() error { p.Stop(10 * time.Second); return nil })
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	// The servers sign their serving certificates themselves; we talk to our own child on loopback.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	defer client.CloseIdleConnections()
	if err := p.Ready(ctx, client, health); err != nil {
		return err
	}
	b.say("%s", spec.Name)
	return nil
}
