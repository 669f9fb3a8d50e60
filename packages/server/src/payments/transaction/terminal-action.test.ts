import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined, noAnswer } from '@switchyard/contract';
import { summarizeResponse, terminalActionFor } from './terminal-action.ts';
import type { AuthorizationContext, TransactionRecord } from './transaction.ts';

type Sale = { code?: string; entryMode?: string; isPinSent?: true; state?: string };

/** A sale with an outcome, as far as the next action looks at it. */
function saleOf({ code = '05', entryMode = 'ContactlessChip', isPinSent, state }: Sale) {
  const context = { entryMode, ...defined({ isPinSent }) } as AuthorizationContext;
  const loaded = {
    row: { state: state ?? 'Declined', amount: 1234 },
    events: [
      { sequence: 1, type: 'transaction.received', at: '', data: { context } },
      { sequence: 2, type: 'transaction.declined', at: '', data: { response: { code } } },
    ],
    operations: [],
  };
  return terminalActionFor(loaded as unknown as TransactionRecord);
}

test('approved states return Approve and reversed states return Decline', () => {
  for (const state of ['Authorized', 'PartiallyCaptured', 'Captured', 'Refunded']) {
    assert.equal(saleOf({ state, code: '00' }), 'Approve', state);
  }
  for (const state of ['Reversing', 'Reversed', 'Failed', 'Cancelled', 'Expired']) {
    assert.equal(saleOf({ state, code: '00' }), 'Decline', state);
  }
  for (const state of ['Received', 'Stored']) assert.equal(saleOf({ state }), undefined, state);
});

test('a declined contactless sale asks for the chip or a PIN', () => {
  assert.equal(saleOf({ code: '65' }), 'UseChip');
  assert.equal(saleOf({ code: '65', entryMode: 'ContactlessMagStripe' }), 'UseChip');
  for (const code of ['1A', '70']) {
    assert.equal(saleOf({ code }), 'AskPin', code);
    assert.equal(saleOf({ code, isPinSent: true }), 'UseChip', 'the PIN was there');
  }
});

test('asks for a PIN when a reader is present and again after a wrong PIN', () => {
  assert.equal(saleOf({ code: '55', isPinSent: true }), 'AskPin');
  assert.equal(saleOf({ code: '55', entryMode: 'ContactChip', isPinSent: true }), 'AskPin');
  assert.equal(saleOf({ code: '70', entryMode: 'ContactChip' }), 'AskPin');
  assert.equal(saleOf({ code: '70', entryMode: 'ContactChip', isPinSent: true }), 'Decline');
  assert.equal(saleOf({ code: '55', entryMode: 'Keyed' }), 'Decline');
});

test('returns Decline when no other interface can help', () => {
  assert.equal(saleOf({ code: '65', entryMode: 'ContactChip' }), 'Decline');
  assert.equal(saleOf({ code: '65', entryMode: 'Keyed' }), 'Decline');
  for (const code of ['05', '51', '54', '91', 'ZZ'])
    assert.equal(saleOf({ code }), 'Decline', code);
});

test('a missing response is Unknown and an unsent message is TechnicalFailure', () => {
  const actionFor = (reason?: string) =>
    summarizeResponse(defined({ reason }), { contactless: false, zeroAmount: false });
  const { category, reason, retry } = noAnswer;
  assert.deepEqual(actionFor('Timeout'), { category, reason, retry });
  for (const how of ['ConnectionLost', 'InvalidResponse', 'Unanswered']) {
    assert.deepEqual(actionFor(how), { category, reason: how, retry });
  }
  assert.deepEqual(actionFor(), { category, reason: 'NoAnswer', retry });
  assert.deepEqual(actionFor('AcquirerUnavailable'), {
    category: 'TechnicalFailure',
    reason: 'AcquirerUnavailable',
  });
});
