// Package tracing makes the spans that show one query from its submission to each request that is sent upstream for it, and sends them
// to an OpenTelemetry collector over OTLP/HTTP. It never delays work: spans wait in a bounded queue, and what does not fit is dropped
// and counted. Nothing of a trace is sent upstream: the services that are asked are not ours.
package tracing
