package move

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const plane = "clusters-demo"

func at(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func condition(name string) metav1.Condition {
	return metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, LastTransitionTime: metav1.Now()}
}

func available() (*hyperv1.HostedCluster, *hyperv1.HostedControlPlane) {
	aws := &hyperv1.AWSPlatformSpec{Region: "us-east-1", EndpointAccess: hyperv1.Private}
	platform := hyperv1.PlatformSpec{Type: hyperv1.AWSPlatform, AWS: aws}
	hc := &hyperv1.HostedCluster{ObjectMeta: at("clusters", "demo"), Spec: hyperv1.HostedClusterSpec{InfraID: "demo-x7k2p", Platform: platform}}
	hc.UID, hc.Status.Conditions = "12345678-old", []metav1.Condition{condition(hyperv1.HostedClusterAvailable)}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: at(plane, "demo"), Spec: hyperv1.HostedControlPlaneSpec{InfraID: "demo-x7k2p", Platform: platform}}
	hcp.UID, hcp.Annotations = "plane-of-the-source", map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}
	hcp.Status.ServedEndpointAccess = hyperv1.Private
	return hc, hcp
}

func TestClustersThatCannotMove(t *testing.T) {
	hc, hcp := available()
	if problems := obstacles(hc, hcp, nil, false, time.Now()); len(problems) > 0 {
		t.Fatal(problems)
	}
	forever := ptr.To(hyperv1.PausedUntil("true"))
	for name, tc := range map[string]struct {
		change func(*hyperv1.HostedCluster, *hyperv1.HostedControlPlane, *hyperv1.NodePool)
		begun  bool
		want   string
	}{
		"deleted": {change: func(hc *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hc.DeletionTimestamp = ptr.To(metav1.Now())
		}, want: "is being deleted"},
		"paused": {change: func(hc *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hc.Spec.PausedUntil = forever
		}, want: "remove it"},
		"not available": {change: func(hc *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hc.Status.Conditions = nil
		}, want: "is not available"},
		"unmanaged etcd": {change: func(hc *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hc.Spec.Etcd.ManagementType = hyperv1.Unmanaged
		}, want: "is not managed"},
		"asleep": {change: func(_ *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hcp.Annotations[hyperv1.SleepPhaseAnnotation] = string(hyperv1.SleepPhaseAsleep)
		}, want: "wait until it is awake"},
		"asleep by the move itself": {begun: true, change: func(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hcp.Annotations[hyperv1.SleepPhaseAnnotation], hc.Status.Conditions = string(hyperv1.SleepPhaseAsleep), nil
		}},
		"with the address of its load balancer": {change: func(_ *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hcp.Spec.Platform.AWS.EndpointAccess, hcp.Status.ServedEndpointAccess = hyperv1.Public, hyperv1.Public
			hcp.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer, ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}}}
		}, want: "give it a host name in spec.services"},
		"between two encryption keys": {change: func(hc *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hc.Status.SecretEncryption = &hyperv1.SecretEncryptionStatus{TargetKey: &hyperv1.SecretEncryptionKeyStatus{}}
		}, want: "changes its encryption key"},
		"with the shared router": {change: func(hc *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, _ *hyperv1.NodePool) {
			hc.Annotations = map[string]string{hyperv1.SharedRouterAnnotation: "true"}
		}, want: "shared-router to false"},
		"with a deleted node pool": {change: func(_ *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, np *hyperv1.NodePool) {
			np.DeletionTimestamp = ptr.To(metav1.Now())
		}, want: "wait until it is gone"},
		"with a paused node pool": {change: func(_ *hyperv1.HostedCluster, _ *hyperv1.HostedControlPlane, np *hyperv1.NodePool) {
			np.Spec.PausedUntil = forever
		}, want: "of NodePool workers"},
	} {
		t.Run(name, func(t *testing.T) {
			hc, hcp := available()
			np := &hyperv1.NodePool{ObjectMeta: at("clusters", "workers")}
			tc.change(hc, hcp, np)
			problem := errors.Join(obstacles(hc, hcp, []hyperv1.NodePool{*np}, tc.begun, time.Now())...)
			if (problem != nil) != (tc.want != "") || problem != nil && !strings.Contains(problem.Error(), tc.want) {
				t.Errorf("%v, want %q", problem, tc.want)
			}
		})
	}
}

// both are two management clusters, the first with the cluster. Their operators are the hooks.
type both struct {
	*move
	out bytes.Buffer
	// events are the changes that matter, in their order.
	events []string
}

func newBoth(t *testing.T) *both {
	t.Helper()
	hc, hcp := available()
	np := &hyperv1.NodePool{ObjectMeta: at("clusters", "workers"), Spec: hyperv1.NodePoolSpec{ClusterName: "demo"}}
	machine := &clusterv1.Machine{ObjectMeta: at(plane, "workers-1")}
	es := &hyperv1.AWSEndpointService{ObjectMeta: at(plane, names.PrivateRouter)}
	b := &both{}
	side := func(system string, objects ...client.Object) *management.API {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(system)}}
		c := fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithObjects(append(objects, ns)...).WithStatusSubresource(&hyperv1.HCPEtcdBackup{}).
			WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					if obj.GetUID() == "" {
						obj.SetUID("87654321-new")
					}
					return b.operators(ctx, system, c, obj, c.Create(ctx, obj, opts...))
				},
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					return b.operators(ctx, system, c, obj, c.Patch(ctx, obj, patch, opts...))
				},
			}).Build()
		return &management.API{Client: c, Server: "https://" + system}
	}
	b.move = &move{
		env:    operation.Environment{Out: &b.out, Err: &b.out, Clock: clock.RealClock{}},
		source: side("source", hc, hcp, np, machine, es), target: side("target"),
		moveOptions: moveOptions{
			source: management.Cluster{Namespace: "clusters", Name: "demo"}, yes: true,
			storage: hyperv1.HCPEtcdBackupS3{Bucket: "backups", Region: "us-east-1", KeyPrefix: "prod", RoleARN: "arn:aws:iam::111111111111:role/backup"},
		},
	}
	return b
}

// operators does at once what the operators of a side do after a change.
func (b *both) operators(ctx context.Context, side string, c client.Client, obj client.Object, err error) error {
	if err != nil {
		return err
	}
	say := func(text string) { b.events = append(b.events, side+": "+text) }
	switch obj := obj.(type) {
	case *hyperv1.HCPEtcdBackup:
		say("snapshot " + obj.Name)
		obj.Status.Conditions = []metav1.Condition{condition(hyperv1.BackupCompleted)}
		obj.Status.Conditions[0].Reason = hyperv1.BackupSucceededReason
		obj.Status.Snapshot = &hyperv1.EtcdSnapshot{SizeBytes: 1}
		return c.Status().Update(ctx, obj)
	case *hyperv1.EtcdRestore:
		if obj.Annotations[storedAnnotation] != "" || side == "source" {
			say("etcd begins with " + obj.Spec.Object.Key)
			obj.Status.StartTime = ptr.To(metav1.Now())
			obj.Status.Conditions = []metav1.Condition{condition(hyperv1.EtcdRestored)}
			obj.Status.Conditions[0].Reason = hyperv1.RestoreSucceededReason
			return c.Update(ctx, obj)
		}
	case *hyperv1.HostedCluster:
		return b.hypershiftOperator(ctx, side, c, obj, say)
	case *hyperv1.NodePool:
		say("NodePool resumed")
		machine := &clusterv1.Machine{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: plane, Name: "workers-1"}, machine); err != nil {
			return err
		}
		machine.Status.NodeRef.Name = "node-1"
		return c.Update(ctx, machine)
	}
	return nil
}

func (b *both) hypershiftOperator(ctx context.Context, side string, c client.Client, hc *hyperv1.HostedCluster, say func(string)) error {
	sleeps, asleep := hc.Annotations[hyperv1.SleepAnnotation] == "true", meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAsleep)
	switch {
	case sleeps && !asleep:
		say("asleep, etcd: " + hc.Annotations[hyperv1.SleepEtcdAnnotation])
		hc.Status.Conditions = []metav1.Condition{condition(hyperv1.HostedClusterAsleep)}
	case asleep && !sleeps:
		say("awake, with the names of " + hc.Annotations[hyperv1.MovedFromAnnotation])
		hc.Status.Conditions = []metav1.Condition{condition(hyperv1.HostedClusterAvailable)}
	case hc.Annotations[hyperv1.HandedOverAnnotation] == "true":
		say("handed over")
	case side == "source" && !sleeps && hc.Annotations[hyperv1.PrivateRecordTTLAnnotation] != "":
		say("records for " + hc.Annotations[hyperv1.PrivateRecordTTLAnnotation])
	case side == "target" && hc.Annotations[hyperv1.PreviousEndpointsAnnotation] == hyperv1.PreviousEndpointsReplace:
		say("names")
		es := &hyperv1.AWSEndpointService{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: plane, Name: names.PrivateRouter}, es); err != nil {
			return err
		}
		es.Status.Conditions = []metav1.Condition{condition(hyperv1.AWSEndpointAvailable)}
		hc.Status.Conditions = []metav1.Condition{condition(hyperv1.HostedClusterAvailable)}
		if err := c.Update(ctx, es); err != nil {
			return err
		}
	case side == "target" && hc.Spec.PausedUntil == nil:
		say("control plane")
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: at(plane, "demo")}
		hcp.UID, hcp.Annotations = "plane-of-the-target", map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo"}
		hcp.Status.EtcdRestore = "restore"
		es := &hyperv1.AWSEndpointService{ObjectMeta: at(plane, names.PrivateRouter)}
		es.Status.Conditions = []metav1.Condition{{Type: hyperv1.AWSEndpointAvailable, Status: metav1.ConditionFalse, Reason: hyperv1.RecordClaimedReason}}
		if err := errors.Join(c.Create(ctx, hcp), c.Create(ctx, es), c.Create(ctx, &clusterv1.Cluster{ObjectMeta: at(plane, "demo-x7k2p")})); err != nil {
			return err
		}
	}
	return errors.Join(c.Update(ctx, hc), mirror(ctx, c, hc))
}

// mirror gives the HostedControlPlane what the operator copies from its HostedCluster.
func mirror(ctx context.Context, c client.Client, hc *hyperv1.HostedCluster) error {
	hcp := &hyperv1.HostedControlPlane{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: plane, Name: "demo"}, hcp); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, key := range []string{hyperv1.MovedFromAnnotation, hyperv1.PreviousEndpointsAnnotation, hyperv1.HandedOverAnnotation, hyperv1.PrivateRecordTTLAnnotation} {
		hcp.Annotations[key] = hc.Annotations[key]
	}
	hcp.Annotations[hyperv1.SleepPhaseAnnotation] = string(hyperv1.SleepPhaseAwake)
	if meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAsleep) {
		hcp.Annotations[hyperv1.SleepPhaseAnnotation] = string(hyperv1.SleepPhaseAsleep)
	}
	return c.Update(ctx, hcp)
}

// perform runs the steps, each twice: an interrupted command repeats what it has done.
func (b *both) perform(t *testing.T, steps []step, until string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, s := range steps {
		if s.name == until {
			return
		}
		for range 2 {
			if err := s.run(ctx); err != nil {
				t.Fatalf("%s: %v\n%s", s.name, err, b.out.String())
			}
		}
	}
}

// changeSource changes the HostedCluster at the source as a user does.
func (b *both) changeSource(t *testing.T, change func(*hyperv1.HostedCluster)) {
	t.Helper()
	b.change(t, b.source, change)
}

func (b *both) change(t *testing.T, side *management.API, change func(*hyperv1.HostedCluster)) {
	t.Helper()
	hc, err := side.HostedCluster(t.Context(), "clusters", "demo")
	if err != nil {
		t.Fatal(err)
	}
	before := hc.DeepCopy()
	change(hc)
	if err := side.Patch(t.Context(), hc, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// shortRecords lets the private records of the source already have the lifetime of a move.
func (b *both) shortRecords(t *testing.T) {
	t.Helper()
	b.changeSource(t, func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.PrivateRecordTTLAnnotation: moveTTL.String()}
	})
	b.events = nil
}

// No API server of the source runs when the snapshot is taken, and names follow the API server.
func TestOrderOfAMove(t *testing.T) {
	b := newBoth(t)
	b.shortRecords(t)
	if moved, err := b.check(t.Context()); err != nil || moved {
		t.Fatal(moved, err)
	}
	b.perform(t, b.steps(), "removal")
	b.perform(t, b.steps()[len(b.steps())-1:], "")
	want := []string{
		"target: control plane", "source: asleep, etcd: Keep", "source: snapshot move-87654321",
		"target: etcd begins with prod/demo-x7k2p/move-87654321.db", "target: etcd begins with prod/demo-x7k2p/move-87654321.db",
		"target: names", "target: names", "target: NodePool resumed", "source: handed over",
	}
	if strings.Join(b.events, "\n") != strings.Join(want, "\n") {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(b.events, "\n"), strings.Join(want, "\n"))
	}
	if hc, err := b.source.HostedCluster(t.Context(), "clusters", "demo"); err != nil || hc != nil {
		t.Errorf("the source is left: %v", err)
	}
	if moved, err := b.check(t.Context()); err != nil || !moved {
		t.Errorf("a repetition has more to do than the removal: %v", err)
	}
}

// Two control planes never run with data at the same time, and the last that clients have reached has the data.
func TestWayBack(t *testing.T) {
	for name, tc := range map[string]struct {
		until string
		want  []string
	}{
		"before there is data":                 {"API server", []string{"target: handed over", "source: awake, with the names of ", "target: handed over"}},
		"with data that no client has reached": {"endpoints", []string{"target: handed over", "target: handed over", "source: awake, with the names of "}},
		"with data": {"removal", []string{
			"target: handed over", "target: asleep, etcd: Keep", "target: snapshot back-move-87654321",
			"source: etcd begins with prod/demo-x7k2p/back-move-87654321.db", "source: awake, with the names of plane-of-the-target", "target: handed over",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoth(t)
			b.changeSource(t, func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.PrivateRecordTTLAnnotation: moveTTL.String(), hyperv1.SleepMachinesAnnotation: hyperv1.SleepDelete}
			})
			b.perform(t, b.steps(), tc.until)
			b.events = nil
			b.goBack(t, "")
			if got := strings.Join(b.events, "\n"); got != strings.Join(tc.want, "\n") {
				t.Errorf("the events are\n%s\nwant\n%s", got, strings.Join(tc.want, "\n"))
			}
			b.isBack(t)
		})
	}
}

// goBack goes back until a step.
func (b *both) goBack(t *testing.T, until string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	b.back = true
	if _, err := b.check(ctx); err != nil {
		t.Fatal(err)
	}
	steps, err := b.stepsBack(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if s.name == until {
			return
		}
		if err := s.run(ctx); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
	}
}

// isBack checks that the source is as it was before the move, and that the target has nothing.
func (b *both) isBack(t *testing.T) {
	t.Helper()
	hc, err := b.source.HostedCluster(t.Context(), "clusters", "demo")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		hyperv1.SleepAnnotation: "", hyperv1.SleepEtcdAnnotation: "", hyperv1.SleepLoadBalancersAnnotation: "",
		hyperv1.SleepMachinesAnnotation: hyperv1.SleepDelete, hyperv1.PrivateRecordTTLAnnotation: moveTTL.String(),
	} {
		if hc.Annotations[key] != want {
			t.Errorf("the source has the annotation %s=%q, before the move it had %q", key, hc.Annotations[key], want)
		}
	}
	for _, list := range []client.ObjectList{&hyperv1.HostedClusterList{}, &hyperv1.EtcdRestoreList{}} {
		if err := b.target.List(t.Context(), list); err != nil || meta.LenList(list) > 0 {
			t.Errorf("the target has %d objects of %T left, %v", meta.LenList(list), list, err)
		}
	}
	if _, err := b.stepsBack(t.Context()); err == nil || !strings.Contains(err.Error(), "or is back") {
		t.Errorf("a repetition of --back says %v", err)
	}
}

// The command ends before each step of the way back. A command that would move on says how to continue.
func TestAWayBackContinues(t *testing.T) {
	for until, stops := range map[string][]string{
		"API server": {"wake", "removal", "cleanup"},
		"endpoints":  {"removal", "wake", "cleanup"},
		"removal":    {"data", "wake", "removal", "cleanup"},
	} {
		for _, stopped := range stops {
			t.Run(until+", "+stopped, func(t *testing.T) {
				b := newBoth(t)
				b.changeSource(t, func(hc *hyperv1.HostedCluster) {
					hc.Annotations = map[string]string{hyperv1.PrivateRecordTTLAnnotation: moveTTL.String(), hyperv1.SleepMachinesAnnotation: hyperv1.SleepDelete}
				})
				b.perform(t, b.steps(), until)
				b.goBack(t, stopped)
				b.back = false
				if _, err := b.check(t.Context()); err == nil || !strings.Contains(err.Error(), "continue with --back") {
					t.Errorf("the move can go on: %v", err)
				}
				b.goBack(t, "")
				b.isBack(t)
			})
		}
	}
}

func TestChangesDuringAMoveAreReported(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, b *both)
		want   string
	}{
		"HostedCluster": {func(t *testing.T, b *both) {
			b.changeSource(t, func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = "example.com/release:new" })
		}, "the spec of HostedCluster demo differs between both sides"},
		"new NodePool": {func(t *testing.T, b *both) {
			create(t, b.source, &hyperv1.NodePool{ObjectMeta: at("clusters", "more"), Spec: hyperv1.NodePoolSpec{ClusterName: "demo"}})
		}, "NodePool more differs"},
		"deleted NodePool": {func(t *testing.T, b *both) {
			if err := b.source.Delete(t.Context(), &hyperv1.NodePool{ObjectMeta: at("clusters", "workers")}); err != nil {
				t.Fatal(err)
			}
		}, "NodePool workers differs"},
		"rotated authority": {func(t *testing.T, b *both) {
			ca := &corev1.Secret{ObjectMeta: at(plane, "root-ca")}
			if err := b.source.Get(t.Context(), client.ObjectKeyFromObject(ca), ca); err != nil {
				t.Fatal(err)
			}
			ca.Data["tls.key"] = []byte("new")
			if err := b.source.Update(t.Context(), ca); err != nil {
				t.Fatal(err)
			}
		}, "Secret root-ca of the control plane differs between both sides: keys were rotated during the move"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoth(t)
			create(t, b.source, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "root-ca", Labels: map[string]string{"hypershift.openshift.io/inventory": "control-plane-operator.certificate-authorities"}},
				Data:       map[string][]byte{"tls.key": []byte("old")},
			})
			b.shortRecords(t)
			b.perform(t, b.steps(), "sleep")
			tc.change(t, b)
			if err := b.sleep(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Error(err)
			}
		})
	}
}

func create(t *testing.T, side *management.API, obj client.Object) {
	t.Helper()
	if err := side.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
}

// A user has woken the source after the snapshot: what its clients have written since is not in the snapshot.
func TestAWokenSourceIsStoredAgain(t *testing.T) {
	b := newBoth(t)
	b.shortRecords(t)
	b.perform(t, b.steps(), "API server")
	wake := func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.SleepAnnotation) }
	b.changeSource(t, wake)
	b.events = nil
	b.perform(t, b.steps(), "endpoints")
	want := "source: asleep, etcd: Keep\nsource: snapshot move-87654321\ntarget: etcd begins with"
	if got := strings.Join(b.events, "\n"); !strings.HasPrefix(got, want) {
		t.Errorf("the events are\n%s\nwant\n%s", got, want)
	}
	b.changeSource(t, wake)
	if err := b.sleep(t.Context()); err == nil || !strings.Contains(err.Error(), "would be lost. Use --back") {
		t.Errorf("writes of the source are lost: %v", err)
	}
}

func TestSourceThatIsHandedOverToNobody(t *testing.T) {
	b := newBoth(t)
	b.changeSource(t, func(hc *hyperv1.HostedCluster) {
		hc.Annotations = map[string]string{hyperv1.HandedOverAnnotation: "true"}
	})
	if moved, err := b.check(t.Context()); moved || err == nil || !strings.Contains(err.Error(), "does not exist at https://target") {
		t.Errorf("the only cluster would be removed: %t, %v", moved, err)
	}
}

// A second run needs none of the flags of the first.
func TestStorageOfAMoveThatHasBegun(t *testing.T) {
	for _, prefix := range []string{"prod", "prod/clusters", "/"} {
		b := newBoth(t)
		b.storage.KeyPrefix = prefix
		want := b.storage
		b.perform(t, b.steps(), "control plane")
		b.storage = hyperv1.HCPEtcdBackupS3{}
		if _, err := b.check(t.Context()); err != nil || b.storage != want {
			t.Errorf("the storage is %+v, %v, want %+v", b.storage, err, want)
		}
	}
}

// Resolvers keep a record for the lifetime that it had when they read it.
func TestTheSourceSleepsWhenResolversHaveShortRecords(t *testing.T) {
	b := newBoth(t)
	now := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	began := now.Now()
	b.env.Clock = now
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil {
			if now.HasWaiters() {
				now.Step(management.Interval)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	b.perform(t, b.steps(), "snapshot")
	if waited := now.Since(began); waited < defaultTTL+spread || waited > defaultTTL+2*spread {
		t.Errorf("the source slept after %s\n%s", waited, b.out.String())
	}
	if !strings.Contains(b.out.String(), "resolvers may have those with the longer lifetime until 03:10:") {
		t.Errorf("the command says\n%s", b.out.String())
	}
	if want := "target: control plane\nsource: records for 10s\nsource: asleep, etcd: Keep"; strings.Join(b.events, "\n") != want {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(b.events, "\n"), want)
	}
}

func TestTheSameManagementClusterIsRejected(t *testing.T) {
	b := newBoth(t)
	b.target = b.source
	if _, err := b.check(t.Context()); err == nil || !strings.Contains(err.Error(), "are the same management cluster") {
		t.Error(err)
	}
}

func TestTargetWithoutAnInstallation(t *testing.T) {
	b := newBoth(t)
	b.target.Client = fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return &meta.NoKindMatchError{GroupKind: hyperv1.GroupVersion.WithKind("HostedCluster").GroupKind()}
		},
	}).Build()
	if _, err := b.check(t.Context()); err == nil || !strings.Contains(err.Error(), "hypershift is not installed on https://target") {
		t.Error(err)
	}
}
