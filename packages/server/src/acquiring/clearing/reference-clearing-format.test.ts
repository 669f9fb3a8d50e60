import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { numericOf } from '@switchyard/money';
import fc from 'fast-check';
import { type ClearingLine, referenceClearingFormat } from './reference-clearing-format.ts';

const fileId = '01890000-0000-7000-8000-000000000001';
const linkId = '01890000-0000-7000-8000-00000000000a';
const header = {
  fileId,
  linkId,
  institutionId: '100001',
  sequence: 7,
  previousSequence: 6,
  createdAt: new Date('2026-11-22T00:00:01.000Z'),
};

function lineOf(number: number, members: Partial<ClearingLine> = {}): ClearingLine {
  const reference = (mti: string) => ({
    mti,
    terminalId: 'T0000001',
    transmittedAt: '1122013000',
    stan: String(number).padStart(6, '0'),
    rrn: `6326010${String(number).padStart(5, '0')}`,
  });
  return {
    settlementDate: '2026-11-21',
    merchantNumber: 'M1',
    amount: 1000,
    currency: 'EUR',
    final: true,
    reference: reference('0220'),
    original: reference('0100'),
    authorizationCode: 'ABC123',
    maskedNumber: '411111******1111',
    ...members,
  };
}

async function written(...pages: ClearingLine[][]): Promise<string[]> {
  async function* source() {
    yield* pages;
  }
  let text = '';
  for await (const part of referenceClearingFormat.writeFile(header, source())) text += part;
  return text.split('\n');
}

describe('a clearing file', () => {
  it('has a header, a numbered line for each capture, and a trailer with counts and hash', async () => {
    const jpy = lineOf(3, { currency: 'JPY', amount: 50, final: false });
    const lines = await written([lineOf(1), lineOf(2)], [jpy]);
    assert.equal(
      lines[0],
      `H|SWITCHYARD-CLEARING|1|100001|${linkId}|000007|${fileId}|2026-11-22T00:00:01.000Z|6`,
    );
    assert.equal(
      lines[3],
      'C|3|2026-11-21|M1|50|392|P|0220|T0000001|000003|1122013000|632601000003|' +
        '0100|T0000001|000003|1122013000|632601000003|ABC123|411111******1111',
    );
    const body = lines.slice(0, 4).map((line) => `${line}\n`);
    const digest = createHash('sha256').update(body.join('')).digest('hex');
    const hash = 632601000001n + 632601000002n + 632601000003n;
    assert.equal(lines[4], `T|3|392:50,978:2000|${hash}|${digest}`);
    assert.deepEqual(lines.slice(5), ['']);
  });

  it('has exact sums in its trailer, beyond 2^53 too', async () => {
    const captures = fc.array(
      fc.record({
        amount: fc.maxSafeNat(),
        currency: fc.constantFrom('EUR', 'JPY', 'USD'),
      }),
      { minLength: 1, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(captures, async (members) => {
        const sums = new Map<string, bigint>();
        for (const { amount, currency } of members) {
          const code = numericOf(currency);
          sums.set(code, (sums.get(code) ?? 0n) + BigInt(amount));
        }
        const lines = await written(members.map((each, index) => lineOf(index + 1, each)));
        const expected = [...sums].map(([code, sum]) => `${code}:${sum}`).sort();
        assert.equal(lines.at(-2)?.split('|')[2], expected.join(','));
      }),
    );
  });

  it('contains no card number', async () => {
    const [, line] = await written([lineOf(1)]);
    assert.doesNotMatch(line ?? '', /\d{13,19}/);
  });

  it('has a name with institution and sequence number', () => {
    assert.equal(referenceClearingFormat.fileName(header), 'clearing-100001-000007.txt');
  });
});

describe('an acknowledgement', () => {
  const opening = `A|SWITCHYARD-CLEARING-ACK|1|000007|${fileId}`;
  const read = referenceClearingFormat.readAcknowledgement;

  it('lists the rejected lines', () => {
    const acknowledgement = read(`${opening}|Accepted\nR|2|632601000002|61\nT|1|1\n`);
    assert.deepEqual(acknowledgement, {
      fileId,
      sequence: 7,
      accepted: 1,
      rejections: [{ line: 2, rrn: '632601000002', code: '61' }],
    });
  });

  it('accepts CRLF line ends and a rejection of the whole file', () => {
    const acknowledgement = read(`${opening}|Rejected|HASH\r\nT|0|0\r\n`);
    assert.deepEqual(
      [
        acknowledgement.rejectionReason,
        acknowledgement.accepted,
        acknowledgement.rejections.length,
      ],
      ['HASH', 0, 0],
    );
  });

  for (const [what, text, line] of [
    ['nothing', '', 1],
    ['something else', 'hello\n', 1],
    ['no outcome', `${opening}|Maybe\nT|1|0\n`, 1],
    ['no trailer', `${opening}|Accepted\n`, 1],
    ['a line of another kind', `${opening}|Accepted\nX|1\nT|1|0\n`, 2],
    ['a reason that no database keeps', `${opening}|Rejected|\u0000\nT|0|0\n`, 1],
    ['a code with a bar', `${opening}|Accepted\nR|1|2|6|1\nT|1|1\n`, 2],
    ['a line twice', `${opening}|Accepted\nR|1|2|61\nR|1|2|61\nT|1|2\n`, 4],
    ['another count', `${opening}|Accepted\nR|1|2|61\nT|1|2\n`, 3],
  ] as const) {
    it(`with ${what} is rejected with its line number`, () => {
      const expected = {
        name: 'AcknowledgementFormatError',
        message: new RegExp(`^Line ${line}: `),
      };
      assert.throws(() => read(text), expected);
    });
  }
});

it('the example of the reference page is a complete file with its acknowledgement', () => {
  const page = new URL('../../../../../docs/reference/clearing-file.md', import.meta.url);
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```text\n([\s\S]*?)^```$/gm)];
  const [file = '', acknowledgement = ''] = blocks.map(([, text = '']) => text);
  const [head = '', capture = '', trailer = ''] = file.split('\n');
  const digest = createHash('sha256').update(`${head}\n${capture}\n`).digest('hex');
  const retrievalReference = capture.split('|')[11];
  assert.equal(trailer, `T|1|978:1250|${retrievalReference}|${digest}`);
  const { accepted, sequence } = referenceClearingFormat.readAcknowledgement(acknowledgement);
  assert.deepEqual([accepted, sequence], [1, 1]);
});
