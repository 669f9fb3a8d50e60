// `bench estate`: a million devices: finding one among them, listing them page by page, importing more.
import { defined } from '@switchyard/contract';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { createApiClient } from '../environment/send-single-request.ts';
import { profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import type { LoadRequest } from '../sales/fixed-rate-load.ts';
import type { HttpsConnections } from '../sales/https-connections.ts';
import {
  type CostedStep,
  describeStep,
  type PrintLine,
  runMeasuredStep,
} from '../sales/measured-step.ts';
import { createRandom } from '../sales/request-schedule.ts';
import { configureEstate, fetchDeviceTokens } from './configure-estate.ts';
import { type EstateEnvironment, openEstateEnvironment } from './estate-environment.ts';
import { benchImport, importOnceMore } from './estate-import.ts';
import { type Listing, walkListing } from './estate-listing.ts';
import { estateId } from './estate-plan.ts';
import { configurationTitles, type EstateFigures, reportEstate } from './estate-report.ts';
import {
  createEstateRequests,
  type EstateRequests,
  type SearchName,
  searchCases,
} from './estate-requests.ts';

const warmUpSeconds = 2;
/** So many devices are added each second during the searches; they may wait longer. */
const insertsPerSecond = 20;
/** The list that is read page by page is that of the second largest organisation. */
const listedAt = 1;

type Load = { ratePerSecond: number; seconds: number; random: () => number };
type Run = {
  environment: EstateEnvironment;
  options: BenchOptions;
  printLine: PrintLine;
  measure(
    connections: HttpsConnections,
    load: Load,
    request: () => LoadRequest,
  ): Promise<CostedStep>;
};

function createRequests(environment: EstateEnvironment, random: () => number): EstateRequests {
  const { server, targets, firstMs } = environment;
  return createEstateRequests({ authority: server.target.authority, targets, firstMs, random });
}

async function search({ environment, options, printLine, measure }: Run) {
  const { readers, writers } = environment;
  const { seed, seconds, rate: ratePerSecond } = options;
  const random = createRandom(seed);
  const requests = createRequests(environment, random);
  const load = { ratePerSecond, seconds, random };
  const inserting = { ratePerSecond: insertsPerSecond, seconds, random: createRandom(seed + 1) };
  const searches: EstateFigures['searches'] = [];
  for (const name of Object.keys(searchCases) as SearchName[]) {
    const request = () => requests.search(name);
    await measure(readers, { ...load, seconds: warmUpSeconds }, request);
    const [step, inserts] = await Promise.all([
      measure(readers, load, request),
      measure(writers, inserting, requests.insert),
    ]);
    searches.push({ name, step, inserts });
    printLine(describeStep(searchCases[name].title, step));
  }
  return searches;
}

async function list({ environment, printLine }: Run): Promise<Listing> {
  const { server, targets, firstMs, platform } = environment;
  const one = targets[listedAt] ?? targets[0];
  if (one === undefined) throw new Error('there is no list');
  const api = createApiClient(server.target, one.token);
  const storeId = estateId('store', firstMs, one.number, 0);
  // Those that were added during the searches are among them.
  const rows = await platform.database.query<{ id: string }>(
    `SELECT logical_device_id AS id FROM logical_devices
     WHERE organization_id = $1 AND removed_at IS NULL`,
    [one.organizationId],
  );
  const listing = await walkListing(
    api,
    rows.map(({ id }) => id),
    () => api.call('POST', '/provisioning/v2/logical-devices', { storeId, name: 'Added' }),
  );
  printLine(`${listing.listed} devices listed in ${listing.seconds.toFixed(1)} s`);
  return listing;
}

async function configuration({ environment, options, printLine, measure }: Run) {
  const [organization] = environment.targets;
  if (organization === undefined) throw new Error('there is nothing to configure');
  const serviceIds = await configureEstate(environment, organization);
  printLine('services are configured at every level');
  const tokens = await fetchDeviceTokens(environment, organization);
  const random = createRandom(options.seed + 2);
  const load = { ratePerSecond: options.rate, seconds: options.seconds, random };
  const requests = createRequests(environment, random);
  async function step(name: keyof typeof configurationTitles, request: () => LoadRequest) {
    await measure(environment.readers, { ...load, seconds: warmUpSeconds }, request);
    const measured = await measure(environment.readers, load, request);
    printLine(describeStep(configurationTitles[name], measured));
    return measured;
  }
  return {
    service: await step('service', () => requests.serviceConfiguration(serviceIds)),
    device: await step('device', () => requests.deviceConfiguration(tokens)),
  };
}

export async function benchEstate(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const { devices, organizations } = options;
  printLine(`filling ${organizations.toLocaleString('en')} organisations …`);
  const environment = await openEstateEnvironment(closers, options, printLine);
  const { platform, server, fillSeconds } = environment;
  const watched = { server: server.pid, postgres: platform.postgresPid };
  const run: Run = {
    environment,
    options,
    printLine,
    measure: (connections, load, request) =>
      runMeasuredStep(connections, watched, { ...load, request }),
  };
  const searches = await search(run);
  const listing = await list(run);
  const configured = await configuration(run);
  const imported = await benchImport(environment, printLine);
  const residentHighestMib = server.memory.highest();
  const profile = options.profile
    ? await profileStep(platform, server.pid, () => importOnceMore(environment))
    : undefined;
  const figures = {
    devices,
    organizations,
    fillSeconds,
    searches,
    listing,
    configuration: configured,
    imported,
    residentHighestMib,
    ...defined({ profile }),
  };
  return reportEstate(figures, options);
}
