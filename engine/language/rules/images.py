"""Which images pods are made of: one that the nodes can pull, the same every time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...model.diagnostics import At, Path, Problem, quote
from ...model.runner_traits import traits_of
from ...model.spec import Json
from ...model.text.image_names import is_pinned, is_stand_in
from ...model.text.json_access import mapping, text
from .view import View


def tool_images(view: View) -> Iterator[Problem]:
    """BS219, BS229: every cluster has a tool image, which is not the stand-in of an example."""
    told = set()
    for path, options in _used_sites(view):
        if not traits_of(text(options.get("kind"))).needs_image:
            continue
        image = options.get("image")
        if image is None:
            yield Problem(
                code="BS219",
                path=path,
                found="a cluster without an image",
                expected="`image: REGISTRY/benchspec-tools@sha256:DIGEST`",
                hint=(
                    "`benchspec images build` makes an image with the tools, `benchspec images"
                    " push` pushes it and writes its digest into the spec"
                ),
                at=At.KEY,
            )
        elif is_stand_in(text(image)) and text(image) not in told:
            told.add(text(image))
            yield Problem(
                code="BS229",
                path=(*path, "image"),
                found=quote(image),
                expected="an image that the nodes can pull",
                hint=(
                    "`benchspec images build` makes one, `benchspec images push` pushes it and"
                    " writes its digest into the spec"
                ),
            )


def _used_sites(view: View) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    """Where each site that a target uses stands, and what it says; each once."""
    used: dict[str, None] = {}
    for name, target in view.targets.items():
        if "runner" in target:
            runner = target["runner"]
            said = {"kind": runner} if isinstance(runner, str) else mapping(runner)
            yield ("targets", name, "runner"), said
        used |= dict.fromkeys(map(text, mapping(target.get("sites")).values()))
    for site in used:
        if site in view.sites:
            yield ("sites", site), mapping(view.sites[site])


def pinned(view: View) -> Iterator[Problem]:
    """BS276: images are pinned by digest."""
    for name, workload in view.workloads.items():
        overrides = (
            (("overrides", target), mapping(override))
            for target, override in mapping(workload.get("overrides")).items()
        )
        for place, holder in (((), workload), *overrides):
            image = text(holder.get("image"))
            if image and "${" not in image and not is_pinned(image):
                path: Path = ("workloads", name, *place, "image")
                yield Problem(
                    code="BS276",
                    path=path,
                    found=quote(image),
                    expected="NAME@sha256:DIGEST",
                    hint="pin the image by its digest",
                )


CHECKS = (tool_images, pinned)
"""The rules of this module."""
