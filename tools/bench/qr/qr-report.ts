// Turns the figures of QR payments into the table that people read: each beside its target and the bare line.

import type { BenchOptions } from '../bench-options.ts';
import type { MachineDescription } from '../environment/machine.ts';
import {
  type Figure,
  layOutTable,
  mebibytes,
  microseconds,
  milliseconds,
  perSecond,
} from '../report/report-table.ts';
import { machineLines, profileSections } from '../report/sales-report.ts';
import { type QrFigures, type QrStep, qrTargets } from './bench-qr.ts';

const errorsOf = (errors: Readonly<Record<string, number>>) =>
  Object.entries(errors)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ') || 'none';

/** The share of the offered requests that is answered in time; none fails. */
const leastShare = 0.98;

function errorFigure(errors: Readonly<Record<string, number>>): Figure {
  const errorText = errorsOf(errors);
  return { name: 'errors', value: errorText, target: 'none', reached: errorText === 'none' };
}

function costs(step: QrStep): Figure[] {
  return [
    { name: 'p50', value: milliseconds(step.p50Us) },
    { name: 'p99', value: milliseconds(step.p99Us) },
    { name: 'server, each', value: microseconds(step.serverUs) },
    { name: 'PostgreSQL, each', value: microseconds(step.postgresUs) },
    errorFigure(step.errors),
  ];
}

function createFigures({ creates, baseline: bare }: QrFigures): Figure[] {
  const targetRate = qrTargets.createsPerSecond;
  return [
    {
      name: 'answered in their time',
      value: perSecond(creates.achievedPerSecond),
      target: perSecond(targetRate),
      reached: creates.achievedPerSecond >= creates.offeredPerSecond * leastShare,
    },
    ...costs(creates),
    { name: 'server, over the bare line', value: (creates.serverUs / bare.serverUs).toFixed(1) },
  ];
}

function waitingFigures({ waiting }: QrFigures): Figure[] {
  const { terminals, before, after, settled, lost } = waiting;
  const counts = terminals >= qrTargets.waiting;
  return [
    { name: 'server before', value: mebibytes(before) },
    { name: 'when all of them wait', value: mebibytes(after) },
    {
      name: 'ten seconds later',
      value: mebibytes(settled),
      target: `under ${qrTargets.residentMib} MiB`,
      ...(counts ? { reached: settled < qrTargets.residentMib } : {}),
    },
    { name: 'each', value: `${(((settled - before) * 1024) / terminals).toFixed(1)} KiB` },
    { name: 'connected in', value: `${waiting.openSeconds.toFixed(1)} s` },
    {
      name: 'server while nothing happens',
      value: `${(waiting.idleCores * 100).toFixed(1)} % of a core`,
    },
    { name: 'streams lost', value: String(lost), target: '0', reached: lost === 0 },
  ];
}

function eventFigures({ events }: QrFigures): Figure[] {
  return [
    { name: 'events', value: perSecond(events.perSecond) },
    { name: 'p50', value: milliseconds(events.p50Us) },
    {
      name: 'p99',
      value: milliseconds(events.p99Us),
      target: `within ${milliseconds(qrTargets.eventP99Us)}`,
      reached: events.p99Us <= qrTargets.eventP99Us,
    },
    { name: 'longest', value: milliseconds(events.maxUs) },
    { name: 'acknowledged, p99', value: milliseconds(events.acknowledgedP99Us) },
    errorFigure(events.errors),
  ];
}

const notes = [
  'bare line: a TLS server that hands each call on to the same provider, and stores, checks and signs nothing',
  'events: from the moment at which the provider’s event is due to its arrival at the terminal',
];

/** @example process.stdout.write(reportQr(figures, options, machine)); */
export function writeQrReport(
  figures: QrFigures,
  { seed }: BenchOptions,
  machine: MachineDescription,
): string {
  const { waiting, baseline: bare, profile } = figures;
  const count = waiting.terminals.toLocaleString('en');
  const sections = [
    { title: 'Bare line', figures: costs(bare) },
    { title: 'QR payments created, a provider at zero delay', figures: createFigures(figures) },
    {
      title: `${count} terminals on streams over TLS, memory of the server`,
      figures: waitingFigures(figures),
    },
    { title: 'Events from the provider to the terminal', figures: eventFigures(figures) },
  ];
  const lines = [
    ...machineLines(machine, Math.max(bare.othersShare, figures.creates.othersShare)),
    ...notes,
    `seed ${seed}`,
  ];
  return [
    layOutTable(sections),
    ...profileSections(profile),
    lines.map((line) => `  ${line}\n`).join(''),
  ].join('\n');
}
