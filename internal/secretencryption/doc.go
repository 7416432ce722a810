// Package secretencryption plans changes of the key that encrypts Secrets in etcd.
//
//	status.secretEncryptionRecord ── Desired ──► the keys of the configuration: one writes, the others read
//	   ▲                 │                                          │
//	   │                 └─ Status ─► status.secretEncryption       ▼ every API server runs it
//	   └──────────────────────── Next ◄── facts ────────────────────┘
//
//	ReadKey    old, NEW     every API server can read values of both keys
//	WriteKey   NEW, old     values of both keys are in etcd
//	Reencrypt  NEW, old     every object is rewritten
//	Retain     NEW, old     ten minutes, until etcd has compacted the former revisions
//	Drop       NEW          the API servers no longer have the old key
//	Done       NEW
//
// The status is written first, and the configuration follows from it: after a crash, the next process continues. A key is removed
// from the configuration in stage Drop only. If the key is changed again during a change, the change is extended: values of the
// interrupted key stay readable until the last key has rewritten them.
//
// All functions are pure.
package secretencryption
