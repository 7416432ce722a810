# Writes the configuration of the CNI plugins when flannel knows the range of this node, and restores it when it changes.
set -eu

file=$CNI_DIRECTORY/10-flannel.conflist

# range prints the range of an address with a prefix length: flannel writes the first address after the base.
range() {
  address=${1%/*}
  case $address in
  *:*) echo "${address%:*}:$(printf %x $((0x${address##*:} - 1)))/${1#*/}" ;;
  *) echo "${address%.*}.$((${address##*.} - 1))/${1#*/}" ;;
  esac
}

render() {
  FLANNEL_SUBNET='' FLANNEL_IPV6_SUBNET='' ranges='' routes=''
  . "$SUBNET_FILE"
  for subnet in $FLANNEL_SUBNET $FLANNEL_IPV6_SUBNET; do
    case $subnet in
    *:*) everything=::/0 ;;
    *) everything=0.0.0.0/0 ;;
    esac
    ranges="$ranges${ranges:+, }[{\"subnet\": \"$(range "$subnet")\"}]"
    routes="$routes${routes:+, }{\"dst\": \"$everything\"}"
  done
  cat <<EOF
{
  "cniVersion": "1.0.0",
  "name": "flannel",
  "plugins": [
    {
      "type": "bridge", "bridge": "cni0", "mtu": $FLANNEL_MTU, "isGateway": true, "hairpinMode": true,
      "ipam": {"type": "host-local", "ranges": [$ranges], "routes": [$routes]}
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
EOF
}

trap 'exit 0' TERM
pause=0.2
while :; do
  if [ -s "$SUBNET_FILE" ]; then
    text=$(render)
    if [ "$text" != "$(cat "$file" 2>/dev/null)" ]; then
      echo "$text" >"$CNI_DIRECTORY/.10-flannel.conflist"
      mv "$CNI_DIRECTORY/.10-flannel.conflist" "$file"
      echo "wrote $file"
    fi
    pause=5
  fi
  # The signal ends wait, and not a program in the foreground.
  sleep $pause &
  wait $!
done
