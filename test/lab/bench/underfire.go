package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/disruption"
	"github.com/hosted-control-planes/hypershift/test/lab/load"
)

const (
	// rereading is how often clients read their kubeconfig again. During a rotation of certificates, its content changes.
	rereading = 5 * time.Second
	// creating is the time between two objects that a client creates.
	creating = time.Second
	// baseline is the time without an event, in which no request may fail.
	baseline = 15 * time.Second
	// rotationPause is the minimum duration of each step of a rotation of certificates in this section.
	rotationPause = "45s"
)

// attacked is a hosted cluster with a disrupted control plane.
type attacked struct {
	key   client.ObjectKey
	users *load.Load
}

// fireEvents are the events in their order, in which the upgrade is the first because clusters begin with the older version.
var fireEvents = []disruption.Event{
	disruption.Upgrade, disruption.APIServerDeath, disruption.EtcdDeath, disruption.EtcdDrain, disruption.RouterDeath,
	disruption.MachineDeath, disruption.MachineStop, disruption.ZoneDeath, disruption.CertificateRotation, disruption.AccessChange, disruption.KeyRotation,
}

// fired contains the counts of users' requests during an event.
type fired struct {
	Highly, Single load.Count
	// HighlyDetail and SingleDetail describe the event.
	HighlyDetail, SingleDetail string
}

// underFire measures the requests of users of a highly available control plane and of one with one replica, while events happen to one
// after the other.
func underFire(ctx context.Context, l *labBench) (rows []report.Row, err error) {
	d := &disruption.Disruptor{
		Management: l.management, Machines: l.Lab, Release: l.Release, Newer: l.Versions[0], Older: l.Versions[1], Off: 2 * time.Minute,
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var both []*attacked
	for _, availability := range []hyperv1.AvailabilityPolicy{hyperv1.HighlyAvailable, hyperv1.SingleReplica} {
		one, err := l.attacked(ctx, d, availability)
		if err != nil {
			return nil, err
		}
		defer one.users.Stop()
		both = append(both, one)
	}
	for _, one := range both {
		if err := calm(ctx, one.users, baseline); err != nil {
			return nil, fmt.Errorf("%s: %w", one.key, err)
		}
	}
	results := map[string]fired{}
	for _, event := range fireEvents {
		if results[event.Name], err = fire(ctx, d, both, event); err != nil {
			delete(results, event.Name)
			return fireRows(results), err
		}
	}
	var all []client.ObjectKey
	for _, one := range both {
		one.users.Stop()
		all = append(all, one.key)
	}
	return fireRows(results), l.end(ctx, all, &labLife{})
}

// fire makes an event happen to the highly available control plane, and then to the other one.
func fire(ctx context.Context, d *disruption.Disruptor, both []*attacked, event disruption.Event) (f fired, err error) {
	for i, one := range both {
		began := time.Now()
		one.users.Count()
		detail, err := event.Happen(d, ctx, one.key)
		if err != nil {
			return f, fmt.Errorf("%s of %s: %w", event.Name, one.key, err)
		}
		if err := recovered(ctx, one.users); err != nil {
			return f, fmt.Errorf("after %s of %s: %w", event.Name, one.key, err)
		}
		count := one.users.Count()
		detail = fmt.Sprintf("%s; %.0f s in all; %s", detail, time.Since(began).Seconds(), noticed(count))
		fmt.Fprintf(os.Stderr, "%s: %s: %s\n", one.key, event.Name, detail)
		if i == 0 {
			f.Highly, f.HighlyDetail = count, detail
		} else {
			f.Single, f.SingleDetail = count, detail
		}
		for _, each := range both { // an event of one may have disturbed the other
			if err := d.Complete(ctx, each.key); err != nil {
				return f, fmt.Errorf("after %s of %s: %w", event.Name, one.key, err)
			}
		}
	}
	return f, nil
}

// recovered waits until all users have answers again: a program can be ready before its clients have noticed.
func recovered(ctx context.Context, users *load.Load) error {
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, disruption.Timeout)
	defer stop()
	return users.AwaitAnswers(ctx)
}

func noticed(c load.Count) string {
	return fmt.Sprintf("%s; longest gap %.2f s with one connection, %.2f s with new connections, %.2f s for creates",
		c, c.Gaps[load.OneConnection].Seconds(), c.Gaps[load.NewConnections].Seconds(), c.Gaps[load.Creates].Seconds())
}

// calm returns an error unless requests succeed without a disruption.
func calm(ctx context.Context, users *load.Load, span time.Duration) error {
	users.Count()
	if err := pause(ctx, span); err != nil {
		return err
	}
	if c := users.Count(); c.Asked == 0 || c.Failed > 0 {
		return fmt.Errorf("requests fail although nothing happens: %s", c)
	}
	return nil
}

// fireRows are the rows of all events; those without a result are not measured.
func fireRows(results map[string]fired) (rows []report.Row) {
	for _, event := range fireEvents {
		var failed, gap []float64
		f, measured := results[event.Name]
		if measured {
			failed, gap = []float64{float64(f.Highly.Failed)}, []float64{f.Single.Gap.Seconds()}
		}
		lost := report.Within("failed requests, more than one replica", 0, "", failed...).WithDetail("%s", f.HighlyDetail).WhatWasTried(fireTried[event.Name])
		if event.Name == disruption.Upgrade.Name {
			lost = lost.Earlier("1 of 1,277")
		}
		rows = append(rows, report.Row{
			What: "requests of users: " + event.Name, Note: fireNotes[event.Name],
			Figures: []report.Figure{lost, report.Within("longest gap, one replica", gapGoal(event), "s", gap...).WithDetail("%s", f.SingleDetail).WhatWasTried(gapTried[event.Name])},
		})
	}
	return rows
}

// gapGoal is the maximum gap, in seconds. Kubernetes counts a node as lost after 50 s without a heartbeat; then a volume is detached and
// attached, and etcd and the API server start.
func gapGoal(event disruption.Event) float64 {
	if event.Name == disruption.MachineStop.Name {
		return 90
	}
	return 10
}

// attacked creates a hosted cluster of the older version, with encrypted Secrets, and begins to send the requests of its users.
func (b *labBench) attacked(ctx context.Context, d *disruption.Disruptor, availability hyperv1.AvailabilityPolicy) (*attacked, error) {
	prepared, err := b.prepareVersion(ctx, availability, d.Older, nil)
	if err != nil {
		return nil, err
	}
	one := &attacked{key: prepared.key}
	if err := prepared.apply(); err != nil {
		return nil, err
	}
	first := one.key.Name + "-first"
	if err := d.NewKey(ctx, one.key, first); err != nil {
		return nil, err
	}
	hc, err := d.Change(ctx, one.key, func(hc *hyperv1.HostedCluster) {
		metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.RotationPauseAnnotation, rotationPause)
		hc.Spec.SecretEncryption = disruption.EncryptedWith(first)
	})
	if err != nil {
		return nil, err
	}
	empty := newPool(hc, prepared.customer, hc.Name) // the connection of a private path is in its subnet
	empty.Spec.Replicas = new(int32)
	if err := b.management.Create(ctx, empty); err != nil {
		return nil, err
	}
	if err := d.Complete(ctx, one.key); err != nil {
		return nil, err
	}
	return one, b.sendRequests(ctx, one)
}

// sendRequests sends the requests of the users, through the load balancer, until ctx ends.
func (b *labBench) sendRequests(ctx context.Context, one *attacked) error {
	address := ""
	if err := until(ctx, disruption.Timeout, func(ctx context.Context) (bool, error) {
		address = b.balancer(ctx, client.ObjectKey{Namespace: controlPlane(one.key), Name: names.Router})
		return address != "", nil
	}); err != nil {
		return fmt.Errorf("the load balancer of %s: %w", one.key, err)
	}
	file := filepath.Join(b.Dir, one.key.Name+"-users.kubeconfig")
	read := func(ctx context.Context) ([]byte, error) {
		return userKubeconfig(ctx, b.management, one.key, address)
	}
	text, err := read(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig of users: %w", err)
	}
	one.users, err = load.StartWith(ctx, file, load.Options{Creates: creating, RepeatReads: true, OnFailure: func(began time.Time, took time.Duration, problem string) {
		fmt.Fprintf(os.Stderr, "%s: a request of %s failed after %.2f s: %s\n", one.key, began.UTC().Format("15:04:05.000"), took.Seconds(), problem)
	}})
	if err != nil {
		return err
	}
	go func() {
		for pause(ctx, rereading) == nil {
			now, err := read(ctx)
			if err == nil && !bytes.Equal(now, text) {
				text = now
				if err = os.WriteFile(file, now, 0o600); err == nil {
					err = one.users.Use(file)
				}
			}
			if err != nil && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "%s: reading the kubeconfig again: %v\n", one.key, err)
			}
		}
	}()
	return nil
}

// userKubeconfig is the published kubeconfig of the administrator of a hosted cluster, with the address of the load balancer, because the
// host cannot resolve its name.
func userKubeconfig(ctx context.Context, c client.Client, hc client.ObjectKey, address string) ([]byte, error) {
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: hc.Name + "-admin-kubeconfig"}, secret); err != nil {
		return nil, fmt.Errorf("getting the kubeconfig of %s: %w", hc, err)
	}
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", hc, err)
	}
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig of %s: %w", hc, err)
		}
		port := server.Port()
		if port == "" {
			port = "443"
		}
		cluster.TLSServerName = server.Hostname()
		server.Host = net.JoinHostPort(address, port)
		cluster.Server = server.String()
	}
	return clientcmd.Write(*config)
}

// fireNotes describe events, by name.
var fireNotes = map[string]string{
	"upgrade": "by one minor version. Requests go through load balancer and router: 20 reads a second on one connection, 20 on a new connection each, and " +
		"one create a second. A read whose connection is lost is sent again, as client-go does; a create is not. A gap is the longest time that one of " +
		"the three clients was without an answer",
	"death of an API server's pod":  "every API server in turn, without a graceful shutdown",
	"death of an etcd member":       "every member in turn, the leader among them, without a graceful shutdown",
	"drain of an etcd member":       "every member in turn is deleted with its grace period",
	"death of a router":             "every router in turn, without a graceful shutdown",
	"death of a management machine": "that of an API server; the power is off for two minutes. Load balancers survive",
	"stop of a management machine":  "that of an API server; EC2 reports its instance as stopped for two minutes",
	"death of a zone":               "that of an API server; the power of all its machines is off for two minutes. Load balancers survive",
	"rotation of all certificates":  "steps of 45 seconds instead of five minutes; clients read their kubeconfig again every five seconds",
	"change of the access mode":     "from Public to PublicAndPrivate, and back; requests use the public path",
}

const oneReplicaOff = "a pod on a dead machine is replaced elsewhere at the earliest when its node counts as lost. The member of etcd waits for the machine: a " +
	"StatefulSet does not start it twice, unless the cloud provider says that the instance is stopped. Use the policy HighlyAvailable where this matters."

const refusedAtOnce = "new connections to an etcd that is about to stop are refused at once (decision 0081), and API servers repeat them with a back-off of seconds."

// fireTried and gapTried are the efforts for events that miss the goal, by name.
var (
	fireTried = map[string]string{
		"death of an etcd member": "a create that is in flight when the leader dies fails: nobody knows whether it was stored, and etcd's client does not repeat it.",
		"death of a management machine": "the router closes connections to a dead API server after 10 s. A write that is in flight to a member of etcd on the machine fails. Load " +
			"balancers and kube-proxy send new connections to a dead machine until they notice.",
		"stop of a management machine": "as for the death of a machine.",
		"death of a zone":              "load balancers send new connections to routers of a dead zone until their health checks fail. Reads are repeated by clients, creates are not.",
		"rotation of all certificates": "members of etcd are restarted with 15 s between them, so that API servers can connect to one before the next restarts, and a member " +
			"that stops completes its requests. A write that etcd's leader has when it hands over times out in etcd.",
	}
	gapTried = map[string]string{
		"death of a management machine": oneReplicaOff,
		"stop of a management machine":  "the node is taken out of service as soon as the cloud provider says that its instance is stopped (decision 0094).",
		"death of a zone":               oneReplicaOff,
		"death of an API server's pod":  "its pod is replaced at once, and the startup probe runs each second.",
		"drain of an etcd member":       refusedAtOnce,
		"rotation of all certificates":  "etcd and the API server are restarted in the same step of the rotation. " + refusedAtOnce,
	}
)
