// The figures of QR payments, and their sections of the report.
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { errorFigure, type Figure, figure, noneFigure, perSecond } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { StepResult } from '../sales/fixed-rate-load.ts';
import type { EventDelays } from './qr-terminals.ts';

export type QrStep = StepResult & {
  serverUs: number;
  postgresUs: number;
  providerUs: number;
  /** How much of the machine was busy with other work; 1 is all of it. */
  othersShare: number;
};

export type WaitingFigures = {
  terminals: number;
  /** MiB of the whole server: at rest, when all of them wait, and a while later. */
  before: number;
  after: number;
  settled: number;
  openSeconds: number;
  lost: number;
  /** CPU of the server without events, 1 is one core. */
  idleCores: number;
};

export type QrFigures = {
  baseline: QrStep;
  creates: QrStep;
  waiting: WaitingFigures;
  events: EventDelays;
  profile?: Profile;
};

/** The share of the offered requests that is answered in time; none fails. */
const leastShare = 0.98;

const costs = (step: QrStep): Figure[] => [
  figure('p50', step.p50Us, 'milliseconds'),
  figure('p99', step.p99Us, 'milliseconds'),
  figure('server, each', step.serverUs, 'microseconds'),
  figure('PostgreSQL, each', step.postgresUs, 'microseconds'),
  errorFigure('errors', [step]),
];

function createFigures({ creates, baseline }: QrFigures): Figure[] {
  return [
    {
      label: 'answered in their time',
      value: perSecond(creates.achievedPerSecond),
      target: perSecond(targets.qr.createsPerSecond),
      isReached: creates.achievedPerSecond >= creates.offeredPerSecond * leastShare,
    },
    ...costs(creates),
    {
      label: 'server, relative to the baseline',
      value: (creates.serverUs / baseline.serverUs).toFixed(1),
    },
  ];
}

function waitingFigures(waiting: WaitingFigures): Figure[] {
  const { terminals, before, after, settled, openSeconds, idleCores, lost } = waiting;
  const target = { under: targets.qr.residentMib, isJudged: terminals >= targets.qr.waiting };
  return [
    figure('server before', before, 'mebibytes'),
    figure('when all of them wait', after, 'mebibytes'),
    figure('ten seconds later', settled, 'mebibytes', target),
    { label: 'each', value: `${(((settled - before) * 1024) / terminals).toFixed(1)} KiB` },
    { label: 'connected in', value: `${openSeconds.toFixed(1)} s` },
    { label: 'server while nothing happens', value: `${(idleCores * 100).toFixed(1)} % of a core` },
    noneFigure('streams lost', lost),
  ];
}

const eventFigures = (events: EventDelays): Figure[] => [
  figure('events', events.perSecond, 'perSecond'),
  figure('p50', events.p50Us, 'milliseconds'),
  figure('p99', events.p99Us, 'milliseconds', { atMost: targets.qr.eventP99Us }),
  figure('longest', events.maxUs, 'milliseconds'),
  figure('acknowledged, p99', events.acknowledgedP99Us, 'milliseconds'),
  errorFigure('errors', [events]),
];

export function reportQr(figures: QrFigures): BenchResult {
  const { waiting, baseline, creates, events, profile } = figures;
  const count = waiting.terminals.toLocaleString('en');
  return {
    figures,
    profile,
    sections: [
      { title: 'Bare line', figures: costs(baseline) },
      {
        title: 'QR payments created, a provider at zero delay',
        figures: createFigures(figures),
      },
      {
        title: `${count} terminals on streams over TLS, memory of the server`,
        figures: waitingFigures(waiting),
      },
      { title: 'Events from the provider to the terminal', figures: eventFigures(events) },
    ],
    othersShare: Math.max(baseline.othersShare, creates.othersShare),
    notes: [
      'baseline: a TLS server that forwards each call to the same provider, and stores, checks and signs nothing',
      'events: from the moment at which the provider’s event is due to its arrival at the terminal',
    ],
  };
}
