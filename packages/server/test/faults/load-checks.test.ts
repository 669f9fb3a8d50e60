// Tests the check of the fault tests: it detects a sale whose state differs from its response.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Client, HttpResponse } from '../support/https-client.ts';
import { assertFinalStates, type Sale } from './load-during-faults.ts';

const transactionId = 't1';
const answer = (status: number, body: unknown): HttpResponse => ({
  status,
  body,
  headers: {},
  text: JSON.stringify(body),
});

const saleInState = (state: string): Sale => {
  const capturedAmount = state === 'Captured' ? 1500 : 0;
  return { clientId: 'c1', response: answer(200, { transactionId, state, capturedAmount }) };
};
const untold: Sale = { clientId: 'c1' };

/** Runs the check against a platform with one sale in this state. */
function ends(sale: Sale, state: string, capturedAmount: number, mayFail = false) {
  const answeredState = sale.response?.body.state ?? state;
  const now = { transactionId, state, answeredState, capturedAmount, operations: [] };
  const client: Client = {
    call: async () => (state === 'Unknown' ? answer(404, {}) : answer(200, now)),
    token: async () => '',
    close: () => {},
  };
  return assertFinalStates({ client, token: '', sales: [sale], mayFail });
}

describe('the assertions of the fault tests', () => {
  test('the check accepts a sale that has the state of its response or a later refund', async () => {
    const { counts, captured } = await ends(saleInState('Captured'), 'Captured', 1500);
    assert.deepEqual([counts, captured], [{ Captured: 1 }, 1500]);
    await ends(saleInState('Captured'), 'PartiallyRefunded', 1500);
    await ends(saleInState('Declined'), 'Declined', 0);
    await ends(saleInState('Reversing'), 'Reversed', 0);
    await ends(saleInState('Failed'), 'Failed', 0);
  });

  test('a reversed sale with a captured response and a captured sale with a declined response fail the check', async () => {
    await assert.rejects(ends(saleInState('Captured'), 'Reversed', 0), /Captured, then Reversed/);
    await assert.rejects(ends(saleInState('Captured'), 'Captured', 0), /was answered Captured/);
    await assert.rejects(ends(saleInState('Captured'), 'Captured', 1499), /was answered Captured/);
    await assert.rejects(ends(saleInState('Captured'), 'Unknown', 0), /Captured, then Unknown/);
    await assert.rejects(
      ends(saleInState('Reversing'), 'Captured', 1500),
      /Reversing, then Captured/,
    );
    await assert.rejects(
      ends(saleInState('Declined'), 'Captured', 1500),
      /Declined, then Captured/,
    );
    await assert.rejects(ends(saleInState('Declined'), 'Declined', 1500), /was answered Declined/);
  });

  test('a sale without a response is captured, reversed or unknown', async () => {
    for (const [state, captured] of [
      ['Captured', 1500],
      ['Reversed', 0],
      ['Unknown', 0],
    ] as const) {
      await ends(untold, state, captured);
    }
    for (const state of ['Authorized', 'Declined', 'Cancelled', 'PartiallyRefunded', 'Failed']) {
      await assert.rejects(ends(untold, state, 0), new RegExp(`no answer, then ${state}`));
    }
    await ends(untold, 'Failed', 0, true);
  });
});
