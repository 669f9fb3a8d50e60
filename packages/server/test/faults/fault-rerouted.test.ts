// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// kill -9 of a server during the reroute of a sale: at most one acquirer has the sale, and no
// amount stays held.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { type HttpAcquirer, startHttpAcquirer } from '@switchyard/simulators';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { freePorts } from '../support/free-ports.ts';
import type { Client, HttpResponse } from '../support/https-client.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { until } from '../support/wait-for-result.ts';
import { type FaultPlatform, faultTimeoutMs, startFaultPlatform } from './fault-platform.ts';
import { sizeOfRun } from './fault-size.ts';
import { transactionsPath, waitUntilSettled } from './load-during-faults.ts';

const rounds = sizeOfRun({ small: 1, full: 5 });
const limitMs = sizeOfRun({ small: 240_000, full: 1_200_000 });
const unknownKey = 'A'.repeat(43);

describe('kills of the server during a rerouted sale', { concurrency: false }, () => {
  let platform: FaultPlatform;
  let ledgerDir: string;
  let platformKey: string;
  let link: Record<string, unknown>;
  let bank: HttpAcquirer | undefined;
  /** Each sale has a unique amount, by which the test finds it in the ledgers. */
  let amount = 60_000_000;

  async function asAcquirer(client: Client, method: string, path: string, body?: unknown) {
    const { userDomainId, applications } = await platform.server.demoFacts();
    const { clientId = '', clientSecret = '' } = applications['acquirer'] ?? {};
    const token = await client.token(userDomainId, clientId, clientSecret);
    const answer = await client.call(method, path, {
      token,
      ...defined({ body }),
    });
    assert.ok(answer.status < 300, answer.text);
    return answer.body;
  }

  const startBank = (port: number) =>
    startHttpAcquirer({
      host: '127.0.0.1',
      port,
      path: '/switchyard',
      ledgerDir,
      platformKeys: [platformKey],
      lateMs: faultTimeoutMs * 3,
      slowMs: 300,
    });

  /** Adds a bank before the host: its contract has a routing rule that matches every sale. */
  before(async () => {
    platform = await startFaultPlatform({ databaseUrl: await testDatabaseCopyUrl() });
    await platform.server.start();
    ledgerDir = await mkdtemp(join(tmpdir(), 'switchyard-rerouted-'));
    const { client } = await platform.openClient();
    const httpJson = { path: '/switchyard', acquirerKeys: [unknownKey] };
    const made = await asAcquirer(client, 'POST', '/provisioning/v2/acquirer-links', {
      name: 'bank',
      adapter: 'HttpJson',
      host: '127.0.0.1',
      port: 1,
      tls: false,
      institutionId: '100001',
      status: 'Disabled',
      httpJson,
    });
    platformKey = made.signingKeys.current.x;
    // The bank restarts at the same port, so no other server may get it.
    const [port = 0] = await freePorts(1);
    bank = await startBank(port);
    const { publicKey } = bank;
    link = {
      ...made,
      port,
      status: 'Enabled',
      httpJson: { ...httpJson, acquirerKeys: [publicKey] },
    };
    const path = `/provisioning/v2/acquirer-links/${made.acquirerLinkId}`;
    await asAcquirer(client, 'PUT', path, link);
    const { applications } = await platform.server.demoFacts();
    const merchantId = applications['merchant']?.merchantId ?? '';
    const contracts = `/provisioning/v2/merchants/${merchantId}/acquirer-contracts`;
    await asAcquirer(client, 'POST', contracts, {
      acquirerLink: made.acquirerLinkId,
      acquirerMerchantId: 'BANK00000000001',
      terminalIdRange: { from: 'BANK0001', to: 'BANK9999' },
      currencies: ['EUR'],
      captureModes: ['Immediate', 'Deferred'],
      routing: [{}],
      clearCardData: 'Allowed',
    });
  });

  after(async () => {
    await platform.stop();
    await bank?.stop();
    await rm(ledgerDir, { recursive: true, force: true });
  });

  /** Waits for bank and host; without a second link the sale would not reach the fail point. */
  const linksAreUp = (client: Client) =>
    until(
      async () => {
        const { items } = await asAcquirer(client, 'GET', '/payment/v1/acquirer-links');
        const links = items as { name: string; available: boolean }[];
        const up = links.filter(({ available }) => available).map(({ name }) => name);
        return up.length > 1 && up.includes('bank') ? true : undefined;
      },
      'the bank and the host',
      60_000,
    );

  /** Stops the bank before the sale; the server dies at the fail point of the reroute. */
  async function soldInto(failPoint: string, sale: Record<string, unknown>): Promise<HttpResponse> {
    const { server } = platform;
    await server.stop();
    await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
    const { client, token } = await platform.openClient();
    await linksAreUp(client);
    const port = bank?.port ?? 0;
    await bank?.stop();
    bank = undefined;
    // These calls let the server notice its closed connections to the bank, so that it opens a new
    // one.
    for (let saleNumber = 0; saleNumber < 3; saleNumber += 1) {
      await client.call('GET', `${transactionsPath}/technical/isAvailable`, { token });
    }
    await assert.rejects(client.call('POST', `${transactionsPath}/process`, { token, body: sale }));
    await server.waitForEnd();
    bank = await startBank(port);
    await server.start();
    const again = await platform.openClient();
    const clientId = String(sale['clientTransactionId']);
    await waitUntilSettled(again.client, again.token, { clientId });
    const replay = await again.client.call('POST', `${transactionsPath}/process`, {
      token: again.token,
      body: sale,
    });
    assert.equal(replay.status, 200, replay.text);
    const path = `${transactionsPath}/${clientId}`;
    return again.client.call('GET', path, { token: again.token });
  }

  /** The sales with this amount in each ledger. */
  const readLedgers = () => ({
    host: platform.host.ledger().originals.filter(({ approved }) => approved === amount),
    bank: bank?.ledger().originals.filter(({ approved }) => approved === amount) ?? [],
  });

  // Before the second send no acquirer has the sale; after it the host has the sale and reverses
  // it.
  for (const [failPoint, atHost] of [
    ['after-reroute', 0],
    ['after-send', 1],
  ] as const) {
    // Spec: ACQ-7
    test(`a kill at the fail point ${failPoint}: the sale is reversed at its acquirer and nowhere else`, {
      timeout: limitMs,
    }, async () => {
      for (let round = 0; round < rounds; round += 1) {
        amount += 10_000;
        const captureMode = round % 2 === 0 ? 'Deferred' : 'Immediate';
        const { body, text } = await soldInto(failPoint, keyedSale({ amount, captureMode }));
        assert.deepEqual([body.state, body.capturedAmount], ['Reversed', 0], text);
        const types = (body.events as { type: string }[]).map(({ type }) => type);
        assert.deepEqual(types.slice(0, 2), ['transaction.received', 'transaction.rerouted']);
        const ledgers = readLedgers();
        assert.equal(ledgers.bank.length, 0, 'the bank has never seen it');
        assert.equal(ledgers.host.length, atHost);
        for (const { held: heldAmount, captured } of ledgers.host)
          assert.deepEqual([heldAmount, captured], [0, 0]);
      }
      await platform.assertLedgersAgree();
    });
  }

  test('the other acquirer books the next sale once', { timeout: limitMs }, async () => {
    const { client, token } = await platform.openClient();
    await linksAreUp(client);
    amount += 10_000;
    const { body, text } = await client.call('POST', `${transactionsPath}/process`, {
      token,
      body: keyedSale({ amount, captureMode: 'Immediate' }),
    });
    assert.equal(body.state, 'Captured', text);
    assert.deepEqual([readLedgers().bank.length, readLedgers().host.length], [1, 0]);
  });
});
