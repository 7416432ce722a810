package awsidentity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// askWithin bounds all calls of one check. How long a check lasts is in awsx/ttl.go.
// CloudTrail records the denial that a check expects as an error, so a restart does not repeat it: the
// status records the last check without findings.
const askWithin = time.Minute

// platformRole is a role of the cluster's operators.
type platformRole struct{ field, arn, subject string }

// trusted is the result of a check of roles, and its time.
type trusted struct {
	roles string
	at    time.Time
	err   error
}

// checkIsolation checks, by calls to STS, whether a role accepts a service account of the hosted
// cluster. The hosted API server signs a token for it for every user with permission to create
// service accounts there.
func (r *Reconciler) checkIsolation(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	roles := platformRoles(hcp)
	digest := hashOf(hcp.Spec.IssuerURL, roles)
	last := r.of(hcp).trust
	if record := hcp.Status.AWSRolesIsolation; last == nil && record != nil {
		last = &trusted{roles: record.RolesHash, at: record.CheckedTime.Time}
	}
	if last != nil && last.roles == digest {
		if age := r.Clock.Since(last.at); age >= 0 && age < lasts(last.err) {
			recordIsolation(hcp, last) // the write of the record may have been put off
			return last.err
		}
	}
	if !hcp.DeletionTimestamp.IsZero() {
		return reconcile.Unknown(0, reason(errDeleted), "%v", errDeleted)
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	var findings []string
	for _, role := range roles {
		finding, err := r.exposed(ctx, hcp, role)
		if err != nil {
			return reconcile.Unknown(0, reason(err), "%s", awsx.Message(err))
		}
		if finding != "" {
			findings = append(findings, finding)
		}
	}
	found := trusted{roles: digest, at: r.Clock.Now()}
	if len(findings) > 0 {
		found.err = reconcile.Block(hyperv1.ServiceAccountTrustedReason,
			"administrators of the hosted cluster can take on roles of its operators: %s; docs/permissions.md has the trust policies", strings.Join(findings, "; "))
	}
	r.of(hcp).trust = &found
	recordIsolation(hcp, &found)
	return found.err
}

// recordIsolation records a check without a finding for the next process. When that starts, exposed roles may have been changed.
func recordIsolation(hcp *hyperv1.HostedControlPlane, check *trusted) {
	hcp.Status.AWSRolesIsolation = nil
	if check.err == nil {
		hcp.Status.AWSRolesIsolation = &hyperv1.AWSRolesIsolationRecord{RolesHash: check.roles, CheckedTime: metav1.NewTime(check.at)}
	}
}

// hashOf is about everything that an answer of STS depends on and that we know.
func hashOf(issuerURL string, roles []platformRole) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q", issuerURL, names.WebIdentityAudience, roles))
	return hex.EncodeToString(sum[:])
}

func lasts(finding error) time.Duration {
	if finding != nil {
		return awsx.ExposedRolesTTL
	}
	return awsx.IsolatedRolesTTL
}

// platformRoles are those as which programs of the management cluster act.
func platformRoles(hcp *hyperv1.HostedControlPlane) []platformRole {
	refs := hcp.Spec.Platform.AWS.RolesRef
	roles := []platformRole{
		{"controlPlaneOperatorARN", string(refs.ControlPlaneOperatorARN), names.ControlPlaneOperatorSubject},
		{"nodePoolManagementARN", string(refs.NodePoolManagementARN), names.CAPIProviderSubject},
		{"kubeCloudControllerARN", string(refs.KubeCloudControllerARN), names.CloudControllerSubject},
	}
	if hcp.HasIngress() {
		roles = append(roles, platformRole{"ingressARN", string(refs.IngressARN), names.IngressSubject})
	}
	if hcp.HasImageRegistry() {
		roles = append(roles, platformRole{"imageRegistryARN", string(refs.ImageRegistryARN), names.ImageRegistrySubject})
	}
	if e := hcp.Spec.SecretEncryption; e != nil && e.KMS != nil && e.KMS.AWS != nil {
		roles = append(roles, platformRole{"awsKms", e.KMS.AWS.Auth.AWSKMSRoleARN, names.KMSSubject})
	}
	var set []platformRole
	for _, role := range roles {
		if role.arn != "" {
			set = append(set, role)
		}
	}
	return set
}

// exposed returns how to change a role's trust policy, or "" if the policy names no service account.
func (r *Reconciler) exposed(ctx context.Context, hcp *hyperv1.HostedControlPlane, role platformRole) (string, error) {
	account := names.ServiceAccountSubject(role.subject)
	trusts, err := r.trusts(ctx, hcp, role.arn, account)
	if err != nil || !trusts {
		return "", err
	}
	trusts, err = r.trusts(ctx, hcp, role.arn, role.subject)
	if err != nil {
		return "", err
	}
	if trusts {
		return fmt.Sprintf("%s (%s): remove the subject %s from its trust policy", role.field, role.arn, account), nil
	}
	return fmt.Sprintf("%s (%s): add the subject %s to its trust policy, and remove %s an hour later", role.field, role.arn, role.subject, account), nil
}

func (r *Reconciler) trusts(ctx context.Context, hcp *hyperv1.HostedControlPlane, arn, subject string) (bool, error) {
	err := r.TakeRole(ctx, hcp.Spec.Platform.AWS.Region, hcp.Spec.IssuerURL, arn, subject)
	if awsx.IsUntrusted(err) {
		return false, nil
	}
	return err == nil, err
}

var errDeleted = errors.New("the cluster is being deleted")
