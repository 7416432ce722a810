"""What the policies of a role let its sessions do.

A role that has no policy at all may do everything: most tests are about other things,
and give their roles none. Once a role has one, what no policy allows is refused, and so
is what a policy denies: actions, resources and conditions, for each resource of a request.
"""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.iam.exceptions import MalformedPolicyDocument, NotFoundException
from moto.iam.models import IAMBackend, iam_backends
from moto.iam.responses import IamResponse

from . import accounts, authorization, policy, wire
from .patching import add, wrap
from .policy import Decision, Question


def refusal(request: wire.Request, caller: accounts.Caller) -> str:
    """Word the first thing that the caller's role may not do as AWS does, or "" when all is allowed."""
    if not caller.role:
        return ""
    documents = _policies(caller.role)
    if not documents:
        return ""
    caller_keys = {
        "aws:principalaccount": [caller.account],
        "aws:principalarn": [caller.role],
        "aws:requestedregion": [request.region],
    }
    for question in authorization.questions(request, caller.account):
        question.context.update(caller_keys)
        decision = policy.evaluate(documents, question)
        if decision is not Decision.ALLOWED:
            return _words(caller, question, decision)
    return ""


def needed(request: wire.Request, account: str) -> list[str]:
    """Name the actions that a policy must allow for the request to go through."""
    return list(dict.fromkeys(question.action for question in authorization.questions(request, account)))


def _words(caller: accounts.Caller, question: Question, decision: Decision) -> str:
    why = (
        "with an explicit deny in an identity-based policy"
        if decision is Decision.DENIED
        else f"because no identity-based policy allows the {question.action} action"
    )
    return f"User: {caller.arn} is not authorized to perform: {question.action} on resource: {question.resource} {why}"


def _policies(role_arn: str) -> list[str]:
    for role in iam_backends[role_arn.split(":")[4]]["aws"].roles.values():
        if role.arn == role_arn:
            attached = [
                version.document
                for managed in role.managed_policies.values()
                for version in managed.versions
                if version.is_default
            ]
            return [*role.policies.values(), *attached]
    return []


_DECISIONS = {
    Decision.ALLOWED: "allowed",
    Decision.DENIED: "explicitDeny",
    Decision.NOT_ALLOWED: "implicitDeny",
}


@add(IamResponse, "simulate_principal_policy")
def _simulate_principal_policy(self: IamResponse) -> ActionResult:
    """Evaluate the policies of a role for actions on resources, with the condition keys of the request.

    https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html
    """
    source = self._get_param("PolicySourceArn")
    if not any(role.arn == source for role in self.backend.roles.values()):
        raise NotFoundException(f"The role {source} cannot be found.")
    documents = _policies(source)
    context = {
        entry["ContextKeyName"].lower(): list(entry.get("ContextKeyValues", []))
        for entry in self._get_param("ContextEntries", [])
    }
    context["aws:principalarn"] = [source]
    context["aws:requestedregion"] = ["us-east-1"]
    results = []
    for action in self._get_param("ActionNames", []):
        for resource in self._get_param("ResourceArns", ["*"]):
            question = Question(action, resource, dict(context))
            decision = policy.evaluate(documents, question) if documents else Decision.ALLOWED
            missing = policy.keys(documents, question) - set(context)
            results.append(
                {
                    "EvalActionName": action,
                    "EvalResourceName": resource,
                    "EvalDecision": _DECISIONS[decision],
                    "MissingContextValues": sorted(missing),
                }
            )
    return ActionResult({"EvaluationResults": results, "IsTruncated": False})


def _check_json(document: str) -> None:
    """Refuse a document with an element or operator that the emulator does not evaluate; moto checks its syntax."""
    try:
        policy.check(document)
    except policy.Unsupported as error:
        raise MalformedPolicyDocument(str(error)) from error
    except (ValueError, AttributeError, TypeError):
        return


@wrap(IAMBackend, "put_role_policy")
def _put_role_policy(original: Any, self: IAMBackend, role_name: str, policy_name: str, policy_json: str) -> None:
    _check_json(policy_json)
    original(self, role_name, policy_name, policy_json)


@wrap(IAMBackend, "create_role")
def _create_role(
    original: Any, self: IAMBackend, role_name: str, assume_role_policy_document: str, *args: Any, **kwargs: Any
) -> Any:
    _check_json(assume_role_policy_document)
    return original(self, role_name, assume_role_policy_document, *args, **kwargs)


@wrap(IAMBackend, "update_assume_role_policy")
def _update_assume_role_policy(original: Any, self: IAMBackend, role_name: str, policy_document: str) -> None:
    _check_json(policy_document)
    original(self, role_name, policy_document)


@wrap(IAMBackend, "remove_role_from_instance_profile")
def _remove_role_from_instance_profile(original: Any, self: IAMBackend, profile_name: str, role_name: str) -> None:
    # moto fails with a server error, which clients repeat.
    if not any(role.name == role_name for role in self.get_instance_profile(profile_name).roles):
        raise NotFoundException(f"Role {role_name} is not in instance profile {profile_name}.")
    original(self, profile_name, role_name)
