// Turns the figures of the relay into the table that people read: each beside its target and the bare line.

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
import { type RelayCase, type RelayFigures, relayTargets } from './bench-relay.ts';

const listed = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts)
    .map(([what, count]) => `${count} × ${what}`)
    .join(', ') || 'none';

function caseFigures({ tls, pairs, bytes, bare, platform }: RelayCase): Figure[] {
  const name = `${tls ? 'TLS' : 'plain'}, ${pairs.toLocaleString('en')} × ${bytes} B`;
  const ratio = platform.roundTripsPerSecond / bare.roundTripsPerSecond;
  const latency = ({ p50Us, p99Us }: typeof bare) =>
    `${milliseconds(p50Us)}, ${milliseconds(p99Us)}`;
  return [
    {
      name,
      value: `${perSecond(platform.roundTripsPerSecond)} of ${perSecond(bare.roundTripsPerSecond)}`,
    },
    {
      name: '  of the bare line',
      value: ratio.toFixed(2),
      target: `at least ${relayTargets.shareOfBare}`,
      reached: ratio >= relayTargets.shareOfBare,
    },
    { name: '  p50, p99', value: latency(platform), target: `bare ${latency(bare)}` },
    {
      name: '  server, each',
      value: microseconds(platform.serverUs),
      target: `bare ${microseconds(bare.serverUs)}`,
    },
  ];
}

function idleFigures({ idle }: RelayFigures): Figure[] {
  const { pairs, beforeMib, afterMib, openSeconds } = idle;
  const counts = pairs >= relayTargets.idlePairs;
  return [
    { name: 'server before', value: mebibytes(beforeMib) },
    {
      name: 'ten seconds after all are there',
      value: mebibytes(afterMib),
      target: `under ${relayTargets.idleMib} MiB`,
      ...(counts ? { reached: afterMib < relayTargets.idleMib } : {}),
    },
    { name: 'each pair', value: `${(((afterMib - beforeMib) * 1024) / pairs).toFixed(1)} KiB` },
    { name: 'made in', value: `${openSeconds.toFixed(1)} s` },
  ];
}

const floodFigures = ({ floods }: RelayFigures): Figure[] =>
  floods.flatMap(({ reader, growthMib, acceptedMib, code }) => [
    {
      name: `growth while the ${reader} does not read`,
      value: mebibytes(growthMib),
      target: `under ${relayTargets.floodMib} MiB`,
      reached: growthMib < relayTargets.floodMib,
    },
    { name: '  taken of 300 MiB', value: mebibytes(acceptedMib) },
    { name: '  closed meanwhile', value: code === 0 ? 'no' : String(code) },
  ]);

function backFigures({ reconnection: back }: RelayFigures): Figure[] {
  const { devices, open, seconds, sinceStopSeconds, failures } = back;
  return [
    { name: 'devices that are back', value: `${open} of ${devices}`, reached: open === devices },
    {
      name: 'after the server listened',
      value: `${seconds.toFixed(1)} s`,
      target: `within ${relayTargets.backSeconds} s`,
      reached: open === devices && seconds <= relayTargets.backSeconds,
    },
    { name: 'after it was told to stop', value: `${sinceStopSeconds.toFixed(1)} s` },
    { name: 'tries that failed', value: listed(failures) },
  ];
}

function claimFigures({ claims }: RelayFigures): Figure[] {
  const errors = listed(claims.errors);
  return [
    { name: 'claims', value: String(claims.claims) },
    { name: 'p50', value: milliseconds(claims.p50Us) },
    {
      name: 'p99',
      value: milliseconds(claims.p99Us),
      target: `under ${milliseconds(relayTargets.claimP99Us)}`,
      reached: claims.p99Us < relayTargets.claimP99Us,
    },
    { name: 'longest', value: milliseconds(claims.maxUs) },
    { name: 'refused', value: errors, target: 'none', reached: errors === 'none' },
  ];
}

const notes = [
  'bare: a process with the same flags that hands each message on by `ws`, and checks nothing',
  'a round trip goes from the point of sale to the device and back; one message is under way for each pair',
];

/** @example process.stdout.write(reportRelay(figures, options, machine)); */
export function writeRelayReport(
  figures: RelayFigures,
  options: BenchOptions,
  machine: MachineDescription,
): string {
  const { idle, reconnection: back, cases, profile } = figures;
  const count = (value: number) => value.toLocaleString('en');
  const sections = [
    { title: 'Round trips, medians', figures: cases.flatMap(caseFigures) },
    { title: `${count(idle.pairs)} idle pairs over TLS`, figures: idleFigures(figures) },
    { title: '300 MiB to who does not read', figures: floodFigures(figures) },
    { title: `${count(back.devices)} devices after a restart`, figures: backFigures(figures) },
    { title: `${options.rate} claims a second, then`, figures: claimFigures(figures) },
  ];
  const lines = [...machineLines(machine, figures.othersShare), ...notes, `seed ${options.seed}`];
  return [
    layOutTable(sections),
    ...profileSections(profile),
    lines.map((line) => `  ${line}\n`).join(''),
  ].join('\n');
}
