//go:build tools

// Package k6 names the load generator of the tool image, so that go.mod pins it.
package k6

import _ "go.k6.io/k6"
