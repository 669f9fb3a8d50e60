import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { builtInHosts, type Message, readHostTable } from '@switchyard/iso8583';
import { UsageError } from '../../usage-error.ts';
import {
  createResponseChanger,
  parseResponseChanges,
  type ResponseChanges,
  responseChangesOf,
} from './change-response.ts';

const response: Message = {
  mti: '0210',
  fields: { 3: '000000', 11: '000001', 39: '00', 41: 'TERM0001', 42: 'M1' },
};

const table = readHostTable({
  name: 'toy',
  base: 'iso1987-ascii',
  messages: { fields: { '42': { size: 'LL', max: 6 } } },
});

const changed = (changes: ResponseChanges, message = response) =>
  createResponseChanger(table, changes)(message).fields;

describe('changes of responses', () => {
  test('the option names omitted, shortened and filled fields, an own number and the account type', () => {
    assert.deepEqual(parseResponseChanges('omit=3+42,shorten=41,pad=42,assign=37,account-type'), {
      omit: [3, 42],
      shorten: [41],
      pad: [42],
      assignsRetrievalReference: true,
      fillsAccountType: true,
    });
    for (const text of ['', 'omit', 'omit=39', 'omit=41,42', 'assign=11', 'other=3'])
      assert.throws(() => parseResponseChanges(text), UsageError, text);
  });

  test('each change applies to responses of payments, and not to network messages', () => {
    assert.deepEqual(changed({}), response.fields);
    assert.deepEqual(changed({ omit: [3, 41] }), { 11: '000001', 39: '00', 42: 'M1' });
    assert.equal(changed({ shorten: [41] })[41], 'TERM    ');
    assert.equal(changed({ shorten: [42] })[42], 'M');
    assert.equal(changed({ pad: [42] })[42], 'M1    ');
    assert.equal(changed({ fillsAccountType: true })[3], '003000');
    const network = { mti: '0810', fields: { 11: '000001', 39: '00' } };
    assert.deepEqual(changed({ omit: [11] }, network), network.fields);
  });

  test('the changes follow from the table', () => {
    assert.deepEqual(responseChangesOf(builtInHosts['iso1987-binary']), {
      omit: [],
      assignsRetrievalReference: false,
      fillsAccountType: false,
    });
    const open = readHostTable({
      name: 'toy',
      base: 'iso1987-ascii',
      correlation: { echo: { '3': 'PrefixEqual', '37': 'Ignore', '42': 'Ignore' } },
      retrievalReference: { assignedBy: 'Host' },
    });
    assert.deepEqual(responseChangesOf(open), {
      omit: [42],
      assignsRetrievalReference: true,
      fillsAccountType: true,
    });
  });
});
