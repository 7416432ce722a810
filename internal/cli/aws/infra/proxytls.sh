
install -m 640 -g squid /dev/null /etc/squid/proxy.key
cat > /etc/squid/proxy.key <<'END'
@KEY@
END
cat > /etc/squid/proxy.crt <<'END'
@CERTIFICATE@
END
chmod 644 /etc/squid/proxy.crt
