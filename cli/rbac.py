"""``benchspec rbac``."""

from __future__ import annotations

import click

from .app import VERBS


@click.command("rbac", short_help=VERBS["rbac"])
@click.option("--namespace", default="bench", show_default=True, help="The namespace everything is made in.")
@click.option("--name", default="benchspec", show_default=True, help="The name of the ServiceAccount and of its roles.")
@click.option("--no-facts", is_flag=True, help="Leave out the ClusterRole that only reads: what it shows is then unknown.")
@click.option("--storage-classes", is_flag=True, help="Add what `storage: {create: true}` needs: creating and deleting storage classes.")
@click.option("--kubelet-stats", is_flag=True, help="Add reading kubelets: what sidecars that cannot tell and lifecycles' pods use. A wide right.")
def command(namespace: str, name: str, no_facts: bool, storage_classes: bool, kubelet_stats: bool) -> None:
    """Print the manifest of a ServiceAccount with exactly the rights that the Kubernetes runner needs.

    Everything it creates is in one namespace. `benchspec rbac --namespace bench | kubectl apply -f -`
    """
    import yaml

    from ..runners.kubernetes.rights import manifests

    made = manifests(namespace, name, facts=not no_facts, classes=storage_classes, kubelet=kubelet_stats)
    click.echo(yaml.safe_dump_all(made, sort_keys=False, explicit_start=True), nl=False)
