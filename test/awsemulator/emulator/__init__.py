"""AWS on one machine: moto, with the rules that moto leaves out.

moto keeps the state of about 200 AWS services. What it leaves out is what this
project lives on: PrivateLink connections, states that take time, refusals
because something is still in use, web identity that is really checked, accounts
that do not see each other's zone names. Each module here adds one of these by
patching moto in memory; moto itself is installed unmodified.

A request passes

    server -> control   /emulator/...: faults, delays, call log, dump, reset
           -> frontdoor who is calling, call log, faults, AWS-shaped errors
           -> models    what the service models of AWS refuse
           -> moto      with the patches of all other modules

The patches lean on moto's internals, so requirements.txt pins its version, and
patching.py refuses to start when something to be patched is not there.
"""
