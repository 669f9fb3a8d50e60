// PIN translation with a mock HSM and a mock KSN store.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError, type ProcessRequest } from '@switchyard/contract';
import { HsmError, type HsmErrorCode, type PinTranslationRequest } from '../../vault/index.ts';
import { validatePinMembers } from '../validation/validate-sale-request.ts';
import type { PinKsnUse } from './ksn-sql.ts';
import { type TranslatePinPorts, translatePin } from './translate-pin.ts';

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

const sale = {
  organizationId: 'org',
  merchantId: 'merchant',
  linkId: 'link',
  pan,
  cardFingerprint: '0123456789abcdef0123',
};

type PlatformOptions = {
  fault?: HsmErrorCode;
  zone?: object | undefined;
  isFresh?: boolean;
  isFirst?: boolean;
};

function platform({ fault, isFresh = true, isFirst = true, ...given }: PlatformOptions = {}) {
  const hsmRequests: PinTranslationRequest[] = [];
  const takenUses: PinKsnUse[] = [];
  const confirmedUses: PinKsnUse[] = [];
  const warned: unknown[] = [];
  const zone = 'zone' in given ? given.zone : { keyRef: 'zpk', format: 0, keyIndex: '01' };
  const deps = {
    acquiring: { getZonePinKey: () => zone },
    pinKsnStore: {
      async take(ksnUse: PinKsnUse) {
        takenUses.push(ksnUse);
        return isFresh;
      },
      async confirmUse(ksnUse: PinKsnUse) {
        confirmedUses.push(ksnUse);
        return isFirst;
      },
    },
    hsm: {
      async translatePin(request: PinTranslationRequest) {
        hsmRequests.push(request);
        if (fault !== undefined) throw new HsmError(fault);
        return { pinBlock: '0011223344556677', outFormat: 0 };
      },
    },
    log: { warn: (entry: unknown) => warned.push(entry) },
  };
  return {
    deps: deps as unknown as TranslatePinPorts,
    hsmRequests,
    takenUses,
    confirmedUses,
    warned,
  };
}

async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    return error.code;
  }
  return 'accepted';
}

test('the platform records the KSN as used, and the HSM translates the PIN block', async () => {
  const { deps, hsmRequests, takenUses, confirmedUses } = platform();
  const pin = await translatePin(deps, requestOf(tdes), sale);
  assert.deepEqual(pin, { block: '0011223344556677', format: 0, keyIndex: '01' });
  assert.deepEqual(hsmRequests, [
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
  assert.deepEqual(takenUses, [
    {
      organizationId: 'org',
      merchantId: 'merchant',
      ksnDevicePart: 'FFFF9876543210E00000',
      counter: 1,
      usedBy: 'merchant|one|ISO0|0123456789abcdef',
    },
  ]);
  assert.deepEqual(confirmedUses, takenUses);
  await translatePin(deps, requestOf(aes), sale);
  assert.equal(hsmRequests[1]?.inFormat, 4);
  assert.equal(takenUses[1]?.ksnDevicePart, '1234567890123456');
  await translatePin(deps, requestOf({ ...tdes, ksn: tdes.ksn.slice(4) }), sale);
  assert.equal(hsmRequests[2]?.ksn, tdes.ksn, 'some terminals omit the leading digits');
});

test('a sale without a PIN does not call the HSM', async () => {
  const { deps, hsmRequests, takenUses } = platform({ fault: 'HsmUnavailable' });
  assert.equal(await translatePin(deps, requestOf({}), sale), undefined);
  assert.deepEqual([hsmRequests, takenUses], [[], []]);
});

test('each HSM error maps to an error code, and all PIN block errors to one', async () => {
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
    assert.equal(await codeOf(() => translatePin(deps, requestOf(tdes), sale)), code, fault);
    assert.equal(
      warned.length,
      code === 'pin_not_supported' ? 1 : 0,
      'a key error is logged as a warning',
    );
  }
});

test('a failed translation does not advance the KSN, and one of two concurrent uses succeeds', async () => {
  const unread = platform({ fault: 'PinBlockInvalid' });
  await codeOf(() => translatePin(unread.deps, requestOf(tdes), sale));
  assert.deepEqual(unread.confirmedUses, []);
  const { deps } = platform({ isFirst: false });
  assert.equal(await codeOf(() => translatePin(deps, requestOf(tdes), sale)), 'ksn_reused');
});

test('without a PIN key, a new counter or a valid KSN the HSM is not called', async () => {
  const cases: [PlatformOptions, Record<string, unknown>, string][] = [
    [{ zone: undefined }, tdes, 'pin_not_supported'],
    [{ isFresh: false }, tdes, 'ksn_reused'],
    [{}, { ...tdes, ksn: 'FFFF9876543210E00000' }, 'pin_block_invalid'],
    [{}, { ...tdes, ksn: 'FFFF9876543210EFFFFF' }, 'pin_block_invalid'],
  ];
  for (const [given, members, code] of cases) {
    const { deps, hsmRequests } = platform(given);
    assert.equal(await codeOf(() => translatePin(deps, requestOf(members), sale)), code);
    assert.deepEqual(hsmRequests, []);
  }
});

test('the PIN members must be complete and consistent', async () => {
  const check = (members: Record<string, unknown>) =>
    codeOf(() => validatePinMembers(requestOf(members)));
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
