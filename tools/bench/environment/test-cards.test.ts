import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkChipData, isValidPan, parseChipData } from '@switchyard/emv';
import { createRandom } from '../sales/request-schedule.ts';
import { chipData, makeCards } from './test-cards.ts';

describe('cards of the load generator', () => {
  const cards = makeCards(3000, createRandom(5));

  test('the cards are valid, different, and equal for the same seed', () => {
    assert.equal(new Set(cards.map(({ number }) => number)).size, 3000);
    for (const { number } of cards) assert.ok(isValidPan(number), number);
    assert.deepEqual(makeCards(3000, createRandom(5)), cards);
  });

  test('the chip data can be parsed by the platform and matches the sale', () => {
    for (const card of cards.slice(0, 50)) {
      const hex = chipData(card, {
        amount: 1234,
        currency: '978',
        unpredictable: '0BADCAFE',
        counter: 77,
      });
      const chip = parseChipData(hex);
      assert.equal(chip.pan, card.number);
      assert.deepEqual(checkChipData(chip, { amount: 1234, currencyNumeric: '978' }), []);
    }
  });
});
