// Tests the AWS adapter with a server that checks signatures and members, and fails on demand.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { defined } from '@switchyard/contract';
import {
  aesCmac,
  aesWorkingKey,
  buildPinBlock,
  encryptDukptData,
  readKsn,
  retailMac,
  sealPinBlock,
} from '@switchyard/pin';
import {
  type AwsStub,
  awsCredentials,
  awsRegion,
  startAwsStub,
  tr31KeyBlock,
} from '../../../test/support/hsm/aws-payment-cryptography-stub.ts';
import {
  aesKsn,
  decryptPin,
  encryptTerminalData,
  keyBytes,
  keyTableEntry,
  pinBlockUnderKey,
  refused,
  pinRequest as request,
  type TestKeyName,
  tdesKsn,
  terminalPinBlock,
  testPan,
  toHex,
} from '../../../test/support/hsm/hsm-test-keys.ts';
import { createAwsClient, createLog } from '../../platform/index.ts';
import { createAwsHsm } from './aws-payment-cryptography.ts';
import type { HsmErrorCode, StartableHsm } from './hsm-types.ts';
import { createKeyTable, type KeyEntry, KeyTableError } from './key-table.ts';

const names: TestKeyName[] = ['bdk-tdes', 'bdk-aes', 'zmk', 'zpk', 'zpk-aes', 'mac', 'mac-aes'];
const now = Date.parse('2026-11-22T10:20:30.456Z');
const logged: string[] = [];
const log = createLog(
  { logLevel: 'debug', environment: 'test', instanceName: 'test' } as Parameters<
    typeof createLog
  >[0],
  { write: (line: string) => void logged.push(line) },
);

let stub: AwsStub;
let hsm: StartableHsm;
const open: StartableHsm[] = [];

function create(
  options: { entries?: KeyEntry[]; format4Pan?: 'full' | 'twelve'; timeoutMs?: number } = {},
): StartableHsm {
  const { timeoutMs = 20_000, format4Pan = 'full' } = options;
  const entries = options.entries ?? names.map((name) => keyTableEntry(name, stub.arn(name)));
  const client = () =>
    createAwsClient({
      service: 'payment-cryptography',
      region: awsRegion,
      endpoint: stub.url,
      credentials: awsCredentials,
      clock: { now: () => now },
      timeoutMs,
      connections: 2,
    });
  const table = createKeyTable(entries, 'the table of the tests');
  const made = createAwsHsm({ table, log, data: client(), control: client(), format4Pan });
  open.push(made);
  return made;
}

before(async () => {
  stub = await startAwsStub();
  hsm = create();
  await hsm.start();
});
beforeEach(() => void stub.requests.splice(0));
after(async () => {
  for (const each of open) await each.close();
  await stub.close();
});

describe('the AWS HSM', () => {
  // Spec: ACQ-12
  it('sends these bytes for a PIN, signed, to the data plane', async () => {
    const { pinBlock, outFormat } = await hsm.translatePin({ ...request, outFormat: 3 });
    assert.equal(outFormat, 3);
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO3'), '1234');
    const [sentRequest, ...more] = stub.requests;
    assert.equal(more.length, 0);
    assert.equal(sentRequest?.path, '/pindata/translate');
    assert.equal(
      sentRequest?.text,
      `{"EncryptedPinBlock":"1B9C1845EB993A7A","IncomingKeyIdentifier":"${stub.arn('bdk-tdes')}","OutgoingKeyIdentifier":"${stub.arn('zpk')}","IncomingTranslationAttributes":{"IsoFormat0":{"PrimaryAccountNumber":"${testPan}"}},"OutgoingTranslationAttributes":{"IsoFormat3":{"PrimaryAccountNumber":"${testPan}"}},"IncomingDukptAttributes":{"KeySerialNumber":"${tdesKsn}","DukptKeyDerivationType":"TDES_2KEY"}}`,
    );
    assert.equal(sentRequest.headers['x-amz-date'], '20261122T102030Z');
    assert.equal(sentRequest.headers['x-amz-security-token'], awsCredentials.sessionToken);
    assert.match(
      sentRequest.headers.authorization ?? '',
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE00000\/20261122\/eu-central-1\/payment-cryptography\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, /,
    );
  });

  it('translates format 1, which has no card number, and blocks under a zone key', async () => {
    const pinBlock = terminalPinBlock('ISO1', tdesKsn);
    const one = await hsm.translatePin({ ...request, inFormat: 1, pinBlock });
    assert.equal(decryptPin(one.pinBlock, 'zpk', 'ISO0'), '1234');
    assert.ok(stub.requests[0]?.text.includes('"IncomingTranslationAttributes":{"IsoFormat1":{}}'));
    const zone = {
      scheme: 'ZoneKey',
      keyId: 'zpk',
      inFormat: 0,
      pan: testPan,
      outKeyRef: 'zpk',
    } as const;
    const pinRequest = {
      ...zone,
      pinBlock: pinBlockUnderKey('zpk', 'ISO0'),
      outFormat: 3,
    } as const;
    const other = await hsm.translatePin(pinRequest);
    assert.equal(decryptPin(other.pinBlock, 'zpk', 'ISO3'), '1234');
    assert.ok(stub.requests[1]?.text.includes('DukptAttributes') === false);
  });

  it('does format 4 only where PIN pads take twelve digits of the card number, as the service does', async () => {
    const pinBlock = terminalPinBlock('ISO4', aesKsn);
    const aes = { ...request, scheme: 'DukptAes', ksn: aesKsn, inFormat: 4, pinBlock } as const;
    await assert.rejects(hsm.translatePin({ ...aes, outKeyRef: 'zpk' }), refused('Unsupported'));
    assert.equal(stub.requests.length, 0);
    const legacy = create({ format4Pan: 'twelve' });
    // This PIN pad uses the full card number, so the service decrypts to another PIN field and
    // refuses it.
    await assert.rejects(legacy.translatePin(aes), refused('PinBlockInvalid'));
  });

  it('derives the key type that the key entry names, and AES-128 if the entry names no type', async () => {
    const base = {
      ...keyTableEntry('bdk-aes-long', stub.arn('bdk-aes-long')),
      devices: ['12345678'],
    };
    const cases = [
      [undefined, 'AES_128', 'aes128', 4],
      ['AES_192', 'AES_192', 'aes192', 4],
      ['AES_256', 'AES_256', 'aes256', 4],
      ['TDES_2KEY', 'TDES_2KEY', 'tdes2', 0],
      ['TDES_3KEY', 'TDES_3KEY', 'tdes3', 0],
    ] as const;
    for (const [derivation, expectedDerivation, algorithm, inFormat] of cases) {
      const opening = { ...base, ...defined({ derivation }) };
      const entries = [opening, keyTableEntry('zpk', stub.arn('zpk'))];
      const configuredHsm = create({ entries, format4Pan: 'twelve' });
      const key = aesWorkingKey(keyBytes('bdk-aes-long'), readKsn(aesKsn), 'pin', algorithm);
      const clear = buildPinBlock(`ISO${inFormat}`, [1, 2, 3, 4], testPan);
      const block = toHex(sealPinBlock(`ISO${inFormat}`, key, clear, testPan, 'TwelveDigits'));
      const pinRequest = {
        scheme: 'DukptAes',
        ksn: aesKsn,
        inFormat,
        pan: testPan,
        outKeyRef: 'zpk',
      } as const;
      const { pinBlock } = await configuredHsm.translatePin({
        ...pinRequest,
        pinBlock: block,
        outFormat: 0,
      });
      assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0'), '1234', expectedDerivation);
      assert.ok(
        stub.requests.at(-1)?.text.includes(`"DukptKeyDerivationType":"${expectedDerivation}"`),
      );
      const data = Buffer.alloc(48, 'track data ');
      const sealed = { baseKey: keyBytes('bdk-aes-long'), ksn: aesKsn, algorithm, data };
      const request = { scheme: 'DukptAes', ksn: aesKsn } as const;
      const opened = await configuredHsm.decryptData({
        ...request,
        data: toHex(encryptDukptData(sealed)),
      });
      assert.deepEqual(opened, data, expectedDerivation);
    }
  });

  it('starts with no key whose devices would derive a stronger one', async () => {
    const weak = {
      ...keyTableEntry('bdk-aes', stub.arn('bdk-aes')),
      derivation: 'AES_256',
    } as const;
    const configuredHsm = create({
      entries: [weak, keyTableEntry('zpk', stub.arn('zpk'))],
      format4Pan: 'twelve',
    });
    await assert.rejects(configuredHsm.start(), /a base key of AES_128 derives no AES_256/);
    const pinBlock = terminalPinBlock('ISO4', aesKsn);
    const pinRequest = {
      ...request,
      scheme: 'DukptAes',
      ksn: aesKsn,
      inFormat: 4,
      pinBlock,
    } as const;
    await assert.rejects(configuredHsm.translatePin(pinRequest), refused('KeyUsage'));
  });

  it('decrypts data of devices, with the ARN encoded in the path', async () => {
    const clear = Buffer.alloc(32, 'card data of a device');
    for (const [ksn, scheme, keyId] of [
      [tdesKsn, 'DukptTdes', 'bdk-tdes'],
      [aesKsn, 'DukptAes', 'bdk-aes'],
    ] as const) {
      const data = encryptTerminalData(ksn, clear);
      assert.deepEqual(await hsm.decryptData({ scheme, keyId, ksn, data }), clear);
      const path = stub.requests.at(-1)?.path;
      assert.equal(path, `/keys/${encodeURIComponent(stub.arn(keyId))}/decrypt`);
    }
  });

  it('makes both MACs, the retail MAC over whole blocks', async () => {
    const data = Buffer.from('a message of no whole blocks');
    const retail = await hsm.mac({ keyRef: 'mac', algorithm: 'Iso9797Alg3', data });
    assert.deepEqual(retail, retailMac(keyBytes('mac'), data));
    assert.equal(
      stub.requests[0]?.text,
      `{"KeyIdentifier":"${stub.arn('mac')}","MessageData":"${toHex(data)}00000000","GenerationAttributes":{"Algorithm":"ISO9797_ALGORITHM3"},"MacLength":8}`,
    );
    const cmac = await hsm.mac({ keyRef: 'mac-aes', algorithm: 'AesCmac', data });
    assert.deepEqual(cmac, aesCmac(keyBytes('mac-aes'), data));
  });

  it('imports key blocks, and nothing that is merely encrypted', async () => {
    const wrapped = toHex(Buffer.from(tr31KeyBlock('zpk-other')));
    const importRequest = {
      wrappingKeyRef: 'zmk',
      wrapped,
      usage: 'ZonePin',
      algorithm: 'Tdes',
    } as const;
    const imported = await hsm.importKey({
      ...importRequest,
      checkValue: keyTableEntry('zpk-other', '').checkValue,
    });
    assert.equal(imported.keyRef, stub.arn('zpk-other'));
    const { pinBlock } = await hsm.translatePin({ ...request, outKeyRef: imported.keyRef });
    assert.equal(decryptPin(pinBlock, 'zpk-other', 'ISO0'), '1234');
    // A process that did not import the key reads its facts once.
    const other = create();
    await other.translatePin({ ...request, outKeyRef: imported.keyRef });
    const asks = stub.requests.filter(
      ({ text }) => text === `{"KeyIdentifier":"${imported.keyRef}"}`,
    );
    assert.equal(asks.length, 1);
    await assert.rejects(
      hsm.importKey({ ...importRequest, checkValue: '000000' }),
      refused('DataInvalid'),
    );
    await assert.rejects(hsm.importKey({ ...importRequest, usage: 'Mac' }), refused('KeyUsage'));
    const unsupportedImport = hsm.importKey({ ...importRequest, wrapped: '00'.repeat(16) });
    await assert.rejects(unsupportedImport, refused('Unsupported'));
  });

  it('knows a key by its ARN as by its name, and by no more than its table says', async () => {
    const [one, other] = [
      '0d4f7a52-1111-4222-8333-944445555666',
      '0d4f7a52-9999-4222-8333-944445555666',
    ];
    const restrictedKey = { ...keyTableEntry('zpk', stub.arn('zpk')), organizations: [one] };
    const entries = [
      keyTableEntry('bdk-tdes', stub.arn('bdk-tdes')),
      restrictedKey,
      keyTableEntry('mac', stub.arn('mac')),
    ];
    const configuredHsm = create({ entries });
    for (const outKeyRef of ['zpk', stub.arn('zpk')]) {
      assert.equal(configuredHsm.mayUse(outKeyRef, 'ZonePin', one), true);
      assert.equal(configuredHsm.mayUse(outKeyRef, 'ZonePin', other), false);
      assert.equal(configuredHsm.mayUse(outKeyRef, 'Mac', one), false);
      await configuredHsm.translatePin({ ...request, outKeyRef, organizationId: one });
      const foreign = configuredHsm.translatePin({ ...request, outKeyRef, organizationId: other });
      await assert.rejects(foreign, refused('KeyNotFound'));
    }
    assert.equal(configuredHsm.mayUse(stub.arn('zpk-other'), 'ZonePin', one), false);
    assert.equal(configuredHsm.mayUse('never-made', 'ZonePin', one), false);
    const macUnder = (name: TestKeyName) =>
      configuredHsm.mac({
        keyRef: stub.arn(name),
        algorithm: 'Iso9797Alg3',
        data: Buffer.alloc(8),
      });
    await assert.rejects(macUnder('zpk'), refused('KeyUsage'));
    // A key that is named by ARN is also compared with the table before its first use.
    stub.overrideKey('mac', { KeyCheckValue: 'FFFFFF' });
    await assert.rejects(macUnder('mac'), refused('KeyNotFound'));
    stub.overrideKey('mac', {});
    await macUnder('mac');
  });

  // Spec: ACQ-13
  it('compares check values, usages and states at the start', async () => {
    const wrong = [
      [{ KeyCheckValue: '000000' }, /zpk has another check value/],
      [{ KeyState: 'DELETE_PENDING' }, /zpk cannot be read from the HSM/],
      [{ Enabled: false }, /zpk cannot be read from the HSM/],
      [
        { KeyAttributes: { KeyUsage: 'TR31_M3_ISO_9797_3_MAC_KEY', KeyAlgorithm: 'TDES_2KEY' } },
        /is for Mac/,
      ],
      [
        { KeyAttributes: { KeyUsage: 'TR31_P0_PIN_ENCRYPTION_KEY', KeyAlgorithm: 'AES_128' } },
        /is of Aes/,
      ],
    ] as const;
    for (const [expectedDerivation, message] of wrong) {
      stub.overrideKey('zpk', expectedDerivation);
      await assert.rejects(create().start(), (error: unknown) => {
        assert.ok(error instanceof KeyTableError);
        assert.match(error.message, message);
        return true;
      });
    }
    stub.overrideKey('zpk', {});
    await create().start();
  });

  it('starts while the service is away, and compares a key before it is first used', async () => {
    stub.failNext('reset', 2);
    const late = create({
      entries: [
        keyTableEntry('bdk-tdes', stub.arn('bdk-tdes')),
        keyTableEntry('zpk', stub.arn('zpk')),
      ],
    });
    await late.start();
    assert.ok(logged.some((line) => line.includes('its keys are verified before their first use')));
    stub.overrideKey('zpk', { KeyCheckValue: 'FFFFFF' });
    await assert.rejects(late.translatePin(request), refused('KeyNotFound'));
    assert.ok(!stub.requests.some(({ path }) => path === '/pindata/translate'));
    stub.overrideKey('zpk', {});
    await late.translatePin(request);
  });

  it('maps AWS errors to HSM error codes and does not log card numbers or PIN blocks', async () => {
    const cases: [Parameters<AwsStub['failNext']>[0], HsmErrorCode][] = [
      [
        { errorType: `ValidationException|${testPan} ${request.pinBlock}`, status: 400 },
        'PinBlockInvalid',
      ],
      [{ errorType: 'ThrottlingException', status: 429 }, 'HsmBusy'],
      [{ errorType: 'ResourceNotFoundException', status: 404 }, 'KeyNotFound'],
      [{ errorType: 'AccessDeniedException', status: 403 }, 'HsmUnavailable'],
      [{ errorType: 'InternalServerException', status: 500 }, 'HsmUnavailable'],
      ['garbage', 'HsmUnavailable'],
      ['reset', 'HsmUnavailable'],
    ];
    for (const [disturbance, code] of cases) {
      stub.failNext(disturbance);
      // A reset pooled connection is retried once; a new connection is not retried.
      const fresh = disturbance === 'reset' ? create() : hsm;
      if (disturbance === 'reset') {
        await assert.rejects(
          fresh.mac({ keyRef: 'mac', algorithm: 'Iso9797Alg3', data: Buffer.alloc(8) }),
          refused(code),
        );
      } else await assert.rejects(fresh.translatePin(request), refused(code));
    }
    const bad = hsm.translatePin({ ...request, pinBlock: '00'.repeat(8) });
    await assert.rejects(bad, refused('PinBlockInvalid'));
    assert.ok(!logged.some((line) => line.includes(testPan) || line.includes(request.pinBlock)));
  });

  it('retries a request once if the reused connection was closed', async () => {
    await hsm.translatePin(request);
    stub.failNext('reset');
    const { pinBlock } = await hsm.translatePin(request);
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0'), '1234');
    assert.equal(stub.requests.length, 3);
  });

  it('rejects a request with HsmUnavailable after its timeout', async () => {
    const hasty = create({ timeoutMs: 3_000 });
    stub.failNext('hang');
    const data = Buffer.alloc(8);
    const macRequest = hasty.mac({ keyRef: 'mac', algorithm: 'Iso9797Alg3', data });
    await assert.rejects(macRequest, refused('HsmUnavailable'));
    assert.equal(stub.requests.length, 1);
    assert.equal(await hsm.health(), 'up');
    stub.failNext({ errorType: 'AccessDeniedException', status: 403 });
    assert.equal(await hsm.health(), 'down');
  });
});
