// Whole run: databases are made, started and stopped.
// The server refuses a database of an older commit at the start, and explains how to remove it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  createLog,
  type Database,
  migrate,
  openDatabase,
  startEmbeddedPostgres,
  systemClock,
  systemIdGenerator,
} from '../../src/platform/index.ts';
import {
  copyTemplateCluster,
  testPostgresSettings,
} from '../support/database/migrated-database-template.ts';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { inheritedEnvironment } from '../support/processes/server-process.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const log = createLog({ logLevel: 'silent', instanceName: 'test' });

const stateText = `SELECT (SELECT count(*) FROM pg_class) AS relations,
    (SELECT string_agg(m::text, ',' ORDER BY version) FROM schema_migrations m) AS migrations`;

async function withDatabase<Result>(
  url: string,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  const database = openDatabase({ url, log, connections: 1 });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

/** Commits before the baseline had a first migration with another name. */
const makeOlder = (url: string) =>
  withDatabase(url, async (database) => {
    const migrations = await mkdtemp(join(directory, 'migrations-'));
    await writeFile(
      join(migrations, '0001-platform.sql'),
      '-- Jobs and the outbox.\nCREATE TABLE older (n int);',
    );
    await database.query('DROP TABLE IF EXISTS schema_migrations');
    await migrate(database, migrations, { log, clock: systemClock, ids: systemIdGenerator });
    return database.query(stateText);
  });
const stateOf = (url: string) => withDatabase(url, (database) => database.query(stateText));

let directory: string;
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'switchyard-older-'));
});
after(() => rm(directory, { recursive: true, force: true }));

function startPlatform(settings: Readonly<Record<string, string>>) {
  return spawnSync(process.execPath, [main], {
    env: { ...inheritedEnvironment(), SWITCHYARD_DATA_DIR: directory, ...settings },
    encoding: 'utf8',
  });
}

// Spec: SET-27
test('a database of a newer version is refused with 78, and nothing in it changes', async () => {
  const url = await testDatabaseCopyUrl();
  const state = await withDatabase(url, async (database) => {
    await database.query(
      `INSERT INTO schema_migrations (version, name, note, checksum, statements_done, finished_at)
       VALUES (9999, '9999-later', 'Later.', 'x', 1, now())`,
    );
    return database.query(stateText);
  });
  const { status, stderr } = startPlatform({ SWITCHYARD_DATABASE_URL: url });
  assert.equal(status, 78, stderr);
  assert.match(stderr, /^the applied migration 9999-later is missing here: a newer version/);
  assert.deepEqual(await stateOf(url), state);
});

describe('a database of an older commit', () => {
  // Spec: START-1
  test('an older database in a data directory is refused with the command that removes it', async () => {
    const dataDir = join(directory, 'postgres');
    await copyTemplateCluster(dataDir);
    const embedded = () => startEmbeddedPostgres({ dataDir, log, settings: testPostgresSettings });
    const made = await embedded();
    const state = await makeOlder(made.url);
    await made.stop();

    const { status, stderr } = startPlatform({});
    assert.equal(status, 78);
    assert.equal(
      stderr,
      `The data directory ${directory} was created by another commit of Switchyard and cannot be upgraded before the first release; remove it with: rm -r '${directory}'\n`,
    );

    const again = await embedded();
    try {
      assert.deepEqual(await stateOf(again.url), state);
    } finally {
      await again.stop();
    }
  });

  // Spec: SET-27 START-1
  test('an older database at SWITCHYARD_DATABASE_URL is refused with the statements that replace it', async () => {
    const url = await testDatabaseCopyUrl();
    const name = new URL(url).pathname.slice(1);
    const state = await makeOlder(url);
    const { status, stderr } = startPlatform({ SWITCHYARD_DATABASE_URL: url });
    assert.equal(status, 78);
    assert.equal(
      stderr,
      `The database "${name}" of SWITCHYARD_DATABASE_URL was created by another commit of Switchyard and cannot be upgraded before the first release; replace it with: DROP DATABASE "${name}"; CREATE DATABASE "${name}"; and delete database-timeline.json in ${directory}\n`,
    );
    assert.deepEqual(await stateOf(url), state);
  });
});
