"""Resource Access Manager: subnets that one account shares with another.

moto keeps a share, and nothing follows from it. Here a subnet, and its VPC, appear in
another account while a share has both and the account takes part in it. That account
has tags and zone names of its own for the subnet; only its owner changes it.

Subnets are shared within an organization only. A test sets which accounts are in one
(control.py). If the sharing of the organization is not enabled, RAM sends an invitation,
and the account takes part in the share after it has accepted it. Invitations do not expire.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.core.responses import BaseResponse
from moto.core.utils import unix_time, utcnow
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.subnets import Subnet
from moto.ec2.models.vpcs import VPC
from moto.ec2.utils import generic_filter
from moto.moto_api._internal import mock_random
from moto.ram.models import ResourceAccessManagerBackend, ResourceShare, ram_backends
from moto.ram.responses import ResourceAccessManagerResponse
from moto.ram.urls import url_paths

from . import paging, states
from .patching import add, wrap

# --- Organizations

_organizations: list[tuple[frozenset[str], bool]] = []


def organize(accounts: list[str], sharing: bool) -> None:
    """Put accounts into an organization of their own, whose sharing is enabled or not."""
    _organizations[:] = [(a, s) for a, s in _organizations if not a & frozenset(accounts)]
    _organizations.append((frozenset(accounts), sharing))


def reset() -> None:
    """Forget all organizations and tokens."""
    _organizations.clear()
    _tokens.clear()


def _organization_of(a: str, b: str) -> tuple[bool, bool]:
    """Tell whether two accounts are in one organization, and whether its sharing is enabled."""
    return next(((True, sharing) for accounts, sharing in _organizations if {a, b} <= accounts), (False, False))


# --- Shares


class _Refusal(JsonRESTError):
    code = 400


@dataclass
class _Invitation:
    arn: str
    share: ResourceShare
    receiver: str
    sent: float
    status: str = "PENDING"
    acceptance: states.Timer | None = None


def _status(self: ResourceShare) -> str:
    return states.life(self).state.upper()


def _set_status(self: ResourceShare, value: str) -> None:
    self.__dict__.setdefault("_life", states.Life("resourceShare", "pending", "active"))
    if value == "DELETED":
        states.life(self).end()


ResourceShare.status = property(_status, _set_status)  # type: ignore[assignment]


def tags(share: ResourceShare) -> dict[str, str]:
    """Give the tags of a share, which its owner alone sees."""
    return share.__dict__.setdefault("_tags", {})


def _invitations(share: ResourceShare) -> dict[str, _Invitation]:
    return share.__dict__.setdefault("_invitations", {})


def find(arn: str) -> ResourceShare | None:
    """Find a share that was not deleted."""
    return next((s for s in _shares() if s.arn == arn and s.status not in ("DELETING", "DELETED")), None)


def _shares() -> Iterator[ResourceShare]:
    for regions in list(ram_backends.values()):
        for backend in list(regions.values()):
            yield from backend.resource_shares


def _takes_part(share: ResourceShare, account: str) -> bool:
    invitation = _invitations(share).get(account)
    accepted = invitation is None or (invitation.acceptance is not None and invitation.acceptance.over())
    return account in share.principals and accepted


def _share_with(share: ResourceShare, resources: list[str], principals: list[str]) -> None:
    """Add subnets and accounts to a share, as RAM checks them."""
    for arn in resources:
        owner, subnet = arn.split(":")[4], arn.rpartition("/")[2]
        if owner != share.account_id or _own(ec2_backends[owner][share.region], subnet) is None:
            raise _Refusal("UnknownResourceException", f"Resource {arn} could not be found.")
    for account in [*principals, *share.principals]:
        together, sharing = _organization_of(share.account_id, account)
        # An account of an organization whose sharing is not enabled counts as one outside of it.
        if not together or not (sharing or share.allow_external_principals):
            raise _Refusal(
                "OperationNotPermittedException",
                "The resource you are attempting to share can only be shared within your AWS Organization. "
                "This error may also occur if you have not enabled sharing with your AWS organization, "
                "or that onboarding process is still in progress.",
            )
        if not sharing and account not in _invitations(share):
            arn = f"arn:aws:ram:{share.region}:{share.account_id}:resource-share-invitation/{mock_random.uuid4()}"
            _invitations(share)[account] = _Invitation(arn, share, account, unix_time(utcnow()))
    share.add_resources([arn for arn in resources if arn not in share.resource_arns])
    share.add_principals([account for account in principals if account not in share.principals])


_tokens: dict[tuple[str, str, str], tuple[str, ResourceShare]] = {}  # account, region, token


@wrap(ResourceAccessManagerBackend, "create_resource_share")
def _create_resource_share(_: Any, self: ResourceAccessManagerBackend, **asked: Any) -> dict[str, Any]:
    key = (self.account_id, self.region_name, asked.pop("clientToken", None) or str(mock_random.uuid4()))
    fingerprint = json.dumps(asked, sort_keys=True)
    first, share = _tokens.get(key, (fingerprint, None))
    if first != fingerprint:
        raise _Refusal("IdempotentParameterMismatchException", "The token was used with other parameters before.")
    if share is None:
        share = ResourceShare(self.account_id, self.region_name, **asked)
        _share_with(share, asked.get("resourceArns", []), asked.get("principals", []))
        tags(share).update({tag["key"]: tag.get("value", "") for tag in asked.get("tags", [])})
        self.resource_shares.append(share)
        _tokens[key] = (fingerprint, share)
    return {"resourceShare": _described(share, owner=True)}


def _described(share: ResourceShare, owner: bool) -> dict[str, Any]:
    seen = share.describe()
    if owner:
        seen["tags"] = [{"key": key, "value": value} for key, value in tags(share).items()]
    return seen


def _own_share(response: ResourceAccessManagerResponse) -> ResourceShare:
    arn = response._get_param("resourceShareArn")
    share = find(arn)
    if share is None or share.account_id != response.current_account:
        raise _Refusal("UnknownResourceException", f"ResourceShare {arn} could not be found.")
    return share


@wrap(ResourceAccessManagerResponse, "get_resource_shares")
def _get_resource_shares(_: Any, self: ResourceAccessManagerResponse) -> str:
    own = self._get_param("resourceOwner") == "SELF"
    arns, name, status = (self._get_param(p) for p in ("resourceShareArns", "name", "resourceShareStatus"))
    wanted = {f["tagKey"]: f.get("tagValues") for f in self._get_param("tagFilters") or []}
    found = [
        share
        for share in _shares()
        if share.region == self.region
        and (share.account_id == self.current_account if own else _takes_part(share, self.current_account))
        and (not arns or share.arn in arns)
        and (not name or share.name == name)
        and (not status or share.status == status)
        and all(key in tags(share) and (not v or tags(share)[key] in v) for key, v in wanted.items())
    ]
    return _page(self, "resourceShares", [_described(share, own) for share in found])


@wrap(ResourceAccessManagerResponse, "get_resource_share_associations")
def _get_resource_share_associations(_: Any, self: ResourceAccessManagerResponse) -> str:
    kind, arns = self._get_param("associationType"), self._get_param("resourceShareArns") or []
    found = []
    for share in _shares():
        if share.account_id != self.current_account or share.arn not in arns:
            continue
        ready = {"PENDING": "ASSOCIATING", "ACTIVE": "ASSOCIATED"}.get(share.status, "DISASSOCIATED")
        for entity in share.principals if kind == "PRINCIPAL" else share.resource_arns:
            invited = kind == "PRINCIPAL" and not _takes_part(share, entity)
            found.append(
                {
                    "resourceShareArn": share.arn,
                    "resourceShareName": share.name,
                    "associatedEntity": entity,
                    "associationType": kind,
                    "status": "ASSOCIATING" if invited else ready,
                    "external": entity in _invitations(share),
                }
            )
    return _page(self, "resourceShareAssociations", found)


@wrap(ResourceAccessManagerResponse, "delete_resource_share")
def _delete_resource_share(_: Any, self: ResourceAccessManagerResponse) -> str:
    _own_share(self).delete()
    return json.dumps({"returnValue": True})


@add(ResourceAccessManagerResponse, "associate_resource_share")
def _associate_resource_share(self: ResourceAccessManagerResponse) -> str:
    share = _own_share(self)
    _share_with(share, self._get_param("resourceArns") or [], self._get_param("principals") or [])
    return json.dumps({"resourceShareAssociations": []})


@add(ResourceAccessManagerResponse, "disassociate_resource_share")
def _disassociate_resource_share(self: ResourceAccessManagerResponse) -> str:
    share = _own_share(self)
    gone = [*(self._get_param("resourceArns") or []), *(self._get_param("principals") or [])]
    share.resource_arns = [arn for arn in share.resource_arns if arn not in gone]
    share.principals = [account for account in share.principals if account not in gone]
    for account in gone:
        _invitations(share).pop(account, None)
    return json.dumps({"resourceShareAssociations": []})


@add(ResourceAccessManagerResponse, "tag_resource")
def _tag_resource(self: ResourceAccessManagerResponse) -> str:
    tags(_own_share(self)).update({tag["key"]: tag.get("value", "") for tag in self._get_param("tags")})
    return "{}"


@add(ResourceAccessManagerResponse, "untag_resource")
def _untag_resource(self: ResourceAccessManagerResponse) -> str:
    for key in self._get_param("tagKeys"):
        tags(_own_share(self)).pop(key, None)
    return "{}"


@add(ResourceAccessManagerResponse, "get_resource_share_invitations")
def _get_resource_share_invitations(self: ResourceAccessManagerResponse) -> str:
    arns = self._get_param("resourceShareArns")
    found = [
        _invitation(invitation)
        for share in _shares()
        if share.region == self.region and (not arns or share.arn in arns)
        for invitation in _invitations(share).values()
        if invitation.receiver == self.current_account and share.status not in ("DELETING", "DELETED")
    ]
    return _page(self, "resourceShareInvitations", found)


@add(ResourceAccessManagerResponse, "accept_resource_share_invitation")
def _accept_resource_share_invitation(self: ResourceAccessManagerResponse) -> str:
    arn = self._get_param("resourceShareInvitationArn")
    for share in _shares():
        invitation = _invitations(share).get(self.current_account)
        if invitation is None or invitation.arn != arn or find(share.arn) is None:
            continue
        if invitation.status != "PENDING":
            code = "ResourceShareInvitationAlreadyAcceptedException"
            raise _Refusal(code, f"Invitation {arn} was already accepted.")
        invitation.status, invitation.acceptance = "ACCEPTED", states.Timer("resourceShare.create")
        return json.dumps({"resourceShareInvitation": _invitation(invitation)})
    raise _Refusal("ResourceShareInvitationArnNotFoundException", f"Invitation {arn} could not be found.")


def _invitation(invitation: _Invitation) -> dict[str, Any]:
    return {
        "resourceShareInvitationArn": invitation.arn,
        "resourceShareArn": invitation.share.arn,
        "resourceShareName": invitation.share.name,
        "senderAccountId": invitation.share.account_id,
        "receiverAccountId": invitation.receiver,
        "invitationTimestamp": invitation.sent,
        "status": invitation.status,
    }


def _page(response: ResourceAccessManagerResponse, key: str, items: list[Any]) -> str:
    start = int(response._get_param("nextToken") or 0)
    end = start + paging.size_for(response, response._get_param("maxResults"), len(items))
    more = {"nextToken": str(end)} if end < len(items) else {}
    return json.dumps({key: items[start:end], **more})


for _path in (
    "associateresourceshare",
    "disassociateresourceshare",
    "tagresource",
    "untagresource",
    "getresourceshareinvitations",
    "acceptresourceshareinvitation",
):
    url_paths["{0}/" + _path + "$"] = ResourceAccessManagerResponse.dispatch


# --- What the other account sees

# A subnet or VPC that is shared is as good as unknown to these, which are for its owner.
_OF_OWNERS = {
    "AssociateDhcpOptions", "AssociateRouteTable", "AttachInternetGateway", "CreateNatGateway", "CreateRouteTable",
    "CreateSubnet", "CreateVpcEndpoint", "DeleteSubnet", "DeleteVpc", "ModifySubnetAttribute", "ModifyVpcAttribute",
    "ModifyVpcEndpoint",
}  # fmt: skip

_action: ContextVar[str] = ContextVar("action", default="")


@wrap(BaseResponse, "call_action")
def _call_action(original: Any, self: BaseResponse) -> Any:
    before = _action.set(self._get_action())
    try:
        return original(self)
    finally:
        _action.reset(before)


class _SharedSubnet(Subnet):
    """A subnet of another account, with the tags and the zone names of the account that uses it."""

    owned: Subnet

    @property
    def owner_id(self) -> str:
        return self.owned.owner_id

    @property
    def availability_zone_id(self) -> str:
        return self.owned.availability_zone_id

    @property
    def availability_zone(self) -> str:
        zones = self.ec2_backend.describe_availability_zones()
        return str(next(z.name for z in zones if z.zone_id == self.availability_zone_id))


class _SharedVPC(VPC):
    """The VPC of a shared subnet."""

    owned: VPC

    @property
    def owner_id(self) -> str:
        return self.owned.owner_id


def _view(kind: Any, backend: EC2Backend, owned: Any) -> Any:
    """Give the one view that an account has of a subnet or VPC of another, as its owner has changed it."""
    views = backend.__dict__.setdefault("_views", {})
    new = owned.id not in views
    view = views[owned.id] = object.__new__(kind) if new else views[owned.id]
    view.__dict__.update({**owned.__dict__, "ec2_backend": backend, "owned": owned, "default_for_az": False})
    if new and kind is _SharedSubnet:
        for _ in range(3):  # the addresses that AWS reserves
            next(iter(view._subnet_ip_generator))
    return view


def _own(backend: EC2Backend, subnet_id: str) -> Subnet | None:
    return next((zone[subnet_id] for zone in list(backend.subnets.values()) if subnet_id in zone), None)


def _shared(account: str, region: str) -> Iterator[Subnet]:
    """Find the subnets of other accounts in the shares in which an account takes part."""
    seen = set()
    for share in list(_shares()):
        if share.region != region or share.status != "ACTIVE" or not _takes_part(share, account):
            continue
        for arn in share.resource_arns:
            subnet = _own(ec2_backends[share.account_id][region], arn.rpartition("/")[2])
            if subnet is not None and subnet.id not in seen:
                seen.add(subnet.id)
                yield subnet


def _shared_subnets(backend: EC2Backend) -> dict[str, Any]:
    if _action.get() in _OF_OWNERS:
        return {}
    return {s.id: _view(_SharedSubnet, backend, s) for s in _shared(backend.account_id, backend.region_name)}


def _shared_vpcs(backend: EC2Backend) -> dict[str, Any]:
    if _action.get() in _OF_OWNERS:
        return {}
    found = (s.ec2_backend.vpcs[s.vpc_id] for s in _shared(backend.account_id, backend.region_name))
    return {vpc.id: _view(_SharedVPC, backend, vpc) for vpc in found}


def owner(account: str, region: str, resource: str) -> str:
    """Give the account that owns a subnet or VPC which account sees."""
    for subnet in _shared(account, region):
        if resource in (subnet.id, subnet.vpc_id):
            return str(subnet.owner_id)
    return account


def of_all_accounts(backend: EC2Backend) -> list[EC2Backend]:
    """Give the backends of all accounts for the region of one."""
    everything = [other for regions in list(ec2_backends.values()) for other in list(regions.values())]
    return [other for other in everything if other.region_name == backend.region_name]


def interfaces_in(backend: EC2Backend, subnet_id: str) -> list[Any]:
    """Find the network interfaces in a subnet, of all accounts."""
    enis = (eni for other in of_all_accounts(backend) for eni in list(other.enis.values()))
    return [eni for eni in enis if eni.subnet.id == subnet_id]


@wrap(EC2Backend, "get_subnet")
def _get_subnet(original: Any, self: EC2Backend, subnet_id: str) -> Any:
    if _own(self, subnet_id) is None and (view := _shared_subnets(self).get(subnet_id)) is not None:
        return view
    return original(self, subnet_id)


@wrap(EC2Backend, "describe_subnets")
def _describe_subnets(
    original: Any, self: EC2Backend, subnet_ids: list[str] | None = None, filters: Any = None
) -> list[Any]:
    return _with_shared(original, self, _shared_subnets(self), subnet_ids, filters)


@wrap(EC2Backend, "get_vpc")
def _get_vpc(original: Any, self: EC2Backend, vpc_id: str) -> Any:
    if vpc_id not in self.vpcs and (view := _shared_vpcs(self).get(vpc_id)) is not None:
        return view
    return original(self, vpc_id)


@wrap(EC2Backend, "describe_vpcs")
def _describe_vpcs(original: Any, self: EC2Backend, vpc_ids: list[str] | None = None, filters: Any = None) -> list[Any]:
    return _with_shared(original, self, _shared_vpcs(self), vpc_ids, filters)


def _with_shared(original: Any, backend: EC2Backend, shared: dict[str, Any], ids: Any, filters: Any) -> list[Any]:
    others = [i for i in ids or [] if i not in shared]
    found: list[Any] = original(backend, others, filters) if others or not ids else []
    return found + generic_filter(filters, [view for i, view in shared.items() if not ids or i in ids])


@wrap(EC2Backend, "create_security_group")
def _create_security_group(
    original: Any, self: EC2Backend, name: str, description: str, vpc_id: str | None = None, *args: Any, **kwargs: Any
) -> Any:
    # moto accepts any VPC; an account may create groups in one that is shared with it.
    if vpc_id:
        self.get_vpc(vpc_id)
    return original(self, name, description, vpc_id, *args, **kwargs)
