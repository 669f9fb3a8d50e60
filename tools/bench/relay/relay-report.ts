// The figures of the relay, and their sections of the report: each beside its target and the baseline.
import type { BenchOptions } from '../bench-options.ts';
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import {
  errorFigure,
  type Figure,
  figure,
  grouped,
  listErrors,
  microseconds,
  milliseconds,
  perSecond,
  type Section,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { ClaimFigures, RoundTrips } from './relay-clients.ts';

export type RelayStep = RoundTrips & { serverUs: number };
export type RelayCase = {
  tls: boolean;
  pairs: number;
  bytes: number;
  /** Medians of the rounds. */
  baseline: RelayStep;
  platform: RelayStep;
};
export type FloodFigures = {
  reader: 'device' | 'pos';
  growthMib: number;
  acceptedMib: number;
  code: number;
};
export type IdleFigures = {
  pairs: number;
  beforeMib: number;
  afterMib: number;
  openSeconds: number;
};
export type ReconnectionFigures = {
  devices: number;
  open: number;
  /** Since the server listens again, and since its stop signal. */
  seconds: number;
  sinceStopSeconds: number;
  failures: Record<string, number>;
};
export type RelayFigures = {
  cases: RelayCase[];
  idle?: IdleFigures;
  floods: FloodFigures[];
  restart?: { reconnection: ReconnectionFigures; claims: ClaimFigures };
  othersShare: number;
  profile?: Profile;
};

function caseFigures({ tls, pairs, bytes, baseline, platform }: RelayCase): Figure[] {
  const latency = ({ p50Us, p99Us }: RelayStep) => `${milliseconds(p50Us)}, ${milliseconds(p99Us)}`;
  const share = platform.roundTripsPerSecond / baseline.roundTripsPerSecond;
  return [
    {
      label: `${tls ? 'TLS' : 'plain'}, ${grouped(pairs)} × ${bytes} B`,
      value: `${perSecond(platform.roundTripsPerSecond)} of ${perSecond(baseline.roundTripsPerSecond)}`,
    },
    figure('  of the baseline', share, 'ratio', { atLeast: targets.relay.ratioToBaseline }),
    { label: '  p50, p99', value: latency(platform), target: `baseline ${latency(baseline)}` },
    {
      label: '  server, each',
      value: microseconds(platform.serverUs),
      target: `baseline ${microseconds(baseline.serverUs)}`,
    },
  ];
}

function idleFigures({ pairs, beforeMib, afterMib, openSeconds }: IdleFigures): Figure[] {
  const target = { under: targets.relay.idleMib, isJudged: pairs >= targets.relay.idlePairs };
  return [
    figure('server before', beforeMib, 'mebibytes'),
    figure('ten seconds after all are there', afterMib, 'mebibytes', target),
    { label: 'each pair', value: `${(((afterMib - beforeMib) * 1024) / pairs).toFixed(1)} KiB` },
    { label: 'made in', value: `${openSeconds.toFixed(1)} s` },
  ];
}

const floodFigures = ({ reader, growthMib, acceptedMib, code }: FloodFigures): Figure[] => [
  figure(`growth while the ${reader} does not read`, growthMib, 'mebibytes', {
    under: targets.relay.floodMib,
  }),
  figure('  taken of 300 MiB', acceptedMib, 'mebibytes'),
  { label: '  closed during the step', value: code === 0 ? 'no' : String(code) },
];

function reconnectionFigures(reconnection: ReconnectionFigures): Figure[] {
  const { devices, open, seconds, sinceStopSeconds, failures } = reconnection;
  const { backSeconds } = targets.relay;
  return [
    {
      label: 'devices that are back',
      value: `${open} of ${devices}`,
      isReached: open === devices,
    },
    {
      label: 'after the server listened',
      value: `${seconds.toFixed(1)} s`,
      target: `within ${backSeconds} s`,
      isReached: open === devices && seconds <= backSeconds,
    },
    { label: 'after the stop request', value: `${sinceStopSeconds.toFixed(1)} s` },
    { label: 'tries that failed', value: listErrors([{ errors: failures }]) },
  ];
}

const claimFigures = (claims: ClaimFigures): Figure[] => [
  { label: 'claims', value: String(claims.claims) },
  figure('p50', claims.p50Us, 'milliseconds'),
  figure('p99', claims.p99Us, 'milliseconds', { under: targets.relay.claimP99Us }),
  figure('longest', claims.maxUs, 'milliseconds'),
  errorFigure('refused', [claims]),
];

function restartSections(
  { reconnection, claims }: NonNullable<RelayFigures['restart']>,
  rate: number,
): Section[] {
  return [
    {
      title: `${grouped(reconnection.devices)} devices after a restart`,
      figures: reconnectionFigures(reconnection),
    },
    { title: `${rate} claims a second, then`, figures: claimFigures(claims) },
  ];
}

export function buildRelayReport(figures: RelayFigures, { rate }: BenchOptions): BenchResult {
  const { idle, restart, cases, floods, othersShare, profile } = figures;
  const sections: Section[] = [
    { title: 'Round trips, medians', figures: cases.flatMap(caseFigures) },
    { title: '300 MiB to a client that does not read', figures: floods.flatMap(floodFigures) },
  ];
  if (idle !== undefined) {
    sections.push({
      title: `${grouped(idle.pairs)} idle pairs over TLS`,
      figures: idleFigures(idle),
    });
  }
  if (restart !== undefined) sections.push(...restartSections(restart, rate));
  return {
    figures,
    profile,
    othersShare,
    sections: sections.filter(({ figures: lines }) => lines.length > 0),
    notes: [
      'baseline: a process with the same flags that forwards each message by `ws`, and checks nothing',
      'a round trip goes from the point of sale to the device and back; one message is under way for each pair',
    ],
  };
}
