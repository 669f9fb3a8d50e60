import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { makeCertificate, makeCertificateUntil } from '../../../test/support/test-certificates.ts';
import { systemClock } from '../time/clock.ts';
import { ensureListenerCertificate } from '../tls/listener-certificate.ts';
import { nearestName } from './nearest-name.ts';
import {
  type EnvironmentVariables,
  omitCardSettings,
  readSettings,
  SettingsError,
  withActualPorts,
} from './settings.ts';
import { type Setting, settingsTable } from './settings-table.ts';

const home = mkdtempSync(join(tmpdir(), 'switchyard-settings-'));
after(() => rmSync(home, { recursive: true, force: true }));

const randomKey = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString(
  'base64',
);
const otherKey = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index * 7)).toString(
  'base64',
);
const demo = { SWITCHYARD_DATA_DIR: join(home, 'demo') };

function faultsOf(env: EnvironmentVariables): readonly string[] {
  try {
    readSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.faults;
    throw error;
  }
  return [];
}

const validCertificate = await makeCertificate('api.shop.example');
const certFile = join(home, 'cert.pem');
const keyFile = join(home, 'cert-key.pem');
writeFileSync(certFile, validCertificate.cert);
writeFileSync(keyFile, validCertificate.key);

function production(extra: EnvironmentVariables = {}): EnvironmentVariables {
  return {
    SWITCHYARD_ENVIRONMENT: 'production',
    SWITCHYARD_REGION: 'eur',
    SWITCHYARD_DATA_DIR: join(home, 'production'),
    SWITCHYARD_DATABASE_URL: 'postgresql://u:p@db/switchyard?sslmode=verify-full',
    SWITCHYARD_TLS_CERT_FILE: certFile,
    SWITCHYARD_TLS_KEY_FILE: keyFile,
    SWITCHYARD_PLATFORM_KEY: otherKey,
    SWITCHYARD_VAULT_KEY: randomKey,
    SWITCHYARD_SMTP_URL: 'smtps://u:p@mail.example',
    SWITCHYARD_MAIL_FROM: 'Shop <no-reply@shop.example>',
    SWITCHYARD_HOST: '0.0.0.0',
    SWITCHYARD_BASE_URL: 'https://api.shop.example',
    ...extra,
  };
}

describe('settings', () => {
  // Spec: SVC-30 SET-1 SET-3 START-18
  test('the demo needs no settings', () => {
    const settings = readSettings(demo);
    assert.equal(settings.environment, 'demo');
    assert.equal(settings.region, 'worldwide');
    assert.equal(settings.host, 'localhost');
    assert.equal(settings.baseUrl, 'https://localhost:8443');
    assert.equal(settings.authUrl, 'https://localhost:8443');
    assert.equal(settings.deviceAuthUrl, 'https://localhost:9021');
    assert.equal(settings.clientCertificates, 'on');
    assert.equal(settings.deviceCertificateDays, 365);
    assert.equal(settings.metricsHost, '127.0.0.1');
    assert.deepEqual([settings.acquirerPort, settings.acquirerTimeoutMs], [8583, 10_000]);
    assert.deepEqual([...settings.roles], ['cards', 'identity', 'connector', 'portal', 'jobs']);
    assert.match(readSettings({ ...demo, SWITCHYARD_DATA_DIR: join(home, 'x') }).dataDir, /^\//);
  });

  test('proxies to acquirers are on this machine', () => {
    const withProxies = (value: string) => ({ ...demo, SWITCHYARD_ACQUIRER_TLS_PROXIES: value });
    assert.equal(readSettings(demo).acquirerTlsProxies, undefined);
    assert.deepEqual(readSettings(withProxies('127.0.0.1:8583, ::1:08584')).acquirerTlsProxies, [
      '127.0.0.1:8583',
      '::1:8584',
    ]);
    for (const wrong of ['10.0.0.1:8583', '127.0.0.1', 'localhost:0', 'localhost:65536', ',']) {
      assert.match(faultsOf(withProxies(wrong)).join(), /^SWITCHYARD_ACQUIRER_TLS_PROXIES/, wrong);
    }
  });

  test('allowed addresses are ranges with ports', () => {
    const withSetting = (value: string) => ({ ...demo, SWITCHYARD_ALLOWED_ADDRESSES: value });
    assert.equal(readSettings(demo).allowedAddresses, undefined);
    assert.deepEqual(
      readSettings(withSetting('10.1.0.0/16:8583, [fd00::/8]:443 [::1]:9000 192.168.0.7:9000-9010'))
        .allowedAddresses,
      [
        { range: '10.1.0.0/16', portFrom: 8583, portTo: 8583 },
        { range: 'fd00::/8', portFrom: 443, portTo: 443 },
        { range: '::1', portFrom: 9000, portTo: 9000 },
        { range: '192.168.0.7', portFrom: 9000, portTo: 9010 },
      ],
    );
    for (const wrong of [
      '10.0.0.1',
      '10.0.0.1:',
      '10.0.0.1:0',
      '10.0.0.1:65536',
      '10.0.0.1:90-80',
      '10.0.0.1:80-',
      '10.0.0.1:80:90',
      '10.0.0.1:-80',
      '10.0.0.0/33:80',
      '10.0.0.0/:80',
      '10.0.0.0/8/8:80',
      '10.0.0.0/-1:80',
      '10.0.0:80',
      '010.0.0.1:80',
      'localhost:80',
      '*:80',
      ':80',
      '::1:80',
      '[::1]',
      '[::1:80',
      '[::/129]:80',
      '[10.0.0.1]:0',
      '10.0.0.1:80 nonsense',
      ',',
      Array.from({ length: 65 }, (_, at) => `10.0.0.${at}:80`).join(' '),
    ]) {
      assert.match(faultsOf(withSetting(wrong)).join(), /^SWITCHYARD_ALLOWED_ADDRESSES/, wrong);
    }
  });

  test('allowed ports are whole numbers from 1 to 65535', () => {
    const withSetting = (value: string) => ({ ...demo, SWITCHYARD_ALLOWED_PORTS: value });
    assert.equal(readSettings(demo).allowedPorts, undefined);
    assert.deepEqual(
      readSettings(withSetting('4443, 9443 65535')).allowedPorts,
      [4443, 9443, 65_535],
    );
    const tooMany = Array.from({ length: 65 }, (_, at) => 8000 + at).join(' ');
    for (const wrong of ['0', '65536', '-1', '443-450', '1e3', '80.5', 'https', ',', tooMany]) {
      assert.match(faultsOf(withSetting(wrong)).join(), /^SWITCHYARD_ALLOWED_PORTS/, wrong);
    }
  });

  test('the demo creates one vault key, which only its owner can read', () => {
    const first = readSettings(demo).vaultKey;
    assert.equal(first?.length, 32);
    assert.deepEqual(readSettings(demo).vaultKey, first);
    assert.equal(statSync(join(home, 'demo', 'vault.key')).mode & 0o777, 0o600);
  });

  // Spec: SET-34
  test('the key for cards is separate, and a process without the role does not read it', () => {
    const { vaultKey, platformKey } = readSettings(demo);
    assert.notDeepEqual(vaultKey, platformKey);
    const others = { SWITCHYARD_ROLES: 'identity jobs' };
    assert.equal(readSettings({ ...demo, ...others }).vaultKey, undefined);
    // Not opened: otherwise the missing file would be reported.
    const absent = { ...others, SWITCHYARD_VAULT_KEY_FILE: '/nowhere/k' };
    assert.equal(readSettings({ ...demo, ...absent }).vaultKey, undefined);
    const variables = { ...others, SWITCHYARD_VAULT_KEY: randomKey };
    assert.match(
      faultsOf({ ...demo, ...variables }).join(),
      /^SWITCHYARD_VAULT_KEY is only for processes/,
    );
    assert.doesNotThrow(() => readSettings(omitCardSettings({ ...demo, ...variables })));
    const fresh = { SWITCHYARD_DATA_DIR: join(home, 'fresh'), ...others };
    assert.equal(readSettings(fresh).vaultKey, undefined);
    assert.ok(!existsSync(join(home, 'fresh', 'vault.key')));
    const same = { SWITCHYARD_VAULT_KEY: otherKey };
    assert.match(faultsOf(production(same)).join(), /card data needs a separate key/);
  });

  test('a directory with one shared key continues: the vault gets a new key and keeps the old one', () => {
    const dataDir = join(home, 'older');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'vault.key'), `demo:${randomKey}\n`, { mode: 0o600 });
    const env = { SWITCHYARD_DATA_DIR: dataDir };
    const split = faultsOf({ ...env, SWITCHYARD_ROLES: 'identity' });
    assert.match(split.join(), /^SWITCHYARD_PLATFORM_KEY .* older version/);
    const first = readSettings(env);
    assert.deepEqual(first.platformKey, Buffer.from(randomKey, 'base64'));
    assert.deepEqual(first.vaultKeyPrevious, first.platformKey);
    assert.notDeepEqual(first.vaultKey, first.platformKey);
    const { platformKey, vaultKey, vaultKeyPrevious } = readSettings(env);
    assert.deepEqual(
      { platformKey, vaultKey, vaultKeyPrevious },
      {
        platformKey: first.platformKey,
        vaultKey: first.vaultKey,
        vaultKeyPrevious: first.vaultKeyPrevious,
      },
    );
    assert.equal(statSync(join(dataDir, 'vault.key')).mode & 0o777, 0o600);
  });

  test('the key provider has the settings that it needs', () => {
    const kms = { ...demo, SWITCHYARD_VAULT_KEY_PROVIDER: 'aws-kms' };
    assert.match(faultsOf(kms).join(), /^SWITCHYARD_VAULT_KMS_KEY, .* must be set/);
    const arn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
    const kmsSettings = {
      ...kms,
      SWITCHYARD_VAULT_KMS_KEY: arn,
      SWITCHYARD_AWS_ACCESS_KEY_ID: 'AKIDEXAMPLEEXAMPLE',
      SWITCHYARD_AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    };
    assert.equal(readSettings(kmsSettings).vaultKey, undefined);
    const plain = { ...kmsSettings, SWITCHYARD_VAULT_KMS_URL: 'http://kms.example' };
    assert.match(faultsOf(plain).join(), /must be https/);
    assert.match(
      faultsOf({ ...demo, SWITCHYARD_VAULT_KEY_PROVIDER: 'pkcs11' }).join(),
      /_MODULE, _TOKEN, _KEY and _PIN must be set/,
    );
  });

  // Spec: SET-25
  test('every error is reported at once, without secret values', () => {
    const faults = faultsOf({
      SWITCHYARD_PORT: '70000',
      SWITCHYARD_DEVICE_PORT: '12.0',
      SWITCHYARD_LOG_LEVEL: 'loud',
      SWITCHYARD_ROLES: 'cards, cash',
      SWITCHYARD_BASE_URL: 'http://x',
      SWITCHYARD_TRUST_PROXY: '10.0.0.0/33',
      SWITCHYARD_VAULT_KEY: 'hunter2hunter2',
      SWITCHYARD_DATABASE_URL: 'mysql://u:hunter3@x',
      SWITCHYARD_HOST: '',
      SWITCHYARD_ACQUIERER_PORT: '1',
      HOME: '/root',
    });
    assert.equal(faults.length, 10, faults.join('\n'));
    assert.ok(faults.every((fault) => fault.startsWith('SWITCHYARD_')));
    assert.ok(!faults.join().includes('hunter'));
    assert.match(
      faults.join('\n'),
      /ACQUIERER_PORT is not a known setting; .* SWITCHYARD_ACQUIRER_PORT\?$/m,
    );
    assert.match(faults.join('\n'), /SWITCHYARD_HOST is empty/);
  });

  // Spec: SET-24
  test('production lists every missing setting', () => {
    const faults = faultsOf({ SWITCHYARD_ENVIRONMENT: 'production' }).join('\n');
    const needed = ['REGION', 'DATABASE_URL', 'TLS_CERT_FILE', 'TLS_KEY_FILE', 'HOST', 'BASE_URL'];
    for (const name of needed) assert.ok(faults.includes(`SWITCHYARD_${name}`), name);
    for (const name of ['PLATFORM_KEY', 'VAULT_KEY']) {
      assert.match(
        faults,
        new RegExp(`SWITCHYARD_${name} must be set: .*_${name}_FILE .*openssl rand`),
      );
    }
    assert.deepEqual(faultsOf(production()), []);
    assert.equal(readSettings(production()).clientCertificates, 'off');
    const absent = { SWITCHYARD_DEVICE_CA_FILE: join(home, 'absent.pem') };
    assert.match(faultsOf(production(absent)).join(), /^SWITCHYARD_DEVICE_CA_FILE /);
    assert.ok(!existsSync(join(home, 'production')));
  });

  // Spec: SET-24
  test('production refuses demo keys, with or without prefix, and fail points', () => {
    readSettings(demo);
    const marked = readFileSync(join(home, 'demo', 'vault.key'), 'utf8').trim();
    const keyWithoutPrefix = marked.replace('demo:', '');
    const shared = { SWITCHYARD_DATA_DIR: join(home, 'demo') };
    assert.equal(faultsOf(production({ SWITCHYARD_VAULT_KEY: marked })).length, 1);
    assert.equal(
      faultsOf(production({ ...shared, SWITCHYARD_VAULT_KEY: keyWithoutPrefix })).length,
      1,
    );
    const platform = readFileSync(join(home, 'demo', 'platform.key'), 'utf8').trim();
    assert.equal(faultsOf(production({ SWITCHYARD_PLATFORM_KEY: platform })).length, 1);
    const bothKeys = { ...shared, SWITCHYARD_PLATFORM_KEY: platform.replace('demo:', '') };
    assert.equal(faultsOf(production(bothKeys)).length, 1);
    const weak = Buffer.alloc(32, 7).toString('base64');
    assert.equal(faultsOf(production({ SWITCHYARD_VAULT_KEY: weak })).length, 1);
    assert.match(
      faultsOf(production({ SWITCHYARD_FAIL_POINT: 'after-send' })).join(),
      /is for demo and test, not for production/,
    );
  });

  test('a data directory that cannot be read is one error', () => {
    const dataDir = join(home, 'unreadable');
    mkdirSync(join(dataDir, 'platform.key'), { recursive: true });
    assert.deepEqual(faultsOf(production({ SWITCHYARD_DATA_DIR: dataDir })), [
      `SWITCHYARD_DATA_DIR cannot be read from ${dataDir}/platform.key (EISDIR)`,
    ]);
  });

  test('production needs a mail server for sign-ins, and a sender', () => {
    const {
      SWITCHYARD_SMTP_URL: _url,
      SWITCHYARD_MAIL_FROM: _from,
      ...keyWithoutPrefix
    } = production();
    assert.match(faultsOf(keyWithoutPrefix).join(), /^SWITCHYARD_SMTP_URL must be set/);
    const connector = { ...omitCardSettings(keyWithoutPrefix), SWITCHYARD_ROLES: 'connector' };
    assert.deepEqual(faultsOf(connector), []);
    const url = { ...keyWithoutPrefix, SWITCHYARD_SMTP_URL: 'smtps://u:p%20w@mail.example:465' };
    assert.match(faultsOf(url).join(), /^SWITCHYARD_MAIL_FROM must be set/);
    const from = { ...url, SWITCHYARD_MAIL_FROM: 'no-reply@shop.example' };
    assert.deepEqual(faultsOf(from), []);
    for (const broken of [
      'http://mail.example',
      'smtp://',
      'smtp://u:hunter2%zz@mail',
      'smtp://m/x',
    ]) {
      const faults = faultsOf({ ...from, SWITCHYARD_SMTP_URL: broken });
      assert.equal(faults.length, 1, broken);
      assert.doesNotMatch(faults.join(), /hunter2/);
    }
    for (const broken of ['shop', 'a@b\n', 'Shop <a@b> x', 'A <a@b>, c@d']) {
      assert.equal(faultsOf({ ...from, SWITCHYARD_MAIL_FROM: broken }).length, 1, broken);
    }
  });

  test('production needs its host and URL, and devices use the same host', () => {
    const { SWITCHYARD_HOST: _host, SWITCHYARD_BASE_URL: _url, ...mute } = production();
    assert.match(
      faultsOf(mute).join('\n'),
      /^SWITCHYARD_HOST must be set: .*\nSWITCHYARD_BASE_URL must be set: [^\n]*$/,
    );
    const settings = readSettings(production());
    assert.equal(settings.host, '0.0.0.0');
    assert.equal(settings.authUrl, 'https://api.shop.example');
    assert.equal(settings.deviceAuthUrl, 'https://api.shop.example:9021');
    assert.equal(settings.connectorNodeUrl, 'https://api.shop.example');
    const apart = { SWITCHYARD_DEVICE_AUTH_URL: 'https://devices.shop.example' };
    assert.equal(readSettings(production(apart)).deviceAuthUrl, 'https://devices.shop.example');
    // A test on one machine is allowed if the settings say so.
    const localhostSettings = {
      SWITCHYARD_HOST: 'localhost',
      SWITCHYARD_BASE_URL: 'https://localhost:8443',
    };
    assert.deepEqual(faultsOf(production(localhostSettings)), []);
    const numbered = { ...demo, SWITCHYARD_BASE_URL: 'https://[::1]:8443/pay' };
    assert.equal(readSettings(numbered).deviceAuthUrl, 'https://[::1]:9021');
  });

  test('a process with the cards role needs no mail settings, and a command reads no vault key', () => {
    const { SWITCHYARD_SMTP_URL: _url, SWITCHYARD_MAIL_FROM: _from, ...cards } = production();
    const env = { ...cards, SWITCHYARD_ROLES: 'cards' };
    assert.deepEqual(faultsOf(env), []);
    assert.deepEqual(faultsOf(omitCardSettings(env)), []);
    assert.equal(readSettings(omitCardSettings(env)).vaultKey, undefined);
  });

  // Spec: SET-30
  test('production refuses plain connections to other machines unless they are allowed', () => {
    const plain = {
      SWITCHYARD_METRICS_HOST: '0.0.0.0',
      SWITCHYARD_DATABASE_URL: 'postgresql://u:hunter2@db/pay',
      SWITCHYARD_SMTP_URL: 'smtp://u:hunter2@mail.example',
    };
    const faults = faultsOf(production(plain));
    assert.deepEqual(
      faults.map((fault) => fault.replace(/^SWITCHYARD_(\w+) .*SWITCHYARD_PLAIN_C\w+=/, '$1 ')),
      ['DATABASE_URL database', 'SMTP_URL mail', 'METRICS_HOST metrics'],
    );
    assert.doesNotMatch(faults.join(), /hunter2/);
    for (const host of ['::', '10.0.0.5', 'metrics.internal']) {
      assert.equal(faultsOf(production({ SWITCHYARD_METRICS_HOST: host })).length, 1, host);
    }
    const allowed = { ...plain, SWITCHYARD_PLAIN_CONNECTIONS: 'database mail metrics' };
    // Advice belongs to an error: the operator has allowed these connections.
    assert.deepEqual(readSettings(production(allowed)).warnings, [
      'SWITCHYARD_DATABASE_URL connects to another machine without TLS, or without a certificate check',
      'SWITCHYARD_SMTP_URL connects to another machine without TLS at first (smtp://)',
      'SWITCHYARD_METRICS_HOST is 0.0.0.0, so metrics and health use unencrypted HTTP',
    ]);
    const mailAllowed = { ...plain, SWITCHYARD_PLAIN_CONNECTIONS: 'mail' };
    assert.equal(faultsOf(production(mailAllowed)).length, 2);
    const localhostSettings = {
      SWITCHYARD_METRICS_HOST: '::1',
      SWITCHYARD_DATABASE_URL: 'postgresql://u:p@localhost/pay',
      SWITCHYARD_SMTP_URL: 'smtp://[::1]:25',
    };
    assert.deepEqual(readSettings(production(localhostSettings)).warnings, []);
    assert.deepEqual(faultsOf({ ...demo, ...plain, SWITCHYARD_MAIL_FROM: 'a@b.example' }), []);
    const proxied = { SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: '10.0.0.0/8' };
    assert.match(readSettings(production(proxied)).warnings.join(), /^SWITCHYARD_TLS is off: /);
  });

  // Spec: SET-26
  test('an unknown setting is a warning in production, and an error with strict settings', () => {
    const newer = { SWITCHYARD_PROT: '1', SWITCHYARD_FROM_LATER_FILE: '/x' };
    const warnings = readSettings(production(newer)).warnings;
    assert.equal(warnings.length, 2);
    assert.match(
      warnings[0] ?? '',
      /^SWITCHYARD_PROT is not a known setting; .* SWITCHYARD_PORT\?$/,
    );
    const strict = { ...newer, SWITCHYARD_STRICT_SETTINGS: 'on' };
    assert.deepEqual(faultsOf(production(strict)), warnings);
    const test = { SWITCHYARD_ENVIRONMENT: 'test', SWITCHYARD_REGION: 'eur' };
    assert.equal(faultsOf({ ...demo, ...test, ...newer }).length, 2);
    const loose = { ...demo, ...newer, SWITCHYARD_STRICT_SETTINGS: 'off' };
    assert.equal(faultsOf(loose).length, 2);
    // A value that this version does not know is not a name.
    assert.equal(faultsOf(production({ SWITCHYARD_STRICT_SETTINGS: 'yes' })).length, 1);
    const broken = { ...newer, SWITCHYARD_ENVIRONMENT: 'prod' };
    assert.equal(faultsOf(production(broken)).length, 3);
  });

  // Spec: SET-31
  test('certificates are checked before the start', async () => {
    const dataDir = join(home, 'local');
    const certificateSettings = {
      dataDir,
      host: 'localhost',
      tlsCertFile: undefined,
      tlsKeyFile: undefined,
    };
    const local = await ensureListenerCertificate({
      settings: certificateSettings,
      clock: systemClock,
    });
    const tls = (name: string) => join(dataDir, 'tls', name);
    const files = (cert: string, key: string) => ({
      SWITCHYARD_TLS_CERT_FILE: cert,
      SWITCHYARD_TLS_KEY_FILE: key,
    });
    const faultOf = (env: EnvironmentVariables) => {
      const faults = faultsOf(production(env));
      assert.equal(faults.length, 1, faults.join('\n'));
      return faults[0] ?? '';
    };
    const made = files(tls('server.pem'), tls('server-key.pem'));
    assert.match(faultOf(made), /^SWITCHYARD_TLS_CERT_FILE contains a certificate of a demo's/);
    assert.deepEqual(faultsOf({ ...demo, ...made }), []);
    const chain = join(home, 'chain.pem');
    writeFileSync(chain, `${validCertificate.cert}\n${readFileSync(local.caFile, 'utf8')}`);
    assert.match(faultOf(files(chain, keyFile)), /a certificate of a demo's/);
    const device = { SWITCHYARD_DEVICE_CA_FILE: local.caFile };
    assert.match(faultOf(device), /^SWITCHYARD_DEVICE_CA_FILE contains a certificate of a demo's/);
    assert.match(faultOf(files(certFile, tls('server-key.pem'))), /is not the private key of/);
    assert.match(faultOf(files(keyFile, keyFile)), /TLS_CERT_FILE contains no certificate/);
    assert.match(faultOf(files(certFile, certFile)), /TLS_KEY_FILE contains no private key/);
    const damaged = join(home, 'damaged.pem');
    writeFileSync(damaged, validCertificate.cert.replace(/\n[A-Za-z0-9+/]{20}/, '\n'));
    assert.match(faultOf(files(damaged, keyFile)), /certificate that cannot be parsed/);
    for (const name of ['SWITCHYARD_NATS_CERT_FILE', 'SWITCHYARD_HSM_TLS_CERT_FILE']) {
      const faults = faultsOf(production({ [name]: damaged }));
      assert.ok(faults.includes(`${name} contains a certificate that cannot be parsed`), name);
    }
    const old = await makeCertificateUntil('old.example', '2020-01-02T00:00:00Z');
    const [oldFile, oldKey] = [join(home, 'old.pem'), join(home, 'old-key.pem')];
    writeFileSync(oldFile, old.cert);
    writeFileSync(oldKey, old.key);
    assert.match(faultOf(files(oldFile, oldKey)), /expired on Jan {2}2 00:00:00 2020/);
  });

  // Spec: SVC-31 SVC-34 SET-15 SET-18 SET-19
  test('region, proxy and TLS files must be consistent', () => {
    assert.match(faultsOf(production({ SWITCHYARD_REGION: 'worldwide' })).join(), /REGION/);
    assert.match(faultsOf(production({ SWITCHYARD_REGION: 'nar' })).join(), /AUTH_URL/);
    assert.match(faultsOf({ ...demo, SWITCHYARD_TLS: 'off' }).join(), /TRUST_PROXY/);
    const proxied = { ...demo, SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: '10.0.0.0/8, ::1' };
    assert.deepEqual(readSettings(proxied).trustProxy, ['10.0.0.0/8', '::1']);
    for (const range of ['0.0.0.0/0', '0.0.0.0/1,128.0.0.0/1', '203.0.113.0/24', '::/0']) {
      const wide = { SWITCHYARD_TLS: 'off', SWITCHYARD_TRUST_PROXY: range, SWITCHYARD_PORT: 'x' };
      const dataDir = join(home, 'wide');
      const faults = faultsOf({ ...demo, ...wide, SWITCHYARD_DATA_DIR: dataDir });
      assert.match(faults.join('\n'), /^SWITCHYARD_PORT .*\nSWITCHYARD_TRUST_PROXY .*not private/s);
      assert.equal(faults.length, 2, range);
      assert.ok(!existsSync(dataDir), 'nothing is made');
    }
    assert.match(
      faultsOf({ ...demo, SWITCHYARD_TLS_CERT_FILE: '/nowhere/x.pem' }).join(),
      /set together.*ENOENT/s,
    );
  });

  test('a secret may come from a file, but not from file and variable', () => {
    const file = join(home, 'key');
    writeFileSync(file, `${randomKey}\n`);
    const fromFile = { ...demo, SWITCHYARD_VAULT_KEY_FILE: file };
    assert.deepEqual(readSettings(fromFile).vaultKey, Buffer.from(randomKey, 'base64'));
    assert.match(faultsOf({ ...fromFile, SWITCHYARD_VAULT_KEY: randomKey }).join(), /twice/);
    assert.match(faultsOf({ SWITCHYARD_VAULT_KEY_FILE: '/nowhere/k' }).join(), /ENOENT/);
    assert.match(faultsOf({ SWITCHYARD_PORT_FILE: file }).join(), /PORT_FILE is not a known/);
  });

  test('the variables of OpenTelemetry have no prefix, and an empty one is absent', () => {
    const settings = readSettings({
      ...demo,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.bank.example/otlp/',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1, b=x%2Cy',
      OTEL_RESOURCE_ATTRIBUTES: '',
      OTEL_SERVICE_NAME: ' ',
      OTEL_TRACES_SAMPLER_ARG: '.25',
    });
    assert.equal(settings.otlpEndpoint, 'https://collector.bank.example/otlp');
    assert.deepEqual(settings.otlpHeaders, { a: '1', b: 'x,y' });
    assert.equal(settings.traceResourceAttributes, undefined);
    assert.equal(settings.traceServiceName, undefined);
    assert.equal(settings.tracesSampler, 'parentbased_always_on');
    assert.equal(settings.tracesSamplerRatio, 0.25);
    const faults = faultsOf({
      ...demo,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer private value',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      OTEL_EXPORTER_OTLP_CLIENT_KEY: '/nowhere/key.pem',
      OTEL_TRACES_SAMPLER_ARG: '1.5',
    });
    assert.deepEqual(faults.map((fault) => fault.split(' ', 1)[0]).toSorted(), [
      'OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE',
      'OTEL_EXPORTER_OTLP_CLIENT_KEY',
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'OTEL_TRACES_SAMPLER_ARG',
    ]);
    assert.doesNotMatch(faults.join(), /private/);
    const newline = faultsOf({ ...demo, OTEL_EXPORTER_OTLP_HEADERS: 'a=private%0Ab' });
    assert.deepEqual(newline, [
      'OTEL_EXPORTER_OTLP_HEADERS has a value of a that a header cannot contain',
    ]);
    assert.deepEqual(faultsOf({ ...demo, SWITCHYARD_OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }), [
      'SWITCHYARD_OTEL_EXPORTER_OTLP_HEADERS is not a known setting; did you mean OTEL_EXPORTER_OTLP_HEADERS?',
    ]);
  });

  test('production sends no traces over HTTP to another machine unless it is allowed', () => {
    const remote = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
    assert.match(faultsOf(production(remote)).join(), /^OTEL_EXPORTER_OTLP_ENDPOINT sends traces /);
    const allowed = { ...remote, SWITCHYARD_PLAIN_CONNECTIONS: 'traces' };
    assert.match(readSettings(production(allowed)).warnings.join(), /^OTEL_EXPORTER_OTLP_ENDPOINT/);
    const local = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://[::1]:4318' };
    assert.deepEqual(readSettings(production(local)).warnings, []);
  });

  test('variables of the command are ignored', () => {
    assert.doesNotThrow(() => readSettings({ ...demo, SWITCHYARD_CLI_URL: 'https://pay.example' }));
    assert.match(faultsOf({ ...demo, SWITCHYARD_CLIENT: 'x' }).join(), /CLIENT is not a known/);
  });

  // Spec: SVC-32 SVC-41
  test('selected free ports become part of the URLs', () => {
    const settings = readSettings({
      ...demo,
      SWITCHYARD_PORT: '0',
      SWITCHYARD_DEVICE_PORT: '0',
    });
    const withPorts = withActualPorts(settings, { port: 1234, devicePort: 2345 });
    assert.equal(withPorts.baseUrl, 'https://localhost:1234');
    assert.equal(withPorts.authUrl, 'https://localhost:1234');
    assert.equal(withPorts.deviceAuthUrl, 'https://localhost:2345');
    assert.equal(
      withActualPorts(readSettings(demo), { port: 1 }).baseUrl,
      'https://localhost:8443',
    );
    const withProxies = { SWITCHYARD_DEVICE_PORT: '0', SWITCHYARD_BASE_URL: 'https://pay.example' };
    const kmsSettings = withActualPorts(readSettings({ ...demo, ...withProxies }), {
      port: 1,
      devicePort: 2345,
    });
    assert.equal(kmsSettings.baseUrl, 'https://pay.example');
    assert.equal(kmsSettings.deviceAuthUrl, 'https://pay.example:2345');
  });

  test('each row of the table can be documented', () => {
    for (const setting of Object.values<Setting<unknown>>(settingsTable)) {
      assert.match(setting.name, /^[A-Z][A-Z0-9_]+$/);
      assert.match(setting.description, /\.$/, setting.name);
      assert.ok(setting.type.length > 0);
    }
  });

  // Spec: SET-26
  test('the nearest name has the fewest edits', () => {
    assert.equal(nearestName('PROT', ['HOST', 'PORT', 'ROLES']), 'PORT');
    assert.equal(nearestName('METRIC_HOST', ['HOST', 'METRICS_HOST']), 'METRICS_HOST');
  });
});
