// Gauges for each acquirer link. Values are read when metrics are scraped.
import type { Metrics } from '../../platform/index.ts';

type LinkSample = { linkId: string };
export type Gauges<Facts> = Readonly<
  Record<string, { help: string; value: (facts: Facts) => number }>
>;

/** Seconds from a moment, RFC 3339, until now, epoch milliseconds. */
export const elapsedSeconds = (at: string, now: number): number =>
  Math.max(0, now - Date.parse(at)) / 1000;

/**
 * Where the facts cannot be read, the gauges stay as they were: a metric is no reason to fail.
 *
 * @example measureLinks(metrics, 'acquirer_queue', gauges, () => lanes.queues());
 */
export function registerLinkGauges<Facts extends LinkSample>(
  metrics: Metrics,
  prefix: string,
  gauges: Gauges<Facts>,
  readSamples: () => Promise<Facts[]>,
): void {
  let pendingRead: Promise<Facts[] | undefined> | undefined;

  // All gauges are read together: one question is enough.
  function readOnce(): Promise<Facts[] | undefined> {
    pendingRead ??= readSamples()
      .catch(() => undefined)
      .finally(() => {
        pendingRead = undefined;
      });
    return pendingRead;
  }

  for (const [name, { help, value }] of Object.entries(gauges)) {
    metrics.gauge({
      name: `switchyard_${prefix}_${name}`,
      help,
      labelNames: ['link'],
      async collect() {
        const samples = await readOnce();
        if (samples === undefined) return;
        this.reset();
        for (const sample of samples) this.set({ link: sample.linkId }, value(sample));
      },
    });
  }
}
