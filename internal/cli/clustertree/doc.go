// Package clustertree shows a hosted cluster as a tree of the objects that it consists of in the management cluster, each with its
// conditions. Gather reads the objects, Build makes the tree, and Write prints it. Build and Write are pure functions.
package clustertree
