package supervisor

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// listen serves the API of test/lab/cluster/protocol.go.
func (s *supervisor) listen() error {
	socket := cluster.Socket(s.options.Dir)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", socket, err)
	}
	if err := os.Chmod(socket, 0o600); err != nil {
		return fmt.Errorf("listening on %s: %w", socket, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /progress", s.serveProgress)
	mux.HandleFunc("GET /status", s.status)
	mux.HandleFunc("POST /machines", s.addMachine)
	mux.HandleFunc("POST /second", s.serveSecond)
	mux.HandleFunc("DELETE /second", func(w http.ResponseWriter, req *http.Request) { answer(w, s.removeSecond(req.Context())) })
	mux.HandleFunc("POST /machines/{name}/clock", func(w http.ResponseWriter, req *http.Request) {
		by, err := time.ParseDuration(req.URL.Query().Get("by"))
		if err == nil {
			err = s.machines.setClock(req.PathValue("name"), by)
		}
		answer(w, err)
	})
	for verb, act := range map[string]func(string) error{
		"POST /machines/{name}/start":      s.machines.start,
		"POST /machines/{name}/stop":       s.machines.stop,
		"POST /machines/{name}/kill":       s.machines.kill,
		"POST /machines/{name}/force-stop": s.machines.forceStop,
		"DELETE /machines/{name}":          s.machines.remove,
	} {
		mux.HandleFunc(verb, func(w http.ResponseWriter, req *http.Request) {
			answer(w, act(req.PathValue("name")))
		})
	}
	go func() { _ = (&http.Server{Handler: s.whenUp(mux)}).Serve(listener) }() // until the supervisor ends
	return nil
}

// whenUp makes calls wait until the lab runs, except for those that read the progress.
func (s *supervisor) whenUp(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/progress" {
			select {
			case <-req.Context().Done():
				return
			case <-s.up:
			}
		}
		next.ServeHTTP(w, req)
	})
}

func (s *supervisor) serveProgress(w http.ResponseWriter, req *http.Request) {
	for sent := 0; ; {
		steps, more := s.progress.since(sent)
		for _, step := range steps {
			if err := json.NewEncoder(w).Encode(step); err != nil || step.Done {
				return
			}
		}
		sent += len(steps)
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-req.Context().Done():
			return
		case <-more:
		}
	}
}

func (s *supervisor) status(w http.ResponseWriter, _ *http.Request) {
	there := cluster.Status{Processes: s.servers.status(), Machines: s.machines.status()}
	there.Second = s.second.status()
	if s.cloud != nil {
		cloud := s.cloud.Status()
		there.Cloud = &cloud
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(there) // the only error is that the client is gone
}

func (s *supervisor) addMachine(w http.ResponseWriter, req *http.Request) {
	var options cluster.MachineOptions
	err := json.NewDecoder(req.Body).Decode(&options)
	if err == nil {
		err = s.machines.add(req.Context(), options)
	}
	answer(w, err)
}

func (s *supervisor) serveSecond(w http.ResponseWriter, req *http.Request) {
	running, err := s.startSecond(req.Context())
	if err != nil {
		answer(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(running) // the only error is that the client is gone
}

func answer(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
