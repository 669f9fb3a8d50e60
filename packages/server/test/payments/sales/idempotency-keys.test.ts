// Requests with the same Idempotency-Key create the object once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import type { RouteDeclaration } from '../../../src/http/index.ts';
import { createKeyStore } from '../../../src/idempotency/idempotency-keys-sql.ts';
import { createIdempotencyKeys } from '../../../src/idempotency/index.ts';
import { systemClock, systemIdGenerator } from '../../../src/platform/index.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';

/** POST operations without an idempotency key, by the reason why they need none. */
const withoutKey: Readonly<Record<string, readonly string[]>> = {
  'has a name of its own for it': [
    'processTransaction',
    'captureTransaction',
    'refundTransaction',
    'cancelTransaction',
    'captureAllTransactions',
    'refundTransactionByWeb',
    'createQrPayment',
    'refundQrPayment',
    'cancelQrPayment',
    'reportQrPaymentEvent',
    'createBulkImport',
    'createExport',
    'sendRetailMessageAsync',
  ],
  'is done once by the state of what it changes': [
    'approveSignUp',
    'rejectSignUp',
    'createClearingFile',
    'resolveOperation',
  ],
  'nobody is known who asks': ['createSignUp'],
  'a device takes the last one that it was given': ['createDeviceCertificate'],
  'sends a mail once more': ['resetUserPassword'],
};

describe('idempotency keys', () => {
  let setup: TestOrganization;

  before(async () => {
    setup = await createTestOrganization();
  });

  const stores = '/provisioning/v2/stores';
  const post = (path: string, key: string, body: unknown, token = setup.acquirerToken) =>
    setup.client.call('POST', path, { token, body, headers: { 'idempotency-key': key } });
  const storesCalled = async (name: string) => {
    const { body } = await setup.client.call(
      'GET',
      `${stores}?merchantId=${setup.merchant.merchantId}`,
      {
        token: setup.acquirerToken,
      },
    );
    return (body.items as { name: string }[]).filter((each) => each.name === name).length;
  };
  const storeOf = (name: string) => ({ merchantId: setup.merchant.merchantId, name });

  test('a repeated request gets the same response and has no second effect', async () => {
    const key = randomUUID();
    const first = await post(stores, key, storeOf('Once'));
    assert.equal(first.status, 201, first.text);
    assert.equal(first.headers['idempotent-replayed'], undefined);
    const { merchantId, name } = storeOf('Once');
    const again = await post(stores, key, { name, merchantId });
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.deepEqual([again.status, again.body], [201, first.body]);
    for (const header of ['location', 'etag'])
      assert.equal(again.headers[header], first.headers[header]);
    assert.equal(await storesCalled('Once'), 1);
  });

  test('a different request with the same key is refused', async () => {
    const key = randomUUID();
    assert.equal((await post(stores, key, storeOf('First'))).status, 201);
    const reused = { code: 'client_id_reused', pointer: null } as const;
    assertProblem(await post(stores, key, storeOf('Second')), reused);
    assertProblem(
      await post('/provisioning/v2/logical-devices', key, {
        storeId: setup.merchant.storeId,
        name: 'First',
      }),
      reused,
    );
    assert.equal(await storesCalled('Second'), 0);
    for (const bad of ['with space', 'x'.repeat(65), '']) {
      assertProblem(await post(stores, bad, storeOf('Bad')), {
        code: 'header_invalid',
        pointer: null,
      });
    }
  });

  // Spec: IDEM-11
  test('ten concurrent requests have one effect', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => post(stores, key, storeOf('Crowd'))),
    );
    for (const answer of answers) {
      if (answer.status !== 201)
        assertProblem(answer, { code: 'request_in_progress', pointer: null });
    }
    assert.equal(
      answers.filter(
        ({ status, headers }) => status === 201 && headers['idempotent-replayed'] === undefined,
      ).length,
      1,
    );
    assert.equal(await storesCalled('Crowd'), 1);
    assert.equal((await post(stores, key, storeOf('Crowd'))).status, 201);
  });

  test('a refused request does not use its key', async () => {
    const key = randomUUID();
    const wrong = { ...storeOf('Late'), merchantId: randomUUID() };
    assertProblem(await post(stores, key, wrong), {
      code: 'merchant_not_found',
      pointer: null,
    });
    assert.equal((await post(stores, key, storeOf('Late'))).status, 201);
  });

  // Spec: IDEM-11
  test('the same key of another caller or at another address is another request', async () => {
    const key = randomUUID();
    const [ownResponse, otherResponse] = [
      await post(stores, key, storeOf('Shared')),
      await createTestOrganization(),
    ];
    const colleague = await setup.tokenFor({
      name: 'colleague',
      entityType: 'tenant',
      entityId: setup.organizationId,
      roles: ['AcquirerAdministrator'],
    });
    const second = await post(stores, key, storeOf('Shared'), colleague);
    assert.equal(second.status, 201);
    assert.notEqual(second.body.storeId, ownResponse.body.storeId);
    const foreign = { merchantId: otherResponse.merchant.merchantId, name: 'Shared' };
    const elsewhere = await otherResponse.client.call('POST', stores, {
      token: otherResponse.acquirerToken,
      body: foreign,
      headers: { 'idempotency-key': key },
    });
    assert.equal(elsewhere.status, 201, elsewhere.text);
    assert.equal(elsewhere.headers['idempotent-replayed'], undefined);
  });

  // Spec: IDEM-12
  test('a replay returns the secret to its caller, and the database contains neither it nor the key', async () => {
    const key = randomUUID();
    const path = '/webhooks/v1/endpoints';
    const endpoint = { url: `https://receiver.example/${key}`, eventTypes: ['*'] };
    const first = await post(path, key, endpoint);
    assert.equal(first.status, 201, first.text);
    const again = await post(path, key, endpoint);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(again.body.secret, first.body.secret);
    assert.equal(again.headers['cache-control'], 'no-store');
    const database = await testDatabase();
    const rows = await database.query<{ line: string }>(
      'SELECT k::text AS line FROM idempotency_keys k WHERE organization_id = $1',
      [setup.organizationId],
    );
    const asText = (text: string) => [text, Buffer.from(text).toString('hex')];
    for (const text of [key, first.body.secret as string].flatMap(asText)) {
      assert.ok(rows.every(({ line }) => !line.includes(text)));
    }
  });

  test('a repeated upload of a file is the same file, or is refused', async () => {
    const [key, day] = [randomUUID(), '2026-03-01'];
    const base = '/reporting/v1/reconciliations';
    const head = 'type,acquirerMerchantId,retrievalReferenceNumber,amount,currency,settlementDate';
    const send = (raw: string) =>
      setup.client.call('POST', `${base}?acquirerLinkId=${setup.linkId}&from=${day}&to=${day}`, {
        token: setup.acquirerToken,
        raw,
        headers: { 'content-type': 'text/csv', 'idempotency-key': key },
      });
    const file = `${head}\nCapture,M1,606012000017,1250,EUR,${day}\n`;
    assertProblem(await send(`${head}\n`), { code: 'malformed_csv' });
    const first = await send(file);
    assert.equal(first.status, 202, first.text);
    const again = await send(file);
    assert.deepEqual([again.status, again.body], [202, first.body]);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assertProblem(await send(file.replace('1250', '1251')), {
      code: 'client_id_reused',
      pointer: null,
    });
    const { body } = await setup.client.call('GET', base, { token: setup.acquirerToken });
    assert.equal(body.items.length, 1);
  });

  test('a caller whose connection broke gets an error, and a key is deleted after a day', async () => {
    // The clock starts at the current time: otherwise another running platform would delete the
    // keys.
    let now = Date.now();
    const keys = createIdempotencyKeys({
      store: createKeyStore(await testDatabase()),
      clock: { now: () => now },
      ids: systemIdGenerator,
      masterKey: Buffer.alloc(32, 7),
    });
    const claimRequest = { callerId: 'me', requestText: '{}', claimMs: 60_000 };
    const claim = (key: string) =>
      keys.claim({ ...claimRequest, key, organizationId: setup.organizationId });
    const answer = { status: 201, headers: {}, body: { id: 1 } };

    const cut = await claim('cut');
    assert.equal((await claim('cut')).state, 'Running');
    now += 60_000;
    assert.equal((await claim('cut')).state, 'Interrupted');
    assert.ok(cut.state === 'Claimed');
    await cut.key.complete(answer);
    const claimResult = await claim('cut');
    assert.ok(claimResult.state === 'Completed');
    assert.deepEqual(claimResult.response, answer);

    const failed = await claim('failed');
    assert.ok(failed.state === 'Claimed');
    await failed.key.abandon();
    assert.equal((await claim('failed')).state, 'Interrupted');
    now += 86_400_001;
    assert.equal((await claim('failed')).state, 'Claimed');
    // The expired claim can no longer complete the key.
    await failed.key.complete(answer);
    assert.equal((await claim('failed')).state, 'Running');
  });

  test('a key whose request failed at the commit is free again', async () => {
    const store = createKeyStore(await testDatabase());
    const keysOver = (over: Partial<typeof store>) =>
      createIdempotencyKeys({
        store: { ...store, ...over },
        clock: systemClock,
        ids: systemIdGenerator,
        masterKey: Buffer.alloc(32, 7),
      });
    const claimRequest = { organizationId: setup.organizationId, callerId: 'me', key: 'lost' };
    const claimOver = (over: Partial<typeof store>) =>
      keysOver(over).claim({ ...claimRequest, requestText: '{}', claimMs: 60_000 });
    await assert.rejects(
      claimOver({
        async claim(...claimArguments) {
          await store.claim(...claimArguments);
          throw new Error('the connection is gone');
        },
      }),
      /connection is gone/,
    );
    assert.equal((await claimOver({})).state, 'Claimed');
  });

  test('a key that looks like a card number is refused on every route', async () => {
    const key = '4111-1111-1111-1111';
    assertProblem(await post(stores, key, storeOf('Card')), {
      code: 'client_id_invalid',
      pointer: null,
    });
    assert.equal(await storesCalled('Card'), 0);
    for (const { facts } of setup.platform.http.routes) {
      if (facts?.takesIdempotencyKey === true)
        assert.ok(facts.errors.includes('client_id_invalid'));
    }
  });

  // Spec: IDEM-11
  test('every route that creates something accepts a key, or is an exception in this test', () => {
    const existingRoutes = new Set(Object.values(withoutKey).flat());
    const createsSomething = ({ method, response, isHidden }: RouteDeclaration) =>
      method === 'POST' && isHidden !== true && ('201' in response || '202' in response);
    const lacking = setup.platform.http.routes.flatMap(({ facts }) =>
      facts !== undefined &&
      createsSomething(facts) &&
      facts.takesIdempotencyKey !== true &&
      !existingRoutes.has(facts.operationId)
        ? [facts.operationId]
        : [],
    );
    assert.deepEqual(lacking, []);
  });
});
