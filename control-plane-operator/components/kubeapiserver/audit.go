package kubeapiserver

import (
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/apiserverconfig"
)

// The part of audit.k8s.io/v1 that our policies use.
type (
	auditPolicy struct {
		APIVersion        string      `json:"apiVersion"`
		Kind              string      `json:"kind"`
		OmitStages        []string    `json:"omitStages"`
		OmitManagedFields bool        `json:"omitManagedFields"`
		Rules             []auditRule `json:"rules"`
	}
	auditRule struct {
		Level           string          `json:"level"`
		Users           []string        `json:"users,omitempty"`
		UserGroups      []string        `json:"userGroups,omitempty"`
		Verbs           []string        `json:"verbs,omitempty"`
		Resources       []auditResource `json:"resources,omitempty"`
		NonResourceURLs []string        `json:"nonResourceURLs,omitempty"`
	}
	auditResource struct {
		Group     string   `json:"group"`
		Resources []string `json:"resources,omitempty"`
	}
)

// Levels of audit.
const (
	nothing  = "None"
	metadata = "Metadata"
	bodies   = "RequestResponse"
)

// noise are requests that every cluster sends all the time and that have no value in an audit log.
var noise = []auditRule{
	{Level: nothing, NonResourceURLs: []string{"/healthz*", "/livez*", "/readyz*", "/version", "/openapi/*"}},
	{Level: nothing, Resources: []auditResource{{Group: "", Resources: []string{"events"}}, {Group: "events.k8s.io", Resources: []string{"events"}}}},
	{Level: nothing, Resources: []auditResource{{Group: "coordination.k8s.io", Resources: []string{"leases"}}}},
	{Level: nothing, Users: []string{"system:apiserver"}},
}

// confidential are resources that no profile logs with their contents.
var confidential = []auditResource{
	{Group: "", Resources: []string{"secrets", "serviceaccounts/token"}},
	{Group: "authentication.k8s.io", Resources: []string{"tokenreviews", "tokenrequests"}},
	{Group: "certificates.k8s.io", Resources: []string{"certificatesigningrequests"}},
}

var writing = []string{"create", "update", "patch", "delete", "deletecollection"}

// profileRules returns the rules of a profile for the groups, or for all users without groups.
func profileRules(profile configv1.AuditProfileType, groups ...string) ([]auditRule, error) {
	switch profile {
	case configv1.NoneAuditProfileType:
		return []auditRule{{Level: nothing, UserGroups: groups}}, nil
	case "", configv1.DefaultAuditProfileType:
		return []auditRule{{Level: metadata, UserGroups: groups}}, nil
	case configv1.WriteRequestBodiesAuditProfileType:
		return []auditRule{
			{Level: metadata, UserGroups: groups, Resources: confidential},
			{Level: bodies, UserGroups: groups, Verbs: writing},
			{Level: metadata, UserGroups: groups},
		}, nil
	case configv1.AllRequestBodiesAuditProfileType:
		return []auditRule{
			{Level: metadata, UserGroups: groups, Resources: confidential},
			{Level: bodies, UserGroups: groups},
		}, nil
	}
	return nil, apiserverconfig.CheckAuditProfile(profile)
}

const auditPolicyFile = "policy.yaml"

// adaptAuditPolicy writes the rules of groups before the rules for all users, because the first match counts.
func adaptAuditPolicy(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	audit := apiServer(env).Audit
	policy := auditPolicy{APIVersion: "audit.k8s.io/v1", Kind: "Policy", OmitStages: []string{"RequestReceived"}, OmitManagedFields: true}
	policy.Rules = append(policy.Rules, noise...)
	for _, custom := range audit.CustomRules {
		rules, err := profileRules(custom.Profile, custom.Group)
		if err != nil {
			return err
		}
		policy.Rules = append(policy.Rules, rules...)
	}
	rules, err := profileRules(audit.Profile)
	if err != nil {
		return err
	}
	policy.Rules = append(policy.Rules, rules...)
	text, err := yaml.Marshal(policy)
	if err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	cm.Data = map[string]string{auditPolicyFile: string(text)}
	return nil
}

const auditWebhookKey = "webhook-kubeconfig"

// addAudit writes audit events to the log of the container. Log collectors read it there, and the kubelet rotates it.
func addAudit(env *target.ControlPlane, p *pod) error {
	audit := apiServer(env).Audit
	if audit.Profile != configv1.NoneAuditProfileType || len(audit.CustomRules) > 0 {
		p.arg("--audit-log-path=-", "--audit-log-mode=batch")
	}
	if hook := env.HCP.Spec.AuditWebhook; hook != nil && hook.Name != "" {
		dir := p.mountSecret("audit-webhook", hook.Name)
		p.arg("--audit-webhook-config-file="+dir+"/"+auditWebhookKey, "--audit-webhook-mode=batch", "--audit-webhook-initial-backoff=5s")
	}
	return nil
}
