package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/fixture/testenv"
)

// on is the environment of all tests, and kube an administrator's client of its management cluster.
var (
	on   *testenv.Environment
	kube client.Client
)

func TestMain(m *testing.M) {
	code, err := play(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// play is a function of its own so that its deferred calls run before the process ends, also after Ctrl-C.
func play(m *testing.M) (code int, err error) {
	ctrl.SetLogger(logr.Discard()) // of the pod runner; the operators log to files
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if on, err = testenv.Start(ctx, testenv.Options{Progress: os.Stderr, Audit: true}); err != nil {
		return 1, err
	}
	defer func() {
		if code != 0 {
			on.Keep()
			fmt.Fprintf(os.Stderr, "%s\nall logs: %s\n", on.Tails(), strings.Join(on.Logs(), " "))
		}
		err = errors.Join(err, on.Stop())
	}()
	if err := errors.Join(hyperv1.AddToScheme(clientgoscheme.Scheme), clusterv1.AddToScheme(clientgoscheme.Scheme), infrav1.AddToScheme(clientgoscheme.Scheme)); err != nil {
		return 1, err
	}
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
		return code, errors.Join(err, privileges(ctx))
	case <-ctx.Done():
		return 1, context.Cause(ctx)
	}
}
