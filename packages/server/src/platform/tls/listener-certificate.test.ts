import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { systemClock } from '../time/clock.ts';
import { ensureListenerCertificate, type ListenerCertificate } from './listener-certificate.ts';
import { issueServerCertificate } from './local-certificate-authority.ts';

const dayMs = 86_400_000;
let home: string;
before(async () => {
  home = await mkdtemp(join(tmpdir(), 'switchyard-tls-'));
});
after(() => rm(home, { recursive: true, force: true }));

function settingsFor(dataDir: string, host = 'localhost') {
  return { dataDir: join(home, dataDir), host, tlsCertFile: undefined, tlsKeyFile: undefined };
}

function later(days: number) {
  return { now: () => systemClock.now() + days * dayMs };
}

/** Connects to a TLS server by a name that the client checks; the address is always this machine. */
async function handshake(server: { cert: string; key: string }, ca: string, name: string) {
  const listener = createServer(server, (socket) => socket.end());
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  try {
    return await new Promise<boolean>((resolve, reject) => {
      const { port } = listener.address() as AddressInfo;
      const socket = connect({
        port,
        host: '127.0.0.1',
        ca,
        ...(isIP(name) === 0 ? { servername: name } : {}),
        checkServerIdentity: (_host, peer) => {
          const certificate = new X509Certificate(peer.raw);
          const match = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name);
          return match === undefined ? new Error(`not ${name}`) : undefined;
        },
      });
      socket.on('secureConnect', () => {
        resolve(socket.authorized);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  } finally {
    await new Promise((resolve) => listener.close(resolve));
  }
}

function serialOf({ cert }: ListenerCertificate): string {
  return new X509Certificate(cert).serialNumber;
}

describe('local certificates', () => {
  // Spec: SET-8
  test('a client that trusts the authority accepts every local name', async () => {
    const made = await ensureListenerCertificate({
      settings: settingsFor('a'),
      clock: systemClock,
    });
    const ca = await readFile(made.caFile, 'utf8');
    for (const name of ['localhost', '127.0.0.1', '::1']) {
      assert.equal(await handshake(made, ca, name), true, name);
    }
    await assert.rejects(handshake(made, ca, 'example.org'), /not example.org/);
    const days = Date.parse(new X509Certificate(made.cert).validTo) - systemClock.now();
    assert.ok(days <= 825 * dayMs && days > 820 * dayMs);
  });

  test('keys are readable for their owner only, and a second start changes nothing', async () => {
    const settings = settingsFor('b');
    const first = await ensureListenerCertificate({ settings, clock: systemClock });
    for (const [file, mode] of [
      ['ca.pem', 0o644],
      ['ca-key.pem', 0o600],
      ['server.pem', 0o644],
      ['server-key.pem', 0o600],
    ] as const) {
      assert.equal((await stat(join(settings.dataDir, 'tls', file))).mode & 0o777, mode, file);
    }
    const second = await ensureListenerCertificate({ settings, clock: systemClock });
    assert.equal(second.cert, first.cert);
  });

  test('a certificate near its end is renewed, and the authority stays', async () => {
    const settings = settingsFor('c');
    const first = await ensureListenerCertificate({ settings, clock: systemClock });
    const ca = await readFile(first.caFile, 'utf8');
    const unchanged = await ensureListenerCertificate({ settings, clock: later(790) });
    assert.equal(serialOf(unchanged), serialOf(first));
    const renewed = await ensureListenerCertificate({ settings, clock: later(800) });
    assert.notEqual(serialOf(renewed), serialOf(first));
    assert.equal(await readFile(first.caFile, 'utf8'), ca);
  });

  test('damaged files and another host lead to new certificates', async () => {
    const settings = settingsFor('d');
    const first = await ensureListenerCertificate({ settings, clock: systemClock });
    await writeFile(join(settings.dataDir, 'tls', 'server-key.pem'), 'damaged');
    const second = await ensureListenerCertificate({ settings, clock: systemClock });
    assert.notEqual(serialOf(second), serialOf(first));
    const moved = await ensureListenerCertificate({
      settings: settingsFor('d', 'pay.example.test'),
      clock: systemClock,
    });
    const ca = await readFile(moved.caFile, 'utf8');
    assert.equal(await handshake(moved, ca, 'pay.example.test'), true);
    assert.equal(await handshake(moved, ca, 'localhost'), true);
  });

  test('the authority cannot certify other names', async () => {
    const settings = settingsFor('e');
    const made = await ensureListenerCertificate({ settings, clock: systemClock });
    const ca = await readFile(made.caFile, 'utf8');
    const key = await readFile(join(settings.dataDir, 'tls', 'ca-key.pem'), 'utf8');
    const now = systemClock.now();
    const validity = { notBefore: new Date(now - dayMs), notAfter: new Date(now + dayMs) };
    for (const name of ['bank.example.org', '10.0.0.1', '2001:db8::1']) {
      const forged = await issueServerCertificate({ cert: ca, key }, [name], validity);
      await assert.rejects(handshake(forged, ca, name), /permitted subtree violation/i, name);
    }
  });
});
