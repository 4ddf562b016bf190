"""From a spec to a plan: experiments, order, time and price. Pure; needs no target."""
