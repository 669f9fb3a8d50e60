// Defines the metrics of webhook deliveries.
import { type Clock, type Database, isoTime, type Metrics } from '../../platform/index.ts';
import { findOldestDue } from './send-deliveries-sql.ts';

const delayBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export function createDeliveryMetrics(deps: {
  readonly database: Database;
  readonly dueClock: Clock;
  readonly metrics: Metrics;
  running(): number;
}) {
  const { database, dueClock, metrics, running } = deps;
  metrics.gauge({
    name: 'switchyard_webhook_calls_in_flight',
    help: 'Calls to webhook endpoints that wait for a response',
    collect() {
      this.set(running());
    },
  });
  metrics.gauge({
    name: 'switchyard_webhook_oldest_due_seconds',
    help: 'Time by which the oldest delivery to an endpoint without failures is overdue',
    async collect() {
      const now = dueClock.now();
      // If the database is unavailable, the gauge keeps its last value.
      const oldest = await findOldestDue(database, isoTime(now)).catch(() => 'unknown' as const);
      if (oldest === 'unknown') return;
      this.set(Math.max(0, now - (oldest?.getTime() ?? now)) / 1000);
    },
  });
  const disabled = metrics.counter({
    name: 'switchyard_webhook_endpoints_disabled_total',
    help: 'Endpoints that the server disabled after status 410 or after days of failures',
    labelNames: ['reason'],
  });
  // An increase of a series that does not exist yet raises no alarm.
  for (const reason of ['Gone', 'Unreachable']) disabled.inc({ reason }, 0);
  return {
    disabled,
    attempts: metrics.counter({
      name: 'switchyard_webhook_attempts_total',
      help: 'Delivery attempts, by outcome',
      labelNames: ['outcome'],
    }),
    delay: metrics.histogram({
      name: 'switchyard_webhook_delivery_delay_seconds',
      help: 'Time from planning a delivery to its acknowledgement, for deliveries that succeed at the first attempt',
      buckets: delayBuckets,
    }),
  };
}
