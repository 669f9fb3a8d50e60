// Whole run: much is made, or waited for, before it shows.
// In production the connector accepts only claimed terminals, and stores their claim codes.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import { startTerminal } from '@switchyard/simulators';
import { eventually } from '../support/wait-for-condition.ts';
import { type Client, startTestConnector, type TestConnector } from './test-connector.ts';

const claimCode = 'K7QM-2F9X';

describe('terminals at the connector, in production', () => {
  let setup: TestConnector;
  let till: Client;
  before(async () => {
    setup = await startTestConnector({ environment: 'production' });
    till = await setup.application();
  });
  after(() => setup.close());

  const credentials = () => ({ client_id: till.clientId, client_secret: till.clientSecret });
  const enter = (physicalDeviceId: string) =>
    setup.provisioning.terminalClaims.claimByCode(
      { organizationId: setup.organizationId },
      physicalDeviceId,
      claimCode,
    );

  // Spec: PROV-11
  it('connect once the code was entered that they have registered with', async () => {
    const terminal = await setup.terminal();
    const { physicalDeviceId, tsn } = terminal;
    const first = await setup.register({ tsn, ...credentials() });
    assert.equal(first.answer['error'].code, 'device_not_claimed');
    assert.deepEqual(
      [first.answer['error'].retryable, first.answer['error'].retryAfterSeconds],
      [true, 10],
    );
    assert.equal((await first.line.closed()).code, closeCodes.deviceDisabled);
    await assert.rejects(enter(physicalDeviceId), { code: 'claim_code_invalid' });
    const second = await setup.register({ tsn, claimCode, ...credentials() });
    assert.equal(second.answer['error'].code, 'device_not_claimed');
    await enter(physicalDeviceId);
    await setup.connect(terminal, till);
    const bad = await setup.register({ tsn, claimCode: 'no code', ...credentials() });
    assert.equal(bad.answer['error'].code, 'bad_message');
  });

  it('with a certificate of the platform send their code in the same way', async () => {
    const terminal = await setup.terminal();
    const certificate = await setup.certify(terminal.physicalDeviceId);
    const { answer } = await setup.register({ tsn: terminal.tsn, claimCode }, certificate);
    assert.equal(answer['error'].code, 'device_not_claimed');
    await enter(terminal.physicalDeviceId);
    const again = await setup.register({ tsn: terminal.tsn }, certificate);
    assert.equal(again.answer['type'], 'registered', JSON.stringify(again.answer));
  });

  // Spec: PROV-10
  it('register as simulated terminals once the code was entered that they show', async () => {
    const terminal = await setup.terminal();
    const { cert, key } = await setup.certify(terminal.physicalDeviceId);
    const folder = await mkdtemp(join(tmpdir(), 'switchyard-claimed-'));
    const codes: string[] = [];
    const states: string[] = [];
    const baseUrl = `https://localhost:${setup.apiPort}`;
    const started = await startTerminal({
      tsn: terminal.tsn,
      dataDir: folder,
      keys: { baseDerivationKey: '00'.repeat(16), ksn: 'FFFF9876543210E00001' },
      baseUrl,
      deviceAuthUrl: baseUrl,
      cert,
      key,
      ca: setup.ca,
      now: Date.now,
      onCloud: (state, error) => void states.push(`${state} ${error ?? ''}`.trim()),
      onClaimCode: (code) => void codes.push(code),
    });
    try {
      const isRefused = () => states.includes('Waiting device_not_claimed');
      await eventually('the refusal', isRefused);
      const [shownCode = ''] = codes;
      const scope = { organizationId: setup.organizationId };
      const { terminalClaims } = setup.provisioning;
      await terminalClaims.claimByCode(scope, terminal.physicalDeviceId, shownCode);
      // The data address of this test platform has another port, so "Connecting" shows a successful
      // registration.
      await eventually('the registration', () => states.includes('Connecting'));
      assert.equal(codes.length, 1, 'a code does not change while a person reads it');
    } finally {
      await started.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  // Spec: PROV-11
  it('lose their connection with their claim', async () => {
    const terminal = await setup.terminal();
    const { organizationId } = setup;
    await setup.provisioning.terminalClaims.claimByOperator(
      organizationId,
      terminal.physicalDeviceId,
    );
    const device = await setup.connect(terminal, till);
    await setup.database.query('DELETE FROM terminal_claims WHERE physical_device_id = $1', [
      terminal.physicalDeviceId,
    ]);
    const end = await device.closed();
    assert.equal(end.code, closeCodes.deviceDisabled);
    assert.match(end.reason, /^device_not_claimed/);
  });
});

describe('terminals at the connector, in the demo', () => {
  it('connect without a claim', async () => {
    const setup = await startTestConnector();
    try {
      const terminal = await setup.terminal();
      await setup.connect(terminal, await setup.application());
    } finally {
      await setup.close();
    }
  });
});
