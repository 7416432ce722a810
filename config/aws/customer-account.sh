#!/usr/bin/env bash
# Prepares the AWS account of the workers for one hosted cluster: VPC, private hosted zone, OIDC provider and roles.
# It can be run again, also after an interruption. docs/eks.md describes when.
#
#   export AWS_REGION=us-east-1 NAME=example INFRA_ID=example-x7k2p OIDC_BUCKET=my-oidc ZONE_IDS="use1-az1 use1-az2 use1-az4"
#   config/aws/customer-account.sh create > example.env
#   config/aws/customer-account.sh delete
#
# Variables:
#   AWS_REGION   region of the workers
#   NAME         name of the HostedCluster
#   INFRA_ID     spec.infraID of the HostedCluster: NAME, and a suffix that no other cluster of the account has
#   OIDC_BUCKET  bucket of the management account, and OIDC_REGION its region (default: AWS_REGION)
#   ZONE_IDS     ids of one to three zones that the management cluster has, too. Names of zones differ between accounts, ids do not
#
# Standard output sets the variables of config/samples. Programs: aws (1 or 2).
#
# The NAT gateway, which all zones share, and its address cost money until they are deleted.
set -euo pipefail
: "${AWS_REGION:?}" "${NAME:?}" "${INFRA_ID:?}" "${OIDC_BUCKET:?}"
. "$(dirname "$0")/lib.sh"

tag=kubernetes.io/cluster/$INFRA_ID
issuer=$OIDC_BUCKET.s3.${OIDC_REGION:-$AWS_REGION}.$aws_domain/$INFRA_ID
provider=arn:$partition:iam::$account:oidc-provider/$issuer

# Role of the cluster: the policy in config/iam, and the subject that the role trusts.
roles="
control-plane-operator         control-plane-operator.json  hypershift:control-plane-operator
node-pool                      node-pool-management.json    hypershift:cluster-api-provider-aws
cloud-controller               cloud-controller.json        hypershift:cloud-controller-manager
aws-ebs-csi-driver-controller  storage.json                 hypershift:ebs-csi-driver
karpenter                      karpenter.json               hypershift:karpenter
"

# find KIND NAME QUERY [FILTER...]: the id of a resource of this cluster, by its Name tag.
find() {
	local option=--filters
	[ "$1" != nat-gateways ] || option=--filter
	value aws ec2 "describe-$1" "$option" "Name=tag:Name,Values=$INFRA_ID-$2" "Name=tag:$tag,Values=owned" "${@:4}" --query "$3"
}
find_vpc() { find vpcs vpc 'Vpcs[0].VpcId'; }
find_options() { find dhcp-options dhcp 'DhcpOptions[0].DhcpOptionsId'; }
find_subnet() { find subnets "$subnet" 'Subnets[0].SubnetId'; }
find_table() { find route-tables "$table" 'RouteTables[0].RouteTableId'; }
find_gateway() { find internet-gateways internet 'InternetGateways[0].InternetGatewayId'; }
find_address() { find addresses nat 'Addresses[0].AllocationId'; }
find_nat() { find nat-gateways nat 'NatGateways[0].NatGatewayId' Name=state,Values=pending,available; }
find_endpoint() { find vpc-endpoints s3 'VpcEndpoints[0].VpcEndpointId'; }
find_zone() {
	value aws route53 list-hosted-zones-by-name --dns-name "$NAME.hypershift.local." \
		--query "HostedZones[?Name=='$NAME.hypershift.local.' && CallerReference=='$INFRA_ID'].Id | [0]" | sed 's,/hostedzone/,,'
}

# tags TYPE NAME [KEY]: the option that gives a new resource its tags.
tags() { echo "--tag-specifications=ResourceType=$1,Tags=[{Key=Name,Value=$INFRA_ID-$2},{Key=$tag,Value=owned}${3+,{Key=$3,Value=1\}}]"; }

# route_table VARIABLE NAME TARGET SUBNET...: a table with a default route, of these subnets.
route_table() {
	local id table=$2 associated subnet
	ensure id find_table aws ec2 create-route-table --vpc-id "$vpc" "$(tags route-table "$2")" --query RouteTable.RouteTableId
	# A gateway that was created again needs another route.
	# shellcheck disable=SC2086 # The target is an option with its value.
	if ! present RouteAlreadyExists aws ec2 create-route --route-table-id "$id" --destination-cidr-block 0.0.0.0/0 $3; then
		aws ec2 replace-route --route-table-id "$id" --destination-cidr-block 0.0.0.0/0 $3
	fi
	associated=$(value aws ec2 describe-route-tables --route-table-ids "$id" --query 'RouteTables[0].Associations[].SubnetId')
	for subnet in "${@:4}"; do
		case $associated in
		*"$subnet"*) ;;
		*) aws ec2 associate-route-table --route-table-id "$id" --subnet-id "$subnet" >/dev/null ;;
		esac
	done
	printf -v "$1" %s "$id"
}

profile_role() { value aws iam get-instance-profile --instance-profile-name "$INFRA_ID-worker" --query 'InstanceProfile.Roles[0].RoleName'; }

create() {
	local vpc zone options gateway address nat routes id private=() public=() number=0 subnet name file subject letter domain

	step "VPC"
	ensure vpc find_vpc aws ec2 create-vpc --cidr-block 10.1.0.0/16 "$(tags vpc vpc)" --query Vpc.VpcId
	# AWS requires both for private hosted zones.
	aws ec2 modify-vpc-attribute --vpc-id "$vpc" --enable-dns-support
	aws ec2 modify-vpc-attribute --vpc-id "$vpc" --enable-dns-hostnames
	domain=$AWS_REGION.compute.internal
	[ "$AWS_REGION" != us-east-1 ] || domain=ec2.internal
	ensure options find_options aws ec2 create-dhcp-options "$(tags dhcp-options dhcp)" --query DhcpOptions.DhcpOptionsId \
		--dhcp-configurations Key=domain-name-servers,Values=AmazonProvidedDNS "Key=domain-name,Values=$domain"
	aws ec2 associate-dhcp-options --vpc-id "$vpc" --dhcp-options-id "$options"

	for zone in ${ZONE_IDS:?}; do
		step "subnets in $zone"
		subnet=private-$zone
		ensure id find_subnet aws ec2 create-subnet --vpc-id "$vpc" --availability-zone-id "$zone" --cidr-block "10.1.$((number * 16)).0/20" \
			"$(tags subnet "$subnet" kubernetes.io/role/internal-elb)" --query Subnet.SubnetId
		private+=("$id")
		# For public load balancers of the hosted cluster, and for the NAT gateway.
		subnet=public-$zone
		ensure id find_subnet aws ec2 create-subnet --vpc-id "$vpc" --availability-zone-id "$zone" --cidr-block "10.1.$((128 + number * 16)).0/20" \
			"$(tags subnet "$subnet" kubernetes.io/role/elb)" --query Subnet.SubnetId
		public+=("$id")
		number=$((number + 1))
	done

	step "internet gateway, NAT gateway and routes"
	ensure gateway find_gateway aws ec2 create-internet-gateway "$(tags internet-gateway internet)" --query InternetGateway.InternetGatewayId
	id=$(value aws ec2 describe-internet-gateways --internet-gateway-ids "$gateway" --query 'InternetGateways[0].Attachments[0].VpcId')
	[ -n "$id" ] || aws ec2 attach-internet-gateway --internet-gateway-id "$gateway" --vpc-id "$vpc"
	route_table routes public "--gateway-id $gateway" "${public[@]}"
	ensure address find_address aws ec2 allocate-address --domain vpc "$(tags elastic-ip nat)" --query AllocationId
	ensure nat find_nat aws ec2 create-nat-gateway --subnet-id "${public[0]}" --allocation-id "$address" "$(tags natgateway nat)" \
		--query NatGateway.NatGatewayId
	aws ec2 wait nat-gateway-available --nat-gateway-ids "$nat"
	route_table routes private "--nat-gateway-id $nat" "${private[@]}"
	# Without it, machines read from S3, where registries keep layers, through the NAT gateway.
	ensure id find_endpoint aws ec2 create-vpc-endpoint --vpc-id "$vpc" --service-name "com.amazonaws.$AWS_REGION.s3" --route-table-ids "$routes" \
		"$(tags vpc-endpoint s3)" --query VpcEndpoint.VpcEndpointId

	step "private hosted zone $NAME.hypershift.local"
	ensure zone find_zone aws route53 create-hosted-zone --name "$NAME.hypershift.local" --caller-reference "$INFRA_ID" \
		--hosted-zone-config PrivateZone=true --vpc "VPCRegion=$AWS_REGION,VPCId=$vpc" --query HostedZone.Id
	zone=${zone#/hostedzone/}

	step "OIDC provider $issuer"
	if ! present NoSuchEntity aws iam get-open-id-connect-provider --open-id-connect-provider-arn "$provider"; then
		# The thumbprint of the root certificate authority of S3. AWS does not compare it, but without one IAM connects to the issuer, whose
		# documents do not exist yet.
		aws iam create-open-id-connect-provider --url "https://$issuer" --client-id-list openshift \
			--thumbprint-list a9d53002e97e00e043244f3d170d6f4c414104fd >/dev/null
	fi
	while read -r name file subject; do
		[ -n "$name" ] || continue
		ensure_role "$INFRA_ID-$name" "$(web_identity "$provider" "$subject" openshift)" \
			"$(policy "$file" "INFRA_ID=$INFRA_ID" "VPC=$vpc" "LOCAL_ZONE_ID=$zone")"
	done <<<"$roles"

	# The role of the workers, for which the policy of node-pool allows iam:PassRole.
	ensure_role "$INFRA_ID-worker-role" '{"Version": "2012-10-17", "Statement": [{
	  "Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}]}'
	step "instance profile $INFRA_ID-worker"
	if ! present NoSuchEntity aws iam get-instance-profile --instance-profile-name "$INFRA_ID-worker"; then
		aws iam create-instance-profile --instance-profile-name "$INFRA_ID-worker" >/dev/null
	fi
	id=$(profile_role)
	[ -n "$id" ] || aws iam add-role-to-instance-profile --instance-profile-name "$INFRA_ID-worker" --role-name "$INFRA_ID-worker-role"

	id=$(aws ec2 describe-subnets --subnet-ids "${private[0]}" --query 'Subnets[0].AvailabilityZone')
	echo "export NAME=$NAME INFRA_ID=$INFRA_ID CUSTOMER_ACCOUNT=$account AWS_REGION=$AWS_REGION OIDC_BUCKET=$OIDC_BUCKET"
	echo "export PARTITION=$partition ISSUER=$issuer"
	echo "export VPC=$vpc LOCAL_ZONE_ID=$zone ZONE_A=$id"
	letter=(A B C)
	number=0
	for id in "${private[@]}"; do
		echo "export SUBNET_${letter[number]}=$id"
		number=$((number + 1))
	done
}

# Delete the HostedCluster first. AWS refuses the deletion of a VPC that has other resources, such as machines and load balancers.
delete() {
	local vpc id table name rest

	step "NAT gateway"
	id=$(find_nat)
	if [ -n "$id" ]; then
		aws ec2 delete-nat-gateway --nat-gateway-id "$id" >/dev/null
		aws ec2 wait nat-gateway-deleted --nat-gateway-ids "$id"
	fi
	id=$(find_address)
	[ -z "$id" ] || aws ec2 release-address --allocation-id "$id"
	step "VPC"
	id=$(find_endpoint)
	[ -z "$id" ] || aws ec2 delete-vpc-endpoints --vpc-endpoint-ids "$id" >/dev/null
	vpc=$(find_vpc)
	if [ -n "$vpc" ]; then
		for id in $(value aws ec2 describe-subnets --filters "Name=vpc-id,Values=$vpc" "Name=tag:$tag,Values=owned" --query 'Subnets[].SubnetId'); do
			aws ec2 delete-subnet --subnet-id "$id"
		done
		for table in public private; do
			id=$(find_table)
			[ -z "$id" ] || aws ec2 delete-route-table --route-table-id "$id"
		done
		id=$(value aws ec2 describe-internet-gateways --filters "Name=attachment.vpc-id,Values=$vpc" "Name=tag:$tag,Values=owned" \
			--query 'InternetGateways[0].InternetGatewayId')
		[ -z "$id" ] || aws ec2 detach-internet-gateway --internet-gateway-id "$id" --vpc-id "$vpc"
		aws ec2 delete-vpc --vpc-id "$vpc"
	fi
	id=$(find_gateway)
	[ -z "$id" ] || aws ec2 delete-internet-gateway --internet-gateway-id "$id"
	id=$(find_options)
	[ -z "$id" ] || aws ec2 delete-dhcp-options --dhcp-options-id "$id"
	step "private hosted zone $NAME.hypershift.local"
	id=$(find_zone)
	[ -z "$id" ] || aws route53 delete-hosted-zone --id "$id" >/dev/null
	step "instance profile $INFRA_ID-worker"
	if present NoSuchEntity aws iam get-instance-profile --instance-profile-name "$INFRA_ID-worker"; then
		id=$(profile_role)
		[ -z "$id" ] || aws iam remove-role-from-instance-profile --instance-profile-name "$INFRA_ID-worker" --role-name "$id"
		aws iam delete-instance-profile --instance-profile-name "$INFRA_ID-worker"
	fi
	while read -r name rest; do
		[ -z "$name" ] || delete_role "$INFRA_ID-$name"
	done <<<"$roles"$'\n'worker-role
	step "OIDC provider $issuer"
	if present NoSuchEntity aws iam get-open-id-connect-provider --open-id-connect-provider-arn "$provider"; then
		aws iam delete-open-id-connect-provider --open-id-connect-provider-arn "$provider"
	fi
}

case ${1-} in
create | delete) "$1" ;;
*)
	echo "usage: $0 create|delete" >&2
	exit 2
	;;
esac
