package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/hosted-control-planes/hypershift/test/fixture/testenv"
)

func main() {
	access := flag.String("access", "Private", "access mode of the cluster: Public, PublicAndPrivate or Private")
	keep := flag.Bool("keep", false, "leave everything up and say how to look around, until Ctrl-C")
	speed := flag.Float64("speed", 30, "how many times faster than AWS load balancers, endpoints and instances are made")
	patience := flag.Duration("patience", 5*time.Minute, "how long one act may take")
	flag.Parse()

	// The pod runner is a controller; its log messages are not part of the demo.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *access, *keep, *speed, *patience); err != nil {
		fmt.Fprintln(os.Stderr, "\nThe demo failed:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, access string, keep bool, speed float64, patience time.Duration) (err error) {
	n := &printer{out: out, color: isTerminal(out), started: time.Now()}
	n.phase("Started: a management cluster, two AWS accounts, a registry, the operator.")
	st, err := testenv.Start(ctx, testenv.Options{Progress: n, Delays: testenv.AWSLike(speed)})
	if err != nil {
		return err
	}
	s := &demo{environment: st, printer: n, access: access, patience: patience}
	defer func() {
		if err != nil && ctx.Err() == nil { // after Ctrl-C the reason is clear
			st.Keep()
			err = fmt.Errorf("%w\n\n%s\nall logs: %s", err, st.Tails(), strings.Join(st.Logs(), " "))
		}
		err = errors.Join(err, st.Stop())
	}()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	phases := []func(context.Context) error{s.create, s.scale, s.grow, s.open}
	for _, phase := range phases {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	n.phase("The current state:")
	tree(s.last).draw(out)
	if keep {
		s.printHints(out)
		<-ctx.Done()
		return nil
	}
	if err := s.end(ctx); err != nil {
		return err
	}
	n.phase("Everything is deleted, in Kubernetes and in both accounts.")
	return nil
}

// prepare prepares the customer's account and records the existing objects.
func (s *demo) prepare(ctx context.Context) error {
	var err error
	if s.customer, err = s.environment.NewCustomer(ctx, "", cluster, infraID); err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(s.environment.Config)
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	s.camera = &camera{
		objects:  objects,
		aws:      s.environment.AWS,
		accounts: map[string]string{inManagement: s.environment.Management.Account, inCustomer: s.customer.Account},
		own:      map[string]bool{},
	}
	if s.last, err = s.camera.take(ctx); err != nil {
		return err
	}
	for key := range s.last {
		s.camera.own[key] = true
	}
	return nil
}

// printHints prints commands for a user who wants to inspect the result.
func (s *demo) printHints(out io.Writer) {
	fmt.Fprintf(out, `
The environment keeps running until Ctrl-C. In another terminal:

  export KUBECONFIG=%[1]s
  kubectl get hostedcluster,nodepool,hostedcontrolplane,awsendpointservice -A
  kubectl describe hostedcluster -n %[2]s %[3]s
  kubectl scale nodepool -n %[2]s %[3]s-a --replicas=1
  kubectl get machine -A
  kubectl delete hostedcluster -n %[2]s %[3]s

  kubectl get secret -n %[2]s-%[3]s admin-kubeconfig -o jsonpath='{.data.kubeconfig}' | base64 -d > %[3]s.kubeconfig
  kubectl --kubeconfig %[3]s.kubeconfig get nodes                                 # the hosted cluster

  export AWS_ENDPOINT_URL=%[4]s AWS_REGION=us-east-1 AWS_SECRET_ACCESS_KEY=any
  AWS_ACCESS_KEY_ID=%[5]s aws ec2 describe-vpc-endpoint-service-configurations    # the management account
  AWS_ACCESS_KEY_ID=%[6]s aws ec2 describe-vpc-endpoints                          # the customer's
  AWS_ACCESS_KEY_ID=%[6]s aws ec2 describe-instances

  logs are in %[7]s
`, s.environment.Kubeconfig, namespace, cluster, s.environment.AWS.URL, s.environment.Management.Account, s.customer.Account, strings.Join(s.environment.Logs(), " and "))
}

// isTerminal reports whether colours are used. https://no-color.org
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
