// Tests that the number of statements of an import depends on its chunks, not on its lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import {
  hardwareLine,
  jsonLines,
  merchantLine,
  placeLine,
  storeLine,
} from '../../../test/support/provisioning/bulk-import-client.ts';
import { testAudit } from '../../../test/support/test-audit.ts';
import { type Database, systemClock, systemIdGenerator } from '../../platform/index.ts';
import { createProvisioning } from '../index.ts';
import { createBulkImports } from './run-bulk-import.ts';

/** Reports each statement of a transaction. */
function counting(database: Database, onStatement: () => void): Database {
  return {
    ...database,
    transaction: (work) =>
      database.transaction((trx) =>
        work({
          ...trx,
          query(statement, values) {
            onStatement();
            return trx.query(statement, values);
          },
        }),
      ),
  };
}

/** Imports logical devices, each with its hardware, below a new merchant and a new store. */
async function statementsFor(deviceCount: number): Promise<number> {
  const database = await testDatabase();
  const deps = {
    clock: systemClock,
    ids: systemIdGenerator,
    audit: testAudit(database, systemClock),
  };
  const organizationId = systemIdGenerator.uuid();
  const { organizations } = createProvisioning({ ...deps, database });
  await organizations.create({ organizationId }, { name: 'Acquirer' }, organizationId);
  let statements = 0;
  const bulk = createBulkImports({
    ...deps,
    database: counting(database, () => {
      statements += 1;
    }),
    onWrite: () => {},
    posClients: () => assert.fail('the import has no point of sale'),
  });
  const numbers = Array.from({ length: deviceCount }, (_, at) => at);
  const lines = [
    merchantLine('M'),
    storeLine('M', 'S'),
    ...numbers.flatMap((at) => [
      placeLine('S', `D${at}`),
      hardwareLine(`D${at}`, {
        externalId: `H${at}`,
        serialNumber: systemIdGenerator.uuid().slice(-12),
        make: 'AXIUM',
        model: 'DX8000',
        family: 'axium',
      }),
    ]),
  ];
  async function* body() {
    yield Buffer.from(jsonLines(lines));
  }
  let answers = '';
  for await (const text of bulk.run({
    scope: { organizationId },
    format: 'JsonLines',
    bulkId: 'a',
    body: body(),
  })) {
    answers += text;
  }
  assert.match(answers, new RegExp(`"created":${lines.length},`));
  return statements;
}

test('an import of 200 lines executes as many statements as an import of 2 lines', async () => {
  const few = await statementsFor(2);
  assert.ok(few > 0);
  assert.equal(await statementsFor(200), few);
});
