import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  actionCodes,
  declineRetryAdvices,
  noAnswer,
  responseCategories,
  responseCodeFacts,
  responseCodes,
} from './response-codes.ts';

const approving = ['00', '08', '10', '11'];

test('exactly these codes approve', () => {
  const approvedCodes = Object.keys(responseCodes).filter((code) => responseCodes[code]?.approved);
  assert.deepEqual(approvedCodes.toSorted(), approving);
  assert.equal(responseCodeFacts('10').category, 'PartiallyApproved');
});

test('a code that is not in the table is never an approval', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 4 }), (code) => {
      const { approved, known, reason, category } = responseCodeFacts(code);
      if (approved) assert.ok(approving.includes(code) || /^(?:0\d\d|901)$/.test(code), code);
      if (!known) assert.deepEqual([reason, category], ['GenericDecline', 'Unknown']);
    }),
  );
  for (const code of [
    'toString',
    '__proto__',
    '',
    '0',
    '99',
    '16',
    '77',
    '87',
    '0x9',
    '0099',
    '400',
    '800',
    '900',
  ]) {
    assert.equal(responseCodeFacts(code).approved, false, code);
    assert.equal(responseCodeFacts(code).known, false, code);
  }
});

// Spec: CARD-56
test('action codes of 1993 that begin with 0 approve, two of them a part', () => {
  for (let code = 0; code < 1000; code += 1) {
    const { approved, category } = responseCodeFacts(String(code).padStart(3, '0'));
    const expected = code === 2 || code === 6 ? 'PartiallyApproved' : 'Approved';
    if (code < 100) assert.equal(category, expected, String(code));
    else assert.equal(approved, code === 901, String(code));
  }
});

test('2xx are 1xx with pick-up: as final, and never an approval', () => {
  for (const code of [
    '200',
    '201',
    '202',
    '203',
    '204',
    '205',
    '206',
    '207',
    '208',
    '209',
    '210',
  ]) {
    const { category, retry, known } = responseCodeFacts(code);
    assert.deepEqual([category, retry, known], ['HardDecline', 'OtherCard', true], code);
  }
});

test('each action code has the meaning of its 1987 code', () => {
  const actions = Object.entries(actionCodes);
  assert.ok(actions.length >= 70, `${actions.length} codes`);
  for (const [code, equivalent] of actions) {
    assert.ok(responseCodeFacts(code).known, code);
    assert.deepEqual(responseCodeFacts(code), responseCodeFacts(equivalent), code);
  }
});

test('codes for host malfunction and cutover are retryable technical failures', () => {
  for (const code of ['09', '68', '90', '91', '92', '96', '906', '916', '923']) {
    const { category, retry } = responseCodeFacts(code);
    assert.deepEqual([category, retry], ['TechnicalFailure', 'Later'], code);
  }
});

test('every decline has a reason, and an advice from the list', () => {
  for (const [code, facts] of Object.entries(responseCodes)) {
    assert.match(code, /^[0-9A-Z]{2}$/);
    assert.ok(responseCategories.includes(facts.category), code);
    assert.match(facts.reason, /^[A-Z][A-Za-z]+$/, code);
    assert.equal(facts.retry === undefined, facts.approved, code);
    if (facts.retry !== undefined) assert.ok(declineRetryAdvices.includes(facts.retry), code);
  }
});

test('the decline codes of the schemes are known and are not approvals', () => {
  const codes = [
    '5C',
    '6P',
    '71',
    '74',
    '78',
    '84',
    '88',
    '89',
    '9G',
    'N0',
    'N3',
    'N4',
    'N5',
    'N8',
  ];
  for (const code of [...codes, 'Q1', 'Z3']) {
    const { approved, known } = responseCodeFacts(code);
    assert.deepEqual([approved, known], [false, true], code);
  }
});

test('a permanent decline is final, and a temporary host error is not', () => {
  const { category, retry } = responseCodeFacts('905');
  assert.deepEqual([category, retry], ['HardDecline', 'Never']);
  const fault = responseCodeFacts('915');
  assert.deepEqual([fault.category, fault.retry], ['TechnicalFailure', 'Later']);
});

test('response codes have the meaning that the reference table gives', () => {
  const reasons = {
    '05': 'DoNotHonor',
    '14': 'InvalidCardNumber',
    '26': 'DuplicateTransaction',
    '41': 'LostCard',
    '43': 'StolenCard',
    '51': 'InsufficientFunds',
    '54': 'ExpiredCard',
    '55': 'InvalidPin',
    '57': 'NotPermittedToCardholder',
    '91': 'IssuerUnavailable',
    '96': 'SystemMalfunction',
    N7: 'CvvFailed',
    R1: 'Revoked',
    '116': 'InsufficientFunds',
    '108': 'ReferToIssuer',
    '112': 'PinOrChipRequired',
    '124': 'NotPermittedToCardholder',
    '203': 'ReferToIssuer',
    '205': 'SuspectedFraud',
    '207': 'PickUpCard',
    '210': 'SuspectedFraud',
    '911': 'Timeout',
  };
  for (const [code, reason] of Object.entries(reasons)) {
    assert.equal(responseCodeFacts(code).reason, reason, code);
    assert.equal(responseCodeFacts(code).approved, false, code);
  }
  assert.equal(responseCodeFacts('55').retry, 'WithPin');
  assert.equal(responseCodeFacts('51').retry, 'Later');
  assert.equal(noAnswer.approved, false);
});

test('two codes depend on the sale', () => {
  const { reason, retry } = responseCodeFacts('65');
  assert.deepEqual([reason, retry], ['ExceedsCountLimit', 'OtherCard']);
  const tapped = responseCodeFacts('65', { contactless: true });
  assert.deepEqual([tapped.reason, tapped.retry], ['PinOrChipRequired', 'OtherInterface']);
  assert.equal(responseCodeFacts('85').approved, false);
  assert.equal(responseCodeFacts('85', { zeroAmount: true }).approved, true);
});

test('the guide lists every reason of the host with its response codes', () => {
  const guide = new URL('../../../docs/reference/refusal-reasons.md', import.meta.url);
  const [, section = ''] = readFileSync(guide, 'utf8').split('## Reasons of the host\n');
  const [own = ''] = section.split('\n## ');
  const [, ...rows] = [...own.matchAll(/^\| `(\w+)` \| (.+) \|$/gm)].map(([, ...row]) => row);
  const declines = Object.entries(responseCodes).filter(([, { approved }]) => !approved);
  const pairs = declines.map(([code, { reason }]) => `${reason} ${code}`);
  assert.deepEqual(
    rows.flatMap(([reason, codes = '']) => codes.split(', ').map((code) => `${reason} ${code}`)),
    [...pairs, `${noAnswer.reason} no response`].toSorted(),
  );
});
