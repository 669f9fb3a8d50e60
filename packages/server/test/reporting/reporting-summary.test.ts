// Whole run: much is made, or waited for, before it shows.
// Summaries and settlements through their API: each figure equals an independent count of the
// events.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { compareReports } from '../../src/reporting/index.ts';
import { seed } from '../faults/fault-size.ts';
import { readLedgers, waitUntilSettled } from '../payments/ledger/ledger-invariants.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { allOf, dayIn, fetchReport, reported } from '../support/provisioning/report-client.ts';
import {
  createTestOrganization,
  type TestMerchant,
  type TestOrganization,
} from '../support/test-organization.ts';
import { eventually } from '../support/wait-for-condition.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into by the tests
type Json = any;

const base = '/payment/v1/transactions';
const today = () => dayIn('Europe/Paris');
const yesterday = () => dayIn('Europe/Paris', Date.now() - 86_400_000);

/** A random number generator with a seed, so that a run can be repeated. */
function createChance(from: number): (below: number) => number {
  let state = from >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Sums = Record<'authorized' | 'captured' | 'refunded' | 'cancelled' | 'reversed', bigint>;

/** The sums of all payment events by currency, counted without the reports. */
async function countedOf(setup: TestOrganization) {
  const amounts = new Map<string, Sums>();
  const counts = { count: 0, approved: 0, declined: 0, failed: 0 };
  for (const { events, currency } of await readLedgers(setup)) {
    const sums = amounts.get(currency) ?? {
      authorized: 0n,
      captured: 0n,
      refunded: 0n,
      cancelled: 0n,
      reversed: 0n,
    };
    amounts.set(currency, sums);
    for (const { data } of events) {
      const { authorized = 0, captured = 0, refunded = 0, cancelled = 0 } = data.changes;
      sums.authorized += BigInt(authorized);
      if (captured > 0) sums.captured += BigInt(captured);
      else sums.reversed -= BigInt(captured);
      sums.refunded += BigInt(refunded);
      sums.cancelled += BigInt(cancelled);
    }
    const outcome = events.find(({ sequence, type }) => {
      return sequence > 1 && !/\.(?:sent|rerouted|late_response)$/.test(type);
    });
    if (outcome === undefined) continue;
    counts.count += 1;
    const phase = outcome.data.changes.phase ?? '';
    if (['Approved', 'AwaitingConfirmation'].includes(phase)) counts.approved += 1;
    else if (phase === 'Declined') counts.declined += 1;
    else if (['Failed', 'Reversing'].includes(phase)) counts.failed += 1;
  }
  return { amounts, counts };
}

const bigints = (amounts: Json[]) =>
  new Map(
    amounts.map(({ currency, net: _net, ...sums }) => [
      currency,
      Object.fromEntries(
        Object.entries(sums).map(([name, value]) => [name, BigInt(String(value))]),
      ),
    ]),
  );

const summed = (lines: Json[], name: string): number =>
  lines.reduce((sum, line) => sum + line[name], 0);

function summedAmounts(lines: Json[]) {
  const all = new Map<string, Record<string, bigint>>();
  for (const { amounts } of lines) {
    for (const [currency, sums] of bigints(amounts)) {
      const sum = all.get(currency) ?? {};
      all.set(currency, sum);
      for (const [name, value] of Object.entries(sums)) sum[name] = (sum[name] ?? 0n) + value;
    }
  }
  return all;
}

describe('summaries of payments', () => {
  let setup: TestOrganization;
  let span: { from: string; to: string };
  let branchId: string;

  const post = (merchant: TestMerchant, path: string, body: Json) =>
    setup.client.call('POST', `${base}/${path}`, { token: merchant.token, body });

  /** A random device, or one of two stores without a device. */
  const placeOf = (merchant: TestMerchant, chance: (below: number) => number) => {
    if (chance(3) === 0) return { deviceId: merchant.deviceIds[chance(2)] };
    return merchant === setup.merchant
      ? { storeId: [setup.merchant.storeId, branchId][chance(2)] }
      : {};
  };

  /** Sends sales with all outcomes and random operations; some operations are refused. */
  async function happen(chance: (below: number) => number, sales: number): Promise<void> {
    const tails = [0, 0, 0, 0, 0, 0, 9051, 9005, 9091, 9010];
    const one = async () => {
      const merchant = chance(2) === 0 ? setup.merchant : setup.otherMerchant;
      // Captured, and then reversed as a whole before the till confirms it.
      const isTakenBack = chance(6) === 0;
      const sale = await post(
        merchant,
        'process',
        keyedSale({
          amount: (1 + chance(50)) * 10_000 + (tails[chance(tails.length)] || 100 + chance(800)),
          currency: ['EUR', 'EUR', 'USD', 'JPY'][chance(4)],
          captureMode: chance(2) === 0 ? 'Immediate' : 'Deferred',
          partialApproval: chance(2) === 0,
          ...placeOf(merchant, chance),
          ...(isTakenBack ? { captureMode: 'Immediate', confirmWithinSeconds: 60 } : {}),
        }),
      );
      const { transactionId, authorizedAmount = 0 } = sale.body;
      for (let step = isTakenBack ? 0 : chance(4); step > 0; step -= 1) {
        const verb = ['capture', 'refund', 'cancel'][chance(3)] ?? 'capture';
        // In thousands, so that neither the amount nor the rest ends in 9000 to 9099.
        const amount = 1000 * (1 + chance(Math.max(1, Math.floor(authorizedAmount / 1000))));
        const body = { clientOperationId: randomUUID(), ...(chance(3) === 0 ? {} : { amount }) };
        const reason = verb === 'cancel' ? { cancelReason: 'Functional' } : {};
        await post(merchant, `${transactionId}/${verb}`, { ...body, ...reason });
      }
      if (isTakenBack || chance(6) === 0) {
        await post(merchant, `${transactionId}/cancel`, { cancelReason: 'Technical' });
      }
    };
    for (let done = 0; done < sales; done += 10) {
      await Promise.all(Array.from({ length: 10 }, one));
    }
  }

  before(async () => {
    setup = await createTestOrganization();
    console.log(`seed ${seed}`);
    const { merchantId } = setup.merchant;
    const scope = { organizationId: setup.organizationId };
    const branch = await setup.platform.provisioning.stores.create(scope, {
      merchantId,
      name: 'Branch',
    });
    branchId = branch.view.storeId;
    await happen(createChance(seed), 80);
    await waitUntilSettled(setup);
    await reported(setup);
    span = { from: yesterday(), to: today() };
  });

  const summary = (sumOf: Json = {}, token = setup.acquirerToken) =>
    fetchReport(setup, token, 'summary', { ...span, ...sumOf });

  // Spec: SVC-4
  test('equal the sum of the events of all payments, to the minor unit', async () => {
    const { amounts, counts } = await countedOf(setup);
    const { total } = await summary();
    const { count, approved, declined, failed } = total;
    assert.deepEqual({ count, approved, declined, failed }, counts);
    assert.ok(approved > 0 && declined > 0);
    // Without any event of a kind the test would prove nothing about it.
    for (const name of ['captured', 'refunded', 'cancelled', 'reversed'] as const) {
      assert.ok(
        [...amounts.values()].some((sums) => sums[name] > 0n),
        `nothing was ${name}`,
      );
    }
    assert.deepEqual(bigints(total.amounts), amounts);
    for (const each of total.amounts) {
      const net = BigInt(each.captured) - BigInt(each.refunded) - BigInt(each.reversed);
      assert.equal(BigInt(each.net), net);
    }
    const judged = approved + declined + failed;
    assert.equal(total.approvalRate, Math.round((approved / judged) * 10_000) / 10_000);
    assert.equal(summed(total.declineReasons, 'count'), declined + failed);
    assert.ok(total.latency.count > 0 && total.latency.p50Ms <= total.latency.p95Ms);
  });

  // Also for one merchant, whose sales without a device belong to two stores.
  for (const [whose, tokenOf] of [
    ['an organisation', () => setup.acquirerToken],
    ['a merchant', () => setup.merchant.token],
  ] as const) {
    // Spec: REP-4
    test(`of ${whose} have the same total in every grouping`, async () => {
      const token = tokenOf();
      const { total } = await summary({}, token);
      const groupings = [
        'day',
        'hour',
        'merchant',
        'store',
        'device',
        'scheme',
        'responseCategory',
      ];
      for (const groupBy of groupings) {
        const lines = await allOf(setup, token, 'summary', { ...span, groupBy, limit: 2 });
        for (const name of ['count', 'approved', 'declined', 'failed']) {
          assert.equal(summed(lines, name), total[name], `${groupBy} ${name}`);
        }
        assert.deepEqual(summedAmounts(lines), bigints(total.amounts), groupBy);
        const whole = await summary({ groupBy }, token);
        assert.deepEqual(whole.total, total, groupBy);
        assert.deepEqual(whole.items, lines, groupBy);
      }
    });
  }

  test('of a merchant are those of its payments alone, for itself and for the organisation', async () => {
    const sumOf = (merchant: TestMerchant) => summary({ merchantId: merchant.merchantId });
    const [one, other] = [await sumOf(setup.merchant), await sumOf(setup.otherMerchant)];
    const { total } = await summary();
    assert.equal(one.total.count + other.total.count, total.count);
    const ownSummary = await summary({}, setup.merchant.token);
    assert.deepEqual(ownSummary.total, one.total);
    assert.deepEqual(
      (await summary({ groupBy: 'merchant' }, setup.merchant.token)).items.length,
      1,
    );
    const path = `/reporting/v1/summary?from=${span.from}&to=${span.to}&merchantId=${setup.otherMerchant.merchantId}`;
    const refused = await setup.client.call('GET', path, { token: setup.merchant.token });
    assert.equal(refused.body.code, 'entity_out_of_scope');
  });

  test('filters of every kind fit each other: parts are never more than the whole', async () => {
    const { total } = await summary();
    const [deviceId] = setup.merchant.deviceIds;
    const filters: Json[] = [
      { currency: 'EUR' },
      { scheme: 'Visa' },
      { responseCategory: 'Approved' },
      { entryMode: 'Keyed' },
      { kind: 'Card' },
      { deviceId },
      { storeId: setup.merchant.storeId, currency: 'EUR' },
      { merchantId: setup.merchant.merchantId, responseCategory: 'SoftDecline' },
    ];
    for (const filter of filters) {
      const foundTransactions = await allOf(setup, setup.acquirerToken, 'transactions', filter);
      const filteredSummary = await summary(filter);
      const ended = foundTransactions.filter(({ state }) => state !== 'Received');
      assert.equal(filteredSummary.total.count, ended.length, JSON.stringify(filter));
      assert.ok(filteredSummary.total.count <= total.count);
    }
    assert.equal((await summary({ kind: 'Qr' })).total.count, 0);
    assert.equal((await summary({ deviceId: randomUUID() })).total.count, 0);
  });

  test('another organisation sees none of these payments, and days without payments have no lines', async () => {
    const others = await createTestOrganization();
    const otherSummary = await fetchReport(others, others.acquirerToken, 'summary', span);
    assert.deepEqual([otherSummary.total.count, otherSummary.items], [0, []]);
    const merchantId = setup.merchant.merchantId;
    const foreign = await fetchReport(others, others.acquirerToken, 'summary', {
      ...span,
      merchantId,
    });
    assert.equal(foreign.total.count, 0);
    const past = await fetchReport(setup, setup.acquirerToken, 'summary', {
      from: '2020-01-01',
      to: '2020-12-31',
    });
    assert.deepEqual([past.items, past.total.latency, past.total.approvalRate], [[], null, null]);
  });

  const refused: [string, string][] = [
    ['without days', ''],
    ['with a first day alone', 'from=2026-01-01'],
    ['with a day that is none', 'from=2026-02-30&to=2026-03-01'],
    ['with a time for a day', 'from=2026-01-01T00:00:00Z&to=2026-01-02'],
    ['backwards', 'from=2026-01-02&to=2026-01-01'],
    ['of more than 400 days', 'from=2025-01-01&to=2026-03-01'],
    ['by nothing that there is', 'from=2026-01-01&to=2026-01-01&groupBy=colour'],
    ['of a year before the epoch', 'from=1969-12-31&to=1970-01-01'],
    ['with a cursor of nobody', 'from=2026-01-01&to=2026-01-01&cursor=eA'],
  ];
  for (const [name, text] of refused) {
    test(`is refused ${name}`, async () => {
      const path = `/reporting/v1/summary?${text}`;
      const answer = await setup.client.call('GET', path, { token: setup.acquirerToken });
      assert.equal(answer.status, 422, answer.text);
    });
  }

  // Spec: REP-8
  test('settlements contain the captured, refunded and reversed amounts by day, merchant and currency', async () => {
    const items = await allOf(setup, setup.acquirerToken, 'settlements', { limit: 1 });
    const { amounts } = await countedOf(setup);
    for (const [currency, sums] of amounts) {
      const currencyItems = items.filter((each) => each.currency === currency);
      const sumOf = (name: string) =>
        currencyItems.reduce((sum, each) => sum + BigInt(each[name].amount), 0n);
      assert.equal(sumOf('captures'), sums.captured, currency);
      assert.equal(sumOf('refunds'), sums.refunded, currency);
      assert.equal(sumOf('reversals'), sums.reversed, currency);
      assert.equal(sumOf('pending'), 0n, currency);
      assert.ok(currencyItems.every(({ acquirerLinkId }) => acquirerLinkId === setup.linkId));
    }
    const database = await testDatabase();
    const moved = await database.query<{ kind: string; currency: string; amount: string }>(
      `SELECT kind, currency, sum(amount)::text AS amount FROM report_all_movements
       WHERE organization_id = $1 GROUP BY 1, 2`,
      [setup.organizationId],
    );
    for (const { kind, currency, amount } of moved) {
      const names = { Capture: 'captured', Refund: 'refunded', Reversal: 'reversed' } as const;
      const name = names[kind as keyof typeof names];
      assert.equal(BigInt(amount), amounts.get(currency)?.[name], `${kind} ${currency}`);
    }
    const [first] = items;
    const detail = await fetchReport(
      setup,
      setup.acquirerToken,
      `settlements/${first.settlementId}`,
    );
    assert.deepEqual(detail, { ...first, files: [] });
    const ownSettlements = await allOf(setup, setup.merchant.token, 'settlements');
    assert.ok(
      ownSettlements.length > 0 &&
        ownSettlements.every((each) => each.merchantId === setup.merchant.merchantId),
    );
    const foreign = items.find(({ merchantId }) => merchantId !== setup.merchant.merchantId);
    for (const id of [foreign.settlementId, 'x', 'A'.repeat(51)]) {
      const path = `/reporting/v1/settlements/${id}`;
      const answer = await setup.client.call('GET', path, { token: setup.merchant.token });
      assert.equal(answer.status, 404, answer.text);
      assert.equal(answer.body.code, 'settlement_not_found');
    }
  });

  // Spec: REP-7
  test('a rebuild from the payments gives the same reports, and the check finds a changed sum', async () => {
    const database = await testDatabase();
    const { organizationId } = setup;
    const before = await summary({ groupBy: 'device' });
    const settlementsBefore = await allOf(setup, setup.acquirerToken, 'settlements');
    const linesBefore = await allOf(setup, setup.acquirerToken, 'transactions');
    assert.deepEqual((await compareReports(database, organizationId)).differences, []);
    await database.query(
      `UPDATE report_cells SET captured = captured + 1 WHERE organization_id = $1 AND level IN (0, 5)
         AND captured > 0`,
      [organizationId],
    );
    const spoilt = await compareReports(database, organizationId);
    assert.ok(spoilt.differences.length > 0);
    assert.notDeepEqual((await summary({ groupBy: 'day' })).total, before.total);
    await setup.platform.reporting.rebuildReports(organizationId);
    await reported(setup);
    const checked = await compareReports(database, organizationId);
    assert.deepEqual(checked.differences, []);
    assert.equal(checked.payments, linesBefore.length);
    const { asOf: _one, ...summaryBefore } = before;
    const { asOf: _other, ...again } = await summary({ groupBy: 'device' });
    assert.deepEqual(again, summaryBefore);
    const withoutTimes = (all: Json[]) => all.map(({ updatedAt: _at, ...rest }) => rest);
    assert.deepEqual(
      withoutTimes(await allOf(setup, setup.acquirerToken, 'settlements')),
      withoutTimes(settlementsBefore),
    );
    assert.deepEqual(await allOf(setup, setup.acquirerToken, 'transactions'), linesBefore);
  });

  test('the server rebuilds reports that an older version wrote without the sums of this version', async () => {
    const database = await testDatabase();
    const { organizationId } = setup;
    const { asOf: _one, ...before } = await summary({ groupBy: 'day' });
    await database.query(
      `WITH gone AS (DELETE FROM report_cells WHERE organization_id = $1 AND level > 3)
       UPDATE report_positions SET as_of = as_of + interval '1 second' WHERE organization_id = $1`,
      [organizationId],
    );
    await eventually('the sums are there again', async () => {
      setup.platform.reporting.checkNow();
      const { differences } = await compareReports(database, organizationId);
      return differences.length === 0;
    });
    await reported(setup);
    const { asOf: _other, ...again } = await summary({ groupBy: 'day' });
    assert.deepEqual(again, before);
  });

  // Spec: REP-6
  test('a rebuild during new payments loses no payment and counts no payment twice', async () => {
    const { organizationId } = setup;
    const chance = createChance(seed + 1);
    await Promise.all([
      happen(chance, 20),
      setup.platform.reporting.rebuildReports(organizationId),
      happen(createChance(seed + 2), 20),
    ]);
    await waitUntilSettled(setup);
    await reported(setup);
    const { amounts, counts } = await countedOf(setup);
    // The day may have changed during the test.
    const { total } = await summary({ to: dayIn('Europe/Paris', Date.now() + 86_400_000) });
    const { count, approved, declined, failed } = total;
    assert.deepEqual({ count, approved, declined, failed }, counts);
    assert.deepEqual(bigints(total.amounts), amounts);
    const database = await testDatabase();
    assert.deepEqual((await compareReports(database, organizationId)).differences, []);
  });
});
