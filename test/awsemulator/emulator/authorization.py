"""Which permissions a request needs: actions, on which resources, with which condition keys.

The tables follow the Service Authorization Reference of AWS for the actions that
the programs of this project, Cluster API's AWS provider and the cloud controller
manager call. An action that is not in a table is judged for the resource "*",
which only a statement for all resources covers.

What a request makes has the tags of the request (aws:RequestTag) and none of its
own; what is there already has its tags (aws:ResourceTag). A resource that does
not exist has none, so a condition on tags refuses a request for it.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, unquote

from moto.ec2.models import ec2_backends
from moto.elb.models import elb_backends
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends

from . import instances, sharing, wire
from .policy import Question

Context = dict[str, list[str]]


def questions(request: wire.Request, account: str) -> list[Question]:
    """List what a policy of a caller of account must allow for the request to go through."""
    asked = list(_SERVICES.get(request.service, _others)(request, account))
    return [question for question in asked if question.action not in _ALWAYS]


_ALWAYS = {"sts:GetCallerIdentity"}


def _others(request: wire.Request, account: str) -> Iterator[Question]:
    yield Question(f"{request.service}:{request.action}")


# --- Parameters of the query protocol


def _values(request: wire.Request, *names: str) -> list[str]:
    """Give the values of parameters such as GroupId, SubnetId.1 or NetworkInterface.1.SubnetId (as *.SubnetId)."""
    patterns = [re.compile(re.escape(name).replace(r"\*", r".+") + r"(\.(member\.)?\d+)?") for name in names]
    found = [value for name, value in request.params.items() if value and any(p.fullmatch(name) for p in patterns)]
    return list(dict.fromkeys(found))


def _tags(request: wire.Request, prefix: str) -> dict[str, str]:
    """Read tags that are numbered below prefix, as Tag.1.Key and Tag.1.Value."""
    tags = {}
    for name, key in request.params.items():
        if found := re.fullmatch(re.escape(prefix) + r"\.(\d+)\.Key", name):
            tags[key] = request.params.get(f"{prefix}.{found[1]}.Value", "")
    return tags


def _request_tags(tags: dict[str, str]) -> Context:
    context = {f"aws:requesttag/{key.lower()}": [value] for key, value in tags.items()}
    if tags:
        context["aws:tagkeys"] = list(tags)
    return context


def _resource_tags(service: str, tags: dict[str, str]) -> Context:
    return {
        f"{prefix}:resourcetag/{key.lower()}": [value] for key, value in tags.items() for prefix in ("aws", service)
    }


# --- EC2

# What must be there already, by the parameters that name it.
_EXISTING: dict[str, dict[str, tuple[str, ...]]] = {
    "AssociateDhcpOptions": {"dhcp-options": ("DhcpOptionsId",), "vpc": ("VpcId",)},
    "AssociateRouteTable": {"route-table": ("RouteTableId",), "subnet": ("SubnetId",)},
    "AttachInternetGateway": {"internet-gateway": ("InternetGatewayId",), "vpc": ("VpcId",)},
    "AuthorizeSecurityGroupEgress": {"security-group": ("GroupId",)},
    "AuthorizeSecurityGroupIngress": {"security-group": ("GroupId",)},
    "CreateNatGateway": {"elastic-ip": ("AllocationId",), "subnet": ("SubnetId",)},
    "CreateRoute": {"route-table": ("RouteTableId",)},
    "CreateRouteTable": {"vpc": ("VpcId",)},
    "CreateSecurityGroup": {"vpc": ("VpcId",)},
    "CreateSubnet": {"vpc": ("VpcId",)},
    "CreateVpcEndpoint": {
        "vpc": ("VpcId",),
        "subnet": ("SubnetId",),
        "security-group": ("SecurityGroupId",),
        "route-table": ("RouteTableId",),
    },
    "DeleteDhcpOptions": {"dhcp-options": ("DhcpOptionsId",)},
    "DeleteInternetGateway": {"internet-gateway": ("InternetGatewayId",)},
    "DeleteNatGateway": {"natgateway": ("NatGatewayId",)},
    "DeleteRouteTable": {"route-table": ("RouteTableId",)},
    "DeleteSecurityGroup": {"security-group": ("GroupId",)},
    "DeleteSubnet": {"subnet": ("SubnetId",)},
    "DeleteVpc": {"vpc": ("VpcId",)},
    "DeleteVpcEndpointServiceConfigurations": {"vpc-endpoint-service": ("ServiceId",)},
    "DeleteVpcEndpoints": {"vpc-endpoint": ("VpcEndpointId",)},
    "DetachInternetGateway": {"internet-gateway": ("InternetGatewayId",), "vpc": ("VpcId",)},
    "DescribeInstanceAttribute": {"instance": ("InstanceId",)},
    "DescribeNetworkInterfaceAttribute": {"network-interface": ("NetworkInterfaceId",)},
    "DescribeVpcAttribute": {"vpc": ("VpcId",)},
    "DescribeVpcEndpointServicePermissions": {"vpc-endpoint-service": ("ServiceId",)},
    "GetConsoleOutput": {"instance": ("InstanceId",)},
    "ModifyInstanceAttribute": {"instance": ("InstanceId",), "security-group": ("GroupId",)},
    "ModifyInstanceMetadataOptions": {"instance": ("InstanceId",)},
    "ModifyNetworkInterfaceAttribute": {
        "network-interface": ("NetworkInterfaceId",),
        "security-group": ("SecurityGroupId",),
    },
    "CreateFleet": {
        "image": ("LaunchTemplateConfigs.*.Overrides.*.ImageId",),
        "subnet": ("LaunchTemplateConfigs.*.Overrides.*.SubnetId",),
        "security-group": (),
        "launch-template": ("LaunchTemplateConfigs.*.LaunchTemplateSpecification.LaunchTemplateId",),
    },
    "DeleteLaunchTemplate": {"launch-template": ("LaunchTemplateId",)},
    "ModifyVpcAttribute": {"vpc": ("VpcId",)},
    "ModifyVpcEndpoint": {
        "vpc-endpoint": ("VpcEndpointId",),
        "subnet": ("AddSubnetId", "RemoveSubnetId"),
        "security-group": ("AddSecurityGroupId", "RemoveSecurityGroupId"),
        "route-table": ("AddRouteTableId", "RemoveRouteTableId"),
    },
    "ModifyVpcEndpointServiceConfiguration": {"vpc-endpoint-service": ("ServiceId",)},
    "ModifyVpcEndpointServicePermissions": {"vpc-endpoint-service": ("ServiceId",)},
    "RejectVpcEndpointConnections": {"vpc-endpoint-service": ("ServiceId",)},
    "ReleaseAddress": {"elastic-ip": ("AllocationId",)},
    "ReplaceRoute": {"route-table": ("RouteTableId",)},
    "ReplaceRouteTableAssociation": {"route-table": ("RouteTableId",)},
    "RevokeSecurityGroupEgress": {"security-group": ("GroupId",)},
    "RevokeSecurityGroupIngress": {"security-group": ("GroupId",)},
    "RunInstances": {
        "image": ("ImageId",),
        "subnet": ("SubnetId", "NetworkInterface.*.SubnetId"),
        "security-group": ("SecurityGroupId", "NetworkInterface.*.SecurityGroupId"),
        "network-interface": ("NetworkInterface.*.NetworkInterfaceId",),
        "key-pair": ("KeyName",),
        "placement-group": ("Placement.GroupName",),
        "snapshot": ("BlockDeviceMapping.*.Ebs.SnapshotId",),
        "launch-template": ("LaunchTemplate.LaunchTemplateId",),
        "capacity-reservation": ("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId",),
    },
    "StartInstances": {"instance": ("InstanceId",)},
    "TerminateInstances": {"instance": ("InstanceId",)},
}

# What AWS takes from the VPC, or its defaults, where the request does not name it.
_REQUIRED = {
    "RunInstances": ("subnet", "security-group"),
    "CreateVpcEndpoint": ("vpc",),
    "CreateSecurityGroup": ("vpc",),
}

# What the request makes.
_MADE: dict[str, tuple[str, ...]] = {
    "AllocateAddress": ("elastic-ip",),
    "CreateDhcpOptions": ("dhcp-options",),
    "CreateFleet": ("fleet", "instance", "volume"),
    "CreateInternetGateway": ("internet-gateway",),
    "CreateNatGateway": ("natgateway",),
    "CreateRouteTable": ("route-table",),
    "CreateSubnet": ("subnet",),
    "CreateVpc": ("vpc",),
    "CreateLaunchTemplate": ("launch-template",),
    "CreateSecurityGroup": ("security-group",),
    "CreateVpcEndpoint": ("vpc-endpoint",),
    "CreateVpcEndpointServiceConfiguration": ("vpc-endpoint-service",),
    "RunInstances": ("instance", "network-interface", "volume"),
}

_KINDS = {
    "dopt": "dhcp-options", "eipalloc": "elastic-ip", "igw": "internet-gateway", "nat": "natgateway",
    "eni": "network-interface", "i": "instance", "rtb": "route-table", "sg": "security-group", "subnet": "subnet",
    "lt": "launch-template", "vol": "volume", "vpc": "vpc", "vpce": "vpc-endpoint", "vpce-svc": "vpc-endpoint-service",
}  # fmt: skip


def _ec2(request: wire.Request, account: str) -> Iterator[Question]:
    action = f"ec2:{request.action}"
    if request.action in ("CreateTags", "DeleteTags"):
        tags = _request_tags(_tags(request, "Tag"))
        for resource in _values(request, "ResourceId"):
            kind = _KINDS.get(resource.rpartition("-")[0], "unknown")
            yield Question(
                action,
                _ec2_arn(request, account, kind, resource),
                _ec2_existing(request, account, kind, resource) | tags,
            )
        return
    existing, made = _EXISTING.get(request.action, {}), _MADE.get(request.action, ())
    if not existing and not made:
        yield Question(action)
    for kind, parameters in existing.items():
        named = _values(request, *parameters) or _of_templates(request, account, kind)
        if kind == "image":
            named = [instances.IMAGE_PARAMETERS.get(name.removeprefix("resolve:ssm:"), name) for name in named]
        if not named and kind in _REQUIRED.get(request.action, ()):
            named = ["default"]
        for resource in named:
            yield Question(
                action, _ec2_arn(request, account, kind, resource), _ec2_existing(request, account, kind, resource)
            )
    asked = _specified_tags(request)
    for kind in made:
        arn = _ec2_arn(request, account, kind, "*")
        context = _request_tags(asked.get(kind, {})) | _ec2_region(request)
        if kind == "network-interface":
            if _values(request, "NetworkInterface.*.NetworkInterfaceId"):
                continue
            subnets = _values(request, "SubnetId", "NetworkInterface.*.SubnetId") or ["default"]
            context |= {
                k: v for k, v in _ec2_existing(request, account, "subnet", subnets[0]).items() if k == "ec2:vpc"
            }
        yield Question(action, arn, context)
    for kind, specified in asked.items():
        context = _request_tags(specified) | _ec2_region(request) | {"ec2:createaction": [request.action]}
        yield Question("ec2:CreateTags", _ec2_arn(request, account, kind, "*"), context)
    if request.action in ("RunInstances", "CreateFleet"):
        yield from _passed_role(request, account)
    for image in _values(request, "ImageId") if request.action == "RunInstances" else ():
        _, resolved, parameter = image.partition("resolve:ssm:")
        if resolved:  # EC2 reads it in the name of the caller
            owner = "" if parameter.startswith("/aws/") else account
            yield Question("ssm:GetParameters", f"arn:aws:ssm:{request.region}:{owner}:parameter{parameter}")


def _templates(request: wire.Request, account: str) -> list[Any]:
    """Give the launch templates that the request names."""
    at = ("LaunchTemplate", "LaunchTemplateConfigs.*.LaunchTemplateSpecification")
    ids = _values(request, *(f"{prefix}.LaunchTemplateId" for prefix in at))
    named = _values(request, *(f"{prefix}.LaunchTemplateName" for prefix in at))
    templates = ec2_backends[account][request.region].launch_templates.values()
    return [t for t in templates if t.id in ids or t.name in named]


def _of_templates(request: wire.Request, account: str, kind: str) -> list[str]:
    """Give what a launch template names instead of the request."""
    found: list[str] = []
    for template in _templates(request, account):
        data = template.default_version().data
        match kind:
            case "launch-template":
                found.append(template.id)
            case "image":
                found += [data["ImageId"]] if "ImageId" in data else []
            case "security-group":
                found += data.get("SecurityGroupIds", [])
                for interface in data.get("NetworkInterfaces", []):
                    found += interface.get("Groups", []) or interface.get("SecurityGroupId", [])
    return list(dict.fromkeys(found))


def _specified_tags(request: wire.Request) -> dict[str, dict[str, str]]:
    """Read TagSpecification.1.ResourceType and its tags: kind -> tags."""
    asked = {}
    for name, kind in request.params.items():
        if found := re.fullmatch(r"(TagSpecifications?\.\d+)\.ResourceType", name):
            asked[kind] = _tags(request, found[1] + ".Tag")
    return asked


def _passed_role(request: wire.Request, account: str) -> Iterator[Question]:
    """RunInstances hands the role of the instance profile to EC2."""
    named = _values(request, "IamInstanceProfile.Name", "IamInstanceProfile.Arn")
    for template in _templates(request, account):
        profile = template.default_version().data.get("IamInstanceProfile") or {}
        named += [value for value in (profile.get("Name"), profile.get("Arn")) if value]
    for profile in iam_backends[account]["aws"].instance_profiles.values():
        if profile.name in named or profile.arn in named:
            for role in profile.roles:
                yield Question("iam:PassRole", role.arn, {"iam:passedtoservice": ["ec2.amazonaws.com"]})


def _ec2_region(request: wire.Request) -> Context:
    return {"ec2:region": [request.region]}


def _ec2_arn(request: wire.Request, account: str, kind: str, resource: str) -> str:
    owner = "" if kind in ("image", "snapshot") else _ec2_owner(request, account, kind, resource)
    return f"arn:aws:ec2:{request.region}:{owner}:{kind}/{resource}"


def _ec2_owner(request: wire.Request, account: str, kind: str, resource: str) -> str:
    return sharing.owner(account, request.region, resource) if kind in ("subnet", "vpc") else account


def _ec2_existing(request: wire.Request, account: str, kind: str, resource: str) -> Context:
    backend = ec2_backends[account][request.region]
    context = _ec2_region(request) | _resource_tags("ec2", dict(backend.tags.get(resource, {})))
    owner = _ec2_owner(request, account, kind, resource)
    context["aws:resourceaccount"] = [owner]
    if kind == "image" and resource in backend.amis:
        context["ec2:owner"] = [backend.amis[resource].owner_alias or backend.amis[resource].owner_id]
    if kind == "vpc":
        context["ec2:vpcid"] = [resource]
    elif vpc := _vpc_of(ec2_backends[owner][request.region], kind, resource):
        context["ec2:vpc"] = [_ec2_arn(request, account, "vpc", vpc)]
    return context


def _vpc_of(backend: Any, kind: str, resource: str) -> str:
    match kind:
        case "subnet":
            for subnets in backend.subnets.values():
                if resource in subnets:
                    return str(subnets[resource].vpc_id)
        case "security-group":
            for vpc, groups in backend.groups.items():
                if resource in groups:
                    return str(vpc)
        case "network-interface":
            if resource in backend.enis:
                return str(backend.enis[resource].subnet.vpc_id)
    return ""


# --- Elastic Load Balancing: classic load balancers have names, the others ARNs

_BALANCING_MADE = {
    "CreateLoadBalancer": "loadbalancer/net/*/*",
    "CreateTargetGroup": "targetgroup/*/*",
    "CreateListener": "listener/net/*/*/*",
}


def _balancing(request: wire.Request, account: str) -> Iterator[Question]:
    action = f"elasticloadbalancing:{request.action}"
    if request.action.startswith("Describe"):
        yield Question(action)
        return
    tags = _tags(request, "Tags.member")
    arns = _values(request, "LoadBalancerArn", "TargetGroupArn", "ListenerArn", "ResourceArns")
    names = _values(request, "LoadBalancerName", "LoadBalancerNames")
    start = f"arn:aws:elasticloadbalancing:{request.region}:{account}:"
    if request.action == "CreateListener":
        arns = _values(request, "LoadBalancerArn")  # its actions name target groups, which need no permission
    if request.action in _BALANCING_MADE:
        if request.action == "CreateListener":  # the permission is that to change the load balancer
            context = _resource_tags("elasticloadbalancing", _balancing_tags(request, account, arns[0]))
            yield Question(action, arns[0], context | _request_tags(tags))
        else:
            made = f"loadbalancer/{names[0]}" if names else _BALANCING_MADE[request.action]
            yield Question(action, start + made, _request_tags(tags))
        if tags:
            made = f"loadbalancer/{names[0]}" if names else _BALANCING_MADE[request.action]
            created = {"elasticloadbalancing:createaction": [request.action]}
            yield Question("elasticloadbalancing:AddTags", start + made, _request_tags(tags) | created)
        return
    for arn in [*arns, *(f"{start}loadbalancer/{name}" for name in names)]:
        context = _resource_tags("elasticloadbalancing", _balancing_tags(request, account, arn))
        yield Question(action, arn, context | _request_tags(tags))


def _balancing_tags(request: wire.Request, account: str, arn: str) -> dict[str, str]:
    name = arn.rpartition(":")[2].removeprefix("loadbalancer/")
    classic = elb_backends[account][request.region].load_balancers.get(name)
    if classic is not None:
        return dict(classic.tags)
    return dict(elbv2_backends[account][request.region].tagging_service.get_tag_dict_for_resource(arn))


# --- Route 53


def _route53(request: wire.Request, account: str) -> Iterator[Question]:
    action = f"route53:{request.action}"
    zone = re.search(r"/hostedzone/([^/]+)", request.params.get("path", ""))
    resource = f"arn:aws:route53:::hostedzone/{zone[1]}" if zone else "*"
    context: Context = {}
    if request.action == "ChangeResourceRecordSets":
        body = request.body.decode(errors="replace")
        names = [unquote(name).lower().rstrip(".") for name in re.findall(r"<Name>([^<]*)</Name>", body)]
        context["route53:changeresourcerecordsetsnormalizedrecordnames"] = names
        context["route53:changeresourcerecordsetsrecordtypes"] = re.findall(r"<Type>([^<]*)</Type>", body)
        context["route53:changeresourcerecordsetsactions"] = re.findall(r"<Action>([^<]*)</Action>", body)
    yield Question(action, resource, context)


# --- S3

# IAM knows these by another name than the API.
_S3_ACTIONS = {
    "DeleteObjects": "DeleteObject", "HeadObject": "GetObject",
    "CopyObject": "PutObject", "UploadPartCopy": "PutObject",
    "CreateMultipartUpload": "PutObject", "UploadPart": "PutObject", "CompleteMultipartUpload": "PutObject",
    "ListParts": "ListMultipartUploadParts", "ListMultipartUploads": "ListBucketMultipartUploads",
    "HeadBucket": "ListBucket", "ListObjects": "ListBucket", "ListObjectsV2": "ListBucket",
    "GetPublicAccessBlock": "GetBucketPublicAccessBlock", "PutPublicAccessBlock": "PutBucketPublicAccessBlock",
    "GetBucketEncryption": "GetEncryptionConfiguration", "PutBucketEncryption": "PutEncryptionConfiguration",
    "GetBucketLifecycleConfiguration": "GetLifecycleConfiguration",
    "PutBucketLifecycleConfiguration": "PutLifecycleConfiguration",
    "ListObjectVersions": "ListBucketVersions",
}  # fmt: skip


def _s3(request: wire.Request, account: str) -> Iterator[Question]:
    action = f"s3:{_S3_ACTIONS.get(request.action, request.action)}"
    bucket, _, key = unquote(request.params.get("path", "")).removeprefix("/").partition("/")
    if found := re.match(r"(.+)\.s3[.-]", request.host):
        bucket, key = found[1], "/".join(part for part in (bucket, key) if part)
    if request.action == "DeleteObjects":
        for name in re.findall(r"<Key>([^<]*)</Key>", request.body.decode(errors="replace")):
            yield Question(action, f"arn:aws:s3:::{bucket}/{name}")
    elif not bucket:
        yield Question(action)
    else:
        prefix = parse_qs(request.params.get("query", "")).get("prefix", [])
        resource = f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}"
        yield Question(action, resource, {"s3:prefix": prefix})
        # https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html: permissions
        if request.source:
            yield Question("s3:GetObject", f"arn:aws:s3:::{request.source.removeprefix('/').partition('?')[0]}")
        # https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html: permissions
        if request.acl and key:
            yield Question("s3:PutObjectAcl", resource)


# --- Resource Access Manager


def _ram(request: wire.Request, account: str) -> Iterator[Question]:
    action = f"ram:{request.action}"
    asked = json.loads(request.body or b"{}")
    if request.action.startswith("Get"):
        yield Question(action)
        return
    if request.action == "AcceptResourceShareInvitation":
        yield Question(action, str(asked.get("resourceShareInvitationArn", "*")))
        return
    query = parse_qs(request.params.get("query", ""))  # of DeleteResourceShare
    arn = asked.get("resourceShareArn") or query.get("resourceShareArn", ["*"])[0]
    share = sharing.find(arn)
    context = _request_tags({tag["key"]: tag.get("value", "") for tag in asked.get("tags", [])})
    context["ram:principal"] = asked.get("principals", [])
    # TagResource has no key for the tags of the share:
    # https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsresourceaccessmanagerram.html
    if share is not None and request.action != "TagResource":
        context |= {f"aws:resourcetag/{key.lower()}": [value] for key, value in sharing.tags(share).items()}
        context["ram:resourcesharename"] = [share.name]
    yield Question(action, arn, context)


# --- KMS, STS, IAM


def _kms(request: wire.Request, account: str) -> Iterator[Question]:
    body = json.loads(request.body or b"{}")
    key = str(body.get("KeyId", ""))
    if not key and "CiphertextBlob" in body:
        key = base64.b64decode(body["CiphertextBlob"])[:36].decode(errors="replace")  # moto puts it there
    if key and not key.startswith("arn:"):
        key = f"arn:aws:kms:{request.region}:{account}:{key if key.startswith('alias/') else f'key/{key}'}"
    yield Question(f"kms:{request.action}", key or "*")


def _sts(request: wire.Request, account: str) -> Iterator[Question]:
    yield Question(f"sts:{request.action}", request.params.get("RoleArn", "*"))


def _iam(request: wire.Request, account: str) -> Iterator[Question]:
    start = f"arn:aws:iam::{account}:"
    params = request.params
    resource = params.get("OpenIDConnectProviderArn", "*")
    if profile := params.get("InstanceProfileName"):
        resource = f"{start}instance-profile/{profile}"
    elif role := params.get("RoleName"):
        resource = f"{start}role/{role}"
    elif request.action == "CreateOpenIDConnectProvider":
        resource = f"{start}oidc-provider/{params.get('Url', '').removeprefix('https://')}"
    yield Question(f"iam:{request.action}", resource, _request_tags(_tags(request, "Tags.member")))
    if request.action == "AddRoleToInstanceProfile":
        role = f"{start}role/{params.get('RoleName', '')}"
        yield Question("iam:PassRole", role, {"iam:passedtoservice": ["ec2.amazonaws.com"]})


_SERVICES: dict[str, Callable[[wire.Request, str], Iterator[Question]]] = {
    "ec2": _ec2,
    "elasticloadbalancing": _balancing,
    "iam": _iam,
    "kms": _kms,
    "ram": _ram,
    "route53": _route53,
    "s3": _s3,
    "sts": _sts,
}
