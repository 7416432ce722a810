package systemd

// understood are the keys that mean something here, and those that need not: there is one boot, without targets, on a machine that
// has its network before anything starts.
var understood = map[string]bool{
	"Unit.Description": true,
	"Unit.Wants":       true,
	"Unit.Requires":    true,
	"Unit.After":       true,

	"Service.Type":            true,
	"Service.RemainAfterExit": true,
	"Service.Environment":     true,
	"Service.EnvironmentFile": true,
	"Service.ExecStartPre":    true,
	"Service.ExecStart":       true,
	"Service.Restart":         true,
	"Service.RestartSec":      true,

	"Socket.ExecStartPre": true,
	"Socket.ListenStream": true,

	"Path.PathExists": true,

	"Timer.OnActiveSec":        true,
	"Timer.OnUnitActiveSec":    true,
	"Timer.RandomizedDelaySec": true,

	"Install.WantedBy": true,
}
