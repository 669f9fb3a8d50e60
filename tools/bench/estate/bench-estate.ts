// `bench estate`: a million devices: finding one among them, walking through them, bringing more in.

import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type CpuTimes, readCpu } from '../report/process-times.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { milliseconds, perSecond } from '../report/report-table.ts';
import { runStep, type StepResult } from '../sales/fixed-rate-load.ts';
import type { PrintLine } from '../sales/knee-run.ts';
import { costBetween } from '../sales/load-client.ts';
import { createRandom } from '../sales/request-schedule.ts';
import { createEstateCaller } from './estate-client.ts';
import { configureEstate, createConfigurationRequests } from './estate-configuration.ts';
import { createDeviceRequests, fetchDeviceTokens } from './estate-devices.ts';
import { type EstateEnvironment, openEstateEnvironment } from './estate-environment.ts';
import { benchImport, type ImportFigures, importDuringListing } from './estate-import.ts';
import { type Listing, walkListing } from './estate-listing.ts';
import { estateId } from './estate-plan.ts';
import {
  createEstateQueries,
  type EstateQuery,
  type QueryName,
  queryNames,
  queryTitles,
} from './estate-queries.ts';

export type EstateStep = StepResult & ReturnType<typeof costBetween> & { ratePerSecond: number };

export type EstateFigures = {
  devices: number;
  organizations: number;
  fillSeconds: number;
  searches: { name: QueryName; step: EstateStep; inserts: StepResult }[];
  listing: Listing;
  /** One service at a device, as its owner asks; and all of a device, as the device itself asks. */
  configuration: { service: EstateStep; device: EstateStep };
  imported: ImportFigures;
  residentHighestMib: number;
  profile?: Profile;
};

export const configurationTitles = {
  service: 'one service, for its owner',
  device: 'all services, for the device',
} as const;

const warmUpSeconds = 2;
/** So many devices are added each second while others are looked for; they may wait longer. */
const insertsPerSecond = 20;
/** The list that is walked through is that of the second largest organisation. */
const walkedAt = 1;

type Load = { ratePerSecond: number; seconds: number; random: () => number };

/** Requests at a rate, with what each of them has cost. */
async function measure(
  scene: EstateEnvironment,
  exchange: EstateEnvironment['readers'],
  { ratePerSecond, seconds, random }: Load,
  request: () => EstateQuery,
): Promise<EstateStep> {
  const watched = {
    server: scene.server.pid,
    postgres: scene.postgres.pid(),
    simulator: 0,
    load: process.pid,
  };
  const windows: Partial<Record<'begin' | 'end', { cpu: CpuTimes; answered: number }>> = {};
  const result = await runStep(exchange, {
    ratePerSecond,
    seconds,
    random,
    request,
    onWindow(at, answered) {
      windows[at] = { cpu: readCpu(watched), answered };
    },
  });
  return { ...result, ...costBetween(windows.begin, windows.end), ratePerSecond };
}

function describe(name: string, step: StepResult): string {
  const errors = Object.entries(step.errors).map(([kind, count]) => `${count} × ${kind}`);
  return [
    name.padEnd(30),
    `${perSecond(step.achievedPerSecond)}`.padEnd(9),
    `p50 ${milliseconds(step.p50Us)}`.padEnd(12),
    `p99 ${milliseconds(step.p99Us)}`.padEnd(13),
    ...errors,
  ].join('  ');
}

async function search(
  scene: EstateEnvironment,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<EstateFigures['searches']> {
  const { targets, firstMs, server } = scene;
  const { seed, seconds, rate: ratePerSecond } = options;
  const random = createRandom(seed);
  const asker = createEstateQueries({
    authority: server.authority,
    targets,
    firstMs,
    random,
  });
  const load = { ratePerSecond, seconds, random };
  const inserting = {
    ratePerSecond: insertsPerSecond,
    seconds,
    random: createRandom(seed + 1),
  };
  const figures: EstateFigures['searches'] = [];
  for (const name of queryNames) {
    const request = () => asker.question(name);
    await measure(scene, scene.readers, { ...load, seconds: warmUpSeconds }, request);
    const [step, inserts] = await Promise.all([
      measure(scene, scene.readers, load, request),
      measure(scene, scene.writers, inserting, asker.insert),
    ]);
    figures.push({ name, step, inserts });
    printLine(describe(queryTitles[name], step));
  }
  return figures;
}

async function walk(scene: EstateEnvironment, printLine: PrintLine): Promise<Listing> {
  const { readers, writers, server, targets, firstMs, database } = scene;
  const one = targets[walkedAt] ?? targets[0];
  if (one === undefined) throw new Error('there is no list to walk through');
  const caller = createEstateCaller(readers, server.authority, one.token);
  const writer = createEstateCaller(writers, server.authority, one.token);
  const storeId = estateId('store', firstMs, one.number, 0);
  // Those that were added while others were looked for are among them.
  const rows = await database.query<{ id: string }>(
    `SELECT logical_device_id AS id FROM logical_devices
     WHERE organization_id = $1 AND removed_at IS NULL`,
    [one.organizationId],
  );
  const listing = await walkListing(
    caller,
    rows.map(({ id }) => id),
    () => writer.call('POST', '/provisioning/v2/logical-devices', { storeId, name: 'Added' }),
  );
  printLine(`${listing.listed} devices walked through in ${listing.seconds.toFixed(1)} s`);
  return listing;
}

async function configuration(
  scene: EstateEnvironment,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<EstateFigures['configuration']> {
  const { targets, firstMs, readers, writers, server, keepers } = scene;
  const [organization] = targets;
  if (organization === undefined) throw new Error('there is nothing to configure');
  const serviceIds = await configureEstate(scene, organization);
  printLine('services are configured at every level');
  const { authority } = server;
  const tokens = await fetchDeviceTokens(writers, authority, keepers, { ...organization, firstMs });
  const random = createRandom(options.seed + 2);
  const load = { ratePerSecond: options.rate, seconds: options.seconds, random };
  const askers = {
    service: createConfigurationRequests({
      authority,
      organization,
      serviceIds,
      firstMs,
      random,
    }),
    device: createDeviceRequests(authority, tokens, random),
  };
  async function step(name: keyof typeof askers): Promise<EstateStep> {
    await measure(scene, readers, { ...load, seconds: warmUpSeconds }, askers[name]);
    const measured = await measure(scene, readers, load, askers[name]);
    printLine(describe(configurationTitles[name], measured));
    return measured;
  }
  return { service: await step('service'), device: await step('device') };
}

export async function benchEstate(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<EstateFigures> {
  const { devices, organizations } = options;
  printLine(`filling ${organizations.toLocaleString('en')} organisations …`);
  const scene = await openEstateEnvironment(closers, options, printLine);
  const searches = await search(scene, options, printLine);
  const listing = await walk(scene, printLine);
  const configured = await configuration(scene, options, printLine);
  const imported = await benchImport(scene, printLine);
  return {
    devices,
    organizations,
    fillSeconds: scene.fillSeconds,
    searches,
    listing,
    configuration: configured,
    imported,
    residentHighestMib: scene.memory.highest(),
    ...(options.profile
      ? { profile: await profileStep(scene, () => importDuringListing(scene)) }
      : {}),
  };
}
