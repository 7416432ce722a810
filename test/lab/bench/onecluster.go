package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// The number of measured clusters, and the delays of AWS.
const (
	lives    = 3
	soon     = 500 * time.Millisecond
	late     = time.Minute
	patience = 2 * time.Minute
)

// roles is the number of roles in cluster.yaml.
const roles = 3

// chapter is the cost of one phase in the life of a cluster.
type chapter struct {
	Seconds float64
	// Calls are all calls except Attempts.
	Calls map[string]int
	// Attempts are exchanges of a token that a trust policy rejects. The check for AWSRolesIsolated makes one for each
	// role, as a service account, and expects the rejection.
	Attempts int
	// Refused are the other calls that AWS rejected.
	Refused int
	// Timeline has when each call was made, e.g. "0.32 s DeleteVpcEndpoints".
	Timeline []string
}

func (c chapter) calls() float64 {
	n := 0
	for _, k := range c.Calls {
		n += k
	}
	return float64(n)
}

// life is one private cluster from its first endpoint to its last.
type life struct {
	Fresh, Restart, Warm, AddSubnet, DeleteOne, DeleteTwo chapter
	// LeftBehind are the resources that exist in AWS afterwards and did not exist before.
	LeftBehind []string
	Checked    int
	Lies       []string
}

// oneCluster measures the calls of both operators.
func oneCluster(ctx context.Context, kubeconfig string) ([]report.Row, error) {
	var all []life
	if err := do(ctx, "one-cluster", kubeconfig, &all); err != nil {
		return nil, err
	}
	return oneClusterRows(all), nil
}

func oneClusterRows(all []life) []report.Row {
	pick := func(value func(life) float64) []float64 { return values(all, value) }
	last, whole := last(all), all[max(0, len(all)-1):] // only the last one includes the deletion of two
	refused := pick(func(l life) float64 { return float64(l.Fresh.Refused + l.Restart.Refused + l.Warm.Refused) })
	return []report.Row{
		{What: "one AWSEndpointService created → both conditions True, endpoint available after 0.5 s", Figures: []report.Figure{
			report.Within("AWS calls, warm process", 12, "", pick(func(l life) float64 { return l.Warm.calls() })...).Counted().With(openshift("23 to 27")).WithDetail("%s", listed(last.Warm.Calls)),
			report.Within("AWS calls, first process of a cluster, besides the attempts", 15, "", pick(func(l life) float64 { return l.Fresh.calls() })...).Counted().With(openshift("29")).WithDetail("%s", listed(last.Fresh.Calls)),
			report.Within("attempts to assume its roles as a service account, expected to be rejected", roles, "", pick(func(l life) float64 { return float64(l.Fresh.Attempts) })...).Counted().WithDetail("one for each role, twice a day: AWSRolesIsolated"),
			report.Within("AWS calls, the next process, without changes", 9, "", pick(func(l life) float64 { return l.Restart.calls() })...).Counted().WithDetail("%s", listed(last.Restart.Calls)),
			report.Within("attempts by the next process", 0, "", pick(func(l life) float64 { return float64(l.Restart.Attempts + l.Warm.Attempts) })...).Counted(),
			report.Within("rejected calls, except for the attempts", 0, "", refused...).Counted(),
			report.Info("time, warm process", "s", pick(func(l life) float64 { return l.Warm.Seconds })...),
			report.Info("time, fresh process", "s", pick(func(l life) float64 { return l.Fresh.Seconds })...),
		}},
		{What: "the same, with the truth", Figures: []report.Figure{
			report.Within("True although the state of AWS differs", 0, "", pick(func(l life) float64 { return float64(len(l.Lies)) })...).Counted().With(openshift("True while the endpoint is pending")).WithDetail("of %d writes of True%s", last.Checked, strings.Join(append([]string{""}, last.Lies...), "; ")),
		}},
		{What: "add a subnet, 2 services", Figures: []report.Figure{
			report.Within("AWS calls", 6, "", pick(func(l life) float64 { return l.AddSubnet.calls() })...).Counted().With(openshift("21")).WithDetail("%s", listed(last.AddSubnet.Calls)),
			report.Info("time", "s", pick(func(l life) float64 { return l.AddSubnet.Seconds })...),
		}},
		{What: "delete one, endpoint gone after 0.5 s", Figures: []report.Figure{
			report.Within("time", 1, "s", pick(func(l life) float64 { return l.DeleteOne.Seconds })...).With(openshift("3.2 s")).WithDetail("%s", strings.Join(last.DeleteOne.Timeline, ", ")).
				WhatWasTried("all that does not need the end of the endpoint is done at once or after it, within 0.2 s. The operator lists endpoints after 0.3 s, and then each time after twice as long, up to 4.7 s: " +
					"here the second list finds the endpoint gone, 0.4 s late. More lists would find nothing in the minute that AWS usually takes."),
			report.Within("AWS calls", 9, "", pick(func(l life) float64 { return l.DeleteOne.calls() })...).Counted().With(openshift("23")).WithDetail("%s", listed(last.DeleteOne.Calls)),
		}},
		{What: "delete two, endpoints gone after 60 s", Figures: []report.Figure{
			report.Within("time", 63, "s", values(whole, func(l life) float64 { return l.DeleteTwo.Seconds })...).With(openshift("69.5 s")),
			report.Within("AWS calls", 30, "", values(whole, func(l life) float64 { return l.DeleteTwo.calls() })...).Counted().With(openshift("60")).WithDetail("%s", listed(last.DeleteTwo.Calls)),
		}},
		{What: "left behind in AWS after that", Figures: []report.Figure{
			report.Within("resources", 0, "", pick(func(l life) float64 { return float64(len(l.LeftBehind)) })...).Counted().WithDetail("%s", strings.Join(last.LeftBehind, "; ")).With(openshift("2 security groups, 2 records")),
		}},
	}
}

func listed(calls map[string]int) string {
	var out []string
	for _, action := range slices.Sorted(maps.Keys(calls)) {
		_, operation, _ := strings.Cut(action, ":")
		if calls[action] > 1 {
			operation = fmt.Sprintf("%d %s", calls[action], operation)
		}
		out = append(out, operation)
	}
	return strings.Join(out, ", ")
}

// oneClusterTask measures several clusters. Only the last one waits for AWS as long as AWS may take to delete.
func oneClusterTask(ctx context.Context, t *taskRun) error {
	var kubeconfig string
	if err := t.read(&kubeconfig); err != nil {
		return err
	}
	cfg, err := restConfig(kubeconfig)
	if err != nil {
		return err
	}
	var all []life
	for i := range lives {
		s, err := newScenario(ctx, cfg, fmt.Sprintf("life%d", i))
		if err != nil {
			return err
		}
		if err := s.live(ctx, i == lives-1); err != nil {
			return fmt.Errorf("life %d: %w", i, err)
		}
		all = append(all, s.life)
	}
	return t.leave(all)
}

// scenario is a cluster, both operators and AWS.
type scenario struct {
	life
	cfg     *rest.Config
	admin   client.Client
	cloud   *cloud
	cluster *cluster
	truth   *truth
}

func newScenario(ctx context.Context, cfg *rest.Config, name string) (*scenario, error) {
	s := &scenario{cfg: cfg, cloud: newCloud()}
	s.truth = &truth{cloud: s.cloud}
	var err error
	if s.admin, err = client.New(cfg, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	private, public, err := webidentity.GenerateKey()
	if err != nil {
		return nil, err
	}
	if s.cluster, err = s.cloud.addCustomer(name, public); err != nil {
		return nil, err
	}
	objects, err := s.cluster.all(private)
	if err != nil {
		return nil, err
	}
	return s, create(ctx, s.admin, objects...)
}

func (s *scenario) live(ctx context.Context, toTheEnd bool) error {
	before := s.cloud.Snapshot()
	s.cloud.SetDelays(fakeaws.Delays{EndpointPending: soon, EndpointDeleting: soon})
	if err := s.addService(ctx, offered[0]); err != nil {
		return err
	}
	stop := func() error { return nil }
	chapters := []func() error{
		func() error {
			return s.measure(ctx, &s.Fresh, func() (err error) { stop, err = s.startOperators(ctx); return err }, s.allAvailable(1))
		},
		func() error {
			if err := stop(); err != nil {
				return err
			}
			stop = func() error { return nil }
			return s.measure(ctx, &s.Restart, func() (err error) { stop, err = s.startOperators(ctx); return err }, s.called)
		},
		func() error {
			return s.measure(ctx, &s.Warm, func() error { return s.addService(ctx, offered[1]) }, s.allAvailable(2))
		},
		func() error {
			return s.measure(ctx, &s.AddSubnet, func() error { return s.addSubnet(ctx) }, s.followed)
		},
		func() error {
			return s.measure(ctx, &s.DeleteOne, func() error { return s.deleteServices(ctx, offered[1]) }, s.left(1))
		},
	}
	if toTheEnd {
		chapters = append(chapters,
			func() error {
				return s.measure(ctx, &chapter{}, func() error { return s.addService(ctx, offered[1]) }, s.allAvailable(2))
			},
			func() error {
				s.cloud.SetDelays(fakeaws.Delays{EndpointDeleting: late})
				return s.measure(ctx, &s.DeleteTwo, func() error { return s.deleteServices(ctx, offered...) }, s.left(0))
			})
	} else {
		chapters = append(chapters, func() error {
			return s.measure(ctx, &chapter{}, func() error { return s.deleteServices(ctx, offered[0]) }, s.left(0))
		})
	}
	for _, c := range chapters {
		if err := c(); err != nil {
			return errors.Join(err, stop())
		}
	}
	s.LeftBehind = added(before, s.cloud.Snapshot())
	s.Checked, s.Lies = s.truth.checked, s.truth.lies
	return stop()
}

// startOperators starts both operators with empty caches, like new processes.
func (s *scenario) startOperators(ctx context.Context) (stop func() error, err error) {
	ho, err := hypershiftOperator(ctx, s.cfg, s.cloud, &writes{}, nil)
	if err != nil {
		return nil, err
	}
	if err := addProvidersHalf(ctx, ho, s.cloud, resyncHO, permissionsPeriod); err != nil {
		return nil, err
	}
	cpo, err := customersHalf(s.cfg, s.cluster, s.cloud, &writes{status: s.truth.check})
	if err != nil {
		return nil, err
	}
	return start(ctx, ho, cpo), nil
}

// start starts managers and returns the function that stops them.
func start(ctx context.Context, managers ...ctrl.Manager) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, len(managers))
	for _, m := range managers {
		go func() { ended <- m.Start(ctx) }()
	}
	return func() error {
		cancel()
		var errs []error
		for range managers {
			errs = append(errs, <-ended)
		}
		return errors.Join(errs...)
	}
}

// measure runs act, waits until done, and counts the calls until they end.
func (s *scenario) measure(ctx context.Context, c *chapter, act func() error, done func(context.Context) (bool, error)) error {
	s.cloud.ForgetCalls()
	began := time.Now()
	if err := act(); err != nil {
		return err
	}
	if err := until(ctx, patience, done); err != nil {
		return err
	}
	c.Seconds = time.Since(began).Seconds()
	if err := s.silence(ctx); err != nil {
		return err
	}
	var calls []fakeaws.Call
	for _, call := range s.cloud.calls() {
		if call.Operation == "AssumeRoleWithWebIdentity" && call.Failed == "AccessDenied" {
			c.Attempts++
			continue
		}
		calls = append(calls, call)
		c.Timeline = append(c.Timeline, fmt.Sprintf("%.2f s %s", call.At.Sub(began).Seconds(), call.Operation))
		if call.Failed != "" {
			c.Refused++
		}
	}
	c.Calls = fakeaws.Count(calls)
	return nil
}

// silence waits until there was no call for some time.
func (s *scenario) silence(ctx context.Context) error {
	const while = 2 * time.Second
	seen, since := -1, time.Now()
	return until(ctx, patience, func(context.Context) (bool, error) {
		if n := len(s.cloud.calls()); n != seen {
			seen, since = n, time.Now()
		}
		return time.Since(since) > while, nil
	})
}

// addService creates a Service with a load balancer.
func (s *scenario) addService(ctx context.Context, name string) error {
	_, host := s.cloud.addBalancer(s.cluster.balancer(name))
	return s.cluster.serve(ctx, s.admin, name, host)
}

// deleteServices deletes Services, which ends their AWSEndpointServices.
func (s *scenario) deleteServices(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := s.admin.Delete(ctx, s.cluster.service(name)); err != nil {
			return err
		}
	}
	return nil
}

// addSubnet creates a NodePool in a third subnet.
func (s *scenario) addSubnet(ctx context.Context) error {
	pool, err := s.cluster.pool("c", s.cluster.subnets[2])
	if err != nil {
		return err
	}
	return s.admin.Create(ctx, pool)
}

func (s *scenario) services(ctx context.Context) ([]hyperv1.AWSEndpointService, error) {
	list := &hyperv1.AWSEndpointServiceList{}
	err := s.admin.List(ctx, list, client.InNamespace(s.cluster.namespace()))
	return list.Items, err
}

func (s *scenario) allAvailable(n int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		all, err := s.services(ctx)
		return len(all) == n && !slices.ContainsFunc(all, func(es hyperv1.AWSEndpointService) bool { return !available(&es) }), err
	}
}

// called reports whether an operator has called AWS.
func (s *scenario) called(context.Context) (bool, error) { return len(s.cloud.calls()) > 0, nil }

// followed reports whether both endpoints are in all subnets, and available.
func (s *scenario) followed(ctx context.Context) (bool, error) {
	ready, err := s.allAvailable(2)(ctx)
	if err != nil || !ready {
		return false, err
	}
	out, err := awsx.EC2(s.cloud.theirs.Config(region, observer)).DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{})
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(out.VpcEndpoints, func(e types.VpcEndpoint) bool {
		return len(e.SubnetIds) != len(s.cluster.subnets) || !strings.EqualFold(string(e.State), "available")
	}), nil
}

func (s *scenario) left(n int) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		all, err := s.services(ctx)
		return len(all) == n, err
	}
}

// added are the lines of b that are missing in a.
func added(a, b string) []string {
	had := strings.Split(a, "\n")
	return slices.DeleteFunc(strings.Split(b, "\n"), func(line string) bool {
		return slices.Contains(had, line) || strings.Contains(line, "load balancer") // created by the cloud controller
	})
}

func create(ctx context.Context, c client.Client, objects ...client.Object) error {
	var cluster string // UID of the HostedCluster, for the namespace of its control plane, which is created later
	for _, o := range objects {
		if labels := o.GetLabels(); labels[hyperv1.ControlPlaneNamespaceLabel] != "" {
			labels[hyperv1.HostedClusterUIDLabel] = cluster
			o.SetLabels(labels)
		}
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if err := c.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %s %s: %w", kind, client.ObjectKeyFromObject(o), err)
		}
		if kind == "HostedCluster" {
			cluster = string(o.GetUID())
		}
	}
	return nil
}
