// The published order of validation: for a request with two faults the server reports the earlier
// check.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ErrorCode } from '@switchyard/contract';
import { startAcquirerRelay } from '../../support/acquirers/acquirer-relay.ts';
import { assertProblem } from '../../support/assert-problem-response.ts';
import type { HttpResponse, RequestOptions } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';

const base = '/payment/v1/transactions';

function call(
  setup: TestOrganization,
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<HttpResponse> {
  return setup.client.call(method, `${base}${path}`, { token: setup.merchant.token, ...options });
}

async function sell(setup: TestOrganization, members: Record<string, unknown> = {}) {
  const answer = await call(setup, 'POST', '/process', { body: keyedSale(members) });
  assert.equal(answer.status, 200, answer.text);
  return answer.body as { transactionId: string; state: string };
}

type StoredEntities = {
  get(scope: Scope, id: string): Promise<{ view: object }>;
  replace(scope: Scope, id: string, input: Record<string, unknown>): Promise<unknown>;
};
type Scope = { organizationId: string };

async function disable(entities: StoredEntities, scope: Scope, id: string): Promise<void> {
  const { view } = await entities.get(scope, id);
  await entities.replace(scope, id, { ...view, status: 'Disabled' });
}

describe('the order of checks', { concurrency: 4 }, () => {
  test('address, size and media type are checked before the token', async () => {
    const { client } = await createTestOrganization();
    const rows: [string, string, RequestOptions, ErrorCode][] = [
      ['POST', '/never-sold/process', {}, 'route_not_found'],
      ['PUT', '/process', {}, 'method_not_allowed'],
      ['POST', '/process', { raw: 'x'.repeat(1_048_577) }, 'payload_too_large'],
      [
        'POST',
        '/process',
        { raw: '{', headers: { 'content-type': 'text/xml' } },
        'unsupported_media_type',
      ],
      ['POST', '/process', { raw: '{' }, 'token_missing'],
    ];
    for (const [method, path, options, code] of rows) {
      assertProblem(await client.call(method, base + path, options), { code }, path);
    }
  });

  test('the permission is checked before the syntax, the syntax before the members', async () => {
    const setup = await createTestOrganization();
    const { merchantId } = setup.merchant;
    const token = await setup.tokenFor({
      name: 'reader',
      entityType: 'merchant',
      entityId: merchantId,
      merchantId,
      roles: ['MerchantReadOnly'],
    });
    const raw = '{"amount":1,"amount":0}';
    const denied = await call(setup, 'POST', '/process', { token, raw });
    assertProblem(denied, { code: 'permission_denied' });
    assertProblem(await call(setup, 'POST', '/process', { raw }), { code: 'malformed_json' });
  });

  test('the members are checked before the identifiers, also in the address', async () => {
    const setup = await createTestOrganization();
    const body = { amount: 0 };
    assertProblem(await call(setup, 'POST', '/never-sold/capture', { body }), {
      code: 'amount_zero',
    });
    const sale = keyedSale();
    await call(setup, 'POST', '/process', { body: sale });
    const faults: [Record<string, unknown>, ErrorCode][] = [
      [{ amount: 0 }, 'amount_zero'],
      [{ currency: 'DEM' }, 'currency_unknown'],
      [{ entryMode: 'ContactChip' }, 'entry_mode_invalid'],
      [{ amount: 4321, notAfter: '2020-01-01T00:00:00Z' }, 'too_late'],
    ];
    for (const [members, code] of faults) {
      const answer = await call(setup, 'POST', '/process', { body: { ...sale, ...members } });
      assertProblem(answer, { code });
    }
  });

  test('the identifier is checked before state, amount and configuration', async () => {
    const setup = await createTestOrganization();
    const sale = keyedSale();
    const { transactionId } = (await call(setup, 'POST', '/process', { body: sale })).body;
    const other = await call(setup, 'POST', '/process', { body: { ...sale, currency: 'GBP' } });
    assertProblem(other, { code: 'client_id_reused', pointer: '/currency' });
    const refund = `/${transactionId}/refund`;
    const clientOperationId = 'r-1';
    await call(setup, 'POST', refund, { body: { clientOperationId } });
    for (const members of [{ amount: 1 }, { amount: 99_999 }]) {
      const answer = await call(setup, 'POST', refund, { body: { clientOperationId, ...members } });
      assertProblem(answer, { code: 'client_id_reused', pointer: '/amount' });
    }
    const currency = await call(setup, 'POST', refund, {
      body: { clientOperationId, currency: 'USD' },
    });
    assertProblem(currency, { code: 'client_id_reused', pointer: '/currency' });
  });

  test('the state is checked before the amount, the amount before the configuration', async () => {
    const setup = await createTestOrganization({ partialCancel: false, multipleCapture: false });
    const captured = await sell(setup);
    const open = await sell(setup, { captureMode: 'Deferred' });
    const functional = { cancelReason: 'Functional' };
    const rows: [string, string, Record<string, unknown>, ErrorCode][] = [
      [captured.transactionId, 'capture', { amount: 9999, final: false }, 'nothing_to_capture'],
      [captured.transactionId, 'cancel', { ...functional, amount: 9999 }, 'already_captured'],
      [open.transactionId, 'refund', { amount: 9999 }, 'not_captured'],
      [open.transactionId, 'capture', { amount: 9999, final: false }, 'capture_amount_exceeded'],
      [open.transactionId, 'cancel', { ...functional, amount: 9999 }, 'cancel_amount_exceeded'],
      [
        open.transactionId,
        'capture',
        { amount: 1, final: false },
        'multiple_capture_not_supported',
      ],
      [open.transactionId, 'cancel', { ...functional, amount: 1 }, 'partial_cancel_not_supported'],
    ];
    for (const [id, verb, body, code] of rows) {
      assertProblem(await call(setup, 'POST', `/${id}/${verb}`, { body }), { code }, code);
    }
  });

  test('the configuration is checked before the acquirer, and a replay before both', async () => {
    const first = await createTestOrganization();
    const relay = await startAcquirerRelay(first.host.port);
    try {
      const setup = await createTestOrganization(
        { multipleCapture: false },
        { acquirerPort: relay.port },
      );
      const sale = keyedSale({ captureMode: 'Deferred' });
      const sold = await call(setup, 'POST', '/process', { body: sale });
      await relay.close();
      await until(async () => {
        const { body } = await call(setup, 'GET', '/technical/isAvailable');
        return body.available === false ? true : undefined;
      }, 'the link to be down');
      const unsold = await call(setup, 'POST', '/process', {
        body: keyedSale({ currency: 'GBP' }),
      });
      assertProblem(unsold, { code: 'currency_not_supported' });
      const capture = `/${sold.body.transactionId}/capture`;
      const part = await call(setup, 'POST', capture, { body: { final: false } });
      assertProblem(part, { code: 'multiple_capture_not_supported' });
      const down = await call(setup, 'POST', capture);
      assertProblem(down, { code: 'acquirer_unavailable' });
      const again = await call(setup, 'POST', '/process', { body: sale });
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.deepEqual(again.body, sold.body);
    } finally {
      await relay.close();
    }
  });

  // Spec: IDEM-15
  test('a replay of an organisation without a merchant is answered after the store was disabled', async () => {
    const setup = await createTestOrganization();
    const { organizationId } = setup;
    const { storeId, deviceIds } = setup.merchant;
    const [deviceId] = deviceIds;
    const token = await setup.tokenFor({
      name: 'cloud',
      entityType: 'tenant',
      entityId: organizationId,
      roles: ['PointOfSaleTerminal'],
    });
    const sell = (body: object) => call(setup, 'POST', '/process', { token, body });
    const sale = keyedSale({ storeId });
    const ofDevice = keyedSale({ deviceId });
    const sold = [await sell(sale), await sell(ofDevice)];
    await disable(setup.platform.provisioning.stores, { organizationId }, storeId);
    for (const [index, body] of [sale, ofDevice].entries()) {
      const again = await sell(body);
      assert.equal(again.headers['idempotent-replayed'], 'true', again.text);
      assert.deepEqual([again.status, again.body], [sold[index]?.status, sold[index]?.body]);
      const other = { ...body, clientTransactionId: `late-${index}` };
      assertProblem(await sell(other), { code: 'store_not_active' });
    }
    const elsewhere = { ...sale, storeId: setup.otherMerchant.storeId };
    assert.equal((await sell(elsewhere)).headers['idempotent-replayed'], undefined);
  });

  // Spec: IDEM-15
  test('a replay is answered after time, store and contract became invalid', async () => {
    const setup = await createTestOrganization();
    const { provisioning } = setup.platform;
    const scope = { organizationId: setup.organizationId };
    const { storeId, deviceIds, contractId } = setup.merchant;
    const soon = Date.now() + 5_000;
    const sale = keyedSale({
      storeId,
      deviceId: deviceIds[0],
      notAfter: new Date(soon).toISOString(),
    });
    const sold = await call(setup, 'POST', '/process', { body: sale });
    assert.equal(sold.status, 200, sold.text);
    const isReplayed = async () => {
      const again = await call(setup, 'POST', '/process', { body: sale });
      assert.equal(again.status, 200, again.text);
      assert.equal(again.headers['idempotent-replayed'], 'true');
      assert.deepEqual(again.body, sold.body);
    };
    await until(() => (Date.now() > soon ? true : undefined), 'notAfter');
    await isReplayed();
    const unsold = { ...sale, clientTransactionId: 'late-1' };
    assertProblem(await call(setup, 'POST', '/process', { body: unsold }), { code: 'too_late' });
    await disable(provisioning.acquirerContracts, scope, contractId);
    await isReplayed();
    const now = { ...keyedSale(), storeId };
    const withoutDevice = await call(setup, 'POST', '/process', { body: now });
    assertProblem(withoutDevice, { code: 'no_acquirer_for_merchant' });
    await disable(provisioning.stores, scope, storeId);
    await isReplayed();
    assertProblem(await call(setup, 'POST', '/process', { body: now }), {
      code: 'store_not_active',
    });
  });
});
