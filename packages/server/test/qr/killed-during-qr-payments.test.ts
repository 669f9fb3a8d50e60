// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// kill -9 of the platform between intent, call and outcome of QR payments: every payment ends, none
// is lost or doubled.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { type FaultPlatform, startFaultPlatform } from '../faults/fault-platform.ts';
import { printResult, seed, sizeOfRun } from '../faults/fault-size.ts';
import { createRandom } from '../faults/load-during-faults.ts';
import { testDatabaseCopyUrl } from '../support/database/test-database.ts';
import type { HttpResponse } from '../support/https-client.ts';
import { until } from '../support/wait-for-result.ts';
import { type Json, nameOf, openQrProvider, type QrProvider, qrBase } from './test-qr-provider.ts';

const kills = sizeOfRun({ small: 2, full: 40 });
/** The moments at which the process dies during a refund. */
const refundDeaths = ['after-send', 'after-intent'].slice(0, sizeOfRun({ small: 1, full: 2 }));
const terminals = 8;
const paymentsBetweenKills = 15;
const limitMs = sizeOfRun({ small: 240_000, full: 1_200_000 });
const recoveryMs = 60_000;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

describe('a platform that is killed with QR payments under way', { concurrency: false }, () => {
  const next = createRandom(seed);
  const paymentType = `pay${randomUUID().slice(0, 8)}`;
  let platform: FaultPlatform;
  let provider: QrProvider;
  /** The amounts that the provider has collected, by payment id. */
  const paid = new Map<string, number>();
  const refunded = new Map<string, number>();

  type Entrance = { call(method: string, path: string, body?: unknown): Promise<HttpResponse> };

  async function machine(name: string): Promise<string> {
    const facts = await platform.server.demoFacts();
    const { clientId = '', clientSecret = '' } = facts.applications[name] ?? {};
    return (await platform.server.client()).token(facts.userDomainId, clientId, clientSecret);
  }

  async function as(token: string, method: string, path: string, body?: unknown) {
    const client = await platform.server.client();
    return client.call(method, path, { token, ...defined({ body }) });
  }

  /** Signs in as a terminal of the demo. */
  async function entrance(): Promise<Entrance> {
    const facts = (await platform.server.demoFacts()) as Json;
    const client = await platform.server.client();
    const user = facts['users'].find((each: Json) => each['otpSecret'] === undefined);
    const { clientId } = facts['applications'].device;
    const realm = facts['userDomainId'];
    const { username, password } = user;
    const loginForm = { grant_type: 'password', client_id: clientId, username, password };
    const signedIn = await client.call('POST', `/oauth2/v1/${realm}/token`, {
      raw: new URLSearchParams(loginForm).toString(),
      headers: form,
    });
    assert.equal(signedIn.status, 200, signedIn.text);
    const tokenForm = { device_model: 'X', device_id: facts['devices'][0].tsn, method: 'api' };
    const tokenResponse = await client.call('POST', `/auth/realms/${realm}/custom-token`, {
      raw: new URLSearchParams(tokenForm).toString(),
      headers: { ...form, authorization: `Bearer ${signedIn.body.access_token}` },
    });
    assert.equal(tokenResponse.status, 200, tokenResponse.text);
    const token = tokenResponse.body.access_token;
    return { call: (method, path, body) => as(token, method, path, body) };
  }

  const request = (members: Json = {}): Json => ({
    paymentType,
    paymentScenario: 'merchantscan',
    scannedPaymentId: '281234567890123456',
    clientTransactionId: randomUUID(),
    paymentAmount: { amount: 500, currency: 'EUR' },
    ...members,
  });

  before(async () => {
    provider = await openQrProvider();
    // The provider completes the scanned payment and remembers its actions.
    provider.script = ({ kind, transactionId: id, body }) => {
      const providerTransactionId = nameOf(id);
      if (kind === 'create') paid.set(id, body['amount'].amount);
      if (kind === 'refund') refunded.set(body['refundId'], body['amount'].amount);
      if (kind === 'create' || kind === 'status') {
        if (paid.has(id)) return { body: { providerTransactionId, status: 'Completed' } };
        return { status: 404, body: { code: 'payment_not_found' } };
      }
      return undefined;
    };
    platform = await startFaultPlatform({ databaseUrl: await testDatabaseCopyUrl() });
    await platform.server.start();
    const acquirer = await machine('acquirer');
    const owner = await machine('provider');
    const make = async (token: string, path: string, body: unknown): Promise<Json> => {
      const answer = await as(token, 'POST', `/service-catalog/v1${path}`, body);
      assert.ok(answer.status < 300, `${path}: ${answer.text}`);
      return answer.body;
    };
    const service = { name: 'Kill', domain: 'Payments', paymentTypes: [paymentType] };
    const declared = await make(owner, '/services', { ...service, spiUrl: provider.url });
    const { serviceId } = declared as { serviceId: string };
    await make(owner, `/services/${serviceId}/publish`, {});
    const { packageId } = await make(acquirer, '/packages', { name: 'K', serviceIds: [serviceId] });
    await make(acquirer, '/subscriptions', { packageId });
    const { organizationId: entityId } = await platform.server.demoFacts();
    const level = 'Organization';
    const active = await make(acquirer, '/activations', { serviceId, level, entityId });
    await until(async () => {
      const path = `/service-catalog/v1/activations/${active['activationId']}`;
      return (await as(acquirer, 'GET', path)).body.status === 'Active' ? true : undefined;
    }, 'the service to be active');
  });

  after(async () => {
    await platform.stop();
    await provider.close();
  });

  const isSettled = ({ status, operations }: Json) =>
    status !== 'Created' && operations.every((each: Json) => each['status'] !== 'Pending');

  const settled = (terminal: Entrance, name: string): Promise<Json> =>
    until(
      async () => {
        const { status, body } = await terminal.call('GET', `${qrBase}/${name}`);
        return status === 200 && isSettled(body) ? body : undefined;
      },
      `${name} to end`,
      recoveryMs,
    );

  /** The server dies during a request, and then starts again. */
  async function diedIn(
    failPoint: string,
    act: (terminal: Entrance) => Promise<unknown>,
  ): Promise<Entrance> {
    const { server } = platform;
    await server.stop();
    await server.start({ SWITCHYARD_FAIL_POINT: failPoint });
    const terminal = await entrance();
    await assert.rejects(act(terminal));
    await server.waitForEnd();
    await server.start();
    return entrance();
  }

  test('before the call: nothing has left, and the payment fails', {
    timeout: limitMs,
  }, async () => {
    const body = request();
    const name = body['clientTransactionId'];
    const terminal = await diedIn('after-intent', ({ call }) => call('POST', qrBase, body));
    const payment = await settled(terminal, name);
    assert.equal(payment['status'], 'Failed');
    assert.equal(provider.of('create', payment['transactionId']).length, 0);
    const replay = await terminal.call('POST', qrBase, body);
    assert.deepEqual([replay.status, replay.body.status], [200, 'Failed']);
  });

  test('after the call: the platform queries the payment and does not create it again', {
    timeout: limitMs,
  }, async () => {
    const body = request();
    const name = body['clientTransactionId'];
    const terminal = await diedIn('after-send', ({ call }) => call('POST', qrBase, body));
    const payment = await settled(terminal, name);
    assert.equal(payment['status'], 'Completed');
    assert.equal(provider.of('create', payment['transactionId']).length, 1);
    const replay = await terminal.call('POST', qrBase, body);
    assert.deepEqual([replay.status, replay.body.status], [200, 'Completed']);
  });

  for (const failPoint of refundDeaths) {
    test(`a refund that dies at ${failPoint} is made once`, { timeout: limitMs }, async () => {
      const before = await entrance();
      const { body: made } = await before.call('POST', qrBase, request());
      const path = `${qrBase}/${made.transactionId}/refund`;
      const body = { amount: 200, clientOperationId: randomUUID() };
      const terminal = await diedIn(failPoint, ({ call }) => call('POST', path, body));
      const payment = await settled(terminal, made.transactionId);
      assert.deepEqual([payment['status'], payment['refundedAmount']], ['PartiallyRefunded', 200]);
      const ids = provider.of('refund', made.transactionId).map((call) => call.body['refundId']);
      assert.equal(new Set(ids).size, 1);
      const again = await terminal.call('POST', path, body);
      assert.equal(again.body.operation.operationId, ids[0]);
      assert.equal(again.body.refundedAmount, 200);
    });
  }

  test(`${kills} times at random instants (seed ${seed})`, { timeout: limitMs }, async () => {
    const { server } = platform;
    const names: string[] = [];
    const acknowledged = new Set<string>();
    for (let round = 0; round < kills; round += 1) {
      const { call } = await entrance();
      let isOver = false;
      const loops = Array.from({ length: terminals }, async () => {
        while (!isOver) {
          const body = request();
          names.push(body['clientTransactionId']);
          const answer = await call('POST', qrBase, body).catch(() => undefined);
          if (answer === undefined) return;
          if (answer.status === 200) acknowledged.add(body['clientTransactionId']);
          if (next() < 0.3) {
            const id = answer.body.transactionId;
            await call('POST', `${qrBase}/${id}/refund`, { amount: 100 }).catch(() => undefined);
          }
        }
      });
      const enough = acknowledged.size + paymentsBetweenKills;
      await until(() => (acknowledged.size >= enough ? true : undefined), 'payments');
      await new Promise((resolve) => setTimeout(resolve, next() * 100));
      await server.kill();
      isOver = true;
      await Promise.all(loops);
      await server.start();
    }
    const terminal = await entrance();
    const counts: Record<string, number> = {};
    for (const name of names) {
      const response = await terminal.call('GET', `${qrBase}/${name}`);
      // The server acknowledged no payment for which it stored no intent.
      if (response.status === 404) assert.ok(!acknowledged.has(name));
      const payment = response.status === 404 ? undefined : await settled(terminal, name);
      const status = String(payment?.['status'] ?? 'never begun');
      counts[status] = (counts[status] ?? 0) + 1;
      if (payment === undefined) continue;
      const id = payment['transactionId'];
      assert.equal(payment['paidAmount'], paid.get(id) ?? 0, `${name} is ${status}`);
      const refundedSum = payment['operations']
        .filter((each: Json) => each['kind'] === 'Refund')
        .reduce((sum: number, each: Json) => sum + (refunded.get(each['operationId']) ?? 0), 0);
      assert.equal(payment['refundedAmount'], refundedSum);
      assert.ok(provider.of('create', id).length <= 1);
    }
    printResult(`after ${kills} kills ${JSON.stringify(counts)}`);
  });
});
