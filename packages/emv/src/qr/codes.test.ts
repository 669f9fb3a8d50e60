// Codes of EMVCo: the published samples, round trips and invalid codes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { EmvError } from '../errors.ts';
import { readConsumerCode } from './consumer-code.ts';
import { crc16 } from './crc16.ts';
import {
  type MerchantCode,
  readMerchantCode,
  readMerchantObjects,
  writeMerchantCode,
} from './merchant-code.ts';
import { walletOfCode } from './wallet-barcode.ts';

/** The sample of the specification, merchant-presented mode, with its check sum over UTF-8. */
const published =
  '00020101021229300012D156000000000510A93FO3230Q31280012D15600000001030812345678520441115802CN5914BEST TRANSPORT6007BEIJING64200002ZH0104最佳运输0202北京540523.7253031565502016233030412340603***0708A60086670902ME91320016A0112233449988770708123456786304A13A';
/** The sample of the specification, consumer-presented mode. */
const consumer =
  'hQVDUFYwMWETTwegAAAAVVVVUAhQcm9kdWN0MWETTwegAAAAZmZmUAhQcm9kdWN0MmJJWggSNFZ4kBI0WF8gDkNBUkRIT0xERVIvRU1WXy0IcnVlc2RlZW5kIZ8QBwYBCgMAAACfJghYT9OF+iNLzJ82AgABnzcEbVjvEw==';

/** The sample of a library in another language, two accounts of schemes in it. */
const elsewhere =
  '0002010102121313JCB12345678900416MASTER12345678905204531153033925407999.1235802JP5906DONGRI6005TOKYO62240104hoge0504fuga0704piyo6304C343';

const cafe: MerchantCode = {
  initiation: 'Dynamic',
  accounts: [{ id: '26', objects: [{ id: '00', value: 'org.example.pay' }] }],
  merchantCategoryCode: '5812',
  currency: '978',
  amount: '10.50',
  countryCode: 'DE',
  merchantName: 'Café Nord',
  merchantCity: 'Hamburg',
};

const codeOf = (fn: () => unknown): string => {
  try {
    fn();
  } catch (error) {
    if (error instanceof EmvError) return error.code;
    throw error;
  }
  return 'none';
};

/** The text with its check sum made right again, so that the fault behind it is what is found. */
function resealed(text: string): string {
  const head = text.slice(0, -4);
  return head + crc16(Buffer.from(head)).toString(16).toUpperCase().padStart(4, '0');
}

describe('merchant-presented codes', () => {
  it('sum up as published', () => {
    assert.equal(crc16(Buffer.from('123456789')), 0x29b1);
  });

  it('are read as the specification says of its sample', () => {
    const code = readMerchantCode(published);
    assert.equal(code.initiation, 'Dynamic');
    assert.deepEqual(code.accounts, [
      {
        id: '29',
        objects: [
          { id: '00', value: 'D15600000000' },
          { id: '05', value: 'A93FO3230Q' },
        ],
      },
      {
        id: '31',
        objects: [
          { id: '00', value: 'D15600000001' },
          { id: '03', value: '12345678' },
        ],
      },
    ]);
    assert.equal(code.merchantCategoryCode, '4111');
    assert.equal(code.currency, '156');
    assert.equal(code.amount, '23.72');
    assert.deepEqual(code.tip, { kind: 'Prompt' });
    assert.equal(code.countryCode, 'CN');
    assert.equal(code.merchantName, 'BEST TRANSPORT');
    assert.equal(code.merchantCity, 'BEIJING');
    assert.deepEqual(code.local, { language: 'ZH', name: '最佳运输', city: '北京' });
    assert.deepEqual(code.additional, {
      storeLabel: '1234',
      customerLabel: '***',
      terminalLabel: 'A6008667',
      consumerDataRequest: 'ME',
    });
    assert.deepEqual(
      code.unreserved?.map(({ id }) => id),
      ['91'],
    );
  });

  it('are read as a library in another language has written them', () => {
    assert.deepEqual(readMerchantCode(elsewhere), {
      initiation: 'Dynamic',
      accounts: [
        { id: '13', value: 'JCB1234567890' },
        { id: '04', value: 'MASTER1234567890' },
      ],
      merchantCategoryCode: '5311',
      currency: '392',
      amount: '999.123',
      countryCode: 'JP',
      merchantName: 'DONGRI',
      merchantCity: 'TOKYO',
      additional: { billNumber: 'hoge', referenceLabel: 'fuga', terminalLabel: 'piyo' },
    });
    assert.equal(writeMerchantCode(readMerchantCode(elsewhere)), elsewhere);
  });

  it('are written with a check sum that is read again', () => {
    const text = writeMerchantCode(cafe);
    assert.match(text, /^000201010212/);
    assert.match(text, /6304[0-9A-F]{4}$/);
    assert.deepEqual(readMerchantCode(text), cafe);
  });

  it('return the values that were written', () => {
    const word = (max: number) =>
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: max }).filter((text) => {
        const { length } = [...text];
        return length > 0 && length <= max && text.isWellFormed();
      });
    const some = fc.record(
      {
        initiation: fc.constantFrom('Static' as const, 'Dynamic' as const),
        amount: fc.constantFrom('1', '0.5', '1234567890.12'),
        tip: fc.constantFrom(
          { kind: 'Prompt' as const },
          { kind: 'Fixed' as const, amount: '2.00' },
          { kind: 'Percentage' as const, percentage: '12.5' },
        ),
        postalCode: word(10),
        additional: fc.record(
          { referenceLabel: word(20), billNumber: word(20) },
          { noNullPrototype: true },
        ),
        local: fc.record(
          { language: fc.constant('DE'), name: word(20) },
          { noNullPrototype: true },
        ),
        accounts: fc.constant(cafe.accounts),
        merchantCategoryCode: fc.constant('5812'),
        currency: fc.constant('978'),
        countryCode: fc.constant('DE'),
        merchantName: word(25),
        merchantCity: word(15),
      },
      {
        noNullPrototype: true,
        requiredKeys: [
          'accounts',
          'merchantCategoryCode',
          'currency',
          'countryCode',
          'merchantName',
          'merchantCity',
        ],
      },
    );
    fc.assert(
      fc.property(some, (code) => {
        assert.deepEqual(readMerchantCode(writeMerchantCode(code as MerchantCode)), code);
      }),
    );
  });

  it('are refused with an error code for each kind of fault', () => {
    const changed = (from: string, to: string) => resealed(published.replace(from, to));
    const faults: Record<string, string> = {
      code_format_unknown: changed('000201', '000202'),
      code_check_sum_wrong: `${published.slice(0, -1)}B`,
      code_truncated: changed('91320016', '91990016'),
      code_object_repeated: changed('5802CN', '5802CN5802CN'),
      code_object_missing: changed('5802CN', ''),
      code_object_invalid: changed('540523.72', '540523,72'),
      code_too_long: published.padEnd(513, '0'),
    };
    for (const [code, text] of Object.entries(faults)) {
      assert.equal(
        codeOf(() => readMerchantCode(text)),
        code,
      );
    }
  });

  it('are not written with invalid, missing or repeated objects', () => {
    const faults: [string, Partial<MerchantCode>][] = [
      ['code_object_invalid', { merchantName: 'A name that is far too long here' }],
      ['code_object_invalid', { amount: '10,50' }],
      ['code_object_invalid', { amount: '' }],
      ['code_object_invalid', { currency: 'EUR' }],
      ['code_object_missing', { accounts: [] }],
      ['code_object_invalid', { accounts: [{ id: '26', objects: [{ id: '01', value: 'x' }] }] }],
      ['code_object_repeated', { accounts: [...cafe.accounts, ...cafe.accounts] }],
    ];
    for (const [code, change] of faults) {
      assert.equal(
        codeOf(() => writeMerchantCode({ ...cafe, ...change })),
        code,
      );
    }
  });

  it('never fail but by their own codes', () => {
    const text = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.string({ maxLength: 60 }).map((tail) => resealed(`000201${tail}6304....`)),
      fc
        .tuple(fc.nat(published.length - 1), fc.string({ minLength: 1, maxLength: 2 }))
        .map(([at, put]) => resealed(published.slice(0, at) + put + published.slice(at + 1))),
    );
    fc.assert(
      fc.property(text, (scanned) => {
        codeOf(() => readMerchantObjects(scanned));
        codeOf(() => readConsumerCode(scanned));
      }),
      { numRuns: 2000 },
    );
  });
});

describe('consumer-presented codes', () => {
  it('are read as the specification says of its sample', () => {
    const code = readConsumerCode(consumer);
    assert.deepEqual(
      code.applications.map(({ aid, label }) => [aid, label]),
      [
        ['A0000000555555', 'Product1'],
        ['A0000000666666', 'Product2'],
      ],
    );
    // The cryptogram is in the template that is opaque to the network (tag 63).
    const all = code.common.flatMap((object) => [object, ...(object.children ?? [])]);
    const valueAt = (tag: string) => all.find((object) => object.tag === tag)?.value;
    assert.equal(valueAt('5A')?.toString('hex'), '1234567890123458');
    assert.equal(valueAt('9F26')?.toString('hex').toUpperCase(), '584FD385FA234BCC');
  });

  it('are refused if the format, the TLV length or a required object is wrong', () => {
    assert.equal(
      codeOf(() => readConsumerCode('134567890123456789')),
      'code_format_unknown',
    );
    assert.equal(
      codeOf(() => readConsumerCode(Buffer.from('8505435056303250', 'hex').toString('base64'))),
      'tlv_truncated',
    );
    assert.equal(
      codeOf(() => readConsumerCode(Buffer.from('85054350563031', 'hex').toString('base64'))),
      'code_object_missing',
    );
  });
});

describe('bar codes of wallets', () => {
  it('are assigned to a wallet by their first digits and their length', () => {
    for (const start of ['10', '15']) assert.equal(walletOfCode(start.padEnd(18, '7')), 'WeChat');
    for (const start of ['25', '30']) {
      assert.equal(walletOfCode(start.padEnd(16, '7')), 'Alipay');
      assert.equal(walletOfCode(start.padEnd(24, '7')), 'Alipay');
    }
    const others = ['16'.padEnd(18, '7'), '10'.padEnd(17, '7'), '31'.padEnd(18, '7')];
    for (const other of [...others, '25'.padEnd(25, '7'), '1345678901234567a9', '']) {
      assert.equal(walletOfCode(other), undefined, other);
    }
  });
});
