package udp
