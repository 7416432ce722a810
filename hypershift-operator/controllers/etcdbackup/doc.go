// Package etcdbackup makes the backups of etcd that HCPEtcdBackups request.
//
//	HostedControlPlane ─► deadline ─► other backups ─► failed attempt ─► next attempt ─► etcd ─► snapshot ─► completion ─► removal
//	                                                                                                  │            │
//	                                                     session; multipart upload; Secret with the ──┘            the uploaded parts become an object
//	                                                     URLs of its parts; pod: take, verify, upload
//
//	failed pod ─► it is counted ─► its objects and the upload are removed ─► the next attempt, after a longer pause
//
//	annotation etcd-backup-expired ─► deletion of the object and of the HCPEtcdBackup
//
// The pod runs in the namespace of the control plane. It has the client certificate of etcd and the URLs, but no credentials of AWS. The
// object is in the bucket, and the backup is BackupCompleted, only when the snapshot was compared with etcd and all its bytes have arrived.
package etcdbackup
