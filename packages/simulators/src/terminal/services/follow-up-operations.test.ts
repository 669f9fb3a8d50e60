import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnyMessage, isMessage, referenceTo, requestOf, resultOf } from '@switchyard/nexo';
import type { OperationBehaviour } from '../platform/fake-platform.fixture.ts';
import { platformAnswerOf } from '../platform/payments-api.ts';
import {
  createTestTerminal,
  newAddress,
  paymentRequest,
  type TestTerminal,
  temporaryFolder,
} from '../terminal.fixture.ts';

/** A sale, and the request that gives it back. */
async function soldAt({ ask }: TestTerminal, amount = 10): Promise<AnyMessage> {
  const { first } = await ask(paymentRequest(amount));
  assert.ok(first && isMessage(first, 'Payment', 'Response'));
  const OriginalPOITransaction = { POITransactionID: first.body.POIData?.POITransactionID };
  return paymentRequest(amount, {
    PaymentTransaction: {
      AmountsReq: { Currency: 'EUR', RequestedAmount: amount },
      OriginalPOITransaction,
    },
    PaymentData: { PaymentType: 'Refund' },
  });
}

/** The TransactionStatus result of a request without an answer. */
async function pendingStatusOf(
  { ask }: TestTerminal,
  message: AnyMessage,
): Promise<string | undefined> {
  const MessageReference = referenceTo(message.header);
  const { first } = await ask(requestOf('TransactionStatus', newAddress(), { MessageReference }));
  assert.ok(first);
  return resultOf(first)?.ErrorCondition;
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const unclear: Record<string, OperationBehaviour[]> = {
  'done, and then nothing can be sent': ['LosesAnswer', 'NotSent', 'NotSent'],
  'never had, and then nothing can be sent': ['NeverGets', 'NotSent'],
  'no outcome for a very long time': Array.from({ length: 25 }, () => 'NeverGets' as const),
  'still in progress': ['LosesAnswer', 'InProgress', 'InProgress'],
};

for (const [what, coming] of Object.entries(unclear)) {
  test(`the terminal never reports a refund with an unknown outcome as not made: ${what}`, async () => {
    const harness = createTestTerminal();
    const refund = await soldAt(harness);
    harness.fake.nextOperations(...coming);
    const { answers } = await harness.ask(refund);
    assert.deepEqual(
      answers.map((answer) => answer && resultOf(answer)?.Result),
      ['Success'],
    );
    assert.equal(harness.fake.refunded(), 1000, 'once');
    assert.equal(new Set(harness.fake.operations).size, 1);
    assert.equal(
      await harness.conditionOf(paymentRequest(10)),
      'Success',
      'the terminal is free again',
    );
    await harness.terminal().stop();
  });
}

test('a refund with an unknown outcome stays in progress, also after a restart, until the platform answers', async () => {
  const dataDir = temporaryFolder();
  const harness = createTestTerminal({}, dataDir);
  const refund = await soldAt(harness);
  harness.fake.nextOperations('LosesAnswer');
  let isUp = true;
  const { operate } = harness.fake.platform;
  harness.fake.platform.operate = async (...asked) => {
    const answer = isUp ? await operate(...asked) : ({ outcome: 'NotSent' } as const);
    isUp = false;
    return answer;
  };
  const answered = harness.ask(refund);
  while (isUp) await nextTurn();
  assert.equal(await pendingStatusOf(harness, refund), 'InProgress');
  assert.equal(
    await harness.conditionOf(paymentRequest(10)),
    'Busy',
    'nothing new before it is known',
  );
  await harness.terminal().stop();
  assert.deepEqual((await answered).texts, [], 'nothing was said');
  const after = createTestTerminal({ platform: harness.fake.platform }, dataDir);
  assert.equal(await pendingStatusOf(after, refund), 'InProgress');
  isUp = true;
  harness.fake.platform.operate = operate;
  let repeated: AnyMessage | undefined;
  while (repeated === undefined) {
    await nextTurn();
    repeated = await after.statusOf(refund);
  }
  assert.equal(resultOf(repeated)?.Result, 'Success', JSON.stringify(repeated.body));
  assert.equal(harness.fake.refunded(), 1000, 'once');
  await after.terminal().stop();
});

// Spec: NEXO-52
test('the terminal does not report a refund with an unknown outcome as not made while it belongs to another merchant', async () => {
  const harness = createTestTerminal();
  const refund = await soldAt(harness);
  harness.fake.nextOperations('LosesAnswer');
  const { operate } = harness.fake.platform;
  let tries = 0;
  harness.fake.platform.operate = async (...asked) => {
    tries += 1;
    const answer = await operate(...asked);
    harness.fake.setElsewhere(tries < 5);
    return answer;
  };
  assert.equal(await harness.conditionOf(refund), 'Success');
  assert.equal(tries, 6);
  assert.equal(harness.fake.refunded(), 1000, 'once');
  await harness.terminal().stop();
});

test('nothing is begun on an original that is not there, or cannot be looked up', async () => {
  const harness = createTestTerminal();
  const refund = await soldAt(harness);
  const again = () => ({
    ...refund,
    header: { ...refund.header, ServiceID: newAddress().serviceId },
  });
  harness.fake.nextOperations('LosesAnswer');
  harness.fake.setElsewhere(true);
  assert.equal(await harness.conditionOf(again()), 'NotFound');
  harness.fake.setElsewhere(false);
  const { findTransaction: find } = harness.fake.platform;
  harness.fake.platform.findTransaction = async () => ({ outcome: 'Unknown' });
  assert.equal(await harness.conditionOf(again()), 'UnreachableHost');
  assert.deepEqual(harness.fake.operations, []);
  harness.fake.platform.findTransaction = async () => ({
    outcome: 'Refused',
    status: 403,
    code: 'permission_denied',
  });
  assert.equal(await harness.conditionOf(again()), 'Success', 'who may not look may give back');
  harness.fake.platform.findTransaction = find;
  await harness.terminal().stop();
});

test('the terminal reports a failure at once for a refund that was certainly not made', async () => {
  const harness = createTestTerminal();
  const refund = await soldAt(harness);
  harness.fake.nextOperations('NotSent');
  assert.equal(await harness.conditionOf(refund), 'UnreachableHost');
  const again = { ...refund, header: { ...refund.header, ServiceID: newAddress().serviceId } };
  harness.fake.nextOperations('InProgress');
  assert.equal(await harness.conditionOf(again), 'NotAllowed');
  assert.equal(harness.fake.refunded(), 0);
  await harness.terminal().stop();
});

test('an answer of the platform says whether something may have been done', () => {
  const problem = (code: string, outcome: string, retryable: boolean) => ({
    code,
    outcome,
    retryable,
  });
  const outcomeOf = (status: number, body: unknown) => platformAnswerOf({ status, body });
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
    isRetryable: true,
  });
  assert.deepEqual(outcomeOf(422, problem('already_refunded', 'NotProcessed', false)), {
    outcome: 'Refused',
    status: 422,
    code: 'already_refunded',
  });
});
