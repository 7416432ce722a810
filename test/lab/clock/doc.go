// Package clock sets the wall clock of the processes of one machine of the lab. All machines share the kernel, and so its clock: the package changes
// what the C library and the Go runtime read instead, the functions of the vDSO, which the kernel maps into each process (vdso(7)). What reads the
// clock by a system call, such as the time of a file, stays right.
package clock
