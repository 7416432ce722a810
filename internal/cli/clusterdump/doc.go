// Package clusterdump collects what is needed to find the cause of a problem of a hosted cluster: objects, events and logs of its control
// plane, the objects of the system in the hosted cluster, and its resources in AWS. Nothing leaves it that package redact has not seen.
package clusterdump
