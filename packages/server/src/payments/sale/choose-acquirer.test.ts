import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { AcquirerContract } from '../../provisioning/index.ts';
import { orderContracts, type SaleRoutingData } from './choose-acquirer.ts';

type Routing = AcquirerContract['routing'];

const contract = (contractId: string, routing: Routing = []) =>
  ({ contractId, routing }) as unknown as AcquirerContract;

const sale = (members: Partial<SaleRoutingData> = {}) => ({
  transactionId: randomUUID(),
  scheme: 'Visa',
  currency: 'EUR',
  amount: 1000,
  ...members,
});

const names = (contracts: readonly AcquirerContract[], of = sale()) =>
  orderContracts(contracts, of).map(({ contractId }) => contractId);

test('without rules the oldest contract is first', () => {
  assert.deepEqual(names([contract('a'), contract('b'), contract('c')]), ['a', 'b', 'c']);
});

test('a matching rule has priority and a contract without a matching rule is excluded', () => {
  const amex = contract('amex', [{ schemes: ['Amex'] }]);
  const dollars = contract('dollars', [{ currencies: ['USD'] }]);
  const all = [contract('any'), amex, dollars];
  assert.deepEqual(names(all), ['any']);
  assert.deepEqual(names(all, sale({ scheme: 'Amex' })), ['amex', 'any']);
  assert.deepEqual(names(all, sale({ currency: 'USD' })), ['dollars', 'any']);
  assert.deepEqual(names([amex]), []);
});

test('amount limits are inclusive', () => {
  const large = contract('large', [{ currencies: ['EUR'], amountFrom: 5000 }]);
  const small = contract('small', [{ currencies: ['EUR'], amountTo: 4999 }]);
  for (const [amount, expected] of [
    [1, 'small'],
    [4999, 'small'],
    [5000, 'large'],
    [999_999, 'large'],
  ] as const) {
    assert.deepEqual(names([large, small], sale({ amount })), [expected]);
  }
});

test('the first matching rule sets the weight', () => {
  const first = contract('first', [{ schemes: ['Visa'], weight: 0 }, { weight: 100 }]);
  const second = contract('second', [{ weight: 1 }]);
  for (let time = 0; time < 50; time += 1) {
    assert.deepEqual(names([first, second]), ['second', 'first']);
  }
});

// Spec: PROV-55
test('weights distribute the sales and weight 0 is standby', () => {
  const all = [
    contract('standby', [{ weight: 0 }]),
    contract('most', [{ weight: 70 }]),
    contract('some', [{ weight: 30 }]),
    contract('rest'),
  ];
  const sales = 20_000;
  let most = 0;
  for (let at = 0; at < sales; at += 1) {
    const [first, second, ...others] = names(all, sale({ transactionId: `transaction ${at}` }));
    if (first === 'most') most += 1;
    assert.deepEqual(new Set([first, second]), new Set(['most', 'some']));
    assert.deepEqual(others, ['rest', 'standby']);
  }
  assert.ok(Math.abs(most / sales - 0.7) < 0.02, `${most} of ${sales}`);
});

test('the order of a transaction is stable', () => {
  const all = ['a', 'b', 'c', 'd'].map((id) => contract(id, [{ weight: 25 }]));
  const one = sale();
  const first = names(all, one);
  for (let time = 0; time < 20; time += 1) assert.deepEqual(names(all, one), first);
  assert.deepEqual(names([...all].reverse(), one), first);
});
