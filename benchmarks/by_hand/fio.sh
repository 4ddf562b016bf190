#!/bin/sh
# fio on a new volume as kubestr does it: a ConfigMap with the job file, a claim, a pod that has both and sleeps, fio in it, everything removed.
# OUTPUT/storage-N.json is what trial N printed.
#
#   KUBECONFIG=... fio.sh KUBECTL OUTPUT TRIALS JOB_FILE CLASS SIZE NODE IMAGE
set -eu
kubectl=$1 output=$2 trials=$3 jobs=$4 class=$5 size=$6 node=$7 image=$8 name=by-hand-fio-$$

gone() { "$kubectl" delete pod,pvc,configmap "$name" --ignore-not-found --grace-period=1 >/dev/null; }
trap gone EXIT
trap 'exit 143' TERM INT HUP

"$kubectl" create configmap "$name" --from-file=kubestr.fio="$jobs" >/dev/null
"$kubectl" apply -f - >/dev/null <<END
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: $name}
spec: {accessModes: [ReadWriteOnce], storageClassName: $class, resources: {requests: {storage: $size}}}
---
apiVersion: v1
kind: Pod
metadata: {name: $name}
spec:
  nodeSelector: {kubernetes.io/hostname: $node}
  containers:
  - name: fio
    image: $image
    command: [/bin/sh, -c, tail -f /dev/null]
    volumeMounts: [{name: data, mountPath: /dataset}, {name: config, mountPath: /etc/fio-config}]
  volumes:
  - {name: data, persistentVolumeClaim: {claimName: $name}}
  - {name: config, configMap: {name: $name}}
END
"$kubectl" wait --for=condition=Ready "pod/$name" --timeout=180s >/dev/null
for trial in $(seq "$trials"); do
  "$kubectl" exec "$name" -- fio --directory /dataset /etc/fio-config/kubestr.fio --output-format=json >"$output/storage-$trial.json"
done
