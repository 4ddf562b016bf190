"""``benchspec rbac``."""

from __future__ import annotations

import click

from .app import VERBS

NAMESPACE = "The namespace everything is made in."
NAME = "The name of the ServiceAccount and of its roles."
FACTS = "Leave out the ClusterRole that only reads: what it shows is then unknown."
CLASSES = "Add what `storage: {create: true}` needs: creating and deleting storage classes."
KUBELET = (
    "Add reading kubelets: what sidecars that cannot tell and lifecycles' pods use. A wide right."
)


@click.command("rbac", short_help=VERBS["rbac"])
@click.option("--namespace", default="bench", show_default=True, help=NAMESPACE)
@click.option("--name", default="benchspec", show_default=True, help=NAME)
@click.option("--no-facts", is_flag=True, help=FACTS)
@click.option("--storage-classes", is_flag=True, help=CLASSES)
@click.option("--kubelet-stats", is_flag=True, help=KUBELET)
def command(
    namespace: str, name: str, no_facts: bool, storage_classes: bool, kubelet_stats: bool
) -> None:
    """Print the manifest of a ServiceAccount with exactly the rights that the Kubernetes runner
    needs.

    Everything it creates is in one namespace. `benchspec rbac --namespace bench | kubectl apply -f
    -`
    """
    from ..api.cluster_rights import rbac

    manifest = rbac(
        namespace=namespace,
        name=name,
        facts=not no_facts,
        storage_classes=storage_classes,
        kubelet_stats=kubelet_stats,
    )
    click.echo(manifest, nl=False)
