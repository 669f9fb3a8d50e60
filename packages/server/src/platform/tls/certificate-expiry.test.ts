import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createMetrics } from '../observability/metrics.ts';
import { reportCertificateExpiry } from './certificate-expiry.ts';
import { issueAuthority } from './local-certificate-authority.ts';

const now = Date.parse('2026-03-01T00:00:00Z');

const certificateUntil = (notAfter: string) =>
  issueAuthority(['localhost'], { notBefore: new Date(0), notAfter: new Date(notAfter) });

test('a metric has the end of each loaded certificate, and the log warns in the last 30 days', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'switchyard-expiry-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const first = await certificateUntil('2026-03-13T12:00:00Z');
  const later = await certificateUntil('2030-01-01T00:00:00Z');
  const expired = await certificateUntil('2026-02-28T23:00:00Z');
  const deviceCaFile = join(directory, 'authorities.pem');
  await writeFile(deviceCaFile, `${later.cert}\n${first.cert}\n`);
  const natsCertFile = join(directory, 'nats.pem');
  await writeFile(natsCertFile, expired.cert);
  const warnings: unknown[][] = [];
  const metrics = createMetrics();
  const log = { warn: (...line: unknown[]) => void warnings.push(line) };

  const files = { deviceCaFile, natsCertFile, hsmTlsCertFile: undefined };
  reportCertificateExpiry({ metrics, log, clock: { now: () => now } }, files, later.cert);

  const name = 'switchyard_certificate_expiry_timestamp_seconds';
  const { values = [] } = (await metrics.registry.getSingleMetric(name)?.get()) ?? {};
  assert.deepEqual(
    values.map(({ labels, value }) => [labels['certificate'], value]),
    [
      ['listener', Date.parse('2030-01-01T00:00:00Z') / 1000],
      ['device_authority', Date.parse('2026-03-13T12:00:00Z') / 1000],
      ['nats_client', Date.parse('2026-02-28T23:00:00Z') / 1000],
    ],
  );
  assert.deepEqual(warnings, [
    [
      { certificate: 'device_authority', expiresAt: '2026-03-13T12:00:00.000Z' },
      'a certificate expires in 12 days; replace its file',
    ],
    [
      { certificate: 'nats_client', expiresAt: '2026-02-28T23:00:00.000Z' },
      'a certificate has expired; replace its file',
    ],
  ]);
});
