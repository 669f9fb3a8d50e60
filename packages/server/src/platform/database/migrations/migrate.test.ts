import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { testSchemaUrl } from '../../../../test/support/database/test-database.ts';
import { eventually } from '../../../../test/support/wait-for-condition.ts';
import { systemIdGenerator } from '../../identifiers/ids.ts';
import { createLog } from '../../observability/log.ts';
import { systemClock } from '../../time/clock.ts';
import { type Database, openDatabase } from '../database.ts';
import { migrate } from './migrate.ts';
import { splitStatements } from './read-migrations.ts';
import { SchemaMismatchError } from './schema-mismatch.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const usual = { log, clock: systemClock, ids: systemIdGenerator };
const deps = { ...usual, leaseMs: 400 };

let base: string;
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'switchyard-migrations-'));
});
after(() => rm(base, { recursive: true, force: true }));

async function directoryOf(files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(base, 'm-'));
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
  return directory;
}

const first = '-- Makes a.\nCREATE TABLE a (n int);\nINSERT INTO a VALUES (1);';
const second = "-- Makes b.\nCREATE TABLE b (t text DEFAULT ';');\n-- end\n";

async function expectMigrated(
  files: Record<string, string>,
  use: (database: Database, directory: string, again: () => Database) => Promise<void>,
) {
  const url = await testSchemaUrl();
  const again = () => openDatabase({ url, log, connections: 3 });
  const database = again();
  try {
    await use(database, await directoryOf(files), again);
  } finally {
    await database.close();
  }
}

describe('migrations', () => {
  test('migrations run once, in order, and are recorded', async () => {
    await expectMigrated({ '0001-a.sql': first, '0002-b.sql': second }, async (database, dir) => {
      assert.deepEqual(await migrate(database, dir, deps), ['0001-a', '0002-b']);
      assert.deepEqual(await migrate(database, dir, deps), []);
      assert.deepEqual(await database.query('SELECT n FROM a'), [{ n: 1 }]);
      const rows = await database.query(
        'SELECT version, name, note, statements_done FROM schema_migrations ORDER BY version',
      );
      assert.deepEqual(rows, [
        { version: 1, name: '0001-a', note: 'Makes a.', statements_done: 2 },
        { version: 2, name: '0002-b', note: 'Makes b.', statements_done: 1 },
      ]);
      assert.deepEqual(await database.query('SELECT * FROM schema_lease'), []);
    });
  });

  const mismatch = (message: RegExp) => ({ name: 'SchemaMismatchError', message });

  test('a changed, a missing and an out-of-order migration are refused', async () => {
    const third = '-- Makes c.\nCREATE TABLE c (n int);';
    const files = { '0001-a.sql': first, '0002-b.sql': second, '0004-c.sql': third };
    await expectMigrated(files, async (database, dir) => {
      await migrate(database, dir, deps);
      await writeFile(join(dir, '0002-b.sql'), second.replaceAll('\n', '\r\n'));
      assert.deepEqual(await migrate(database, dir, deps), [], 'line ends are no change');
      await writeFile(join(dir, '0002-b.sql'), `${second} `);
      await assert.rejects(migrate(database, dir, deps), mismatch(/0002-b was changed/));
      await rm(join(dir, '0002-b.sql'));
      await assert.rejects(migrate(database, dir, deps), mismatch(/0002-b is missing/));
      await writeFile(join(dir, '0002-b.sql'), second);
      await writeFile(join(dir, '0003-late.sql'), '-- Late.\nSELECT 1;');
      await assert.rejects(
        migrate(database, dir, deps),
        mismatch(/0003-late was added after a newer migration/),
      );
    });
  });

  test('another first migration is a schema mismatch, and nothing changes', async () => {
    await expectMigrated({ '0001-a.sql': first, '0002-b.sql': second }, async (database, dir) => {
      await migrate(database, dir, deps);
      for (const [name, text] of [
        ['0001-a.sql', `${first} `],
        ['0001-baseline.sql', first.replaceAll('a', 'c')],
      ] as const) {
        const files = { [name]: text, '0002-c.sql': '-- Makes d.\nCREATE TABLE d (n int);' };
        await assert.rejects(migrate(database, await directoryOf(files), deps), (error) => {
          assert.ok(error instanceof SchemaMismatchError);
          assert.match(error.message, /was created with 0001-a of another commit/);
          return true;
        });
      }
      assert.deepEqual(
        await database.query(`SELECT to_regclass('c') AS c, to_regclass('d') AS d`),
        [{ c: null, d: null }],
      );
      assert.deepEqual(await migrate(database, dir, deps), []);
    });
  });

  test('a failed migration is rolled back, and earlier ones stay', async () => {
    const wrong = '-- Fails.\nCREATE TABLE c (n int);\nSELECT no_such_column;';
    await expectMigrated({ '0001-a.sql': first, '0002-c.sql': wrong }, async (database, dir) => {
      await assert.rejects(
        migrate(database, dir, deps),
        /migration 0002-c failed: .*no_such_column/,
      );
      await assert.rejects(database.query('SELECT 1 FROM c'), { code: '42P01' });
      await writeFile(join(dir, '0002-c.sql'), wrong.replace('no_such_column', '1'));
      assert.deepEqual(await migrate(database, dir, deps), ['0002-c']);
    });
  });

  test('names, numbers and notes are required', async () => {
    for (const files of [
      { '1-a.sql': first },
      { '0000-a.sql': first },
      { '0001-a.sql': first, '0001-b.sql': second },
      { '0001-a.sql': 'CREATE TABLE a (n int);' },
    ]) {
      await expectMigrated(files as Record<string, string>, async (database, dir) => {
        await assert.rejects(migrate(database, dir, deps), Error);
      });
    }
  });

  test('of several processes that start at the same time one migrates and the others wait', async () => {
    const slow = '-- Slow.\nSELECT pg_sleep(0.3);\nCREATE TABLE s (n int);';
    await expectMigrated(
      { '0001-a.sql': first, '0002-s.sql': slow },
      async (database, dir, again) => {
        const others = [again(), again(), again()];
        try {
          const applied = await Promise.all(
            [database, ...others].map((each) => migrate(each, dir, usual)),
          );
          assert.deepEqual(applied.flat().toSorted(), ['0001-a', '0002-s']);
          assert.deepEqual(await database.query('SELECT count(*) AS n FROM a'), [{ n: 1 }]);
        } finally {
          await Promise.all(others.map((each) => each.close()));
        }
      },
    );
  });

  test('the lease of a killed process expires', async () => {
    await expectMigrated({ '0001-a.sql': first }, async (database, dir) => {
      await migrate(database, await directoryOf({}), deps);
      const startedAt = systemClock.now();
      await database.query(
        `INSERT INTO schema_lease VALUES ('migrate', $1, now() + interval '300 ms')`,
        [randomUUID()],
      );
      assert.deepEqual(await migrate(database, dir, deps), ['0001-a']);
      assert.ok(systemClock.now() - startedAt >= 250);
    });
  });

  test('a process that lost the lease commits nothing', async () => {
    const slow = '-- Slow.\nCREATE TABLE s (n int);\nSELECT pg_advisory_xact_lock(7301);';
    await expectMigrated({ '0001-s.sql': slow }, async (database, dir, again) => {
      await migrate(database, await directoryOf({}), deps);
      const thief = again();
      try {
        const takeLease = 'UPDATE schema_lease SET holder = $1 RETURNING holder';
        const isTaken = async () => (await thief.query(takeLease, [randomUUID()])).length > 0;
        let migrating: Promise<void> | undefined;
        await thief.transaction(async (trx) => {
          // The migration waits for this lock: it cannot end before the lease expires.
          await trx.query('SELECT pg_advisory_xact_lock(7301)');
          migrating = assert.rejects(migrate(database, dir, deps), /took over the migration/);
          await eventually('the lease is taken', isTaken);
        });
        await migrating;
        await assert.rejects(database.query('SELECT 1 FROM s'), { code: '42P01' });
      } finally {
        await thief.close();
      }
    });
  });

  test('a migration without a transaction resumes where a killed process stopped', async () => {
    const singly =
      '-- Indexes.\n-- transaction: none\nCREATE TABLE x (n int);\nCREATE INDEX CONCURRENTLY x_n ON x (n);\nINSERT INTO x VALUES (7);';
    await expectMigrated({ '0001-x.sql': singly }, async (database, dir) => {
      await migrate(database, dir, deps);
      // The state after a process died between the index and the count.
      await database.query('UPDATE schema_migrations SET statements_done = 1, finished_at = NULL');
      await database.query('DELETE FROM x');
      assert.deepEqual(await migrate(database, dir, deps), ['0001-x']);
      assert.deepEqual(await database.query('SELECT n FROM x'), [{ n: 7 }]);
    });
  });

  test('an interrupted index is created again, and the old index stays until then', async () => {
    const table =
      '-- X.\nCREATE TABLE x (n int);\nCREATE INDEX x_old ON x (n);\nINSERT INTO x VALUES (1), (1);';
    const singly =
      '-- Index.\n-- transaction: none\n\n-- Of before.\nDROP INDEX CONCURRENTLY IF EXISTS x_n;\n\n-- New.\nCREATE UNIQUE INDEX CONCURRENTLY x_n ON x (n);\nDROP INDEX CONCURRENTLY IF EXISTS x_old;';
    await expectMigrated({ '0001-x.sql': table, '0002-i.sql': singly }, async (database, dir) => {
      const indexes = () =>
        database.query(
          `SELECT indexrelid::regclass::text AS name, indisvalid FROM pg_index
           WHERE indrelid = 'x'::regclass ORDER BY name`,
        );
      for (let start = 0; start < 3; start += 1) {
        await assert.rejects(migrate(database, dir, deps), /0002-i failed: .*unique index/);
        assert.deepEqual(await indexes(), [
          { name: 'x_n', indisvalid: false },
          { name: 'x_old', indisvalid: true },
        ]);
      }
      await database.query('DELETE FROM x');
      assert.deepEqual(await migrate(database, dir, deps), ['0002-i']);
      assert.deepEqual(await indexes(), [{ name: 'x_n', indisvalid: true }]);
    });
  });

  test('a dropped object that was not counted is no error', async () => {
    const drops =
      'ALTER TABLE x DROP CONSTRAINT x_n;\nDROP INDEX x_m;\nALTER TABLE x DROP COLUMN m;\nDROP TABLE y;';
    const table =
      'CREATE TABLE x (n int CONSTRAINT x_n CHECK (n > 0), m int);\nCREATE INDEX x_m ON x (m);\nCREATE TABLE y (n int);';
    const singly = `-- Drops.\n-- transaction: none\n${table}\n${drops}`;
    await expectMigrated({ '0001-x.sql': singly }, async (database, dir) => {
      await migrate(database, dir, deps);
      for (const done of [6, 5, 4, 3]) {
        await database.query(
          'UPDATE schema_migrations SET statements_done = $1, finished_at = NULL',
          [done],
        );
        const others = done === 6 ? [] : ['CREATE TABLE y (n int)'];
        if (done < 5) others.push('ALTER TABLE x ADD COLUMN m int');
        if (done < 4) others.push('CREATE INDEX x_m ON x (m)');
        for (const other of others) await database.query(other);
        assert.deepEqual(await migrate(database, dir, deps), ['0001-x'], String(done));
      }
    });
  });

  test('an inserted row that was not counted is no error', async () => {
    const singly =
      '-- Rows.\n-- transaction: none\nCREATE TABLE x (n int PRIMARY KEY);\nINSERT INTO x VALUES (1);';
    await expectMigrated({ '0001-x.sql': singly }, async (database, dir) => {
      await migrate(database, dir, deps);
      await database.query('UPDATE schema_migrations SET statements_done = 1, finished_at = NULL');
      assert.deepEqual(await migrate(database, dir, deps), ['0001-x']);
    });
  });
});

describe('statements of a migration', () => {
  test('semicolons in quotes, comments and bodies do not end a statement', () => {
    const sql = `-- a; b
      SELECT ';' AS "x;y", E'\\';', 'it''s;' /* c; /* d; */ */;
      ;
      DO $body$ BEGIN PERFORM 1; END $body$;
      SELECT $$;$$, a$b$c FROM t -- end;
      `;
    const statements = splitStatements(sql);
    assert.equal(statements.length, 3, statements.join('\n---\n'));
    assert.match(statements[1] ?? '', /^DO \$body\$.*\$body\$$/);
    assert.deepEqual(splitStatements('-- only a comment\n;; /* x */'), []);
    assert.throws(() => splitStatements("SELECT 'open"), SyntaxError);
    assert.throws(() => splitStatements('SELECT 1 /* open'), SyntaxError);
  });
});
