import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnyMessage, isMessage, referenceTo, requestOf, resultOf } from '@switchyard/nexo';
import type { OperationBehaviour } from '../platform/fake-platform.fixture.ts';
import { askedOf } from '../platform/payments-api.ts';
import { address, folder, pay, stage } from '../terminal.fixture.ts';

type Stage = ReturnType<typeof stage>;

/** A sale, and the request that gives it back. */
async function soldAt({ ask }: Stage, amount = 10): Promise<AnyMessage> {
  const { first } = await ask(pay(amount));
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  const OriginalPOITransaction = { POITransactionID: first.body.POIData?.POITransactionID };
  return pay(amount, {
    PaymentTransaction: {
      AmountsReq: { Currency: 'EUR', RequestedAmount: amount },
      OriginalPOITransaction,
    },
    PaymentData: { PaymentType: 'Refund' },
  });
}

/** What TransactionStatus says of a request that has no answer yet. */
async function toldOf({ ask }: Stage, of: AnyMessage): Promise<string | undefined> {
  const MessageReference = referenceTo(of.header);
  const { first } = await ask(requestOf('TransactionStatus', address(), { MessageReference }));
  assert.ok(first);
  return resultOf(first)?.ErrorCondition;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

const unclear: Record<string, OperationBehaviour[]> = {
  'done, and then nothing can be sent': ['LosesAnswer', 'NotSent', 'NotSent'],
  'never had, and then nothing can be sent': ['NeverGets', 'NotSent'],
  'not told for very long': Array.from({ length: 25 }, () => 'NeverGets' as const),
  'still in progress': ['LosesAnswer', 'InProgress', 'InProgress'],
};

for (const [what, coming] of Object.entries(unclear)) {
  test(`a refund that may have been made is never told as none: ${what}`, async () => {
    const on = stage();
    const refund = await soldAt(on);
    on.fake.nextOperations(...coming);
    const { answers } = await on.ask(refund);
    assert.deepEqual(
      answers.map((answer) => answer && resultOf(answer)?.Result),
      ['Success'],
    );
    assert.equal(on.fake.refunded(), 1000, 'once');
    assert.equal(new Set(on.fake.operations).size, 1);
    assert.equal(await on.conditionOf(pay(10)), 'Success', 'the terminal is free again');
    await on.terminal().stop();
  });
}

test('while nobody can tell of a refund it is in progress, also over a restart', async () => {
  const dataDir = folder();
  const on = stage({}, dataDir);
  const refund = await soldAt(on);
  on.fake.nextOperations('LosesAnswer');
  let isUp = true;
  const { operate } = on.fake.platform;
  on.fake.platform.operate = async (...asked) => {
    const answer = isUp ? await operate(...asked) : ({ outcome: 'NotSent' } as const);
    isUp = false;
    return answer;
  };
  const answered = on.ask(refund);
  while (isUp) await turn();
  assert.equal(await toldOf(on, refund), 'InProgress');
  assert.equal(await on.conditionOf(pay(10)), 'Busy', 'nothing new before it is known');
  await on.terminal().stop();
  assert.deepEqual((await answered).texts, [], 'nothing was said');
  const after = stage({ platform: on.fake.platform }, dataDir);
  assert.equal(await toldOf(after, refund), 'InProgress');
  isUp = true;
  on.fake.platform.operate = operate;
  let repeated: AnyMessage | undefined;
  while (repeated === undefined) {
    await turn();
    repeated = await after.statusOf(refund);
  }
  assert.equal(resultOf(repeated)?.Result, 'Success', JSON.stringify(repeated.body));
  assert.equal(on.fake.refunded(), 1000, 'once');
  await after.terminal().stop();
});

test('a refund that may have been made is not told as none by another merchant', async () => {
  const on = stage();
  const refund = await soldAt(on);
  on.fake.nextOperations('LosesAnswer');
  const { operate } = on.fake.platform;
  let tries = 0;
  on.fake.platform.operate = async (...asked) => {
    tries += 1;
    const answer = await operate(...asked);
    on.fake.setElsewhere(tries < 5);
    return answer;
  };
  assert.equal(await on.conditionOf(refund), 'Success');
  assert.equal(tries, 6);
  assert.equal(on.fake.refunded(), 1000, 'once');
  await on.terminal().stop();
});

test('nothing is begun on an original that is not there, or cannot be looked up', async () => {
  const on = stage();
  const refund = await soldAt(on);
  const again = () => ({ ...refund, header: { ...refund.header, ServiceID: address().serviceId } });
  on.fake.nextOperations('LosesAnswer');
  on.fake.setElsewhere(true);
  assert.equal(await on.conditionOf(again()), 'NotFound');
  on.fake.setElsewhere(false);
  const { find } = on.fake.platform;
  on.fake.platform.find = async () => ({ outcome: 'Unknown' });
  assert.equal(await on.conditionOf(again()), 'UnreachableHost');
  assert.deepEqual(on.fake.operations, []);
  on.fake.platform.find = async () => ({
    outcome: 'Refused',
    status: 403,
    code: 'permission_denied',
  });
  assert.equal(await on.conditionOf(again()), 'Success', 'who may not look may give back');
  on.fake.platform.find = find;
  await on.terminal().stop();
});

test('a refund that was certainly not made is told so at once', async () => {
  const on = stage();
  const refund = await soldAt(on);
  on.fake.nextOperations('NotSent');
  assert.equal(await on.conditionOf(refund), 'UnreachableHost');
  const again = { ...refund, header: { ...refund.header, ServiceID: address().serviceId } };
  on.fake.nextOperations('InProgress');
  assert.equal(await on.conditionOf(again), 'NotAllowed');
  assert.equal(on.fake.refunded(), 0);
  await on.terminal().stop();
});

test('an answer of the platform says whether something may have been done', () => {
  const problem = (code: string, outcome: string, retryable: boolean) => ({
    code,
    outcome,
    retryable,
  });
  const outcomeOf = (status: number, body: unknown) => askedOf({ status, body });
  assert.deepEqual(outcomeOf(500, undefined), { outcome: 'Unknown' });
  assert.deepEqual(outcomeOf(503, 'a proxy'), { outcome: 'Unknown' });
  assert.deepEqual(outcomeOf(503, problem('database_unavailable', 'Unknown', true)), {
    outcome: 'Unknown',
  });
  assert.deepEqual(outcomeOf(503, problem('overloaded', 'NotProcessed', true)), {
    outcome: 'NotSent',
  });
  assert.deepEqual(outcomeOf(429, undefined), { outcome: 'NotSent' });
  assert.deepEqual(outcomeOf(502, problem('not_sent', 'NotProcessed', false)), {
    outcome: 'Refused',
    status: 502,
    code: 'not_sent',
  });
  assert.deepEqual(outcomeOf(409, problem('transaction_in_progress', 'NotProcessed', true)), {
    outcome: 'Refused',
    status: 409,
    code: 'transaction_in_progress',
    isPassing: true,
  });
  assert.deepEqual(outcomeOf(422, problem('already_refunded', 'NotProcessed', false)), {
    outcome: 'Refused',
    status: 422,
    code: 'already_refunded',
  });
});
