package encryption

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

// summarize reports the stage and its progress in EtcdDataEncryptionUpToDate.
func summarize(s *scope, report reconcile.Report, conditions *reconcile.Conditions) {
	if s.hcp.Spec.SecretEncryption == nil {
		conditions.Remove(hyperv1.EtcdDataEncryptionUpToDate)
		return
	}
	c := s.condition(report)
	conditions.Set(hyperv1.EtcdDataEncryptionUpToDate, c.Status, c.Reason, c.Message)
}

func (s *scope) condition(report reconcile.Report) metav1.Condition {
	if c := s.faults(); c != nil {
		return *c
	}
	if err := report.Err(); err != nil {
		reason := hyperv1.ReconciliationErrorReason
		var wait *reconcile.Waiting
		if errors.As(err, &wait) {
			reason = wait.Reason
		}
		return pending(reason, "%s: %v", s.phase(), err)
	}
	st := s.status()
	move := secretencryption.Current(st)
	if move == nil {
		return pending(hyperv1.EncryptionUnknownReason, "Secret %s does not exist, and the keys of the running API servers are not recorded: restore the Secret from a backup", kubeapiserver.EncryptionSecret)
	}
	if c := s.stage(move); c != nil {
		return *c
	}
	if secretencryption.Overtaken(st, s.facts) {
		return pending(hyperv1.TooManyKeysReason, "the key has been changed too often: the change to %s is finished first", move.To.Name)
	}
	return metav1.Condition{Status: metav1.ConditionTrue, Reason: hyperv1.AsExpectedReason, Message: "Secrets are encrypted with " + st.ActiveKey.Name}
}

// faults returns the condition of a fault that only the user can fix, or nil.
func (s *scope) faults() *metav1.Condition {
	var missing *kubeapiserver.MissingKeyError
	if s.status() != nil && errors.As(kubeapiserver.CheckKeys(s.hcp, s.secrets), &missing) {
		c := pending(hyperv1.EncryptionKeyMissingReason, "%v", missing)
		return &c
	}
	if s.fault != nil {
		c := pending(hyperv1.InvalidSecretReason, "%v", s.fault)
		return &c
	}
	return nil
}

// stage returns the condition of the stage in progress, or nil.
func (s *scope) stage(move *hyperv1.SecretEncryptionMigration) *metav1.Condition {
	reason := map[hyperv1.SecretEncryptionStage]string{
		hyperv1.SecretEncryptionReadKey: hyperv1.ReadKeyRolloutReason, hyperv1.SecretEncryptionWriteKey: hyperv1.WriteKeyRolloutReason,
		hyperv1.SecretEncryptionReencrypt: hyperv1.ReencryptingReason, hyperv1.SecretEncryptionRetain: hyperv1.RetainingOldKeysReason,
		hyperv1.SecretEncryptionDrop: hyperv1.DroppingOldKeysReason,
	}[move.Stage]
	if reason == "" {
		return nil
	}
	c := pending(reason, "%s", s.phase())
	switch run := s.rewriting; {
	case s.paused:
		c.Message += "; spec.pausedUntil stops it"
	case move.Stage == hyperv1.SecretEncryptionRetain:
	case run != nil && run.Complete && run.Failed() > 0:
		c.Reason, c.Message = hyperv1.ReencryptionFailedReason, fmt.Sprintf("%d Secrets cannot be rewritten with %s, and the old keys stay: %s", run.Failed(), move.To.Name, strings.Join(run.Refused, "; "))
	case run != nil:
		c.Message += fmt.Sprintf("; %d have been", run.Done)
	case s.behind > 0:
		c.Message += fmt.Sprintf("; waiting for %d pods of kube-apiserver", s.behind)
	case !s.facts.RolledOut:
		c.Message += "; waiting until kube-apiserver is rolled out"
	}
	return &c
}

// phase describes the stage.
func (s *scope) phase() string {
	move := secretencryption.Current(s.status())
	if move == nil {
		return "reading the keys in use"
	}
	switch move.Stage {
	case hyperv1.SecretEncryptionReadKey:
		return "adding " + move.To.Name + " to all API servers as a read key"
	case hyperv1.SecretEncryptionWriteKey:
		return "making " + move.To.Name + " the write key of all API servers"
	case hyperv1.SecretEncryptionReencrypt:
		return "rewriting all Secrets with " + move.To.Name
	case hyperv1.SecretEncryptionRetain:
		return "all Secrets are encrypted with " + move.To.Name + "; the old keys stay for ten minutes for clients that are in the middle of a list"
	case hyperv1.SecretEncryptionDrop:
		return "removing the keys before " + move.To.Name + " from all API servers"
	}
	return "Secrets are encrypted with " + move.To.Name
}

func pending(reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
