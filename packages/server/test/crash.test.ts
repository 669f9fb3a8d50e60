// kill -9 under load: every acknowledged sale is there once, every unanswered one ends, totals agree.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import {
  assertNothingLost,
  base,
  linkIsUp,
  random,
  type Sale,
  settled,
  till,
  tokenOf,
} from './load.ts';
import { keyedSale, until } from './scene.ts';
import { freePorts, type ServerProcess, serverProcess } from './server-process.ts';

const kills = 30;
const databaseKills = 3;
const tills = 12;
const salesBetweenKills = 10;
const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

describe('a server that is killed', { concurrency: false }, () => {
  const sales: Sale[] = [];
  const next = random(seed);
  let directory: string;
  let host: AcquirerHost;
  let server: ServerProcess;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-crash-'));
    const ports = await freePorts(3);
    host = await startAcquirerHost({
      host: '127.0.0.1',
      port: 0,
      ledgerDir: join(directory, 'ledger'),
      lateMs: 3000,
      slowMs: 500,
    });
    server = serverProcess({
      SWITCHYARD_DATA_DIR: join(directory, 'data'),
      SWITCHYARD_PORT: String(ports[0]),
      SWITCHYARD_DEVICE_PORT: String(ports[1]),
      SWITCHYARD_METRICS_PORT: String(ports[2]),
      SWITCHYARD_ACQUIRER_PORT: String(host.port),
      SWITCHYARD_SIMULATORS: 'off',
      SWITCHYARD_ACQUIRER_TIMEOUT_MS: '1000',
      SWITCHYARD_LOG_LEVEL: 'warn',
    });
    await server.start();
    // Node keeps what it has compiled at an orderly end alone, and the many starts below are quicker by it.
    await server.stop();
    await server.start();
  });

  after(async () => {
    await server.stop();
    await host.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const answeredSales = () => sales.filter(({ answered }) => answered?.status === 200).length;

  async function entrance() {
    const client = await server.client();
    const token = await tokenOf(server, client);
    await linkIsUp(client, token);
    return { client, token };
  }

  test(`${kills} times at random instants (seed ${seed})`, { timeout: 200_000 }, async () => {
    for (let round = 0; round < kills; round += 1) {
      const { client, token } = await entrance();
      const loops = Array.from({ length: tills }, () =>
        till({ server, client, token, sales, next }),
      );
      const enough = answeredSales() + salesBetweenKills;
      await until(() => (answeredSales() >= enough ? true : undefined), 'sales before the kill');
      await new Promise((resolve) => setTimeout(resolve, next() * 100));
      await server.kill();
      await Promise.all(loops);
      await server.start();
    }
    const counts = await assertNothingLost({ ...(await entrance()), sales, host });
    process.stdout.write(`after ${kills} kills, seed ${seed}: ${JSON.stringify(counts)}\n`);
  });

  test(`its database, ${databaseKills} times, and it recovers alone`, {
    timeout: 90_000,
  }, async () => {
    const { client, token } = await entrance();
    let open = true;
    const goOn = () => open;
    const loops = Array.from({ length: tills }, () =>
      till({ server, client, token, sales, next, goOn }),
    );
    const pidFile = join(directory, 'data', 'postgres', 'data', 'postmaster.pid');
    for (let round = 0; round < databaseKills; round += 1) {
      const enough = answeredSales() + 50;
      await until(() => (answeredSales() >= enough ? true : undefined), 'sales to go on', 30_000);
      const pid = Number((await readFile(pidFile, 'utf8')).split('\n')[0]);
      process.kill(pid, 'SIGKILL');
      await until(
        async () => {
          const now = await readFile(pidFile, 'utf8').catch(() => '');
          return Number(now.split('\n')[0] || pid) === pid ? undefined : true;
        },
        'another postmaster',
        30_000,
      );
    }
    const enough = answeredSales() + 20;
    await until(() => (answeredSales() >= enough ? true : undefined), 'sales after all', 30_000);
    open = false;
    await Promise.all(loops);
    const refused = sales.filter((sale) => (sale.answered?.status ?? 200) !== 200);
    for (const sale of refused) assert.equal(sale.answered?.status, 503, sale.answered?.text);
    await assertNothingLost({ ...(await entrance()), sales, host });
  });

  for (const failPoint of ['after-intent', 'after-send']) {
    test(`at the fail point ${failPoint} the sale ends reversed`, { timeout: 60_000 }, async () => {
      await server.stop();
      await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
      const { client, token } = await entrance();
      const capturedAtHost = () =>
        host.ledger().totals.reduce((all, each) => all + each.captured, 0);
      const before = capturedAtHost();
      const body = keyedSale({ amount: 4321 });
      await assert.rejects(client.call('POST', `${base}/process`, { token, body }));
      await server.ended();
      await server.start();
      const again = await entrance();
      const clientId = String(body['clientTransactionId']);
      const now = await settled(again.client, again.token, { clientId });
      assert.equal(now['state'], 'Reversed');
      const replay = await again.client.call('POST', `${base}/process`, {
        token: again.token,
        body,
      });
      assert.equal(replay.status, 200);
      assert.equal(replay.body.state, 'Reversed');
      assert.equal(replay.body.terminalAction, 'Decline');
      assert.equal(capturedAtHost(), before);
    });
  }
});
