// Package backupbucket stores backups of etcd in a bucket of S3, and reads them.
//
//	Begin ─► multipart upload ─► PartURLs ─► (the pod with the snapshot uploads parts, without credentials)
//	                                             │
//	Complete ◄─ sizes of the parts ◄─────────────┘
//	   └─► <key>, and <key>.sha256 with its checksum
//
// A presigned URL stores one part of one object and permits nothing else, so that the pod of a control plane never has credentials. S3
// shows an object when its upload is completed, so that half an upload is not a backup. Each call names the account that must own the
// bucket: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-owner-condition.html
package backupbucket
