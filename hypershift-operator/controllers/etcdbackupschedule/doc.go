// Package etcdbackupschedule creates HCPEtcdBackups at the times of EtcdBackupSchedules, and deletes those that are no longer kept.
//
//	schedule ─► clusters ─► finalizers ─► backups ─► retention
//	   │            │            │            │           └── annotation: package etcdbackup deletes the object and the HCPEtcdBackup
//	   │            │            │            └── one for each cluster, at the last scheduled time and the cluster's share of the jitter
//	   │            │            └── beforeDeletion: a HostedCluster waits for its last backup
//	   │            └── the selected HostedClusters that have a control plane
//	   └── cron expression, time zone, jitter
//
// After a time without the operator one backup is made, of the last scheduled time. A cluster without a stored backup an hour after its
// turn is missed: BackupsOnSchedule is False and names it.
package etcdbackupschedule
