// The files of client certificates: their owners, their faults, and the effect of a renewal.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClientCertificates } from '../../src/acquiring/keys/load-client-certificates.ts';
import { InvalidLinkSettingError } from '../../src/acquiring/spi/acquirer-spi.ts';
import {
  type MadeCertificate,
  makeCertificate,
} from '../../src/http/authentication/certificate.fixture.ts';
import { createLog } from '../../src/platform/index.ts';

const organizationId = '00000000-0000-0000-0000-00000000000a';

describe('client certificates of an organisation', () => {
  let directory: string;
  let one: MadeCertificate;
  let other: MadeCertificate;
  const logged: string[] = [];

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'client-certificates-'));
    one = await makeCertificate('one');
    other = await makeCertificate('other');
  });

  after(() => rmSync(directory, { recursive: true }));

  const open = () => {
    const settings = { logLevel: 'debug', environment: 'test', instanceName: 'test' } as const;
    const log = createLog(settings, { write: (line: string) => void logged.push(line) });
    return createClientCertificates({ directory, log });
  };

  function put(name: string, { cert, key }: MadeCertificate, folder = directory): void {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.crt`), cert);
    writeFileSync(join(folder, `${name}.key`), key);
  }

  const refused = (detail: RegExp) => (error: unknown) => {
    assert.ok(error instanceof InvalidLinkSettingError, String(error));
    assert.equal(error.pointer, '/clientCertificate');
    assert.match(error.message, detail);
    return true;
  };

  test('the certificates of the organisation are used, otherwise the common ones', () => {
    const certificates = open();
    put('north', one);
    assert.equal(certificates.find(organizationId, 'north').tlsIdentity.cert, one.cert);
    put('north', other, join(directory, organizationId));
    assert.equal(certificates.find(organizationId, 'north').tlsIdentity.cert, other.cert);
    const otherOrganizationId = organizationId.replace('a', 'b');
    assert.equal(certificates.find(otherOrganizationId, 'north').tlsIdentity.cert, one.cert);
    put('own', other, join(directory, organizationId));
    assert.throws(() => certificates.find(otherOrganizationId, 'own'), refused(/does not exist/));
    assert.equal(certificates.find(organizationId, 'own').expiresAt, Date.UTC(2120, 0, 1));
  });

  test('the authority file of the acquirer is used if it exists', () => {
    put('trusting', one);
    assert.ok(!('ca' in open().find(organizationId, 'trusting').tlsIdentity));
    writeFileSync(join(directory, 'trusting.ca.crt'), other.cert);
    assert.equal(open().find(organizationId, 'trusting').tlsIdentity.ca, other.cert);
  });

  test('unusable certificates report the reason and nothing of the key', () => {
    put('mixed', { cert: one.cert, key: other.key });
    put('no-cert', { cert: 'none', key: one.key });
    put('no-key', { cert: one.cert, key: '-----BEGIN PRIVATE KEY-----\nAAAA\n' });
    put('large', { cert: one.cert + ' '.repeat(70_000), key: one.key });
    writeFileSync(join(directory, 'half.crt'), one.cert);
    const certificates = open();
    for (const [name, detail] of [
      ['mixed', /does not match the certificate/],
      ['no-cert', /is not a PEM certificate/],
      ['no-key', /not an unencrypted PEM private key/],
      ['large', /is too large/],
      ['half', /cannot be read \(ENOENT\)/],
      ['absent', /does not exist in the certificate directory/],
    ] as const) {
      assert.throws(() => certificates.find(organizationId, name), refused(detail), name);
    }
    assert.ok(!logged.some((line) => line.includes('PRIVATE')));
  });

  test('renewed certificates are detected, and a half renewal changes nothing', () => {
    const certificates = open();
    put('renewed', one);
    const first = certificates.find(organizationId, 'renewed');
    assert.equal(certificates.find(organizationId, 'renewed'), first);
    writeFileSync(join(directory, 'renewed.crt'), other.cert);
    assert.equal(certificates.find(organizationId, 'renewed').tlsIdentity.cert, one.cert);
    put('renewed', other);
    const second = certificates.find(organizationId, 'renewed');
    assert.equal(second.tlsIdentity.cert, other.cert);
    assert.notEqual(second.version, first.version);
    rmSync(join(directory, 'renewed.crt'));
    rmSync(join(directory, 'renewed.key'));
    assert.throws(() => certificates.find(organizationId, 'renewed'), refused(/does not exist/));
  });
});
