// Package reconcile is the engine of all controllers of both operators. A
// controller is a value of type Controller: it names its steps, and the engine does the work that
// every controller needs.
//
//	request ─► Get ─► Scope ─► Phase ─► Step, Step, Group(Step, Step), Step ─► Status ─► write ─► result
//	          │       │        │        │                                    │         │        │
//	          │       │        │        each step has one of five outcomes   │         │        requeue: wait, resync
//	          │       │        live, paused or deleting: a list of steps     │         only if it differs (Writer, Store)
//	          │       gathers facts, or skips the object                     outcomes become conditions (Conditions)
//	          from the Store: the cache, or a newer write; Gone if it does not exist
//
// The outcomes of a step, its condition, and when the object is reconciled again:
//
//	done        nil                True                        after the resync period
//	wait        Wait(after, …)     False                       after that time (0: the resync period), or when a watch reports a change
//	block       Block(…)           False                       when the object changes, or after the resync period
//	unknown     Unknown(after, …)  stays True, else Unknown    after that time
//	error       any other error    False, or as unknown if     with back-off
//	                               the error is transient
//
// The status is written at most once per Spacing of the controller without an urgent change: most
// changes of an object that is being created follow each other within a second, and only the last of
// them matters. See spacing.go.
//
// Every outcome but done stops the steps that follow. Unverified is for a step that
// is done although its condition cannot be determined: the condition
// is Unknown, and the next step runs.
package reconcile
