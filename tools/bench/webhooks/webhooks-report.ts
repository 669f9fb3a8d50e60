// The figures of webhooks, and their sections of the report.
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import {
  figure,
  noneFigure,
  perSecond,
  type Section,
  slopeOfPoints,
  type Unit,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { ReceivedCounts } from './webhooks-receiver.ts';

export type WebhookStep = ReceivedCounts & {
  ratePerSecond: number;
  seconds: number;
  /** How long after the last event the last delivery came. */
  behindMs: number;
  missing: number;
  /** CPU time for each delivery, µs. */
  cpuUs: Record<'server' | 'postgres' | 'receiver', number>;
  busyShare: number;
  othersShare: number;
  /** Age of the oldest row of the outbox, second by second. */
  outboxAgesMs: number[];
};

export type WebhookFigures = {
  kneePerSecond: number;
  barePerSecond: number;
  steps: WebhookStep[];
  at70: WebhookStep;
  residentHighestMib: number;
  profile?: Profile;
};

const preciseMilliseconds: Unit = (ms) => `${ms.toFixed(2)} ms`;

function speed({ kneePerSecond, barePerSecond, at70 }: WebhookFigures): Section {
  const { perSecond: rate, p99Us } = targets.webhooks;
  return {
    title: 'Deliveries to eight endpoints that are well, beside a slow and a dead one',
    figures: [
      figure('highest rate that is held', kneePerSecond, 'perSecond', { atLeast: rate }),
      figure('baseline', barePerSecond, 'perSecond'),
      figure('share of the baseline', kneePerSecond / barePerSecond, 'ratio'),
      figure(
        `p50 behind the commit at 70 % (${perSecond(at70.ratePerSecond)})`,
        at70.p50Us,
        'milliseconds',
      ),
      figure('p99 behind the commit at 70 %', at70.p99Us, 'milliseconds', { under: p99Us }),
      figure('longest at 70 %', at70.maxUs, 'milliseconds'),
      noneFigure('missing at 70 %', at70.missing),
    ],
  };
}

function outbox({ outboxAgesMs }: WebhookStep): Section {
  const slope = slopeOfPoints(outboxAgesMs.map((y, x) => ({ x, y })));
  const target = { atMost: targets.webhooks.ageSlopeMs };
  return {
    title: 'Age of the outbox at 70 %, looked at every second',
    figures: [
      figure('highest', Math.max(0, ...outboxAgesMs) * 1000, 'milliseconds'),
      figure('rises in a second by', slope, preciseMilliseconds, target),
    ],
  };
}

function costs({ at70, residentHighestMib }: WebhookFigures): Section {
  return {
    title: 'CPU time for each delivery at 70 %',
    figures: [
      figure('server', at70.cpuUs.server, 'microseconds'),
      figure('PostgreSQL', at70.cpuUs.postgres, 'microseconds'),
      figure('receivers', at70.cpuUs.receiver, 'microseconds'),
      figure('machine busy', at70.busyShare, 'percent'),
      figure('server at its highest', residentHighestMib, 'mebibytes'),
    ],
  };
}

export function reportWebhooks(figures: WebhookFigures): BenchResult {
  const { at70, steps, profile } = figures;
  return {
    figures,
    profile,
    sections: [speed(figures), outbox(at70), costs(figures)],
    othersShare: Math.max(at70.othersShare, ...steps.map((step) => step.othersShare)),
    notes: ['held: every delivery came, 99 of 100 within a second of the commit of their event'],
  };
}
