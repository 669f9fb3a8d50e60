// Tests the limits, timeouts and metrics of the guard, and the HSM that the settings select.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  aesKsn,
  decryptPin,
  keyTableEntry,
  tdesKsn,
  terminalPinBlock,
  testPan,
} from '../../../test/support/hsm/hsm-test-keys.ts';
import { keyUnderLmk, startPayShieldStub } from '../../../test/support/hsm/payshield-stub.ts';
import {
  createLog,
  createMetrics,
  type EnvironmentVariables,
  ensureListenerCertificate,
  readSettings,
  SettingsError,
  systemClock,
} from '../../platform/index.ts';
import { createHsm, createNoHsm } from './create-hsm.ts';
import { demoKeys } from './demo-keys.ts';
import { limitHsmRequests } from './hsm-request-limits.ts';
import { HsmError, type PinTranslationRequest, type StartableHsm } from './hsm-types.ts';
import { KeyTableError } from './key-table.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'switchyard-hsm-guard-'));
after(() => rmSync(dataDir, { recursive: true, force: true }));

const code = (expectedCode: string) => (error: unknown) =>
  error instanceof HsmError && error.code === expectedCode;

/** An HSM that answers when the test requests it. */
function slowModule() {
  const waiting: (() => void)[] = [];
  let most = 0;
  const hsm: StartableHsm = {
    ...createNoHsm(),
    async mac() {
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        most = Math.max(most, waiting.length);
      });
      return Buffer.alloc(8);
    },
    health: async () => 'degraded',
  };
  return {
    hsm,
    most: () => most,
    async answerAll(count: number) {
      for (let answered = 0; answered < count; ) {
        const next = waiting.shift();
        if (next === undefined) await new Promise((resolve) => setImmediate(resolve));
        else {
          next();
          answered += 1;
        }
      }
    },
  };
}

const request = { keyRef: 'mac', algorithm: 'Iso9797Alg3', data: Buffer.alloc(8) } as const;

describe('the guard of the HSM', () => {
  it('limits parallel HSM requests, and refuses requests beyond its queue with HsmBusy', async () => {
    const metrics = createMetrics();
    const slow = slowModule();
    const hsm = limitHsmRequests(slow.hsm, {
      metrics,
      maxConcurrentRequests: 2,
      timeoutMs: 60_000,
    });
    // Two requests run, eight wait, and the eleventh is refused.
    const macRequests = Array.from({ length: 10 }, () => hsm.mac(request));
    await assert.rejects(hsm.mac(request), code('HsmBusy'));
    await slow.answerAll(10);
    await Promise.all(macRequests);
    assert.equal(slow.most(), 2);
    const metricsText = await metrics.registry.metrics();
    assert.match(
      metricsText,
      /switchyard_hsm_request_duration_seconds_count\{operation="mac",outcome="Done"\} 10/,
    );
    assert.match(
      metricsText,
      /switchyard_hsm_request_duration_seconds_count\{operation="mac",outcome="HsmBusy"\} 1/,
    );
    assert.match(metricsText, /switchyard_hsm_up 0\.5/);
    assert.match(metricsText, /switchyard_hsm_requests_waiting 0/);
  });

  it('lets no request wait longer than a request may take', async () => {
    const metrics = createMetrics();
    const slow = slowModule();
    const hsm = limitHsmRequests(slow.hsm, { metrics, maxConcurrentRequests: 1, timeoutMs: 400 });
    const first = hsm.mac(request);
    await assert.rejects(hsm.mac(request), code('HsmBusy'));
    await slow.answerAll(1);
    await first;
    // The request that timed out has released its place, so the next one runs.
    const next = hsm.mac(request);
    await slow.answerAll(1);
    await next;
  });
});

const log = createLog(
  readSettings({ SWITCHYARD_DATA_DIR: dataDir, SWITCHYARD_LOG_LEVEL: 'silent' }),
);

function created(variables: EnvironmentVariables): StartableHsm {
  const settings = readSettings({ SWITCHYARD_DATA_DIR: dataDir, ...variables });
  return createHsm({ settings, log, metrics: createMetrics(), clock: systemClock });
}

const faultsOf = (variables: EnvironmentVariables): readonly string[] => {
  try {
    readSettings({ SWITCHYARD_DATA_DIR: dataDir, ...variables });
    return [];
  } catch (error) {
    assert.ok(error instanceof SettingsError);
    return error.faults;
  }
};

describe('the HSM of the settings', () => {
  // Spec: SET-23
  it('is the software one in the demo, with the keys of its devices', async () => {
    const hsm = created({});
    await hsm.start();
    assert.equal(await hsm.health(), 'up');
    const keys = demoKeys(dataDir);
    const { ksn } = keys.deviceKey('10000001', 'DukptTdes');
    const translation = {
      scheme: 'DukptTdes',
      ksn,
      inFormat: 0,
      pan: testPan,
      outKeyRef: 'demo-zpk',
      outFormat: 0,
    } as const;
    // The key of the device is found, but the block of another device does not decrypt to a PIN.
    const pinBlock = terminalPinBlock('ISO0', tdesKsn);
    await assert.rejects(hsm.translatePin({ ...translation, pinBlock }), code('PinBlockInvalid'));
    const unknown = { ...translation, pinBlock, ksn: tdesKsn };
    await assert.rejects(hsm.translatePin(unknown), code('KsnInvalid'));
    await hsm.close();
    // A closed HSM has erased its keys and does not answer with what remains.
    await assert.rejects(hsm.translatePin(unknown), code('HsmUnavailable'));
    assert.equal(await hsm.health(), 'down');
  });

  it('is unavailable with the setting none, and refuses every request', async () => {
    const hsm = created({ SWITCHYARD_HSM: 'none' });
    await hsm.start();
    assert.equal(await hsm.health(), 'down');
    const data = { scheme: 'DukptAes', ksn: aesKsn, data: '00' } as const;
    await assert.rejects(hsm.decryptData(data), code('HsmUnavailable'));
    await assert.rejects(hsm.checkKey('any'), code('HsmUnavailable'));
    await hsm.close();
  });

  it('needs a table of keys, an address, or credentials, all of them named at once', () => {
    assert.deepEqual(faultsOf({ SWITCHYARD_HSM: 'payshield' }), [
      'SWITCHYARD_HSM_KEYS_FILE must be set with SWITCHYARD_HSM=payshield',
      'SWITCHYARD_HSM_ADDRESSES must be set with SWITCHYARD_HSM=payshield',
    ]);
    assert.deepEqual(faultsOf({ SWITCHYARD_HSM: 'aws', SWITCHYARD_HSM_KEYS_FILE: '/none' }), [
      'SWITCHYARD_HSM_KEYS_FILE cannot be read from /none (ENOENT)',
      'SWITCHYARD_AWS_REGION must be set with SWITCHYARD_HSM=aws',
      'SWITCHYARD_AWS_ACCESS_KEY_ID must be set with SWITCHYARD_HSM=aws',
      'SWITCHYARD_AWS_SECRET_ACCESS_KEY must be set with SWITCHYARD_HSM=aws',
    ]);
    const wrong = ['hsm:1500', 'tcp://hsm', 'tcp://hsm:0', 'tcp://hsm:70000', 'http://hsm:1'];
    for (const address of wrong) {
      const [fault] = faultsOf({ SWITCHYARD_HSM_ADDRESSES: address });
      assert.match(fault ?? '', /HSM_ADDRESSES holds/);
    }
    assert.deepEqual(faultsOf({ SWITCHYARD_HSM_TLS_CERT_FILE: '/dev/null' }), [
      'SWITCHYARD_HSM_TLS_CERT_FILE contains no certificate in PEM',
      'SWITCHYARD_HSM_TLS_CERT_FILE and SWITCHYARD_HSM_TLS_KEY_FILE must be set together',
    ]);
  });

  // Spec: SET-23
  it('is no software one in production, and no plain connection beyond the machine', () => {
    const production = { SWITCHYARD_ENVIRONMENT: 'production', SWITCHYARD_REGION: 'eur' };
    const software = faultsOf({ ...production, SWITCHYARD_HSM: 'software' });
    assert.ok(software.includes('SWITCHYARD_HSM is software, which is for demo and test'));
    const addresses = 'tls://hsm-a.example:2500, tcp://127.0.0.1:1500';
    const plain = faultsOf({
      ...production,
      SWITCHYARD_HSM_ADDRESSES: `${addresses} tcp://hsm:1500`,
    });
    assert.ok(plain.includes('SWITCHYARD_HSM_ADDRESSES must be tls:// for other machines'));
    const good = faultsOf({ ...production, SWITCHYARD_HSM_ADDRESSES: addresses });
    assert.ok(!good.some((fault) => fault.includes('HSM_')));
    // Settings that are built in code are refused too.
    const settings = {
      ...readSettings({ SWITCHYARD_DATA_DIR: dataDir }),
      environment: 'production' as const,
    };
    assert.throws(
      () => createHsm({ settings, log, metrics: createMetrics(), clock: systemClock }),
      KeyTableError,
    );
  });

  it('reads the table of a module that is attached, and refuses a bad one', () => {
    const file = join(dataDir, 'keys.json');
    const aws = {
      SWITCHYARD_HSM: 'aws',
      SWITCHYARD_HSM_KEYS_FILE: file,
      SWITCHYARD_AWS_REGION: 'eu-central-1',
      SWITCHYARD_AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE00000',
      SWITCHYARD_AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    };
    writeFileSync(file, '{"keys":[{"name":"zpk"}]}');
    assert.throws(() => created(aws), KeyTableError);
    writeFileSync(
      file,
      JSON.stringify({ keys: [keyTableEntry('zpk', 'arn:aws:payment-cryptography')] }),
    );
    void created(aws).close();
    const payshield = {
      SWITCHYARD_HSM: 'payshield',
      SWITCHYARD_HSM_KEYS_FILE: file,
      SWITCHYARD_HSM_ADDRESSES: 'tcp://127.0.0.1:1',
    };
    void created(payshield).close();
  });

  it('speaks TLS with a payShield, and refuses a certificate of an unknown authority', async (t) => {
    const listenerSettings = {
      dataDir,
      host: 'localhost',
      tlsCertFile: undefined,
      tlsKeyFile: undefined,
    };
    const { cert, key, caFile } = await ensureListenerCertificate({
      settings: listenerSettings,
      clock: systemClock,
    });
    const stub = await startPayShieldStub({ cert, key });
    t.after(stub.close);
    const file = join(dataDir, 'payshield.json');
    const keys = (['bdk-tdes', 'zpk'] as const).map((name) =>
      keyTableEntry(name, keyUnderLmk(name)),
    );
    writeFileSync(file, JSON.stringify({ keys }));
    const variables = {
      SWITCHYARD_HSM: 'payshield',
      SWITCHYARD_HSM_KEYS_FILE: file,
      SWITCHYARD_HSM_ADDRESSES: `tls://127.0.0.1:${stub.port}`,
    };
    const trusting = created({ ...variables, SWITCHYARD_HSM_TLS_CA_FILE: caFile });
    t.after(() => trusting.close());
    await trusting.start();
    const translation: PinTranslationRequest = {
      scheme: 'DukptTdes',
      ksn: tdesKsn,
      inFormat: 0,
      pinBlock: terminalPinBlock('ISO0', tdesKsn),
      pan: testPan,
      outKeyRef: 'zpk',
      outFormat: 0,
    };
    const { pinBlock } = await trusting.translatePin(translation);
    assert.equal(decryptPin(pinBlock, 'zpk', 'ISO0'), '1234');
    const doubting = created(variables);
    t.after(() => doubting.close());
    assert.equal(await doubting.health(), 'down');
    await assert.rejects(doubting.translatePin(translation), code('HsmUnavailable'));
  });
});
