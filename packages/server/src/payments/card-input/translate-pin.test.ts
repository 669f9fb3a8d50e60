// The PIN of a sale against a module and a counter that do as they are told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProcessRequest, Refusal } from '@switchyard/contract';
import { HsmError, type HsmErrorCode, type PinTranslationRequest } from '../../vault/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { PinCount } from './pin-ksn-sql.ts';
import { zonePinOf } from './translate-pin.ts';
import { checkPinData } from './validate-pin-block.ts';

const pan = `4${'1'.repeat(15)}`;
const tdes = { ksn: 'FFFF9876543210E00001', pinblock: '1B9C1845EB993A7A', pinblockFormat: 'ISO0' };
const aes = {
  ksn: '123456789012345600000001',
  pinblock: 'A912150391AB65A67E52883D81CE2D15',
  pinblockFormat: 'ISO4',
};

const requestOf = (members: Record<string, unknown>): ProcessRequest =>
  ({
    clientTransactionId: 'one',
    amount: 1,
    currency: 'EUR',
    entryMode: 'ContactChip',
    instrument: {},
    ...members,
  }) as ProcessRequest;

const of = {
  organizationId: 'org',
  merchantId: 'merchant',
  linkId: 'link',
  pan,
  mark: '0123456789abcdef0123',
};

type Given = {
  fault?: HsmErrorCode;
  zone?: object | undefined;
  isFresh?: boolean;
  isFirst?: boolean;
};

function platform({ fault, isFresh = true, isFirst = true, ...given }: Given = {}) {
  const asked: PinTranslationRequest[] = [];
  const counted: PinCount[] = [];
  const proven: PinCount[] = [];
  const warned: unknown[] = [];
  const zone = 'zone' in given ? given.zone : { keyRef: 'zpk', format: 0, keyIndex: '01' };
  const deps = {
    acquiring: { zonePinKey: () => zone },
    pinCounters: {
      async take(count: PinCount) {
        counted.push(count);
        return isFresh;
      },
      async prove(count: PinCount) {
        proven.push(count);
        return isFirst;
      },
    },
    hsm: {
      async translatePin(request: PinTranslationRequest) {
        asked.push(request);
        if (fault !== undefined) throw new HsmError(fault);
        return { pinBlock: '0011223344556677', outFormat: 0 };
      },
    },
    log: { warn: (facts: unknown) => warned.push(facts) },
  };
  return { deps: deps as unknown as PaymentsDeps, asked, counted, proven, warned };
}

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return error.code;
  }
  return 'accepted';
}

test('the block goes to the module with the card and the key of the link, its counter first', async () => {
  const { deps, asked, counted, proven } = platform();
  const pin = await zonePinOf(deps, requestOf(tdes), of);
  assert.deepEqual(pin, { block: '0011223344556677', format: 0, keyIndex: '01' });
  assert.deepEqual(asked, [
    {
      organizationId: 'org',
      scheme: 'DukptTdes',
      ksn: tdes.ksn,
      inFormat: 0,
      pinBlock: tdes.pinblock,
      pan,
      outKeyRef: 'zpk',
      outFormat: 0,
    },
  ]);
  assert.deepEqual(counted, [
    {
      organizationId: 'org',
      merchantId: 'merchant',
      device: 'FFFF9876543210E00000',
      counter: 1,
      usedBy: 'merchant|one|ISO0|0123456789abcdef',
    },
  ]);
  assert.deepEqual(proven, counted);
  await zonePinOf(deps, requestOf(aes), of);
  assert.equal(asked[1]?.inFormat, 4);
  assert.equal(counted[1]?.device, '1234567890123456');
  await zonePinOf(deps, requestOf({ ...tdes, ksn: tdes.ksn.slice(4) }), of);
  assert.equal(asked[2]?.ksn, tdes.ksn, 'some terminals leave the first digits away');
});

test('a sale without a PIN asks nobody', async () => {
  const { deps, asked, counted } = platform({ fault: 'HsmUnavailable' });
  assert.equal(await zonePinOf(deps, requestOf({}), of), undefined);
  assert.deepEqual([asked, counted], [[], []]);
});

test('each fault of the module has its answer, and those of a block have one', async () => {
  const expected: Readonly<Record<HsmErrorCode, string>> = {
    PinBlockInvalid: 'pin_block_invalid',
    PanMismatch: 'pin_block_invalid',
    KsnInvalid: 'pin_block_invalid',
    DataInvalid: 'pin_block_invalid',
    KeyNotFound: 'pin_not_supported',
    KeyUsage: 'pin_not_supported',
    FormatNotAllowed: 'pin_format_unsupported',
    Unsupported: 'pin_format_unsupported',
    HsmBusy: 'hsm_unavailable',
    HsmUnavailable: 'hsm_unavailable',
  };
  for (const [fault, code] of Object.entries(expected)) {
    const { deps, warned } = platform({ fault: fault as HsmErrorCode });
    assert.equal(await codeOf(() => zonePinOf(deps, requestOf(tdes), of)), code, fault);
    assert.equal(warned.length, code === 'pin_not_supported' ? 1 : 0, 'the operator hears of keys');
  }
});

test('what could not be read moves no device on, and of two that were read one goes on', async () => {
  const unread = platform({ fault: 'PinBlockInvalid' });
  await codeOf(() => zonePinOf(unread.deps, requestOf(tdes), of));
  assert.deepEqual(unread.proven, []);
  const { deps } = platform({ isFirst: false });
  assert.equal(await codeOf(() => zonePinOf(deps, requestOf(tdes), of)), 'ksn_reused');
});

test('without a key, a fresh counter or a serial number nobody is asked', async () => {
  const cases: [Given, Record<string, unknown>, string][] = [
    [{ zone: undefined }, tdes, 'pin_not_supported'],
    [{ isFresh: false }, tdes, 'ksn_reused'],
    [{}, { ...tdes, ksn: 'FFFF9876543210E00000' }, 'pin_block_invalid'],
    [{}, { ...tdes, ksn: 'FFFF9876543210EFFFFF' }, 'pin_block_invalid'],
  ];
  for (const [given, members, code] of cases) {
    const { deps, asked } = platform(given);
    assert.equal(await codeOf(() => zonePinOf(deps, requestOf(members), of)), code);
    assert.deepEqual(asked, []);
  }
});

test('the members come together and fit each other', async () => {
  const check = (members: Record<string, unknown>) =>
    codeOf(() => checkPinData(requestOf(members)));
  assert.equal(await check({}), 'accepted');
  assert.equal(await check(tdes), 'accepted');
  assert.equal(await check(aes), 'accepted');
  assert.equal(await check({ ...tdes, pinblockFormat: 'ISO3' }), 'accepted');
  for (const name of ['ksn', 'pinblock', 'pinblockFormat']) {
    assert.equal(await check({ ...tdes, [name]: undefined }), 'pin_data_incomplete', name);
  }
  assert.equal(await check({ ...tdes, entryMode: 'Keyed' }), 'entry_mode_invalid');
  assert.equal(await check({ ...tdes, pinblockFormat: 'ISO4' }), 'pin_format_unsupported');
  assert.equal(await check({ ...aes, pinblockFormat: 'ISO0' }), 'pin_format_unsupported');
  assert.equal(await check({ ...tdes, pinblock: aes.pinblock }), 'pin_format_unsupported');
});
