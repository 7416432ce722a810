package bed

import (
	_ "embed"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

//go:embed audit-policy.yaml
var auditPolicy []byte

// AuditLog is the path of the audit log, one JSON event per line, in a bed that was asked for it. A request is in it before its
// answer is out.
func (b *Bed) AuditLog() string { return b.Log("audit") }

// audit makes the API server write the audit log.
func (b *Bed) audit(flags *envtest.Arguments) error {
	policy := b.path("audit-policy.yaml")
	if err := os.WriteFile(policy, auditPolicy, 0o600); err != nil {
		return fmt.Errorf("writing the audit policy: %w", err)
	}
	flags.
		Set("audit-policy-file", policy).
		Set("audit-log-path", b.AuditLog()).
		Set("audit-log-maxsize", "10000") // megabytes: whoever reads it wants it in one piece
	return nil
}
