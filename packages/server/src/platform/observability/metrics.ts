// Registry of the metrics of this process, which the monitoring listener serves.
import {
  Counter,
  type CounterConfiguration,
  collectDefaultMetrics,
  Gauge,
  type GaugeConfiguration,
  Histogram,
  type HistogramConfiguration,
  Registry,
} from 'prom-client';

export type Metrics = {
  registry: Registry;
  counter<Label extends string = string>(options: CounterConfiguration<Label>): Counter<Label>;
  gauge<Label extends string = string>(options: GaugeConfiguration<Label>): Gauge<Label>;
  histogram<Label extends string = string>(
    options: HistogramConfiguration<Label>,
  ): Histogram<Label>;
  /** Stops the process metrics. */
  close(): void;
};

/** `processMetrics` adds memory, event loop and garbage collection: once per process. */
export function createMetrics({ processMetrics = false } = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (processMetrics) collectDefaultMetrics({ register: registry });
  return {
    registry,
    counter: (options) => new Counter({ ...options, registers }),
    gauge: (options) => new Gauge({ ...options, registers }),
    histogram: (options) => new Histogram({ ...options, registers }),
    close: () => registry.clear(),
  };
}
