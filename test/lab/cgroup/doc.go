// Package cgroup gives each machine of a lab cgroups of its own, with a limit of memory, on either version:
//
//	v1  /sys/fs/cgroup/<controllers>/hypershift-lab-<lab>/<machine>   one directory in each hierarchy
//	v2  /sys/fs/cgroup/hypershift-lab-<lab>/<machine>                 one directory
//
// Everything of a lab is below its family, so that Remove finds it also when nobody remembers what there was. Inside, a
// machine sees its directories as the roots: its kubelet knows of no others.
package cgroup
