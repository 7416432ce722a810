package portforward

import (
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"slices"

	"golang.org/x/net/websocket"
)

// maxMessage is the limit of a message of a client, in bytes. Clients write at most 32 KiB at once.
const maxMessage = 1 << 20

// Accept is the server of DialPath. It makes a WebSocket of a request and serves its data; the connection ends when serve returns. port is
// the port that the client has requested.
func Accept(w http.ResponseWriter, r *http.Request, port uint16, serve func(net.Conn)) {
	server := websocket.Server{
		Handshake: func(config *websocket.Config, _ *http.Request) error {
			if !slices.Contains(config.Protocol, protocol) {
				return errors.New("the client does not speak " + protocol)
			}
			config.Protocol = []string{protocol}
			return nil
		},
		Handler: func(conn *websocket.Conn) {
			defer func() { _ = conn.Close() }() // the client has ended it, or serve has
			conn.PayloadType, conn.MaxPayloadBytes = websocket.BinaryFrame, maxMessage
			for _, channel := range []byte{dataChannel, errorChannel} {
				if err := websocket.Message.Send(conn, binary.LittleEndian.AppendUint16([]byte{channel}, port)); err != nil {
					return
				}
			}
			serve(&connection{Conn: conn})
		},
	}
	server.ServeHTTP(w, r)
}
