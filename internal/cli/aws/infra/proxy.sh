#!/bin/bash
# The proxy of the cluster @INFRA_ID@.
# listeners: @LISTENERS@
set -euo pipefail
# There is no way to the repository until the address of the instance is associated.
until dnf install -y squid; do sleep 10; done

cat > /etc/squid/squid.conf <<'END'
http_port @PORT@
@TLS_PORT@
acl clients src @CLIENTS@
# The instance itself, and its metadata, which have this script.
acl instance dst 0.0.0.0/8 127.0.0.0/8 169.254.0.0/16 ::/127 fe80::/10 fd00:ec2::/32
http_access deny instance
http_access allow clients
http_access deny all
cache deny all
forwarded_for delete
END
chown root:squid /etc/squid/squid.conf
chmod 640 /etc/squid/squid.conf
@TLS@

# Also a name that leads to the metadata does not.
mkdir -p /etc/systemd/system/squid.service.d
cat > /etc/systemd/system/squid.service.d/metadata.conf <<'END'
[Service]
IPAddressDeny=169.254.169.254 fd00:ec2::254
END
systemctl daemon-reload
systemctl enable squid
systemctl restart squid
