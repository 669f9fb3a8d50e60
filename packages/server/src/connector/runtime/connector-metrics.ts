// Counts the messages that the connector forwards and refuses, without names of devices or clients.
import type { ConnectorFaultCode } from '@switchyard/contract';
import type { Metrics } from '../../platform/index.ts';

export type RelayMetrics = {
  toPos(bytes: number): void;
  toDevice(bytes: number): void;
  /** Messages of a device that no point of sale received. */
  dropped(messages: number): void;
};
export type ConnectorMetrics = RelayMetrics & {
  fault(code: ConnectorFaultCode): void;
  /** The registry calls `count` at each scrape. */
  sessions(count: () => number): void;
  claims(count: () => number): void;
};

type Tally = { pos: number; device: number };

/**
 * Counts each message in a plain number, and updates the counter of the registry at each scrape.
 */
function createTally(metrics: Metrics, { name, help }: { name: string; help: string }): Tally {
  const tally: Tally = { pos: 0, device: 0 };
  const told: Tally = { pos: 0, device: 0 };
  metrics.counter({
    name,
    help,
    labelNames: ['to'],
    collect() {
      for (const to of ['pos', 'device'] as const) {
        this.inc({ to }, tally[to] - told[to]);
        told[to] = tally[to];
      }
    },
  });
  return tally;
}

const showing =
  (metrics: Metrics, named: { name: string; help: string }) =>
  (count: () => number): void => {
    metrics.gauge({
      ...named,
      collect() {
        this.set(count());
      },
    });
  };

/** @example const counted = createConnectorMetrics(metrics); counted.fault('device_offline'); */
export function createConnectorMetrics(metrics: Metrics): ConnectorMetrics {
  const messages = createTally(metrics, {
    name: 'switchyard_connector_messages_total',
    help: 'Forwarded messages',
  });
  const bytes = createTally(metrics, {
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
    toPos(size) {
      messages.pos += 1;
      bytes.pos += size;
    },
    toDevice(size) {
      messages.device += 1;
      bytes.device += size;
    },
    dropped: (count) => {
      if (count > 0) dropped.inc(count);
    },
    fault: (code) => faults.inc({ code }),
    sessions: showing(metrics, {
      name: 'switchyard_connector_sessions',
      help: 'Sessions with devices of this node, including reserved and suspended sessions',
    }),
    claims: showing(metrics, {
      name: 'switchyard_connector_claims',
      help: 'Claims of points of sale on this node, open or bound to a connection',
    }),
  };
}
