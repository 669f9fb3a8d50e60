// Checks that Citus sends each statement that stores, finds or changes a payment to one shard.
import { randomUUID } from 'node:crypto';
import * as statements from '../../../packages/server/src/payments/repository/transaction-sql.ts';
import * as writeStatements from '../../../packages/server/src/payments/repository/transaction-write-sql.ts';
import { routeToShard } from '../../../packages/server/src/platform/database/citus/route-statement.ts';
import {
  type Placement,
  readPlacement,
  withShardTables,
} from '../../../packages/server/src/platform/database/citus/shard-pools.ts';
import {
  bucketOf,
  type Database,
  migrate,
  openDatabase,
  type PreparedStatement,
  type Queries,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import * as qrStatements from '../../../packages/server/src/qr/repository/statements-sql.ts';
import { createCitusDatabase } from '../../../packages/server/test/support/database/citus-nodes.ts';
import { createCloseStack } from '../../bench/close-in-reverse-order.ts';
import { migrations } from '../../bench/environment/platform.ts';
import type { Cluster } from './cluster.ts';

const workers = 2;
const taskCount = /Task Count: (\d+)/g;
/** Citus sends the rows of such a part to all workers. */
const subplan = 'Distributed Subplan';

type StatementWithValues = PreparedStatement & { values: unknown[] };

/** The statements that store, find and change the payments of one merchant. */
function paymentStatements(): {
  bucket: number;
  atWorker: PreparedStatement[];
  atCoordinator: StatementWithValues[];
} {
  const merchantId = randomUUID();
  const bucket = bucketOf(merchantId);
  const organizationId = randomUUID();
  const row = { bucket, organization_id: organizationId, transaction_id: merchantId };
  const rows = [JSON.stringify([{ ...row, merchant_id: merchantId, expected: 1 }])];
  const operation = statements.findOperationValues({
    organizationId,
    merchantId,
    kind: 'Refund',
    clientOperationId: randomUUID(),
  });
  return {
    bucket,
    atWorker: [
      writeStatements.insertTransaction,
      writeStatements.updateWithEvent,
      writeStatements.updateWithOperation,
      statements.findTransactions,
      qrStatements.insertPayment,
      qrStatements.commitChange,
      qrStatements.findPayment,
      qrStatements.findForProvider,
      qrStatements.claimDuePayments,
    ],
    atCoordinator: [
      { ...writeStatements.insertTransaction, values: rows },
      { ...writeStatements.updateWithOperation, values: rows },
      { ...statements.findOperation, values: operation },
      { ...qrStatements.commitChange, values: rows },
      { ...qrStatements.findOperation, values: operation },
      { ...qrStatements.eventsForView, values: [bucket, organizationId, merchantId] },
    ],
  };
}

async function explain(queries: Pick<Queries, 'query'>, text: string, values: unknown[] = []) {
  type Line = { 'QUERY PLAN': string };
  const lines = await queries.query<Line>(`EXPLAIN ${text}`, values);
  return lines.map((line) => line['QUERY PLAN']).join('\n');
}

/** At the worker PostgreSQL itself plans each statement, on the tables of the shard. */
async function checkAtWorker(
  worker: Database,
  { tables }: Placement,
  all: readonly PreparedStatement[],
): Promise<string[]> {
  const faults: string[] = [];
  await worker.session(async (session) => {
    const { query } = session;
    await query('SET plan_cache_mode = force_generic_plan');
    for (const { name, text } of all) {
      const ofShard = withShardTables(text, tables);
      await query(`PREPARE "${name}" AS ${ofShard}`);
      const parameters = Array.from(new Set(text.match(/\$\d+/g)), () => 'NULL');
      const plan = await explain(session, `EXECUTE "${name}" (${parameters})`);
      if (plan.includes('Citus'))
        faults.push(`${name} needs Citus at the worker:\n${ofShard}\n${plan}`);
      console.log(`  ${name.padEnd(32)}at the worker`);
    }
  });
  return faults;
}

/** @returns the faults */
export async function checkRouting(cluster: Cluster): Promise<string[]> {
  const { log } = cluster;
  const url = await createCitusDatabase(await cluster.nodes(workers));
  const closers = createCloseStack();
  const open = (at: string) => {
    const database = openDatabase({ url: at, log, connections: 1 });
    closers.add(() => database.close());
    return database;
  };
  try {
    const database = open(url);
    await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
    const { bucket, atWorker, atCoordinator } = paymentStatements();
    const buckets = (await database.shards())?.of(bucket);
    if (buckets === undefined) return ['the tables are not distributed'];
    const placement = await readPlacement(database, buckets);
    const workerUrl = new URL(url);
    workerUrl.host = `${placement.host}:${placement.port}`;
    const faults = await checkAtWorker(open(workerUrl.href), placement, atWorker);
    for (const { name, text, inShard, values } of atCoordinator) {
      const parts = inShard ?? [text];
      for (const part of parts) {
        const routed = routeToShard(part, values, buckets);
        const plan = await explain(database, routed.text, routed.values);
        const counts = [...plan.matchAll(taskCount)].map(([, count]) => Number(count));
        // The coordinator sends new rows to the shard of their bucket.
        const isInsertOfRecords = plan.includes('pull to coordinator');
        const isRouted =
          (counts.length > 0 || isInsertOfRecords) && counts.every((count) => count === 1);
        if (!isRouted || plan.includes(subplan))
          faults.push(`${name} is not sent to one shard:\n${part}\n${plan}`);
      }
      console.log(`  ${name.padEnd(32)}at the coordinator, statements: ${parts.length}`);
    }
    return faults;
  } finally {
    await closers.close();
  }
}
