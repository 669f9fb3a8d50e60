// Metrics of requests: duration by operation and status, running requests and pressure.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../../platform/index.ts';

/** From a cached response to an acquirer response at its timeout. */
const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export type RequestMetrics = { observe(request: FastifyRequest, reply: FastifyReply): void };

/** Labels are operations and statuses only, so that clients cannot create time series. */
export function createRequestMetrics(
  metrics: Metrics,
  load: { running(): number; pressure(): number },
): RequestMetrics {
  const seconds = metrics.histogram({
    name: 'switchyard_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response',
    labelNames: ['operation', 'status'],
    buckets: bucketsSeconds,
  });
  metrics.gauge({
    name: 'switchyard_http_requests_in_flight',
    help: 'Requests that the server is processing',
    collect() {
      this.set(load.running());
    },
  });
  metrics.gauge({
    name: 'switchyard_http_load_ratio',
    help: 'Load of the process; the server refuses sales from 1 on',
    collect() {
      this.set(load.pressure());
    },
  });
  const seriesByKey = new Map<string, ReturnType<typeof seconds.labels>>();
  return {
    observe(request, reply) {
      // The duration of a stream is the time that its client stays connected.
      if (request.isStreamed) return;
      const operation = request.routeOptions.config.facts?.operationId ?? 'none';
      const status = String(reply.statusCode);
      const key = `${operation} ${status}`;
      let series = seriesByKey.get(key);
      if (series === undefined) {
        series = seconds.labels({ operation, status });
        seriesByKey.set(key, series);
      }
      series.observe(reply.elapsedTime / 1000);
    },
  };
}
