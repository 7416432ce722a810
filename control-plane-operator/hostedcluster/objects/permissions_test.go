package objects

import (
	"slices"
	"testing"

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
