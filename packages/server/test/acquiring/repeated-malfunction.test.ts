// Whole run: processes, databases and hosts fail in the middle of their work, again and again.
// A host that fails at a repeat or reports a duplicate: amounts stay reserved, and are reversed
// once.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { Message } from '@switchyard/iso8583';
import {
  approvalResponse,
  approve,
  approveNetworkMessages,
  encodeMessageFrame,
  type ReceivedMessage,
  startScriptedHost,
} from '../support/acquirers/scripted-host.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import { getOrPost } from '../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

async function scripted(t: TestContext) {
  const scriptedHost = await startScriptedHost();
  t.after(() => scriptedHost.stop());
  const setup = await createTestOrganization({}, { acquirerPort: scriptedHost.port });
  return { setup, scriptedHost };
}

const operationIn = (setup: TestOrganization, id: string, status: string) =>
  until(async () => {
    const { body } = await getOrPost(setup, `/${id}`);
    return body.operations[0]?.status === status ? body : undefined;
  }, `the operation to be ${status}`);

/** The numbers by which the host recognises a repeated message. */
const numbersOf = ({ fields }: Message) => [fields[11], fields[37], fields[41]].join(' ');

// Spec: CARD-53
describe('responses “system malfunction” to repeated messages', { concurrency: 4 }, () => {
  test('a malfunction at a repeated refund does not free the amount for a second refund', async (t) => {
    const { setup, scriptedHost } = await scripted(t);
    const { body: sold } = await getOrPost(setup, '/process', keyedSale({ amount: 1000 }));
    assert.equal(sold.state, 'Captured');
    const refunds: Message[] = [];
    const codes = ['96', '91', '68'];
    let cured = false;
    scriptedHost.script((received) => {
      const { message, socket } = received;
      if (!message.mti.startsWith('020')) return approveNetworkMessages(received);
      refunds.push(message);
      // The host booked the refund, and its response is lost.
      if (refunds.length === 1) return undefined;
      const code = cured ? '00' : (codes[refunds.length - 2] ?? '96');
      socket.write(encodeMessageFrame(approvalResponse(message, { 39: code })));
      return undefined;
    });
    const path = `/${sold.transactionId}/refund`;
    const first = await getOrPost(setup, path, { amount: 600, clientOperationId: 'r-1' });
    assert.equal(first.status, 202, first.text);
    await until(() => refunds.length >= 3, 'two answers of a host that is out of order');
    const { body: transaction } = await getOrPost(setup, `/${sold.transactionId}`);
    assert.equal(transaction.operations[0].status, 'Pending');
    const second = await getOrPost(setup, path, { amount: 600, clientOperationId: 'r-2' });
    assert.equal(second.status, 422, second.text);
    assertProblem(second, { code: 'refund_amount_exceeded' });
    cured = true;
    const done = await operationIn(setup, sold.transactionId, 'Succeeded');
    assert.equal(done.refundedAmount, 600);
    assert.deepEqual([...new Set(refunds.map(numbersOf))].length, 1, 'one message, repeated');
    assert.deepEqual([...new Set(refunds.slice(1).map(({ mti }) => mti))], ['0201']);
  });

  test('a malfunction at the first capture message declines it, except for “issuer too late” and unknown codes', async (t) => {
    const { setup, scriptedHost } = await scripted(t);
    const sale = keyedSale({ amount: 1000, captureMode: 'Deferred' });
    const { body: heldSale } = await getOrPost(setup, '/process', sale);
    assert.equal(heldSale.state, 'Authorized');
    const answers = ['96', '16', '68', '00'];
    scriptedHost.script((received) => {
      const { message, socket } = received;
      if (!message.mti.startsWith('022')) return approve(received);
      socket.write(encodeMessageFrame(approvalResponse(message, { 39: answers.shift() ?? '96' })));
      return undefined;
    });
    const path = `/${heldSale.transactionId}/capture`;
    const declined = await getOrPost(setup, path, { clientOperationId: 'c-1' });
    assert.equal(declined.body.operation.status, 'Declined', declined.text);
    const late = await getOrPost(setup, path, { clientOperationId: 'c-2' });
    assert.equal(late.status, 202, late.text);
    assert.equal(late.body.operation.status, 'Pending');
    const done = await until(async () => {
      const { body } = await getOrPost(setup, `/${heldSale.transactionId}`);
      return body.state === 'Captured' ? body : undefined;
    }, 'the capture');
    assert.equal(done.capturedAmount, 1000);
  });
});

test('a reversal with reference numbers that the host knows is sent with new numbers and has one effect', async (t) => {
  const { setup, scriptedHost } = await scripted(t);
  const reversals: Message[] = [];
  scriptedHost.script((received) => {
    const { message, socket } = received;
    if (message.mti.startsWith('020')) return undefined;
    if (!message.mti.startsWith('042')) return approve(received);
    reversals.push(message);
    socket.write(
      encodeMessageFrame(approvalResponse(message, { 39: reversals.length < 3 ? '94' : '00' })),
    );
    return undefined;
  });
  const { body: sale } = await getOrPost(setup, '/process', keyedSale({ amount: 1000 }));
  assert.equal(sale.state, 'Reversing');
  const reversed = await operationIn(setup, sale.transactionId, 'Succeeded');
  assert.equal(reversed.state, 'Reversed');
  assert.equal(reversals.length, 3);
  assert.equal(new Set(reversals.map(numbersOf)).size, 3, 'each under numbers of its own');
  assert.equal(new Set(reversals.map(({ fields }) => fields[90])).size, 1, 'of one sale');
});

// Spec: CARD-55 CARD-57
test('a sale that the issuer may book later is not approved, and is reversed', async (t) => {
  const { setup, scriptedHost } = await scripted(t);
  // Code 16 approves and asks to update the magnetic stripe; no host table here contains it.
  const reasons = { '68': 'Timeout', '09': 'ProcessingError', '16': 'GenericDecline' };
  for (const [code, reason] of Object.entries(reasons)) {
    const reversals: Message[] = [];
    scriptedHost.script((received) => {
      const { message, socket } = received;
      if (!message.mti.startsWith('020')) {
        if (message.mti.startsWith('042')) reversals.push(message);
        return approve(received);
      }
      socket.write(encodeMessageFrame(approvalResponse(message, { 39: code })));
      return undefined;
    });
    const { body: sale } = await getOrPost(setup, '/process', keyedSale({ amount: 1000 }));
    assert.deepEqual([sale.approved, sale.response?.reason], [false, reason], code);
    assert.ok(['Reversing', 'Reversed'].includes(sale.state), sale.state);
    const reversed = await operationIn(setup, sale.transactionId, 'Succeeded');
    assert.deepEqual([reversed.state, reversed.authorizedAmount ?? 0], ['Reversed', 0]);
    assert.equal(reversals.length, 1, code);
  }
});

// Spec: ACQ-10
test('a sale that the issuer books after its reversal is reversed once more', async (t) => {
  const { setup, scriptedHost } = await scripted(t);
  const reversals: Message[] = [];
  const sales: ReceivedMessage[] = [];
  scriptedHost.script((received) => {
    const { message, socket } = received;
    if (!message.mti.startsWith('020')) {
      if (message.mti.startsWith('042')) reversals.push(message);
      return approve(received);
    }
    sales.push(received);
    socket.write(encodeMessageFrame(approvalResponse(message, { 39: '09' })));
    return undefined;
  });
  const { body: sale } = await getOrPost(setup, '/process', keyedSale({ amount: 1000 }));
  await operationIn(setup, sale.transactionId, 'Succeeded');
  for (const booked of sales) approve(booked);
  const reversed = await until(async () => {
    const { body } = await getOrPost(setup, `/${sale.transactionId}`);
    return body.operations[1]?.status === 'Succeeded' ? body : undefined;
  }, 'the second reversal');
  assert.deepEqual([sales.length, reversed.state, reversals.length], [1, 'Reversed', 2]);
});
