"""States that take time.

moto makes everything ready at once and gone at once. Code that has only seen
that has never waited. Here each resource looks at the clock when it is asked:
`pending` until its creation delay is over, `deleting` until its deletion delay
is over. The delays are one table that a test may change at any time.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend, ec2_backends
from moto.ec2.models.instances import Instance, InstanceState
from moto.ec2.models.nat_gateways import NatGateway
from moto.ec2.models.security_groups import SecurityGroup
from moto.ec2.models.vpc_service_configuration import VPCServiceConfiguration
from moto.ec2.models.vpcs import VPCEndPoint
from moto.elbv2.models import FakeLoadBalancer

from .patching import wrap

_R = TypeVar("_R")

_DEFAULT_DELAY = 0.3
# AWS takes seconds. A trial that ends a process at each call would take them a hundred times.
_DEFAULT_VISIBILITY = 0.1

_INITIAL = {
    "endpoint.create": _DEFAULT_DELAY,
    "endpoint.delete": _DEFAULT_DELAY,
    "loadBalancer.create": _DEFAULT_DELAY,
    # How long the interfaces of a load balancer stay after it.
    "loadBalancer.delete": _DEFAULT_DELAY,
    "instance.create": _DEFAULT_DELAY,
    "instance.delete": _DEFAULT_DELAY,
    "natGateway.create": _DEFAULT_DELAY,
    "natGateway.delete": _DEFAULT_DELAY,
    "resourceShare.create": _DEFAULT_DELAY,
    "resourceShare.delete": _DEFAULT_DELAY,
    "route53.change": _DEFAULT_DELAY,
    # How long Route 53 processes a change of records; other changes of the zone are refused meanwhile.
    "route53.processing": 0.02,
    # How long the former public access block of a bucket holds for policies.
    "s3.publicAccess": _DEFAULT_VISIBILITY,
    # How long a new EC2 resource stays invisible to Describe calls.
    "visibility": _DEFAULT_VISIBILITY,
    # How long other requests and services do not find a new role, user or instance profile, or the role of a profile.
    "iam.visibility": _DEFAULT_VISIBILITY,
}

delays: dict[str, float] = dict(_INITIAL)

now = time.monotonic


def set_delays(changes: dict[str, float]) -> None:
    """Change single delays, in seconds; they hold for resources that exist already, too."""
    unknown = sorted(set(changes) - set(_INITIAL))
    if unknown:
        raise ValueError(f"no such delay: {', '.join(unknown)}; there are {', '.join(sorted(_INITIAL))}")
    delays.update(changes)


def reset() -> None:
    """Return to the delays of the start."""
    delays.clear()
    delays.update(_INITIAL)


class Timer:
    """Runs from now on for one of the delays; what was seen to be over stays over."""

    def __init__(self, delay: str) -> None:
        self._delay, self._start, self._over = delay, now(), False

    def over(self) -> bool:
        self._over = self._over or now() - self._start >= delays[self._delay]
        return self._over


class Life:
    """The times of one resource, and the state that follows from them."""

    def __init__(self, kind: str, first: str, final: str) -> None:
        self.kind, self.first, self.final = kind, first, final
        self.creation = Timer(f"{kind}.create")
        self.deletion: Timer | None = None
        self.forced = ""

    @property
    def state(self) -> str:
        if self.deletion is not None:
            return "deleted" if self.deletion.over() else "deleting"
        if self.forced:
            return self.forced
        return self.final if self.creation.over() else self.first

    def force(self, state: str) -> None:
        """Hold a state that no clock ends, such as pendingAcceptance or failed; "" starts over."""
        self.forced = state
        self.creation = Timer(f"{self.kind}.create")

    def end(self) -> None:
        """Start the deletion; a second call does not start it again."""
        self.deletion = self.deletion or Timer(f"{self.kind}.delete")


def life(resource: Any) -> Life:
    """Give the times of a resource of one of the classes below."""
    return resource.__dict__["_life"]


def visible(resources: Iterable[_R], ids: list[str], missing: Callable[[str], Exception]) -> list[_R]:
    """Give the resources that a Describe call sees yet; one that was asked for by its id is then missing."""
    seen = []
    for resource in resources:
        if resource.__dict__["_visible"].over():
            seen.append(resource)
        elif ids:
            raise missing(resource.id)  # type: ignore[attr-defined]
    return seen


def stamp(cls: type) -> None:
    """Let Describe calls find the resources of a class after the delay "visibility"."""

    @wrap(cls, "__init__")
    def _init(original: Any, self: Any, *args: Any, **kwargs: Any) -> None:
        self.__dict__["_visible"] = Timer("visibility")
        original(self, *args, **kwargs)


for _cls in (VPCEndPoint, VPCServiceConfiguration, SecurityGroup):
    stamp(_cls)


def _time_driven(cls: Any, kind: str, first: str, final: str) -> None:
    """Let cls.state follow the clock; moto's own writes to it start or end the life."""

    def get(self: Any) -> str:
        return life(self).state

    def put(self: Any, value: str) -> None:
        self.__dict__.setdefault("_life", Life(kind, first, final))
        if value == "deleted":
            life(self).end()

    cls.state = property(get, put)


_time_driven(VPCEndPoint, "endpoint", "pending", "available")
_time_driven(NatGateway, "natGateway", "pending", "available")
_time_driven(FakeLoadBalancer, "loadBalancer", "provisioning", "active")


@wrap(FakeLoadBalancer, "activate")
def _activate(_: Any, self: FakeLoadBalancer) -> None:
    # moto activates a load balancer by looking at it; here the clock does.
    pass


class _InstanceState(InstanceState):
    """An instance's state; moto writes name and code in place, so both are properties."""

    _between = {"terminated": "shutting-down", "stopped": "stopping"}
    _codes = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}

    def __init__(self) -> None:
        self._now, self._next, self._timer = "pending", "running", Timer("instance.create")

    @property
    def name(self) -> str:
        return self._next if self._timer.over() else self._now

    @name.setter
    def name(self, value: str) -> None:
        if value != "running":
            self._now, self._next, self._timer = self._between.get(value, value), value, Timer("instance.delete")
        elif self.name != "running":  # a reboot changes nothing
            self._now, self._next, self._timer = "pending", "running", Timer("instance.create")

    @property
    def code(self) -> int:
        return self._codes[self.name]

    @code.setter
    def code(self, value: int) -> None:
        pass  # moto always writes the name, too

    def __copy__(self) -> InstanceState:
        # "previous state" must not move on with the clock.
        return InstanceState(self.name, self.code)


@wrap(Instance, "__init__")
def _init_instance(original: Any, self: Instance, *args: Any, **kwargs: Any) -> None:
    original(self, *args, **kwargs)
    self._state = _InstanceState()


@wrap(EC2Backend, "start_instances")
def _start(original: Any, self: EC2Backend, instance_ids: list[str]) -> Any:
    # https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
    for instance in self.get_multi_instances_by_id(instance_ids):
        if instance._state.name in ("stopping", "shutting-down", "terminated"):
            raise EC2ClientError(
                "IncorrectInstanceState",
                f"The instance '{instance.id}' is not in a state from which it can be started.",
            )
    return original(self, instance_ids)


@wrap(Instance, "terminate")
def _terminate(original: Any, self: Instance) -> Any:
    # Each call succeeds: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html.
    # moto deletes the interfaces once more.
    if self._state.name in ("shutting-down", "terminated"):
        return copy.copy(self._state)
    return original(self)


def sweep() -> None:
    """Remove what has finished deleting, so that it is not found any more, by id or by tag."""
    for regions in list(ec2_backends.values()):
        for backend in list(regions.values()):
            for endpoint in [e for e in backend.vpc_end_points.values() if e.state == "deleted"]:
                for eni in endpoint.network_interface_ids:
                    backend.enis.pop(eni, None)
                del backend.vpc_end_points[endpoint.id]
                backend.tags.pop(endpoint.id, None)
            leaving = [e for e in backend.enis.values() if "_leaves" in e.__dict__]
            for interface in [e for e in leaving if e.__dict__["_leaves"].over()]:
                del backend.enis[interface.id]
                backend.tags.pop(interface.id, None)
            attached = [e for e in backend.enis.values() if e.instance is not None]
            for eni in [e for e in attached if e.instance.state == "terminated"]:
                del backend.enis[eni.id]
                backend.tags.pop(eni.id, None)
            for nat in [n for n in backend.nat_gateways.values() if n.state == "deleted"]:
                # AWS lists the gateway itself for another hour.
                backend.enis.pop(nat._eni.id, None)
