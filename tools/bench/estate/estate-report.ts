// The figures of an estate, and their sections of the report.
import type { BenchOptions } from '../bench-options.ts';
import type { Profile } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import {
  errorFigure,
  figure,
  grouped,
  latencyFigures,
  microseconds,
  noneFigure,
  perSecond,
  type Section,
  seconds,
} from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import type { CostedStep } from '../sales/measured-step.ts';
import type { ImportFigures } from './estate-import.ts';
import type { Listing } from './estate-listing.ts';
import { type SearchName, searchCases } from './estate-requests.ts';

export type EstateFigures = {
  devices: number;
  organizations: number;
  fillSeconds: number;
  searches: { name: SearchName; step: CostedStep; inserts: CostedStep }[];
  listing: Listing;
  /** One service at a device, for its owner; and all of a device, for the device itself. */
  configuration: { service: CostedStep; device: CostedStep };
  imported: ImportFigures;
  residentHighestMib: number;
  profile?: Profile;
};

export const configurationTitles = {
  service: 'one service, for its owner',
  device: 'all services, for the device',
} as const;

/** A smaller estate says nothing about a large one. */
const isLarge = ({ devices, organizations }: EstateFigures) =>
  devices >= targets.estate.devices && organizations >= targets.estate.organizations;

function searchSection(figures: EstateFigures, rate: number): Section {
  const { searches } = figures;
  const target = { under: targets.estate.searchP99Us, isJudged: isLarge(figures) };
  const insertsPerSecond =
    searches.reduce((sum, { inserts }) => sum + inserts.achievedPerSecond, 0) / searches.length;
  return {
    title: `Search at ${perSecond(rate)}, while devices are added`,
    figures: [
      ...searches.flatMap(({ name, step }) =>
        latencyFigures(searchCases[name].title, step, target),
      ),
      errorFigure(
        'errors',
        searches.map(({ step }) => step),
      ),
      figure('devices added during the listing', insertsPerSecond, 'perSecond'),
      errorFigure(
        'errors of these',
        searches.map(({ inserts }) => inserts),
      ),
    ],
  };
}

function listingSection({ listing }: EstateFigures): Section {
  return {
    title: `A list of ${grouped(listing.before)} devices, page by page, while others are added`,
    figures: [
      figure('seen', listing.listed, 'grouped'),
      figure('added during the listing', listing.added, 'grouped'),
      noneFigure('seen twice', listing.doubled),
      noneFigure('missed', listing.missed),
      { label: 'time', value: `${seconds(listing.seconds)} for ${listing.pages} pages` },
    ],
  };
}

function configurationSection(figures: EstateFigures, rate: number): Section {
  const { service, device } = figures.configuration;
  const target = { under: targets.estate.configurationP99Us, isJudged: isLarge(figures) };
  return {
    title: `Effective configuration at a device, at ${perSecond(rate)}`,
    figures: [
      ...latencyFigures(configurationTitles.service, service, target),
      ...latencyFigures(configurationTitles.device, device, target),
      errorFigure('errors', [service, device]),
    ],
  };
}

function importSection({ imported }: EstateFigures): Section {
  const { runs, linesPerSecond, devicesPerSecond, bareRowsPerSecond, cpuUs } = imported;
  const failed = runs.flatMap((run) => run.failed);
  const target = { atLeast: targets.estate.devicesPerSecond };
  return {
    title: 'Bulk import',
    figures: [
      figure('lines', linesPerSecond, 'perSecond'),
      figure('devices, each a place and its hardware', devicesPerSecond, 'perSecond', target),
      ...runs.map((run, at) =>
        figure(`request ${at + 1}: ${grouped(run.lines)} lines`, run.seconds, 'seconds'),
      ),
      {
        label: 'a line: server, PostgreSQL',
        value: `${microseconds(cpuUs.server)}, ${microseconds(cpuUs.postgres)}`,
      },
      figure('the same rows by pg alone', bareRowsPerSecond, 'perSecond'),
      figure('lines over rows of pg alone', linesPerSecond / bareRowsPerSecond, 'ratio'),
      noneFigure(
        'lines that failed',
        failed.length,
        failed[0] ? `${failed.length}: ${failed[0]}` : 'none',
      ),
    ],
  };
}

export function reportEstate(figures: EstateFigures, { rate }: BenchOptions): BenchResult {
  const { devices, organizations, searches } = figures;
  return {
    figures,
    profile: figures.profile,
    sections: [
      searchSection(figures, rate),
      listingSection(figures),
      configurationSection(figures, rate),
      importSection(figures),
      {
        title: 'Beside it',
        figures: [
          figure('filling the tables took', figures.fillSeconds, 'seconds'),
          figure('memory of the server, highest', figures.residentHighestMib, 'mebibytes'),
        ],
      },
    ],
    othersShare: Math.max(0, ...searches.map(({ step }) => step.othersShare)),
    notes: [
      `${grouped(devices)} devices in ${grouped(organizations)} organisations, a fifth of them in the largest; ` +
        'half of the questions go there; arrivals of a Poisson process, over TLS',
    ],
  };
}
