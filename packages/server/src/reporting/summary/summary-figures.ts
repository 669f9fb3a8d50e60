// Computes the figures of a summary line: amounts by currency, rates, reasons and latency.
import type { Summary } from '@switchyard/contract';
import { addFigures, type Figures, noFigures } from '../projection/daily-aggregates.ts';
import { addLatency, type Latency, quantileOf } from '../projection/latency-histogram.ts';
import { type SumName, sumNames } from '../projection/reported-payment-types.ts';

/** The data of a line, in a form that can be added to other lines. */
export type Line = {
  readonly sums: Map<string, Figures>;
  /** Declined and failed payments by reason. */
  readonly reasons: Map<string, number>;
  readonly latency: Latency;
};

export type LineFigures = Summary['total'];

const reasonsMax = 50;

export const emptyLine = (): Line => ({ sums: new Map(), reasons: new Map(), latency: new Map() });

export function addSums(to: Line, currency: string, figures: Figures): void {
  const sum = to.sums.get(currency) ?? noFigures();
  to.sums.set(currency, sum);
  addFigures(sum, figures);
}

export function addReason({ reasons }: Line, reason: string, count: number): void {
  reasons.set(reason, (reasons.get(reason) ?? 0) + count);
}

/** Adds all lines to one. */
export function together(lines: Iterable<Line>): Line {
  const whole = emptyLine();
  for (const { sums, reasons, latency } of lines) {
    for (const [currency, figures] of sums) addSums(whole, currency, figures);
    for (const [reason, count] of reasons) addReason(whole, reason, count);
    addLatency(whole.latency, latency);
  }
  return whole;
}

function amountsOf({ sums }: Line): LineFigures['amounts'] {
  return [...sums]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, sum]) => {
      const texts = Object.fromEntries(sumNames.map((name) => [name, String(sum[name])]));
      const net = String(sum.captured - sum.refunded - sum.reversed);
      return { currency, ...(texts as Record<SumName, string>), net };
    });
}

function reasonsOf({ reasons }: Line): LineFigures['declineReasons'] {
  return [...reasons]
    .map(([reason, count]) => ({ reason: reason === '' ? 'Unknown' : reason, count }))
    .sort((one, other) => other.count - one.count || (one.reason < other.reason ? -1 : 1))
    .slice(0, reasonsMax);
}

function latencyOf({ latency }: Line): LineFigures['latency'] {
  const p50Ms = quantileOf(latency, 0.5);
  const p95Ms = quantileOf(latency, 0.95);
  if (p50Ms === undefined || p95Ms === undefined) return null;
  const count = [...latency.values()].reduce((sum, each) => sum + each, 0);
  return { count, p50Ms, p95Ms };
}

function endingsOf({ sums }: Line) {
  const all = noFigures();
  for (const figures of sums.values()) addFigures(all, figures);
  const { approved, declined, failed, other } = all;
  return { approved, declined, failed, count: approved + declined + failed + other };
}

export const countOf = (line: Line): number => endingsOf(line).count;

export function figuresOf(line: Line): LineFigures {
  const { count, approved, declined, failed } = endingsOf(line);
  const judged = approved + declined + failed;
  return {
    count,
    approved,
    declined,
    failed,
    approvalRate: judged === 0 ? null : Math.round((approved / judged) * 10_000) / 10_000,
    amounts: amountsOf(line),
    declineReasons: reasonsOf(line),
    latency: latencyOf(line),
  };
}
