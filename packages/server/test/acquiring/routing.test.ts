// Routing of sales among several acquirers of a merchant, and failover to the next one.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { readLedgers } from '../payments/ledger/ledger-invariants.ts';
import {
  attachHttpAcquirer,
  contractTermsOnLink,
  waitUntilAvailable,
} from '../support/acquirers/test-http-acquirer.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/payment/v1/transactions';
const amexCard = { card: { number: '371449635398431', expiryMonth: 12, expiryYear: 2030 } };

describe('routing rules of a merchant', () => {
  let setup: TestOrganization;

  before(async () => {
    setup = await createTestOrganization();
  });

  const sell = (merchant: TestMerchant, members: Record<string, unknown> = {}) =>
    setup.client.call('POST', `${base}/process`, {
      token: merchant.token,
      body: keyedSale(members),
    });
  const operate = (merchant: TestMerchant, path: string, body: Record<string, unknown> = {}) =>
    setup.client.call('POST', `${base}${path}`, { token: merchant.token, body });
  const read = async (merchant: TestMerchant, id: string) =>
    (await setup.client.call('GET', `${base}/${id}`, { token: merchant.token })).body;

  /** Adds a contract to a merchant. */
  async function contractOn(
    merchant: TestMerchant,
    linkId: string,
    terms: Record<string, unknown> = {},
  ) {
    const { acquirerContracts } = setup.platform.provisioning;
    const { view } = await acquirerContracts.create(
      { organizationId: setup.organizationId, merchantId: merchant.merchantId },
      {
        currencies: ['EUR', 'USD'],
        captureModes: ['Immediate', 'Deferred'],
        clearCardData: 'Allowed',
        partialCancel: true,
        multipleCapture: true,
        ...contractTermsOnLink(linkId, terms),
      },
    );
    return view;
  }

  const merchantOf = (body: { receipt: { merchant: { acquirerMerchantId: string } } }) =>
    body.receipt.merchant.acquirerMerchantId;

  /** Creates a merchant at the host with a second contract at a separate acquirer, which is available. */
  async function createMerchantWithBank(
    name: string,
    terms: Record<string, unknown> = { routing: [{}] },
  ) {
    const bank = await attachHttpAcquirer(setup, name);
    const merchant = await setup.createMerchant();
    const contract = await contractOn(merchant, bank.linkId, terms);
    const path = `${base}/technical/isAvailable`;
    await until(async () => {
      const { body } = await setup.client.call('GET', path, { token: merchant.token });
      const links = body.links as { name: string; available: boolean }[];
      return links.find((link) => link.name === name)?.available === true ? true : undefined;
    }, `${name} to be ready`);
    return { bank, merchant, contract };
  }

  // Spec: PROV-55
  test('rules by scheme, currency and amount select the acquirer', async () => {
    const { merchant, contract } = await createMerchantWithBank('rules', {
      routing: [
        { schemes: ['Amex'] },
        { currencies: ['USD'] },
        { currencies: ['EUR'], amountFrom: 50_000, amountTo: 60_000 },
      ],
    });
    const acquirerOfSale = async (members: Record<string, unknown>) => {
      const { body, text } = await sell(merchant, members);
      assert.equal(body.state, 'Captured', text);
      return merchantOf(body) === contract.acquirerMerchantId ? 'bank' : 'host';
    };
    assert.equal(await acquirerOfSale({}), 'host');
    assert.equal(await acquirerOfSale({ instrument: amexCard }), 'bank');
    assert.equal(await acquirerOfSale({ currency: 'USD' }), 'bank');
    assert.equal(await acquirerOfSale({ amount: 50_000 }), 'bank');
    assert.equal(await acquirerOfSale({ amount: 60_001 }), 'host');
  });

  test('a sale that matches no rule is refused, and no row is stored', async () => {
    const merchant = await setup.createMerchant({ routing: [{ schemes: ['Amex'] }] });
    assertProblem(await sell(merchant), { code: 'no_acquirer_for_merchant' });
    assert.equal((await sell(merchant, { instrument: amexCard })).body.state, 'Captured');
  });

  test('invalid rules are refused with their pointer', async () => {
    const path = `/provisioning/v2/merchants/${setup.merchant.merchantId}/acquirer-contracts/${setup.merchant.contractId}`;
    const token = setup.acquirerToken;
    const { body: contract } = await setup.client.call('GET', path, { token });
    assert.deepEqual(contract.routing, []);
    const put = (routing: unknown[]) =>
      setup.client.call('PUT', path, { token, body: { ...contract, routing } });
    assertProblem(await put([{ weight: 1 }, { currencies: ['XXX'] }]), {
      code: 'currency_unknown',
      pointer: '/routing/1/currencies/0',
    });
    assertProblem(await put([{ amountFrom: 100 }]), {
      code: 'field_invalid',
      pointer: '/routing/0/currencies',
    });
    assertProblem(await put([{ currencies: ['EUR'], amountFrom: 100, amountTo: 99 }]), {
      code: 'field_invalid',
      pointer: '/routing/0/amountTo',
    });
    assertProblem(await put([{ weight: 101 }]), {
      code: 'field_invalid',
      pointer: '/routing/0/weight',
    });
  });

  test('routing skips a contract that does not accept the capture mode of the sale', async () => {
    const terms = { captureModes: ['Deferred'], routing: [{}] };
    const { merchant, contract } = await createMerchantWithBank('modes', terms);
    const immediate = await sell(merchant, { captureMode: 'Immediate' });
    assert.notEqual(merchantOf(immediate.body), contract.acquirerMerchantId);
    const deferred = await sell(merchant, { captureMode: 'Deferred' });
    assert.equal(merchantOf(deferred.body), contract.acquirerMerchantId, deferred.text);
  });

  test('an unavailable link is skipped before a row is stored for it', async () => {
    const { bank, merchant } = await createMerchantWithBank('passed');
    await bank.stop();
    // The first sale detects the failure; after it the link is unavailable.
    const first = await sell(merchant);
    assert.equal(first.body.state, 'Captured', first.text);
    const second = await sell(merchant);
    assert.equal(second.body.state, 'Captured', second.text);
    const { events } = await read(merchant, second.body.transactionId);
    assert.ok(!events.some(({ type }: { type: string }) => type === 'transaction.rerouted'));
    const path = `${base}/technical/isAvailable`;
    const { body } = await setup.client.call('GET', path, { token: merchant.token });
    assert.equal(body.available, true);
    assert.equal(body.links.length, 2);
  });

  // Spec: PROV-56
  test('if no message was sent, the next acquirer gets the sale and all later operations', async () => {
    const { bank, merchant, contract } = await createMerchantWithBank('failing');
    assert.equal(merchantOf((await sell(merchant)).body), contract.acquirerMerchantId);
    await bank.stop();
    const { body, text } = await sell(merchant, { amount: 4000, captureMode: 'Deferred' });
    assert.equal(body.state, 'Authorized', text);
    assert.equal(merchantOf(body), merchant.merchantNumber);
    const id = body.transactionId;
    const types = ((await read(merchant, id)).events as { type: string }[]).map(({ type }) => type);
    assert.deepEqual(types, [
      'transaction.received',
      'transaction.rerouted',
      'transaction.authorized',
    ]);
    assert.equal((await operate(merchant, `/${id}/capture`, { amount: 3000 })).status, 200);
    assert.equal(
      (await operate(merchant, `/${id}/cancel`, { cancelReason: 'Functional' })).status,
      200,
    );
    const refund = await operate(merchant, `/${id}/refund`, { amount: 1000 });
    assert.equal(refund.body.state, 'PartiallyRefunded', refund.text);
    const totals = setup.host
      .ledger()
      .totals.find((total) => total.merchant === merchant.merchantNumber);
    assert.deepEqual(
      { captured: totals?.captured, refunded: totals?.refunded, open: totals?.openHolds },
      { captured: 3000, refunded: 1000, open: 0 },
    );
    const book = (await readLedgers(setup)).find(({ transactionId }) => transactionId === id);
    assert.equal(book?.contractId, merchant.contractId);
  });

  // Spec: PROV-56
  test('if the acquirer may have received the sale, no other acquirer gets it', async () => {
    const { bank, merchant } = await createMerchantWithBank('silent');
    // This goes first, because a missing response makes the link check the acquirer.
    bank.server.setReady(false);
    const refused = await sell(merchant);
    assertProblem(refused, { code: 'not_sent' });
    assert.equal(refused.body.transaction.state, 'Failed');
    bank.server.setReady(true);
    const { body } = await sell(merchant, { amount: 9091 });
    assert.equal(body.state, 'Reversing');
    const totals = setup.host
      .ledger()
      .totals.find((total) => total.merchant === merchant.merchantNumber);
    assert.equal(totals, undefined);
  });

  test('a sale without a response of the second acquirer is reversed there and nowhere else', async () => {
    const { bank, merchant } = await createMerchantWithBank('second');
    await sell(merchant);
    const before = bank.server.ledger().entries;
    await bank.stop();
    const { body, text } = await sell(merchant, { amount: 9091 });
    assert.equal(body.state, 'Reversing', text);
    const reversed = async () => (await read(merchant, body.transactionId)).state === 'Reversed';
    await until(reversed, 'the reversal to be taken');
    const totals = setup.host
      .ledger()
      .totals.find((total) => total.merchant === merchant.merchantNumber);
    assert.deepEqual(
      { captured: totals?.captured, reversed: totals?.reversed, reversals: totals?.reversals },
      { captured: 0, reversed: 9091, reversals: 1 },
    );
    assert.equal(bank.server.ledger().entries, before);
  });

  test('a replay of a rerouted sale has the same response', async () => {
    const { bank, merchant } = await createMerchantWithBank('replayed');
    await sell(merchant);
    await bank.stop();
    const request = keyedSale();
    const path = `${base}/process`;
    const first = await setup.client.call('POST', path, { token: merchant.token, body: request });
    assert.equal(merchantOf(first.body), merchant.merchantNumber, first.text);
    const again = await setup.client.call('POST', path, { token: merchant.token, body: request });
    assert.deepEqual(again.body, first.body);
    assert.equal(again.headers['idempotent-replayed'], 'true');
  });

  // Spec: CARD-49
  test('availability lists only the links of the merchant', async () => {
    const bank = await attachHttpAcquirer(setup, 'alone');
    const merchant = await setup.createMerchant(contractTermsOnLink(bank.linkId));
    await waitUntilAvailable(setup, merchant.token);
    const path = `${base}/technical/isAvailable`;
    const readAvailability = async () =>
      (await setup.client.call('GET', path, { token: merchant.token })).body;
    assert.deepEqual(await readAvailability(), {
      available: true,
      offlineAdvised: false,
      links: [{ name: 'alone', available: true }],
    });
    await bank.stop();
    await sell(merchant);
    assert.deepEqual(await readAvailability(), {
      available: false,
      offlineAdvised: true,
      links: [{ name: 'alone', available: false }],
    });
  });
});
