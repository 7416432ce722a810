package resolver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"reflect"
	"sync"
	"syscall"
	"time"

	"github.com/miekg/dns"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
)

// Options configure a Server.
type Options struct {
	// Listen is the address of the server, for UDP and TCP.
	Listen string
	// Forward is the address of a DNS server for all other names; without one they do not exist.
	Forward string
	// VPC is the VPC of the clients of that address: they see its private zones.
	VPC string
	// S3 is the address of the names of S3 and STS.
	S3 string
	// Read and LoadBalancers return the sources of names.
	Read          func(context.Context) (*awsemulator.Network, error)
	LoadBalancers func() []LoadBalancer
	poll.Options
}

// ttl is short, because load balancers are created and deleted within seconds.
const ttl = 5

// Server is the DNS server.
type Server struct {
	*poll.Loop
	o       Options
	servers []*dns.Server

	mu      sync.Mutex
	network *awsemulator.Network
	changed time.Time // when network was last different
}

// LoadBalancer is a load balancer that forwards traffic.
type LoadBalancer struct {
	Host    string
	Address netip.Addr
}

// listen listens on the same port for both protocols. A port that the kernel selects for UDP may be in use for TCP; then
// it tries again.
func listen(address string) (net.PacketConn, net.Listener, error) {
	const attempts = 20
	for attempt := 1; ; attempt++ {
		packets, err := net.ListenPacket("udp", address)
		if err != nil {
			return nil, nil, err
		}
		listener, err := net.Listen("tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, listener, nil
		}
		_ = packets.Close() // no write can be lost
		if attempt == attempts || packets.LocalAddr().String() == address || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, nil, err
		}
	}
}

// Start listens. Names are resolved only after Run is called.
func Start(o Options) (*Server, error) {
	s := &Server{o: o, network: &awsemulator.Network{}}
	packets, listener, err := listen(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("starting the DNS server: %w", err)
	}
	s.Loop = poll.New("DNS", o.Options, s.read)
	s.servers = s.view(o.VPC, packets, listener)
	return s, nil
}

// Address is where the server listens.
func (s *Server) Address() string { return s.servers[0].PacketConn.LocalAddr().String() }

// Run serves, and follows changes, until ctx ends. State that cannot be read stays unchanged.
func (s *Server) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, server := range s.servers {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		wg.Go(func() { _ = server.ActivateAndServe() }) // until it is shut down
		wg.Go(func() {
			<-started
			<-ctx.Done()
			_ = server.Shutdown() // it is running
		})
	}
	s.Loop.Run(ctx)
}

// view is the servers for the clients in a VPC.
func (s *Server) view(vpc string, packets net.PacketConn, listener net.Listener) []*dns.Server {
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, request *dns.Msg) { s.serve(w, request, vpc) })
	return []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: listener, Handler: handler}}
}

// Serve serves the clients in a VPC, too, until ctx ends.
func (s *Server) Serve(ctx context.Context, vpc string, packets net.PacketConn, listener net.Listener) {
	for _, server := range s.view(vpc, packets, listener) {
		go func() { _ = server.ActivateAndServe() }() // until its socket is closed
	}
	context.AfterFunc(ctx, func() {
		_ = packets.Close()
		_ = listener.Close()
	})
}

// settleTime is how long the state is read after its last change: endpoints become available by themselves.
const settleTime = 3 * time.Second

// read replaces the network from which names are built.
func (s *Server) read(ctx context.Context) (settled bool, err error) {
	network, err := s.o.Read(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reflect.DeepEqual(s.network, network) {
		s.network, s.changed = network, s.o.Clock.Now()
	}
	return s.o.Clock.Since(s.changed) > settleTime, nil
}

// serve answers one query of a client in a VPC.
func (s *Server) serve(w dns.ResponseWriter, request *dns.Msg, vpc string) {
	reply := &dns.Msg{}
	reply.SetReply(request)
	if len(request.Question) != 1 {
		reply.Rcode = dns.RcodeFormatError
		_ = w.WriteMsg(reply) // the client is gone
		return
	}
	q := request.Question[0]
	a := s.lookup(q.Name, vpc)
	switch {
	case a.exists:
		reply.Answer = records(q, a)
		reply.RecursionAvailable = true
	case !a.ours && s.o.Forward != "":
		forwarded, err := s.forward(w, request)
		if err != nil {
			reply.Rcode = dns.RcodeServerFailure
			break
		}
		reply = forwarded
	default:
		reply.Rcode = dns.RcodeNameError
		reply.RecursionAvailable = true
	}
	_ = w.WriteMsg(reply) // the client is gone
}

// records converts the answer to DNS records. Queries for other types than IPv4 addresses get an empty answer.
func records(q dns.Question, a answer) []dns.RR {
	var all []dns.RR
	header := func(name string, kind uint16) dns.RR_Header {
		return dns.RR_Header{Name: dns.Fqdn(name), Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
	}
	last := q.Name
	for i, alias := range a.aliases {
		from := alias[0]
		if i == 0 {
			from = q.Name // in the case of the query
		}
		all = append(all, &dns.CNAME{Hdr: header(from, dns.TypeCNAME), Target: dns.Fqdn(alias[1])})
		last = alias[1]
	}
	if q.Qtype != dns.TypeA {
		return all
	}
	for _, address := range a.addresses {
		all = append(all, &dns.A{Hdr: header(last, dns.TypeA), A: net.IP(address.AsSlice())})
	}
	return all
}

// forward forwards a query over the same protocol.
func (s *Server) forward(w dns.ResponseWriter, request *dns.Msg) (*dns.Msg, error) {
	client := &dns.Client{Net: w.LocalAddr().Network(), Timeout: 2 * time.Second}
	reply, _, err := client.Exchange(request, s.o.Forward)
	return reply, err
}

// lookup resolves a name for a client in a VPC, with the current load balancers.
func (s *Server) lookup(name, vpc string) answer {
	balancers := s.o.LoadBalancers()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := build(s.network, balancers)
	n.s3, _ = netip.ParseAddr(s.o.S3) // without an address, S3 has no names
	return n.lookup(name, vpc)
}
