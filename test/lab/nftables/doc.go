// Package nftables writes tables of nftables. A caller computes a whole table each time; the Writer sends the difference to the
// kernel in one transaction. It uses the program nft in the network namespace of the calling thread.
package nftables
