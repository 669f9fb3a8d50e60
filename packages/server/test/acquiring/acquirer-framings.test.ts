// Whole run: each host has a ledger to compare.
// A sale and its refund in each kind of frame.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import {
  act,
  createOrganizationOnHost,
  ownTable,
  sell,
} from '../support/acquirers/organization-on-host.ts';

const textOnly = { messages: { fields: { '55': { encoding: 'hex' } } } };

const framings: Readonly<Record<string, { framing: object; members?: object }>> = {
  'cmf-frames': { framing: { length: 'binary3' } },
  'little-endian-frames': { framing: { length: 'binary4le' } },
  'gicc-frames': { framing: { length: 'binary2', beforeLength: '0000', emptyFrames: 'Answered' } },
  'base24-frames': {
    framing: {
      length: 'binary2',
      end: 'ETX',
      header: 'ISO026000050',
      answerHeader: 'ISO026000055',
    },
  },
  'long-tpdu-frames': {
    framing: { length: 'bcd2', tpduBytes: 9, tpdu: '600000000100000002', inclusive: true },
  },
  'routing-frames': {
    framing: {
      length: 'ebcdic5',
      header: '{length:5}{destination:BANK01}{source:SWITCH}',
      headerCharacters: 'ebcdic',
    },
  },
  'stx-etx-frames': {
    framing: { length: 'none', start: 'STX', end: 'ETX', lrc: true },
    members: textOnly,
  },
};

describe('framings', { concurrency: 4 }, () => {
  for (const [name, { framing, members }] of Object.entries(framings))
    test(`${name}: a sale, a refund and a reversal agree with the host`, async (t) => {
      const table = await ownTable(name, 'iso1987-ascii', { framing, ...members });
      const setup = await createOrganizationOnHost(t, table);
      const { body, text } = await sell(setup, { amount: 5000 });
      assert.equal(body.state, 'Captured', text);
      await act(setup, body.transactionId, 'refund', { amount: 1200 });
      const unanswered = await sell(setup, { amount: 9091 });
      assert.equal(unanswered.body.state, 'Reversing', unanswered.text);
      await assertAgreement(setup);
      const [totals] = setup.host.ledger().totals;
      assert.deepEqual([totals?.captured, totals?.refunded], [5000, 1200]);
    });
});
