//go:build tools

// Package provisioner names the program that makes the cluster's dynamic volumes, so that go.mod pins it.
package provisioner

import _ "github.com/rancher/local-path-provisioner"
