// What a run of sales needs: platform, acquirer simulator, server, load generator and baseline, each a process.
import { join } from 'node:path';
import { repositoryRoot } from '../../repository-root.ts';
import type { SaleCommitsBaselineFunctions } from '../baseline/sale-commits-baseline-process.ts';
import type { BenchOptions } from '../bench-options.ts';
import { type BenchProcess, startProcess } from '../bench-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { openPlatform, type Platform, type RunningServer } from '../environment/platform.ts';
import {
  type BenchOrganization,
  fetchClientToken,
  provisionOrganization,
} from '../environment/provision-in-database.ts';
import { createApiClient, type Target } from '../environment/send-single-request.ts';
import type { WatchedPids } from '../report/process-times.ts';
import { describeSalesStep } from './knee-run.ts';
import type { LoadGeneratorFunctions, MeasuredStep, SalesLoad } from './load-generator.ts';
import type { PrintLine } from './measured-step.ts';
import type { SellingDevice } from './request-text.ts';

const simulatorScript = join(repositoryRoot, 'packages/simulators/src/acquirer-host/main.ts');
const simulatorLimitMs = 15_000;
/** Every device has to get its terminal id, every card its token, and the code to be compiled. */
const warmUp = [
  { ratePerSecond: 150, seconds: 12 },
  { ratePerSecond: 400, seconds: 8 },
];

export type SalesEnvironment = {
  platform: Platform;
  organization: BenchOrganization;
  server: RunningServer;
  simulator: Simulator;
  load: SalesLoad;
  /** The tokens of the merchants, by their identifiers. */
  tokens: ReadonlyMap<string, string>;
  baseline: BenchProcess<SaleCommitsBaselineFunctions>;
  /** Fetches new tokens, of so many merchants; they are valid for an hour. */
  fetchTills(merchants?: number): Promise<SellingDevice[]>;
  /** Gives new tokens to the load. */
  renewTokens(merchants?: number): Promise<void>;
};

type Simulator = { pid: number; port: number };

/** @param answerMs delay of each answer of the host */
export async function startSimulator(
  closers: CloseStack,
  folder: string,
  recentEntries?: number,
  answerMs = 0,
): Promise<Simulator> {
  const data = join(folder, 'acquirer');
  const address = ['--host', '127.0.0.1', '--port', '0'];
  const delay = ['--answer-ms', String(answerMs)];
  const args = [simulatorScript, 'serve', '--data', data, ...address, ...delay];
  if (recentEntries !== undefined) args.push('--segment', String(recentEntries));
  const child = closers.spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no acquirer simulator')), simulatorLimitMs);
    child.once('exit', () => reject(new Error('the acquirer simulator has ended')));
    child.stdout?.on('data', (chunk: Buffer) => {
      const match = /:(\d+)\s/.exec(chunk.toString());
      if (match === null) return;
      clearTimeout(limit);
      resolve(Number(match[1]));
    });
  });
  return { pid: child.pid ?? 0, port };
}

/** Refunds finished sales, so that there are operations to copy. */
export async function refundSales(
  {
    platform,
    server,
    tokens,
    organization,
  }: Pick<SalesEnvironment, 'platform' | 'server' | 'tokens' | 'organization'>,
  count: number,
): Promise<void> {
  const rows = await platform.database.query<{ transaction_id: string; merchant_id: string }>(
    `SELECT transaction_id, merchant_id FROM transactions
      WHERE organization_id = $1 AND state = 'Captured' ORDER BY transaction_id LIMIT $2`,
    [organization.organizationId, count],
  );
  for (const { transaction_id: id, merchant_id: merchantId } of rows) {
    const api = createApiClient(server.target, tokens.get(merchantId) ?? '');
    await api.call('POST', `/payment/v1/transactions/${id}/refund`, {});
  }
}

export async function warmUpSales(load: SalesLoad, printLine: PrintLine): Promise<MeasuredStep[]> {
  printLine('warming up …');
  const steps: MeasuredStep[] = [];
  for (const { ratePerSecond, seconds } of warmUp) {
    const step = await load.step('sales', ratePerSecond, seconds);
    printLine(describeSalesStep(step));
    steps.push(step);
  }
  return steps;
}

/** Starts a load generator for one server; the step of a load needs tills. */
export async function openLoadGenerator(
  closers: CloseStack,
  server: { target: Target; watched: WatchedPids },
  { connections, cards, seed }: BenchOptions,
): Promise<{ load: SalesLoad; setTills(tills: SellingDevice[]): Promise<void> }> {
  const script = new URL('./load-generator.ts', import.meta.url);
  const generator = startProcess<LoadGeneratorFunctions>(closers, script);
  await generator.call('open', { ...server, connections, cards, seed });
  return {
    load: {
      step: (kind, ratePerSecond, seconds) =>
        generator.call('step', { kind, ratePerSecond, seconds }),
    },
    setTills: (tills) => generator.call('setTills', tills),
  };
}

/** @param recentEntries entries of the simulator's ledger that it holds in memory, where they are many */
export async function openSalesEnvironment(
  closers: CloseStack,
  options: BenchOptions,
  recentEntries?: number,
): Promise<SalesEnvironment> {
  const platform = await openPlatform(closers, options);
  const { postgresPid: postgres } = platform;
  const simulator = await startSimulator(closers, platform.folder, recentEntries, options.latency);
  const organization = await provisionOrganization(platform, {
    acquirerPort: simulator.port,
    terminals: options.terminals,
  });
  const server = await platform.startServer();
  const { target } = server;
  const watched = { server: server.pid, postgres, simulator: simulator.pid };
  const { load, setTills } = await openLoadGenerator(closers, { target, watched }, options);
  const tokens = new Map<string, string>();
  async function fetchTills(merchants = organization.merchants.length): Promise<SellingDevice[]> {
    const tills = organization.merchants
      .slice(0, merchants)
      .map(async ({ merchantId, credentials, deviceIds }) => {
        const token = await fetchClientToken(target, organization.realm, credentials);
        tokens.set(merchantId, token);
        return { token, deviceIds };
      });
    return Promise.all(tills);
  }
  const renewTokens = async (merchants?: number) => setTills(await fetchTills(merchants));
  await renewTokens();
  const baseline = startProcess<SaleCommitsBaselineFunctions>(
    closers,
    new URL('../baseline/sale-commits-baseline-process.ts', import.meta.url),
  );
  await baseline.call('open', { url: platform.baselineUrl, postgresPid: postgres });
  return {
    platform,
    organization,
    server,
    simulator,
    tokens,
    fetchTills,
    renewTokens,
    load,
    baseline,
  };
}
