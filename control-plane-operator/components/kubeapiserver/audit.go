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

// maxAuditEvent is the size of the largest audit event, in bytes of JSON. The API server removes the bodies of a larger event, and
// drops an event that is larger without bodies.
const maxAuditEvent = 100 << 10

// auditLimits limit the number of audit events in the memory of an API server while the log is not read or the webhook does not
// respond. Requests never wait for either: events that do not fit are dropped and counted.
type auditLimits struct {
	// buffer is the number of events that wait for the log, and for the webhook.
	buffer int
	// batch is the number of events in a request to the webhook. Each second one request is sent. A webhook that accepts connections
	// and does not respond holds each batch for about 190 seconds: five attempts of 30 seconds each, and the pauses between them.
	batch int
}

// limitsOf returns limits for a control plane that uses 200 MiB without them. An event without bodies has 1 KiB, and events in a full
// buffer 30 MiB. Bodies are up to maxAuditEvent: a full buffer has 250 MiB.
func limitsOf(audit configv1.Audit) auditLimits {
	profiles := []configv1.AuditProfileType{audit.Profile}
	for _, custom := range audit.CustomRules {
		profiles = append(profiles, custom.Profile)
	}
	for _, profile := range profiles {
		if profile == configv1.WriteRequestBodiesAuditProfileType || profile == configv1.AllRequestBodiesAuditProfileType {
			return auditLimits{buffer: 2500, batch: 200}
		}
	}
	return auditLimits{buffer: 10000, batch: 400}
}

// addAudit writes audit events to the log of the container. Log collectors read it there, and the kubelet rotates it.
func addAudit(env *target.ControlPlane, p *pod) error {
	audit := apiServer(env).Audit
	limits := limitsOf(audit)
	if audit.Profile != configv1.NoneAuditProfileType || len(audit.CustomRules) > 0 {
		p.arg("--audit-log-path=-")
		p.arg(bounded("log", limits)...)
	}
	if hook := env.HCP.Spec.AuditWebhook; hook != nil && hook.Name != "" {
		dir := p.mountSecret("audit-webhook", hook.Name)
		p.arg("--audit-webhook-config-file="+dir+"/"+auditWebhookKey, "--audit-webhook-initial-backoff=5s")
		p.arg(bounded("webhook", limits)...)
		p.arg(fmt.Sprintf("--audit-webhook-batch-max-size=%d", limits.batch), "--audit-webhook-batch-throttle-qps=1", "--audit-webhook-batch-throttle-burst=4")
	}
	return nil
}

// bounded are the flags of a backend that no request waits for. The log is not throttled: its writer waits for the reader.
func bounded(backend string, limits auditLimits) []string {
	return []string{
		fmt.Sprintf("--audit-%s-mode=batch", backend),
		fmt.Sprintf("--audit-%s-batch-buffer-size=%d", backend, limits.buffer),
		fmt.Sprintf("--audit-%s-truncate-enabled=true", backend),
		fmt.Sprintf("--audit-%s-truncate-max-event-size=%d", backend, maxAuditEvent),
	}
}
