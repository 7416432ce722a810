package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// The emulator verifies tokens as AWS does: by the documents of the issuer, the provider and the trust policy.
func TestRolesAcceptOnlyTheTokensOfTheirPrograms(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	management := emulator.Account(t)
	bucket := "documents-" + management
	if _, err := emulator.SeedManagement(t.Context(), awsemulator.ManagementOptions{Account: management, Bucket: bucket, Empty: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p", "vpcID": "vpc-1", "publicZoneID": "Z1", "privateZoneID": "Z2", "localZoneID": "Z3"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	u.must("create", "iam", "aws", "--infra-id", "demo-x7k2p", "--infra-json", u.infraJSON(), "--oidc-storage-provider-s3-bucket-name", bucket,
		"--oidc-storage-provider-s3-region", "us-east-1")
	var made clusteriam.Output
	if err := json.Unmarshal(u.out.Bytes(), &made); err != nil {
		t.Fatal(err)
	}

	private, public, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	discovery, err := webidentity.Discovery(made.IssuerURL, public)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := webidentity.JWKS(public)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string][]byte{webidentity.DiscoveryPath: discovery, webidentity.JWKSPath: keys} {
		_, err := s3.NewFromConfig(emulator.Config(management)).PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: aws.String(bucket), Key: aws.String("demo-x7k2p/" + path), Body: strings.NewReader(string(text)),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	signer, err := webidentity.NewSigner(private, made.IssuerURL, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	anonymous := emulator.Config("")
	anonymous.Credentials = aws.AnonymousCredentials{}

	const ingressOperator = "system:serviceaccount:openshift-ingress-operator:ingress-operator"
	for name, c := range map[string]struct {
		role, subject, audience string
		accepted                bool
	}{
		"the control-plane-operator":                           {made.Roles.ControlPlaneOperatorARN, names.ControlPlaneOperatorSubject, names.WebIdentityAudience, true},
		"the machine controllers":                              {made.Roles.NodePoolManagementARN, names.CAPIProviderSubject, names.WebIdentityAudience, true},
		"the cloud-controller-manager":                         {made.Roles.KubeCloudControllerARN, names.CloudControllerSubject, names.WebIdentityAudience, true},
		"the controller of volumes":                            {made.Roles.StorageARN, names.StorageSubject, names.WebIdentityAudience, true},
		"the records of applications":                          {made.Roles.IngressARN, names.IngressSubject, names.WebIdentityAudience, true},
		"the ingress operator of OpenShift":                    {made.Roles.IngressARN, ingressOperator, names.WebIdentityAudience, false},
		"the ingress operator by the webhook":                  {made.Roles.IngressARN, ingressOperator, "sts.amazonaws.com", false},
		"the operator with the bucket of the image registry":   {made.Roles.ImageRegistryARN, names.ImageRegistrySubject, names.WebIdentityAudience, true},
		"the image registry":                                   {made.Roles.ImageRegistryARN, names.ImageRegistryPodSubject, names.WebIdentityAudience, true},
		"the image registry by the webhook":                    {made.Roles.ImageRegistryARN, names.ImageRegistryPodSubject, "sts.amazonaws.com", false},
		"the image registry operator of OpenShift":             {made.Roles.ImageRegistryARN, names.ServiceAccountSubject(names.ImageRegistrySubject), names.WebIdentityAudience, false},
		"the image registry with another role":                 {made.Roles.IngressARN, names.ImageRegistryPodSubject, names.WebIdentityAudience, false},
		"an audience of another service":                       {made.Roles.ControlPlaneOperatorARN, names.ControlPlaneOperatorSubject, "sts.amazonaws.com", false},
		"a program with the role of another one":               {made.Roles.NodePoolManagementARN, names.ControlPlaneOperatorSubject, names.WebIdentityAudience, false},
		"a service account of the hosted cluster as operator":  {made.Roles.ControlPlaneOperatorARN, names.ServiceAccountSubject(names.ControlPlaneOperatorSubject), names.WebIdentityAudience, false},
		"another service account of the hosted cluster":        {made.Roles.IngressARN, "system:serviceaccount:default:default", names.WebIdentityAudience, false},
		"a token for an audience that the provider has not":    {made.Roles.IngressARN, names.IngressSubject, "vault", false},
		"the volumes' controller with a name that begins like": {made.Roles.StorageARN, names.StorageSubject + "x", names.WebIdentityAudience, false},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := signer.Token(c.subject, c.audience, 10*time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			_, err = sts.NewFromConfig(anonymous).AssumeRoleWithWebIdentity(t.Context(), &sts.AssumeRoleWithWebIdentityInput{
				RoleArn: aws.String(c.role), RoleSessionName: aws.String("test"), WebIdentityToken: aws.String(token),
			})
			if (err == nil) != c.accepted {
				t.Errorf("accepted: %v, want %v (%v)", err == nil, c.accepted, err)
			}
		})
	}
}
