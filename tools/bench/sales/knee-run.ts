// Looks for the knee of a running platform, step by step, and reports each result.

import { microseconds, milliseconds, perSecond } from '../report/report-table.ts';
import { createKneeSearch, heldLimits, isRateHeld, type KneeOptions } from './find-knee.ts';
import type { LoadClient, MeasuredStep } from './load-client.ts';
import type { LoadKind } from './load-process-messages.ts';

export type KneeResult = {
  /** What was achieved in the highest step that was held. */
  perSecond: number;
  step: MeasuredStep | undefined;
  steps: MeasuredStep[];
};

export type PrintLine = (line: string) => void;

/** Printed with every result: the definition of "held". */
export const heldDefinition =
  `held: at least ${heldLimits.achievedShare * 100} % of what was offered is answered in its time, ` +
  `p99 is under ${heldLimits.p99Us / 1000} ms from the due time, and there is no error`;

const errorsOf = (step: MeasuredStep) =>
  Object.values(step.errors).reduce((sum, count) => sum + count, 0);

export function isStepHeld(step: MeasuredStep): boolean {
  return !step.givenUp && isRateHeld({ ...step, errors: errorsOf(step) });
}

export function describeStep(step: MeasuredStep): string {
  const figures = [
    `${step.kind} ${perSecond(step.ratePerSecond)}`.padEnd(16),
    (isStepHeld(step) ? 'held' : 'not held').padEnd(8),
    `achieved ${perSecond(step.achievedPerSecond)}`.padEnd(17),
    `p50 ${milliseconds(step.p50Us)}`.padEnd(13),
    `p99 ${milliseconds(step.p99Us)}`.padEnd(14),
    `server ${microseconds(step.cpuUs.server)}`.padEnd(14),
    `PostgreSQL ${microseconds(step.cpuUs.postgres)}`,
    ...Object.entries(step.errors).map(([kind, count]) => `${count} × ${kind}`),
  ];
  return figures.join('  ');
}

const settleMs = 400;

export async function findKnee(
  load: LoadClient,
  options: KneeOptions & { kind: LoadKind; seconds: number; printLine: PrintLine },
): Promise<KneeResult> {
  const search = createKneeSearch(options);
  const steps: MeasuredStep[] = [];
  let best: MeasuredStep | undefined;
  for (let rate = search.next(); rate !== undefined; rate = search.next()) {
    const step = await load.step(options.kind, rate, options.seconds);
    steps.push(step);
    options.printLine(describeStep(step));
    const isHeld = isStepHeld(step);
    if (isHeld && rate >= search.highestHeldRate()) best = step;
    search.report(rate, isHeld);
    await new Promise((resolve) => setTimeout(resolve, settleMs));
  }
  return { perSecond: best?.achievedPerSecond ?? 0, step: best, steps };
}
