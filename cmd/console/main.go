// Command console serves `hypershift console` in a management cluster. Each user logs in with a token of the cluster, or comes through a proxy that
// adds the user's token, and sees what the user's rights permit. The program itself has no rights, and changes nothing. The chart installs it with the
// value console.enabled; docs/console.md describes it.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/doctor"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/sessions"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/web"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
	"github.com/hosted-control-planes/hypershift/internal/metricstls"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	address := flag.String("listen", ":8443", "address of the pages, with TLS")
	operatorNamespace := flag.String("operator-namespace", "hypershift", "namespace of the hypershift-operator")
	title := flag.String("title", "management cluster", "name of the management cluster on the pages")
	flag.Parse()
	// Errors of watches are on the pages of their users.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config, err := inCluster()
	if err != nil {
		return err
	}
	users := sessions.New(ctx, sessions.Options{Config: config, Clock: clock.RealClock{}, Pages: func(ctx context.Context, store *watch.Store, config *rest.Config) (http.Handler, error) {
		return pages(ctx, store, config, *title, *operatorNamespace)
	}})
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", *address)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	encryption := &tls.Config{MinVersion: tls.VersionTLS12}
	metricstls.SelfSigned(encryption)
	return web.Listen(ctx, tls.NewListener(listener, encryption), web.Protect(users))
}

// inCluster returns the API server of the pod's cluster, without an identity: the pod has no token.
func inCluster() (*rest.Config, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("this program runs in a pod; on your machine, use `hypershift console`")
	}
	const authority = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
	return &rest.Config{Host: "https://" + net.JoinHostPort(host, port), TLSClientConfig: rest.TLSClientConfig{CAFile: authority}, QPS: 50, Burst: 100, WarningHandler: rest.NoWarnings{}}, nil
}

// pages are the pages of one user.
func pages(ctx context.Context, store *watch.Store, config *rest.Config, title, operatorNamespace string) (http.Handler, error) {
	model, err := web.NewModel(ctx, store)
	if err != nil {
		return nil, err
	}
	reader, err := client.New(config, client.Options{Scheme: clustertree.Scheme()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	checks := doctor.Checks{Client: reader, Config: config, OperatorNamespace: operatorNamespace}
	server := web.NewServer(web.Options{
		Clock: clock.RealClock{}, Title: title, Logout: true,
		Doctor: func(ctx context.Context, cluster types.NamespacedName) ([]prerequisites.Result, error) {
			return checks.Run(ctx, operation.Environment{Clock: clock.RealClock{}}, cluster)
		},
	}, model)
	return server.Handler(), nil
}
