import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chipData } from '../../../test/support/card-data/chip-data.ts';
import { readCard } from './read-card.ts';

const notCalled = () => assert.fail('chip data needs neither a token nor a decryption');

test('chip data contains the PAN sequence number and the date of the terminal', async () => {
  const card = await readCard(
    {
      clientTransactionId: 'c-1',
      amount: 1234,
      currency: 'EUR',
      entryMode: 'ContactChip',
      instrument: { emvData: chipData() },
    },
    { reveal: notCalled, decrypt: notCalled },
  );
  assert.equal(card.panSequenceNumber, '01');
  assert.equal(card.chipTransactionDate, '261121');
});
