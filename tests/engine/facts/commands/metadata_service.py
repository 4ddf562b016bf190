"""A metadata service as clouds have it: ``python metadata_service.py CLOUD`` answers at
169.254.169.254:80 as that cloud's documentation says.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

AZURE = {
    "location": "westus",
    "name": "vm1",
    "offer": "ubuntu-confidential-vm-jammy",
    "publisher": "canonical",
    "sku": "22_04-lts-cvm",
    "securityProfile": {
        "secureBootEnabled": "true",
        "virtualTpmEnabled": "true",
        "securityType": "ConfidentialVM",
    },
    "storageProfile": {
        "imageReference": {
            "id": "",
            "offer": "ubuntu-confidential-vm-jammy",
            "publisher": "canonical",
            "sku": "22_04-lts-cvm",
            "version": "22.04.202301140",
        },
        "osDisk": {"name": "vm1_OsDisk_1", "diskSizeGB": "30"},
    },
    "version": "22.04.202301140",
    "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
    "vmSize": "Standard_DC4as_v5",
    "zone": "2",
}
AWS = {
    "accountId": "123456789012",
    "availabilityZone": "eu-west-1a",
    "imageId": "ami-5fb8c835",
    "instanceId": "i-1234567890abcdef0",
    "instanceType": "m6a.large",
    "region": "eu-west-1",
}
GOOGLE = {
    "zone": "projects/123/zones/europe-west3-b",
    "machine-type": "projects/123/machineTypes/n2d-standard-4",
    "image": "projects/debian-cloud/global/images/debian-12-bookworm-v20240110",
    "id": "5775171277418378000",
}
TOKEN = "AQAEAFtoken=="


class Service(BaseHTTPRequestHandler):
    """One request."""

    cloud = ""

    def do_GET(self) -> None:
        """Answer, or refuse as the cloud does where its header is missing."""
        found = None
        if (
            self.cloud == "azure"
            and self.headers["Metadata"] == "true"
            and self.path == "/metadata/instance/compute?api-version=2021-12-13"
        ):
            found = json.dumps(AZURE, separators=(",", ":"))
        elif self.cloud == "gcp" and self.headers["Metadata-Flavor"] == "Google":
            found = GOOGLE.get(self.path.removeprefix("/computeMetadata/v1/instance/"))
        elif (
            self.cloud == "aws"
            and self.headers["X-aws-ec2-metadata-token"] == TOKEN
            and self.path == "/latest/dynamic/instance-identity/document"
        ):
            found = json.dumps(AWS, indent=2)
        self.answer(found)

    def do_PUT(self) -> None:
        """Hand out a token."""
        ours = (
            self.cloud == "aws"
            and self.path == "/latest/api/token"
            and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        )
        self.answer(TOKEN if ours else None)

    def answer(self, text: str | None) -> None:
        """Send ``text``, or 400."""
        body = (text or "bad request").encode()
        self.send_response(200 if text else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    Service.cloud = sys.argv[1]
    server = ThreadingHTTPServer(("169.254.169.254", 80), Service)
    print("ready", flush=True)
    server.serve_forever()
