// Package registrybucket manages the bucket of a cluster's image registry, in the customer's account.
//
//	Ensure   bucket ─► tags ─► public access block ─► encryption ─► lifecycle ─► policy
//	Delete   unfinished uploads ─► versions and delete markers ─► bucket
//
// Each setting is read, and written only if it differs. A setting has exactly the value that is written here: other statements of the policy and
// other rules of the lifecycle are removed. Tags of others stay. The AWS defaults of new buckets that are not written: BucketOwnerEnforced for the
// ownership of objects, and no versioning. Former versions and delete markers are deleted if a user has enabled versioning.
//
// Names of buckets are global, and creation and tagging are two calls. Therefore a bucket is the cluster's if it has the cluster's tag, or no tags
// after its creation was recorded. Other buckets are neither changed nor deleted. Each call after the creation names the account that must own the
// bucket: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-owner-condition.html
package registrybucket
