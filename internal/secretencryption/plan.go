package secretencryption

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	// RetainFor is how long old keys stay after everything was rewritten. Every five minutes, API servers compact etcd to its
	// state of five minutes ago. A client that reads a long list in chunks reads an old revision, with values of the old
	// keys, for no longer than that.
	RetainFor = 10 * time.Minute
	// maxMoves is the maximum number of moves in the status.
	maxMoves = 10
	// maxUnsettled is how many moves may be interrupted before one is completed. The status must have room for all their
	// keys.
	maxUnsettled = maxMoves - 2
)

// Facts are the observed and the desired state of the API servers.
type Facts struct {
	// Goal is the key with which the user wants Secrets to be encrypted, or nil if it is not known. Backup is an additional
	// key for reading, or nil.
	Goal, Backup *Key
	// Running is set if there are API servers, and Encrypting if they were started with an encryption configuration.
	Running, Encrypting bool
	// Present is the current configuration, or nil.
	Present *Configuration
	// RolledOut is set if every API server, including those that are terminating, runs with that configuration.
	RolledOut bool
	// Rewritten is set if all values have been rewritten since.
	Rewritten bool
	Now       time.Time
}

// InUse reports whether every API server runs with the configuration that follows from the status.
func (f Facts) InUse(st *hyperv1.SecretEncryptionRecord) bool {
	return f.RolledOut && f.Present != nil && f.Present.Equal(Desired(st, f.Backup, f.Present.Keys))
}

// Next returns the next status: one step further, or the same. It is nil while the present encryption is not known.
func Next(st *hyperv1.SecretEncryptionRecord, f Facts) *hyperv1.SecretEncryptionRecord {
	if st == nil {
		return first(f)
	}
	if turned, ok := turn(st, f); ok {
		return turned
	}
	return advance(st, f)
}

// Overtaken reports whether the user wants another key than the target of the status. The status does not change to it while
// too many moves are interrupted.
func Overtaken(st *hyperv1.SecretEncryptionRecord, f Facts) bool {
	goal := leadsTo(st)
	return f.Goal != nil && (goal == nil || !Same(*goal, *f.Goal))
}

func leadsTo(st *hyperv1.SecretEncryptionRecord) *Key {
	if st.TargetKey != nil {
		return st.TargetKey
	}
	return st.ActiveKey
}

// first returns the first status of a cluster. The keys with which its API servers read may be needed: only a rewrite shows
// that they are not.
func first(f Facts) *hyperv1.SecretEncryptionRecord {
	now := metav1.NewTime(f.Now)
	begin := func(to Key, stage hyperv1.SecretEncryptionStage) *hyperv1.SecretEncryptionRecord {
		return &hyperv1.SecretEncryptionRecord{TargetKey: &to, History: []hyperv1.SecretEncryptionMigration{
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

// turn starts a move to the key that the user wants now, if that is another one.
func turn(st *hyperv1.SecretEncryptionRecord, f Facts) (*hyperv1.SecretEncryptionRecord, bool) {
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
		if move.Stage == hyperv1.SecretEncryptionReadKey { // no object was encrypted with it
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
		return next, true // the user has reverted the change in time
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

// rename gives a key its current name.
func rename(st *hyperv1.SecretEncryptionRecord, key Key) {
	for _, current := range []*Key{st.ActiveKey, st.TargetKey} {
		if current != nil && Same(*current, key) {
			current.Name = key.Name
		}
	}
	for i := range st.History {
		if move := &st.History[i]; Same(move.To, key) && move.CompletionTime == nil {
			move.To.Name = key.Name
		}
	}
}

// forget removes the oldest moves that are not needed any more. The last completed one counts again if the present one is
// reverted.
func forget(st *hyperv1.SecretEncryptionRecord) {
	last := slices.IndexFunc(st.History, func(m hyperv1.SecretEncryptionMigration) bool {
		return m.State == hyperv1.SecretEncryptionMigrationCompleted
	})
	for i := len(st.History) - 1; i > 0 && len(st.History) > maxMoves; i-- {
		if st.History[i].CompletionTime != nil && i != last {
			st.History = slices.Delete(st.History, i, i+1)
		}
	}
}

// advance takes the next stage when all API servers have completed the former one.
func advance(st *hyperv1.SecretEncryptionRecord, f Facts) *hyperv1.SecretEncryptionRecord {
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
				Current(next).Stage = hyperv1.SecretEncryptionDone // there is no key to drop
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

// complete makes the target the active key: no value is encrypted with another one.
func complete(st *hyperv1.SecretEncryptionRecord, now metav1.Time) {
	st.ActiveKey, st.TargetKey = st.TargetKey, nil
	for i := range st.History {
		if st.History[i].CompletionTime == nil {
			st.History[i].CompletionTime = &now
		}
	}
	st.History[0].State, st.History[0].Stage = hyperv1.SecretEncryptionMigrationCompleted, hyperv1.SecretEncryptionRetain
}

// RetainedUntil returns when the old keys of a completed move may be dropped.
func RetainedUntil(move *hyperv1.SecretEncryptionMigration) time.Time {
	return move.CompletionTime.Add(RetainFor)
}
