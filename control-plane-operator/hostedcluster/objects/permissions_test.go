package objects

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Permissions to read Secrets of users exist only as long as they are used.
func TestSecretsOfUsersAreListedOnlyDuringAStage(t *testing.T) {
	for name, c := range map[string]struct {
		status hyperv1.HostedControlPlaneStatus
		want   string
	}{
		"at rest":                   {},
		"a rotation of keys":        {status: hyperv1.HostedControlPlaneStatus{ServiceAccountKeys: &hyperv1.ServiceAccountKeysStatus{LoadedRevision: "1"}}},
		"a key that may be retired": {hyperv1.HostedControlPlaneStatus{ServiceAccountKeys: &hyperv1.ServiceAccountKeysStatus{ChecksTokens: ptr.To(true)}}, "hypershift:signing-keys"},
		"a re-encryption": {hyperv1.HostedControlPlaneStatus{SecretEncryptionRecord: &hyperv1.SecretEncryptionRecord{
			TargetKey: &hyperv1.SecretEncryptionKeyRecord{}, History: []hyperv1.SecretEncryptionMigration{{Stage: hyperv1.SecretEncryptionReencrypt}},
		}}, "hypershift:encryption"},
	} {
		t.Run(name, func(t *testing.T) {
			objs, err := desiredPermissions(t.Context(), &Builder{HCP: &hyperv1.HostedControlPlane{Status: c.status}})
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"hypershift:signing-keys", "hypershift:encryption"} {
				if has := slices.ContainsFunc(objs, func(o client.Object) bool { return o.GetName() == name }); has != (name == c.want) {
					t.Errorf("%s is there: %v", name, has)
				}
			}
		})
	}
}

// Package hostedapi reads the metrics of API servers with the kubeconfig of Cluster API. A refusal would look like a cluster that loses no audit
// events.
func TestTheIdentityOfTheHealthCheckReadsMetrics(t *testing.T) {
	objs, err := desiredPermissions(t.Context(), &Builder{HCP: &hyperv1.HostedControlPlane{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objs {
		role, ok := o.(*rbacv1.ClusterRole)
		if ok && role.Name == "hypershift:cluster-api" && slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.NonResourceURLs, "/metrics") }) {
			return
		}
	}
	t.Error("it may not read /metrics")
}
