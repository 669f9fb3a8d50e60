import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createLog, type Log } from './log.ts';
import { redactText } from './redaction.ts';

function capture(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const log = createLog(
    { logLevel: 'trace', instanceName: 'test' },
    { write: (line) => lines.push(line) },
  );
  return { log, lines };
}

function withLuhnDigit(body: string): string {
  let sum = 0;
  for (let index = 0; index < body.length; index += 1) {
    const digit = Number(body[body.length - 1 - index]);
    const doubled = digit * 2;
    sum += index % 2 === 1 ? digit : doubled > 9 ? doubled - 9 : doubled;
  }
  return body + String((10 - (sum % 10)) % 10);
}

const digit = fc.integer({ min: 0, max: 9 }).map(String);
const pan = fc
  .tuple(
    fc.constantFrom('2', '3', '4', '5', '6', '8', '9'),
    fc.array(digit, { minLength: 11, maxLength: 17 }),
  )
  .map(([first, rest]) => withLuhnDigit(first + rest.join('')));
/** Card numbers as people write them: without separators, or in groups with spaces or dashes. */
const writtenPan = fc
  .tuple(pan, fc.constantFrom('', ' ', '-'), fc.integer({ min: 3, max: 6 }))
  .map(([number, separator, size]) => ({
    number,
    written: (number.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(separator),
  }));
const secret = fc.stringMatching(/^[A-Za-z0-9_~]{12,40}$/).filter((text) => /[a-z]\d/.test(text));
const words = fc.constantFrom('', 'refused ', 'the value: ', 'x=', '{"a":', 'retry 3 of 5, ');

type Placement = (log: Log, text: string) => void;
const placements: Record<string, Placement> = {
  message: (log, text) => log.info(text),
  format: (log, text) => log.info('value %s seen', text),
  member: (log, text) => log.info({ deep: [{ er: { text } }] }, 'member'),
  memberName: (log, text) => log.info({ deep: { [text]: 1 } }, 'member name'),
  error: (log, text) => log.error({ err: new Error(text) }, 'failed'),
  cause: (log, text) => log.error({ err: new Error('outer', { cause: new Error(text) }) }),
  errorMember: (log, text) => log.error(Object.assign(new Error('x'), { detail: { text } })),
  stack: (log, text) => {
    const error = new Error('x');
    error.stack = `Error: x\n    at f (${text})\n    at g`;
    log.error({ error });
  },
  child: (log, text) => log.child({ bound: text }).warn('child'),
};
const placement = fc.constantFrom(...Object.keys(placements));

function position(where: string, text: string): string {
  const { log, lines } = capture();
  placements[where]?.(log, text);
  assert.equal(lines.length, 1);
  const line = lines[0] ?? '';
  assert.doesNotThrow(() => JSON.parse(line), line);
  return line;
}

describe('log', () => {
  // Spec: INV-10
  test('no card number is logged, in any position', () => {
    fc.assert(
      fc.property(placement, words, writtenPan, words, (where, before, card, after) => {
        const line = position(where, before + card.written + after);
        assert.ok(!line.replace(/[ -]/g, '').includes(card.number), line);
      }),
      { numRuns: 1500 },
    );
  });

  test('no secret is logged, in any position', () => {
    const forms = fc.constantFrom<(value: string) => string>(
      (value) => `Bearer ${value}`,
      (value) => `authorization: bearer ${value}`,
      (value) => `client_secret=${value}&grant_type=client_credentials`,
      (value) => `clientSecret: '${value}'`,
      (value) => `{"password":"${value}","user":"a"}`,
      (value) => `GET https://x/auth/realms/demo/links/${value.padEnd(43, 'x')} failed`,
      (value) => JSON.stringify(JSON.stringify({ cvv: value })),
      (value) => `track2 = "${value} ${value}"`,
      (value) => `pinblock: ${value}`,
      (value) => `pinBlock => ${value}`,
      (value) => `the secret is ${value}`,
      (value) => `Password: some ${value} words`,
      (value) => `postgresql://user:${value}@host/database`,
      (value) => `eyJhbGciOiJ.${value}.x`.replaceAll('~', '-'),
    );
    fc.assert(
      fc.property(placement, words, forms, secret, (where, before, form, value) => {
        const line = position(where, before + form(value));
        assert.ok(!line.includes(value), line);
      }),
      { numRuns: 1500 },
    );
  });

  test('members with the name of a secret lose their value, at any depth', () => {
    const { log, lines } = capture();
    const card = { securityCode: '737x9', track2: 'x1', pin_block: 'x2', 'client-secret': ['x3'] };
    log.info({ a: [{ card, password: 'x4', req: { headers: { authorization: 'x5' } } }] }, 'm');
    log.info({ recoveryCodes: ['x6'], totp: 'x7', recovery_code: 'x8' }, 'm');
    assert.doesNotMatch(lines.join(), /x\d/);
  });

  test('a card number written as a JSON number is removed, and the line stays valid JSON', () => {
    const { log, lines } = capture();
    log.info({ amount: 999_999_999_999, mistake: 4_111_111_111_111_111 }, 'numbers');
    const line = JSON.parse(lines[0] ?? '');
    assert.equal(line.amount, 999_999_999_999);
    assert.equal(line.mistake, '[redacted]');
  });

  test('track data is removed as a whole', () => {
    assert.doesNotMatch(redactText(';4000000000000010=25121010000012300000?'), /25121|4000/);
    assert.doesNotMatch(redactText('4000000000000010D2512101'), /25121/);
    assert.doesNotMatch(redactText('%B4000000000000010^DOE/JANE^2512101000?'), /DOE|2512/);
  });

  test('a card number directly followed by its security code is removed', () => {
    assert.doesNotMatch(redactText('seen 4111111111111111123 here'), /4111/);
    assert.doesNotMatch(redactText('411111111111111125121011'), /4111/);
  });

  test('harmless text stays unchanged', () => {
    const harmless = [
      '01987654-1234-7123-8123-123456789012',
      '2026-01-02T03:04:05.678Z',
      // A count followed by an identifier's digits looks like a card number.
      'sale-23-71424769-175b-4d02-b0eb-2478deb19fae',
      'amount 999999999999 of 100000000000',
      'mapping the password field',
      'terminal 12345678, trace 000123, reference 123456789012',
    ];
    for (const text of harmless) assert.equal(redactText(text), text);
    const { log, lines } = capture();
    log.info({ transactionId: harmless[0], list: [1, null, true] }, 'kept');
    const line = JSON.parse(lines[0] ?? '');
    assert.equal(line.transactionId, harmless[0]);
    assert.equal(line.level, 'info');
    assert.equal(line.instance, 'test');
    assert.match(line.time, /^\d{4}-\d\d-\d\dT.*Z$/);
  });

  test('redacted text stays unchanged', () => {
    for (const text of [
      'cvc = -)',
      'password=abc]',
      'cvc=1234 and more',
      '{"pin":"1234"}',
      'pin: 12',
      'cvc=>abc',
      'cvc=> abc',
      'cvc="1234',
    ]) {
      const once = redactText(text);
      assert.match(once, /redacted/, text);
      assert.equal(redactText(once), once);
    }
  });

  test('an endless text is truncated in limited time', () => {
    const { log, lines } = capture();
    log.info({ text: 'a1'.repeat(500_000) }, 'long');
    log.info(`secret${'_'.repeat(200_000)}`);
    for (const line of lines) assert.ok(line.length < 20_000, String(line.length));
  });
});
