"""Network load balancers with the names, states and refusals of AWS."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models import EC2Backend, ec2_backends
from moto.elbv2.exceptions import (
    DuplicateLoadBalancerName,
    ELBClientError,
    LoadBalancerNotFoundError,
    ResourceInUseError,
)
from moto.elbv2.models import ELBv2Backend, FakeLoadBalancer, FakeTargetGroup
from moto.elbv2.responses import ELBV2Response
from moto.moto_api._internal import mock_random

from . import quotas, rules, states
from .patching import wrap

_MOST_NAMES = 20

# The attributes of a target group for network load balancers, except for those whose default depends on the group.
# https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
# https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_TargetGroupAttribute.html
_NETWORK_ATTRIBUTES = {
    "deregistration_delay.timeout_seconds": "300",
    "deregistration_delay.connection_termination.enabled": "false",
    "load_balancing.cross_zone.enabled": "use_load_balancer_configuration",
    "proxy_protocol_v2.enabled": "false",
    "stickiness.enabled": "false",
    "stickiness.type": "source_ip",
    "target_health_state.unhealthy.connection_termination.enabled": "true",
    "target_health_state.unhealthy.draining_interval_seconds": "0",
    "target_group_health.dns_failover.minimum_healthy_targets.count": "1",
    "target_group_health.dns_failover.minimum_healthy_targets.percentage": "off",
    "target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": "1",
    "target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
}


@wrap(FakeTargetGroup, "__init__")
def _init_group(original: Any, self: FakeTargetGroup, *args: Any, **kwargs: Any) -> None:
    """The cloud-controller-manager sets no attribute that the group does not have."""
    original(self, *args, **kwargs)
    if self.protocol in ("TCP", "TLS", "UDP", "TCP_UDP"):
        preserves = self.target_type != "ip" or self.protocol in ("UDP", "TCP_UDP")
        self.attributes = {**_NETWORK_ATTRIBUTES, "preserve_client_ip.enabled": str(preserves).lower()}


@wrap(ELBv2Backend, "create_load_balancer")
def _create(original: Any, self: ELBv2Backend, name: str, *args: Any, **kwargs: Any) -> FakeLoadBalancer:
    if name.startswith("internal-"):
        rules.refuse("elb-load-balancer-prefix", name)
    if kwargs.get("loadbalancer_type") == "network":
        networks = [b for b in self.load_balancers.values() if "loadbalancer/net/" in b.arn]
        quotas.at_most("elb-network-load-balancers", self.account_id, len(networks) + 1)
    # moto compares ARNs, which differ by a random part.
    if any(balancer.name == name for balancer in self.load_balancers.values()):
        raise DuplicateLoadBalancerName()
    kwargs["scheme"] = kwargs.get("scheme") or "internet-facing"
    balancer: FakeLoadBalancer = original(self, name, *args, **kwargs)
    if kwargs.get("loadbalancer_type") == "network":
        _make_network(self, balancer)
    return balancer


def _make_network(backend: ELBv2Backend, balancer: FakeLoadBalancer) -> None:
    """Give an NLB its own ARN and host name; moto names all kinds like a classic load balancer.

    The cloud-controller-manager tells the kinds apart by these names, and takes
    an NLB named otherwise for one that changed its kind.
    """
    tags = backend.tagging_service.get_tag_dict_for_resource(balancer.arn)
    backend.tagging_service.delete_all_tags_for_resource(balancer.arn)
    del backend.load_balancers[balancer.arn]
    balancer.arn = balancer.arn.replace("loadbalancer/app/", "loadbalancer/net/")
    backend.load_balancers[balancer.arn] = balancer
    backend.tagging_service.tag_resource(balancer.arn, [{"Key": k, "Value": v} for k, v in tags.items()])
    digits = mock_random.get_random_hex(16)
    balancer.dns_name = f"{balancer.name}-{digits}.elb.{backend.region_name}.amazonaws.com"
    ec2 = _ec2(backend)
    for subnet in balancer.subnets:
        # AWS puts one interface into each subnet; they keep the subnets in use.
        eni = ec2.create_network_interface(subnet.id, "", description=_interface_of(balancer))
        eni.interface_type = "network_load_balancer"
        eni.requester_managed = True
        eni._group_set = []
        eni.__dict__["_public"] = balancer.scheme == "internet-facing"


@wrap(ELBv2Backend, "describe_load_balancers")
def _describe(_: Any, self: ELBv2Backend, arns: list[str] | None, names: list[str] | None) -> list[FakeLoadBalancer]:
    # moto's own forgets to refuse an unknown name that comes after a known one.
    balancers = list(self.load_balancers.values())
    if not arns and not names:
        return balancers
    if len(arns or []) > _MOST_NAMES or len(names or []) > _MOST_NAMES:
        raise ELBClientError("ValidationError", f"At most {_MOST_NAMES} load balancers can be described by name")
    found = [b for b in balancers if b.arn in (arns or []) or b.name in (names or [])]
    missing = {*(arns or []), *(names or [])} - {b.arn for b in found} - {b.name for b in found}
    if missing:
        raise LoadBalancerNotFoundError()
    return found


@wrap(ELBV2Response, "delete_load_balancer")
def _delete(original: Any, self: ELBV2Response) -> ActionResult:
    arn = self._get_params()["LoadBalancerArn"]
    ec2 = _ec2(self.elbv2_backend)
    if any(arn in service.network_load_balancer_arns for service in ec2.configurations.values()):
        raise ResourceInUseError(
            f"Load balancer '{arn}' cannot be deleted because it is currently associated with another service"
        )
    balancer = self.elbv2_backend.load_balancers.get(arn)
    answer: ActionResult = original(self)
    if balancer is not None:
        # The interfaces stay for a while, and with them what they use: subnets, security groups, the internet gateway.
        for eni in [e for e in ec2.enis.values() if e.description == _interface_of(balancer)]:
            eni.__dict__["_leaves"] = states.Timer("loadBalancer.delete")
    states.sweep()
    return answer


def _ec2(backend: ELBv2Backend) -> EC2Backend:
    return ec2_backends[backend.account_id][backend.region_name]


def _interface_of(balancer: FakeLoadBalancer) -> str:
    return "ELB " + balancer.arn.split("loadbalancer/")[-1]
