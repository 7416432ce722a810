package privilege

// Use holds the used rights of holders.
type Use struct {
	// Counts say how often, by the name of the holder.
	Counts  map[string]map[Right]int
	Refused []Refusal
}

// Refusal is something that a holder wanted and may not.
type Refusal struct {
	Holder  string
	Right   Right
	Message string
}

func (u *Use) count(holder string, r Right) {
	if u.Counts == nil {
		u.Counts = map[string]map[Right]int{}
	}
	if u.Counts[holder] == nil {
		u.Counts[holder] = map[Right]int{}
	}
	u.Counts[holder][r]++
}

// refuse notes a refusal, and only the first of many.
func (u *Use) refuse(refusal Refusal) {
	for _, known := range u.Refused {
		if known.Holder == refusal.Holder && known.Right == refusal.Right {
			return
		}
	}
	u.Refused = append(u.Refused, refusal)
}
