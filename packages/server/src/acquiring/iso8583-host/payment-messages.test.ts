import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  builtInHosts,
  compileHost,
  type HostTable,
  type Message,
  readHostTable,
} from '@switchyard/iso8583';
import fc from 'fast-check';
import type { AcquirerRequest } from '../spi/acquirer-spi.ts';
import {
  encodeSubelement,
  readSubelement,
  toAcquirerOutcome,
  toIso8583Message,
} from './payment-messages.ts';

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

const host = compileHost(builtInHosts['iso1987-binary'], { now: Date.now });

const outcomeOf = (sent: Message, response: Message) =>
  toAcquirerOutcome(sent, response, 'EUR', host);

const answered = (fields: Message['fields']): Message => ({
  mti: '0210',
  fields: { ...request.fields, 39: '00', ...fields },
});

const issuerData = (de55: string, code = '00') => {
  const outcome = outcomeOf(request, answered({ 39: code, 55: de55 }));
  assert.equal(outcome.outcome, code === '00' ? 'Approved' : 'Declined');
  return 'issuerData' in outcome ? outcome.issuerData : undefined;
};

test('issuer data contains no echoed card data', () => {
  const forChip = '910A11223344556677883030' + '8A023030' + '8906414243313233';
  const track2 = '57114111111111111111D30122010000000000';
  const pan = '5A084111111111111111';
  assert.equal(issuerData(track2 + forChip + pan), forChip);
  assert.equal(issuerData(`${pan}8A023035`, '05'), '8A023035');
});

test('missing or invalid EMV tags give no issuer data', () => {
  assert.equal(issuerData('5A084111111111111111'), undefined);
  assert.equal(issuerData('910A11'), undefined);
  assert.equal(issuerData('910A11', '05'), undefined);
});

test('issuer data that contains the card number is left out', () => {
  const withCard = { ...request, fields: { ...request.fields, 2: '4242424242424242' } };
  const outcome = outcomeOf(withCard, answered({ 55: '91084242424242424242' }));
  assert.equal(outcome.outcome, 'Approved');
  assert.equal('issuerData' in outcome, false);
});

test('a response must match MTI, RRN and terminal id of the request', () => {
  const withReference = { ...request, fields: { ...request.fields, 37: '632507000001' } };
  const outcome = (answer: Message) => outcomeOf(withReference, answer).outcome;
  const right = answered({ 37: '632507000001' });
  assert.equal(outcome(right), 'Approved');
  assert.equal(outcome({ ...right, mti: '0230' }), 'Unknown');
  assert.equal(outcome({ ...right, mti: '0110' }), 'Unknown');
  assert.equal(outcome(answered({ 37: '632507000002' })), 'Unknown');
  assert.equal(outcome(answered({ 41: 'TERM0002' })), 'Unknown');
});

test('a partial approval without an amount is not an approval', () => {
  const without = answered({ 39: '10', 4: undefined });
  assert.equal(outcomeOf(request, without).outcome, 'Unknown');
  const outcome = outcomeOf(request, answered({ 39: '10', 4: '000000000500' }));
  assert.equal(outcome.outcome === 'Approved' && outcome.amount, 500);
});

test('a partial approval code that a custom table does not map is still a partial approval', () => {
  const { messages, ...like } = builtInHosts['iso1993-ascii'];
  const lines = { financial: { '000': '00' } };
  const host = compileHost({ ...like, messages, responseCodes: lines }, { now: Date.now });
  const inClear = { ...builtInHosts['iso1987-ascii'], messages, version: '1' } as const;
  const wire = compileHost(inClear, { now: Date.now });
  const outcomeAt = (fields: Message['fields']) =>
    toAcquirerOutcome(request, host.decode(wire.encode(answered(fields))), 'EUR', host);
  for (const code of ['002', '006']) {
    assert.equal(outcomeAt({ 39: code, 4: undefined }).outcome, 'Unknown', code);
    const half = outcomeAt({ 39: code, 4: '000000000617' });
    assert.deepEqual(half, { outcome: 'Approved', responseCode: code, amount: 617 });
  }
  assert.equal(outcomeAt({ 39: '004', 4: '000000000617' }).outcome, 'Unknown');
});

test('the response to a partial reversal may echo the remaining amount, and no other amount', () => {
  const stays = '000000001000';
  const partial: Message = {
    mti: '0420',
    fields: { ...request.fields, 4: '000000000234', 95: stays.padEnd(42, '0') },
  };
  const answer = (fields: Message['fields']) => ({
    mti: '0430',
    fields: { ...partial.fields, 39: '00', ...fields },
  });
  const hostWith = (amountIs: 'Reversed' | 'Remaining') => {
    const { replacement, ...table } = host.table;
    return { ...host, table: { ...table, replacement: { ...replacement, amountIs } } };
  };
  const outcome = (fields: Message['fields'], amountIs: 'Reversed' | 'Remaining') => {
    const outcome = toAcquirerOutcome(partial, answer(fields), 'EUR', hostWith(amountIs));
    return outcome.outcome === 'Approved' ? outcome.amount : outcome.outcome;
  };
  const without = { 95: undefined };
  assert.equal(outcome({ ...without, 4: stays }, 'Remaining'), 234);
  assert.equal(outcome({ ...without, 4: undefined }, 'Remaining'), 234);
  assert.equal(outcome({}, 'Remaining'), 234);
  assert.equal(outcome({ ...without, 4: '000000000999' }, 'Remaining'), 'Unknown');
  assert.equal(outcome({ ...without, 4: '000000000100' }, 'Remaining'), 'Unknown');
  assert.equal(outcome({ 4: stays }, 'Remaining'), 'Unknown');
  assert.equal(outcome({ ...without, 4: stays }, 'Reversed'), 'Unknown');
});

const sale: AcquirerRequest = {
  kind: 'Sale',
  repeat: false,
  organizationId: 'o',
  transactionId: 't',
  linkId: 'l',
  reference: {
    mti: '0200',
    terminalId: 'TERM0001',
    stan: '000001',
    rrn: '632507000001',
    transmittedAt: '1121230000',
    localTime: '230000',
    localDate: '1121',
  },
  merchantNumber: 'M00000000000001',
  mcc: '5411',
  amount: 1234,
  currency: 'EUR',
  entryMode: 'Keyed',
  card: { pan: '4111111111111111', expiry: '3012' },
};

test('a telephone order sets DE22 and DE25, and sends address and CVV2 in DE48', () => {
  const { fields } = toIso8583Message(
    {
      ...sale,
      isRemoteOrder: true,
      addressCheck: { postalCode: 'SW1A2AA', houseNumber: '10' },
      sensitive: { securityCode: '737' },
    },
    '123456',
  );
  assert.equal(fields[22], '012');
  assert.equal(fields[25], '08');
  assert.equal(fields[48], '8211SW1A2AA  109203737');
  const plain = toIso8583Message(sale, '123456').fields;
  assert.deepEqual([plain[22], plain[25], plain[48]], ['011', '00', undefined]);
});

test('DE25 of a capture states whether more will follow, also for a remote order', () => {
  for (const isRemoteOrder of [false, true]) {
    for (const [final, code] of [
      [true, '00'],
      [false, '06'],
    ] as const) {
      const capture = { ...sale, kind: 'Capture', isRemoteOrder, final } as const;
      const { fields } = toIso8583Message(capture, '123456');
      assert.deepEqual([fields[22], fields[25]], [isRemoteOrder ? '012' : '011', code]);
    }
  }
});

test('the AVS result must be one letter', () => {
  const letter = (de48: string, code = '00') => {
    const outcome = outcomeOf(request, answered({ 39: code, 48: de48 }));
    return 'addressResult' in outcome ? outcome.addressResult : undefined;
  };
  assert.equal(letter('8301Y'), 'Y');
  assert.equal(letter('92031238301N', '05'), 'N');
  for (const de48 of ['8302YY', '8301y', '83011', '8301', 'Y', '830']) {
    assert.equal(letter(de48), undefined, de48);
  }
});

test('DE54 separates tip and cashback, and follow-up messages keep the cashback processing code', () => {
  const amounts = { tip: 100, cashback: 2000 };
  const { fields } = toIso8583Message({ ...sale, amount: 5000, amounts }, '123456');
  assert.equal(fields[3], '090000');
  assert.equal(fields[54], '0040978D0000000020000044978D000000000100');
  const reversal = toIso8583Message({ ...sale, kind: 'Reversal', amounts }, '123456').fields;
  assert.deepEqual([reversal[3], reversal[54]], ['090000', undefined]);
  const refund = toIso8583Message({ ...sale, kind: 'Refund', amounts }, '123456').fields;
  assert.equal(refund[3], '200000');
  const tipped = toIso8583Message({ ...sale, amounts: { tip: 100 } }, '123456').fields;
  assert.deepEqual([tipped[3], tipped[54]], ['000000', '0044978D000000000100']);
});

test('reads each of several subelements of DE48', () => {
  const field =
    encodeSubelement('82', 'SW1A2AA  10') +
    encodeSubelement('92', '737') +
    encodeSubelement('83', 'Y');
  assert.equal(field, '8211SW1A2AA  1092037378301Y');
  assert.equal(readSubelement(field, '92'), '737');
  assert.equal(readSubelement(field, '83'), 'Y');
  assert.equal(readSubelement(field, '84'), undefined);
  assert.equal(encodeSubelement('92', undefined), '');
});

test('a malformed DE48 contains no subelement, and no read passes its end', () => {
  for (const field of ['', '8', '83', '8301', '83XXY', '8399Y', '83-1Y', '83 1Y8301Y']) {
    assert.equal(readSubelement(field, '83'), undefined, field);
  }
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (field) => {
      const subelement = readSubelement(field, '83');
      const written = encodeSubelement('83', subelement);
      assert.ok(field.includes(written), field);
    }),
  );
});

describe('a host that assigns the retrieval reference number', () => {
  const rules = (inRequests: 'Always' | 'IfAssigned'): HostTable => ({
    ...host.table,
    retrievalReference: { ...host.table.retrievalReference, assignedBy: 'Host', inRequests },
  });
  const rrnOf = (members: Partial<AcquirerRequest>, inRequests: 'Always' | 'IfAssigned') =>
    toIso8583Message({ ...sale, ...members }, '123456', rules(inRequests)).fields[37];
  const secondReference = { ...sale.reference, stan: '000002', rrn: '632507000002' };
  const followUp = { kind: 'Refund', reference: secondReference } as const;

  test('its number is in captures, refunds and reversals', () => {
    const original = { ...sale.reference, rrn: 'H00000000001', rrnAssignedBy: 'Host' } as const;
    for (const inRequests of ['Always', 'IfAssigned'] as const)
      assert.equal(rrnOf({ ...followUp, original }, inRequests), 'H00000000001');
    const shortNumber = { ...original, rrn: '4711' };
    assert.equal(rrnOf({ ...followUp, original: shortNumber }, 'Always'), '4711        ');
  });

  test('a message about a sale without its number has the number of the sale, or none', () => {
    const reversal = {
      kind: 'Reversal',
      reference: secondReference,
      original: sale.reference,
    } as const;
    assert.equal(rrnOf({}, 'Always'), sale.reference.rrn);
    assert.equal(rrnOf(reversal, 'Always'), sale.reference.rrn);
    assert.equal(rrnOf({}, 'IfAssigned'), undefined);
    assert.equal(rrnOf(reversal, 'IfAssigned'), undefined);
  });

  test('numbers that were allocated before the table changed fit its fields', () => {
    const table = readHostTable({
      name: 'toy',
      base: 'iso1987-binary',
      messages: { fields: { '11': { max: 4 }, '37': { max: 6 } } },
      traceNumber: { digits: 4 },
      retrievalReference: { pattern: 'number:6' },
    });
    const earlier = { ...sale.reference, stan: '123456', rrn: '632507123456' };
    const request = { ...sale, kind: 'Refund', reference: earlier, original: earlier } as const;
    const { fields } = toIso8583Message(request, '123456', table);
    assert.deepEqual([fields[11], fields[37]], ['3456', '123456']);
    assert.equal(fields[90]?.slice(4, 10), '123456');
  });

  test('a response without a number assigns none', () => {
    const table = { ...rules('Always'), correlation: { fields: [11, 41], echo: {} } } as const;
    const compiled = compileHost(table, { now: Date.now });
    const assignedBy = (rrn: string | undefined) => {
      const outcome = toAcquirerOutcome(request, answered({ 37: rrn }), 'EUR', compiled);
      return 'retrievalReference' in outcome ? outcome.retrievalReference : undefined;
    };
    assert.equal(assignedBy('H00000000001'), 'H00000000001');
    assert.equal(assignedBy('4711        '), '4711');
    for (const rrn of [undefined, '            ', '000000000000'])
      assert.equal(assignedBy(rrn), undefined);
  });
});
