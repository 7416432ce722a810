package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// on is the environment of all tests, and kube an administrator's client of its management cluster.
var (
	on   *environment
	kube client.Client
)

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runTests is a function of its own so that its deferred calls run before the process ends, also after Ctrl-C.
func runTests(m *testing.M) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Before the operators start: they read the scheme.
	if err := errors.Join(hyperv1.AddToScheme(clientgoscheme.Scheme), certificatesv1alpha1.AddToScheme(clientgoscheme.Scheme), clusterv1.AddToScheme(clientgoscheme.Scheme), infrav1.AddToScheme(clientgoscheme.Scheme)); err != nil {
		return 1, err
	}
	if on, err = startEnvironment(ctx); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, on.stopAndReport(code != 0 || err != nil)) }()
	if kube, err = client.New(on.Config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return 1, err
	}
	done := make(chan int, 1)
	go func() { done <- m.Run() }()
	select {
	case code = <-done:
		// The tests share the management account; it is checked when all of them have ended.
		left, err := on.AWS.Leftovers(ctx, on.Management.Account)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left in the management account: %v", left)
		}
		// Customers' accounts belong to tests, which have taken their requests.
		refused, refusedErr := on.AWS.TakeRefused(ctx, "")
		for _, r := range refused {
			refusedErr = errors.Join(refusedErr, errors.New(r.String()))
		}
		return code, errors.Join(err, refusedErr, privileges(ctx))
	case <-ctx.Done():
		return 1, context.Cause(ctx)
	}
}
