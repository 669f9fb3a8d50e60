// Whole run: the platform is loaded for commands.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { systemIdGenerator } from '../../packages/server/src/platform/index.ts';
import {
  testDatabase,
  testDatabaseUrl,
} from '../../packages/server/test/support/database/test-database.ts';
import { runAdminCommand } from './run-admin-command.fixture.ts';

const run = (args: readonly string[], variables: Record<string, string>) =>
  runAdminCommand(['reports', ...args], variables);

describe('switchyard admin reports', { concurrency: 2 }, () => {
  let dataDir = '';
  let variables: Record<string, string> = {};

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-reports-'));
    await testDatabase();
    variables = {
      SWITCHYARD_DATA_DIR: dataDir,
      SWITCHYARD_DATABASE_URL: await testDatabaseUrl(),
    };
  });
  after(() => rm(dataDir, { recursive: true, force: true }));

  test('the comparison finds no difference, or the sum without a payment', async () => {
    const organizationId = systemIdGenerator.uuid();
    const right = await run(['check', organizationId], variables);
    assert.equal(right.code, 0, right.stderr);
    assert.equal(right.stdout, '0 payments, 0 sums: no differences\n');
    const database = await testDatabase();
    await database.query(
      `INSERT INTO report_cells VALUES ($1, 0, '2020-03-01', $1, $1, $1, 1, -1, 1, 0, 0, 0, 100, 100, 0, 0, 0,
         '{}', '{}')`,
      [organizationId],
    );
    const wrong = await run(['check', organizationId, '--json'], variables);
    assert.equal(wrong.code, 1, wrong.stderr);
    const { differences } = JSON.parse(wrong.stdout);
    assert.equal(differences.length, 1);
    assert.equal(differences[0].counted, 'nothing');
    const comparison = await run(['check', organizationId], variables);
    assert.match(comparison.stdout, /0 payments, 1 sums: differences: 1\n0\|2020-03-01/);
  });

  test('the reports of an organisation are marked and built again', async () => {
    const organizationId = systemIdGenerator.uuid();
    const marked = await run(['rebuild', organizationId], variables);
    assert.equal(marked.code, 0, marked.stderr);
    const database = await testDatabase();
    const [row] = await database.query(
      'SELECT stage FROM report_positions WHERE organization_id = $1',
      [organizationId],
    );
    assert.deepEqual(row, { stage: 'Wiping' });
  });

  for (const args of [[], ['check'], ['check', '1'], ['mend', systemIdGenerator.uuid()]]) {
    test(`a missing argument is named for ‘${args.join(' ')}’`, async () => {
      const { code, stderr } = await run(args, {});
      assert.equal(code, 2);
      assert.match(stderr, /--help|is not the id of an organisation/);
    });
  }
});
