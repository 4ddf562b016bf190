"""What a cloud's metadata service says of this machine.

It is asked only on a machine whose DMI tables are that cloud's, at the link-local address alone,
without a proxy, and gets a second per request; nothing is asked after the first silence. What names
the instance leaves the machine as a hash only.

Azure: https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service
Google: https://cloud.google.com/compute/docs/metadata/querying-metadata
AWS (version 2, whose token any program of the instance may get):
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
"""

from __future__ import annotations

_HASH = "{ echo benchspec; cat; } | sha256sum | cut -c 1-16"

# q asks for a path with a header; s takes a string out of compact or pretty JSON; a provider's word
# that is empty stays unknown
_PROBE = f"""
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY; w=http://169.254.169.254;
q() {{ if command -v curl >/dev/null; then curl -q -sf --noproxy '*' --connect-timeout 1 --max-time 1 -H "$2" ${{3:+-X "$3"}} "$w/$1";
  elif [ -z "$3" ]; then wget -q -T 1 -t 1 -O - --header "$2" "$w/$1"; else wget -q -T 1 -t 1 -O - --header "$2" --method="$3" "$w/$1"; fi; }};
s() {{ echo "$j" | tr -d '\\n' | sed -n "s/.*\\"$1\\" *: *\\"\\([^\\"]*\\)\\".*/\\1/p"; }};
case $p in
azure) j=$(q 'metadata/instance/compute?api-version=2021-12-13' 'Metadata: true') && {{
  echo "type $(s vmSize)"; echo "region $(s location)"; echo "zone $(s zone)"; echo "security_type $(s securityType)";
  i="$(s publisher):$(s offer):$(s sku):$(s version)"; [ "$i" = ::: ] || echo "image $i"; o=$(s vmId); }};;
gcp) m() {{ q "computeMetadata/v1/instance/$1" 'Metadata-Flavor: Google'; }}; z=$(m zone) && {{ z=${{z##*/}};
  echo "zone $z"; echo "region ${{z%-*}}"; t=$(m machine-type); echo "type ${{t##*/}}"; i=$(m image); echo "image ${{i##*/}}"; o=$(m id); }};;
aws) k=$(q latest/api/token 'X-aws-ec2-metadata-token-ttl-seconds: 10' PUT) &&
  j=$(q latest/dynamic/instance-identity/document "X-aws-ec2-metadata-token: $k") && {{
  echo "type $(s instanceType)"; echo "region $(s region)"; echo "zone $(s availabilityZone)"; echo "image $(s imageId)"; o=$(s instanceId); }};;
esac;
[ -n "$o" ] && echo "instance $(echo "$o" | {_HASH})"
"""


def metadata_probe(provider: str) -> str:
    """Print a line for each thing the service says: its word, and its value. ``provider`` is the
    command that prints the fact cloud.provider.
    """
    steps = " ".join(line.strip() for line in _PROBE.splitlines() if line)
    return f'[ -z "$ROOT" ] && {{ p=$({provider}); o=; {steps}; }}'


METADATA_COMMANDS: dict[str, str] = {
    word: f"echo \"$METADATA\" | sed -n 's/^{word} //p'"
    for word in ("type", "region", "zone", "image", "instance", "security_type")
}
"""``$METADATA`` is what the probe printed."""
