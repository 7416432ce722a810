package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/config/iam"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/fixture/accounts"
	"github.com/hosted-control-planes/hypershift/test/lab/bench/report"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

const (
	// stored is how much etcd holds, and entry the size of one object in it: the limit of an object's annotations.
	stored, entry = 1 << 30, 250 << 10
	// writers fill etcd at the same time.
	writers = 8
	// dayTwoBucket is the bucket of the backups.
	dayTwoBucket = "bench-backups"
	// dayTwoPatience is how long one step may take.
	dayTwoPatience = 15 * time.Minute
)

// dayTwoResult is what a cluster with a gibibyte of data took, in seconds and MiB.
type dayTwoResult struct {
	bytes                        float64
	backup                       []float64
	operatorBefore, operatorPeak []float64
	restore, restoreGap          []float64
	move, moveGap                []float64
}

// dayTwo measures a backup, a restore in place and a move of one cluster with a gibibyte in etcd.
func dayTwo(ctx context.Context, b *labBench) (_ []report.Row, err error) {
	hc, customer, err := b.single(ctx, nil)
	if err != nil {
		return nil, err
	}
	before := hc.DeepCopy()
	hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private // its names need no external-dns
	metav1.SetMetaDataAnnotation(&hc.ObjectMeta, hyperv1.PrivateRecordTTLAnnotation, "10s")
	if err := b.management.Patch(ctx, hc, client.MergeFrom(before)); err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(hc)
	if err := b.conditionOf(ctx, key, hyperv1.EndpointAccessUpToDate); err != nil {
		return nil, err
	}
	role, err := b.backupRole(ctx, hc, customer)
	if err != nil {
		return nil, err
	}
	if err := b.fill(ctx, key); err != nil {
		return nil, err
	}
	r := &dayTwoResult{}
	if err := b.measureBackup(ctx, key, role, r); err != nil {
		return nil, err
	}
	if err := b.measureRestore(ctx, key, r); err != nil {
		return nil, err
	}
	if err := b.measureMove(ctx, key, role, r); err != nil {
		return nil, err
	}
	return dayTwoRows(r), nil
}

func dayTwoRows(r *dayTwoResult) []report.Row {
	return []report.Row{{
		What: "day two of a hosted control plane with 1 GiB in etcd, 1 etcd and 1 API server",
		Note: fmt.Sprintf("the snapshot has %.0f MiB. Times are from the object or command until its end; a gap is the longest time in which no request of a user was answered", r.bytes/(1<<20)),
		Figures: []report.Figure{
			report.Info("backup, with its verification", "s", r.backup...),
			report.Info("hypershift-operator before the backup: memory", "MiB", r.operatorBefore...),
			report.Info("hypershift-operator during the backup: memory", "MiB", r.operatorPeak...),
			report.Info("restore in place", "s", r.restore...),
			report.Info("restore in place: gap of the API", "s", r.restoreGap...),
			report.Info("move to another management cluster", "s", r.move...),
			report.Info("move to another management cluster: gap of the API", "s", r.moveGap...),
		},
	}}
}

// conditionOf waits until a condition of a HostedCluster is True.
func (b *labBench) conditionOf(ctx context.Context, key client.ObjectKey, name string) error {
	err := untilSeen(ctx, dayTwoPatience, func(ctx context.Context) (bool, error) {
		hc := &hyperv1.HostedCluster{}
		err := b.management.Get(ctx, key, hc)
		c := meta.FindStatusCondition(hc.Status.Conditions, name)
		return err == nil && c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == hc.Generation, nil
	})
	if err != nil {
		return fmt.Errorf("%s of %s: %w", name, key, err)
	}
	return nil
}

// backupRole makes the bucket, and the role of the cluster that stores its backups there.
func (b *labBench) backupRole(ctx context.Context, hc *hyperv1.HostedCluster, customer *accounts.Customer) (role string, err error) {
	name, bucket := hc.Spec.InfraID+"-etcd-backup", dayTwoBucket
	err = b.AWS.Given(ctx, customer.Account, func() (err error) {
		role, err = b.AWS.Role(ctx, customer.Account, name, awsemulator.TrustWebIdentity(customer.OIDCProvider, names.EtcdBackupSubject))
		return err
	})
	if err != nil {
		return "", err
	}
	policy, err := iam.Fill(iam.EtcdBackup, map[string]string{"BACKUP_BUCKET": bucket, "INFRA_ID": hc.Spec.InfraID})
	if err != nil {
		return "", err
	}
	if err := b.AWS.Permit(ctx, customer.Account, name, policy); err != nil {
		return "", err
	}
	storage := s3.NewFromConfig(b.AWS.Config(b.Management.Account))
	if _, err := storage.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		return "", err
	}
	permit := fmt.Sprintf(`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": %q}, "Action": "s3:*", "Resource": ["arn:aws:s3:::%s", "arn:aws:s3:::%s/*"]}]}`, role, bucket, bucket)
	_, err = storage.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: &permit})
	return role, err
}

// fill writes Events, which no program keeps in memory.
func (b *labBench) fill(ctx context.Context, key client.ObjectKey) error {
	hosted, err := b.hosted(ctx, &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
	if err != nil {
		return err
	}
	text := strings.Repeat("x", entry)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(writers)
	for i := range stored / entry {
		all.Go(func() error {
			e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("filler-%d", i), Annotations: map[string]string{"filler": text}}}
			e.InvolvedObject.Namespace = "default"
			return hosted.Create(ctx, e)
		})
	}
	return all.Wait()
}

func (b *labBench) measureBackup(ctx context.Context, key client.ObjectKey, role string, r *dayTwoResult) error {
	before, err := b.usage(ctx)
	if err != nil {
		return err
	}
	r.operatorBefore = []float64{before.in(hosting.Namespace, "").memory()}
	began, peak := time.Now(), 0.0
	backup := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: controlPlane(key), Name: "bench"}}
	backup.Spec.Storage = hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &hyperv1.HCPEtcdBackupS3{
		Bucket: dayTwoBucket, Region: accounts.Region, KeyPrefix: "bench", RoleARN: hyperv1.RoleARN(role), BucketOwner: b.Management.Account,
	}}
	if err := b.management.Create(ctx, backup); err != nil {
		return err
	}
	err = poll(ctx, time.Second, dayTwoPatience, func(ctx context.Context) (bool, error) {
		if u, err := b.usage(ctx); err == nil {
			peak = max(peak, u.in(hosting.Namespace, "").memory())
		}
		err := b.management.Get(ctx, client.ObjectKeyFromObject(backup), backup)
		return err == nil && hyperv1.IsBackupStored(backup), nil
	})
	if err != nil {
		return fmt.Errorf("backup: %w: %+v", err, backup.Status)
	}
	r.backup, r.operatorPeak, r.bytes = []float64{time.Since(began).Seconds()}, []float64{peak}, float64(backup.Status.Snapshot.SizeBytes)
	return nil
}

func (b *labBench) measureRestore(ctx context.Context, key client.ObjectKey, r *dayTwoResult) error {
	gap := watchGap(ctx, []*hosting.Hosting{b.Hosting}, key)
	began := time.Now()
	restore := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: "bench"}, Spec: hyperv1.EtcdRestoreSpec{
		HostedClusterName: key.Name, Backup: &hyperv1.EtcdRestoreBackup{Name: "bench"},
	}}
	if err := b.management.Create(ctx, restore); err != nil {
		return err
	}
	err := poll(ctx, time.Second, dayTwoPatience, func(ctx context.Context) (bool, error) {
		err := b.management.Get(ctx, client.ObjectKeyFromObject(restore), restore)
		return err == nil && hyperv1.IsRestoreFinished(restore), nil
	})
	if err != nil || !meta.IsStatusConditionTrue(restore.Status.Conditions, hyperv1.EtcdRestored) {
		return fmt.Errorf("restore: %w: %+v", err, restore.Status)
	}
	r.restore = []float64{time.Since(began).Seconds()}
	r.restoreGap = []float64{gap()}
	return nil
}

func (b *labBench) measureMove(ctx context.Context, key client.ObjectKey, role string, r *dayTwoResult) error {
	if err := b.conditionOf(ctx, key, hyperv1.HostedClusterAvailable); err != nil {
		return err
	}
	second, err := b.Second(ctx, 2)
	if err != nil {
		return err
	}
	gap := watchGap(ctx, []*hosting.Hosting{b.Hosting, second}, key)
	began := time.Now()
	env := operation.Environment{In: strings.NewReader(""), Out: os.Stderr, Err: os.Stderr, Clock: clock.RealClock{}, StateHome: b.Dir}
	args := []string{
		"move", "cluster", key.Name, "-n", key.Namespace, "--kubeconfig", b.Kubeconfig, "--to-kubeconfig", second.Kubeconfig, "--yes",
		"--backup-bucket", dayTwoBucket, "--backup-prefix", "bench", "--backup-role-arn", role, "--backup-bucket-owner", b.Management.Account,
	}
	if code := cli.Run(ctx, "hypershift", args, env); code != cli.Done {
		return fmt.Errorf("hypershift %s: exit code %d", strings.Join(args, " "), code)
	}
	r.move = []float64{time.Since(began).Seconds()}
	r.moveGap = []float64{gap()}
	there, err := client.New(second.Config, client.Options{Scheme: b.management.Scheme()})
	if err != nil {
		return err
	}
	away := *b
	away.Hosting, away.management = second, there
	return away.end(ctx, []client.ObjectKey{key}, &labLife{})
}

// watchGap returns the longest time, in seconds, in which a user got no answer from a cluster on any of the installations, until it is called.
func watchGap(ctx context.Context, on []*hosting.Hosting, key client.ObjectKey) func() float64 {
	ctx, stop := context.WithCancel(ctx)
	var worst atomic.Int64
	done := make(chan struct{})
	last := time.Now()
	note := func() { worst.Store(max(worst.Load(), int64(time.Since(last)))) }
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			for _, h := range on {
				if answers(ctx, h, key) {
					note()
					last = time.Now()
					break
				}
			}
			_ = pause(ctx, 200*time.Millisecond) // it ends with the loop
		}
		note()
	}()
	return func() float64 {
		stop()
		<-done
		return time.Duration(worst.Load()).Seconds()
	}
}

// answers reports whether the API server of a cluster answers a user. Each request has a connection of its own: one that leads to a pod that is gone
// would be used again.
func answers(ctx context.Context, h *hosting.Hosting, key client.ObjectKey) bool {
	path, err := h.AdminKubeconfig(ctx, key)
	if err != nil {
		return false
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return false
	}
	cfg.Timeout, cfg.NextProtos = time.Second, []string{"http/1.1"}
	user, err := client.New(cfg, client.Options{})
	return err == nil && user.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{}) == nil
}
