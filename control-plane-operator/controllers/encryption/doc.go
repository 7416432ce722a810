// Package encryption changes the keys that encrypt Secrets in etcd, in the stages
// of package secretencryption, and reports them in EtcdDataEncryptionUpToDate.
//
//	facts       what the user wants, the configuration, and which API servers run it
//	re-encrypt  in that stage: some seconds of rewriting, then the facts again
//	plan        ─► status.secretEncryption, one stage further if all API servers have the last
//
// The configuration is written by the components controller, from that status.
// So a stage is recorded before any API server is in it.
package encryption
