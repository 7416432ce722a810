//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// TestDrills loses one part after the other of a highly available cluster, and recovers it as docs/drills.md describes. It prints that table: how
// long the API did not answer, and what was lost.
func TestDrills(t *testing.T) {
	begin(t)
	d := &drills{backups: &backups{hosted: newHosted(t, "drills", on.Versions[0]), bucket: "etcd-drills"}}
	d.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	d.hc.Annotations = map[string]string{hyperv1.RotationPauseAnnotation: "30s"}
	d.prepare()
	d.create()
	t.Cleanup(func() { d.emptyBucket(context.WithoutCancel(t.Context())) })
	d.available()
	d.eventually("all pods are ready", d.rolledOut)
	d.kubectl("create configmap saved --from-literal=color=blue")
	d.kept = d.backup("before", nil)
	d.eventually("the backup is stored", func(ctx context.Context) error {
		return d.reports(ctx, d.kept, metav1.ConditionTrue, hyperv1.BackupSucceededReason)
	})
	d.must(d.management.Get(t.Context(), client.ObjectKeyFromObject(d.kept), d.kept))

	const row = "| %s | %s | %s | %s |"
	table := []string{fmt.Sprintf(row, "Lost", "Recovery", "The API did not answer for", "Lost objects")}
	for i, drill := range []drill{
		{"one member of etcd with its volume", "by itself", d.loseMembers("etcd-2"), nil, false},
		{"two of three members of etcd with their volumes", "EtcdRestore with `member`", d.loseMembers("etcd-1", "etcd-2"), d.recoverFromMember, false},
		{"all volumes of etcd", "EtcdRestore with `backup`", d.loseMembers("etcd-0", "etcd-1", "etcd-2"), d.recoverFromBackup, true},
		{"the bucket of the backups", "a new bucket", d.loseBucket, d.replaceBucket, false},
		{"the trust of all roles in the customer's account", "the trust policies", d.loseTrust, d.restoreTrust, false},
		{"the subnet of a node pool", "another subnet", d.loseSubnet, nil, false},
		{"the right time on one machine, ten minutes fast", "the right time", d.loseTime(10 * time.Minute), d.restoreTime, false},
		{"the right time on one machine, ten minutes slow", "the right time", d.loseTime(-10 * time.Minute), d.restoreTime, false},
		{"the operator's namespace", "`kubectl delete apiservice v1alpha1.access.hypershift.openshift.io`, `helm install`", d.loseOperator, func() { d.must(on.Install(t.Context())) }, false},
		{"the control plane namespace", "EtcdRestore with `object`", d.loseControlPlane, d.recoverFromObject, true},
	} {
		t.Run(drill.what, func(t *testing.T) {
			latest := fmt.Sprintf("drill-%d", i)
			d.kubectl("create configmap " + latest)
			outage := d.watchOutage(t)
			drill.lose()
			if drill.recover != nil {
				drill.recover()
			}
			d.available()
			d.eventually("all pods are ready", d.rolledOut)
			gap := outage()
			if color := d.kubectl("get configmap saved -o jsonpath={.data.color}"); color != "blue" {
				t.Errorf("the object of the backup is %q", color)
			}
			_, err := on.Kubectl(t.Context(), d.kubeconfig, "", "get", "configmap", latest)
			lost := "none"
			if err != nil {
				lost = "those since the last backup"
			}
			if (err != nil) != drill.sinceBackup {
				t.Errorf("lost objects: %s", lost)
			}
			noticed := "0 s"
			if gap > 2*time.Second {
				noticed = fmt.Sprintf("%.0f s", gap.Seconds())
			}
			table = append(table, fmt.Sprintf(row, drill.what, drill.how, noticed, lost))
		})
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// A drill is the loss of one part, and its recovery by the user.
type drill struct {
	what, how     string
	lose, recover func()
	// sinceBackup is whether objects of after the backup are lost.
	sinceBackup bool
}

type drills struct {
	*backups
	kept *hyperv1.HCPEtcdBackup
	// saved are the objects of the bucket, and trust the trust policies, as they were.
	saved, trust map[string]string
	// wrong is the machine whose clock is wrong.
	wrong string
	count int
}

// loseMembers deletes the volumes and the pods of members. A minority is replaced.
func (d *drills) loseMembers(lost ...string) func() {
	return func() {
		d.t.Helper()
		ctx, now := d.t.Context(), client.GracePeriodSeconds(0)
		for _, name := range lost {
			d.must(d.management.Delete(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: "data-" + name}}))
		}
		for _, name := range lost {
			d.must(d.management.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace(), Name: name}}, now))
		}
		if len(lost) > 1 {
			d.waitForReport(hyperv1.EtcdAvailable, "False")
		}
	}
}

func (d *drills) recoverFromMember() {
	d.recoverBy(hyperv1.EtcdRestoreSpec{Member: "etcd-0", ReplaceVolumes: true})
}

func (d *drills) recoverFromBackup() {
	d.recoverBy(hyperv1.EtcdRestoreSpec{Backup: &hyperv1.EtcdRestoreBackup{Name: d.kept.Name}, ReplaceVolumes: true})
}

// recoverFromObject needs no HCPEtcdBackup, which is lost with its namespace.
func (d *drills) recoverFromObject() {
	s3 := d.storage().S3
	d.recoverBy(hyperv1.EtcdRestoreSpec{Object: &hyperv1.EtcdRestoreObject{
		Bucket: d.bucket, Region: s3.Region, Key: d.kept.Status.ObjectKey, RoleARN: s3.RoleARN, BucketOwner: s3.BucketOwner,
	}})
}

func (d *drills) recoverBy(spec hyperv1.EtcdRestoreSpec) {
	d.t.Helper()
	d.count++
	spec.HostedClusterName = d.hc.Name
	r := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: d.hc.Namespace, Name: fmt.Sprintf("drill-%d", d.count)}, Spec: spec}
	d.must(d.management.Create(d.t.Context(), r))
	d.t.Cleanup(func() { d.must(client.IgnoreNotFound(d.management.Delete(context.WithoutCancel(d.t.Context()), r))) })
	d.t.Log(d.awaitReason(r, hyperv1.RestoreSucceededReason))
}

// loseBucket deletes the bucket with its backups. The cluster is not disturbed.
func (d *drills) loseBucket() {
	d.t.Helper()
	ctx := d.t.Context()
	d.saved = map[string]string{}
	for _, key := range d.objects() {
		out, err := d.provider().GetObject(ctx, &s3.GetObjectInput{Bucket: &d.bucket, Key: &key})
		d.must(err)
		text, err := io.ReadAll(out.Body)
		d.must(err)
		d.saved[key] = string(text)
		_, err = d.provider().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &d.bucket, Key: &key})
		d.must(err)
	}
	_, err := d.provider().DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &d.bucket})
	d.must(err)
	backup := d.backup("without-bucket", nil)
	d.eventually("the backup reports it", func(ctx context.Context) error {
		if err := d.management.Get(ctx, client.ObjectKeyFromObject(backup), backup); err != nil {
			return err
		}
		for _, c := range backup.Status.Conditions {
			if c.Type == hyperv1.BackupCompleted && c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "NoSuchBucket") {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", backup.Status.Conditions)
	})
	d.must(d.management.Delete(ctx, backup))
}

// replaceBucket creates the bucket, with a copy of the backups that was kept elsewhere.
func (d *drills) replaceBucket() {
	d.t.Helper()
	d.makeBucket()
	for key, object := range d.saved {
		_, err := d.provider().PutObject(d.t.Context(), &s3.PutObjectInput{Bucket: &d.bucket, Key: &key, Body: strings.NewReader(object)})
		d.must(err)
	}
	backup := d.backup("with-bucket", nil)
	d.eventually("the next backup is stored", func(ctx context.Context) error {
		return d.reports(ctx, backup, metav1.ConditionTrue, hyperv1.BackupSucceededReason)
	})
}

// loseTrust makes all roles of the cluster trust another account. Sessions of programs last for an hour, so they start again.
func (d *drills) loseTrust() {
	d.t.Helper()
	d.trust = map[string]string{}
	list, err := d.iam().ListRoles(d.t.Context(), &iam.ListRolesInput{})
	d.must(err)
	for _, role := range list.Roles {
		document, err := url.QueryUnescape(*role.AssumeRolePolicyDocument) // as the API returns it
		d.must(err)
		if !strings.Contains(document, "WebIdentity") {
			continue
		}
		d.trust[*role.RoleName] = document
		d.setTrust(*role.RoleName, `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::999999999999:root"}, "Action": "sts:AssumeRole"}]}`)
	}
	if len(d.trust) == 0 {
		d.t.Fatalf("no role of %s was found", d.hc.Spec.InfraID)
	}
	d.kill(d.namespace(), client.MatchingLabels{"app": names.ControlPlaneOperator})
	d.waitForCondition(hyperv1.ValidAWSIdentityProvider, "False")
}

func (d *drills) iam() *iam.Client { return iam.NewFromConfig(on.AWS.Config(d.customer.Account)) }

func (d *drills) setTrust(role, document string) {
	d.t.Helper()
	_, err := d.iam().UpdateAssumeRolePolicy(d.t.Context(), &iam.UpdateAssumeRolePolicyInput{RoleName: &role, PolicyDocument: &document})
	d.must(err)
}

func (d *drills) restoreTrust() {
	d.t.Helper()
	for role, document := range d.trust {
		d.setTrust(role, document)
	}
	d.waitForCondition(hyperv1.ValidAWSIdentityProvider, "True")
}

// loseSubnet deletes the subnet of a pool that is then scaled up. The control plane is not disturbed.
func (d *drills) loseSubnet() {
	d.t.Helper()
	ctx, network := d.t.Context(), d.ec2()
	found, err := network.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{d.customer.Subnets[0].ID}})
	d.must(err)
	in, err := network.DescribeVpcs(ctx, &ec2.DescribeVpcsInput{VpcIds: []string{*found.Subnets[0].VpcId}})
	d.must(err)
	lost, err := network.CreateSubnet(ctx, &ec2.CreateSubnetInput{
		VpcId: in.Vpcs[0].VpcId, CidrBlock: aws.String(lastBlock(d.t, *in.Vpcs[0].CidrBlock)), AvailabilityZone: found.Subnets[0].AvailabilityZone,
	})
	d.must(err)
	pool := d.nodePool("drills-lost", 0)
	pool.Spec.Platform.AWS.Subnet = hyperv1.AWSResourceReference{ID: lost.Subnet.SubnetId}
	d.must(d.management.Create(ctx, pool))
	_, err = network.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: lost.Subnet.SubnetId})
	d.must(err)
	d.must(d.management.Patch(ctx, pool, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"replicas": 1}}`))))
	d.eventually("the pool reports it", func(ctx context.Context) error {
		if err := d.management.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		for _, c := range pool.Status.Conditions {
			if c.Status == corev1.ConditionFalse && strings.Contains(c.Message, *lost.Subnet.SubnetId) {
				d.t.Logf("%s: %s", c.Type, c.Message)
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", pool.Status.Conditions)
	})
	d.deletePool(pool)
}

func (d *drills) deletePool(pool *hyperv1.NodePool) {
	d.t.Helper()
	d.must(d.management.Delete(d.t.Context(), pool))
	d.eventually("the pool is gone", func(ctx context.Context) error {
		err := d.management.Get(ctx, client.ObjectKeyFromObject(pool), pool)
		if err == nil {
			return errors.New("it exists")
		}
		return client.IgnoreNotFound(err)
	})
}

// lastBlock returns the last sixteen addresses of a VPC, the smallest subnet.
func lastBlock(t *testing.T, vpc string) string {
	t.Helper()
	prefix, err := netip.ParsePrefix(vpc)
	if err != nil {
		t.Fatal(err)
	}
	last := prefix.Masked().Addr().As4()
	for bit := prefix.Bits(); bit < 28; bit++ {
		last[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.PrefixFrom(netip.AddrFrom4(last), 28).String()
}

// loseTime makes the clock of one machine wrong, and lets all operators start there. They still assume their roles, and rotate all certificates
// if the clock is fast. The kubelet, an API server and a member of etcd of that machine have its clock, too.
func (d *drills) loseTime(by time.Duration) func() {
	return func() {
		d.t.Helper()
		ctx := d.t.Context()
		machine := d.podOf(names.ControlPlaneOperator).Spec.NodeName
		d.wrong = machine
		d.must(on.SetClock(ctx, machine, by))
		d.t.Cleanup(func() { d.must(on.SetClock(context.WithoutCancel(ctx), machine, 0)) })
		d.onlyOn(d.wrong, func() {
			kubectl(d.t, "delete", "pod", "-n", hosting.Namespace, "-l", "app="+names.HypershiftOperator)
			for _, app := range []string{names.ControlPlaneOperator, names.ClusterAPI} {
				kubectl(d.t, "delete", "pod", "-n", d.namespace(), "-l", "app="+app)
			}
			kubectl(d.t, "wait", "pod", "-n", d.namespace(), "-l", "app="+names.ControlPlaneOperator, "--for=condition=Ready", "--timeout=5m")
			kubectl(d.t, "wait", "pod", "-n", hosting.Namespace, "-l", "app="+names.HypershiftOperator, "--for=condition=Ready", "--timeout=5m")
		})
		if node := d.podOf(names.ControlPlaneOperator).Spec.NodeName; node != d.wrong {
			d.t.Fatalf("the control-plane-operator has started on %s, not on %s", node, d.wrong)
		}
		d.waitForCondition(hyperv1.ValidAWSIdentityProvider, "True")
		if by > 0 { // what a slow clock issues is valid at once
			d.rotate()
		}
	}
}

// restoreTime makes it right, and creates a node. Before, controllers do not work if the clock is fast: the other API servers refuse the tokens of the
// one there, which are valid only later.
func (d *drills) restoreTime() {
	d.t.Helper()
	d.must(on.SetClock(d.t.Context(), d.wrong, 0))
	pool := d.nodePool("drills-time", 1)
	d.must(d.management.Create(d.t.Context(), pool))
	d.eventually("its machine is a node", func(ctx context.Context) error { return d.poolReady(ctx, pool, 1) })
	d.deletePool(pool)
}

// onlyOn calls f while pods can only start on one node of the management cluster.
func (d *drills) onlyOn(node string, f func()) {
	d.t.Helper()
	list := &corev1.NodeList{}
	d.must(d.management.List(d.t.Context(), list))
	for _, n := range list.Items {
		if n.Name != node {
			kubectl(d.t, "cordon", n.Name)
			defer kubectl(d.t, "uncordon", n.Name)
		}
	}
	f()
}

// loseOperator deletes the namespace of the hypershift-operator. Control planes run on.
func (d *drills) loseOperator() {
	d.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hosting.Namespace}}
	d.must(d.management.Delete(d.t.Context(), ns))
	// Kubernetes deletes no namespace while an API group is registered that nothing serves: that of the operator.
	d.t.Log(kubectl(d.t, "delete", "apiservice", "v1alpha1.access.hypershift.openshift.io"))
	d.eventually("it is gone", func(ctx context.Context) error {
		if err := d.management.Get(ctx, client.ObjectKeyFromObject(ns), ns); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(err, errors.New("the namespace exists"))
		}
		return nil
	})
}

// loseControlPlane deletes the namespace of the control plane. Another control plane begins without data.
func (d *drills) loseControlPlane() { d.loseNamespace() }
