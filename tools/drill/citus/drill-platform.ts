// The platform on a fresh database: an organization that sells, the acquirer simulator, and the server process.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readLedger } from '@switchyard/simulators';
import {
  bucketOf,
  type Database,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import type { CloseStack } from '../../bench/close-in-reverse-order.ts';
import { migrations } from '../../bench/environment/platform.ts';
import {
  type BenchOrganization,
  fetchClientToken,
  provisionOrganization,
} from '../../bench/environment/provision-in-database.ts';
import type { Target } from '../../bench/environment/send-single-request.ts';
import { type ServerProcess, startServer } from '../../bench/environment/server-process.ts';
import { startSimulator } from '../../bench/sales/sales-environment.ts';
import type { Cluster } from './cluster.ts';
import type { Load, Till } from './sale-load.ts';

const merchants = 8;
const terminals = 32;
const settledLimitMs = 120_000;
const lookEveryMs = 500;

/** The shard with the transactions of a merchant, and the address of its worker. */
export type ShardPlacement = {
  readonly shardId: number;
  readonly host: string;
  readonly port: number;
};

export type DrillPlatform = {
  readonly database: Database;
  readonly organization: BenchOrganization;
  readonly server: ServerProcess;
  readonly target: Target;
  readonly tills: readonly Till[];
  findShard(merchantId: string): Promise<ShardPlacement>;
  /** Waits until no sale is unfinished, and compares the sums of client, platform and acquirer. */
  compareSums(load: Load): Promise<string[]>;
};

let platformsCount = 0;

const placementText = `SELECT p.shardid AS "shardId", p.nodename AS host, p.nodeport AS port
  FROM pg_dist_shard_placement p
  WHERE p.shardid = get_shard_id_for_distribution_column('transactions', $1::smallint)`;

const workersWithShardsText = `SELECT DISTINCT p.nodename FROM pg_dist_shard_placement p
  JOIN pg_dist_shard s ON s.shardid = p.shardid AND s.logicalrelid = 'transactions'::regclass`;

async function findShard(database: Database, merchantId: string): Promise<ShardPlacement> {
  const bucket = bucketOf(merchantId);
  const [placement] = await database.query<ShardPlacement>(placementText, [bucket]);
  if (placement === undefined) throw new Error(`no worker has a shard with the bucket ${bucket}`);
  return placement;
}

/** @param databaseUrl an empty database */
export async function openDrillPlatform(
  closers: CloseStack,
  { folder, log }: Cluster,
  databaseUrl: string,
): Promise<DrillPlatform> {
  platformsCount += 1;
  const dataDir = join(folder, `platform-${platformsCount}`);
  mkdirSync(dataDir);
  const database = openDatabase({ url: databaseUrl, log, connections: 2 });
  closers.add(() => database.close());
  await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
  const simulator = await startSimulator(closers, dataDir);
  const isDistributed = (await database.shards()) !== undefined;
  const workersWithShards = isDistributed ? await database.query(workersWithShardsText) : [];
  let organization: BenchOrganization;
  let hosts: Set<string>;
  // The identifiers of merchants are random, so a worker can get none of them. Each worker needs one.
  do {
    const options = { acquirerPort: simulator.port, terminals, merchants };
    organization = await provisionOrganization({ database, log, dataDir }, options);
    const placed = isDistributed ? organization.merchants : [];
    const shards = placed.map(({ merchantId }) => findShard(database, merchantId));
    hosts = new Set((await Promise.all(shards)).map(({ host }) => host));
  } while (hosts.size < workersWithShards.length);
  const server = await startServer(closers, { dataDir, databaseUrl, way: 'process' });
  const { target } = server;
  const tills: Till[] = [];
  for (const { merchantId, credentials, deviceIds } of organization.merchants) {
    const token = await fetchClientToken(target, organization.realm, credentials);
    tills.push({ merchantId, token, deviceIds });
  }
  const { organizationId } = organization;

  /** The sales that have not ended, with their states. */
  async function waitUntilSettled(): Promise<string[]> {
    const statement = `SELECT transaction_id AS id, state FROM transactions
      WHERE organization_id = $1 AND state IN ('Received', 'Reversing')`;
    for (const endMs = performance.now() + settledLimitMs; ; ) {
      const rows = await database.query<{ id: string; state: string }>(statement, [organizationId]);
      if (rows.length === 0 || performance.now() > endMs)
        return rows.map(({ id, state }) => `${id} is ${state}`);
      await pause(lookEveryMs);
    }
  }

  return {
    database,
    organization,
    server,
    target,
    tills,
    findShard: (merchantId) => findShard(database, merchantId),
    async compareSums(load) {
      const faults = load.unfinished.map((sale) => `a sale without an outcome: ${sale}`);
      const unfinished = await waitUntilSettled();
      if (unfinished.length > 0)
        faults.push(
          `sales have not ended after ${settledLimitMs / 1000} s: ${unfinished.join(', ')}`,
        );
      const [row] = await database.query<{ sum: string }>(
        'SELECT coalesce(sum(captured), 0)::text AS sum FROM transactions WHERE organization_id = $1',
        [organizationId],
      );
      const { totals, faults: ledgerFaults } = readLedger(join(dataDir, 'acquirer'));
      faults.push(...ledgerFaults);
      const sums = {
        client: load.approvedMinor(),
        platform: Number(row?.sum),
        acquirer: totals.reduce((sum, { captured }) => sum + captured, 0),
      };
      console.log(
        `  approved, minor units: client ${sums.client}, platform ${sums.platform}, acquirer ${sums.acquirer}`,
      );
      if (sums.client !== sums.platform || sums.platform !== sums.acquirer)
        faults.push(`the sums differ: ${JSON.stringify(sums)}`);
      return faults;
    },
  };
}
