#!/bin/sh
# iperf3 by hand: a server's pod with a Service on one node, a client's pod on another, TCP over each path in the order given, everything
# removed. OUTPUT/PATH-N.json is what trial N printed.
#
#   KUBECONFIG=... iperf3.sh KUBECTL OUTPUT TRIALS CLIENT_NODE SERVER_NODE IMAGE SECONDS OMITTED pod-to-pod|pod-to-service...
set -eu
kubectl=$1 output=$2 trials=$3 client_node=$4 server_node=$5 image=$6 seconds=$7 omitted=$8 name=by-hand-iperf3-$$
shift 8

gone() { "$kubectl" delete "pod/$name-client" "pod/$name-server" "service/$name" --ignore-not-found --grace-period=1 >/dev/null; }
trap gone EXIT
trap 'exit 143' TERM INT HUP

"$kubectl" apply -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: {name: $name-server, labels: {app: $name}}
spec:
  nodeSelector: {kubernetes.io/hostname: $server_node}
  containers: [{name: iperf3, image: $image, command: [iperf3, -s]}]
---
apiVersion: v1
kind: Pod
metadata: {name: $name-client}
spec:
  nodeSelector: {kubernetes.io/hostname: $client_node}
  containers: [{name: iperf3, image: $image, command: [/bin/sh, -c, tail -f /dev/null]}]
---
apiVersion: v1
kind: Service
metadata: {name: $name}
spec: {selector: {app: $name}, ports: [{port: 5201}]}
END
"$kubectl" wait --for=condition=Ready "pod/$name-server" "pod/$name-client" --timeout=180s >/dev/null
sleep 1 # the server listens, and the nodes know the Service
for path; do
  case $path in
  pod-to-pod) address=$("$kubectl" get pod "$name-server" -o 'jsonpath={.status.podIP}') ;;
  pod-to-service) address=$("$kubectl" get service "$name" -o 'jsonpath={.spec.clusterIP}') ;;
  esac
  for trial in $(seq "$trials"); do
    "$kubectl" exec "$name-client" -- iperf3 -c "$address" -J -t "$seconds" -O "$omitted" >"$output/$path-$trial.json"
  done
done
