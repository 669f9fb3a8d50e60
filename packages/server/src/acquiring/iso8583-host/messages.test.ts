import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '@switchyard/iso8583';
import { outcomeOf } from './messages.ts';

const request: Message = {
  mti: '0200',
  fields: {
    3: '000000',
    4: '000000001234',
    11: '000001',
    41: 'TERM0001',
    42: 'M00000000000001',
    49: '978',
  },
};

const answered = (fields: Message['fields']): Message => ({
  mti: '0210',
  fields: { ...request.fields, 39: '00', ...fields },
});

const issuerData = (de55: string, code = '00') => {
  const outcome = outcomeOf(request, answered({ 39: code, 55: de55 }), 'EUR');
  assert.equal(outcome.outcome, code === '00' ? 'Approved' : 'Declined');
  return 'issuerData' in outcome ? outcome.issuerData : undefined;
};

test('of what the host says to the chip, card data that it echoes is left out', () => {
  const forChip = '910A11223344556677883030' + '8A023030' + '8906414243313233';
  const track2 = '57114111111111111111D30122010000000000';
  const pan = '5A084111111111111111';
  assert.equal(issuerData(track2 + forChip + pan), forChip);
  assert.equal(issuerData(`${pan}8A023035`, '05'), '8A023035');
});

test('nothing for the chip, or nothing that can be read, is no issuer data', () => {
  assert.equal(issuerData('5A084111111111111111'), undefined);
  assert.equal(issuerData('910A11'), undefined);
  assert.equal(issuerData('910A11', '05'), undefined);
});

test('chip data that repeats the number of the card is left out', () => {
  const withCard = { ...request, fields: { ...request.fields, 2: '4242424242424242' } };
  const outcome = outcomeOf(withCard, answered({ 55: '91084242424242424242' }), 'EUR');
  assert.equal(outcome.outcome, 'Approved');
  assert.equal('issuerData' in outcome, false);
});

test('only the answer to this very message is one', () => {
  const withReference = { ...request, fields: { ...request.fields, 37: '632507000001' } };
  const outcome = (answer: Message) => outcomeOf(withReference, answer, 'EUR').outcome;
  const right = answered({ 37: '632507000001' });
  assert.equal(outcome(right), 'Approved');
  assert.equal(outcome({ ...right, mti: '0230' }), 'Unknown');
  assert.equal(outcome({ ...right, mti: '0110' }), 'Unknown');
  assert.equal(outcome(answered({ 37: '632507000002' })), 'Unknown');
  assert.equal(outcome(answered({ 41: 'TERM0002' })), 'Unknown');
});

test('a part that the host does not name is no approval', () => {
  const without = answered({ 39: '10', 4: undefined });
  assert.equal(outcomeOf(request, without, 'EUR').outcome, 'Unknown');
  const named = outcomeOf(request, answered({ 39: '10', 4: '000000000500' }), 'EUR');
  assert.equal(named.outcome === 'Approved' && named.amount, 500);
});
