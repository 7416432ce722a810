# Functions of the scripts in this directory. They look for a resource before they create it, so that a script can be run again. bash 4.4.
# shellcheck shell=bash

shopt -s inherit_errexit # A failed look-up ends the script. It must not be taken for a missing resource.

export AWS_PAGER="" AWS_DEFAULT_OUTPUT=text AWS_DEFAULT_REGION=$AWS_REGION

policies=$(cd "$(dirname "${BASH_SOURCE[0]}")/../iam" && pwd)
read -r account partition < <(aws sts get-caller-identity --query '[Account, Arn]' | sed 's/arn:\([^:]*\):.*/\1/')
: "${account:?AWS accepts no credentials}"
aws_domain=amazonaws.com
[ "$partition" != aws-cn ] || aws_domain=amazonaws.com.cn

step() { echo "$*" >&2; }

# value COMMAND...: what a query returned, or nothing.
value() { "$@" | sed 's/^None$//'; }

# ensure VARIABLE LOOKUP COMMAND...: sets the variable to what the look-up returns. If that is nothing, it creates the resource.
ensure() {
	local existing # A name that no caller uses for its variable.
	existing=$($2)
	[ -n "$existing" ] || existing=$("${@:3}")
	printf -v "$1" %s "$existing"
}

# present ERROR COMMAND...: false if AWS returns ERROR. Every other error ends the script.
present() {
	local missing=$1 answer
	shift
	if answer=$("$@" 2>&1 >/dev/null); then
		return 0
	fi
	case $answer in
	*"($missing)"*) return 1 ;;
	esac
	echo "$answer" >&2
	exit 1
}

# web_identity PROVIDER SUBJECT AUDIENCE: a trust policy for tokens of an OIDC provider.
web_identity() {
	local issuer=${1#*:oidc-provider/}
	cat <<-JSON
		{"Version": "2012-10-17", "Statement": [{
		  "Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity", "Principal": {"Federated": "$1"},
		  "Condition": {"StringEquals": {"$issuer:sub": "$2", "$issuer:aud": "$3"}}}]}
	JSON
}

# policy FILE NAME=VALUE...: a document of config/iam with its variables replaced.
policy() {
	local text variable
	text=$(cat "$policies/$1")
	text=${text//arn:aws:/arn:$partition:}
	for variable in "${@:2}"; do
		text=${text//"\${${variable%%=*}}"/"${variable#*=}"}
	done
	case $text in
	*'${'[A-Z]*)
		echo "config/iam/$1 needs another variable" >&2
		return 1
		;;
	esac
	echo "$text"
}

# ensure_role NAME TRUST [POLICY] [KEY=VALUE]: a role, with a tag.
ensure_role() {
	local tag=()
	[ -z "${4-}" ] || tag=(--tags "Key=${4%%=*},Value=${4#*=}")
	step "role $1"
	if present NoSuchEntity aws iam get-role --role-name "$1"; then
		aws iam update-assume-role-policy --role-name "$1" --policy-document "$2"
		[ -z "${4-}" ] || aws iam tag-role --role-name "$1" "${tag[@]}"
	else
		aws iam create-role --role-name "$1" --assume-role-policy-document "$2" "${tag[@]}" --query Role.Arn >/dev/null
	fi
	if [ -n "${3-}" ]; then
		aws iam put-role-policy --role-name "$1" --policy-name "$1" --policy-document "$3"
	fi
}

delete_role() {
	step "role $1"
	present NoSuchEntity aws iam get-role --role-name "$1" || return 0
	if present NoSuchEntity aws iam get-role-policy --role-name "$1" --policy-name "$1"; then
		aws iam delete-role-policy --role-name "$1" --policy-name "$1"
	fi
	aws iam delete-role --role-name "$1"
}
