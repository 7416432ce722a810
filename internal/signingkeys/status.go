package signingkeys

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Stage returns the stage of the rotation in progress, or "".
func (s *State) Stage() hyperv1.SigningKeyStage {
	switch {
	case s.Next != nil:
		return hyperv1.SigningKeyPublish
	case s.switching():
		return hyperv1.SigningKeySwitch
	case len(s.Retired) > 0:
		return hyperv1.SigningKeyRetire
	case len(s.Old) > 0:
		return hyperv1.SigningKeyRetain
	}
	return ""
}

// due is the earliest time of the next stage; zero if it depends on an event.
func (s *State) due(f Facts) time.Time {
	switch s.Stage() {
	case hyperv1.SigningKeyPublish:
		if !s.Published.IsZero() && verified(s, f) && !f.emergency(s) {
			return s.Published.Add(f.Publication)
		}
	case hyperv1.SigningKeyRetain:
		due := time.Time{}
		for _, o := range s.Old {
			for _, at := range []time.Time{o.Due(), o.PodsDue()} {
				if at.After(f.Now) && (due.IsZero() || at.Before(due)) {
					due = at
				}
			}
		}
		return due
	}
	return time.Time{}
}

// CheckAfter is how long no step can be due without an event; 0 for no limit.
func (s *State) CheckAfter(f Facts) time.Duration {
	due := s.due(f)
	if s.Next == nil && !s.switching() && f.MaxAge > 0 {
		since := s.SigningSince
		if since.IsZero() {
			since = f.Created
		}
		if replaced := since.Add(f.MaxAge); due.IsZero() || replaced.Before(due) {
			due = replaced
		}
	}
	if due.IsZero() {
		return 0
	}
	return max(due.Sub(f.Now), time.Second)
}

// Status returns the part of the state for users.
func Status(s *State, f Facts) *hyperv1.ServiceAccountSigningKeyStatus {
	st := &hyperv1.ServiceAccountSigningKeyStatus{KeyID: s.Signing.ID, Stage: s.Stage()}
	if st.Stage != "" {
		st.StageTime, st.NextStageTime = timeOf(s.Since), timeOf(s.due(f))
	}
	if s.Next != nil {
		st.NextKeyID = s.Next.ID
	}
	for _, o := range s.Old {
		old := hyperv1.OldSigningKeyStatus{KeyID: o.ID, ReplacedTime: timeOf(o.Replaced)}
		if !o.Replaced.IsZero() {
			old.RetainedUntil = timeOf(o.Due())
		}
		st.OldKeys = append(st.OldKeys, old)
	}
	return st
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	at := metav1.NewTime(t)
	return &at
}

// Condition returns ServiceAccountSigningKeyRotated, or an empty one for a cluster without a rotation. waits is what the
// control-plane-operator waits for, or empty.
func Condition(s *State, f Facts, waits string) metav1.Condition {
	if problem := invalidRequest(s, f); problem != "" {
		return is(metav1.ConditionFalse, hyperv1.SigningKeyRequestInvalidReason, problem)
	}
	switch s.Stage() {
	case hyperv1.SigningKeyPublish:
		return is(metav1.ConditionFalse, hyperv1.PublishingSigningKeyReason, fmt.Sprintf("key %s is published and does not sign yet; %s", s.Next.ID, publishWaits(s, f, waits)))
	case hyperv1.SigningKeySwitch:
		return is(metav1.ConditionFalse, hyperv1.SwitchingSigningKeyReason, fmt.Sprintf("programs are rolled out to sign with key %s; %s", s.Signing.ID, loadWaits(waits)))
	case hyperv1.SigningKeyRetire:
		wait := loadWaits(waits)
		if !f.Stored {
			wait = waitsForDocuments
		}
		return is(metav1.ConditionFalse, hyperv1.RetiringSigningKeysReason, fmt.Sprintf("API servers are rolled out without key %s; %s", shorts(s.Retired), wait))
	case hyperv1.SigningKeyRetain:
		return retains(s, f)
	}
	if s.SigningSince.IsZero() {
		return metav1.Condition{}
	}
	return is(metav1.ConditionTrue, hyperv1.AsExpectedReason, fmt.Sprintf("key %s signs, and no old key is accepted", s.Signing.ID))
}

const waitsForDocuments = "waiting for the documents of the issuer; see ValidOIDCConfiguration for the reason"

func publishWaits(s *State, f Facts, waits string) string {
	switch {
	case !f.Stored:
		return waitsForDocuments
	case !verified(s, f):
		return loadWaits(waits)
	}
	return "waiting until caches of public keys have expired"
}

func loadWaits(waits string) string {
	if waits == "" {
		return "waiting for the control-plane-operator to verify it"
	}
	return waits
}

func retains(s *State, f Facts) metav1.Condition {
	message := fmt.Sprintf("key %s signs; tokens of %s are accepted until they have expired", s.Signing.ID, shorts(s.IDs()[1:]))
	for _, o := range s.Old {
		tokens := f.tokens(o.ID)
		if tokens == nil || f.Now.Before(o.Due()) {
			continue
		}
		if n := count(tokens.Secrets); n > 0 {
			return is(metav1.ConditionFalse, hyperv1.OldTokensRemainReason,
				fmt.Sprintf("%d Secrets of the hosted cluster have tokens of key %s, which never expire, such as %v: remove data.token of each, and use the new token that it gets", n, short(o.ID), tokens.SecretNames))
		}
		if n := count(tokens.Pods); n > 0 {
			message += fmt.Sprintf("; %d pods may have tokens of key %s: replace them to retire it earlier", n, short(o.ID))
		}
	}
	return is(metav1.ConditionTrue, hyperv1.RetainingOldSigningKeysReason, message)
}

// invalidRequest returns what is wrong with the requests of the user, or "".
func invalidRequest(s *State, f Facts) string {
	known := slices.Concat(s.IDs(), s.Retired, []string{s.RetireRequested, ""})
	switch {
	case !slices.Contains(known, f.Retire):
		return fmt.Sprintf("annotation %s is %q, and the cluster has no such key: write the ID of a key in status.serviceAccountSigningKey, or remove the annotation", hyperv1.RetireSigningKeyAnnotation, f.Retire)
	case f.UserKey != nil && s.Next == nil && f.emergency(s):
		return fmt.Sprintf("annotation %s names the key of spec.serviceAccountSigningKey: replace the key in its Secret, and the old one is retired at once", hyperv1.RetireSigningKeyAnnotation)
	case f.UserKey != nil && f.requests(s):
		return fmt.Sprintf("annotation %s has no effect on spec.serviceAccountSigningKey: replace the key in its Secret, and remove the annotation", hyperv1.RotateSigningKeyAnnotation)
	case len(s.Old) >= maxOld && (f.UserKey != nil && f.UserKey.ID != s.Signing.ID || f.UserKey == nil && f.wants(s)):
		return fmt.Sprintf("%d old keys are accepted, and no more are possible: retire one of status.serviceAccountSigningKey.oldKeys with annotation %s", len(s.Old), hyperv1.RetireSigningKeyAnnotation)
	}
	return ""
}

func is(status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: hyperv1.ServiceAccountSigningKeyRotated, Status: status, Reason: reason, Message: message}
}
