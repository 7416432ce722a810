"""Limits of members that AWS documents in words, and that its service models leave out.

models.py judges requests by these rows as if they were in the model. A row names the
structure that has the member, or "*" for each structure of the service's requests.
"""

from __future__ import annotations

from dataclasses import dataclass

_EC2 = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference"
_ELB = "https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference"

# Of 32 characters at most, and of one at least.
_LOAD_BALANCING_NAME = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?"


@dataclass(frozen=True)
class Limit:
    """What a member may be; source is the page that has it."""

    service: str
    shape: str
    member: str
    source: str
    minimum: int | None = None
    maximum: int | None = None
    pattern: str = ""


LIMITS = (
    Limit("ec2", "*", "ClientToken", _EC2 + "/Run_Instance_Idempotency.html", maximum=64, pattern="[\\x00-\\x7F]*"),
    Limit("ec2", "Tag", "Key", _EC2 + "/API_Tag.html", maximum=127),
    Limit("ec2", "Tag", "Value", _EC2 + "/API_Tag.html", maximum=256),
    Limit(
        "elbv2",
        "CreateLoadBalancerInput",
        "Name",
        _ELB + "/API_CreateLoadBalancer.html",
        minimum=1,
        maximum=32,
        pattern=_LOAD_BALANCING_NAME,
    ),
    Limit(
        "elbv2",
        "CreateTargetGroupInput",
        "Name",
        _ELB + "/API_CreateTargetGroup.html",
        minimum=1,
        maximum=32,
        pattern=_LOAD_BALANCING_NAME,
    ),
)

_BY_MEMBER = {(row.service, row.shape, row.member): row for row in LIMITS}


def limit(service: str, shape: str, member: str) -> Limit | None:
    """Give the row of a member, if there is one."""
    return _BY_MEMBER.get((service, shape, member)) or _BY_MEMBER.get((service, "*", member))


@dataclass(frozen=True)
class Accepted:
    """A value that AWS accepts although its model does not list it; source is the page that has it."""

    service: str
    shape: str
    value: str
    source: str


ACCEPTED = (
    Accepted("ec2", "AccountAttributeName", "vpc-max-elastic-ips", _EC2 + "/API_DescribeAccountAttributes.html"),
)


def accepted(service: str, shape: str) -> list[str]:
    """Give the values of an enumeration that AWS takes although the model does not have them."""
    return [row.value for row in ACCEPTED if (row.service, row.shape) == (service, shape)]
