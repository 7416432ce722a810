// Package secretencryption plans how the key changes that encrypts Secrets in etcd.
//
//	status.secretEncryption ── Desired ──► the keys of the configuration: one writes, the others read
//	         ▲                                          │
//	         │                                          ▼ every API server runs it
//	         └────────── Next ◄── facts ────────────────┘
//
//	ReadKey    old, NEW     no API server meets a value that it cannot read
//	WriteKey   NEW, old     values of both keys appear
//	Reencrypt  NEW, old     every object is rewritten
//	Retain     NEW, old     ten minutes, until etcd has forgotten the revisions before
//	Drop       NEW          the old key leaves the API servers
//	Done       NEW
//
// The status is written first, and the configuration follows from it: a process
// that dies in between continues where it was. No key leaves the configuration
// but in stage Drop. A key that is changed again midway extends the move: what
// the interrupted key may have written stays readable until the last key has
// rewritten it.
//
// All of it are pure functions.
package secretencryption
