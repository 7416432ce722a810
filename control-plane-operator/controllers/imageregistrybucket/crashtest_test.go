package imageregistrybucket

import (
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func setup(t testing.TB) *crashtest.Scenario {
	return newCustomer(t).Scenario(hyperv1.ImageRegistryBucketAvailable)
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, setup) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, setup) })
}

func TestCrashConsistencyUnderFaults(t *testing.T) {
	crashtest.APIFaults(t, setup)
	for name, f := range map[string]fakeaws.Fault{
		"S3 throttles for long":                     {Service: fakeaws.S3, Kind: fakeaws.Throttled, Times: 20, Role: roleName},
		"S3 fails inside":                           {Service: fakeaws.S3, Kind: fakeaws.ServerError, Times: 10, Role: roleName},
		"connections break":                         {Kind: fakeaws.Reset, Times: 10, Role: roleName},
		"the answer to the creation is lost":        {Operation: "CreateBucket", Kind: fakeaws.AnswerLost, Times: 1, Role: roleName},
		"the answer to the tags is lost":            {Operation: "PutBucketTagging", Kind: fakeaws.AnswerLost, Times: 1, Role: roleName},
		"the answer to the deletion is lost":        {Operation: "DeleteBucket", Kind: fakeaws.AnswerLost, Times: 1, Role: roleName},
		"a policy is missing for a while":           {Service: fakeaws.S3, Kind: fakeaws.Denied, Times: 5, Role: roleName},
		"the permission to tag is missing":          {Operation: "PutBucketTagging", Kind: fakeaws.Denied, Times: 5, Role: roleName},
		"the permission to read tags is missing":    {Operation: "GetBucketTagging", Kind: fakeaws.Denied, Times: 5, Role: roleName},
		"the role cannot be assumed for a while":    {Operation: "AssumeRoleWithWebIdentity", Kind: fakeaws.Denied, Times: 5},
		"the permission to delete buckets comes on": {Operation: "DeleteBucket", Kind: fakeaws.Denied, Times: 5, Role: roleName},
	} {
		t.Run(name, func(t *testing.T) {
			envs := map[*crashtest.Cluster]*customer{}
			begin := func(t testing.TB) *crashtest.Scenario {
				e := newCustomer(t)
				envs[e.Cluster] = e
				return e.Scenario(hyperv1.ImageRegistryBucketAvailable)
			}
			inject := func(s *crashtest.Scenario) { envs[s.Cluster].AWS.Fault(f) }
			crashtest.FaultTolerance(t, begin, inject)
			crashtest.NoLeaksWith(t, begin, inject)
		})
	}
}

// The deletion begins at each point of the creation, while a permission to read is missing.
func TestDeletionDuringTheCreationWithoutAPermission(t *testing.T) {
	for _, operation := range []string{"PutBucketTagging", "PutBucketPolicy", "GetBucketEncryption"} {
		t.Run(operation, func(t *testing.T) {
			e := newCustomer(t)
			heal := e.AWS.Fault(fakeaws.Fault{Operation: operation, Kind: fakeaws.Denied, Times: fakeaws.Forever})
			e.RunPasses(2)
			heal()
			heal = e.AWS.Fault(fakeaws.Fault{Operation: "GetBucketTagging", Kind: fakeaws.Denied, Times: fakeaws.Forever})
			e.Delete(e.Object)
			e.RunPasses(3)
			e.ExpectCondition(hyperv1.ImageRegistryBucketAvailable, "False", "AWSAccessDenied", "GetBucketTagging")
			heal()
			e.RunPasses(3)
			if left := e.state(); left != "" {
				t.Errorf("left after deletion:\n%s", left)
			}
		})
	}
}
