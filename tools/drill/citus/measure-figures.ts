// Measures sales on PostgreSQL alone and on one, two and three workers, on the same cores.
import { setTimeout as pause } from 'node:timers/promises';
import { openDatabase } from '../../../packages/server/src/platform/index.ts';
import { createCitusDatabase } from '../../../packages/server/test/support/database/citus-nodes.ts';
import { createCloseStack } from '../../bench/close-in-reverse-order.ts';
import { readCpu } from '../../bench/report/process-times.ts';
import type { DrillOptions } from '../drill-options.ts';
import type { Cluster } from './cluster.ts';
import { openDrillPlatform } from './drill-platform.ts';
import { describeErrors, startSaleLoad } from './sale-load.ts';

const workerCounts = [1, 2, 3];
const loops = 16;
const warmUpMs = 4_000;

type Setup = { name: string; databaseUrl: string; pids: readonly number[] };
type Figures = {
  name: string;
  perSecond: number;
  /** CPU time of a sale. */
  serverUs: number;
  postgresUs: number;
  faults: string[];
};

/** CPU time so far, ms. */
function readCpuMs(server: number, pids: readonly number[]): { server: number; postgres: number } {
  const perNode = pids.map((postgres) => readCpu({ server, postgres }));
  return {
    server: perNode[0]?.server ?? 0,
    postgres: perNode.reduce((sum, { postgres }) => sum + postgres, 0),
  };
}

async function measure(
  cluster: Cluster,
  { name, databaseUrl, pids }: Setup,
  seconds: number,
): Promise<Figures> {
  const closers = createCloseStack();
  try {
    const platform = await openDrillPlatform(closers, cluster, databaseUrl);
    const load = startSaleLoad(
      platform.target,
      Array.from({ length: loops }, () => platform.tills),
    );
    closers.add(() => load.stop());
    await pause(warmUpMs);
    const { pid } = platform.server;
    const soldBefore = load.answers.length;
    const beganMs = performance.now();
    const before = readCpuMs(pid, pids);
    await pause(seconds * 1000);
    const after = readCpuMs(pid, pids);
    const measuredSeconds = (performance.now() - beganMs) / 1000;
    const sold = load.answers.length - soldBefore;
    await load.stop();
    const faults = await platform.compareSums(load);
    if (load.answers.some(({ isApproved }) => !isApproved))
      faults.push(`errors: ${describeErrors(load.answers)}`);
    return {
      name,
      perSecond: sold / measuredSeconds,
      serverUs: ((after.server - before.server) * 1000) / sold,
      postgresUs: ((after.postgres - before.postgres) * 1000) / sold,
      faults: faults.map((fault) => `${name}: ${fault}`),
    };
  } finally {
    await closers.close();
  }
}

async function createPlainDatabase(url: string, log: Cluster['log']): Promise<string> {
  const database = openDatabase({ url, log, connections: 1 });
  try {
    await database.session(({ query }) => query('CREATE DATABASE figures TEMPLATE template0'));
  } finally {
    await database.close();
  }
  const created = new URL(url);
  created.pathname = '/figures';
  return created.href;
}

/** @returns the faults */
export async function measureFigures(
  cluster: Cluster,
  { seconds }: DrillOptions,
): Promise<string[]> {
  const plain = await cluster.plain();
  const databaseUrl = await createPlainDatabase(plain.url, cluster.log);
  const setups: Setup[] = [{ name: 'PostgreSQL', databaseUrl, pids: [plain.pid()] }];
  for (const workers of workerCounts) {
    setups.push({
      name: `Citus, ${workers} ${workers === 1 ? 'worker' : 'workers'}`,
      databaseUrl: await createCitusDatabase(await cluster.nodes(workers)),
      pids: await cluster.pids(workers),
    });
  }
  const rows: Figures[] = [];
  for (const setup of setups) rows.push(await measure(cluster, setup, seconds));
  console.log(`\n  | Database | Sales/s | CPU of the server | CPU of PostgreSQL |`);
  console.log('  |---|---|---|---|');
  for (const { name, perSecond, serverUs, postgresUs } of rows)
    console.log(
      `  | ${name} | ${perSecond.toFixed(0)} | ${serverUs.toFixed(0)} µs | ${postgresUs.toFixed(0)} µs |`,
    );
  return rows.flatMap(({ faults }) => faults);
}
