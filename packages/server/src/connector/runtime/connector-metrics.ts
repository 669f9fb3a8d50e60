// Counts the messages that the connector forwards and refuses, without names of devices or clients.
import type { ConnectorFaultCode } from '@switchyard/contract';
import type { Metrics } from '../../platform/index.ts';

export type ForwardingMetrics = {
  countToPos(bytes: number): void;
  countToDevice(bytes: number): void;
  /** Messages of a device that no point of sale received. */
  countDropped(messages: number): void;
};
export type ConnectorMetrics = ForwardingMetrics & {
  countFault(code: ConnectorFaultCode): void;
  /** The registry calls `count` at each scrape. */
  observeSessions(count: () => number): void;
  observeClaims(count: () => number): void;
};

type Totals = { pos: number; device: number };

/**
 * Counts each message in a plain number, and updates the counter of the registry at each scrape.
 */
function createTotalsCounter(
  metrics: Metrics,
  { name, help }: { name: string; help: string },
): Totals {
  const totals: Totals = { pos: 0, device: 0 };
  const reported: Totals = { pos: 0, device: 0 };
  metrics.counter({
    name,
    help,
    labelNames: ['to'],
    collect() {
      for (const to of ['pos', 'device'] as const) {
        this.inc({ to }, totals[to] - reported[to]);
        reported[to] = totals[to];
      }
    },
  });
  return totals;
}

const createGauge =
  (metrics: Metrics, options: { name: string; help: string }) =>
  (count: () => number): void => {
    metrics.gauge({
      ...options,
      collect() {
        this.set(count());
      },
    });
  };

/** @example const connectorMetrics = createConnectorMetrics(metrics); connectorMetrics.countFault('device_offline'); */
export function createConnectorMetrics(metrics: Metrics): ConnectorMetrics {
  const messages = createTotalsCounter(metrics, {
    name: 'switchyard_connector_messages_total',
    help: 'Forwarded messages',
  });
  const bytes = createTotalsCounter(metrics, {
    name: 'switchyard_connector_bytes_total',
    help: 'Bytes of the forwarded messages',
  });
  const dropped = metrics.counter({
    name: 'switchyard_connector_messages_dropped_total',
    help: 'Messages of devices that were dropped because no point of sale was connected',
  });
  const faults = metrics.counter({
    name: 'switchyard_connector_errors_total',
    help: 'Failed operations, by the error code that the client received',
    labelNames: ['code'],
  });
  return {
    countToPos(size) {
      messages.pos += 1;
      bytes.pos += size;
    },
    countToDevice(size) {
      messages.device += 1;
      bytes.device += size;
    },
    countDropped: (count) => {
      if (count > 0) dropped.inc(count);
    },
    countFault: (code) => faults.inc({ code }),
    observeSessions: createGauge(metrics, {
      name: 'switchyard_connector_sessions',
      help: 'Sessions with devices of this node, including reserved and suspended sessions',
    }),
    observeClaims: createGauge(metrics, {
      name: 'switchyard_connector_claims',
      help: 'Claims of points of sale on this node, open or bound to a connection',
    }),
  };
}
