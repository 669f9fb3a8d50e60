// Zone keys from a host are imported once, in order, and replaced keys are rejected.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { until } from '../../../test/support/wait-for-result.ts';
import { createLog, systemClock } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { Iso8583HostLink } from '../spi/acquirer-spi.ts';
import { createZoneKeys, type ZoneKeyUpdate } from './import-zone-keys.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

const linkOf = (): Iso8583HostLink => ({
  organizationId: randomUUID(),
  linkId: randomUUID(),
  name: 'north',
  adapter: 'iso8583-host',
  settings: {
    host: '127.0.0.1',
    port: 1,
    tls: false,
    institutionId: '1',
    zoneMasterKey: { keyRef: 'zmk' },
    macKey: { keyRef: 'first' },
  },
});

/** Imports every key after the gate opens, and counts concurrent calls. */
function module(gate: Promise<void> = Promise.resolve()) {
  const calls = { now: 0, most: 0, asked: 0 };
  const hsm = {
    async importKey({ checkValue }: { checkValue: string }) {
      calls.now += 1;
      calls.asked += 1;
      calls.most = Math.max(calls.most, calls.now);
      await gate;
      calls.now -= 1;
      return { keyRef: `ref-${checkValue}`, checkValue };
    },
  } as unknown as Hsm;
  return { hsm, seen: calls };
}

const mac = (checkValue: string): ZoneKeyUpdate => ({
  usage: 'Mac',
  algorithm: 'Aes',
  keyIndex: '01',
  checkValue,
  wrapped: '00',
});

test('a replaced key is rejected, and a repeated message has no effect', async () => {
  const database = await testDatabase();
  const { hsm, seen: calls } = module();
  const keys = createZoneKeys({ database, clock: systemClock, log, hsm });
  const link = linkOf();
  const ring = keys.keyRingFor(link);
  for (const value of ['AAAAAA', 'BBBBBB', 'CCCCCC']) {
    assert.equal(await ring.importKey(mac(value)), true);
  }
  assert.deepEqual(ring.listMacKeyRefs(), ['ref-CCCCCC', 'ref-BBBBBB']);
  // The host repeats the message after a lost response.
  assert.equal(await ring.importKey(mac('CCCCCC')), true);
  // An attacker replays the message of an older key.
  for (const replayed of ['AAAAAA', 'BBBBBB']) {
    assert.equal(await ring.importKey(mac(replayed)), false);
  }
  assert.deepEqual(ring.listMacKeyRefs(), ['ref-CCCCCC', 'ref-BBBBBB']);
  assert.equal(calls.asked, 3);
  // A second process rejects them too.
  const later = createZoneKeys({ database, clock: systemClock, log, hsm });
  await later.reload();
  assert.equal(await later.keyRingFor(link).importKey(mac('AAAAAA')), false);
  // After an operator configures another key, earlier received keys are ignored.
  const { settings } = link;
  const renewed = { ...link, settings: { ...settings, macKey: { keyRef: 'second' } } };
  assert.deepEqual(later.keyRingFor(renewed).listMacKeyRefs(), ['second']);
  assert.equal(await later.keyRingFor(renewed).importKey(mac('AAAAAA')), true);
});

test('key updates of one host run one at a time, and excess updates are rejected', async () => {
  const database = await testDatabase();
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { hsm, seen: calls } = module(gate);
  const keys = createZoneKeys({ database, clock: systemClock, log, hsm });
  const ring = keys.keyRingFor(linkOf());
  const flood = Array.from({ length: 20 }, (_, at) => ring.importKey(mac(`0000${at + 10}`)));
  const refused = await Promise.all(flood.slice(4));
  assert.ok(refused.every((imported) => imported === false));
  open();
  assert.deepEqual(await Promise.all(flood.slice(0, 4)), [true, true, true, true]);
  assert.deepEqual([calls.most, calls.asked], [1, 4]);
  // A later key update is accepted.
  assert.equal(await ring.importKey(mac('DDDDDD')), true);
});

test('a reload that started before a key was stored does not remove the key', async () => {
  const database = await testDatabase();
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  let isLocked = true;
  const slow = {
    ...database,
    async query(text: string, values?: readonly unknown[]) {
      const rows = await database.query(text, values);
      const isFirst = isLocked && /^SELECT acquirer_link_id/.test(text);
      if (isFirst) {
        isLocked = false;
        await gate;
      }
      return rows;
    },
  } as typeof database;
  const keys = createZoneKeys({ database: slow, clock: systemClock, log, hsm: module().hsm });
  const ring = keys.keyRingFor(linkOf());
  const looked = keys.reload();
  const imported = ring.importKey(mac('EEEEEE'));
  const stored = async () => {
    const text = "SELECT 1 FROM acquirer_link_keys WHERE key_ref = 'ref-EEEEEE'";
    return (await database.query(text)).length > 0;
  };
  await until(stored, 'the key');
  open();
  await looked;
  assert.equal(await imported, true);
  assert.deepEqual(ring.listMacKeyRefs(), ['ref-EEEEEE', 'first']);
});

test('a key for a link without a zone master key is rejected, and the log says so', async () => {
  const database = await testDatabase();
  const lines: string[] = [];
  const settings = { logLevel: 'info', instanceName: 'test' } as const;
  const written = createLog(settings, { write: (line: string) => void lines.push(line) });
  const { hsm } = module();
  const keys = createZoneKeys({ database, clock: systemClock, log: written, hsm });
  const { settings: withMaster, ...link } = linkOf();
  const { zoneMasterKey: _master, ...linkSettings } = withMaster;
  const ring = keys.keyRingFor({ ...link, settings: linkSettings });
  assert.equal(await ring.importKey(mac('AAAAAA')), false);
  assert.match(lines.join(''), /"link":"north".*"checkValue":"AAAAAA".*no zone master key/);
});
