// Package cgroup creates the cgroups of each machine of a lab, with a memory limit, on either version:
//
//	v1  /sys/fs/cgroup/<controllers>/hypershift-lab-<lab>/<machine>   one directory in each hierarchy
//	v2  /sys/fs/cgroup/hypershift-lab-<lab>/<machine>                 one directory
//
// All cgroups of a lab are below its family, so that Remove finds them without any other record. Inside a machine, its
// directories are mounted as the roots, and its kubelet sees no others.
package cgroup
