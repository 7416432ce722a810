package etcdbackupschedule

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const operator = "hypershift"

// start is before the first scheduled time, 03:00.
var start = time.Date(2026, 1, 2, 2, 0, 0, 0, time.UTC)

// fleet is a schedule with HostedClusters. Others ends each backup.
type fleet struct {
	*testenv.Env
	// fails makes backups fail, and idle lets them run for ever.
	fails, idle bool
}

func schedule(change ...func(*hyperv1.EtcdBackupSchedule)) *hyperv1.EtcdBackupSchedule {
	s := &hyperv1.EtcdBackupSchedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "nightly", Generation: 1, CreationTimestamp: metav1.NewTime(start)},
		Spec: hyperv1.EtcdBackupScheduleSpec{
			Schedule: "0 3 * * *", Jitter: &metav1.Duration{}, Retention: hyperv1.EtcdBackupRetention{Count: 2},
			Storage: hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &hyperv1.HCPEtcdBackupS3{
				Bucket: "backups", Region: testenv.Region, KeyPrefix: "prod", RoleARN: "arn:aws:iam::222222222222:role/backups",
			}},
		},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func newFleet(t testing.TB, change ...func(*hyperv1.EtcdBackupSchedule)) *fleet {
	e := &fleet{Env: testenv.New(t, testenv.WithStart(start), testenv.WithSchemas("config/crd"),
		testenv.For(schedule(change...), &hyperv1.EtcdBackupScheduleList{}),
		testenv.WithKinds(&hyperv1.HCPEtcdBackupList{}, &hyperv1.HostedClusterList{}), testenv.WithStatus(&hyperv1.HCPEtcdBackup{}, &hyperv1.HostedCluster{}),
	)}
	e.Start, e.Others = e.startController, e.backups
	e.cluster("clusters", "demo")
	return e
}

// cluster adds a HostedCluster with a control plane.
func (e *fleet) cluster(namespace, name string, labels ...string) {
	e.T.Helper()
	hc := testenv.PrivateCluster()
	hc.Namespace, hc.Name, hc.CreationTimestamp = namespace, name, metav1.NewTime(start)
	for _, l := range labels {
		metav1.SetMetaDataLabel(&hc.ObjectMeta, l, "")
	}
	hcp := testenv.HostedControlPlane()
	hcp.Namespace, hcp.Name = names.ControlPlaneNamespace(namespace, name), name
	e.Create(hc, hcp)
}

func (e *fleet) startController() testenv.Pass {
	c := New(Options{Client: e.Client(), Reader: e.Client(), Recorder: e.Events, Clock: e.Clock, Namespace: operator})
	return e.PassOverKeys(&hyperv1.EtcdBackupScheduleList{}, c.Reconcile)
}

// backups is the controller of backups.
func (e *fleet) backups(ctx context.Context) error {
	var list hyperv1.HCPEtcdBackupList
	if err := e.Admin().List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		b := &list.Items[i]
		if b.Annotations[hyperv1.EtcdBackupExpiredAnnotation] == "true" {
			if err := e.Admin().Delete(ctx, b); err != nil {
				return err
			}
			continue
		}
		if e.idle || hyperv1.IsBackupFinished(b) {
			continue
		}
		c := metav1.Condition{Type: hyperv1.BackupCompleted, Status: metav1.ConditionTrue, Reason: hyperv1.BackupSucceededReason, LastTransitionTime: metav1.NewTime(e.Clock.Now())}
		if e.fails {
			c.Status, c.Reason = metav1.ConditionFalse, hyperv1.BackupFailedReason
		}
		b.Status.Conditions = []metav1.Condition{c}
		if err := e.Admin().Status().Update(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// at moves the clock to a time of the form "3 04:00" and runs the controllers.
func (e *fleet) at(when string) {
	e.T.Helper()
	at, err := time.Parse("2006-01-2 15:04", "2026-01-"+when)
	e.Must(err)
	e.Clock.SetTime(at)
	e.Run(3)
}

// names returns the backups.
func (e *fleet) names() string {
	e.T.Helper()
	var all []string
	for _, b := range testenv.Listed(e.Env, &hyperv1.HCPEtcdBackupList{}).Items {
		all = append(all, b.Namespace+"/"+b.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (e *fleet) expect(want string) {
	e.T.Helper()
	if got := e.names(); got != want {
		e.T.Errorf("the backups are %q, want %q", got, want)
	}
}

func TestBackupsOfASchedule(t *testing.T) {
	e := newFleet(t)
	e.Run(2)
	e.expect("")
	e.ExpectConditionText(hyperv1.BackupsOnSchedule, "True AsExpected: All is well")
	e.ExpectRequeue(time.Hour - e.Tick)
	e.at("2 03:00")
	e.expect("clusters-demo/nightly-00000-202601020300")
	e.at("3 03:00")
	e.at("4 03:00")
	e.expect("clusters-demo/nightly-00000-202601030300 clusters-demo/nightly-00000-202601040300")
	if s := e.schedule(); s.Status.Clusters != 1 || !s.Status.LastScheduleTime.Equal(ptr.To(metav1.NewTime(time.Date(2026, 1, 4, 3, 0, 0, 0, time.UTC)))) {
		t.Errorf("the status is %+v", s.Status)
	}
}

func (e *fleet) schedule() *hyperv1.EtcdBackupSchedule {
	e.T.Helper()
	s := &hyperv1.EtcdBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "nightly"}}
	e.Get(s)
	return s
}

// After a day without the operator one backup is made, and the missed time is reported until it is stored.
func TestMissedTimes(t *testing.T) {
	e := newFleet(t)
	e.idle = true
	e.at("3 05:00")
	e.expect("clusters-demo/nightly-00000-202601030300")
	e.ExpectConditionText(hyperv1.BackupsOnSchedule, "False BackupsMissed: 1 of 1 clusters have no stored backup of 2026-01-03T03:00:00Z: clusters/demo")
	if got := e.schedule().Status.Missed; got != 1 {
		t.Errorf("%d clusters are missed", got)
	}
	e.idle = false
	e.Run(2)
	e.ExpectConditionText(hyperv1.BackupsOnSchedule, "True AsExpected: All is well")

	e.idle = true
	e.at("4 03:30")
	e.ExpectConditionText(hyperv1.BackupsOnSchedule, "True AsExpected: All is well")
	e.ExpectRequeue(30*time.Minute - 2*e.Tick)
}

// A backup of a sleeping cluster waits until etcd has pods.
func TestASleepingClusterIsNotMissed(t *testing.T) {
	e := newFleet(t)
	e.idle = true
	hc := &hyperv1.HostedCluster{}
	e.Must(e.Admin().Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc))
	hc.Status.Conditions = []metav1.Condition{{
		Type: hyperv1.HostedClusterAsleep, Status: metav1.ConditionTrue, Reason: hyperv1.AsleepReason, LastTransitionTime: metav1.NewTime(start),
	}}
	e.Must(e.Admin().Status().Update(t.Context(), hc))
	e.at("3 05:00")
	e.expect("clusters-demo/nightly-00000-202601030300")
	e.ExpectConditionText(hyperv1.BackupsOnSchedule, "True AsExpected: All is well")
}

// 200 clusters do not begin in one minute.
func TestJitter(t *testing.T) {
	e := newFleet(t, func(s *hyperv1.EtcdBackupSchedule) { s.Spec.Jitter = nil })
	for i := range 60 {
		e.cluster("clusters", fmt.Sprintf("c%d", i))
	}
	last := 0
	for minute := 0; minute <= 35; minute += 5 {
		e.at(fmt.Sprintf("2 03:%02d", minute))
		n := len(testenv.Listed(e.Env, &hyperv1.HCPEtcdBackupList{}).Items)
		if minute > 0 && minute < 30 && (n == last || n == 61) {
			t.Errorf("%d backups after %d minutes, %d before", n, minute, last)
		}
		last = n
	}
	if last != 61 {
		t.Errorf("%d backups, want 61", last)
	}
}

func TestSelectedClusters(t *testing.T) {
	selects := func(s *hyperv1.EtcdBackupSchedule) {
		s.Spec.HostedClusterSelector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpExists}}}
	}
	for name, c := range map[string]struct {
		namespace, want string
	}{
		"those of the namespace":                              {"clusters", "clusters-a/nightly-00000-202601020300"},
		"those of all namespaces for the provider's schedule": {operator, "clusters-a/nightly-00000-202601020300 others-b/nightly-00000-202601020300"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFleet(t, selects, func(s *hyperv1.EtcdBackupSchedule) { s.Namespace = c.namespace })
			e.cluster("clusters", "a", "tier")
			e.cluster("others", "b", "tier")
			e.at("2 03:00")
			e.expect(c.want)
		})
	}
}

func TestInvalidSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*hyperv1.EtcdBackupScheduleSpec)
		want   string
	}{
		"no expression":       {func(s *hyperv1.EtcdBackupScheduleSpec) { s.Schedule = "daily" }, `spec.schedule "daily" is not a cron expression`},
		"an interval":         {func(s *hyperv1.EtcdBackupScheduleSpec) { s.Schedule = "@every 6h" }, "has no fixed times"},
		"a zone inside":       {func(s *hyperv1.EtcdBackupScheduleSpec) { s.Schedule = "CRON_TZ=Asia/Tokyo 0 3 * * *" }, "move it to spec.timeZone"},
		"an unknown zone":     {func(s *hyperv1.EtcdBackupScheduleSpec) { s.TimeZone = "Mars/Base" }, `spec.timeZone "Mars/Base"`},
		"each minute":         {func(s *hyperv1.EtcdBackupScheduleSpec) { s.Schedule = "* * * * *" }, "more often than every 5m0s"},
		"a day that is never": {func(s *hyperv1.EtcdBackupScheduleSpec) { s.Schedule = "0 3 31 2 *" }, "has no time in the next years"},
		"a long jitter":       {func(s *hyperv1.EtcdBackupScheduleSpec) { s.Jitter = &metav1.Duration{Duration: 24 * time.Hour} }, "spec.jitter 24h0m0s is not between"},
		"a selector": {func(s *hyperv1.EtcdBackupScheduleSpec) {
			s.HostedClusterSelector.MatchLabels = map[string]string{"-": "a"}
		}, "spec.hostedClusterSelector cannot be read"},
		"the Secrets of the provider": {func(s *hyperv1.EtcdBackupScheduleSpec) {
			s.Storage.S3.RoleARN, s.Storage.S3.Credentials = "", &hyperv1.SecretReference{Name: "provider"}
		}, "is a Secret of the namespace hypershift, which this schedule may not use"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFleet(t, func(s *hyperv1.EtcdBackupSchedule) { c.change(&s.Spec) })
			e.at("2 03:00")
			if got := e.ConditionText(hyperv1.BackupsOnSchedule); !strings.HasPrefix(got, "False InvalidSchedule") || !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			e.expect("")
		})
	}
}

func TestTimeZones(t *testing.T) {
	for name, c := range map[string]struct{ schedule, zone, now, want string }{
		"UTC":                       {"0 3 * * *", "", "2026-06-02T10:00:00Z", "2026-06-02T03:00:00Z"},
		"summer in Berlin":          {"0 3 * * *", "Europe/Berlin", "2026-06-02T10:00:00Z", "2026-06-02T01:00:00Z"},
		"winter in Berlin":          {"0 3 * * *", "Europe/Berlin", "2026-01-02T10:00:00Z", "2026-01-02T02:00:00Z"},
		"once a year":               {"0 0 1 1 *", "", "2026-11-29T00:00:00Z", "2026-01-01T00:00:00Z"},
		"each leap day":             {"0 0 29 2 *", "", "2026-11-29T00:00:00Z", "2024-02-29T00:00:00Z"},
		"exactly now":               {"0 3 * * *", "", "2026-06-02T03:00:00Z", "2026-06-02T03:00:00Z"},
		"the hour that is left out": {"30 2 * * *", "Europe/Berlin", "2026-03-29T10:00:00Z", "2026-03-28T01:30:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			times, err := parse(&hyperv1.EtcdBackupScheduleSpec{Schedule: c.schedule, TimeZone: c.zone}, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := times.last(now).UTC().Format(time.RFC3339); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRetention(t *testing.T) {
	now := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	day := func(age int, state string) *hyperv1.HCPEtcdBackup {
		b := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", state, age), Annotations: map[string]string{
			hyperv1.ScheduledTimeAnnotation: now.Add(time.Duration(-age) * 24 * time.Hour).Format(time.RFC3339),
		}}}
		switch state {
		case "stored":
			b.Status.Conditions = []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: metav1.ConditionTrue}}
		case "failed":
			b.Status.Conditions = []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: metav1.ConditionFalse, Reason: hyperv1.BackupFailedReason}}
		}
		return b
	}
	for name, c := range map[string]struct {
		backups   []*hyperv1.HCPEtcdBackup
		retention hyperv1.EtcdBackupRetention
		want      string
	}{
		"by count":                        {[]*hyperv1.HCPEtcdBackup{day(3, "stored"), day(2, "stored"), day(1, "stored")}, hyperv1.EtcdBackupRetention{Count: 2}, "stored-3"},
		"by age":                          {[]*hyperv1.HCPEtcdBackup{day(9, "stored"), day(2, "stored"), day(1, "stored")}, hyperv1.EtcdBackupRetention{Count: 9, MaxAge: &metav1.Duration{Duration: 72 * time.Hour}}, "stored-9"},
		"the last one is kept":            {[]*hyperv1.HCPEtcdBackup{day(9, "stored"), day(8, "failed"), day(1, "running")}, hyperv1.EtcdBackupRetention{Count: 1, MaxAge: &metav1.Duration{Duration: time.Hour}}, ""},
		"failed ones before a stored one": {[]*hyperv1.HCPEtcdBackup{day(3, "failed"), day(2, "stored"), day(1, "failed")}, hyperv1.EtcdBackupRetention{}, "failed-3"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range expired(c.backups, c.retention, now) {
				got = append(got, b.Name)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLastBackupBeforeTheDeletion(t *testing.T) {
	before := func(s *hyperv1.EtcdBackupSchedule) { s.Spec.BeforeDeletion = true }
	cluster := func(e *fleet) *hyperv1.HostedCluster {
		hc := &hyperv1.HostedCluster{}
		e.Must(client.IgnoreNotFound(e.Admin().Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo"}, hc)))
		return hc
	}
	for name, c := range map[string]struct {
		world       func(*fleet)
		gone, event bool
	}{
		"it is stored":  {func(*fleet) {}, true, false},
		"it fails":      {func(e *fleet) { e.fails = true }, true, true},
		"it still runs": {func(e *fleet) { e.idle = true }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFleet(t, before)
			e.Clock.SetTime(time.Now())
			e.Run(1)
			if got := cluster(e).Finalizers; !slices.Contains(got, hyperv1.LastBackupFinalizer) {
				t.Fatalf("the finalizers are %s", got)
			}
			e.Delete(cluster(e))
			c.world(e)
			e.Run(3)
			if gone := cluster(e).Name == ""; gone != c.gone {
				t.Errorf("the cluster is gone: %v", gone)
			}
			if got := e.Events.Contains("without its last backup"); got != c.event {
				t.Errorf("there is an event: %v", got)
			}
			if !strings.Contains(e.names(), "clusters-demo/nightly-00000-last") {
				t.Errorf("the backups are %s", e.names())
			}
		})
	}
	t.Run("the schedule is deleted", func(t *testing.T) {
		e := newFleet(t, before)
		e.Run(1)
		e.Delete(e.schedule())
		e.Run(1)
		if got := cluster(e).Finalizers; slices.Contains(got, hyperv1.LastBackupFinalizer) {
			t.Errorf("the finalizers are %s", got)
		}
	})
}

func TestSuspendedSchedule(t *testing.T) {
	e := newFleet(t, func(s *hyperv1.EtcdBackupSchedule) { s.Spec.Suspend = true })
	e.at("2 03:00")
	e.expect("")
	e.ExpectConditionText(hyperv1.BackupsOnSchedule, "False Suspended: spec.suspend is true: no backups are made or deleted")
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario {
		e := newFleet(t, func(s *hyperv1.EtcdBackupSchedule) { s.Spec.BeforeDeletion = true })
		e.Clock.SetTime(start.Add(time.Hour))
		s := e.Scenario(hyperv1.BackupsOnSchedule)
		s.Delete = func(ctx context.Context) error {
			hc := testenv.PrivateCluster()
			for _, obj := range []client.Object{e.Object, hc} {
				if err := e.Admin().Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
					return err
				}
			}
			return e.Admin().DeleteAllOf(ctx, &hyperv1.HCPEtcdBackup{}, client.InNamespace("clusters-demo"))
		}
		return s
	}
	crashtest.CrashConsistency(t, begin)
	t.Run("faults", func(t *testing.T) { crashtest.APIFaults(t, begin) })
}
