// The figures of a line out of sums by group: money by currency, rates, reasons, times. Pure.
import type { Summary } from '@switchyard/contract';
import { type Figures, noFigures } from '../projection/cells.ts';
import type { KnownGroup } from '../projection/dictionary.ts';
import { addLatency, type Latency, quantileOf } from '../projection/latency.ts';
import { type SumName, sumNames } from '../projection/model.ts';

/** Of one group, in one line. */
export type GroupSums = { readonly of: KnownGroup; readonly figures: Figures };

export type Parts = { readonly sums: GroupSums[]; readonly latency: Latency };

export type LineFigures = Summary['total'];

const reasonsMax = 50;

function amountsOf(sums: readonly GroupSums[]): LineFigures['amounts'] {
  const byCurrency = new Map<string, Figures>();
  for (const { of, figures } of sums) {
    const sum = byCurrency.get(of.currency) ?? noFigures();
    byCurrency.set(of.currency, sum);
    for (const name of sumNames) sum[name] += figures[name];
  }
  return [...byCurrency]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, sum]) => {
      const texts = Object.fromEntries(sumNames.map((name) => [name, String(sum[name])]));
      const net = String(sum.captured - sum.refunded - sum.reversed);
      return { currency, ...(texts as Record<SumName, string>), net };
    });
}

function reasonsOf(sums: readonly GroupSums[]): LineFigures['declineReasons'] {
  const counts = new Map<string, number>();
  for (const { of, figures } of sums) {
    const count = figures.declined + figures.failed;
    const reason = of.reason === '' ? 'Unknown' : of.reason;
    if (count > 0) counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .sort((one, other) => other.count - one.count || (one.reason < other.reason ? -1 : 1))
    .slice(0, reasonsMax);
}

function latencyOf(latency: Latency): LineFigures['latency'] {
  const p50Ms = quantileOf(latency, 0.5);
  const p95Ms = quantileOf(latency, 0.95);
  if (p50Ms === undefined || p95Ms === undefined) return null;
  const count = [...latency.values()].reduce((sum, each) => sum + each, 0);
  return { count, p50Ms, p95Ms };
}

const total = (sums: readonly GroupSums[], name: 'approved' | 'declined' | 'failed' | 'other') =>
  sums.reduce((sum, { figures }) => sum + figures[name], 0);

export function figuresOf({ sums, latency }: Parts): LineFigures {
  const approved = total(sums, 'approved');
  const declined = total(sums, 'declined');
  const failed = total(sums, 'failed');
  const judged = approved + declined + failed;
  return {
    count: judged + total(sums, 'other'),
    ...{ approved, declined, failed },
    approvalRate: judged === 0 ? null : Math.round((approved / judged) * 10_000) / 10_000,
    amounts: amountsOf(sums),
    declineReasons: reasonsOf(sums),
    latency: latencyOf(latency),
  };
}

/** Lines together, by a name that each of their groups has. */
export function regrouped(
  parts: Parts,
  latencies: ReadonlyMap<number, Latency>,
  name: (of: KnownGroup) => string,
) {
  const lines = new Map<string, Parts>();
  for (const each of parts.sums) {
    const key = name(each.of);
    const line: Parts = lines.get(key) ?? { sums: [], latency: new Map() };
    lines.set(key, line);
    line.sums.push(each);
    addLatency(line.latency, latencies.get(each.of.groupId) ?? []);
  }
  return lines;
}
