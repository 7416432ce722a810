package operation

import "github.com/spf13/cobra"

// AddFlags adds the flags of the session to a command that has no plan.
func (s *Session) AddFlags(c *cobra.Command) { s.flags(c) }
