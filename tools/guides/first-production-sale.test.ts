// Whole run: commands as users start them, each a process of its own.
// docs/tutorials/first-production-sale.md, word for word, with other ports and a database of the test.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { testSchemaUrl } from '../../packages/server/test/support/database/test-database.ts';
import { runFirstProductionSale, toolsOfFirstSale } from './run-first-production-sale.ts';
import { absentTools } from './shell-blocks.ts';

test('every command from an empty server to the first production sale has the output that the page shows', {
  timeout: 500_000,
  skip: absentTools(...toolsOfFirstSale),
}, async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'switchyard-first-sale-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  await runFirstProductionSale({ home, databaseUrl: await testSchemaUrl() });
});
