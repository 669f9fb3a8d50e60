// Counts what the connector passes on and refuses; nothing of it names a device or a client.
import type { ConnectorFaultCode } from '@switchyard/contract';
import type { Metrics } from '../platform/index.ts';

export type RelayMetrics = {
  toPos(bytes: number): void;
  toDevice(bytes: number): void;
  /** Messages of a device that nobody took. */
  dropped(messages: number): void;
};
export type ConnectorMetrics = RelayMetrics & {
  fault(code: ConnectorFaultCode): void;
  /** Asked at each look at the metrics. */
  sessions(count: () => number): void;
};

/** @example const counted = createConnectorMetrics(metrics); counted.fault('device_offline'); */
export function createConnectorMetrics(metrics: Metrics): ConnectorMetrics {
  const messages = metrics.counter({
    name: 'switchyard_connector_messages_total',
    help: 'Messages that were passed on',
    labelNames: ['to'],
  });
  const bytes = metrics.counter({
    name: 'switchyard_connector_bytes_total',
    help: 'Bytes of the messages that were passed on',
    labelNames: ['to'],
  });
  const dropped = metrics.counter({
    name: 'switchyard_connector_dropped_total',
    help: 'Messages of devices that nobody was there for',
  });
  const faults = metrics.counter({
    name: 'switchyard_connector_faults_total',
    help: 'What could not be done, by the word that the client was told',
    labelNames: ['code'],
  });
  const passed = (to: string) => {
    const [oneMessage, itsBytes] = [messages.labels({ to }), bytes.labels({ to })];
    return (size: number) => {
      oneMessage.inc();
      itsBytes.inc(size);
    };
  };
  return {
    toPos: passed('pos'),
    toDevice: passed('device'),
    dropped: (count) => {
      if (count > 0) dropped.inc(count);
    },
    fault: (code) => faults.inc({ code }),
    sessions(count) {
      metrics.gauge({
        name: 'switchyard_connector_sessions',
        help: 'Sessions of devices of this node, also those that are reserved or kept',
        collect() {
          this.set(count());
        },
      });
    },
  };
}
