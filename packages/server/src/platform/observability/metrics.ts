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
import { waitAtMost } from '../time/clock.ts';
import { buildVersion } from './build-version.ts';

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

/** Prometheus ends a scrape after 10 s, and then has no value of the process. */
const defaultCollectLimitMs = 3000;

/** A gauge that reads a database which does not answer keeps its value, and does not delay the others. */
function limitCollect<Label extends string>(
  { collect, ...options }: GaugeConfiguration<Label>,
  limitMs: number,
): GaugeConfiguration<Label> {
  if (collect === undefined) return options;
  return {
    ...options,
    collect() {
      const work = collect.call(this);
      return work instanceof Promise ? waitAtMost(limitMs, work) : work;
    },
  };
}

/** `processMetrics` adds memory, event loop and garbage collection: once per process. */
export function createMetrics({
  processMetrics = false,
  collectLimitMs = defaultCollectLimitMs,
} = {}): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (processMetrics) collectDefaultMetrics({ register: registry });
  const { version, commit = '' } = buildVersion;
  new Gauge({
    name: 'switchyard_build_info',
    help: '1, with the version of the platform, the commit of the release (empty in a clone) and the version of Node.js',
    labelNames: ['version', 'commit', 'node'],
    registers,
  }).set({ version, commit, node: process.versions.node }, 1);
  return {
    registry,
    counter: (options) => new Counter({ ...options, registers }),
    gauge: (options) => new Gauge({ ...limitCollect(options, collectLimitMs), registers }),
    histogram: (options) => new Histogram({ ...options, registers }),
    close: () => registry.clear(),
  };
}
