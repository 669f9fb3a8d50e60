// Checks that Citus sends each statement that stores, finds or changes a payment to one shard.
import { randomUUID } from 'node:crypto';
import * as statements from '../../../packages/server/src/payments/repository/transaction-sql.ts';
import * as writeStatements from '../../../packages/server/src/payments/repository/transaction-write-sql.ts';
import { routeToShard } from '../../../packages/server/src/platform/database/citus/route-statement.ts';
import {
  bucketOf,
  type Database,
  migrate,
  openDatabase,
  type PreparedStatement,
  systemClock,
  systemIdGenerator,
} from '../../../packages/server/src/platform/index.ts';
import * as qrStatements from '../../../packages/server/src/qr/repository/statements-sql.ts';
import { createCitusDatabase } from '../../../packages/server/test/support/database/citus-nodes.ts';
import { migrations } from '../../bench/environment/platform.ts';
import type { Cluster } from './cluster.ts';

const workers = 2;
const taskCount = /Task Count: (\d+)/g;
/** Citus sends the rows of such a part to all workers. */
const subplan = 'Distributed Subplan';

type StatementWithValues = PreparedStatement & { values: unknown[] };

/** The statements that store, find and change the payments of one merchant. */
function paymentStatements(): { bucket: number; all: StatementWithValues[] } {
  const merchantId = randomUUID();
  const bucket = bucketOf(merchantId);
  const organizationId = randomUUID();
  const row = { bucket, organization_id: organizationId, transaction_id: merchantId };
  const rows = [JSON.stringify([{ ...row, merchant_id: merchantId, expected: 1 }])];
  const lookUps = [[bucket], [organizationId], [merchantId], [null], [null]];
  const ofProvider = [bucket, randomUUID(), merchantId, randomUUID()];
  const operation = statements.findOperationValues({
    organizationId,
    merchantId,
    kind: 'Refund',
    clientOperationId: randomUUID(),
  });
  return {
    bucket,
    all: [
      { ...writeStatements.insertTransaction, values: rows },
      { ...writeStatements.updateWithEvent, values: rows },
      { ...writeStatements.updateWithOperation, values: rows },
      { ...statements.findTransactions, values: lookUps },
      { ...statements.findOperation, values: operation },
      { ...qrStatements.insertPayment, values: rows },
      { ...qrStatements.commitChange, values: rows },
      { ...qrStatements.findPayment, values: lookUps },
      { ...qrStatements.findOperation, values: operation },
      { ...qrStatements.findForProvider, values: ofProvider },
      { ...qrStatements.eventsForView, values: [bucket, organizationId, merchantId] },
    ],
  };
}

async function explain(
  database: Database,
  text: string,
  [values, buckets]: [values: readonly unknown[], buckets: readonly number[]],
): Promise<string> {
  const routed = routeToShard(text, values, buckets);
  type Line = { 'QUERY PLAN': string };
  const lines = await database.query<Line>(`EXPLAIN ${routed.text}`, routed.values);
  return lines.map((line) => line['QUERY PLAN']).join('\n');
}

/** @returns the faults */
export async function checkRouting(cluster: Cluster): Promise<string[]> {
  const { log } = cluster;
  const url = await createCitusDatabase(await cluster.nodes(workers));
  const database = openDatabase({ url, log, connections: 1 });
  const faults: string[] = [];
  try {
    await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
    const { bucket, all } = paymentStatements();
    const buckets = (await database.shards())?.of(bucket);
    if (buckets === undefined) return ['the tables are not distributed'];
    for (const { name, text, inShard, values } of all) {
      const parts = inShard ?? [text];
      for (const part of parts) {
        const plan = await explain(database, part, [values, buckets]);
        const counts = [...plan.matchAll(taskCount)].map(([, count]) => Number(count));
        // The coordinator sends new rows to the shard of their bucket.
        const isInsertOfRecords = plan.includes('pull to coordinator');
        const isRouted =
          (counts.length > 0 || isInsertOfRecords) && counts.every((count) => count === 1);
        if (!isRouted || plan.includes(subplan))
          faults.push(`${name} is not sent to one shard:\n${part}\n${plan}`);
      }
      console.log(`  ${name.padEnd(32)}statements: ${parts.length}`);
    }
  } finally {
    await database.close();
  }
  return faults;
}
