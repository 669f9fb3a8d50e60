// Link configuration checks report certain errors only, and disclose nothing about keys of other organisations.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { builtInHosts, compileHost } from '@switchyard/iso8583';
import { createLog } from '../../platform/index.ts';
import { HsmError, type HsmErrorCode, type KeyFacts } from '../../vault/index.ts';
import type { LoadedHost } from '../iso8583-host/load-dialect-tables.ts';
import type { ClientCertificates } from '../keys/load-client-certificates.ts';
import { type AcquirerLink, InvalidLinkSettingError } from '../spi/acquirer-spi.ts';
import {
  type CheckedLink,
  checkLinkConfiguration,
  createConfigurationChecker,
  dependenciesOf,
  type LinkDependencies,
} from './check-link-keys-and-certificate.ts';

const now = 1_000_000;
const clock = { now: () => now };
const keys: Record<string, Omit<KeyFacts, 'checkValue'>> = {
  zpk: { usage: 'ZonePin', algorithm: 'Tdes' },
  'zpk-aes': { usage: 'ZonePin', algorithm: 'Aes' },
  mac: { usage: 'Mac', algorithm: 'Tdes' },
  zmk: { usage: 'KeyEncryption', algorithm: 'Aes' },
  others: { usage: 'ZonePin', algorithm: 'Tdes' },
};

/** `fault` is the error of every HSM call. */
function module(fault?: HsmErrorCode) {
  const keyReferences: string[] = [];
  return {
    asked: keyReferences,
    mayUse: (ref: string, usage: string) =>
      ref !== 'others' && (keys[ref] === undefined || keys[ref].usage === usage),
    async checkKey(ref: string): Promise<KeyFacts> {
      keyReferences.push(ref);
      if (fault !== undefined) throw new HsmError(fault);
      const key = keys[ref];
      if (key === undefined) throw new HsmError('KeyNotFound');
      return { ...key, checkValue: '000000' };
    },
  };
}

const certificates: ClientCertificates = {
  find(_organizationId, name) {
    if (name === 'none') throw new InvalidLinkSettingError('/clientCertificate', 'is not there');
    const expiresAt = name === 'old' ? now - 1 : now + 1;
    return { tlsIdentity: { cert: '', key: '' }, expiresAt, version: name };
  },
};

const mac = { algorithm: 'AesCmac', place: 'Last', over: 'BeforeField', messages: 'All' } as const;
const coded = { ...builtInHosts['iso1987-binary'], name: 'coded', mac };
const hosts = {
  find: (name: string): LoadedHost | undefined =>
    name === 'coded' ? { host: compileHost(coded, clock), version: '1' } : undefined,
};

const check = (names: LinkDependencies, hsm = module()) =>
  checkLinkConfiguration(
    { hsm, clientCertificates: certificates, hostTables: hosts, clock },
    'organization',
    names,
  );

const faultPointers = async (names: LinkDependencies, fault?: HsmErrorCode) =>
  (await check(names, module(fault))).errors.map(({ pointer }) => pointer);

describe('link configuration checks', () => {
  test('report no error for valid keys and certificate', async () => {
    assert.deepEqual(
      await check({
        zonePinKey: { keyRef: 'zpk', format: 'ISO3' },
        macKey: { keyRef: 'mac' },
        zoneMasterKey: { keyRef: 'zmk' },
        clientCertificate: 'north',
      }),
      { errors: [], isIncomplete: false },
    );
    assert.deepEqual(
      await faultPointers({ zonePinKey: { keyRef: 'zpk-aes', format: 'ISO4' } }),
      [],
    );
    assert.deepEqual(await faultPointers({}), []);
  });

  test('report keys of other usage, other owner or unknown name with the same text', async () => {
    for (const keyRef of ['mac', 'zmk', 'others', 'nobody']) {
      const { errors } = await check({ zonePinKey: { keyRef, format: 'ISO0' } });
      const detail =
        'is not a zone PIN key of this organisation; the platform loads new keys only when it starts';
      assert.deepEqual(errors, [{ pointer: '/zonePinKey/keyRef', detail }], keyRef);
    }
    const wrong = { macKey: { keyRef: 'zpk' }, zoneMasterKey: { keyRef: 'mac' } };
    assert.deepEqual(await faultPointers(wrong), ['/macKey/keyRef', '/zoneMasterKey/keyRef']);
  });

  test('do not call the HSM for keys of another organisation', async () => {
    const hsm = module();
    await check({ zonePinKey: { keyRef: 'others', format: 'ISO0' } }, hsm);
    assert.deepEqual(hsm.asked, []);
  });

  test('report a key algorithm that does not match PIN format or MAC algorithm', async () => {
    assert.deepEqual(await faultPointers({ zonePinKey: { keyRef: 'zpk', format: 'ISO4' } }), [
      '/zonePinKey/format',
    ]);
    assert.deepEqual(await faultPointers({ zonePinKey: { keyRef: 'zpk-aes', format: 'ISO0' } }), [
      '/zonePinKey/format',
    ]);
    const macKey = { keyRef: 'mac' };
    assert.deepEqual(await faultPointers({ macKey, dialect: 'coded' }), ['/macKey/keyRef']);
    assert.deepEqual(await faultPointers({ macKey, dialect: 'unknown' }), []);
  });

  test('are incomplete if the HSM is unavailable, and report unknown keys', async () => {
    const names: LinkDependencies = { zonePinKey: { keyRef: 'zpk', format: 'ISO0' } };
    for (const fault of ['HsmUnavailable', 'HsmBusy', 'Unsupported'] as const) {
      assert.deepEqual(
        await check(names, module(fault)),
        { errors: [], isIncomplete: true },
        fault,
      );
    }
    for (const fault of ['KeyNotFound', 'KeyUsage'] as const) {
      assert.deepEqual(await faultPointers(names, fault), ['/zonePinKey/keyRef'], fault);
    }
  });

  test('report a missing and an expired certificate', async () => {
    assert.deepEqual((await check({ clientCertificate: 'none' })).errors, [
      { pointer: '/clientCertificate', detail: 'is not there' },
    ]);
    assert.deepEqual((await check({ clientCertificate: 'old' })).errors, [
      { pointer: '/clientCertificate', detail: 'has expired' },
    ]);
  });
});

const link = (settings: object = {}): AcquirerLink => ({
  organizationId: 'organization',
  linkId: 'l',
  name: 'north',
  adapter: 'iso8583-host',
  settings: { host: '127.0.0.1', port: 1, institutionId: '1', ...settings },
});

test('dependenciesOf returns the settings in the form of the API', () => {
  const settings = {
    dialect: 'coded',
    clientCertificate: 'north',
    macKey: { keyRef: 'mac' },
    zonePinKey: { keyRef: 'zpk', format: 3, keyIndex: '01' },
  };
  assert.deepEqual(dependenciesOf(link(settings)), {
    dialect: 'coded',
    clientCertificate: 'north',
    macKey: { keyRef: 'mac' },
    zonePinKey: { keyRef: 'zpk', format: 'ISO3' },
  });
});

test('checks run in the background, after a change or an interval, one at a time', async () => {
  let time = 0;
  let keyReferences = 0;
  let answer = Promise.withResolvers<void>();
  const detail =
    'is not a MAC key of this organisation; the platform loads new keys only when it starts';
  const faults = [{ pointer: '/macKey/keyRef', detail }];
  const entry: CheckedLink = { link: link({ macKey: { keyRef: 'mac' } }) };
  const scheduleCheck = createConfigurationChecker({
    hsm: {
      mayUse: () => true,
      async checkKey() {
        keyReferences += 1;
        const usage = keyReferences === 1 ? 'ZonePin' : 'Mac';
        await answer.promise;
        return { usage, algorithm: 'Tdes', checkValue: '000000' };
      },
    },
    clientCertificates: certificates,
    hostTables: hosts,
    clock: { now: () => time },
    log: createLog({ logLevel: 'silent', instanceName: 'test' }),
  });
  const nextEventLoopTurn = () => new Promise((resolve) => setImmediate(resolve));
  scheduleCheck(entry, 'one');
  scheduleCheck(entry, 'one');
  await nextEventLoopTurn();
  assert.equal(keyReferences, 1);
  assert.deepEqual(entry.check?.errors, []);
  answer.resolve();
  await nextEventLoopTurn();
  assert.deepEqual(entry.check.errors, faults);
  scheduleCheck(entry, 'one');
  await nextEventLoopTurn();
  assert.equal(keyReferences, 1);
  time += 30_000;
  answer = Promise.withResolvers();
  scheduleCheck(entry, 'one');
  await nextEventLoopTurn();
  // The previous errors remain until the next check completes.
  assert.deepEqual([keyReferences, entry.check.errors], [2, faults]);
  answer.resolve();
  await nextEventLoopTurn();
  assert.deepEqual(entry.check.errors, []);
  scheduleCheck(entry, 'two');
  await nextEventLoopTurn();
  assert.equal(keyReferences, 3);
  // A removed link has no check: its scheduled check does not run.
  scheduleCheck(entry, 'three');
  delete entry.check;
  await nextEventLoopTurn();
  assert.equal(keyReferences, 3);
});
