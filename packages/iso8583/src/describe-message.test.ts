// A described message shows nothing of the card.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeMessage, maskPan } from './index.ts';

describe('describeMessage', () => {
  it('masks the card number and hides the values of fields that can contain card data', () => {
    const line = describeMessage({
      mti: '0200',
      fields: {
        2: '5413330089010012',
        4: '000000001234',
        14: '2812',
        35: '5413330089010012=28122010000000000000',
        36: 'track three',
        45: 'B5413330089010012^TEST/CARD^2812',
        48: '9203123',
        52: '1B9C1845EB993A7A',
        55: '5A085413330089010012',
        60: undefined,
      },
    });
    assert.equal(
      line,
      '0200 2=541333******0012 4=000000001234 14=<4> 35=<37> 36=<11> 45=<32> 48=<7> 52=<16> 55=<20>',
    );
  });

  it('leaves nothing of a card number that is too short to be one', () => {
    assert.equal(maskPan('123456789012'), '************');
    assert.equal(maskPan('1234567890123'), '123456***0123');
    assert.equal(maskPan(''), '');
  });
});
