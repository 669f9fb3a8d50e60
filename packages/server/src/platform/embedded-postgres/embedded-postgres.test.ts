// Whole run: databases are made, started and stopped.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { copyTemplateCluster } from '../../../test/support/database/migrated-database-template.ts';
import { eventually } from '../../../test/support/wait-for-condition.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { createLog, type Log } from '../observability/log.ts';
import { isProcessAlive, readProcessIdentity } from '../process/process-identity.ts';
import { pause } from '../time/clock.ts';
import { findBinariesIn } from './binaries.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-postgres.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const settings = { shared_buffers: '32MB', max_wal_size: '128MB' };
const module = new URL('./embedded-postgres.ts', import.meta.url).href;
const isRoot = process.getuid?.() === 0;

let base: string;
before(async () => {
  base = await mkdtemp(join(tmpdir(), 'switchyard-pg-'));
  await chmod(base, 0o755);
});
after(() => rm(base, { recursive: true, force: true }));

/** Starts, queries and always stops: no server outlives its test. */
async function withServer<T>(
  dataDir: string,
  use: (database: Database, server: EmbeddedPostgres) => Promise<T>,
): Promise<T> {
  const server = await startEmbeddedPostgres({ dataDir, log, settings });
  const database = openDatabase({ url: server.url, log, connections: 4 });
  try {
    return await use(database, server);
  } finally {
    await database.close();
    await server.stop();
  }
}

/** Another process starts the server, reports it, and is killed on command. */
async function startElsewhere(dataDir: string): Promise<{ pid: number; kill(): Promise<void> }> {
  const script = `import { startEmbeddedPostgres } from ${JSON.stringify(module)};
    const log = { info() {}, warn() {}, error() {}, debug() {} };
    const server = await startEmbeddedPostgres({ dataDir: ${JSON.stringify(dataDir)}, log, settings: ${JSON.stringify(settings)} });
    console.log(server.pid()); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return {
    pid: Number(String(line)),
    async kill() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

describe('embedded PostgreSQL', () => {
  test('a new directory, then the same again: data stays, and settings are durable', async () => {
    const dataDir = join(base, 'a');
    await withServer(dataDir, async (database) => {
      await database.query('CREATE TABLE kept (n bigint)');
      await database.query('INSERT INTO kept VALUES (42)');
      for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
        const [row] = await database.query(`SHOW ${name}`);
        assert.equal(row?.[name], 'on');
      }
      const [addresses] = await database.query('SHOW listen_addresses');
      assert.equal(addresses?.['listen_addresses'], '');
      assert.equal((await stat(join(dataDir, 'socket'))).mode & 0o777, 0o700);
    });
    await withServer(dataDir, async (database, server) => {
      assert.deepEqual(await database.query('SELECT n FROM kept'), [{ n: 42 }]);
      if (!isRoot) return;
      const { uid } = await stat(join(dataDir, 'data'));
      assert.notEqual(uid, 0);
      assert.match(
        await readFile(`/proc/${server.pid()}/status`, 'utf8'),
        new RegExp(`Uid:\t${uid}`),
      );
    });
    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.startsWith('data') || name === 'owner'),
      ['data'],
    );
  });

  test('a process takes over the database server of a killed process and stops it at its own end', async () => {
    const dataDir = join(base, 'b');
    await copyTemplateCluster(dataDir);
    const elsewhere = await startElsewhere(dataDir);
    await elsewhere.kill();
    assert.ok(isProcessAlive(elsewhere.pid), 'the server outlives its starter');
    await withServer(dataDir, async (database, server) => {
      assert.equal(server.pid(), elsewhere.pid);
      await eventually('it answers', () => database.healthy());
    });
    assert.ok(!isProcessAlive(elsewhere.pid));
  });

  test('a second process uses the server of a living process and does not stop it', async () => {
    const dataDir = join(base, 'c');
    await copyTemplateCluster(dataDir);
    const host = await startElsewhere(dataDir);
    try {
      await withServer(dataDir, async (database, server) => {
        assert.equal(server.pid(), host.pid);
        await eventually('it answers', () => database.healthy());
      });
      assert.ok(isProcessAlive(host.pid), 'a guest stops nothing');
    } finally {
      await host.kill();
      await withServer(dataDir, async () => {});
    }
    assert.ok(!isProcessAlive(host.pid));
  });

  // Spec: SET-7
  test('a second process starts its own server if the first one ends before its server is up', async () => {
    const dataDir = join(base, 'i');
    await copyTemplateCluster(dataDir);
    await mkdir(dataDir, { recursive: true });
    const host = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    try {
      await once(host, 'spawn');
      await writeFile(join(dataDir, 'owner'), readProcessIdentity(host.pid ?? 0));
      const output: string[] = [];
      const note = (_facts: unknown, text: string) => void output.push(text);
      const starting = startEmbeddedPostgres({
        dataDir,
        settings,
        log: { info: note, warn: note, error: note } as unknown as Log,
      });
      await eventually('it waits', () => output.some((text) => text.startsWith('waiting for')));
      host.kill('SIGKILL');
      const server = await starting;
      assert.ok(isProcessAlive(server.pid()));
      await server.stop();
      assert.ok(!isProcessAlive(server.pid()), 'the process that started it stops it');
    } finally {
      host.kill('SIGKILL');
    }
  });

  test('a killed server restarts under load, and no acknowledged row is missing', async () => {
    const dataDir = join(base, 'd');
    await copyTemplateCluster(dataDir);
    await withServer(dataDir, async (database, server) => {
      await database.query('CREATE TABLE acknowledged (n bigint PRIMARY KEY)');
      const acknowledged: number[] = [];
      let next = 0;
      let stopped = false;
      const load = Array.from({ length: 4 }, async () => {
        while (!stopped) {
          const n = next++;
          const insert = { name: 'insert', text: 'INSERT INTO acknowledged VALUES ($1)' };
          await database.hot(insert, [n]).then(
            () => acknowledged.push(n),
            () => pause(5),
          );
        }
      });
      try {
        for (let round = 0; round < 2; round += 1) {
          const before = acknowledged.length;
          await eventually('load runs', () => acknowledged.length > before + 200, 60_000);
          const killed = server.pid();
          process.kill(killed, 'SIGKILL');
          await eventually('a new server', () => server.pid() !== killed, 60_000);
          await eventually('it answers', () => database.healthy(), 60_000);
        }
        const before = acknowledged.length;
        await eventually('load runs again', () => acknowledged.length > before + 200, 60_000);
      } finally {
        stopped = true;
        await Promise.all(load);
      }
      const rows = await database.query<{ n: number }>('SELECT n FROM acknowledged');
      const stored = new Set(rows.map(({ n }) => n));
      assert.deepEqual(
        acknowledged.filter((n) => !stored.has(n)),
        [],
      );
    });
  });

  test('a path that is too long for a socket gets a short one', async () => {
    const dataDir = join(base, 'long '.repeat(12), 'é%2F'.repeat(10), 'x'.repeat(40));
    await copyTemplateCluster(dataDir);
    await withServer(dataDir, async (database, server) => {
      await eventually('it answers', () => database.healthy());
      assert.ok(!server.url.includes('long'));
    });
  });

  test('a killed first start does not prevent the next one', async () => {
    const dataDir = join(base, 'e');
    await mkdir(join(dataDir, 'data.new-999999999'), { recursive: true });
    await writeFile(join(dataDir, 'owner'), '999999999 1');
    await withServer(dataDir, (database) => eventually('it answers', () => database.healthy()));
    assert.ok(!(await readdir(dataDir)).includes('data.new-999999999'));
  });

  test('a stale pid file with the id of another process is ignored', async () => {
    const dataDir = join(base, 'f');
    await copyTemplateCluster(dataDir);
    await withServer(dataDir, async () => {});
    const stale = [process.pid, 'x', 1, 5432, join(dataDir, 'socket'), '', '', 'ready'].join('\n');
    await writeFile(join(dataDir, 'data', 'postmaster.pid'), stale, { mode: 0o600 });
    await withServer(dataDir, (database) => eventually('it answers', () => database.healthy()));
  });

  test('a server that cannot start reports the reason from its log', async () => {
    const dataDir = join(base, 'g');
    await assert.rejects(
      startEmbeddedPostgres({ dataDir, log, settings: { shared_buffers: 'plenty' } }),
      /PostgreSQL does not start:[\s\S]*shared_buffers/,
    );
    await withServer(dataDir, (database) => eventually('it answers', () => database.healthy()));
  });

  test('two concurrent starts share one server', async () => {
    const dataDir = join(base, 'h');
    const [mine, theirs] = await Promise.all([
      startEmbeddedPostgres({ dataDir, log, settings }),
      startElsewhere(dataDir),
    ]);
    assert.equal(mine.pid(), theirs.pid);
    await theirs.kill();
    await mine.stop();
    if (isProcessAlive(theirs.pid)) await withServer(dataDir, async () => {});
    assert.ok(!isProcessAlive(theirs.pid));
  });
});

describe('PostgreSQL binaries', { skip: !isRoot }, () => {
  test('data below a directory that the account cannot enter stays where it is', async () => {
    const closed = join(base, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const dataDir = join(closed, 'data');
    await withServer(dataDir, async (database, server) => {
      await database.query('CREATE TABLE kept (n bigint)');
      await database.query('INSERT INTO kept VALUES (7)');
      const killed = server.pid();
      process.kill(killed, 'SIGKILL');
      await eventually('a new server', () => server.pid() !== killed);
      await eventually('it answers', () => database.healthy());
      await database.query('CHECKPOINT');
    });
    assert.ok((await readdir(join(dataDir, 'data'))).includes('PG_VERSION'));
    const elsewhere = await startElsewhere(dataDir);
    await elsewhere.kill();
    await withServer(dataDir, async (database, server) => {
      assert.equal(server.pid(), elsewhere.pid, 'adopted');
      assert.deepEqual(await database.query('SELECT n FROM kept'), [{ n: 7 }]);
    });
    assert.deepEqual((await readdir(dataDir)).toSorted(), ['data', 'server.log']);
  });

  test('an unreadable installation is copied with its library links', async () => {
    const home = join(base, 'copy');
    await mkdir(home, { recursive: true });
    const account = { uid: 65_534, gid: 65_534 };
    // Not from findBinaries: if the account cannot enter the checkout, that names a copy.
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const native = join(dirname(fileURLToPath(import.meta.resolve(name))), '..', 'native');
    // The same package in a directory that the account cannot enter, without links.
    const hidden = join(base, 'hidden');
    // Links as they are: resolved ones would lead back to a directory that the account cannot enter.
    await cp(dirname(native), hidden, { recursive: true, verbatimSymlinks: true });
    await rm(join(hidden, 'native', 'lib', 'libpq.so.5'), { force: true });
    await chmod(hidden, 0o700);
    const binaries = await findBinariesIn(join(hidden, 'native'), home, account);
    assert.ok(binaries.postgres.startsWith(home), binaries.postgres);
    const again = await findBinariesIn(join(hidden, 'native'), home, account);
    assert.equal(again.postgres, binaries.postgres);
    assert.ok(
      (await readdir(join(dirname(binaries.postgres), '..', 'lib'))).includes('libpq.so.5'),
    );
  });
});
