#!/usr/bin/env bash
# Prepares the AWS account of the management cluster: the bucket for OIDC documents, and the roles of the operator and of external-dns.
# It can be run again. docs/eks.md describes when. `hypershift create oidc-bucket aws` and `hypershift create operator-roles aws` continue with
# what it has created: names, tags and policies are the same.
#
#   AWS_REGION=us-east-1 CLUSTER=management OIDC_BUCKET=my-oidc config/aws/management-account.sh create > my-values.yaml
#   ... config/aws/management-account.sh delete
#
# Variables:
#   AWS_REGION      region of the management cluster and of the bucket
#   CLUSTER         name of the EKS cluster. ISSUER, a URL, replaces it for a management cluster that is not EKS
#   OIDC_BUCKET     bucket that is created. The name is unique in all of AWS, and has no dots
#   PUBLIC_ZONE_ID  optional: the public hosted zone for the names of API servers. It adds the role of external-dns
#   PUBLIC_DOMAIN   the domain of that zone
#   LOAD_BALANCER_CLASS  optional: the class of Services of type LoadBalancer. Default: service.k8s.aws/nlb, that of the AWS Load Balancer Controller
#
# Standard output is a values file for the chart. Programs: aws (1 or 2).
set -euo pipefail
: "${AWS_REGION:?}" "${OIDC_BUCKET:?}"
. "$(dirname "$0")/lib.sh"

owner=hypershift.openshift.io/operator-roles=hypershift

# allow_public_reads POLICY: sets the policy of the bucket. S3 knows seconds later that public policies are not blocked any more, and refuses
# them until then. An account or an organization that blocks them refuses them for good.
allow_public_reads() {
	local answer attempt
	for attempt in {1..12}; do
		if answer=$(aws s3api put-bucket-policy --bucket "$OIDC_BUCKET" --policy "$1" 2>&1 >/dev/null); then
			return 0
		fi
		case $answer in
		*"(AccessDenied)"*) ;;
		*) break ;;
		esac
		step "S3 refuses the policy, attempt $attempt of 12"
		sleep "${RETRY_SECONDS:-5}"
	done
	echo "$answer" >&2
	echo "If the account or the organization blocks public buckets, allow them for this account: AWS reads the documents without credentials" >&2
	return 1
}

create() {
	local issuer=${ISSUER-} provider us_east_1=()
	if [ -z "$issuer" ]; then
		issuer=$(aws eks describe-cluster --name "${CLUSTER:?}" --query cluster.identity.oidc.issuer)
	fi
	provider=arn:$partition:iam::$account:oidc-provider/${issuer#https://}
	if ! present NoSuchEntity aws iam get-open-id-connect-provider --open-id-connect-provider-arn "$provider"; then
		echo "IAM does not know the issuer of the management cluster. On EKS: eksctl utils associate-iam-oidc-provider --cluster $CLUSTER --approve" >&2
		exit 1
	fi

	step "bucket $OIDC_BUCKET"
	if ! present 404 aws s3api head-bucket --bucket "$OIDC_BUCKET"; then
		[ "$AWS_REGION" = us-east-1 ] || us_east_1=(--create-bucket-configuration "LocationConstraint=$AWS_REGION")
		aws s3api create-bucket --bucket "$OIDC_BUCKET" "${us_east_1[@]}" >/dev/null
	fi
	aws s3api put-bucket-tagging --bucket "$OIDC_BUCKET" --tagging 'TagSet=[{Key=hypershift.openshift.io/oidc-bucket,Value=owned}]'
	# AWS reads the documents without credentials. The policy is the only way to them.
	aws s3api put-public-access-block --bucket "$OIDC_BUCKET" --public-access-block-configuration \
		BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=false,RestrictPublicBuckets=false
	allow_public_reads '{"Version": "2012-10-17", "Statement": [{
	  "Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:'"$partition"':s3:::'"$OIDC_BUCKET"'/*"}]}'

	ensure_role hypershift-operator "$(web_identity "$provider" system:serviceaccount:hypershift:hypershift-operator sts.amazonaws.com)" \
		"$(policy hypershift-operator.json "OIDC_BUCKET=$OIDC_BUCKET")" "$owner"
	cat <<-YAML
		aws:
		  region: $AWS_REGION
		  privateLink: true
		  roleARN: arn:$partition:iam::$account:role/hypershift-operator
		oidc:
		  bucket: $OIDC_BUCKET
		  region: $AWS_REGION
		# The webhook of the AWS Load Balancer Controller sets the class only on Services that are created with the type LoadBalancer. A change of
		# the access mode changes the type of a Service.
		loadBalancers:
		  class: ${LOAD_BALANCER_CLASS:-service.k8s.aws/nlb}
	YAML
	[ -n "${PUBLIC_ZONE_ID-}" ] || return 0
	ensure_role hypershift-external-dns "$(web_identity "$provider" system:serviceaccount:hypershift:external-dns sts.amazonaws.com)" \
		"$(policy external-dns.json "PUBLIC_ZONE_ID=$PUBLIC_ZONE_ID")" "$owner"
	cat <<-YAML
		externalDNS:
		  enabled: true
		  domainFilters: ["${PUBLIC_DOMAIN:?}"]
		  txtOwnerID: ${CLUSTER:-hypershift}
		  aws:
		    roleARN: arn:$partition:iam::$account:role/hypershift-external-dns
	YAML
}

# The hosted clusters must be deleted before: the bucket has the documents with which AWS checks their tokens.
delete() {
	delete_role hypershift-operator
	delete_role hypershift-external-dns
	delete_role external-dns # its name in earlier versions
	step "bucket $OIDC_BUCKET"
	if present 404 aws s3api head-bucket --bucket "$OIDC_BUCKET"; then
		# AWS refuses the deletion of a bucket that is not empty.
		aws s3api delete-bucket --bucket "$OIDC_BUCKET"
	fi
}

case ${1-} in
create | delete) "$1" ;;
*)
	echo "usage: $0 create|delete" >&2
	exit 2
	;;
esac
