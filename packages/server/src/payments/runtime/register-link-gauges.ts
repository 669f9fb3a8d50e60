// Gauges for each acquirer link. Values are read when metrics are scraped.
import type { Metrics } from '../../platform/index.ts';

type LinkSample = { linkId: string };
export type Gauges<Sample> = Readonly<
  Record<string, { help: string; value: (sample: Sample) => number }>
>;

/** @param at RFC 3339 @param now epoch ms */
export const elapsedSeconds = (at: string, now: number): number =>
  Math.max(0, now - Date.parse(at)) / 1000;

/**
 * If the samples cannot be read, the gauges keep their values.
 *
 * @example registerLinkGauges(metrics, 'acquirer_queue', gauges, () => linkQueue.backlog());
 */
export function registerLinkGauges<Sample extends LinkSample>(
  metrics: Metrics,
  prefix: string,
  gauges: Gauges<Sample>,
  readSamples: () => Promise<Sample[]>,
): void {
  let pendingRead: Promise<Sample[] | undefined> | undefined;

  // One read serves all gauges of a scrape.
  function readOnce(): Promise<Sample[] | undefined> {
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
