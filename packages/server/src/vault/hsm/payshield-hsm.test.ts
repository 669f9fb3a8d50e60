// Tests the payShield adapter with a server that checks each field and fails on demand.
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { retailMac, wrapKey } from '@switchyard/pin';
import {
  aesKsn,
  decryptPin,
  keyBytes,
  keyTableEntry,
  longTestPan,
  pinBlockUnderKey,
  refused,
  pinRequest as request,
  type TestKeyName,
  tdesKsn,
  terminalPinBlock,
  testPan,
  toHex,
} from '../../../test/support/hsm/hsm-test-keys.ts';
import {
  keyUnderLmk,
  type PayShieldStub,
  startPayShieldStub,
} from '../../../test/support/hsm/payshield-stub.ts';
import { createLog } from '../../platform/index.ts';
import type { HsmErrorCode, StartableHsm } from './hsm-types.ts';
import { createKeyTable, type KeyEntry, KeyTableError } from './key-table.ts';
import { createPayShieldConnections } from './payshield-connections.ts';
import { createPayShieldHsm } from './payshield-hsm.ts';

const names: TestKeyName[] = ['bdk-tdes', 'zmk', 'tpk', 'zpk', 'zpk-other', 'mac'];
const logged: string[] = [];
const log = createLog(
  { logLevel: 'debug', environment: 'test', instanceName: 'test' } as Parameters<
    typeof createLog
  >[0],
  { write: (line: string) => void logged.push(line) },
);

let stub: PayShieldStub;
let hsm: StartableHsm;
const open: StartableHsm[] = [];

type Options = { ports?: number[]; timeoutMs?: number; entries?: KeyEntry[] };

function create({ ports = [stub.port], timeoutMs = 20_000, entries }: Options = {}): StartableHsm {
  const addresses = ports.map((port) => ({ host: '127.0.0.1', port, tls: false }));
  const link = createPayShieldConnections({
    addresses,
    headerLength: 4,
    timeoutMs,
    connections: 2,
  });
  const listed = entries ?? names.map((name) => keyTableEntry(name, keyUnderLmk(name)));
  const table = createKeyTable(listed, 'the table of the tests');
  const made = createPayShieldHsm({ table, log, connections: link });
  open.push(made);
  return made;
}

before(async () => {
  stub = await startPayShieldStub();
  hsm = create();
  await hsm.start();
});
beforeEach(() => void stub.commands.splice(0));
after(async () => {
  for (const each of open) await each.close();
  await stub.close();
});

describe('the payShield', () => {
  // Spec: ACQ-12
  it('is sent these bytes for a PIN under DUKPT (G0)', async () => {
    const { pinBlock, outFormat } = await hsm.translatePin({ ...request, outFormat: 3 });
    assert.equal(outFormat, 3);
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO3'), '1234');
    const [frame = ''] = stub.commands;
    assert.match(frame.slice(0, 4), /^[0-9A-Z]{4}$/);
    const bytes = [
      'G0',
      keyUnderLmk('bdk-tdes'),
      keyUnderLmk('zpk'),
      'A05',
      tdesKsn,
      '1B9C1845EB993A7A',
      '01',
      '47',
      '401234567890',
    ];
    assert.equal(frame.slice(4), bytes.join(''));
  });

  it('is sent as much of the serial number as its descriptor counts', async () => {
    const bdk = { ...keyTableEntry('bdk-tdes', keyUnderLmk('bdk-tdes')), ksnDescriptor: '605' };
    const hsmWithDescriptor = create({ entries: [bdk, keyTableEntry('zpk', keyUnderLmk('zpk'))] });
    const { pinBlock } = await hsmWithDescriptor.translatePin(request);
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0'), '1234');
    assert.ok(stub.commands.at(-1)?.includes('6059876543210E000011B9C1845EB993A7A'));
    const shorter = { ...bdk, ksnDescriptor: '305' };
    const other = create({ entries: [shorter, keyTableEntry('zpk', keyUnderLmk('zpk'))] });
    await assert.rejects(other.translatePin(request), refused('KsnInvalid'));
  });

  it('is sent these bytes for a PIN under a shared key (CA, CC)', async () => {
    const cases = [
      ['CA', 'TerminalKey', 'tpk'],
      ['CC', 'ZoneKey', 'zpk-other'],
    ] as const;
    for (const [command, scheme, keyId] of cases) {
      const pinRequest = {
        scheme,
        keyId,
        inFormat: 0,
        pan: testPan,
        outKeyRef: 'zpk',
        outFormat: 3,
      } as const;
      const block = pinBlockUnderKey(keyId, 'ISO0', '4321');
      const { pinBlock } = await hsm.translatePin({ ...pinRequest, pinBlock: block });
      assert.equal(decryptPin(pinBlock, 'zpk', 'ISO3'), '4321');
      const bytes = [
        command,
        keyUnderLmk(keyId),
        keyUnderLmk('zpk'),
        '12',
        block,
        '01',
        '47',
        '401234567890',
      ];
      assert.equal(stub.commands.at(-1)?.slice(4), bytes.join(''));
    }
  });

  it('takes the twelve digits of a card number of 19, and format 1 without one', async () => {
    const pinBlock = terminalPinBlock('ISO0', tdesKsn, '1234', longTestPan);
    const long = await hsm.translatePin({ ...request, pinBlock, pan: longTestPan });
    assert.equal(decryptPin(long.pinBlock, 'zpk', 'ISO0', longTestPan), '1234');
    const format1 = terminalPinBlock('ISO1', tdesKsn);
    const one = await hsm.translatePin({ ...request, inFormat: 1, pinBlock: format1 });
    assert.equal(decryptPin(one.pinBlock, 'zpk', 'ISO0'), '1234');
  });

  it('is sent twelve digits of the shortest card number too', async () => {
    const shortPan = '676770000000';
    const pinBlock = terminalPinBlock('ISO0', tdesKsn, '1234', shortPan);
    const translated = await hsm.translatePin({ ...request, pinBlock, pan: shortPan });
    assert.equal(stub.commands.at(-1)?.slice(-12), '067677000000');
    assert.equal(decryptPin(translated.pinBlock, 'zpk', 'ISO0', shortPan), '1234');
  });

  it('is sent these bytes for a check value (BU), a MAC (M6) and an import (A6)', async () => {
    assert.deepEqual(await hsm.checkKey('zpk'), {
      checkValue: keyTableEntry('zpk', '').checkValue,
      usage: 'ZonePin',
      algorithm: 'Tdes',
    });
    assert.equal(stub.commands.at(-1)?.slice(4), `BUFF1${keyUnderLmk('zpk')};001;001`);
    const data = Buffer.from([0, 1, 2, 0xff, 0xfe, 0x19, 0x0d, 0x0a, 0x80]);
    const mac = await hsm.mac({ keyRef: 'mac', algorithm: 'Iso9797Alg3', data });
    assert.deepEqual(mac, retailMac(keyBytes('mac'), data));
    assert.equal(
      stub.commands.at(-1)?.slice(4),
      `M600131008${keyUnderLmk('mac')}0009${data.toString('latin1')}`,
    );
    const wrapped = toHex(wrapKey(keyBytes('zmk'), keyBytes('zpk-other'), 'Tdes'));
    const importRequest = {
      wrappingKeyRef: 'zmk',
      wrapped,
      usage: 'ZonePin',
      algorithm: 'Tdes',
    } as const;
    const { checkValue } = keyTableEntry('zpk-other', '');
    const imported = await hsm.importKey({
      ...importRequest,
      checkValue: `${checkValue}0123456789`.slice(0, 4),
    });
    assert.equal(stub.commands.at(-1)?.slice(4), `A6001${keyUnderLmk('zmk')}X${wrapped}U`);
    assert.deepEqual(imported, {
      keyRef: `payshield:ZonePin.${keyUnderLmk('zpk-other')}`,
      checkValue,
    });
    const { pinBlock } = await hsm.translatePin({ ...request, outKeyRef: imported.keyRef });
    assert.equal(decryptPin(pinBlock, 'zpk-other', 'ISO0'), '1234');
    const elsewhere = { keyRef: imported.keyRef, algorithm: 'Iso9797Alg3', data } as const;
    await assert.rejects(hsm.mac(elsewhere), refused('KeyUsage'));
    await assert.rejects(
      hsm.importKey({ ...importRequest, checkValue: '000000' }),
      refused('DataInvalid'),
    );
  });

  it('rejects unsupported requests and sends no command', async () => {
    const data = Buffer.alloc(8);
    const aes = { ...request, scheme: 'DukptAes', ksn: aesKsn, inFormat: 4 } as const;
    await assert.rejects(hsm.translatePin(aes), refused('Unsupported'));
    await assert.rejects(hsm.translatePin({ ...request, outFormat: 4 }), refused('Unsupported'));
    const device = { scheme: 'DukptTdes', keyId: 'bdk-tdes', ksn: tdesKsn, data: '00' } as const;
    await assert.rejects(hsm.decryptData(device), refused('Unsupported'));
    const cmac = { keyRef: 'mac', algorithm: 'AesCmac', data } as const;
    await assert.rejects(hsm.mac(cmac), refused('Unsupported'));
    await assert.rejects(
      hsm.translatePin({ ...request, outFormat: 1 as unknown as 0 }),
      refused('FormatNotAllowed'),
    );
    assert.deepEqual(stub.commands, []);
  });

  it('answers in codes, and each of them has its word', async () => {
    const cases: [string, HsmErrorCode][] = [
      ['10', 'KeyUsage'],
      ['11', 'KeyUsage'],
      ['12', 'KeyNotFound'],
      ['13', 'HsmUnavailable'],
      ['15', 'DataInvalid'],
      ['20', 'PinBlockInvalid'],
      ['21', 'KeyNotFound'],
      ['22', 'PanMismatch'],
      ['23', 'FormatNotAllowed'],
      ['24', 'PinBlockInvalid'],
      ['27', 'KeyUsage'],
      ['68', 'Unsupported'],
      ['41', 'HsmUnavailable'],
    ];
    for (const [error, code] of cases) {
      stub.failNext({ error });
      await assert.rejects(hsm.translatePin(request), refused(code));
    }
    const bad = hsm.translatePin({ ...request, pinBlock: '00'.repeat(8) });
    await assert.rejects(bad, refused('PinBlockInvalid'));
    for (const disturbance of ['garbage', 'other header'] as const) {
      stub.failNext(disturbance);
      await assert.rejects(hsm.translatePin(request), refused('HsmUnavailable'));
    }
    assert.ok(!logged.some((line) => line.includes(testPan) || line.includes(request.pinBlock)));
  });

  // Spec: ACQ-13
  it('compares check values at the start, and later where the module was away', async () => {
    stub.overrideCheckValue('zpk', '000000');
    await assert.rejects(create().start(), (error: unknown) => {
      assert.ok(error instanceof KeyTableError);
      assert.match(error.message, /the key zpk has another check value/);
      return true;
    });
    stub.overrideCheckValue('zpk', undefined);
    // The HSM refuses a base derivation key under the local master keys of zone keys.
    const misplaced = [keyTableEntry('bdk-tdes', keyUnderLmk('zpk'))];
    await assert.rejects(create({ entries: misplaced }).start(), /cannot be read from the HSM/);
    await assert.rejects(
      create({ entries: [keyTableEntry('zpk', 'arn:aws')] }).start(),
      /is no key/,
    );
    stub.failNext('close');
    const late = create({
      entries: [
        keyTableEntry('zpk', keyUnderLmk('zpk')),
        keyTableEntry('bdk-tdes', keyUnderLmk('bdk-tdes')),
      ],
    });
    stub.failNext('close');
    await late.start();
    assert.ok(logged.some((line) => line.includes('its keys are verified before their first use')));
    stub.overrideCheckValue('zpk', '111111');
    await assert.rejects(late.translatePin(request), refused('KeyNotFound'));
    stub.overrideCheckValue('zpk', undefined);
    await late.translatePin(request);
  });
});

describe('the connections to payShields', () => {
  it('are reused, and are replaced after the module closes them', async () => {
    const pooledHsm = create();
    await pooledHsm.start();
    const counted = stub.connections();
    for (let at = 0; at < 20; at += 1) await pooledHsm.translatePin(request);
    assert.equal(stub.connections(), counted);
    await Promise.all(Array.from({ length: 8 }, () => pooledHsm.translatePin(request)));
    stub.drop();
    await pooledHsm.translatePin(request);
    stub.failNext('close');
    await pooledHsm.translatePin(request);
    // The second reply to one command would reach the next command, so the link closes the
    // connection.
    stub.failNext('twice');
    await pooledHsm.translatePin(request).catch(() => {});
    assert.equal(
      decryptPin((await pooledHsm.translatePin(request)).pinBlock, 'zpk', 'ISO0'),
      '1234',
    );
  });

  it('are closed when a reply does not arrive in time', async () => {
    const hasty = create({ timeoutMs: 1500 });
    await hasty.translatePin(request);
    const counted = stub.connections();
    stub.failNext('hang');
    await assert.rejects(hasty.translatePin(request), refused('HsmUnavailable'));
    await hasty.translatePin(request);
    assert.equal(stub.connections(), counted + 1);
  });

  it('go round the modules, and past one that is away', async () => {
    const second = await startPayShieldStub();
    const twoModulesHsm = create({ ports: [stub.port, second.port] });
    await twoModulesHsm.start();
    assert.equal(await twoModulesHsm.health(), 'up');
    assert.ok(second.commands.length > 0);
    await second.close();
    stub.drop();
    for (let at = 0; at < 4; at += 1) {
      assert.equal(
        decryptPin((await twoModulesHsm.translatePin(request)).pinBlock, 'zpk', 'ISO0'),
        '1234',
      );
      stub.drop();
    }
    assert.equal(await twoModulesHsm.health(), 'degraded');
    const unreachableHsm = create({ ports: [second.port] });
    assert.equal(await unreachableHsm.health(), 'down');
    await assert.rejects(unreachableHsm.translatePin(request), refused('HsmUnavailable'));
  });

  it('are refused once it is closed', async () => {
    const closing = create();
    await closing.translatePin(request);
    await closing.close();
    await assert.rejects(closing.translatePin(request), refused('HsmUnavailable'));
  });
});
