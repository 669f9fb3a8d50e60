// Malformed input gets its own code and the right status, and the server stores nothing.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, type TestContext, test } from 'node:test';
import { defined, type ErrorCode } from '@switchyard/contract';
import { assertProblem, countRows } from '../support/assert-problem-response.ts';
import {
  type DocumentedErrorCodes,
  readDocumentedErrorCodes,
} from '../support/documented-error-codes.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { signAccessToken } from '../support/identity/signed-access-tokens.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { testPlatform } from '../support/test-platform.ts';
import {
  type BadInputCase,
  badCaptureAlls,
  badChipData,
  badOperations,
  badSales,
  malformedBodies,
  nonObjectBodies,
  testPan,
  unknownId,
} from './bad-input-cases.ts';

const base = '/payment/v1/transactions';
const batches = '/payment/v1/capture-batches';
const bodyMax = 1_048_576;

/** Card data that no error response may contain. */
const cardData = /4111111111111111|4111 1111|4111111111111112|541333008901001|5555555555554444/;

/** Most paths are below the path of transactions. */
const addressOf = (path: string) => (path.startsWith(batches) ? path : base + path);

describe('bad input', () => {
  let documents: DocumentedErrorCodes;
  let setup: TestOrganization;
  let abroad: TestOrganization;
  /** An authorised sale of 12.34 EUR. */
  let sold: { transactionId: string; clientTransactionId: string; card: { token: string } };
  let foreign: { transactionId: string; card: { token: string } };

  async function sell(at: TestOrganization, token: string) {
    const body = keyedSale({ captureMode: 'Deferred' });
    const answer = await at.client.call('POST', `${base}/process`, { token, body });
    assert.equal(answer.body.state, 'Authorized', answer.text);
    return answer.body;
  }

  before(async () => {
    documents = await readDocumentedErrorCodes((await testPlatform()).client);
    [setup, abroad] = await Promise.all([createTestOrganization(), createTestOrganization()]);
    sold = await sell(setup, setup.merchant.token);
    foreign = await sell(abroad, abroad.merchant.token);
  });

  const call = (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<HttpResponse> =>
    setup.client.call(method, addressOf(path), { token: setup.merchant.token, ...options });

  /** Sends a request, asserts the refusal, and asserts that the server stored nothing. */
  async function refused(
    name: string,
    code: ErrorCode,
    method: string,
    path: string,
    options: RequestOptions & { pointer?: string | null | undefined } = {},
  ): Promise<HttpResponse> {
    const { pointer, ...rest } = options;
    const before = await countRows(setup.organizationId);
    const answer = await call(method, path, rest);
    assertProblem(answer, { code, ...defined({ pointer }) }, name);
    documents.assertCode(method, addressOf(path), answer);
    assert.doesNotMatch(answer.text, cardData, name);
    assert.deepEqual(await countRows(setup.organizationId), before, name);
    return answer;
  }

  async function refusedEach(t: TestContext, path: string, list: readonly BadInputCase[]) {
    for (const { name, body, code, pointer } of list) {
      await t.test(name, async () => {
        await refused(name, code, 'POST', path, { body, pointer });
      });
    }
  }

  // Spec: JSON-3
  test('a body that is not strict JSON is malformed_json', async (t) => {
    const cancel = `/${sold.transactionId}/cancel`;
    for (const [name, raw] of malformedBodies) {
      await t.test(name, async () => {
        await refused(name, 'malformed_json', 'POST', '/process', { raw, pointer: null });
        await refused(name, 'malformed_json', 'POST', cancel, { raw, pointer: null });
      });
    }
  });

  test('JSON that is not an object has a wrong type, also if the body is optional', async (t) => {
    const verbs = ['capture', 'refund', 'cancel', 'refundbyweb'];
    const paths = ['/process', '/captureall', ...verbs.map((v) => `/${sold.transactionId}/${v}`)];
    for (const path of paths) {
      for (const [name, raw] of nonObjectBodies) {
        await t.test(`${path} ${name}`, async () => {
          await refused(name, 'field_invalid', 'POST', path, { raw, pointer: '' });
        });
      }
    }
  });

  // Spec: JSON-6
  test('a body of more than 1 MiB is not read', async () => {
    const full = JSON.stringify(keyedSale({ metadata: { n: '' } }));
    const fill = (length: number) =>
      full.replace('"n":""', `"n":"${'x'.repeat(length - Buffer.byteLength(full))}"`);
    await refused('1 MiB', 'field_invalid', 'POST', '/process', { raw: fill(bodyMax) });
    const raw = fill(bodyMax + 1);
    await refused('1 MiB and a byte', 'payload_too_large', 'POST', '/process', { raw });
    await refused('no token', 'payload_too_large', 'POST', '/process', {
      raw,
      headers: { authorization: '' },
    });
  });

  // Spec: CALLS-2
  test('another media type, charset, encoding or accepted type is refused', async () => {
    const types: [string, ErrorCode][] = [
      ['text/plain', 'unsupported_media_type'],
      ['application/x-www-form-urlencoded', 'unsupported_media_type'],
      ['application/problem+json', 'unsupported_media_type'],
      ['application/json; charset=iso-8859-1', 'unsupported_media_type'],
      ['', 'unsupported_media_type'],
    ];
    for (const [type, code] of types) {
      const headers = { 'content-type': type };
      await refused(type, code, 'POST', '/process', { body: keyedSale(), headers });
    }
    await refused('gzip', 'unsupported_media_type', 'POST', '/process', {
      body: keyedSale(),
      headers: { 'content-encoding': 'gzip' },
    });
    await refused('an answer in HTML', 'not_acceptable', 'POST', '/process', {
      body: keyedSale(),
      headers: { accept: 'text/html' },
    });
  });

  // Spec: CARDF-9 JSON-1 JSON-2 MONEY-1 CARD-1 CARD-25
  test('each fault of a sale has its own code', (t) => refusedEach(t, '/process', badSales));
  test('each fault of chip data has its own code', (t) => refusedEach(t, '/process', badChipData));
  test('each fault of a capture of all has its own code', (t) =>
    refusedEach(t, '/captureall', badCaptureAlls));
  for (const [verb, list] of Object.entries(badOperations)) {
    test(`each fault of ${verb} has its own code`, (t) =>
      refusedEach(t, `/${sold.transactionId}/${verb}`, list));
  }

  test('times that no calendar or database contains are refused or harmless', async () => {
    for (const time of [
      '0000-01-01T00:00:00Z',
      '9999-12-31T23:59:60Z',
      '2030-01-01T00:00:00+23:59',
      '2030-01-01T00:00:00.123456789123Z',
    ]) {
      const body = { authorizedBefore: time, dryRun: true };
      const { status, text } = await call('POST', '/captureall', { body });
      assert.ok(status === 200 || status === 422, `${time}: ${status} ${text}`);
    }
    await refused('a leap second long ago', 'too_late', 'POST', '/process', {
      body: keyedSale({ notAfter: '2016-12-31T23:59:60Z' }),
    });
  });

  test('several faults are reported together, in the order of the members', async () => {
    const body = keyedSale({ amount: -1, currency: 5, extra: 1 });
    const answer = await refused('three faults', 'field_unknown', 'POST', '/process', { body });
    const pointers = answer.body.errors.map((error: { pointer: string }) => error.pointer);
    assert.deepEqual(pointers.sort(), ['/amount', '/currency', '/extra']);
  });

  // Spec: PROB-7
  test('every operation answers not found for unknown and foreign identifiers', async () => {
    const names = [
      unknownId,
      foreign.transactionId,
      'never-sold',
      'x'.repeat(64),
      sold.transactionId.slice(0, 35),
      'a%00b',
      'caf%C3%A9',
      "'%20OR%201=1--",
    ];
    for (const name of names) {
      for (const verb of ['capture', 'refund', 'refundbyweb']) {
        await refused(verb, 'transaction_not_found', 'POST', `/${name}/${verb}`, { body: {} });
      }
      await refused('cancel', 'transaction_not_found', 'POST', `/${name}/cancel`, {
        body: { cancelReason: 'Technical' },
      });
      await refused('status', 'transaction_not_found', 'GET', `/${name}`);
      await refused('allowed', 'transaction_not_found', 'GET', `/${name}/allowedoperations`);
    }
    await refused('batch', 'batch_not_found', 'GET', `${batches}/${unknownId}`);
    await refused('token', 'card_token_unknown', 'POST', '/process', {
      body: keyedSale({ instrument: { token: foreign.card.token } }),
    });
  });

  // Spec: NEXO-66
  test('a currency in small letters is refused with an example of the right form', async () => {
    const detail = 'Must be an ISO 4217 code in capitals, for example EUR.';
    const sale = await refused('sale', 'currency_unknown', 'POST', '/process', {
      body: keyedSale({ currency: 'eur' }),
    });
    const batch = await refused('batch', 'currency_unknown', 'POST', '/captureall', {
      body: { currency: 'eur' },
    });
    for (const { body } of [sale, batch]) assert.equal(body.errors[0].detail, detail);
    const search = await setup.client.call('GET', '/reporting/v1/transactions?currency=eur', {
      token: setup.merchant.token,
    });
    assertProblem(search, { code: 'field_invalid', pointer: '?currency' }, 'search');
    assert.equal(
      search.body.errors[0].detail,
      'Must be ISO 4217 codes in capitals, for example EUR or EUR,USD.',
    );
  });

  test('identifiers with an invalid form are refused as invalid', async () => {
    await refused('too long', 'field_invalid', 'GET', `/${'x'.repeat(65)}`);
    await refused('no UTF-8', 'request_malformed', 'GET', '/%ff');
    await refused('far too long', 'uri_too_long', 'GET', `/${'x'.repeat(300)}`);
    await refused('batch', 'field_invalid', 'GET', `${batches}/mine`);
    await refused('a URN', 'field_invalid', 'GET', `${batches}/urn:uuid:${unknownId}`);
  });

  test('a card number in the address is neither found nor logged', async () => {
    const from = setup.logLines.length;
    await refused('status', 'transaction_not_found', 'GET', `/${testPan}`);
    assert.doesNotMatch(setup.logLines.slice(from).join(''), cardData);
  });

  test('query parameters are validated', async () => {
    const status = `/${sold.transactionId}`;
    for (const query of ['wait=-1', 'wait=31', 'wait=soon', 'wait=1.5', 'merchantId=x', 'wiat=1']) {
      const code = query === 'wiat=1' ? 'field_unknown' : 'field_invalid';
      const pointer = `?${query.split('=')[0]}`;
      await refused(query, code, 'GET', `${status}?${query}`, { pointer });
    }
    await refused('twice', 'field_invalid', 'GET', `${status}?wait=1&wait=2`);
    await refused(
      'another merchant',
      'entity_out_of_scope',
      'GET',
      `${status}?merchantId=${setup.otherMerchant.merchantId}`,
    );
    for (const [query, code] of [
      ['limit=0', 'field_invalid'],
      ['limit=201', 'field_invalid'],
      ['cursor=x', 'cursor_invalid'],
    ] as const) {
      await refused(query, code, 'GET', `${batches}/${unknownId}?${query}`);
    }
  });

  test('stores and devices that are unknown or of another merchant or store are refused', async () => {
    const scope = { organizationId: setup.organizationId };
    const { merchantId } = setup.merchant;
    const branch = await setup.platform.provisioning.stores.create(scope, {
      merchantId,
      name: 'Branch',
    });
    const till = await setup.platform.provisioning.logicalDevices.create(scope, {
      storeId: branch.view.storeId,
      name: 'Till',
    });
    const { otherMerchant } = setup;
    const rows: [Record<string, unknown>, ErrorCode][] = [
      [{ storeId: unknownId }, 'store_not_found'],
      [{ deviceId: unknownId }, 'device_not_found'],
      [{ storeId: `urn:uuid:${unknownId}` }, 'field_invalid'],
      [{ storeId: otherMerchant.storeId }, 'store_not_found'],
      [{ deviceId: otherMerchant.deviceIds[0] }, 'device_not_found'],
      [{ storeId: abroad.merchant.storeId }, 'store_not_found'],
      [{ deviceId: abroad.merchant.deviceIds[0] }, 'device_not_found'],
      [{ merchantId: otherMerchant.merchantId }, 'entity_out_of_scope'],
      [{ merchantId: abroad.merchant.merchantId }, 'entity_out_of_scope'],
      [{ storeId: setup.merchant.storeId, deviceId: till.view.logicalDeviceId }, 'entity_mismatch'],
    ];
    for (const [pointer, code] of rows) {
      const body = keyedSale(pointer);
      await refused(JSON.stringify(pointer), code, 'POST', '/process', { body });
    }
  });

  // Spec: PAY-2
  test('a sale that the acquirer contract does not allow stores no row', async () => {
    const strict = await setup.createMerchant({
      captureModes: ['Immediate'],
      partialApproval: false,
    });
    const closed = await setup.createMerchant({ clearCardData: 'Refused' });
    const rows: [string, Record<string, unknown>, ErrorCode][] = [
      [setup.merchant.token, { currency: 'GBP' }, 'currency_not_supported'],
      [strict.token, { captureMode: 'Deferred' }, 'capture_mode_not_supported'],
      [strict.token, { partialApproval: true }, 'partial_approval_not_supported'],
      [closed.token, {}, 'clear_card_data_refused'],
    ];
    for (const [token, members, code] of rows) {
      // The test uses a card without payments, so that a stored card would be detected.
      const card = { number: '4242424242424242', expiryMonth: 12, expiryYear: 2031 };
      const body = keyedSale({ ...members, instrument: { card } });
      await refused(code, code, 'POST', '/process', { token, body });
    }
  });

  // Spec: PROB-6
  test('tokens that are missing, malformed, of another scheme, forged or expired are refused', async () => {
    const past = Math.floor(Date.now() / 1000) - 60;
    const { token } = setup.merchant;
    const rows: [string | undefined, ErrorCode][] = [
      [undefined, 'token_missing'],
      ['', 'token_invalid'],
      ['Bearer', 'token_invalid'],
      ['Bearer abc', 'token_invalid'],
      ['Bearer a b', 'token_invalid'],
      [`Basic ${token}`, 'token_invalid'],
      [`Bearer ${token.slice(0, -4)}AAAA`, 'token_invalid'],
      [`Bearer ${token.replace(/\.[^.]*$/, '.')}`, 'token_invalid'],
      [`Bearer ${'a'.repeat(9000)}`, 'token_invalid'],
      [`Bearer ${await signAccessToken(setup, { azp: randomUUID() })}`, 'token_invalid'],
      [`Bearer ${await signAccessToken(setup, { typ: 'ID' })}`, 'token_invalid'],
      [`Bearer ${await signAccessToken(setup, { exp: past })}`, 'token_expired'],
    ];
    for (const [authorization, code] of rows) {
      const headers: Record<string, string> = defined({ authorization });
      for (const [method, path] of [
        ['POST', '/process'],
        ['POST', `/${sold.transactionId}/refund`],
        ['GET', `/${sold.transactionId}`],
      ] as const) {
        const body = method === 'POST' ? { body: keyedSale() } : {};
        const answer = await setup.client.call(method, base + path, { headers, ...body });
        assertProblem(answer, { code, pointer: null }, `${authorization?.slice(0, 20)} ${path}`);
        const challenge = String(answer.headers['www-authenticate']);
        assert.equal(/error="invalid_token"/.test(challenge), code !== 'token_missing');
      }
    }
  });

  test('the error names the missing permission, even if the body is invalid JSON', async () => {
    const { merchantId } = setup.merchant;
    const token = await setup.tokenFor({
      name: 'reader',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['MerchantReadOnly'],
    });
    const id = sold.transactionId;
    const needs = {
      '/process': 'pay.sale',
      [`/${id}/capture`]: 'pay.capture',
      [`/${id}/refund`]: 'pay.refund',
      [`/${id}/cancel`]: 'pay.cancel',
      [`/${id}/refundbyweb`]: 'pay.refundbyweb',
      '/captureall': 'pay.capture',
    };
    for (const [path, right] of Object.entries(needs)) {
      const answer = await refused(path, 'permission_denied', 'POST', path, { token, raw: '{' });
      assert.match(answer.body.detail, new RegExp(right));
    }
    assert.equal((await call('GET', `/${id}`, { token })).status, 200);
    const tokenWithoutPermissions = await signAccessToken(setup, { permissions: [] });
    await refused('status', 'permission_denied', 'GET', `/${id}`, {
      token: tokenWithoutPermissions,
    });
    await refused('available', 'permission_denied', 'GET', '/technical/isAvailable', {
      token: tokenWithoutPermissions,
    });
  });

  test('a wrong method answers the allowed methods, and a wrong path is not found', async () => {
    const id = sold.transactionId;
    const rows: [string, string, string][] = [
      ['PUT', `/${id}/capture`, 'OPTIONS, POST'],
      ['DELETE', `/${id}`, 'GET, HEAD, OPTIONS'],
      ['GET', `/${id}/refund`, 'OPTIONS, POST'],
      ['PATCH', '/captureall', 'GET, HEAD, OPTIONS, POST'],
    ];
    for (const [method, path, allow] of rows) {
      const answer = await refused(path, 'method_not_allowed', method, path);
      assert.equal(answer.headers['allow'], allow, `${method} ${path}`);
    }
    for (const path of ['', '/', `/${id}/`, `/${id}/captures`, `/${id}/capture/1`]) {
      const answer = await setup.client.call('POST', `${base}${path}`, { body: {} });
      assertProblem(answer, { code: 'route_not_found', pointer: null }, path);
    }
  });

  test('the header of the identifier is checked against the body', async () => {
    const refund = `/${sold.transactionId}/refund`;
    const headers = { 'idempotency-key': 'key-1' };
    await refused('sale', 'idempotency_key_mismatch', 'POST', '/process', {
      body: keyedSale(),
      headers,
    });
    await refused('refund', 'idempotency_key_mismatch', 'POST', refund, {
      body: { clientOperationId: 'key-2' },
      headers,
    });
    await refused('all', 'idempotency_key_mismatch', 'POST', '/captureall', {
      body: { clientOperationId: 'key-2' },
      headers,
    });
    for (const value of ['', 'a b', 'x'.repeat(65), '"quoted"']) {
      await refused(value, 'header_invalid', 'POST', refund, {
        body: {},
        headers: { 'idempotency-key': value },
      });
    }
    await refused('a card number', 'client_id_invalid', 'POST', refund, {
      body: {},
      headers: { 'idempotency-key': testPan },
    });
  });

  test('an identifier of the server is refused as a client’s identifier', async () => {
    await refused('taken', 'client_id_invalid', 'POST', '/process', {
      body: keyedSale({ clientTransactionId: sold.transactionId }),
    });
    await refused('in capitals', 'client_id_invalid', 'POST', '/process', {
      body: keyedSale({ clientTransactionId: sold.transactionId.toUpperCase() }),
    });
  });

  // Spec: CARD-50
  test('an identifier of two merchants is ambiguous for a caller who sees both', async () => {
    const clientTransactionId = randomUUID();
    const sales = await Promise.all(
      [setup.merchant, setup.otherMerchant].map(({ token }) =>
        call('POST', '/process', { token, body: keyedSale({ clientTransactionId }) }),
      ),
    );
    const token = await signAccessToken(setup, {
      um_scope: { entityType: 'tenant', entityId: setup.organizationId },
    });
    const path = `/${clientTransactionId}`;
    await refused('status', 'transaction_ambiguous', 'GET', path, { token, pointer: null });
    await refused('capture', 'transaction_ambiguous', 'POST', `${path}/capture`, { token });
    for (const { body } of sales) {
      const query = `?merchantId=${body.merchantId.toUpperCase()}`;
      const response = await call('GET', path + query, { token });
      assert.equal(response.body.transactionId, body.transactionId, response.text);
    }
    const pathOfUnknownMerchant = `${path}?merchantId=${unknownId}`;
    await refused('nobody', 'transaction_not_found', 'GET', pathOfUnknownMerchant, { token });
    const body = keyedSale();
    await refused('no place', 'field_required', 'POST', '/process', {
      token,
      body,
      pointer: '/merchantId',
    });
  });
});
