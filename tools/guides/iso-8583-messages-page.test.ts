// docs/reference/iso-8583-messages.md: its table of fields agrees with the messages that the server builds.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  networkMessage,
  networkResponse,
} from '../../packages/server/src/acquiring/iso8583-host/network-management-messages.ts';
import { toIso8583Message } from '../../packages/server/src/acquiring/iso8583-host/payment-messages.ts';
import { buildReference } from '../../packages/server/src/acquiring/numbering/message-reference.ts';
import type {
  AcquirerRequest,
  AcquirerRequestKind,
} from '../../packages/server/src/acquiring/spi/acquirer-spi.ts';
import { repositoryRoot } from '../repository-root.ts';
import { readTableRows } from './read-markdown-table.ts';

const page = readFileSync(join(repositoryRoot, 'docs/reference/iso-8583-messages.md'), 'utf8');

const reference = (kind: AcquirerRequestKind) =>
  buildReference(
    { kind, timeZone: 'UTC' },
    { terminalId: 'TERM0001', terminalNumber: 1, linkNumber: 1 },
    Date.UTC(2026, 10, 29),
  );

/** A request with only the members that its kind always has. */
function leastRequest(kind: AcquirerRequestKind): AcquirerRequest {
  return {
    kind,
    repeat: false,
    organizationId: 'organization',
    transactionId: 'transaction',
    linkId: 'link',
    reference: reference(kind),
    merchantNumber: 'M00000000000001',
    mcc: '5411',
    amount: 1000,
    currency: 'EUR',
    entryMode: 'ContactChip',
    card: { pan: '4111111111111111', expiry: '3012' },
  };
}

const chip = { chipData: '9F2608AABBCCDD11223344' };
const original = reference('Sale');
const saleMembers: Partial<AcquirerRequest> = {
  ...chip,
  amounts: { tip: 100, cashback: 100 },
  panSequence: '1',
  sensitive: {
    track2: '4111111111111111=3012',
    securityCode: '123',
    pin: { format: 0, block: '0123456789ABCDEF' },
  },
  addressCheck: { postalCode: '1010', houseNumber: '1' },
};
const approval = { authorizationCode: 'A1B2C3' };
const reversal = { original, reversalReason: 'Timeout' } as const;

type Column = {
  kinds: AcquirerRequestKind[];
  always?: Partial<AcquirerRequest>;
  sometimes: Partial<AcquirerRequest>;
};

/** The columns of the table: members that each message of the column has, and those that it can have. */
const columns: Column[] = [
  { kinds: ['Sale', 'Authorization'], sometimes: saleMembers },
  { kinds: ['Refund'], always: { original }, sometimes: approval },
  { kinds: ['Capture'], always: { original }, sometimes: { ...approval, final: true } },
  {
    kinds: ['OfflineSale'],
    always: approval,
    sometimes: { ...chip, panSequence: '1', amounts: { tip: 100 } },
  },
  { kinds: ['Reversal'], always: reversal, sometimes: { ...approval, ...chip } },
  {
    kinds: ['Reversal'],
    always: { ...reversal, remainingAmount: 500 },
    sometimes: { ...approval, ...chip },
  },
];

const macFields = '64, 128';

test('the table of fields agrees with the payment messages', () => {
  const rows = readTableRows(page, 'Fields of payments').filter(([field]) => field !== macFields);
  for (const [index, { kinds, always, sometimes }] of columns.entries()) {
    const documented = Object.fromEntries(
      rows.map((row) => [row[0], row[index + 2]]).filter(([, use]) => use !== '–'),
    );
    for (const kind of kinds) {
      const fieldsOf = (members: Partial<AcquirerRequest>) => {
        const { fields } = toIso8583Message({ ...leastRequest(kind), ...members }, '123456');
        return Object.keys(fields).filter((field) => fields[Number(field)] !== undefined);
      };
      const least = fieldsOf({ ...always });
      const sent = fieldsOf({ ...always, ...sometimes }).map((field) => [
        field,
        least.includes(field) ? 'M' : 'C',
      ]);
      assert.deepEqual(documented, Object.fromEntries(sent), `column ${index + 1}, ${kind}`);
    }
  }
});

test('the table of message types agrees with the payment messages', () => {
  const documented = readTableRows(page, 'Message types').map(([, first, repetition]) => [
    first,
    repetition,
  ]);
  const typesOf = (kind: AcquirerRequestKind, isRepeated: boolean) => {
    const typeOf = (repeat: boolean) =>
      toIso8583Message({ ...leastRequest(kind), repeat }, '1').mti;
    return [typeOf(false), isRepeated ? typeOf(true) : 'never'];
  };
  assert.deepEqual(documented.slice(0, 6), [
    typesOf('Authorization', false),
    typesOf('Sale', false),
    typesOf('Refund', true),
    typesOf('Capture', true),
    typesOf('OfflineSale', true),
    typesOf('Reversal', true),
  ]);
});

test('the table of network messages agrees with the requests and answers of the platform', () => {
  const rows = readTableRows(page, 'Fields of network messages').flatMap(
    ([fields = '', , ...uses]) => fields.split(', ').map((field) => [field, ...uses]),
  );
  const documented = (index: number) =>
    rows.filter((row) => row[index] !== '–').map(([field]) => field);
  const request = networkMessage('signOn', { stan: '000001', transmittedAt: '1129120000' });
  assert.deepEqual(documented(1), Object.keys(request.fields));
  const all = Object.fromEntries(Array.from({ length: 127 }, (_, at) => [at + 2, '1']));
  const answer = networkResponse({ mti: '0800', fields: all });
  assert.deepEqual(documented(2), Object.keys(answer?.fields ?? {}));
});

test('field 90 and field 48 have the documented digits', () => {
  const members = { original, sensitive: { securityCode: '123' } };
  const { fields } = toIso8583Message({ ...leastRequest('Sale'), ...members }, '123456');
  assert.equal(fields[90], `0200000001${original.transmittedAt}00000123456${'0'.repeat(11)}`);
  assert.equal(fields[48], '9203123');
  assert.ok(page.includes('the security code 123 has `9203123`'));
  assert.equal(original.rrn, '633300000001');
});
