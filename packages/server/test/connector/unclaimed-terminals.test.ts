// In production the connector accepts only claimed terminals, and stores their claim codes.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import { startTerminal } from '@switchyard/simulators';
import { eventually } from '../support/wait-for-condition.ts';
import { type Client, type ConnectorScene, openConnector } from './test-connector.ts';

const claimCode = 'K7QM-2F9X';

describe('terminals at the connector, in production', () => {
  let on: ConnectorScene;
  let till: Client;
  before(async () => {
    on = await openConnector({ environment: 'production' });
    till = await on.application();
  });
  after(() => on.close());

  const credentials = () => ({ client_id: till.clientId, client_secret: till.clientSecret });
  const enter = (physicalDeviceId: string) =>
    on.provisioning.terminalClaims.claimByCode(
      { organizationId: on.organizationId },
      physicalDeviceId,
      claimCode,
    );

  it('connect once the code was entered that they have registered with', async () => {
    const place = await on.terminal();
    const { physicalDeviceId, tsn } = place;
    const first = await on.register({ tsn, ...credentials() });
    assert.equal(first.answer['error'].code, 'device_not_claimed');
    assert.deepEqual(
      [first.answer['error'].retryable, first.answer['error'].retryAfterSeconds],
      [true, 10],
    );
    assert.equal((await first.line.closed()).code, closeCodes.deviceDisabled);
    await assert.rejects(enter(physicalDeviceId), { code: 'claim_code_invalid' });
    const second = await on.register({ tsn, claimCode, ...credentials() });
    assert.equal(second.answer['error'].code, 'device_not_claimed');
    await enter(physicalDeviceId);
    await on.connect(place, till);
    const bad = await on.register({ tsn, claimCode: 'no code', ...credentials() });
    assert.equal(bad.answer['error'].code, 'bad_message');
  });

  it('with a certificate of the platform send their code in the same way', async () => {
    const place = await on.terminal();
    const shown = await on.certify(place.physicalDeviceId);
    const { answer } = await on.register({ tsn: place.tsn, claimCode }, shown);
    assert.equal(answer['error'].code, 'device_not_claimed');
    await enter(place.physicalDeviceId);
    const again = await on.register({ tsn: place.tsn }, shown);
    assert.equal(again.answer['type'], 'registered', JSON.stringify(again.answer));
  });

  it('register as simulated terminals once the code was entered that they show', async () => {
    const place = await on.terminal();
    const { cert, key } = await on.certify(place.physicalDeviceId);
    const folder = await mkdtemp(join(tmpdir(), 'switchyard-claimed-'));
    const codes: string[] = [];
    const states: string[] = [];
    const baseUrl = `https://localhost:${on.apiPort}`;
    const started = await startTerminal({
      tsn: place.tsn,
      dataDir: folder,
      keys: { baseDerivationKey: '00'.repeat(16), ksn: 'FFFF9876543210E00001' },
      baseUrl,
      deviceAuthUrl: baseUrl,
      cert,
      key,
      ca: on.ca,
      now: Date.now,
      onCloud: (state, error) => void states.push(`${state} ${error ?? ''}`.trim()),
      onClaimCode: (code) => void codes.push(code),
    });
    try {
      const isRefused = () => states.includes('Waiting device_not_claimed');
      await eventually('the refusal', isRefused);
      const [shownCode = ''] = codes;
      const scope = { organizationId: on.organizationId };
      const { terminalClaims } = on.provisioning;
      await terminalClaims.claimByCode(scope, place.physicalDeviceId, shownCode);
      // The data address of this test platform has another port, so "Connecting" shows a successful
      // registration.
      await eventually('the registration', () => states.includes('Connecting'));
      assert.equal(codes.length, 1, 'a code does not change while a person reads it');
    } finally {
      await started.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('lose their connection with their claim', async () => {
    const place = await on.terminal();
    const { organizationId } = on;
    await on.provisioning.terminalClaims.claimByOperator(organizationId, place.physicalDeviceId);
    const device = await on.connect(place, till);
    await on.database.query('DELETE FROM terminal_claims WHERE physical_device_id = $1', [
      place.physicalDeviceId,
    ]);
    const end = await device.closed();
    assert.equal(end.code, closeCodes.deviceDisabled);
    assert.match(end.reason, /^device_not_claimed/);
  });
});

describe('terminals at the connector, in the demo', () => {
  it('connect without a claim', async () => {
    const on = await openConnector();
    try {
      const place = await on.terminal();
      await on.connect(place, await on.application());
    } finally {
      await on.close();
    }
  });
});
