package secretencryption

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	// RetainFor is how long old keys stay after everything was rewritten. API
	// servers compact etcd every five minutes to what it was five minutes before.
	// A client that reads a long list in parts reads an old revision, with values
	// of the old keys, for no longer than that.
	RetainFor = 10 * time.Minute
	// maxMoves is how many moves the status holds.
	maxMoves = 10
	// maxUnsettled is how many moves may be interrupted before one is finished.
	// The status must be able to name all their keys.
	maxUnsettled = maxMoves - 2
)

// Facts are what is known of the API servers and of what they shall do.
type Facts struct {
	// Goal is the key that the user wants Secrets to be encrypted with; nil if that
	// cannot be told. Backup is one that is to be read with as well, or nil.
	Goal, Backup *Key
	// Running is set if there are API servers, and Encrypting if they were started
	// with a configuration of keys.
	Running, Encrypting bool
	// Present is the configuration that is written down; nil if there is none.
	Present *Configuration
	// RolledOut is set if every API server that lives, be it for its last seconds,
	// runs with that configuration.
	RolledOut bool
	// Rewritten is set if everything was rewritten since.
	Rewritten bool
	Now       time.Time
}

// InUse reports whether every API server runs with what follows from the status.
func (f Facts) InUse(st *hyperv1.SecretEncryptionStatus) bool {
	return f.RolledOut && f.Present != nil && f.Present.Equal(Desired(st, f.Backup, f.Present.Keys))
}

// Next is the status that follows: one step further, or the same. It is nil as
// long as nobody can tell what encrypts.
func Next(st *hyperv1.SecretEncryptionStatus, f Facts) *hyperv1.SecretEncryptionStatus {
	if st == nil {
		return first(f)
	}
	if turned, ok := turn(st, f); ok {
		return turned
	}
	return advance(st, f)
}

// Overtaken reports whether the user wants another key than the one that the
// status leads to. The status does not turn to it as long as too many moves are
// unsettled.
func Overtaken(st *hyperv1.SecretEncryptionStatus, f Facts) bool {
	goal := leadsTo(st)
	return f.Goal != nil && (goal == nil || !Same(*goal, *f.Goal))
}

func leadsTo(st *hyperv1.SecretEncryptionStatus) *Key {
	if st.TargetKey != nil {
		return st.TargetKey
	}
	return st.ActiveKey
}

// first is the status of a cluster that has none. What its API servers read with
// may be needed: only a re-encryption shows that it is not.
func first(f Facts) *hyperv1.SecretEncryptionStatus {
	now := metav1.NewTime(f.Now)
	begin := func(to Key, stage hyperv1.SecretEncryptionStage) *hyperv1.SecretEncryptionStatus {
		return &hyperv1.SecretEncryptionStatus{TargetKey: &to, History: []hyperv1.SecretEncryptionMigration{
			{State: hyperv1.SecretEncryptionMigrationInProgress, To: to, StartedTime: now, Stage: stage},
		}}
	}
	switch {
	case f.Present != nil && len(f.Present.Keys) > 0:
		stage := hyperv1.SecretEncryptionWriteKey
		if f.Present.InTheClear {
			stage = hyperv1.SecretEncryptionReadKey
		}
		st := begin(f.Present.Keys[0], stage)
		for _, old := range f.Present.Keys[1:min(len(f.Present.Keys), maxUnsettled)] {
			if f.Backup != nil && Same(old, *f.Backup) {
				old.Name = f.Backup.Name
			}
			st.History = append(st.History, hyperv1.SecretEncryptionMigration{
				State: hyperv1.SecretEncryptionMigrationInterrupted, To: old, StartedTime: now, Stage: hyperv1.SecretEncryptionWriteKey,
			})
		}
		if f.Goal != nil && Same(*f.Goal, *st.TargetKey) {
			rename(st, *f.Goal)
		}
		return st
	case f.Encrypting, f.Goal == nil:
		return nil
	case f.Running:
		return begin(*f.Goal, hyperv1.SecretEncryptionReadKey)
	}
	return begin(*f.Goal, hyperv1.SecretEncryptionWriteKey)
}

// turn goes to the key that the user wants now, if that is another one.
func turn(st *hyperv1.SecretEncryptionStatus, f Facts) (*hyperv1.SecretEncryptionStatus, bool) {
	next := st.DeepCopy()
	if !Overtaken(st, f) {
		if f.Goal == nil || leadsTo(st).Name == f.Goal.Name {
			return nil, false
		}
		rename(next, *f.Goal)
		return next, true
	}
	now := metav1.NewTime(f.Now)
	if next.TargetKey != nil {
		next.TargetKey = nil
		move := &next.History[0]
		move.State = hyperv1.SecretEncryptionMigrationInterrupted
		if move.Stage == hyperv1.SecretEncryptionReadKey { // nothing was encrypted with it
			move.CompletionTime = &now
		}
	}
	unsettled := 0
	for _, move := range next.History {
		if move.CompletionTime == nil {
			unsettled++
		}
	}
	if unsettled == 0 && next.ActiveKey != nil && Same(*f.Goal, *next.ActiveKey) {
		return next, true // the user has thought better of it in time
	}
	if unsettled > maxUnsettled {
		return nil, false
	}
	next.TargetKey = f.Goal.DeepCopy()
	next.History = slices.Insert(next.History, 0, hyperv1.SecretEncryptionMigration{
		State: hyperv1.SecretEncryptionMigrationInProgress, From: next.ActiveKey.DeepCopy(), To: *f.Goal, StartedTime: now, Stage: hyperv1.SecretEncryptionReadKey,
	})
	forget(next)
	return next, true
}

// rename gives a key the name that the user has for it now.
func rename(st *hyperv1.SecretEncryptionStatus, key Key) {
	for _, is := range []*Key{st.ActiveKey, st.TargetKey} {
		if is != nil && Same(*is, key) {
			is.Name = key.Name
		}
	}
	for i := range st.History {
		if move := &st.History[i]; Same(move.To, key) && move.CompletionTime == nil {
			move.To.Name = key.Name
		}
	}
}

// forget removes the oldest moves on which nothing depends any more. The last
// that was completed counts again if the present one is taken back.
func forget(st *hyperv1.SecretEncryptionStatus) {
	last := slices.IndexFunc(st.History, func(m hyperv1.SecretEncryptionMigration) bool {
		return m.State == hyperv1.SecretEncryptionMigrationCompleted
	})
	for i := len(st.History) - 1; i > 0 && len(st.History) > maxMoves; i-- {
		if st.History[i].CompletionTime != nil && i != last {
			st.History = slices.Delete(st.History, i, i+1)
		}
	}
}

// advance takes the next stage when the API servers have taken the one before.
func advance(st *hyperv1.SecretEncryptionStatus, f Facts) *hyperv1.SecretEncryptionStatus {
	if Current(st) == nil || !f.InUse(st) {
		return st
	}
	next := st.DeepCopy()
	switch move := Current(next); move.Stage {
	case hyperv1.SecretEncryptionReadKey:
		move.Stage = hyperv1.SecretEncryptionWriteKey
	case hyperv1.SecretEncryptionWriteKey:
		move.Stage = hyperv1.SecretEncryptionReencrypt
	case hyperv1.SecretEncryptionReencrypt:
		if f.Rewritten {
			complete(next, metav1.NewTime(f.Now))
			if len(union(optional(next.ActiveKey), optional(f.Backup), f.Present.Keys)) == len(union(optional(next.ActiveKey), optional(f.Backup))) {
				Current(next).Stage = hyperv1.SecretEncryptionDone // there is nothing to drop
			}
		}
	case hyperv1.SecretEncryptionRetain:
		if RetainedUntil(move).After(f.Now) {
			break
		}
		move.Stage = hyperv1.SecretEncryptionDrop
	case hyperv1.SecretEncryptionDrop:
		move.Stage = hyperv1.SecretEncryptionDone
	}
	return next
}

// complete makes the target the active key: nothing is encrypted with another.
func complete(st *hyperv1.SecretEncryptionStatus, now metav1.Time) {
	st.ActiveKey, st.TargetKey = st.TargetKey, nil
	for i := range st.History {
		if st.History[i].CompletionTime == nil {
			st.History[i].CompletionTime = &now
		}
	}
	st.History[0].State, st.History[0].Stage = hyperv1.SecretEncryptionMigrationCompleted, hyperv1.SecretEncryptionRetain
}

// RetainedUntil is when the old keys of a move that is complete may be dropped.
func RetainedUntil(move *hyperv1.SecretEncryptionMigration) time.Time {
	return move.CompletionTime.Add(RetainFor)
}
