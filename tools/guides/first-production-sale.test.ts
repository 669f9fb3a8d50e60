// Whole run: commands as users start them, each a process of its own.
// docs/tutorials/first-production-sale.md and docs/how-to/operators/set-up-by-api.md, word for word, with other ports and a
// database of the test.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { testSchemaUrl } from '../../packages/server/test/support/database/test-database.ts';
import {
  runFirstProductionSale,
  runSetUpByApi,
  toolsOfFirstSale,
} from './run-first-production-sale.ts';
import { absentTools } from './shell-blocks.ts';

const options = { timeout: 500_000, skip: absentTools(...toolsOfFirstSale) };

async function createSetting(t: TestContext) {
  const home = await mkdtemp(join(tmpdir(), 'switchyard-first-sale-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  return { home, databaseUrl: await testSchemaUrl() };
}

test(
  'every command from an empty server to the first production sale has the output that the page shows',
  options,
  async (t) => {
    await runFirstProductionSale(await createSetting(t));
  },
);

test(
  'every command that sets up an acquirer by API has the output that the page shows',
  options,
  async (t) => {
    await runSetUpByApi(await createSetting(t));
  },
);
