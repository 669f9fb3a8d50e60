// Computes the figures of a summary line: amounts by currency, rates, reasons and latency.
import type { Summary } from '@switchyard/contract';
import { addFigures, type Figures, zeroFigures } from '../projection/daily-aggregates.ts';
import {
  addLatency,
  computeQuantile,
  type LatencyHistogram,
} from '../projection/latency-histogram.ts';
import { type SumName, sumNames } from '../projection/reported-payment-types.ts';

/** The data of a line, in a form that can be added to other lines. */
export type LineData = {
  readonly sums: Map<string, Figures>;
  /** Declined and failed payments by reason. */
  readonly reasons: Map<string, number>;
  readonly latency: LatencyHistogram;
};

export type LineFigures = Summary['total'];

const reasonsMax = 50;

export const emptyLineData = (): LineData => ({
  sums: new Map(),
  reasons: new Map(),
  latency: new Map(),
});

export function addCurrencyFigures(to: LineData, currency: string, figures: Figures): void {
  const sum = to.sums.get(currency) ?? zeroFigures();
  to.sums.set(currency, sum);
  addFigures(sum, figures);
}

export function addReason({ reasons }: LineData, reason: string, count: number): void {
  reasons.set(reason, (reasons.get(reason) ?? 0) + count);
}

/** Adds all lines to one. */
export function mergeLines(lines: Iterable<LineData>): LineData {
  const merged = emptyLineData();
  for (const { sums, reasons, latency } of lines) {
    for (const [currency, figures] of sums) addCurrencyFigures(merged, currency, figures);
    for (const [reason, count] of reasons) addReason(merged, reason, count);
    addLatency(merged.latency, latency);
  }
  return merged;
}

function toAmounts({ sums }: LineData): LineFigures['amounts'] {
  return [...sums]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([currency, sum]) => {
      const texts = Object.fromEntries(sumNames.map((name) => [name, String(sum[name])]));
      const net = String(sum.captured - sum.refunded - sum.reversed);
      return { currency, ...(texts as Record<SumName, string>), net };
    });
}

function toDeclineReasons({ reasons }: LineData): LineFigures['declineReasons'] {
  return [...reasons]
    .map(([reason, count]) => ({ reason: reason === '' ? 'Unknown' : reason, count }))
    .sort((one, other) => other.count - one.count || (one.reason < other.reason ? -1 : 1))
    .slice(0, reasonsMax);
}

function toLatency({ latency }: LineData): LineFigures['latency'] {
  const p50Ms = computeQuantile(latency, 0.5);
  const p95Ms = computeQuantile(latency, 0.95);
  if (p50Ms === undefined || p95Ms === undefined) return null;
  const count = [...latency.values()].reduce((sum, each) => sum + each, 0);
  return { count, p50Ms, p95Ms };
}

function sumOutcomes({ sums }: LineData) {
  const all = zeroFigures();
  for (const figures of sums.values()) addFigures(all, figures);
  const { approved, declined, failed, other } = all;
  return { approved, declined, failed, count: approved + declined + failed + other };
}

export const getPaymentCount = (line: LineData): number => sumOutcomes(line).count;

export function toLineFigures(line: LineData): LineFigures {
  const { count, approved, declined, failed } = sumOutcomes(line);
  const decided = approved + declined + failed;
  return {
    count,
    approved,
    declined,
    failed,
    approvalRate: decided === 0 ? null : Math.round((approved / decided) * 10_000) / 10_000,
    amounts: toAmounts(line),
    declineReasons: toDeclineReasons(line),
    latency: toLatency(line),
  };
}
