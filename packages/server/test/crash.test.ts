// kill -9 under load: every acknowledged sale is there once, every unanswered one ends, totals agree.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import type { Answer, Client } from './client.ts';
import { keyedSale, until } from './scene.ts';
import { freePorts, type ServerProcess, serverProcess } from './server-process.ts';

const base = '/payment/v1/transactions';
const kills = 30;
const tills = 12;
const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

/** A small generator with a seed, so that a failure can be run again. */
function random(from: number): () => number {
  let state = from + 1;
  return () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

type Sale = { clientId: string; answered?: Answer; refundAnswered?: Answer };

describe('a server that is killed', { concurrency: false }, () => {
  let dataDir: string;
  let host: AcquirerHost;
  let server: ServerProcess;

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'switchyard-crash-'));
    const ports = await freePorts(3);
    host = await startAcquirerHost({
      host: '127.0.0.1',
      port: 0,
      ledgerDir: join(dataDir, 'ledger'),
      lateMs: 3000,
      slowMs: 500,
    });
    server = serverProcess({
      SWITCHYARD_DATA_DIR: join(dataDir, 'data'),
      SWITCHYARD_PORT: String(ports[0]),
      SWITCHYARD_DEVICE_PORT: String(ports[1]),
      SWITCHYARD_METRICS_PORT: String(ports[2]),
      SWITCHYARD_ACQUIRER_PORT: String(host.port),
      SWITCHYARD_SIMULATORS: 'off',
      SWITCHYARD_ACQUIRER_TIMEOUT_MS: '1000',
      SWITCHYARD_LOG_LEVEL: 'warn',
    });
  });

  after(async () => {
    await server.stop();
    await host.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function tokenOf(client: Client): Promise<string> {
    const { userDomainId, applications } = await server.facts();
    const merchant = applications['merchant'];
    assert.ok(merchant);
    return client.token(userDomainId, merchant.clientId, merchant.clientSecret);
  }

  const linkIsUp = (client: Client, token: string) =>
    until(async () => {
      const path = `${base}/technical/isAvailable`;
      const { body } = await client.call('GET', path, { token });
      return body.available === true ? true : undefined;
    }, 'the link');

  /** Sells, and now and then refunds, until the process is gone. */
  async function till(client: Client, token: string, sales: Sale[], next: () => number) {
    const { devices } = await server.facts();
    for (;;) {
      const sale: Sale = { clientId: randomUUID() };
      sales.push(sale);
      try {
        const device = devices[Math.floor(next() * 2)];
        sale.answered = await client.call('POST', `${base}/process`, {
          token,
          body: keyedSale({
            clientTransactionId: sale.clientId,
            amount: 1000 + Math.floor(next() * 5000),
            deviceId: device?.logicalDeviceId,
          }),
        });
        if (next() < 0.2) {
          sale.refundAnswered = await client.call('POST', `${base}/${sale.clientId}/refund`, {
            token,
            body: { amount: 100, clientOperationId: sale.clientId },
          });
        }
      } catch {
        return;
      }
    }
  }

  async function settled(client: Client, token: string, sale: Sale) {
    return until(
      async () => {
        const path = `${base}/${sale.clientId}`;
        const { status, body } = await client.call('GET', path, { token });
        if (status === 404) return { state: 'Unknown' } as Record<string, unknown>;
        assert.equal(status, 200);
        const pending = body.operations.some(
          (each: { status: string }) => each.status === 'Pending',
        );
        return ['Received', 'Reversing'].includes(body.state) || pending ? undefined : body;
      },
      `the end of ${sale.clientId}`,
      40_000,
    );
  }

  test(`${kills} times at random instants (seed ${seed})`, { timeout: 240_000 }, async () => {
    const next = random(seed);
    const sales: Sale[] = [];
    await server.start();
    for (let round = 0; round < kills; round += 1) {
      const client = await server.client();
      const token = await tokenOf(client);
      await linkIsUp(client, token);
      const loops = Array.from({ length: tills }, () => till(client, token, sales, next));
      await new Promise((resolve) => setTimeout(resolve, 80 + next() * 250));
      await server.kill();
      await Promise.all(loops);
      await server.start();
    }
    const client = await server.client();
    const token = await tokenOf(client);
    let captured = 0;
    let refunded = 0;
    const counts: Record<string, number> = {};
    for (const sale of sales) {
      const now = await settled(client, token, sale);
      const state = String(now['state']);
      counts[state] = (counts[state] ?? 0) + 1;
      captured += Number(now['capturedAmount'] ?? 0);
      refunded += Number(now['refundedAmount'] ?? 0);
      const { answered, refundAnswered } = sale;
      if (answered?.status === 200) {
        assert.equal(
          now['transactionId'],
          answered.body.transactionId,
          'an answered sale is there',
        );
        assert.equal(now['answeredState'], answered.body.state);
      }
      if (refundAnswered?.status === 200) assert.equal(now['refundedAmount'], 100);
    }
    assert.ok((counts['Captured'] ?? 0) > kills, `too little was sold: ${JSON.stringify(counts)}`);
    const totals = host.ledger().totals;
    const sum = (of: 'captured' | 'refunded' | 'openHolds') =>
      totals.reduce((all, each) => all + each[of], 0);
    assert.equal(captured, sum('captured'), `captured (seed ${seed}) ${JSON.stringify(counts)}`);
    assert.equal(refunded, sum('refunded'), `refunded (seed ${seed})`);
    assert.equal(sum('openHolds'), 0);
  });

  for (const failPoint of ['after-intent', 'after-send']) {
    test(`at the fail point ${failPoint} the sale ends reversed`, { timeout: 60_000 }, async () => {
      await server.stop();
      await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
      let client = await server.client();
      let token = await tokenOf(client);
      await linkIsUp(client, token);
      const before = host.ledger().totals.reduce((all, each) => all + each.captured, 0);
      const body = keyedSale({ amount: 4321 });
      await assert.rejects(client.call('POST', `${base}/process`, { token, body }));
      await server.ended();
      await server.start();
      client = await server.client();
      token = await tokenOf(client);
      const clientId = String(body['clientTransactionId']);
      const now = await settled(client, token, { clientId });
      assert.equal(now['state'], 'Reversed');
      const again = await client.call('POST', `${base}/process`, { token, body });
      assert.equal(again.status, 200);
      assert.equal(again.body.state, 'Reversed');
      assert.equal(again.body.terminalAction, 'Decline');
      const captured = host.ledger().totals.reduce((all, each) => all + each.captured, 0);
      assert.equal(captured, before);
    });
  }
});
