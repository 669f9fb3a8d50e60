// Gauges of what waits for each acquirer link, read when somebody asks, so that they cost nothing in between.
import type { Metrics } from '../../platform/index.ts';

type OfLink = { linkId: string };
export type Gauges<Facts> = Readonly<
  Record<string, { help: string; value: (facts: Facts) => number }>
>;

/** Seconds from a moment, RFC 3339, until now, epoch milliseconds. */
export const secondsSince = (at: string, now: number): number =>
  Math.max(0, now - Date.parse(at)) / 1000;

/**
 * Where the facts cannot be read, the gauges stay as they were: a metric is no reason to fail.
 *
 * @example measureLinks(metrics, 'acquirer_queue', gauges, () => lanes.queues());
 */
export function measureLinks<Facts extends OfLink>(
  metrics: Metrics,
  prefix: string,
  gauges: Gauges<Facts>,
  read: () => Promise<Facts[]>,
): void {
  let asked: Promise<Facts[] | undefined> | undefined;

  // All gauges are read together: one question is enough.
  function readOnce(): Promise<Facts[] | undefined> {
    asked ??= read()
      .catch(() => undefined)
      .finally(() => {
        asked = undefined;
      });
    return asked;
  }

  for (const [name, { help, value }] of Object.entries(gauges)) {
    metrics.gauge({
      name: `switchyard_${prefix}_${name}`,
      help,
      labelNames: ['link'],
      async collect() {
        const links = await readOnce();
        if (links === undefined) return;
        this.reset();
        for (const facts of links) this.set({ link: facts.linkId }, value(facts));
      },
    });
  }
}
