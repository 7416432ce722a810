package clusterbundle

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

var demo = client.ObjectKey{Namespace: "clusters", Name: "demo"}

const plane = "clusters-demo"

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, hyperv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func ownedBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: kind, Name: name, UID: "of-the-source", Controller: ptr.To(true)}}
}

func at(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// source is the management cluster that a cluster with one machine comes from.
func source(t *testing.T) client.Client {
	t.Helper()
	inventory := func(set string) map[string]string { return map[string]string{inventoryLabel: set} }
	hc := &hyperv1.HostedCluster{ObjectMeta: at(demo.Namespace, demo.Name), Spec: hyperv1.HostedClusterSpec{
		InfraID: "demo-x7k2p", PullSecret: corev1.LocalObjectReference{Name: "pull"}, AdditionalTrustBundle: &corev1.LocalObjectReference{Name: "trust"},
	}}
	hc.UID = "old"
	hc.Annotations = map[string]string{hyperv1.SleepAnnotation: "true", hyperv1.SleepScheduleAnnotation: "0 20 * * *; 0 7 * * *"}
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: at(plane, demo.Name)}
	hcp.UID, hcp.Annotations = "plane-of-the-source", map[string]string{hyperv1.HostedClusterAnnotation: demo.String()}
	secret := func(meta metav1.ObjectMeta, kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: meta, Type: kind, Data: map[string][]byte{"key": []byte(meta.Name)}}
	}
	ca := secret(at(plane, "cluster-signer-ca"), corev1.SecretTypeOpaque)
	ca.OwnerReferences, ca.Labels = ownedBy("HostedControlPlane", demo.Name), inventory("control-plane-operator.certificate-authorities")
	userData := secret(at(plane, "demo-1-user-data"), corev1.SecretTypeOpaque)
	userData.OwnerReferences = ownedBy("Machine", "demo-1")
	upload := secret(at(plane, "etcd-backup-nightly-1"), corev1.SecretTypeOpaque)
	upload.OwnerReferences = ownedBy("HCPEtcdBackup", "nightly")
	bundle, rendered := &corev1.ConfigMap{ObjectMeta: at(plane, "root-ca")}, &corev1.ConfigMap{ObjectMeta: at(plane, "kas-audit-policy")}
	bundle.Labels, rendered.Labels = inventory("control-plane-operator.certificate-authorities"), inventory("control-plane-operator.components")
	deployment := &clusterv1.MachineDeployment{ObjectMeta: at(plane, "workers")}
	deployment.OwnerReferences = ownedBy("Cluster", "demo-x7k2p")
	set := &clusterv1.MachineSet{ObjectMeta: at(plane, "workers-a")}
	set.OwnerReferences = ownedBy("MachineDeployment", "workers")
	machine := &clusterv1.Machine{ObjectMeta: at(plane, "demo-1"), Spec: clusterv1.MachineSpec{ProviderID: "aws:///us-east-1a/i-1"}}
	machine.OwnerReferences, machine.Finalizers = ownedBy("MachineSet", "workers-a"), []string{clusterv1.MachineFinalizer}
	instance := &infrav1.AWSMachine{ObjectMeta: at(plane, "demo-1"), Spec: infrav1.AWSMachineSpec{InstanceID: ptr.To("i-1")}}
	instance.OwnerReferences = ownedBy("Machine", "demo-1")
	backup := &hyperv1.HCPEtcdBackup{ObjectMeta: at(plane, "nightly")}
	backup.Status.ObjectKey = "prod/demo-x7k2p/nightly.db"
	backup.Status.Conditions = []metav1.Condition{{Type: hyperv1.BackupCompleted, Status: metav1.ConditionTrue, Reason: hyperv1.BackupSucceededReason}}
	backup.Status.Snapshot = &hyperv1.EtcdSnapshot{SizeBytes: 1}
	return fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(
		hc, hcp, ca, userData, upload, bundle, rendered, deployment, set, machine, instance, backup,
		&hyperv1.NodePool{ObjectMeta: at(demo.Namespace, "workers"), Spec: hyperv1.NodePoolSpec{ClusterName: demo.Name, Config: []hyperv1.NodePoolConfigMapReference{{Name: "kernel"}}}},
		&hyperv1.NodePool{ObjectMeta: at(demo.Namespace, "of-another"), Spec: hyperv1.NodePoolSpec{ClusterName: "another"}},
		secret(at(demo.Namespace, "pull"), corev1.SecretTypeDockerConfigJson), secret(at(demo.Namespace, "of-another"), corev1.SecretTypeOpaque),
		&corev1.ConfigMap{ObjectMeta: at(demo.Namespace, "trust")}, &corev1.ConfigMap{ObjectMeta: at(demo.Namespace, "kernel")},
		secret(at(plane, "sa-signing-key"), corev1.SecretTypeOpaque), secret(at(plane, "token"), corev1.SecretTypeServiceAccountToken),
		secret(at(plane, etcdbackup.RestoreSecret), corev1.SecretTypeOpaque),
	).Build()
}

func collected(t *testing.T) *Bundle {
	t.Helper()
	b, err := Collect(t.Context(), source(t), demo)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBundleHasWhatAClusterIsMadeOf(t *testing.T) {
	b := collected(t)
	text, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Decode(text); err != nil {
		t.Fatal(err)
	}
	var state, machines []string
	for _, obj := range b.State {
		state = append(state, obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName())
	}
	for _, obj := range b.Machines {
		machines = append(machines, obj.GetKind()+" "+obj.GetName())
	}
	if want := []string{
		"ConfigMap clusters/kernel", "Secret clusters/pull", "ConfigMap clusters/trust", "HostedCluster clusters/demo", "NodePool clusters/workers",
		"Secret clusters-demo/cluster-signer-ca", "Secret clusters-demo/sa-signing-key", "ConfigMap clusters-demo/root-ca",
	}; !slices.Equal(state, want) {
		t.Errorf("the state is\n%s\nwant\n%s", strings.Join(state, "\n"), strings.Join(want, "\n"))
	}
	if want := []string{"MachineDeployment workers", "MachineSet workers-a", "Machine demo-1", "AWSMachine demo-1", "Secret demo-1-user-data", "HCPEtcdBackup nightly"}; !slices.Equal(machines, want) {
		t.Errorf("the machines are %q, want %q", machines, want)
	}
	if b.EndpointOwner != "plane-of-the-source" {
		t.Errorf("the owner of the endpoints is %q", b.EndpointOwner)
	}
}

// The author of a HostedCluster may not be allowed to read Secrets, and chooses the bucket: a Secret of another team, which the spec names, is not
// stored. What the operator has copied for the control plane is.
func TestBucketGetsNoSecretThatASpecNames(t *testing.T) {
	c := source(t)
	copied := &corev1.Secret{ObjectMeta: at(plane, "copied-of-another"), Data: map[string][]byte{"webhook-kubeconfig": []byte("needed")}}
	copied.Annotations = map[string]string{hyperv1.CopiedFromAnnotation: "of-another"}
	pull := &corev1.Secret{ObjectMeta: at(plane, "pull-secret"), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte("{}")}}
	hc := &hyperv1.HostedCluster{}
	if err := errors.Join(c.Create(t.Context(), copied), c.Create(t.Context(), pull), c.Get(t.Context(), demo, hc)); err != nil {
		t.Fatal(err)
	}
	hc.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "of-another"}
	if err := c.Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
	b, err := CollectForBucket(t.Context(), c, demo)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]map[string]any{}
	for _, obj := range b.State {
		if obj.GetKind() == "Secret" && obj.GetNamespace() == demo.Namespace {
			secrets[obj.GetName()], _ = obj.Object["data"].(map[string]any)
		}
	}
	if len(secrets) != 2 || len(secrets["of-another"]) != 1 || secrets["of-another"]["webhook-kubeconfig"] == nil || secrets["pull"][corev1.DockerConfigJsonKey] == nil {
		t.Errorf("the Secrets of users are %v", secrets)
	}
	target := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	if err := b.CreateState(t.Context(), target, nil); err != nil {
		t.Error(err)
	}
}

func TestNewClusterIsPausedAndHasItsKeys(t *testing.T) {
	b := collected(t)
	target := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	for range 2 { // a repetition changes nothing
		if err := b.CreateState(t.Context(), target, map[string]string{hyperv1.MovedFromAnnotation: b.EndpointOwner}); err != nil {
			t.Fatal(err)
		}
	}
	hc := &hyperv1.HostedCluster{}
	if err := target.Get(t.Context(), demo, hc); err != nil {
		t.Fatal(err)
	}
	if hc.Spec.PausedUntil == nil || hc.Spec.InfraID != "demo-x7k2p" || hc.Annotations[hyperv1.MovedFromAnnotation] != "plane-of-the-source" || hc.Annotations[hyperv1.SleepAnnotation] != "" || hc.Annotations[hyperv1.SleepScheduleAnnotation] == "" {
		t.Errorf("the HostedCluster is %+v", hc)
	}
	ns, ca := &corev1.Namespace{}, &corev1.Secret{}
	if err := errors.Join(target.Get(t.Context(), client.ObjectKey{Name: plane}, ns), target.Get(t.Context(), client.ObjectKey{Namespace: plane, Name: "cluster-signer-ca"}, ca)); err != nil {
		t.Fatal(err)
	}
	if ns.Labels[hyperv1.HostedClusterUIDLabel] != string(hc.UID) || ns.Annotations[hyperv1.HostedClusterAnnotation] != demo.String() {
		t.Errorf("the namespace is %+v", ns.ObjectMeta)
	}
	if string(ca.Data["key"]) != "cluster-signer-ca" || len(ca.OwnerReferences) > 0 {
		t.Errorf("the authority is %+v", ca)
	}
}

func TestObjectsOfOtherClustersStay(t *testing.T) {
	b := collected(t)
	for name, obj := range map[string]client.Object{
		"a Secret":                         &corev1.Secret{ObjectMeta: at(demo.Namespace, "pull"), Data: map[string][]byte{"key": []byte("of another")}},
		"a HostedCluster":                  &hyperv1.HostedCluster{ObjectMeta: at(demo.Namespace, demo.Name)},
		"a NodePool":                       &hyperv1.NodePool{ObjectMeta: at(demo.Namespace, "workers"), Spec: hyperv1.NodePoolSpec{ClusterName: "another"}},
		"the namespace of a control plane": &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plane, Labels: map[string]string{hyperv1.HostedClusterUIDLabel: "another"}}},
	} {
		t.Run(name, func(t *testing.T) {
			target := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(obj).Build()
			err := b.CreateState(t.Context(), target, map[string]string{hyperv1.MovedFromAnnotation: b.EndpointOwner})
			var conflict *ConflictError
			if !errors.As(err, &conflict) || conflict.Name != obj.GetName() {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestMachinesAreAdopted(t *testing.T) {
	b := collected(t)
	cluster := &clusterv1.Cluster{ObjectMeta: at(plane, "demo-x7k2p")}
	cluster.UID = "of-the-target"
	target := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(cluster).WithStatusSubresource(&hyperv1.HCPEtcdBackup{}).Build()
	for range 2 {
		if err := b.CreateMachines(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
	deployment, machine, instance, backup := &clusterv1.MachineDeployment{}, &clusterv1.Machine{}, &infrav1.AWSMachine{}, &hyperv1.HCPEtcdBackup{}
	for name, obj := range map[string]client.Object{"workers": deployment, "demo-1": machine, "nightly": backup} {
		if err := target.Get(t.Context(), client.ObjectKey{Namespace: plane, Name: name}, obj); err != nil {
			t.Fatal(err)
		}
	}
	if err := target.Get(t.Context(), client.ObjectKey{Namespace: plane, Name: "demo-1"}, instance); err != nil {
		t.Fatal(err)
	}
	if len(deployment.OwnerReferences) != 1 || deployment.OwnerReferences[0].UID != "of-the-target" {
		t.Errorf("the MachineDeployment belongs to %+v", deployment.OwnerReferences)
	}
	if ptr.Deref(instance.Spec.InstanceID, "") != "i-1" || machine.Spec.ProviderID != "aws:///us-east-1a/i-1" {
		t.Errorf("the machine is %+v, %+v", machine.Spec, instance.Spec)
	}
	for _, obj := range []client.Object{deployment, machine, instance} {
		if obj.GetAnnotations()[clusterv1.PausedAnnotation] != "" {
			t.Errorf("%s stays paused", obj.GetName())
		}
	}
	if !hyperv1.IsBackupStored(backup) || backup.Status.ObjectKey != "prod/demo-x7k2p/nightly.db" {
		t.Errorf("the backup is %+v", backup.Status)
	}
}

func TestForeignObjectsAreRejected(t *testing.T) {
	for name, change := range map[string]func(*Bundle){
		"of another namespace": func(b *Bundle) { b.State[0].SetNamespace("kube-system") },
		"of another kind":      func(b *Bundle) { b.State[0].SetKind("Pod") },
		"of the control plane, as a user's": func(b *Bundle) {
			b.State[0].SetKind("Machine")
			b.State[0].SetAPIVersion("cluster.x-k8s.io/v1beta2")
		},
		"of another format": func(b *Bundle) { b.Format = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			b := collected(t)
			change(b)
			text, err := b.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Decode(text); err == nil {
				t.Error("it is accepted")
			}
		})
	}
	if _, err := Decode([]byte("snapshot")); err == nil {
		t.Error("a snapshot is accepted")
	}
}
