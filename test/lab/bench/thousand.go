package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
)

// starts is how often the start of the operator is measured.
const starts = 3

// thousand measures the hypershift-operator with the services of many clusters.
func thousand(ctx context.Context, kubeconfig string) ([]report.Row, error) {
	admin, err := adminOf(kubeconfig)
	if err != nil {
		return nil, err
	}
	if err := makeClusters(ctx, admin); err != nil {
		return nil, err
	}
	var costs []cost
	var plain []float64
	for range starts {
		if err := remakeServices(ctx, admin); err != nil {
			return nil, err
		}
		seconds, err := plainWrites(ctx, admin)
		if err != nil {
			return nil, err
		}
		plain = append(plain, seconds)
		var c cost
		if err := do(ctx, "thousand", kubeconfig, &c); err != nil {
			return nil, err
		}
		costs = append(costs, c)
	}
	var fake cost
	if err := do(ctx, "thousand-fake", nil, &fake); err != nil {
		return nil, err
	}
	var share restShare
	if err := do(ctx, "thousand-at-rest", kubeconfig, &share); err != nil {
		return nil, err
	}
	return thousandRows(costs, plain, fake, []restShare{share}), nil
}

func thousandRows(costs []cost, plain []float64, fake cost, shares []restShare) []report.Row {
	last, share := last(costs), last(shares)
	return []report.Row{
		{What: "1,000 services, operator start → all True (60 ms per call)", Figures: []report.Figure{
			report.Within("time", 15, "s", values(costs, func(c cost) float64 { return c.Seconds })...).Earlier("10.9 s").With(openshiftStub("58 s")).
				WhatWasTried("two calls and two writes per service are the minimum; the figure below is the time of the writes alone."),
			report.Info("two writes per service and nothing else", "s", plain...).WithDetail("the reference for this machine: the minimum of writes, for finalizer and status"),
			report.Within("CPU", 6, "s", values(costs, func(c cost) float64 { return c.CPU })...).Earlier("3.3 s").With(openshiftStub("36 s")).WithDetail("%s s of it by the fake", report.Number(fake.CPU)),
			report.Within("RSS, peak", 120, "MB", values(costs, func(c cost) float64 { return c.Memory.Peak })...).Earlier("105 MB").With(openshiftStub("175 MB")).WithDetail("%s", last.Memory.file()).
				WhatWasTried("most of it are pages of the program, which here has both operators, the command line and the fake in it; anonymous memory is within its goal."),
			report.Within("anonymous", 60, "MB", values(costs, func(c cost) float64 { return c.Memory.Anonymous })...).Earlier("41 MB").With(openshiftStub("96 MB")).WithDetail("%s MB of it by the fake", report.Number(fake.Memory.Anonymous)),
			report.Info("heap in use", "MB", values(costs, func(c cost) float64 { return c.Heap })...).WithDetail("%s MB of it by the fake", report.Number(fake.Heap)),
			report.Within("AWS calls per service", 4, "", values(costs, func(c cost) float64 { return float64(total(c.Calls)) / servicesAtRest })...).Counted().Earlier("2").With(openshiftStub("7.9")).WithDetail("%s", listed(last.Calls)),
			report.Within("rejected creates", 0, "", values(costs, func(c cost) float64 { return float64(c.Refused) })...).Counted().With(openshiftStub("36 %")),
			report.Info("writes per service", "", values(costs, func(c cost) float64 { return c.writesFor(servicesAtRest) })...).Counted().WithDetail("%s", last.waits(servicesAtRest)),
		}, Note: "500 clusters with two services each; CPU with signatures, without TLS to AWS and its XML; load of the machine " + loadAverage()},
		{What: "hypershift-operator alone at 1,000 services, CPU", Figures: []report.Figure{
			report.Within("share of a core", 0.3, "%", values(shares, func(s restShare) float64 { return 100 * s.total() })...).Earlier("0.08 %").With(openshiftStub("3.9 %")).WithDetail("%s %% without a pass, %s ms per pass", report.Number(100*share.Idle), report.Number(1000*share.PerPass)),
		}, Note: "measured with a resync 180 times as fast, and scaled"},
	}
}

func total(calls map[string]int) int {
	n := 0
	for _, k := range calls {
		n += k
	}
	return n
}

func manyClusters() []*cluster {
	var all []*cluster
	for i := range servicesAtRest / len(offered) {
		all = append(all, newCluster(fmt.Sprintf("c%03d", i)))
	}
	return all
}

// makeClusters creates the objects that the provider's half of PrivateLink reads.
func makeClusters(ctx context.Context, admin client.Client) error {
	return each(ctx, manyClusters(), func(ctx context.Context, cl *cluster) error {
		objects, err := cl.all(nil)
		if err != nil {
			return err
		}
		if err := create(ctx, admin, slices.DeleteFunc(objects, isSecret)...); err != nil {
			return err
		}
		for _, name := range offered {
			// Each run creates the load balancers in a cloud of its own.
			if err := cl.serve(ctx, admin, name, cl.balancer(name)+"-0123456789abcdef.elb."+region+".amazonaws.com"); err != nil {
				return err
			}
		}
		return nil
	})
}

func isSecret(o client.Object) bool {
	_, typed := o.(*corev1.Secret)
	return typed || o.GetObjectKind().GroupVersionKind().Kind == "Secret"
}

// remakeServices replaces the AWSEndpointServices by new ones without status.
func remakeServices(ctx context.Context, admin client.Client) error {
	return each(ctx, manyClusters(), func(ctx context.Context, cl *cluster) error {
		for _, name := range offered {
			es := cl.endpointService(name)
			err := admin.Patch(ctx, es.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
			if err == nil {
				err = admin.Delete(ctx, es.DeepCopy())
			}
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			if err := create(ctx, admin, es); err != nil {
				return err
			}
		}
		return nil
	})
}

// plainWrites makes the minimum of writes for each service: the finalizer and the status. It is the reference for the time
// of the operator.
func plainWrites(ctx context.Context, admin client.Client) (seconds float64, err error) {
	began := time.Now()
	err = each(ctx, manyClusters(), func(ctx context.Context, cl *cluster) error {
		for _, name := range offered {
			for i := range 2 {
				touch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"bench.example.test/touched":"%d"}}}`, i))
				if err := admin.Patch(ctx, cl.endpointService(name), touch); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return time.Since(began).Seconds(), err
}

func manyBalancers(aws *cloud) (arns []string) {
	for _, cl := range manyClusters() {
		for _, name := range offered {
			arn, _ := aws.addBalancer(cl.balancer(name))
			arns = append(arns, arn)
		}
	}
	return arns
}

// thousandTask starts the operator on a thousand new services.
func thousandTask(ctx context.Context, t *taskRun) error {
	var kubeconfig string
	if err := t.read(&kubeconfig); err != nil {
		return err
	}
	cfg, err := restConfig(kubeconfig)
	if err != nil {
		return err
	}
	aws := newCloud()
	manyBalancers(aws)
	aws.SetLatency(latency)

	began, before := time.Now(), cpu()
	seen := &allTrue{want: servicesAtRest, names: map[string]bool{}, done: make(chan struct{})}
	w := &writes{status: seen.note}
	ho, err := hypershiftOperator(ctx, cfg, aws, w, nil)
	if err != nil {
		return err
	}
	if err := addProvidersHalf(ctx, ho, aws, resyncHO, permissionsPeriod); err != nil {
		return err
	}
	stop := start(ctx, ho)
	select {
	case <-seen.done:
	case <-time.After(patience):
		return fmt.Errorf("only %d services are available after %s", len(seen.names), patience)
	}
	var c cost
	if err := c.spent(began, before); err != nil {
		return err
	}
	c.Written = w.soFar()
	c.Calls = fakeaws.Count(aws.calls())
	for _, call := range aws.calls() {
		if call.Failed != "" {
			c.Refused++
		}
	}
	if err := stop(); err != nil {
		return err
	}
	return t.leave(c)
}

// allTrue observes the statuses that are written, to avoid polling.
type allTrue struct {
	want int
	done chan struct{}

	mu    sync.Mutex
	names map[string]bool
}

func (a *allTrue) note(obj runtime.ApplyConfiguration) {
	es, ok := endpointServiceIn(obj)
	if !ok || !meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointServiceAvailable) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := es.Namespace + "/" + es.Name
	if a.names[key] {
		return
	}
	a.names[key] = true
	if len(a.names) == a.want {
		close(a.done)
	}
}

// thousandFakeTask makes the operator's calls without the operator. It measures the share of the fake and of the SDK.
func thousandFakeTask(ctx context.Context, t *taskRun) error {
	empty, err := quietMemory()
	if err != nil {
		return err
	}
	began, before := time.Now(), cpu()
	cl := newCloud()
	arns := manyBalancers(cl)
	api := awsx.EC2(cl.mine.Config(region, observer)) // without signatures: their cost belongs to the operator
	for i, lb := range arns {
		made, err := api.CreateVpcEndpointServiceConfiguration(ctx, &ec2.CreateVpcEndpointServiceConfigurationInput{
			AcceptanceRequired: aws.Bool(false), NetworkLoadBalancerArns: []string{lb}, ClientToken: aws.String(fmt.Sprint(i)),
		})
		if err != nil {
			return err
		}
		_, err = api.ModifyVpcEndpointServicePermissions(ctx, &ec2.ModifyVpcEndpointServicePermissionsInput{
			ServiceId: made.ServiceConfiguration.ServiceId, AddAllowedPrincipals: []string{"arn:aws:iam::" + customer + ":role/cpo"},
		})
		if err != nil {
			return err
		}
	}
	var c cost
	if err := c.spent(began, before); err != nil {
		return err
	}
	full, err := quietMemory()
	if err != nil {
		return err
	}
	c.Memory = memoryUsage{RSS: full.RSS - empty.RSS, Anonymous: full.Anonymous - empty.Anonymous}
	return t.leave(c)
}

// restShare is the share of a core that an idle operator uses.
type restShare struct {
	Idle    float64 // CPU seconds per second without any pass
	PerPass float64 // CPU seconds
}

func (r restShare) total() float64 {
	const jitter = 1.1 // the mean of the resync's jitter
	return r.Idle + r.PerPass*servicesAtRest/(jitter*resyncHO.Seconds())
}

// thousandAtRestTask measures the idle operator, and with a resync that is much faster than the half hour of production.
func thousandAtRestTask(ctx context.Context, t *taskRun) error {
	const faster, span = 180, 20 * time.Second
	var kubeconfig string
	if err := t.read(&kubeconfig); err != nil {
		return err
	}
	aws := newCloud()
	manyBalancers(aws)
	var share restShare
	idle, _, err := restCPU(ctx, kubeconfig, aws, 1, span)
	if err != nil {
		return err
	}
	share.Idle = idle.Seconds() / span.Seconds()
	busy, passes, err := restCPU(ctx, kubeconfig, aws, faster, span)
	if err != nil {
		return err
	}
	share.PerPass = (busy - idle).Seconds() / passes
	return t.leave(share)
}

// restCPU runs the operator until it is idle and measures it for a time.
func restCPU(ctx context.Context, kubeconfig string, aws *cloud, faster time.Duration, span time.Duration) (used time.Duration, passes float64, err error) {
	cfg, err := restConfig(kubeconfig)
	if err != nil {
		return 0, 0, err
	}
	w := &writes{}
	ho, err := hypershiftOperator(ctx, cfg, aws, w, func(o *operator.Options, _ *operator.Dependencies) {
		o.ResyncPeriod, o.PermissionsPeriod = resyncHO/faster, permissionsPeriod/faster
	})
	if err != nil {
		return 0, 0, err
	}
	if err := addProvidersHalf(ctx, ho, aws, resyncHO/faster, permissionsPeriod/faster); err != nil {
		return 0, 0, err
	}
	stop := start(ctx, ho)
	if err := w.silence(ctx); err != nil {
		return 0, 0, err
	}
	first, err := controllers()
	if err != nil {
		return 0, 0, err
	}
	before := cpu()
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	}
	used = cpu() - before
	last, err := controllers()
	if err != nil {
		return 0, 0, err
	}
	return used, last.passes - first.passes, stop()
}
