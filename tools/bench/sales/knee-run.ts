// Searches the knee of a running platform, step by step, and reports each result.
import { setTimeout as pause } from 'node:timers/promises';
import { perSecond } from '../report/report-table.ts';
import { createKneeSearch, heldLimits, isRateHeld, type KneeOptions } from './find-knee.ts';
import type { LoadKind, MeasuredStep, SalesLoad } from './load-generator.ts';
import { describeStep, type PrintLine } from './measured-step.ts';

export type KneeResult = {
  /** What was achieved in the highest step that was held. */
  perSecond: number;
  step: MeasuredStep | undefined;
  steps: MeasuredStep[];
};

export const shareOfKnee = 0.7;
/** The step at 70 % is this many times longer than one of a search. */
export const longStep = 3;

/** Printed with every result: the definition of "held". */
export const heldDefinition =
  `held: at least ${heldLimits.achievedShare * 100} % of what was offered is answered in its time, ` +
  `p99 is under ${heldLimits.p99Us / 1000} ms from the due time, and there is no error`;

function isStepHeld(step: MeasuredStep): boolean {
  const errors = Object.values(step.errors).reduce((sum, count) => sum + count, 0);
  return !step.givenUp && isRateHeld({ ...step, errors });
}

export function describeSalesStep(step: MeasuredStep): string {
  const rate = `${step.kind} ${perSecond(step.ratePerSecond)}`.padEnd(16);
  return describeStep(`${rate}  ${isStepHeld(step) ? 'held' : 'not held'}`, step);
}

const settleMs = 400;

export async function runKneeSearch(
  load: SalesLoad,
  printLine: PrintLine,
  options: KneeOptions & { kind: LoadKind; seconds: number },
): Promise<KneeResult> {
  const search = createKneeSearch(options);
  const steps: MeasuredStep[] = [];
  let best: MeasuredStep | undefined;
  for (let rate = search.next(); rate !== undefined; rate = search.next()) {
    const step = await load.step(options.kind, rate, options.seconds);
    steps.push(step);
    printLine(describeSalesStep(step));
    const isHeld = isStepHeld(step);
    if (isHeld && rate >= search.highestHeldRate()) best = step;
    search.report(rate, isHeld);
    await pause(settleMs);
  }
  return { perSecond: best?.achievedPerSecond ?? 0, step: best, steps };
}
