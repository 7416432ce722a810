#!/bin/sh
# Installs the programs of the release, unless the machine has them. Names the cause on the console while it cannot.
set -u
umask 022
. /etc/kubernetes/programs
home=/opt/hypershift
run=/run/hypershift
want=$home/$KUBERNETES-$(printf %.12s "${IMAGE#sha256:}")
said='' trust='' reason='' message=''
mkdir -p $run $home

fail() { # REASON MESSAGE
	reason=$1 message=$(printf %s "$2" | tr -cd '[:print:]' | cut -c1-300)
	return 1
}

report() {
	echo "$reason: $message" >&2
	[ "$said" = "$reason $message" ] || printf '\nhypershift-node: reason=%s message=%s\n' "$reason" "$message" >/dev/console
	said="$reason $message"
}

# own reports whether the machine has the programs: from its image, or from an earlier boot.
own() {
	[ "$(kubelet --version 2>/dev/null)" = "Kubernetes $KUBERNETES" ] || return 1
	containerd --version 2>/dev/null | grep -q ' v\{0,1\}2\.' || return 1
	command -v runc >/dev/null && systemctl cat containerd.service kubelet.service >/dev/null 2>&1
}

download() { # URL FILE ARGS...: sets code
	url=$1 file=$2
	shift 2
	code=$(curl -sSL --connect-timeout 10 --speed-limit 1024 --speed-time 30 $trust -o "$file" -D $run/headers -w '%{http_code}' "$@" "$url" 2>$run/error)
	case $? in
	0) ;;
	23) fail DiskFull "$(tail -n 1 $run/error)" ;;
	*) fail RegistryUnreachable "$(tail -n 1 $run/error)" ;;
	esac
}

# authorize gets a token without credentials, as registries require it for public images.
authorize() {
	challenge=$(tr -d '\r' <$run/headers | sed -n 's/^[Ww][Ww][Ww]-[Aa]uthenticate: *[Bb]earer //p' | tail -n 1)
	value() { printf %s ",$challenge" | sed -n "s/.*[, ]$1=\"\([^\"]*\)\".*/\1/p"; }
	[ -n "$(value realm)" ] || return 1
	download "$(value realm)" $run/answer -G --data-urlencode "service=$(value service)" --data-urlencode "scope=$(value scope)" || return 1
	token=$(sed -n 's/.*"\(access_\)\{0,1\}token" *: *"\([^"]*\)".*/\2/p' $run/answer)
	rm -f $run/answer
	(umask 077 && printf 'Authorization: Bearer %s\n' "$token" >$run/authorization)
	[ -n "$token" ]
}

layer() { # DIGEST FILE SOURCE
	download "$3/blobs/$1" "$2" || return 1
	if [ "$code" = 401 ] && authorize; then
		download "$3/blobs/$1" "$2" -H @$run/authorization || return 1
	fi
	case $code in
	200) ;;
	401 | 403) fail RegistryUnauthorized "$3 answered $code" || return 1 ;;
	404) fail NotFound "$3 has no layer $1" || return 1 ;;
	*) fail RegistryUnreachable "$3 answered $code" || return 1 ;;
	esac
	echo "${1#sha256:}  $2" | sha256sum -c --status || fail WrongDigest "layer $1 of $3 has other content"
}

install() {
	[ ! -d "$want" ] || return 0
	rm -rf $home/.new
	needed=0
	for one in $LAYERS; do needed=$((needed + ${one#*=} / 256 + 1)); done # four times the size, in KiB
	free=$(df -Pk $home | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)
	[ "$free" -ge "$needed" ] || fail DiskFull "$home has $((free / 1024)) MiB free and the programs need $((needed / 1024)) MiB" || return 1
	mkdir -p $home/.new/root || fail DiskFull "$home is not writable" || return 1
	for one in $LAYERS; do
		found=''
		for source in $SOURCES; do
			if layer "${one%=*}" $home/.new/layer "$source"; then
				found=$source
				break
			fi
		done
		[ -n "$found" ] || return 1
		if ! tar -xzf $home/.new/layer -C $home/.new/root --no-same-owner 2>$run/error; then
			case $(cat $run/error) in
			*'No space left'*) fail DiskFull "$(tail -n 1 $run/error)" ;;
			*) fail UnpackFailed "$(tail -n 1 $run/error)" ;;
			esac
			return 1
		fi
		rm -f $home/.new/layer
	done
	mv -T $home/.new/root "$want" # all or nothing
}

activate() {
	mkdir -p /opt/cni/bin
	for plugin in $(cd "$want" && echo opt/cni/bin/*); do
		[ ! -e "$want/$plugin" ] || ln -sfn "$want/$plugin" "/opt/cni/bin/${plugin##*/}"
	done
	cp /etc/kubernetes/units/containerd.service /etc/kubernetes/units/kubelet.service /etc/systemd/system/ &&
		ln -sfn "$want/usr/local/bin" $home/.bin && mv -Tf $home/.bin $home/bin || fail ProgramsUnavailable "$want cannot be made the version in use" || return 1
	systemctl daemon-reload
	systemctl --no-block restart containerd.service || : # one of the image may run
}

if [ -e /etc/kubernetes/trust/additional.crt ]; then
	cat /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/kubernetes/trust/additional.crt >$run/trust.pem 2>/dev/null
	trust="--cacert $run/trust.pem"
fi
delay=2
until own || { install && activate; }; do
	report
	rm -rf $home/.new
	sleep $delay
	[ $delay -ge 60 ] || delay=$((delay * 2))
done
systemctl enable --quiet containerd.service kubelet.service
systemctl --no-block start containerd.service kubelet.service
