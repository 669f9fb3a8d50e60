// Counts the requests and their times, by operation and status.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Metrics } from '../../platform/index.ts';

/** From a cached answer to an acquirer that needs its whole time-out. */
const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export type RequestMetrics = { observe(request: FastifyRequest, reply: FastifyReply): void };

/** As many series as there are operations and statuses: names that a client sends are no labels. */
export function createRequestMetrics(
  metrics: Metrics,
  load: { running(): number; pressure(): number },
): RequestMetrics {
  const seconds = metrics.histogram({
    name: 'switchyard_http_request_seconds',
    help: 'Time from the arrival of a request to the end of its answer.',
    labelNames: ['operation', 'status'],
    buckets: bucketsSeconds,
  });
  metrics.gauge({
    name: 'switchyard_http_requests_running',
    help: 'Requests under way.',
    collect() {
      this.set(load.running());
    },
  });
  metrics.gauge({
    name: 'switchyard_http_pressure',
    help: 'Load; sales are refused from 1 on.',
    collect() {
      this.set(load.pressure());
    },
  });
  const seriesByKey = new Map<string, ReturnType<typeof seconds.labels>>();
  return {
    observe(request, reply) {
      // How long a client stays says nothing of how fast it is answered.
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
