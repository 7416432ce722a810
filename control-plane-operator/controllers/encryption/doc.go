// Package encryption changes the keys that encrypt Secrets in etcd, in the stages
// of package secretencryption, and reports them in EtcdDataEncryptionUpToDate.
//
//	facts          the keys in the spec, the configuration, and the API servers that run it
//	re-encryption  only in its stage: rewrite for some seconds, then gather the facts again
//	plan           ─► status.secretEncryptionRecord, advance one stage if all API servers have the last one
//
// The components controller writes the configuration from this status. So a stage is recorded before an API server
// reaches it.
package encryption
