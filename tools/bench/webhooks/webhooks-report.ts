// Turns the figures of webhooks into the table that people read: each beside its target.

import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import {
  layOutTable,
  mebibytes,
  microseconds,
  milliseconds,
  percent,
  perSecond,
  type Section,
  slopeOfPoints,
} from '../report/report-table.ts';
import { machineLines, profileSections } from '../report/sales-report.ts';
import type { WebhookFigures } from './bench-webhooks.ts';

/** The targets, with one of ten endpoints dead and one slow. */
export const webhookTargets = {
  perSecond: 1500,
  p99Us: 1_000_000,
  /** Flat: what the age of the outbox rises by, in a second. */
  ageSlopeMs: 5,
} as const;

function speed({ kneePerSecond, barePerSecond, at70 }: WebhookFigures): Section {
  return {
    title: 'Deliveries to eight endpoints that are well, beside a slow and a dead one',
    figures: [
      {
        name: 'highest rate that is held',
        value: perSecond(kneePerSecond),
        target: `at least ${perSecond(webhookTargets.perSecond)}`,
        reached: kneePerSecond >= webhookTargets.perSecond,
      },
      { name: 'bare line', value: perSecond(barePerSecond) },
      { name: 'share of the bare line', value: (kneePerSecond / barePerSecond).toFixed(2) },
      {
        name: `p50 behind the commit at 70 % (${perSecond(at70.ratePerSecond)})`,
        value: milliseconds(at70.p50Us),
      },
      {
        name: 'p99 behind the commit at 70 %',
        value: milliseconds(at70.p99Us),
        target: `under ${milliseconds(webhookTargets.p99Us)}`,
        reached: at70.p99Us < webhookTargets.p99Us,
      },
      { name: 'longest at 70 %', value: milliseconds(at70.maxUs) },
      {
        name: 'missing at 70 %',
        value: String(at70.missing),
        target: 'none',
        reached: at70.missing === 0,
      },
    ],
  };
}

function outbox({ at70 }: WebhookFigures): Section {
  const ages = at70.outboxAgesMs.map((y, x) => ({ x, y }));
  const slope = slopeOfPoints(ages);
  return {
    title: 'Age of the outbox at 70 %, looked at every second',
    figures: [
      { name: 'highest', value: milliseconds(Math.max(0, ...at70.outboxAgesMs) * 1000) },
      {
        name: 'rises in a second by',
        value: `${slope.toFixed(2)} ms`,
        target: `at most ${webhookTargets.ageSlopeMs} ms`,
        reached: slope <= webhookTargets.ageSlopeMs,
      },
    ],
  };
}

function costs({ at70, residentHighestMib }: WebhookFigures): Section {
  return {
    title: 'CPU time for each delivery at 70 %',
    figures: [
      { name: 'server', value: microseconds(at70.cpuUs.server) },
      { name: 'PostgreSQL', value: microseconds(at70.cpuUs.postgres) },
      { name: 'receivers', value: microseconds(at70.cpuUs.receiver) },
      { name: 'machine busy', value: percent(at70.busyShare) },
      { name: 'server at its highest', value: mebibytes(residentHighestMib) },
    ],
  };
}

export function writeWebhooksReport(
  figures: WebhookFigures,
  { seed }: BenchOptions,
  machine: MachineDescription,
): string {
  const others = Math.max(figures.at70.othersShare, ...figures.steps.map((one) => one.othersShare));
  const definition =
    'held: every delivery came, 99 of 100 within a second of the commit of their event';
  const notes = [...machineLines(machine, others), `seed ${seed}`, definition];
  return [
    layOutTable([speed(figures), outbox(figures), costs(figures)]),
    ...profileSections(figures.profile),
    notes.map((line) => `  ${line}\n`).join(''),
  ].join('\n');
}
