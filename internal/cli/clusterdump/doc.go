// Package clusterdump collects the data for finding the cause of a problem in a hosted cluster: objects, events and logs of its control
// plane, the objects of the system in the hosted cluster, and its resources in AWS. All data that leaves it has passed package redact.
package clusterdump
