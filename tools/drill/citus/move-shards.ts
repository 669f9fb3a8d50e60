// Adds a worker under load, and moves shards to it.
import { setTimeout as pause } from 'node:timers/promises';
import {
  addressOf,
  createCitusDatabase,
  createDatabaseAtNode,
} from '../../../packages/server/test/support/database/citus-nodes.ts';
import { createCloseStack } from '../../bench/close-in-reverse-order.ts';
import type { Cluster } from './cluster.ts';
import { openDrillPlatform } from './drill-platform.ts';
import { describeErrors, startSaleLoad } from './sale-load.ts';

const workers = 2;
const loops = 8;
const beforeMs = 3_000;
const afterMs = 3_000;
/** The number of merchants whose shards are moved. */
const movedMerchants = 3;

/** @returns the faults */
export async function moveShards(cluster: Cluster): Promise<string[]> {
  const closers = createCloseStack();
  try {
    const url = await createCitusDatabase(await cluster.nodes(workers));
    const platform = await openDrillPlatform(closers, cluster, url);
    const added = await cluster.worker(workers + 1);
    const [addedHost, addedPort] = addressOf(added.url);
    const load = startSaleLoad(
      platform.target,
      Array.from({ length: loops }, () => platform.tills),
    );
    closers.add(() => load.stop());
    await pause(beforeMs);
    await createDatabaseAtNode(added.url, new URL(url).pathname.slice(1));
    const moved = platform.tills.slice(0, movedMerchants);
    const startedMs = performance.now();
    await platform.database.session(async ({ query }) => {
      await query('SELECT citus_add_node($1, $2)', [addedHost, addedPort]);
      for (const { merchantId } of moved) {
        const { shardId, host, port } = await platform.findShard(merchantId);
        // Two merchants may be in the same shard.
        if (host === addedHost) continue;
        const values = [shardId, host, port, addedHost, addedPort];
        await query('SELECT citus_move_shard_placement($1, $2, $3, $4, $5)', values);
      }
    });
    const movedMs = performance.now();
    await pause(afterMs);
    await load.stop();
    const during = load.answers.filter(({ sentMs }) => sentMs > startedMs && sentMs < movedMs);
    const slowest = Math.max(...load.answers.map(({ durationMs }) => durationMs));
    console.log(
      `  shards of ${moved.length} merchants moved in ${((movedMs - startedMs) / 1000).toFixed(1)} s, ${during.length} answers during the move`,
    );
    console.log(
      `  errors: ${describeErrors(load.answers)}; slowest answer ${(slowest / 1000).toFixed(1)} s`,
    );
    const faults: string[] = [];
    for (const { merchantId } of moved) {
      const { host } = await platform.findShard(merchantId);
      if (host !== addedHost) faults.push(`merchant ${merchantId} is still on ${host}`);
    }
    const forbidden = load.answers.filter(({ status }) => ![200, 202, 503].includes(status));
    if (forbidden.length > 0) faults.push(describeErrors(forbidden));
    const movedIds = new Set(moved.map(({ merchantId }) => merchantId));
    const soldThere = load.answers.some(
      (each) => each.isApproved && each.sentMs > movedMs && movedIds.has(each.merchantId),
    );
    if (!soldThere) faults.push('no merchant sells on the added worker');
    faults.push(...(await platform.compareSums(load)));
    return faults;
  } finally {
    await closers.close();
  }
}
