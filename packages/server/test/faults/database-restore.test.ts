// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A platform under load while its PostgreSQL fails over to a standby, or is restored to an earlier
// time.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type PostgresServer,
  postgresServer,
} from '../../src/platform/embedded-postgres/postgres-server.fixture.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { openCommandLine } from '../support/processes/switchyard-command.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, startFaultPlatform } from './fault-platform.ts';
import { seed, sizeOfRun } from './fault-size.ts';
import {
  assertNothingLost,
  createRandom,
  type Sale,
  sellUntilStopped,
  transactionsPath,
} from './load-during-faults.ts';

const tills = 8;
const salesPerPhase = sizeOfRun({ small: 40, full: 400 });
const timeoutMs = sizeOfRun({ small: 240_000, full: 900_000 });

type Relay = { readonly url: string; target: PostgresServer; close(): Promise<void> };

/** A relay with a fixed database address; a test can change its target server. */
async function relayTo(first: PostgresServer): Promise<Relay> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(join(relay.target.socketDir, '.s.PGSQL.5432'));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  const relay: Relay = {
    url: `postgresql://switchyard@127.0.0.1:${address.port}/postgres?sslmode=disable`,
    target: first,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return relay;
}

describe('a database that is replaced', { concurrency: false }, () => {
  const next = createRandom(seed);
  let directory: string;
  let primary: PostgresServer;
  let standby: PostgresServer;
  let relay: Relay;
  let platform: FaultPlatform;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-restore-'));
    await chmod(directory, 0o755);
    primary = await postgresServer(join(directory, 'primary'));
    await primary.start();
    relay = await relayTo(primary);
    platform = await startFaultPlatform({ databaseUrl: relay.url });
    await platform.server.start();
    await backUp(primary, 'first');
    standby = await postgresServer(join(directory, 'standby'), join(directory, 'first'));
    await standby.follow(primary);
    await standby.start({}, { isStandby: true });
    await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    await primary.query('SELECT pg_reload_conf()');
    await until(async () => {
      const rows = await primary.query('SELECT sync_state FROM pg_stat_replication');
      return rows[0]?.['sync_state'] === 'sync' ? true : undefined;
    }, 'the synchronous standby');
  });

  after(async () => {
    await platform.stop();
    await relay.close();
    await primary.stop();
    await standby.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function backUp(server: PostgresServer, name: string): Promise<string> {
    const backup = join(directory, name);
    await server.stop();
    await server.backUp(backup);
    await server.start();
    return backup;
  }

  /** Tills sell until the work has ended. */
  async function underLoad(work: (sales: readonly Sale[]) => Promise<unknown>): Promise<Sale[]> {
    const { server } = platform;
    const { client, token } = await platform.openClient();
    const sales: Sale[] = [];
    let isOpen = true;
    const goOn = () => isOpen;
    const loops = Array.from({ length: tills }, () =>
      sellUntilStopped({ server, client, token, sales, next, continues: goOn }),
    );
    try {
      await work(sales);
    } finally {
      isOpen = false;
      await Promise.all(loops);
    }
    return sales;
  }

  const approved = (sales: readonly Sale[]) =>
    sales.filter(({ response }) => response?.status === 200);

  const moreSales = (sales: readonly Sale[], count = salesPerPhase) => {
    const enough = approved(sales).length + count;
    return until(() => approved(sales).length >= enough || undefined, 'more sales', timeoutMs);
  };

  /** Merchant, terminal and trace number of every message at the host. */
  async function assertNumbersUsedOnce(): Promise<void> {
    const ledger = join(platform.dataDir, '..', 'ledger');
    const used = new Set<string>();
    const entries = await readdir(ledger, { withFileTypes: true });
    for (const { name } of entries.filter((entry) => entry.isFile())) {
      for (const line of (await readFile(join(ledger, name), 'utf8')).split('\n')) {
        const key = line === '' ? undefined : (JSON.parse(line) as { key?: string }).key;
        if (key === undefined) continue;
        const [, , terminal, trace] = key.split('.');
        assert.ok(!used.has(`${terminal} ${trace}`), `${terminal} used ${trace} twice`);
        used.add(`${terminal} ${trace}`);
      }
    }
    assert.ok(used.size > salesPerPhase);
  }

  async function monitoring(path: string): Promise<{ status: number; text: string }> {
    const { metricsUrl } = await platform.server.demoFacts();
    const response = await fetch(`${metricsUrl}${path}`);
    return { status: response.status, text: await response.text() };
  }

  const sell = async (
    clientTransactionId: string,
    client: Awaited<ReturnType<typeof platform.openClient>>,
  ) =>
    client.client.call('POST', `${transactionsPath}/process`, {
      token: client.token,
      body: keyedSale({ clientTransactionId }),
    });

  async function admin(...args: string[]) {
    const line = openCommandLine();
    try {
      const demo = ['--demo', platform.dataDir, '--application', 'operator'];
      const login = await line.run(['login', ...demo]);
      assert.equal(login.code, 0, login.stderr);
      const ended = await line.run(['admin', ...args, '--json']);
      assert.equal(ended.code, 0, ended.stderr);
      return ended.json();
    } finally {
      line.remove();
    }
  }

  // Spec: INV-18
  test('a synchronous standby takes over under load without an operator: no sale is lost, no number is used twice', {
    timeout: timeoutMs,
  }, async () => {
    const sales = await underLoad(async (all) => {
      await moreSales(all);
      process.kill(primary.pid(), 'SIGKILL');
      await standby.query('SELECT pg_promote()');
      relay.target = standby;
      await moreSales(all);
    });
    const { host } = platform;
    await assertNothingLost({ ...(await platform.openClient()), sales, host, mayFail: true });
    await platform.assertLedgersAgree();
    await assertNumbersUsedOnce();
    const { status, timeline, jumps } = await admin('numbering');
    assert.deepEqual({ status, timeline, jumps }, { status: 'Available', timeline: 2, jumps: 1 });
  });

  // Spec: INV-17
  test('a restore to an earlier moment stops new payments until the recovery, and no number is used twice', {
    timeout: timeoutMs,
  }, async () => {
    const backup = await backUp(standby, 'second');
    const client = await platform.openClient();
    const keptSale = randomUUID();
    const lost = randomUUID();
    assert.equal((await sell(keptSale, client)).status, 200);
    await underLoad(async (sales) => {
      await moreSales(sales);
      await standby.query("SELECT pg_create_restore_point('an_hour_ago')");
      assert.equal((await sell(lost, client)).status, 200);
      await moreSales(sales);
      await standby.query('SELECT pg_switch_wal()');
      await standby.stop();
      await standby.restore(backup, 'an_hour_ago');
      await standby.start();
      await until(
        () =>
          sales.some(({ response }) => response?.body?.code === 'recovery_required') || undefined,
        'a refused sale',
      );
    });
    const again = await sell(lost, client);
    assert.equal(again.status, 503, again.text);
    assert.equal(again.body.code, 'recovery_required');
    assert.equal(again.body.outcome, 'Unknown');
    const readLost = await client.client.call('GET', `${transactionsPath}/${lost}`, {
      token: client.token,
    });
    assert.equal(readLost.body.code, 'recovery_required', 'a lost sale is not unknown');
    const keptResponse = await client.client.call('GET', `${transactionsPath}/${keptSale}`, {
      token: client.token,
    });
    assert.equal(keptResponse.status, 200, keptResponse.text);
    const refund = await client.client.call('POST', `${transactionsPath}/${keptSale}/refund`, {
      token: client.token,
      body: { amount: 100, clientOperationId: keptSale },
    });
    assert.equal(refund.body.code, 'recovery_required', refund.text);
    const ready = await monitoring('/readyz');
    assert.equal(ready.status, 200);
    assert.equal(JSON.parse(ready.text).numbering, 'recovery_required');
    assert.match(
      (await monitoring('/metrics')).text,
      /^switchyard_numbering_recovery_required 1$/m,
    );
    assert.match(platform.server.output(), /the database went back in time/);

    const { status, jumps } = await admin('recover-numbering');
    assert.equal(status, 'Available');
    assert.deepEqual(
      (await admin('recover-numbering')).jumps,
      jumps,
      'a second run changes nothing',
    );
    await underLoad((sales) => moreSales(sales));
    await assertNumbersUsedOnce();
    assert.equal(JSON.parse((await monitoring('/readyz')).text).numbering, 'ok');
    const records = await standby.query(
      "SELECT action FROM audit_records WHERE action = 'numbering.recovered'",
    );
    assert.equal(records.length, 1);
  });

  // Spec: INV-19
  test('processes that restart without a data directory after a restore use no number twice, and warn', {
    timeout: timeoutMs,
  }, async () => {
    const backup = await backUp(standby, 'third');
    await standby.query("SELECT pg_create_restore_point('before_the_restart')");
    await underLoad((sales) => moreSales(sales));
    await platform.server.stop();
    await rm(join(platform.dataDir, 'database-timeline.json'));
    await standby.query('SELECT pg_switch_wal()');
    await standby.stop();
    await rm(join(standby.home, 'data-old'), { recursive: true });
    await standby.restore(backup, 'before_the_restart');
    await standby.start();
    await platform.server.start();
    assert.match(platform.server.output(), /"level":"warn".*no record of its last writes/);
    await underLoad((sales) => moreSales(sales));
    await assertNumbersUsedOnce();
  });
});
