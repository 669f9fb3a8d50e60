// kill -9 while a sale awaits its confirmation, and around the message of an offline sale: no money stays or is doubled.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type AcquirerHost, startAcquirerHost } from '@switchyard/simulators';
import type { Client } from './client.ts';
import { base, linkIsUp, tokenOf } from './load.ts';
import { keyedSale, until } from './scene.ts';
import { freePorts, type ServerProcess, serverProcess } from './server-process.ts';

describe('a server that is killed', { concurrency: false }, () => {
  let directory: string;
  let host: AcquirerHost;
  let server: ServerProcess;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'switchyard-awaited-'));
    const ports = await freePorts(3);
    const ledgerDir = join(directory, 'ledger');
    host = await startAcquirerHost({
      ...{ host: '127.0.0.1', port: 0, ledgerDir, lateMs: 3000, slowMs: 500 },
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
  });

  after(async () => {
    await server.stop();
    await host.stop();
    await rm(directory, { recursive: true, force: true });
  });

  async function entrance(): Promise<{ client: Client; token: string }> {
    const client = await server.client();
    const token = await tokenOf(server, client);
    await linkIsUp(client, token);
    return { client, token };
  }

  const inState = (on: { client: Client; token: string }, id: string, state: string) =>
    until(
      async () => {
        const { body } = await on.client.call('GET', `${base}/${id}`, { token: on.token });
        return body.state === state ? body : undefined;
      },
      `${id} to be ${state}`,
      40_000,
    );

  const captured = () => host.ledger().totals.reduce((all, each) => all + each.captured, 0);

  async function offlineSale(terminalSequence: number) {
    const [device] = (await server.facts()).devices;
    return keyedSale({
      amount: 2222,
      deviceId: device?.logicalDeviceId,
      offlineTransaction: true,
      offlineData: {
        authorizedAt: new Date(Date.now() - 60_000).toISOString(),
        authorizationCode: 'OFF001',
        terminalSequence,
        reason: 'ServerUnavailable',
      },
    });
  }

  test('reverses what nobody has confirmed, and keeps what somebody has', async () => {
    const { client, token } = await entrance();
    const sell = async () => {
      const body = keyedSale({ amount: 1111, confirmWithinSeconds: 5 });
      return (await client.call('POST', `${base}/process`, { token, body })).body;
    };
    const unheard = await sell();
    const heard = await sell();
    assert.deepEqual([unheard.state, heard.state], ['Captured', 'Captured']);
    const path = `${base}/${heard.transactionId}/confirm`;
    assert.equal((await client.call('POST', path, { token })).status, 200);
    await server.kill();
    await server.start();
    const on = await entrance();
    const reversed = await inState(on, unheard.transactionId, 'Reversed');
    const queued = reversed.events.find(({ type }: { type: string }) => /queued/.test(type));
    const late = Date.parse(queued.at) - Date.parse(unheard.confirmBy);
    process.stdout.write(`after a crash the reversal was queued ${late} ms behind its time\n`);
    // A job that the dead process had taken is free again after its lease; it may have taken none.
    assert.ok(late >= 0 && late < 20_000, `${late} ms`);
    const stands = await inState(on, heard.transactionId, 'Captured');
    assert.deepEqual([stands.capturedAmount, captured()], [1111, 1111]);
  });

  test('tells of an offline sale once, whether or not its message had left', async () => {
    const before = captured();
    const first = await offlineSale(1);
    await server.stop();
    await server.start({ SWITCHYARD_FAIL_POINT: 'after-intent' });
    const dying = await entrance();
    const answer = await dying.client.call('POST', `${base}/process`, {
      token: dying.token,
      body: first,
    });
    assert.equal(answer.body.state, 'Stored', answer.text);
    await server.ended();
    assert.equal(captured(), before, 'nothing has left');
    await server.start({ SWITCHYARD_FAIL_POINT: 'after-send' });
    await server.ended();
    await server.start();
    const on = await entrance();
    const { transactionId } = answer.body;
    const now = await inState(on, transactionId, 'Captured');
    assert.deepEqual([now.capturedAmount, captured() - before], [2222, 2222]);
    const types = now.events.map(({ type }: { type: string }) => type.replace('transaction.', ''));
    assert.deepEqual(types, ['stored', 'sent', 'captured']);
    const again = { ...first, clientTransactionId: randomUUID() };
    const twin = await on.client.call('POST', `${base}/process`, { token: on.token, body: again });
    assert.equal(twin.body.transactionId, transactionId, twin.text);
    assert.equal(captured() - before, 2222);
  });
});
