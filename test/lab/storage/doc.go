// Package storage provides network disks for a lab, with the life of an EBS volume: a disk is created, is attached to one machine after
// some seconds, is mounted there with the file system of a new disk, and is detached when its pod has ended. The disks are directories
// that every machine sees at the same path.
//
//	storage.go  provisioner, in the supervisor: creates and deletes disks
//	attach.go   attacher, in the supervisor: answers VolumeAttachments of the attach/detach controller after AttachDelay
//	node.go     CSI driver, in the agent of each machine of the management cluster: mounts disks for the kubelet
//
// The behaviour of AWS, and its part in a disk of the lab:
//
//	| EBS with its CSI driver                                                        | Source                                                   | Lab
//	| attaching takes seconds: the driver polls the state after 1.8^n s, up to 13 times | aws-ebs-csi-driver pkg/cloud/cloud.go, volumeAttachmentStatePollSteps | AttachDelay
//	| a volume is attached to one instance                                           | https://docs.aws.amazon.com/ebs/latest/userguide/ebs-attaching-volume.html | attachRequired, ReadWriteOnce
//	| the root of a new ext4 belongs to root, and has a directory lost+found         | mke2fs(8)                                                | Provision
//	| the kubelet gives the file system to the group of the pod                      | aws-ebs-csi-driver charts/.../csidriver.yaml, fsGroupPolicy: File | fsGroupPolicy: File
//
// With cluster.Options.InstantVolumes there are no VolumeAttachments, so that a measurement compares the time of programs.
//
// A disk of the lab is not bound to a zone: a lab has one machine in each zone.
package storage
