// Keys that a host sends as TR-31 key blocks, from the host message to an HSM that accepts only key
// blocks.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { builtInHosts, compileHost } from '@switchyard/iso8583';
import { openHostLink } from '../../src/acquiring/iso8583-host/host-session-pool.ts';
import { createZoneKeys } from '../../src/acquiring/keys/import-zone-keys.ts';
import type { Iso8583HostLink } from '../../src/acquiring/spi/acquirer-spi.ts';
import {
  createAddressGuard,
  createAwsClient,
  createLog,
  systemClock,
} from '../../src/platform/index.ts';
import { createAwsHsm } from '../../src/vault/hsm/aws-payment-cryptography.ts';
import { createKeyTable } from '../../src/vault/hsm/key-table.ts';
import { encodeMessageFrame, startScriptedHost } from '../support/acquirers/scripted-host.ts';
import { testDatabase } from '../support/database/test-database.ts';
import {
  awsCredentials,
  awsRegion,
  startAwsStub,
  tr31KeyBlock,
} from '../support/hsm/aws-payment-cryptography-stub.ts';
import {
  decryptPin,
  keyTableEntry,
  tdesKsn,
  terminalPinBlock,
  testPan,
} from '../support/hsm/hsm-test-keys.ts';
import { eventually } from '../support/wait-for-condition.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });

async function awsModule(t: TestContext) {
  const stub = await startAwsStub();
  t.after(stub.close);
  const client = () =>
    createAwsClient({
      service: 'payment-cryptography',
      region: awsRegion,
      endpoint: stub.url,
      credentials: awsCredentials,
      clock: systemClock,
      timeoutMs: 20_000,
      connections: 2,
    });
  const names = ['bdk-tdes', 'zmk', 'zpk'] as const;
  const entries = names.map((name) => keyTableEntry(name, stub.arn(name)));
  const table = createKeyTable(entries, 'the table of the tests');
  const hsm = createAwsHsm({ table, log, data: client(), control: client(), format4Pan: 'full' });
  t.after(hsm.close);
  return { stub, hsm };
}

const linkTo = (port: number): Iso8583HostLink => ({
  organizationId: randomUUID(),
  linkId: randomUUID(),
  name: 'north',
  adapter: 'iso8583-host',
  settings: {
    host: '127.0.0.1',
    port,
    institutionId: '1001',
    zoneMasterKey: { keyRef: 'zmk' },
    zonePinKey: { keyRef: 'zpk', format: 0 },
  },
});

/** A link that is signed on at a host that sends keys. */
async function linked(t: TestContext) {
  const { stub, hsm } = await awsModule(t);
  const database = await testDatabase();
  const host = await startScriptedHost();
  const keys = createZoneKeys({ database, clock: systemClock, log, hsm });
  const ring = keys.keyRingFor(linkTo(host.port));
  const link = openHostLink({
    addressGuard: createAddressGuard({ allowsLoopback: true }),
    host: '127.0.0.1',
    port: host.port,
    tls: false,
    clock: systemClock,
    log,
    hsm,
    compiledHost: compileHost(builtInHosts['iso1987-binary'], { now: Date.now }),
    keyRing: ring,
    onUnmatchedResponse: () => {},
  });
  t.after(async () => {
    await host.stop();
    await link.close(0);
  });
  await eventually('signed on', () => link.isAvailable());
  let sent = 0;
  /** Sends a key message from the host and returns the response code of the platform. */
  async function sendKeyBlock(text: string): Promise<string | undefined> {
    sent += 1;
    const stan = `9${String(sent).padStart(5, '0')}`;
    const fields = { 7: '0101120000', 11: stan, 48: text, 70: '101' };
    // Uses the connection with the latest sign-on.
    const signedOn = host.received.findLast(({ message }) => message.mti === '0800');
    signedOn?.socket.write(encodeMessageFrame({ mti: '0800', fields }));
    const answer = () =>
      host.received.find(({ message }) => message.mti === '0810' && message.fields[11] === stan);
    await eventually('the answer', () => answer() !== undefined);
    return answer()?.message.fields[39];
  }
  return { stub, hsm, ring, give: sendKeyBlock };
}

const head = `PT01${keyTableEntry('zpk-other', '').checkValue}`;

// Spec: ACQ-11
test('a key block from a host is imported into AWS, and PINs are encrypted under its key', async (t) => {
  const { stub, hsm, ring, give: sendKeyBlock } = await linked(t);
  assert.equal(await sendKeyBlock(head + tr31KeyBlock('zpk-other')), '00');
  const zone = ring.getPinKey();
  assert.deepEqual(zone, { keyRef: stub.arn('zpk-other'), format: 0, keyIndex: '01' });
  const { pinBlock } = await hsm.translatePin({
    scheme: 'DukptTdes',
    ksn: tdesKsn,
    inFormat: 0,
    outFormat: 0,
    pan: testPan,
    pinBlock: terminalPinBlock('ISO0', tdesKsn),
    outKeyRef: zone.keyRef,
  });
  assert.equal(decryptPin(pinBlock, 'zpk-other', 'ISO0'), '1234');
});

test('a malformed key block is refused before a call to AWS', async (t) => {
  const { stub, ring, give: sendKeyBlock } = await linked(t);
  const block = tr31KeyBlock('zpk-other');
  const wrong = {
    'another length than it says': `${block}00`,
    'small letters': block.replace('P0TE', 'p0te'),
    'no version': `E${block.slice(1)}`,
    'too short': `D0032${block.slice(5, 32)}`,
  };
  for (const [fault, text] of Object.entries(wrong))
    assert.equal(await sendKeyBlock(head + text), '96', fault);
  assert.ok(!stub.requests.some(({ target }) => target?.endsWith('ImportKey')));
  // A key that is only encrypted has a valid format, but the HSM does not accept it.
  assert.equal(await sendKeyBlock(`${head}${'0123456789ABCDEF'.repeat(2)}`), '96');
  assert.equal(ring.getPinKey()?.keyRef, 'zpk');
});
